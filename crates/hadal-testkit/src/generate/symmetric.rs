//! Expressions over scalarset values that every permutation leaves alone.

use hadal_system::{Base, BinaryOp, DomainId, Expr, ExprKind, LocalId, LocalKind, Place, Shape, Span, Step};

use super::expr::is_defined;
use super::place::{Access, Want};
use super::{Generator, Scope};

impl Generator {
    /// A value of a scalarset (or a union with one) that is in scope: a bound local or a scalar of the same domain.
    pub(super) fn symmetric_value(
        &mut self,
        scope: &mut Scope,
        domain: DomainId,
        depth: usize,
    ) -> Option<Expr> {
        let shape = self.scalar_shape(domain);
        let bound: Vec<LocalId> = scope
            .visible
            .iter()
            .copied()
            .filter(|&LocalId(n)| {
                let local = &scope.locals[n as usize];
                local.kind == LocalKind::Bound && local.shape == shape
            })
            .collect();
        if let Some(local) = self.rng.pick(&bound)
            && (depth == 0 || self.rng.chance(70))
        {
            return Some(Place::local(local, shape, Span::default()).read());
        }
        if depth == 0 {
            return None;
        }
        Some(self.place(scope, Want::Scalar(domain), Access::Value, depth - 1)?.read())
    }

    /// Whether two values of the domain are equal.
    pub(super) fn symmetric_test(&mut self, scope: &mut Scope, domain: DomainId, depth: usize) -> Expr {
        let left = self.symmetric_value(scope, domain, depth + 1);
        let right = self.symmetric_value(scope, domain, depth + 1);
        match (left, right) {
            (Some(left), Some(right)) => {
                let op = if self.rng.chance(70) { BinaryOp::Equal } else { BinaryOp::NotEqual };
                Expr::binary(op, left, right)
            }
            _ => Expr::constant(0),
        }
    }

    /// A condition that meets no error: a quantifier over a scalarset may then stop at any of its values.
    pub(super) fn faultless_test(&mut self, scope: &mut Scope) -> Expr {
        let Some(place) = self.place(scope, Want::Anything, Access::Look, 0) else {
            return Expr::constant(1);
        };
        match self.system.shapes.scalar(place.shape) {
            Some(domain) if !self.is_symmetric_domain(domain) && self.indices_are_certain(&place, scope) => {
                let equal = Expr::binary(BinaryOp::Equal, place.clone().read(), self.constant_in(domain));
                Expr::binary(BinaryOp::And, is_defined(&place), equal)
            }
            _ if self.indices_are_certain(&place, scope) => is_defined(&place),
            _ => Expr::constant(1),
        }
    }

    /// Whether resolving the place cannot fail: every index is a constant of its domain or a bound scalarset value.
    fn indices_are_certain(&self, place: &Place, scope: &Scope) -> bool {
        let mut shape = self.system.base_shape(&scope.locals, place.base);
        for step in &place.steps {
            shape = match (step, &self.system.shapes[shape]) {
                (Step::Field(n), Shape::Record(fields)) => fields[*n].shape,
                (Step::Index(at), Shape::Array { index, element }) => {
                    let certain = match &at.kind {
                        ExprKind::Const(value) => self.system.domains[*index].contains(*value),
                        ExprKind::Read(from) => match from.base {
                            Base::Local(LocalId(n)) => {
                                let local = &scope.locals[n as usize];
                                local.kind == LocalKind::Bound && self.is_symmetric_domain(*index)
                            }
                            Base::Global(_) => false,
                        },
                        _ => false,
                    };
                    if !certain {
                        return false;
                    }
                    *element
                }
                _ => return false,
            };
        }
        true
    }
}
