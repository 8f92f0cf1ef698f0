//! What a guard says about single scalars, read off before any code is emitted.
//!
//! A guard is a conjunction, evaluated from left to right. For each conjunct that depends on one scalar at a static
//! position, every code of that scalar is tried: the conjunct holds, fails, or meets an error. Dispatch may look at the
//! scalar first only where the conjuncts to the left cannot meet an error while this one fails; so each conjunct also
//! says when it may meet one.

use hadal_system::interval;
use hadal_system::{
    Base, BinaryOp, Domain, DomainId, Expr, ExprKind, Layout, Place, Shape, Step, System, Value,
};

use super::values::max_code;

/// A scalar of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Scalar {
    /// Offset of its least significant bit.
    pub offset: u32,
    /// Its domain.
    pub domain: DomainId,
}

/// Under which codes of a scalar a conjunct does not simply fail.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub scalar: Scalar,
    /// Codes under which it holds or meets an error, ascending.
    pub codes: Vec<u64>,
    /// How many of them let it hold.
    pub holds: usize,
}

/// When evaluating a conjunct may meet an error of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errors {
    /// Never, unless one of these scalars is undefined.
    OnlyUndefined(Vec<Scalar>),
    /// Nothing is known.
    Maybe,
}

/// One conjunct of a guard, for one instance.
#[derive(Clone, Debug)]
pub(super) struct Conjunct {
    pub test: Option<Test>,
    pub errors: Errors,
}

/// More codes than this are not tried one by one.
const MAX_CODES: u64 = 512;

/// What evaluating with partial knowledge gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Value(Value),
    Error,
    Unknown,
}

/// Evaluates expressions of one action instance.
pub(super) struct Reader<'a> {
    pub system: &'a System,
    pub layout: &'a Layout,
    /// The values of the parameters, by local.
    pub locals: Vec<Option<Value>>,
}

impl<'a> Reader<'a> {
    /// The conjuncts of a guard; `None` where it can never hold and never meets an error.
    pub fn conjuncts(&self, guard: &'a Expr) -> Option<Vec<Conjunct>> {
        let mut parts = Vec::new();
        flatten(guard, &mut parts);
        let mut conjuncts = Vec::new();
        for part in parts {
            match self.evaluate(part, None) {
                // Nothing to the right is evaluated; whatever stands to the left may still meet an error.
                Outcome::Value(0) if conjuncts.is_empty() => return None,
                Outcome::Value(v) if v != 0 => {}
                _ => conjuncts.push(self.conjunct(part)),
            }
        }
        Some(conjuncts)
    }

    fn conjunct(&self, expr: &'a Expr) -> Conjunct {
        let mut scalars = Vec::new();
        if !self.collect(expr, &mut scalars) {
            return Conjunct { test: None, errors: Errors::Maybe };
        }
        scalars.sort_unstable();
        scalars.dedup();
        if let [scalar] = scalars[..] {
            let greatest = max_code(&self.system.domains[scalar.domain]);
            if greatest < MAX_CODES {
                return self.try_codes(expr, scalar, greatest);
            }
            if let Some(code) = self.equality(expr, scalar) {
                let undefined = self.system.domains[scalar.domain].undefined;
                let mut codes = vec![code];
                if undefined {
                    codes.insert(0, 0);
                }
                let errors = if undefined { vec![scalar] } else { vec![] };
                let test = Test { scalar, codes, holds: 1 };
                return Conjunct { test: Some(test), errors: Errors::OnlyUndefined(errors) };
            }
        }
        let errors = match self.bounds(expr) {
            Some(_) => {
                scalars.retain(|s| self.system.domains[s.domain].undefined);
                Errors::OnlyUndefined(scalars)
            }
            None => Errors::Maybe,
        };
        Conjunct { test: None, errors }
    }

