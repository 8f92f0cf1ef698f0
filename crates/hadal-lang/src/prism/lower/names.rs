//! What names mean: constants with their values, variables, formulas, labels; modules made of others.

use super::super::ast::{self, Kind};
use super::term::{self, Term, Wrong};
use crate::{Diagnostic, Diagnostics};
use hadal_system::rows::Rational;
use hadal_system::units::counted;
use hadal_system::{BinaryOp, Expr, Place, ShapeId, Span, VarId};
use num_traits::ToPrimitive;
use std::collections::{HashMap, HashSet};

/// A variable as expressions see it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub var: VarId,
    pub shape: ShapeId,
    pub is_bool: bool,
    pub bounds: (i64, i64),
}

/// Everything names can mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub constants: HashMap<String, Term>,
    /// Declared, but without a value.
    pub missing: HashMap<String, ast::Type>,
    pub variables: HashMap<String, Known>,
    pub formulas: HashMap<String, ast::Expr>,
    /// Variables that stand for something else: the parameters of a start.
    pub instead: HashMap<String, Expr>,
    /// Formulas being expanded, so that circles are found.
    expanding: HashSet<String>,
}

/// A mistake with its place.
pub(super) type Placed<T> = Result<T, (Span, Wrong)>;

impl Names {
    /// Gives constants their values: from `given`, else from the model.
    pub fn define(
        &mut self,
        constants: &[ast::Constant],
        given: &HashMap<String, Rational>,
        diagnostics: &mut Diagnostics,
    ) {
        // A constant may name later ones: whatever can be evaluated is, until nothing changes.
        let mut left: Vec<&ast::Constant> = Vec::new();
        for constant in constants {
            if self.constants.contains_key(&constant.name) {
                diagnostics
                    .push(Diagnostic::error(constant.span, format!("`{}` is declared twice", constant.name)));
                continue;
            }
            match (given.get(&constant.name), &constant.value) {
                (Some(value), _) => match typed(Term::Exact(*value), constant.ty) {
                    Ok(term) => {
                        self.constants.insert(constant.name.clone(), term);
                    }
                    Err(wrong) => diagnostics.push(Diagnostic::error(constant.span, wrong)),
                },
                (None, Some(_)) => left.push(constant),
                (None, None) => {
                    self.missing.insert(constant.name.clone(), constant.ty);
                }
            }
        }
        loop {
            let before = left.len();
            let pending: HashSet<String> = left.iter().map(|c| c.name.clone()).collect();
            left.retain(|constant| {
                let Some(value) = &constant.value else { return false };
                let mut named = Vec::new();
                names_in(value, &mut named);
                if named.iter().any(|name| self.missing.contains_key(name)) {
                    self.missing.insert(constant.name.clone(), constant.ty);
                    return false;
                }
                if named.iter().any(|name| pending.contains(name)) {
                    return true;
                }
                let found = self.term(value).and_then(|term| {
                    let is_constant = match &term {
                        Term::Bool(expr) => expr.as_const().is_some(),
                        term => term.constant().is_some(),
                    };
                    if !is_constant {
                        return Err((value.span, "the value of a constant depends on variables".into()));
                    }
                    typed(term, constant.ty).map_err(|wrong| (value.span, wrong))
                });
                match found {
                    Ok(term) => {
                        self.constants.insert(constant.name.clone(), term);
                    }
                    Err((span, wrong)) => diagnostics.push(Diagnostic::error(span, wrong)),
                }
                false
            });
            if left.is_empty() {
                return;
            }
            if left.len() == before {
                let span = left[0].span;
                diagnostics.push(Diagnostic::error(span, "these constants are defined by each other"));
                return;
            }
        }
    }

