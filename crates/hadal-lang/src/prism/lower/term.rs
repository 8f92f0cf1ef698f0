//! Terms: what an expression of PRISM becomes. Numbers stay exact: decimals are rationals, quotients of variables are pairs
//! of whole numbers.

use hadal_system::rows::Rational;
use hadal_system::{BinaryOp, Expr, ExprKind, Span, UnaryOp};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Signed, ToPrimitive};

/// A lowered expression.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// A truth value.
    Bool(Expr),
    /// A whole number.
    Int(Expr),
    /// A constant real number.
    Exact(Rational),
    /// A real number that depends on the state: a quotient.
    Ratio(Expr, Expr),
}

/// Why a term cannot be made.
pub(super) type Wrong = String;

impl Term {
    pub fn truth(value: bool) -> Self {
        Term::Bool(Expr::constant(value.into()))
    }

    pub fn int(value: i64) -> Self {
        Term::Int(Expr::constant(value))
    }

    /// The constant value of a number.
    pub fn constant(&self) -> Option<Rational> {
        match self {
            Term::Int(expr) => expr.as_const().map(|v| Rational::from_integer(v.into())),
            Term::Exact(value) => Some(*value),
            Term::Bool(_) | Term::Ratio(..) => None,
        }
    }

    /// As a truth value.
    pub fn into_bool(self) -> Result<Expr, Wrong> {
        match self {
            Term::Bool(expr) => Ok(expr),
            _ => Err("a truth value is needed here, this is a number".into()),
        }
    }

    /// As a whole number.
    pub fn into_int(self) -> Result<Expr, Wrong> {
        match self {
            Term::Int(expr) => Ok(expr),
            Term::Exact(value) if value.is_integer() => match value.to_integer().to_i64() {
                Some(value) => Ok(Expr::constant(value)),
                None => Err(TOO_LARGE.into()),
            },
            Term::Exact(_) | Term::Ratio(..) => {
                Err("a whole number is needed here; write floor(...) or ceil(...)".into())
            }
            Term::Bool(_) => Err("a number is needed here, this is a truth value".into()),
        }
    }

    /// As a quotient.
    pub fn into_ratio(self) -> Result<(Expr, Expr), Wrong> {
        match self {
            Term::Int(expr) => Ok((expr, Expr::constant(1))),
            Term::Ratio(above, below) => Ok((above, below)),
            Term::Exact(value) => match (value.numer().to_i64(), value.denom().to_i64()) {
                (Some(above), Some(below)) => Ok((Expr::constant(above), Expr::constant(below))),
                _ => Err(TOO_LARGE.into()),
            },
            Term::Bool(_) => Err("a number is needed here, this is a truth value".into()),
        }
    }
}

pub(super) const TOO_LARGE: &str = "this number is too large to be exact";

/// `left op right` with constants folded.
pub(super) fn fold(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    use BinaryOp::{Add, And, Divide, Implies, Multiply, Or, Subtract};
    if let (Some(l), Some(r)) = (left.as_const(), right.as_const())
        && let Some(value) = op.apply(l, r)
    {
        return Expr::new(ExprKind::Const(value), left.span.to(right.span));
    }
    match (op, left.as_const(), right.as_const()) {
        (And, Some(0), _) | (Or, Some(1), _) | (Multiply, Some(0), _) => left,
        (And, Some(1), _)
        | (Or, Some(0), _)
        | (Add, Some(0), _)
        | (Multiply, Some(1), _)
        | (Implies, Some(1), _) => right,
        (And, _, Some(1))
        | (Or, _, Some(0))
        | (Add | Subtract, _, Some(0))
        | (Multiply | Divide, _, Some(1)) => left,
        _ => Expr::binary(op, left, right),
    }
}

/// `!operand`
pub(super) fn not(operand: Expr) -> Expr {
    match operand.as_const() {
        Some(value) => Expr::new(ExprKind::Const((value == 0).into()), operand.span),
        None => {
            let span = operand.span;
            Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), span)
        }
    }
}

/// `condition ? then : otherwise`
pub(super) fn choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    match condition.as_const() {
        Some(0) => otherwise,
        Some(_) => then,
        None if then == otherwise => then,
        None => {
            let span = condition.span.to(otherwise.span);
            Expr::new(ExprKind::If(Box::new(condition), Box::new(then), Box::new(otherwise)), span)
        }
    }
}

