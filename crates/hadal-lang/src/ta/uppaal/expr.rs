//! Expressions: values, and writes inside expressions.

use super::ast::{Quantity, Term, TermKind, Type};
use super::lower::{Code, Lowering, MAX_VALUES};
use super::reference::Reference;
use super::types::{Constant, Meaning, Ty};
use crate::ta::declare::is_at;
use hadal_system::{
    Argument, BinaryOp, Domain, Expr, ExprKind, Function, LocalKind, Place, Quantifier, Range, Span, Stmt,
    StmtKind, UnaryOp,
};

/// The most expressions that are made.
const MAX_WORK: u64 = 20_000_000;

impl Lowering<'_> {
    /// The value of an expression over variables.
    pub(super) fn value(&mut self, code: &mut Code, term: &Term) -> Option<Expr> {
        let span = term.span;
        self.work += 1;
        if self.work > MAX_WORK {
            if self.work == MAX_WORK + 1 {
                self.error(
                    span,
                    "the model is too large when its quantifiers and selections are written out",
                );
            }
            return None;
        }
        let kind = match &term.kind {
            TermKind::Number(number) => ExprKind::Const(*number),
            TermKind::Name(_) | TermKind::Index(..) | TermKind::Field(..) => return self.read(code, term),
            TermKind::Unary(op, of) => {
                let of = self.value(code, of)?;
                match of.as_const().and_then(|value| op.apply(value)) {
                    Some(value) => ExprKind::Const(value),
                    None => ExprKind::Unary(*op, Box::new(of)),
                }
            }
            TermKind::Binary(op, left, right) => {
                let (left, right) = (self.value(code, left), self.value(code, right));
                return Some(fold(*op, left?, right?, span));
            }
            TermKind::Least(left, right) | TermKind::Most(left, right) => {
                let (left, right) = (self.value(code, left), self.value(code, right));
                let (left, right) = (left?, right?);
                let least = matches!(term.kind, TermKind::Least(..));
                let op = if least { BinaryOp::LessEqual } else { BinaryOp::GreaterEqual };
                let condition = fold(op, left.clone(), right.clone(), span);
                return Some(choose(condition, left, right, span));
            }
            TermKind::If(condition, yes, no) => {
                let parts = (self.value(code, condition), self.value(code, yes), self.value(code, no));
                return Some(choose(parts.0?, parts.1?, parts.2?, span));
            }
            TermKind::Call(of, arguments) => {
                if let TermKind::Name(name) = &of.kind
                    && let Some(Meaning::Function(function, scope)) = self.lookup(code.scope, name).cloned()
                {
                    let (id, arguments) = self.call(code, (&function, scope), arguments, span)?;
                    if self.system.functions[id.0 as usize].result.is_none() {
                        self.error(span, format!("`{name}` gives no value"));
                        return None;
                    }
                    return Some(Expr::new(ExprKind::Call(id, arguments), span));
                }
                return self.read(code, term);
            }
            TermKind::Assign(..) | TermKind::Step(..) => return self.write(code, term),
            TermKind::Quantified(..) => return self.quantified(code, term),
            TermKind::Deadlock => {
                self.error(span, "`deadlock` stands in queries only");
                return None;
            }
            TermKind::Rate(_) => {
                self.error(
                    span,
                    "rates of clocks stand in invariants only, and stopwatches are not supported",
                );
                return None;
            }
            TermKind::List(_) => {
                self.error(span, "a list stands in initialisers only");
                return None;
            }
        };
        Some(Expr::new(kind, span))
    }

    fn read(&mut self, code: &mut Code, term: &Term) -> Option<Expr> {
        match self.reference(code, term)? {
            Reference::Place(place, Ty::Int(..) | Ty::Bool) => Some(place.read()),
            Reference::Constants(all, Ty::Int(..) | Ty::Bool) => {
                if let [(conditions, Constant::Int(value))] = all.as_slice()
                    && conditions.is_empty()
                {
                    return Some(Expr::new(ExprKind::Const(*value), term.span));
                }
                // An index outside the table is an error, as dividing by zero is.
                let zero = Expr::new(ExprKind::Const(0), term.span);
                let one = Expr::new(ExprKind::Const(1), term.span);
                let error =
                    Expr::new(ExprKind::Binary(BinaryOp::Divide, Box::new(one), Box::new(zero)), term.span);
                let chain = all.into_iter().rev().fold(error, |otherwise, (conditions, constant)| {
                    let value = match constant {
                        Constant::Int(value) => value,
                        Constant::List(_) => 0,
                    };
                    let value = Expr::new(ExprKind::Const(value), term.span);
                    choose(Expr::all(conditions), value, otherwise, term.span)
                });
                Some(chain)
            }
            Reference::Location(process, location) => Some(is_at(&self.system, process, location)),
            Reference::Clock { .. } => {
                self.error(term.span, "a clock can only be compared and reset");
                None
            }
            _ => {
                self.error(term.span, "this is not a number");
                None
            }
        }
    }

    /// Writes inside an expression: the statement goes before the one that the expression stands in.
    pub(super) fn write(&mut self, code: &mut Code, term: &Term) -> Option<Expr> {
        if !code.writes {
            self.error(term.span, "nothing can be written here");
            return None;
        }
        match &term.kind {
            TermKind::Assign(op, left, right) => {
                if op.is_none()
                    && let Some((to, ty @ (Ty::Array { .. } | Ty::Struct(_)))) = self.quiet_place(code, left)
                {
                    let (from, _) = self.place(code, right)?;
                    let _ = ty;
                    code.out.push(Stmt::new(StmtKind::Copy { to, from }, term.span));
                    return Some(Expr::constant(0));
                }
                let value = self.value(code, right)?;
                let (place, _) = self.place(code, left)?;
                let value = match op {
                    None => value,
                    Some(op) => fold(*op, place.clone().read(), value, term.span),
                };
                code.out.push(Stmt::new(StmtKind::Assign(place.clone(), value), term.span));
                Some(place.read())
            }
            TermKind::Step(of, by, after) => {
                let (place, ty) = self.place(code, of)?;
                let stepped = fold(BinaryOp::Add, place.clone().read(), Expr::constant(*by), term.span);
                let assign = Stmt::new(StmtKind::Assign(place.clone(), stepped), term.span);
                if !after {
                    code.out.push(assign);
                    return Some(place.read());
                }
                let shape = self.shape(&ty, term.span)?;
                let before = code.local("before", shape, LocalKind::Variable, term.span);
                code.out.push(Stmt::new(StmtKind::Assign(before.clone(), place.read()), term.span));
                code.out.push(assign);
                Some(before.read())
            }
            _ => self.value(code, term),
        }
    }

    /// A place, without complaints where it is none.
    fn quiet_place(&mut self, code: &mut Code, term: &Term) -> Option<(Place, Ty)> {
        let (errors, out) = (self.findings.list.len(), code.out.len());
        let found = self.place(code, term);
        self.findings.list.truncate(errors);
        code.out.truncate(out);
        found
    }

    /// A function and its arguments.
    pub(super) fn call(
        &mut self,
        code: &mut Code,
        (function, scope): (&std::rc::Rc<super::ast::Function>, usize),
        arguments: &[Term],
        span: Span,
    ) -> Option<(hadal_system::FunctionId, Vec<Argument>)> {
        let id = self.function(function, scope, span)?;
        let Function { locals, parameters, .. } = self.system.functions[id.0 as usize].clone();
        if parameters != arguments.len() {
            self.error(span, format!("`{}` takes {parameters} arguments", function.name));
            return None;
        }
        let mut all = Vec::new();
        for (argument, local) in arguments.iter().zip(&locals) {
            all.push(match (local.kind, self.system.shapes.scalar(local.shape)) {
                (LocalKind::Reference, _) => Argument::Reference(self.place(code, argument)?.0),
                (_, Some(_)) => Argument::Value(self.value(code, argument)?),
                (_, None) => Argument::Copy(self.place(code, argument)?.0),
            });
        }
        Some((id, all))
    }

    /// The values of a bounded type.
    pub(super) fn values(&mut self, scope: usize, ty: &Type) -> Option<(i64, i64)> {
        match self.ty(scope, ty)? {
            Ty::Int(low, high) if high.saturating_sub(low) < MAX_VALUES => Some((low, high)),
            Ty::Bool => Some((0, 1)),
            _ => {
                self.error(ty.span, format!("expected a range of at most {MAX_VALUES} values"));
                None
            }
        }
    }

    /// Written out, term by term: bodies may speak of clocks and processes. Inside functions that write, a loop is kept.
    fn quantified(&mut self, code: &mut Code, term: &Term) -> Option<Expr> {
        let TermKind::Quantified(quantity, name, ty, body) = &term.kind else { return None };
        let (quantity, span) = (*quantity, term.span);
        let (low, high) = self.values(code.scope, ty)?;
        let outer = code.scope;
        let (neutral, op) = match quantity {
            Quantity::ForAll => (1, BinaryOp::And),
            Quantity::Exists => (0, BinaryOp::Or),
            Quantity::Sum => (0, BinaryOp::Add),
        };
        if code.writes && quantity != Quantity::Sum {
            let shape = self.shape(&Ty::Int(low, high), span)?;
            let place = code.local(name, shape, LocalKind::Bound, span);
            let hadal_system::Base::Local(local) = place.base else { return None };
            code.scope = self.scope(outer);
            self.bind(code.scope, name, Meaning::Place(place, Ty::Int(low, high)));
            let made = code.out.len();
            let condition = self.value(code, body);
            if code.out.len() > made {
                self.error(span, "nothing can be written inside a quantifier");
            }
            code.scope = outer;
            let domain = self.system.domains.add(Domain::range(low, high, false));
            let quantifier =
                if quantity == Quantity::ForAll { Quantifier::ForAll } else { Quantifier::Exists };
            let (range, body) = (Box::new(Range::Domain(domain)), Box::new(condition?));
            return Some(Expr::new(ExprKind::Quantified { quantifier, local, range, body }, span));
        }
        let mut all = Expr::new(ExprKind::Const(neutral), span);
        let scope = self.scope(outer);
        for value in low..=high {
            self.bind(scope, name, Meaning::Constant(Constant::Int(value), Ty::Int(low, high)));
            code.scope = scope;
            let part = self.value(code, body);
            code.scope = outer;
            all = fold(op, all, part?, span);
        }
        Some(all)
    }
}