    /// Lowers an expression without operators of properties.
    pub fn term(&mut self, expr: &ast::Expr) -> Placed<Term> {
        let span = expr.span;
        let here = |wrong: Wrong| (span, wrong);
        match &expr.kind {
            Kind::Int(value) => Ok(Term::int(*value)),
            Kind::Real(value) => Ok(Term::Exact(*value)),
            Kind::Bool(value) => Ok(Term::truth(*value)),
            Kind::Name(name) => self.named(name, span),
            Kind::Label(name) => {
                Err(here(format!("the label \"{name}\" has no meaning in a model's expression")))
            }
            Kind::Not(operand) => {
                let operand = self.term(operand)?.into_bool().map_err(here)?;
                Ok(Term::Bool(term::not(operand)))
            }
            Kind::Negate(operand) => {
                let operand = self.term(operand)?;
                term::arithmetic(BinaryOp::Subtract, Term::int(0), operand).map_err(here)
            }
            Kind::Binary(op, left, right) => {
                let (left, right) = (self.term(left)?, self.term(right)?);
                self.binary(*op, left, right).map_err(here)
            }
            Kind::If(condition, then, otherwise) => {
                let condition = self.term(condition)?.into_bool().map_err(here)?;
                let (then, otherwise) = (self.term(then)?, self.term(otherwise)?);
                either(condition, then, otherwise).map_err(here)
            }
            Kind::Call(function, arguments) => {
                let arguments: Vec<Term> =
                    arguments.iter().map(|a| self.term(a)).collect::<Result<_, _>>()?;
                self.call(function, arguments).map_err(here)
            }
            Kind::Probability(_)
            | Kind::Average(_)
            | Kind::Reward(..)
            | Kind::Filter(..)
            | Kind::Path(_)
            | Kind::Paths(..)
            | Kind::Unsupported(_) => Err(here("a question cannot stand inside an expression".into())),
        }
    }

    /// A truth value.
    pub fn condition(&mut self, expr: &ast::Expr) -> Placed<Expr> {
        self.term(expr)?.into_bool().map_err(|wrong| (expr.span, wrong))
    }

    /// A whole number known now.
    pub fn number(&mut self, expr: &ast::Expr) -> Placed<i64> {
        let value = self.term(expr)?.into_int().map_err(|wrong| (expr.span, wrong))?;
        value.as_const().ok_or_else(|| (expr.span, "this has to be known before the search".into()))
    }

    fn named(&mut self, name: &str, span: Span) -> Placed<Term> {
        if let Some(expr) = self.instead.get(name) {
            let is_bool = self.variables.get(name).is_some_and(|v| v.is_bool);
            let expr = term::at(expr.clone(), span);
            return Ok(if is_bool { Term::Bool(expr) } else { Term::Int(expr) });
        }
        if let Some(known) = self.variables.get(name) {
            let read = Place::global(known.var, known.shape, span).read();
            return Ok(if known.is_bool { Term::Bool(read) } else { Term::Int(read) });
        }
        if let Some(term) = self.constants.get(name) {
            return Ok(match term {
                Term::Bool(expr) => Term::Bool(term::at(expr.clone(), span)),
                Term::Int(expr) => Term::Int(term::at(expr.clone(), span)),
                other => other.clone(),
            });
        }
        if let Some(formula) = self.formulas.get(name).cloned() {
            if !self.expanding.insert(name.to_owned()) {
                return Err((span, format!("the formula `{name}` is defined by itself")));
            }
            let result = self.term(&formula);
            self.expanding.remove(name);
            return result;
        }
        if self.missing.contains_key(name) {
            return Err((
                span,
                format!("the constant `{name}` has no value: give it one with -D {name}=VALUE"),
            ));
        }
        Err((span, format!("`{name}` is not declared")))
    }

