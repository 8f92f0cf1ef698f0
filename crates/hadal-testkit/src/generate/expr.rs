//! Expressions: numbers, conditions, and values meant for a domain.

use hadal_system::{
    BinaryOp, DomainId, Expr, ExprKind, LocalKind, Place, Quantifier, Range, ShapeId, Span, UnaryOp, Value,
};

use super::place::{Access, Want};
use super::{Generator, Scope};

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, Span::default())
}

/// `place` holds a defined value, without asking more.
pub(super) fn is_defined(place: &Place) -> Expr {
    not(expr(ExprKind::IsUndefined(Box::new(place.clone()))))
}

pub(super) fn not(operand: Expr) -> Expr {
    expr(ExprKind::Unary(UnaryOp::Not, Box::new(operand)))
}

impl Generator {
    /// Any number.
    pub(super) fn number(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        if depth == 0 || self.rng.chance(30) {
            return self.leaf(scope, depth);
        }
        let depth = depth - 1;
        match self.rng.below(12) {
            0..5 => {
                let op = BinaryOp::ARITHMETIC[self.rng.below(BinaryOp::ARITHMETIC.len())];
                let left = self.number(scope, depth);
                Expr::binary(op, left, self.number(scope, depth))
            }
            5 => {
                let op = [UnaryOp::Negate, UnaryOp::Not, UnaryOp::BitNot][self.rng.below(3)];
                expr(ExprKind::Unary(op, Box::new(self.number(scope, depth))))
            }
            6 | 7 => {
                let condition = Box::new(self.condition(scope, depth));
                let then = Box::new(self.number(scope, depth));
                expr(ExprKind::If(condition, then, Box::new(self.number(scope, depth))))
            }
            8 | 9 => match self.call(scope, depth, |domain, this| !this.is_symmetric_domain(domain)) {
                Some((function, arguments)) => expr(ExprKind::Call(function, arguments)),
                None => self.leaf(scope, depth),
            },
            _ => self.condition(scope, depth),
        }
    }

    fn leaf(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        match self.rng.below(100) {
            0..30 => Expr::constant(self.rng.between(-2, 4)),
            30..32 => Expr::constant([i64::MAX, i64::MIN, 1 << 40, 12, 21, 63, 64, -64][self.rng.below(8)]),
            _ => match self.place(scope, Want::Number, Access::Value, depth.min(1)) {
                Some(place) if self.rng.chance(75) && !is_bound(&place, scope) => {
                    // A read that cannot meet an undefined scalar.
                    let fallback = Expr::constant(self.rng.between(-1, 2));
                    let kind = ExprKind::If(
                        Box::new(is_defined(&place)),
                        Box::new(place.read()),
                        Box::new(fallback),
                    );
                    expr(kind)
                }
                Some(place) => place.read(),
                None => Expr::constant(self.rng.between(0, 3)),
            },
        }
    }

    /// Something to be tested for not being 0.
    pub(super) fn condition(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        let less = depth.saturating_sub(1);
        match self.rng.below(if depth == 0 { 6 } else { 12 }) {
            0 => self.location_test(scope),
            1 | 2 => {
                let op = BinaryOp::COMPARISONS[self.rng.below(BinaryOp::COMPARISONS.len())];
                let left = self.number(scope, less);
                Expr::binary(op, left, self.number(scope, less))
            }
            3 => match self.place(scope, Want::Anything, Access::Look, less) {
                Some(place) => expr(ExprKind::IsUndefined(Box::new(place))),
                None => Expr::constant(self.rng.between(0, 1)),
            },
            4 => {
                let domain = self.small_domain();
                match self.is_symmetric_domain(domain) {
                    true => self.symmetric_test(scope, domain, less),
                    false => expr(ExprKind::InDomain(Box::new(self.number(scope, less)), domain)),
                }
            }
            5 => Expr::constant(1),
            6 | 7 => {
                let op = [BinaryOp::And, BinaryOp::Or, BinaryOp::Implies][self.rng.below(3)];
                let left = self.condition(scope, less);
                Expr::binary(op, left, self.condition(scope, less))
            }
            8 => not(self.condition(scope, less)),
            9 | 10 => self.quantified(scope, less),
            _ => self.same(scope, less),
        }
    }

