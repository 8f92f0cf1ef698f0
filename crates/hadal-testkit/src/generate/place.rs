//! Places: a base in scope and a path to something of the wanted kind.

use hadal_system::{
    Base, DomainId, Expr, ExprKind, LocalId, LocalKind, Place, Shape, ShapeId, Span, Step, VarId,
};

use super::{Generator, Scope};

/// What should stand at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Any scalar whose value may be calculated with.
    Number,
    /// A scalar of this domain.
    Scalar(DomainId),
    /// Exactly this shape.
    Shape(ShapeId),
    /// Anything at all.
    Anything,
    /// Any multiset.
    Multiset,
}

/// What is done with the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A scalar is read; bound locals will do.
    Value,
    /// It is looked at as it stands: compared, copied, referred to.
    Look,
    Write,
}

impl Generator {
    /// A place in scope, if there is one.
    pub(super) fn place(
        &mut self,
        scope: &mut Scope,
        want: Want,
        access: Access,
        depth: usize,
    ) -> Option<Place> {
        let mut bases: Vec<(Base, ShapeId)> = Vec::new();
        if access != Access::Write || scope.may_write {
            for (n, variable) in self.system.variables.iter().enumerate() {
                bases.push((Base::Global(VarId(n as u32)), variable.shape));
            }
        }
        let locals = if access == Access::Write { &scope.writable } else { &scope.visible };
        for &LocalId(n) in locals {
            let local = &scope.locals[n as usize];
            if access == Access::Value || local.kind != LocalKind::Bound {
                bases.push((Base::Local(LocalId(n)), local.shape));
            }
        }
        bases.retain(|&(_, shape)| self.reaches(shape, want, access));
        if access == Access::Write && self.rng.chance(75) && bases.iter().any(|(base, _)| is_global(base)) {
            bases.retain(|(base, _)| is_global(base));
        }
        let (base, shape) = self.rng.pick(&bases)?;
        self.walk(
            scope,
            Place { base, steps: Vec::new(), shape, span: Span::default() },
            (want, access),
            depth,
        )
    }

    /// Goes on from a place whose shape reaches what is wanted.
    pub(super) fn walk(
        &mut self,
        scope: &mut Scope,
        mut place: Place,
        (want, access): (Want, Access),
        depth: usize,
    ) -> Option<Place> {
        loop {
            let shape = self.system.shapes[place.shape].clone();
            if self.is_wanted(place.shape, want)
                && (want != Want::Anything || matches!(shape, Shape::Scalar(_)) || self.rng.chance(50))
            {
                return Some(place);
            }
            match shape {
                Shape::Scalar(_) => return None,
                Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                    if !self.reaches(place.shape, want, access) || !self.reaches(element, want, access) {
                        return None;
                    }
                    let at = self.index(scope, index, depth)?;
                    place.steps.push(Step::Index(at));
                    place.shape = element;
                }
                Shape::Record(fields) => {
                    let mut open: Vec<usize> = (0..fields.len()).collect();
                    open.retain(|&n| self.reaches(fields[n].shape, want, access));
                    let field = self.rng.pick(&open)?;
                    place.steps.push(Step::Field(field));
                    place.shape = fields[field].shape;
                }
            }
        }
    }

    fn is_wanted(&self, shape: ShapeId, want: Want) -> bool {
        match (want, &self.system.shapes[shape]) {
            (Want::Number, Shape::Scalar(domain)) => !self.is_symmetric_domain(*domain),
            (Want::Scalar(wanted), Shape::Scalar(domain)) => *domain == wanted,
            (Want::Multiset, Shape::Multiset { .. }) | (Want::Anything, _) => true,
            (Want::Shape(wanted), _) => shape == wanted,
            _ => false,
        }
    }

    /// Whether a path leads from `shape` to what is wanted. Elements of multisets are only written by operations made
    /// for it; where symmetry matters they are not looked at by slot either.
    fn reaches(&self, shape: ShapeId, want: Want, access: Access) -> bool {
        self.is_wanted(shape, want)
            || match &self.system.shapes[shape] {
                Shape::Scalar(_) => false,
                Shape::Array { element, .. } => self.reaches(*element, want, access),
                Shape::Record(fields) => fields.iter().any(|f| self.reaches(f.shape, want, access)),
                Shape::Multiset { element, .. } => {
                    access != Access::Write && !self.symmetric() && self.reaches(*element, want, access)
                }
            }
    }

    /// An index expression, most of the time inside the domain.
    fn index(&mut self, scope: &mut Scope, domain: DomainId, depth: usize) -> Option<Expr> {
        if self.is_symmetric_domain(domain) {
            return self.symmetric_value(scope, domain, depth);
        }
        let constant = self.constant_in(domain);
        let inside = match self.rng.below(100) {
            0..45 => constant,
            45..96 => {
                let number = self.number(scope, depth.saturating_sub(1));
                let test = ExprKind::InDomain(Box::new(number.clone()), domain);
                let test = Expr::new(test, Span::default());
                let kind = ExprKind::If(Box::new(test), Box::new(number), Box::new(constant));
                Expr::new(kind, Span::default())
            }
            _ => self.number(scope, depth.saturating_sub(1)),
        };
        Some(inside)
    }
}

fn is_global(base: &Base) -> bool {
    matches!(base, Base::Global(_))
}