    fn try_codes(&self, expr: &'a Expr, scalar: Scalar, greatest: u64) -> Conjunct {
        let (mut codes, mut holds) = (Vec::new(), 0);
        let mut errors = Errors::OnlyUndefined(vec![]);
        let undefined = self.system.domains[scalar.domain].undefined;
        for code in 0..=greatest {
            match self.evaluate(expr, Some((scalar, code))) {
                Outcome::Value(0) => continue,
                Outcome::Value(_) => holds += 1,
                Outcome::Error if undefined && code == 0 => {
                    errors = Errors::OnlyUndefined(vec![scalar]);
                }
                Outcome::Error => return self.untested(),
                Outcome::Unknown => return self.untested(),
            }
            codes.push(code);
        }
        Conjunct { test: Some(Test { scalar, codes, holds }), errors }
    }

    fn untested(&self) -> Conjunct {
        Conjunct { test: None, errors: Errors::Maybe }
    }

    /// The code a scalar of a large domain must have, where the expression is a plain equality.
    fn equality(&self, expr: &'a Expr, scalar: Scalar) -> Option<u64> {
        let ExprKind::Binary(BinaryOp::Equal, left, right) = &expr.kind else { return None };
        let constant = match (&left.kind, &right.kind) {
            (ExprKind::Read(_), _) => self.evaluate(right, None),
            (_, ExprKind::Read(_)) => self.evaluate(left, None),
            _ => return None,
        };
        match constant {
            Outcome::Value(value) => self.system.domains[scalar.domain].encode(Some(value)),
            _ => None,
        }
    }