    /// A scalar has a certain value: what most guards of real models begin with.
    pub(super) fn location_test(&mut self, scope: &mut Scope) -> Expr {
        let Some(place) = self.place(scope, Want::Number, Access::Look, 0) else { return Expr::constant(1) };
        // `Want::Number` only finds scalars.
        let domain = self.system.shapes.scalar(place.shape).expect("a scalar");
        let value = self.constant_in(domain);
        let equal = Expr::binary(BinaryOp::Equal, place.clone().read(), value);
        if self.rng.chance(85) { Expr::binary(BinaryOp::And, is_defined(&place), equal) } else { equal }
    }

    fn quantified(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        let quantifier = if self.rng.chance(50) { Quantifier::ForAll } else { Quantifier::Exists };
        let domain = self.small_domain();
        let shape = self.scalar_shape(domain);
        let range = self.loop_range(scope, domain, depth);
        let local = scope.local("q", shape, LocalKind::Bound);
        scope.visible.push(local);
        let body = if self.is_symmetric_domain(domain) {
            self.faultless_test(scope)
        } else {
            self.condition(scope, depth)
        };
        scope.visible.pop();
        expr(ExprKind::Quantified { quantifier, local, range: Box::new(range), body: Box::new(body) })
    }

    /// What a loop or quantifier over about this domain runs over.
    pub(super) fn loop_range(&mut self, scope: &mut Scope, domain: DomainId, depth: usize) -> Range {
        if self.is_symmetric_domain(domain) || self.rng.chance(60) {
            return Range::Domain(domain);
        }
        let by = if self.rng.chance(4) { 0 } else { [1, 1, 2, -1][self.rng.below(4)] };
        // A bound that is calculated could make the loop endless: it is kept below four.
        let bound = Expr::binary(BinaryOp::Remainder, self.number(scope, depth), Expr::constant(4));
        let (from, to) = if by > 0 {
            (Expr::constant(self.rng.between(-1, 1)), bound)
        } else {
            (bound, Expr::constant(0))
        };
        Range::Steps { from, to, by: Expr::constant(by) }
    }

    fn same(&mut self, scope: &mut Scope, depth: usize) -> Expr {
        let Some(left) = self.place(scope, Want::Anything, Access::Look, depth) else {
            return Expr::constant(0);
        };
        if self.symmetric() && self.has_multiset(left.shape) {
            // Between two actions multisets are sorted, inside one they are not: comparing them sees the order.
            return Expr::constant(1);
        }
        match self.place(scope, Want::Shape(left.shape), Access::Look, depth) {
            Some(right) => expr(ExprKind::Same(Box::new(left), Box::new(right))),
            None => Expr::constant(0),
        }
    }

    /// A value meant for a scalar of this domain, most of the time one of its own.
    pub(super) fn value_for(&mut self, scope: &mut Scope, domain: DomainId, depth: usize) -> Option<Expr> {
        if self.is_symmetric_domain(domain) {
            return self.symmetric_value(scope, domain, depth);
        }
        Some(match self.rng.below(100) {
            0..35 => self.constant_in(domain),
            35..55 => match self.place(scope, Want::Scalar(domain), Access::Value, depth) {
                Some(place) => place.read(),
                None => self.constant_in(domain),
            },
            55..96 => {
                let number = self.number(scope, depth);
                let constant = self.constant_in(domain);
                let test = expr(ExprKind::InDomain(Box::new(number.clone()), domain));
                expr(ExprKind::If(Box::new(test), Box::new(number), Box::new(constant)))
            }
            _ => self.number(scope, depth),
        })
    }

    pub(super) fn constant_in(&mut self, domain: DomainId) -> Expr {
        let domain = &self.system.domains[domain];
        let size = domain.size().min(4);
        let few = self.rng.below(size as usize) as u64;
        Expr::constant(domain.value_at(few).unwrap_or(domain.min() as Value))
    }

    pub(super) fn has_multiset(&self, shape: ShapeId) -> bool {
        use hadal_system::Shape;
        match &self.system.shapes[shape] {
            Shape::Scalar(_) => false,
            Shape::Array { element, .. } => self.has_multiset(*element),
            Shape::Record(fields) => fields.iter().any(|f| self.has_multiset(f.shape)),
            Shape::Multiset { .. } => true,
        }
    }
}

fn is_bound(place: &Place, scope: &Scope) -> bool {
    match place.base {
        hadal_system::Base::Global(_) => false,
        hadal_system::Base::Local(local) => scope.locals[local.0 as usize].kind == LocalKind::Bound,
    }
}
