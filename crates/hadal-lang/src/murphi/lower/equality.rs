//! `=`: on scalars, on arrays and records, and on values that may be undefined where CMurphi says so.

use super::Lowering;
use super::call::Auxiliary;
use super::expr::{and, not};
use crate::murphi::hir::{self, Dialect, ExprKind as Kind};
use crate::murphi::types::{Type, TypeId};
use hadal_system::{BinaryOp, Expr, ExprKind, Place, Span};

impl Lowering<'_> {
    pub(super) fn equal(&mut self, left: &hir::Expr, right: &hir::Expr, span: Span) -> Expr {
        let types = &self.model.types;
        if !types.is_simple(left.ty) {
            return self.same(left, right, span);
        }
        let tolerant = self.model.dialect == Dialect::Copying
            && (self.may_hold_nobody(left.ty) || self.may_hold_nobody(right.ty));
        let equal = if tolerant { self.tolerantly_equal(left, right) } else { None };
        Expr {
            span,
            ..equal.unwrap_or_else(|| Expr::binary(BinaryOp::Equal, self.expr(left), self.expr(right)))
        }
    }

    /// Types whose undefined values CMurphi compares without complaint.
    fn may_hold_nobody(&self, ty: TypeId) -> bool {
        matches!(self.model.types[ty], Type::Scalarset(_) | Type::Union(_))
    }

    /// Equality in which undefined equals undefined and nothing else.
    fn tolerantly_equal(&mut self, left: &hir::Expr, right: &hir::Expr) -> Option<Expr> {
        let span = left.span.to(right.span);
        let (l, r) = self.doubling(span, |it| {
            (it.place_that_may_be_undefined(left), it.place_that_may_be_undefined(right))
        })?;
        match (l, r) {
            (None, None) => None,
            (Some(l), Some(r)) if l.shape == r.shape => {
                let span = l.span.to(r.span);
                Some(Expr::new(ExprKind::Same(Box::new(l), Box::new(r)), span))
            }
            (Some(l), Some(r)) => {
                let span = l.span.to(r.span);
                let both = Expr::binary(BinaryOp::Equal, l.clone().read(), r.clone().read());
                let other = and(not(undefined(r.clone())), both);
                let kind = ExprKind::If(Box::new(undefined(l)), Box::new(undefined(r)), Box::new(other));
                Some(Expr::new(kind, span))
            }
            (Some(l), None) => {
                let right = self.expr(right);
                Some(and(not(undefined(l.clone())), Expr::binary(BinaryOp::Equal, l.read(), right)))
            }
            (None, Some(r)) => {
                let left = self.expr(left);
                Some(and(not(undefined(r.clone())), Expr::binary(BinaryOp::Equal, left, r.read())))
            }
        }
    }

    /// Equality of arrays, records and multisets.
    fn same(&mut self, left: &hir::Expr, right: &hir::Expr, span: Span) -> Expr {
        if let (Kind::Place(l), Kind::Place(r)) = (&left.kind, &right.kind) {
            let (l, r) = (self.place(l), self.place(r));
            return Expr::new(ExprKind::Same(Box::new(l), Box::new(r)), span);
        }
        // A call that returns an aggregate: compute it in a function of its own.
        let needed = &[left, right];
        let function = Auxiliary { name: "comparison", ty: TypeId::BOOLEAN, needed, span };
        self.in_function(function, |lowering, out| {
            let l = lowering.aggregate(left, out);
            let r = lowering.aggregate(right, out);
            Expr::new(ExprKind::Same(Box::new(l), Box::new(r)), span)
        })
    }
}

fn undefined(place: Place) -> Expr {
    let span = place.span;
    Expr::new(ExprKind::IsUndefined(Box::new(place)), span)
}