    fn binary(&self, op: ast::Op, left: Term, right: Term) -> Result<Term, Wrong> {
        use ast::Op;
        let arithmetic = match op {
            Op::Add => Some(BinaryOp::Add),
            Op::Subtract => Some(BinaryOp::Subtract),
            Op::Multiply => Some(BinaryOp::Multiply),
            Op::Divide => Some(BinaryOp::Divide),
            _ => None,
        };
        if let Some(op) = arithmetic {
            return term::arithmetic(op, left, right);
        }
        let comparison = match op {
            Op::Less => Some(BinaryOp::Less),
            Op::LessEqual => Some(BinaryOp::LessEqual),
            Op::Greater => Some(BinaryOp::Greater),
            Op::GreaterEqual => Some(BinaryOp::GreaterEqual),
            Op::Equal => Some(BinaryOp::Equal),
            Op::NotEqual => Some(BinaryOp::NotEqual),
            _ => None,
        };
        if let Some(op) = comparison {
            return term::compare(op, left, right).map(Term::Bool);
        }
        let (left, right) = (left.into_bool()?, right.into_bool()?);
        Ok(Term::Bool(match op {
            Op::And => term::fold(BinaryOp::And, left, right),
            Op::Or => term::fold(BinaryOp::Or, left, right),
            Op::Implies => term::fold(BinaryOp::Or, term::not(left), right),
            _ => term::fold(BinaryOp::Equal, left, right),
        }))
    }

    fn call(&self, function: &str, mut arguments: Vec<Term>) -> Result<Term, Wrong> {
        let count = arguments.len();
        let wanted = |n: usize| {
            if count == n {
                return Ok(());
            }
            Err(format!("`{function}` takes {}, not {count}", counted(n as u64, "argument")))
        };
        match function {
            "min" | "max" => {
                let op = if function == "min" { BinaryOp::LessEqual } else { BinaryOp::GreaterEqual };
                let mut rest = arguments.drain(..);
                let Some(mut best) = rest.next() else { return Err(format!("`{function}` takes arguments")) };
                for next in rest {
                    let better = term::compare(op, best.clone(), next.clone())?;
                    best = either(better, best, next)?;
                }
                Ok(best)
            }
            "floor" | "ceil" | "round" => {
                wanted(1)?;
                term::rounded(function, arguments.remove(0))
            }
            "mod" => {
                wanted(2)?;
                let below = arguments.remove(1).into_int()?;
                let above = arguments.remove(0).into_int()?;
                let rest = term::fold(BinaryOp::Remainder, above, below.clone());
                let negative = term::fold(BinaryOp::Less, rest.clone(), Expr::constant(0));
                Ok(Term::Int(term::choose(negative, term::fold(BinaryOp::Add, rest.clone(), below), rest)))
            }
            "pow" => {
                wanted(2)?;
                let exponent = arguments.remove(1);
                self.power(arguments.remove(0), exponent)
            }
            "log" => {
                wanted(2)?;
                let value = |t: &Term| t.constant().map(nearest);
                match (value(&arguments[0]), value(&arguments[1])) {
                    (Some(of), Some(base)) => approximate(of.ln() / base.ln()),
                    _ => Err("a logarithm has to be known before the search".into()),
                }
            }
            _ => Err(format!("there is no function `{function}`")),
        }
    }

    fn power(&self, base: Term, exponent: Term) -> Result<Term, Wrong> {
        let whole = matches!(&base, Term::Int(_));
        if let Some(n) = exponent.constant() {
            let Some(n) = n.is_integer().then(|| n.to_integer().to_i64()).flatten() else {
                let value = base.constant().map(|b| (nearest(b), nearest(n)));
                return match value {
                    Some((base, n)) => approximate(base.powf(n)),
                    None => Err("a power with a fraction has to be known before the search".into()),
                };
            };
            if let Some(value) = base.constant() {
                let value = term::power(value, n).ok_or(term::TOO_LARGE)?;
                let integer = value.is_integer().then(|| value.to_integer().to_i64()).flatten();
                return Ok(match integer {
                    Some(integer) if whole => Term::int(integer),
                    _ => Term::Exact(value),
                });
            }
            let mut result = Term::int(1);
            for _ in 0..n.unsigned_abs().min(64) {
                result = term::arithmetic(BinaryOp::Multiply, result, base.clone())?;
            }
            return if n < 0 { term::arithmetic(BinaryOp::Divide, Term::int(1), result) } else { Ok(result) };
        }
        let exponent = exponent.into_int()?;
        let (low, high) = self.range(&exponent).ok_or("the range of this exponent is not known")?;
        if high.saturating_sub(low) > 256 {
            return Err("the range of this exponent is too large".into());
        }
        let mut result = self.power(base.clone(), Term::int(high))?;
        for n in (low..high).rev() {
            let here = self.power(base.clone(), Term::int(n))?;
            let is = term::fold(BinaryOp::Equal, exponent.clone(), Expr::constant(n));
            result = either(is, here, result)?;
        }
        Ok(result)
    }

