//! Constants: expressions whose value is known before the search.

use super::Checker;
use crate::murphi::ast;
use crate::murphi::hir::{Expr, ExprKind};
use crate::murphi::types::TypeId;
use hadal_system::{BinaryOp, Span, UnaryOp};

/// `left op right`, computed where both are constants and the result is no error.
pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr, ty: TypeId, span: Span) -> Expr {
    if let (Some(l), Some(r)) = (left.constant(), right.constant())
        && let Some(value) = op.apply(l, r)
    {
        return Expr { kind: ExprKind::Const(value), ty, span };
    }
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span }
}

/// `op operand`, computed where the operand is a constant.
pub(super) fn unary(op: UnaryOp, operand: Expr, ty: TypeId, span: Span) -> Expr {
    if let Some(value) = operand.constant().and_then(|v| op.apply(v)) {
        return Expr { kind: ExprKind::Const(value), ty, span };
    }
    Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty, span }
}

/// Which of the two junctions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Junction {
    All,
    Any,
}

/// The conjunction or disjunction of `operands` in order. Constants that decide nothing are dropped; what stands
/// after one that decides is dropped, too: it would never be evaluated.
pub(super) fn junction(junction: Junction, operands: Vec<Expr>, span: Span) -> Expr {
    let neutral = i64::from(junction == Junction::All);
    let mut kept = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.constant() {
            Some(value) if value == neutral => {}
            Some(_) => {
                kept.push(operand);
                break;
            }
            None => kept.push(operand),
        }
    }
    let kind = match kept.len() {
        0 => ExprKind::Const(neutral),
        1 if kept[0].constant().is_some() => ExprKind::Const(1 - neutral),
        _ => match junction {
            Junction::All => ExprKind::All(kept),
            Junction::Any => ExprKind::Any(kept),
        },
    };
    Expr { kind, ty: TypeId::BOOLEAN, span }
}

/// The value of an expression where a constant is needed: zero times anything is zero.
///
/// Elsewhere such a product is evaluated, because the other factor may meet an error.
fn known(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(value) => Some(*value),
        ExprKind::Unary(op, operand) => op.apply(known(operand)?),
        ExprKind::Binary(op, left, right) => {
            let (l, r) = (known(left), known(right));
            match op {
                BinaryOp::Multiply | BinaryOp::BitAnd if l == Some(0) || r == Some(0) => Some(0),
                BinaryOp::Divide | BinaryOp::Remainder | BinaryOp::ShiftLeft | BinaryOp::ShiftRight
                    if l == Some(0) && r != Some(0) =>
                {
                    Some(0)
                }
                _ => op.apply(l?, r?),
            }
        }
        _ => None,
    }
}

impl Checker<'_> {
    /// The value of a constant expression of any simple type, with its type.
    pub(super) fn constant(&mut self, written: &ast::Expr, what: &str) -> Option<(TypeId, i64)> {
        let before = self.errors;
        let expr = self.expr(written);
        match known(&expr) {
            Some(value) => Some((expr.ty, value)),
            None => {
                // A mistake inside was reported already, perhaps where a name was first met.
                if self.errors == before && !self.is_broken(&expr) {
                    self.error(
                        written.span,
                        format!("{what} is not a constant"),
                        "expected a value known before the search",
                    );
                }
                None
            }
        }
    }

    /// The value of a constant integer.
    pub(super) fn constant_integer(&mut self, written: &ast::Expr, what: &str) -> Option<i64> {
        let (ty, value) = self.constant(written, what)?;
        if !self.types.is_integer(ty) {
            let described = self.types.describe(ty);
            self.error(written.span, format!("{what} is {described}"), "expected a number");
            return None;
        }
        Some(value)
    }

    /// Whether an expression contains something that was refused before.
    fn is_broken(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Error => true,
            ExprKind::Unary(_, operand) | ExprKind::IsMember(operand, _) => self.is_broken(operand),
            ExprKind::Binary(_, l, r) => self.is_broken(l) || self.is_broken(r),
            ExprKind::All(list) | ExprKind::Any(list) => list.iter().any(|e| self.is_broken(e)),
            ExprKind::If(c, y, n) => self.is_broken(c) || self.is_broken(y) || self.is_broken(n),
            _ => false,
        }
    }
}