    /// Notes every scalar of the state that is read; `false` where that, or the meaning, is not static.
    fn collect(&self, expr: &'a Expr, out: &mut Vec<Scalar>) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(place) | ExprKind::IsUndefined(place) => {
                if let Base::Local(local) = place.base {
                    return self.locals[local.0 as usize].is_some();
                }
                match self.scalar(place) {
                    Some(scalar) => {
                        out.push(scalar);
                        true
                    }
                    None => false,
                }
            }
            ExprKind::Unary(_, operand) | ExprKind::InDomain(operand, _) | ExprKind::Wrap(operand, _) => {
                self.collect(operand, out)
            }
            ExprKind::Binary(_, left, right) => self.collect(left, out) && self.collect(right, out),
            ExprKind::If(c, t, e) => self.collect(c, out) && self.collect(t, out) && self.collect(e, out),
            ExprKind::Quantified { .. } | ExprKind::Same(..) | ExprKind::Call(..) => false,
        }
    }

    /// The scalar a place of the state stands for, where all its indices are constants within their domains.
    fn scalar(&self, place: &'a Place) -> Option<Scalar> {
        let Base::Global(var) = place.base else { return None };
        let mut offset = self.layout.variable_offset(var);
        let mut shape = self.system.variable(var).shape;
        for step in &place.steps {
            match (step, &self.system.shapes[shape]) {
                (Step::Field(n), Shape::Record(fields)) => {
                    offset += self.layout.field_offset(self.system, shape, *n);
                    shape = fields[*n].shape;
                }
                (
                    Step::Index(index),
                    Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element },
                ) => {
                    let Outcome::Value(value) = self.evaluate(index, None) else { return None };
                    let position = self.system.domains[*domain].position(value)?;
                    offset += self.layout.element_offset(self.system, shape, position);
                    shape = *element;
                }
                _ => return None,
            }
        }
        Some(Scalar { offset, domain: self.system.shapes.scalar(shape)? })
    }

    fn evaluate(&self, expr: &'a Expr, known: Option<(Scalar, u64)>) -> Outcome {
        use Outcome::{Error, Unknown, Value};
        macro_rules! value {
            ($expr:expr) => {
                match self.evaluate($expr, known) {
                    Value(v) => v,
                    other => return other,
                }
            };
        }
        match &expr.kind {
            ExprKind::Const(v) => Value(*v),
            ExprKind::Read(place) => {
                if let Base::Local(local) = place.base {
                    return self.locals[local.0 as usize].map_or(Unknown, Value);
                }
                match (known, self.scalar(place)) {
                    (Some((scalar, code)), Some(read)) if scalar == read => {
                        let domain: &Domain = &self.system.domains[scalar.domain];
                        domain.decode(code).map_or(Error, Value)
                    }
                    _ => Unknown,
                }
            }
            ExprKind::IsUndefined(place) => match (known, self.scalar(place)) {
                (Some((scalar, code)), Some(read)) if scalar == read => {
                    Value((self.system.domains[scalar.domain].undefined && code == 0).into())
                }
                (_, Some(read)) if !self.system.domains[read.domain].undefined => Value(0),
                _ => Unknown,
            },
            ExprKind::Unary(op, operand) => op.apply(value!(operand)).map_or(Error, Value),
            ExprKind::Binary(BinaryOp::And, l, r) => Value((value!(l) != 0 && value!(r) != 0).into()),
            ExprKind::Binary(BinaryOp::Or, l, r) => Value((value!(l) != 0 || value!(r) != 0).into()),
            ExprKind::Binary(BinaryOp::Implies, l, r) => Value((value!(l) == 0 || value!(r) != 0).into()),
            ExprKind::Binary(op, l, r) => {
                let left = value!(l);
                let right = value!(r);
                op.apply(left, right).map_or(Error, Value)
            }
            ExprKind::If(c, t, e) => self.evaluate(if value!(c) != 0 { t } else { e }, known),
            ExprKind::Wrap(operand, domain) => Value(self.system.domains[*domain].wrap(value!(operand))),
            ExprKind::InDomain(operand, domain) => {
                Value(self.system.domains[*domain].contains(value!(operand)).into())
            }
            ExprKind::Quantified { .. } | ExprKind::Same(..) | ExprKind::Call(..) => Unknown,
        }
    }

    /// Bounds of a value that cannot meet an error other than an undefined scalar.
    fn bounds(&self, expr: &'a Expr) -> Option<(Value, Value)> {
        if let Outcome::Value(v) = self.evaluate(expr, None) {
            return Some((v, v));
        }
        match &expr.kind {
            ExprKind::Const(v) => Some((*v, *v)),
            ExprKind::Read(place) => {
                let domain = &self.system.domains[self.scalar(place)?.domain];
                Some((domain.min(), domain.max()))
            }
            ExprKind::IsUndefined(_) => Some((0, 1)),
            ExprKind::InDomain(operand, _) => self.bounds(operand).map(|_| (0, 1)),
            ExprKind::Wrap(operand, domain) => {
                let (lo, hi) = self.bounds(operand)?;
                let domain = &self.system.domains[*domain];
                let fits = domain.min() <= lo && hi <= domain.max();
                Some(if fits { (lo, hi) } else { (domain.min(), domain.max()) })
            }
            ExprKind::Unary(op, operand) => {
                let (lo, hi) = self.bounds(operand)?;
                Some(match op {
                    hadal_system::UnaryOp::Negate => (hi.checked_neg()?, lo.checked_neg()?),
                    hadal_system::UnaryOp::Not => (0, 1),
                    hadal_system::UnaryOp::BitNot => (!hi, !lo),
                })
            }
            ExprKind::Binary(op, l, r) => interval::binary(*op, self.bounds(l)?, self.bounds(r)?),
            ExprKind::If(c, t, e) => {
                self.bounds(c)?;
                let (t, e) = (self.bounds(t)?, self.bounds(e)?);
                Some((t.0.min(e.0), t.1.max(e.1)))
            }
            ExprKind::Quantified { .. } | ExprKind::Same(..) | ExprKind::Call(..) => None,
        }
    }
}

fn flatten<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    super::exprs::with_stack(|| match &expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            flatten(left, out);
            flatten(right, out);
        }
        _ => out.push(expr),
    })
}