    /// Between what an expression lies, where that is easily seen.
    fn range(&self, expr: &Expr) -> Option<(i64, i64)> {
        use hadal_system::{Base, ExprKind};
        match &expr.kind {
            ExprKind::Const(value) => Some((*value, *value)),
            ExprKind::Read(place) => match place.base {
                Base::Global(var) => self.variables.values().find(|k| k.var == var).map(|k| k.bounds),
                Base::Local(_) => None,
            },
            ExprKind::Binary(op, left, right) => {
                let ((a, b), (c, d)) = (self.range(left)?, self.range(right)?);
                match op {
                    BinaryOp::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
                    BinaryOp::Subtract => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
                    BinaryOp::Multiply => {
                        let products =
                            [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
                        Some((*products.iter().min()?, *products.iter().max()?))
                    }
                    _ => None,
                }
            }
            ExprKind::If(_, then, otherwise) => {
                let ((a, b), (c, d)) = (self.range(then)?, self.range(otherwise)?);
                Some((a.min(c), b.max(d)))
            }
            _ => None,
        }
    }
}

/// One of two terms of the same type.
fn either(condition: Expr, then: Term, otherwise: Term) -> Result<Term, Wrong> {
    match condition.as_const() {
        Some(0) => return Ok(otherwise),
        Some(_) => return Ok(then),
        None => {}
    }
    Ok(match (then, otherwise) {
        (Term::Bool(l), Term::Bool(r)) => Term::Bool(term::choose(condition, l, r)),
        (Term::Int(l), Term::Int(r)) => Term::Int(term::choose(condition, l, r)),
        (then, otherwise) => {
            let ((a, b), (c, d)) = (then.into_ratio()?, otherwise.into_ratio()?);
            Term::Ratio(term::choose(condition.clone(), a, c), term::choose(condition, b, d))
        }
    })
}

fn nearest(value: Rational) -> f64 {
    *value.numer() as f64 / *value.denom() as f64
}

/// A floating-point result as the fraction it is.
fn approximate(value: f64) -> Result<Term, Wrong> {
    let scale = 1i128 << 50;
    let scaled = value * scale as f64;
    if !scaled.is_finite() || scaled.abs() > 1e30 {
        return Err("this has no finite value".into());
    }
    Ok(Term::Exact(Rational::new(scaled.round() as i128, scale)))
}

/// The value of a constant as its type demands.
fn typed(term: Term, ty: ast::Type) -> Result<Term, Wrong> {
    match (ty, term) {
        (ast::Type::Bool, Term::Exact(value)) => Ok(Term::truth(*value.numer() != 0)),
        (ast::Type::Bool, term) => term.into_bool().map(Term::Bool),
        (ast::Type::Int, term) => term.into_int().map(Term::Int),
        (ast::Type::Double, term) => term
            .constant()
            .map(Term::Exact)
            .ok_or_else(|| "a number is needed here, this is a truth value".into()),
    }
}

/// Every name in an expression.
pub(super) fn names_in(expr: &ast::Expr, found: &mut Vec<String>) {
    match &expr.kind {
        Kind::Name(name) => found.push(name.clone()),
        Kind::Not(operand) | Kind::Negate(operand) => names_in(operand, found),
        Kind::Binary(_, left, right) => {
            names_in(left, found);
            names_in(right, found);
        }
        Kind::If(condition, then, otherwise) => {
            for part in [condition, then, otherwise] {
                names_in(part, found);
            }
        }
        Kind::Call(_, arguments) => arguments.iter().for_each(|a| names_in(a, found)),
        _ => {}
    }
}