/// `left op right` for `+`, `-`, `*`, `/`.
pub(super) fn arithmetic(op: BinaryOp, left: Term, right: Term) -> Result<Term, Wrong> {
    if op != BinaryOp::Divide
        && let (Term::Int(l), Term::Int(r)) = (&left, &right)
    {
        return Ok(Term::Int(fold(op, l.clone(), r.clone())));
    }
    if let (Some(l), Some(r)) = (left.constant(), right.constant()) {
        let value = match op {
            BinaryOp::Add => l.checked_add(&r),
            BinaryOp::Subtract => l.checked_sub(&r),
            BinaryOp::Multiply => l.checked_mul(&r),
            _ if *r.numer() == 0 => return Err("this divides by zero".into()),
            _ => l.checked_div(&r),
        };
        return value.map(Term::Exact).ok_or_else(|| TOO_LARGE.into());
    }
    let ((a, b), (c, d)) = (left.into_ratio()?, right.into_ratio()?);
    let times = |l: &Expr, r: &Expr| fold(BinaryOp::Multiply, l.clone(), r.clone());
    Ok(match op {
        BinaryOp::Add | BinaryOp::Subtract if b == d => Term::Ratio(fold(op, a, c), b),
        BinaryOp::Add | BinaryOp::Subtract => {
            Term::Ratio(fold(op, times(&a, &d), times(&c, &b)), times(&b, &d))
        }
        BinaryOp::Multiply => Term::Ratio(times(&a, &c), times(&b, &d)),
        _ => Term::Ratio(times(&a, &d), times(&b, &c)),
    })
}

/// Compares two numbers or two truth values.
pub(super) fn compare(op: BinaryOp, left: Term, right: Term) -> Result<Expr, Wrong> {
    match (left, right) {
        (Term::Bool(l), Term::Bool(r)) => match op {
            BinaryOp::Equal | BinaryOp::NotEqual => Ok(fold(op, l, r)),
            _ => Err("truth values have no order".into()),
        },
        (Term::Int(l), Term::Int(r)) => Ok(fold(op, l, r)),
        (left, right) => {
            if let (Some(l), Some(r)) = (left.constant(), right.constant()) {
                let order = l.cmp(&r);
                return Ok(Expr::constant(op.apply(order as i64, 0).ok_or("this comparison has no value")?));
            }
            let ((a, b), (c, d)) = (left.into_ratio()?, right.into_ratio()?);
            let times = |l: Expr, r: Expr| fold(BinaryOp::Multiply, l, r);
            let positive = |e: &Expr| e.as_const().is_some_and(|v| v > 0);
            if positive(&b) && positive(&d) {
                return Ok(fold(op, times(a, d), times(c, b)));
            }
            // The sign of a/b - c/d is that of (ad - cb) bd.
            let difference = fold(BinaryOp::Subtract, times(a, d.clone()), times(c, b.clone()));
            Ok(fold(op, times(difference, times(b, d)), Expr::constant(0)))
        }
    }
}

/// The greatest whole number not above `above / below`.
pub(super) fn floor(above: Expr, below: Expr) -> Expr {
    let quotient = fold(BinaryOp::Divide, above.clone(), below.clone());
    let rest = fold(BinaryOp::Remainder, above, below.clone());
    let apart = fold(BinaryOp::Less, fold(BinaryOp::Multiply, rest, below), Expr::constant(0));
    let lower = fold(BinaryOp::Subtract, quotient.clone(), Expr::constant(1));
    choose(apart, lower, quotient)
}

/// `floor`, `ceil` or `round` of a number.
pub(super) fn rounded(function: &str, term: Term) -> Result<Term, Wrong> {
    if let Some(value) = term.constant() {
        let value = match function {
            "floor" => value.floor(),
            "ceil" => value.ceil(),
            _ => (value + Rational::new(1, 2)).floor(),
        };
        return value.to_integer().to_i64().map(Term::int).ok_or_else(|| TOO_LARGE.into());
    }
    let (above, below) = term.into_ratio()?;
    let minus = |e: Expr| fold(BinaryOp::Subtract, Expr::constant(0), e);
    Ok(Term::Int(match function {
        "floor" => floor(above, below),
        "ceil" => minus(floor(minus(above), below)),
        _ => {
            let twice = |e: Expr| fold(BinaryOp::Multiply, Expr::constant(2), e);
            floor(fold(BinaryOp::Add, twice(above), below.clone()), twice(below))
        }
    }))
}

/// `base` to a power.
pub(super) fn power(base: Rational, exponent: i64) -> Option<Rational> {
    let mut result = Rational::from_integer(1);
    for _ in 0..exponent.unsigned_abs().min(10_000) {
        result = result.checked_mul(&base)?;
    }
    if exponent.unsigned_abs() > 10_000 && base.abs() != Rational::from_integer(1) && *base.numer() != 0 {
        return None;
    }
    if exponent < 0 { Rational::from_integer(1).checked_div(&result) } else { Some(result) }
}

/// Where an expression stands, for terms that have no place of their own.
pub(super) fn at(expr: Expr, span: Span) -> Expr {
    Expr { span, ..expr }
}
