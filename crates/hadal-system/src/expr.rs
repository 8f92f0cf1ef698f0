//! Expressions and places.
//!
//! Every expression has a value in `i64` or meets an error of the model: reading an undefined scalar, an index
//! outside its domain, division by zero, a result that does not fit 64 bits. Operands are evaluated left to right.

use crate::domain::{DomainId, Value};
use crate::shape::ShapeId;
use crate::source::Span;
use crate::stmt::Argument;
use crate::system::{FunctionId, LocalId, VarId};

/// An expression and where it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// This value.
    Const(Value),
    /// The scalar at the place; an error when it is undefined.
    Read(Box<Place>),
    /// 1 when the scalar at the place is undefined, or any scalar below it where the place is an aggregate.
    IsUndefined(Box<Place>),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// The second where the first is not 0, else the third; only one of them is evaluated.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Whether the condition is true for all or some values of a local; stops at the first that decides.
    Quantified {
        /// All or some.
        quantifier: Quantifier,
        /// The bound local.
        local: LocalId,
        /// What it ranges over.
        range: Box<Range>,
        /// The condition.
        body: Box<Expr>,
    },
    /// 1 when two aggregates of the same shape are equal scalar by scalar, undefined being equal to undefined only.
    Same(Box<Place>, Box<Place>),
    /// The result of a function that has one.
    Call(FunctionId, Vec<Argument>),
    /// 1 when the operand lies in the domain.
    InDomain(Box<Expr>, DomainId),
    /// The operand brought into a domain of one interval by whole multiples of the domain's size: what a machine keeps
    /// of a number in a field of few bits ([`crate::Domain::wrap`]).
    Wrap(Box<Expr>, DomainId),
}

/// Operators on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Negate,
    /// 1 where the operand is 0, else 0.
    Not,
    /// Every bit flipped.
    BitNot,
}

/// Operators on two values. Comparisons give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient towards zero; dividing by 0 is an error.
    Divide,
    /// Remainder with the sign of the left operand; by 0 is an error.
    Remainder,
    /// Left operand shifted left; a negative amount shifts right; bits shifted out are lost without error, amounts
    /// of 64 and more give 0.
    ShiftLeft,
    /// Arithmetic shift right; a negative amount shifts left; amounts of 64 and more give 0 or -1.
    ShiftRight,
    /// Bits set in both.
    BitAnd,
    /// Bits set in either.
    BitOr,
    /// Bits set in one of them.
    BitXor,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// 0 when the left is 0 (the right is then not evaluated), else 1 exactly when the right is not 0.
    And,
    /// 1 when the left is not 0 (the right is then not evaluated), else 1 exactly when the right is not 0.
    Or,
    /// 1 when the left is 0 (the right is then not evaluated), else 1 exactly when the right is not 0.
    Implies,
}

/// All or some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// True for every value.
    ForAll,
    /// True for at least one value.
    Exists,
}

/// What a loop or quantifier runs over. Bounds are evaluated once, before the first turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// Every value of a domain, ascending.
    Domain(DomainId),
    /// `from`, `from + by`, ... as long as it does not pass `to`; downwards where `by` is negative. A step of 0 is
    /// an error of the model.
    Steps {
        /// First value.
        from: Expr,
        /// Last value that is still allowed.
        to: Expr,
        /// Step.
        by: Expr,
    },
}

/// Something that can be read or written: a variable or local, then a path into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the path starts.
    pub base: Base,
    /// Fields and indices, outermost first.
    pub steps: Vec<Step>,
    /// The shape of what stands there.
    pub shape: ShapeId,
    /// Where it stands in the source.
    pub span: Span,
}

/// Where a place starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A variable of the state.
    Global(VarId),
    /// A local of the enclosing action, function or property. A [`crate::LocalKind::Reference`] local stands for
    /// the place it was bound to.
    Local(LocalId),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The n-th field of a record.
    Field(usize),
    /// The element of an array (or slot of a multiset) at this index; outside the index domain is an error.
    Index(Expr),
}