/// `left op right`, computed where both are known, and without what is neutral.
pub(super) fn fold(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
    let known = match (op, left.as_const(), right.as_const()) {
        (_, Some(l), Some(r)) => op.apply(l, r),
        (BinaryOp::And, Some(0), _) => Some(0),
        (BinaryOp::Or, Some(l), _) if l != 0 => Some(1),
        (BinaryOp::Implies, Some(0), _) => Some(1),
        _ => None,
    };
    if let Some(value) = known {
        return Expr::new(ExprKind::Const(value), span);
    }
    match (op, left.as_const(), right.as_const()) {
        (BinaryOp::And | BinaryOp::Implies, Some(_), _) | (BinaryOp::Or | BinaryOp::Add, Some(0), _) => right,
        (BinaryOp::Or | BinaryOp::Add | BinaryOp::Subtract, _, Some(0)) => left,
        (BinaryOp::And, _, Some(r)) if r != 0 => left,
        _ => Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)), span),
    }
}

pub(super) fn choose(condition: Expr, yes: Expr, no: Expr, span: Span) -> Expr {
    match condition.as_const() {
        Some(0) => no,
        Some(_) => yes,
        None => Expr::new(ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)), span),
    }
}

pub(super) fn negate(expr: Expr) -> Expr {
    let span = expr.span;
    match expr.as_const() {
        Some(value) => Expr::new(ExprKind::Const((value == 0).into()), span),
        None => Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(expr)), span),
    }
}