impl Expr {
    /// An expression at `span`.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        Expr { kind, span }
    }

    /// A constant without a place in the source.
    pub fn constant(value: Value) -> Self {
        Expr { kind: ExprKind::Const(value), span: Span::default() }
    }

    /// The constant's value, if it is one.
    pub fn as_const(&self) -> Option<Value> {
        match self.kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    /// `left op right`, spanning both.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Self {
        let span = left.span.to(right.span);
        Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
    }

    /// The conjunction of all, 1 where there are none.
    pub fn all(conjuncts: impl IntoIterator<Item = Expr>) -> Self {
        conjuncts
            .into_iter()
            .reduce(|left, right| Expr::binary(BinaryOp::And, left, right))
            .unwrap_or_else(|| Expr::constant(1))
    }
}

impl Place {
    /// The whole of a variable.
    pub fn global(var: VarId, shape: ShapeId, span: Span) -> Self {
        Place { base: Base::Global(var), steps: Vec::new(), shape, span }
    }

    /// The whole of a local.
    pub fn local(local: LocalId, shape: ShapeId, span: Span) -> Self {
        Place { base: Base::Local(local), steps: Vec::new(), shape, span }
    }

    /// Reads the scalar at this place.
    pub fn read(self) -> Expr {
        let span = self.span;
        Expr { kind: ExprKind::Read(Box::new(self)), span }
    }
}

impl BinaryOp {
    /// Those that compute.
    pub const ARITHMETIC: [BinaryOp; 10] = [
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Remainder,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRight,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
    ];

    /// Those that compare.
    pub const COMPARISONS: [BinaryOp; 6] = [
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterEqual,
    ];

    /// Applies the operator to two values that are both already computed; `None` where it is an error.
    pub fn apply(self, l: Value, r: Value) -> Option<Value> {
        use BinaryOp::*;
        Some(match self {
            Add => l.checked_add(r)?,
            Subtract => l.checked_sub(r)?,
            Multiply => l.checked_mul(r)?,
            Divide => l.checked_div(r)?,
            Remainder => {
                if r == -1 {
                    0
                } else {
                    l.checked_rem(r)?
                }
            }
            ShiftLeft => shift_left(l, r),
            ShiftRight => shift_left(l, r.saturating_neg()),
            BitAnd => l & r,
            BitOr => l | r,
            BitXor => l ^ r,
            Equal => (l == r).into(),
            NotEqual => (l != r).into(),
            Less => (l < r).into(),
            LessEqual => (l <= r).into(),
            Greater => (l > r).into(),
            GreaterEqual => (l >= r).into(),
            And => (l != 0 && r != 0).into(),
            Or => (l != 0 || r != 0).into(),
            Implies => (l == 0 || r != 0).into(),
        })
    }
}

/// `l` shifted left by `r` bits, right where `r` is negative.
fn shift_left(l: Value, r: Value) -> Value {
    match r {
        64.. => 0,
        0..64 => l.wrapping_shl(r as u32),
        -63..0 => l >> (-r) as u32,
        _ => l >> 63,
    }
}

impl UnaryOp {
    /// Applies the operator; `None` where it is an error.
    pub fn apply(self, value: Value) -> Option<Value> {
        match self {
            UnaryOp::Negate => value.checked_neg(),
            UnaryOp::Not => Some((value == 0).into()),
            UnaryOp::BitNot => Some(!value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_truncates_and_errors_are_none() {
        assert_eq!(BinaryOp::Divide.apply(-7, 2), Some(-3));
        assert_eq!(BinaryOp::Remainder.apply(-7, 2), Some(-1));
        assert_eq!(BinaryOp::Divide.apply(1, 0), None);
        assert_eq!(BinaryOp::Remainder.apply(1, 0), None);
        assert_eq!(BinaryOp::Remainder.apply(i64::MIN, -1), Some(0));
        assert_eq!(BinaryOp::Divide.apply(i64::MIN, -1), None);
        assert_eq!(BinaryOp::Add.apply(i64::MAX, 1), None);
        assert_eq!(UnaryOp::Negate.apply(i64::MIN), None);
    }

    #[test]
    fn shifts_saturate_in_both_directions() {
        assert_eq!(BinaryOp::ShiftLeft.apply(1, 3), Some(8));
        assert_eq!(BinaryOp::ShiftLeft.apply(1, 64), Some(0));
        assert_eq!(BinaryOp::ShiftLeft.apply(8, -2), Some(2));
        assert_eq!(BinaryOp::ShiftRight.apply(-8, 1), Some(-4));
        assert_eq!(BinaryOp::ShiftRight.apply(-8, 100), Some(-1));
        assert_eq!(BinaryOp::ShiftRight.apply(1, -4), Some(16));
    }
}
