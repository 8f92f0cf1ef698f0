//! Expressions and places.

use super::Lowering;
use super::frame::Meaning;
use crate::murphi::hir::{self, Binder, ExprKind as Kind, Values};
use crate::murphi::types::TypeId;
use hadal_system::{
    Base, BinaryOp, Expr, ExprKind, LocalId, LocalKind, Place, Quantifier, Range, Span, Step, UnaryOp, Value,
};

/// `op` over all operands in order, as a tree of least depth. Junctions are associative and decide in order, so the
/// grouping does not matter.
pub(super) fn balanced(op: BinaryOp, mut operands: Vec<Expr>) -> Option<Expr> {
    match operands.len() {
        0 => None,
        1 => operands.pop(),
        n => {
            let right = operands.split_off(n / 2);
            Some(Expr::binary(op, balanced(op, operands)?, balanced(op, right)?))
        }
    }
}

/// `!operand`
pub(super) fn not(operand: Expr) -> Expr {
    let span = operand.span;
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), span)
}

/// `left & right`, dropping what is always true.
pub(super) fn and(left: Expr, right: Expr) -> Expr {
    match (left.as_const(), right.as_const()) {
        (Some(value), _) if value != 0 => right,
        (_, Some(value)) if value != 0 => left,
        _ => Expr::binary(BinaryOp::And, left, right),
    }
}

pub(super) fn constant(value: Value, span: Span) -> Expr {
    Expr::new(ExprKind::Const(value), span)
}

impl Lowering<'_> {
    /// The value of a simple expression.
    pub(super) fn expr(&mut self, expr: &hir::Expr) -> Expr {
        let span = expr.span;
        let kind = match &expr.kind {
            Kind::Const(value) => ExprKind::Const(*value),
            // The checker lets `undefined` stand only where it is looked for.
            Kind::Undefined | Kind::Error => ExprKind::Const(0),
            Kind::Place(place) => {
                if place.steps.is_empty()
                    && let Meaning::Same(same) = self.meaning(place.base)
                {
                    if !self.may_expand(span) {
                        return constant(0, span);
                    }
                    return Expr { span, ..self.expr(&same) };
                }
                ExprKind::Read(Box::new(self.place(place)))
            }
            Kind::Unary(op, operand) => ExprKind::Unary(*op, Box::new(self.expr(operand))),
            Kind::Binary(op @ (BinaryOp::Equal | BinaryOp::NotEqual), left, right) => {
                let equal = self.equal(left, right, span);
                return if *op == BinaryOp::NotEqual { negated(equal) } else { equal };
            }
            Kind::Binary(op, left, right) => {
                ExprKind::Binary(*op, Box::new(self.expr(left)), Box::new(self.expr(right)))
            }
            Kind::All(list) => return self.junction(BinaryOp::And, list, span),
            Kind::Any(list) => return self.junction(BinaryOp::Or, list, span),
            Kind::If(condition, yes, no) => ExprKind::If(
                Box::new(self.expr(condition)),
                Box::new(self.expr(yes)),
                Box::new(self.expr(no)),
            ),
            Kind::Quantified(quantifier, binders, body) => {
                return self.quantified(*quantifier, binders, body, span);
            }
            Kind::IsUndefined(place) => ExprKind::IsUndefined(Box::new(self.place(place))),
            Kind::IsMember(operand, ty) => return self.is_member(operand, *ty, span),
            Kind::Call(function, arguments) => return self.call_expr(*function, arguments, expr.ty, span),
            Kind::Count(pick) => return self.count(pick, span),
        };
        Expr::new(kind, span)
    }

    fn junction(&mut self, op: BinaryOp, list: &[hir::Expr], span: Span) -> Expr {
        let operands = list.iter().map(|e| self.expr(e)).collect();
        let neutral = constant(Value::from(op == BinaryOp::And), span);
        Expr { span, ..balanced(op, operands).unwrap_or(neutral) }
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        binders: &[Binder],
        body: &hir::Expr,
        span: Span,
    ) -> Expr {
        // Bounds of an inner binder may mention an outer one: outermost first.
        let bound: Vec<(LocalId, Range)> = binders.iter().map(|b| self.bind(b)).collect();
        let mut result = self.expr(body);
        for (local, range) in bound.into_iter().rev() {
            let kind =
                ExprKind::Quantified { quantifier, local, range: Box::new(range), body: Box::new(result) };
            result = Expr::new(kind, span);
        }
        result
    }

    /// A bound local for a binder, with its values.
    pub(super) fn bind(&mut self, binder: &Binder) -> (LocalId, Range) {
        let range = match &binder.values {
            Values::Type(ty) => Range::Domain(self.domain(*ty)),
            Values::Steps(from, to, by) => {
                Range::Steps { from: self.expr(from), to: self.expr(to), by: self.expr(by) }
            }
        };
        (self.local_for(binder.symbol, LocalKind::Bound), range)
    }

    fn is_member(&mut self, operand: &hir::Expr, ty: TypeId, span: Span) -> Expr {
        let domain = self.domain(ty);
        let inside = |value| Expr::new(ExprKind::InDomain(Box::new(value), domain), span);
        match self.doubling(span, |it| it.place_that_may_be_undefined(operand)) {
            Some(Some(place)) => {
                let undefined = Expr::new(ExprKind::IsUndefined(Box::new(place.clone())), span);
                Expr { span, ..Expr::binary(BinaryOp::And, not(undefined), inside(place.read())) }
            }
            Some(None) => inside(self.expr(operand)),
            None => constant(0, span),
        }
    }

    /// A place.
    pub(super) fn place(&mut self, place: &hir::Place) -> Place {
        let shape = self.shape(place.ty);
        let mut steps = Vec::with_capacity(place.steps.len());
        let base = match self.meaning(place.base) {
            Meaning::Variable(variable) => Base::Global(variable),
            Meaning::Local(local) => Base::Local(local),
            Meaning::Same(same) => match &same.kind {
                Kind::Place(aliased) if self.may_expand(place.span) => {
                    let aliased = self.place(aliased);
                    steps = aliased.steps;
                    aliased.base
                }
                Kind::Place(_) => Base::Local(self.temporary("refused", place.ty)),
                _ => {
                    self.error(
                        same.span,
                        "an alias around rules cannot name the array or record a function returns",
                        "expected a variable",
                    );
                    Base::Local(self.temporary("refused", place.ty))
                }
            },
        };
        for step in &place.steps {
            match step {
                hir::Step::Field(field) => steps.push(Step::Field(*field)),
                hir::Step::Index(index) => steps.push(Step::Index(self.expr(index))),
                hir::Step::Element(index) => {
                    steps.push(Step::Index(self.expr(index)));
                    steps.push(Step::Field(1));
                }
            }
        }
        Place { base, steps, shape, span: place.span }
    }

    /// The place an expression reads, unless what stands there is always defined.
    pub(super) fn place_that_may_be_undefined(&mut self, expr: &hir::Expr) -> Option<Place> {
        let Kind::Place(place) = &expr.kind else { return None };
        if place.steps.is_empty()
            && let Meaning::Same(same) = self.meaning(place.base)
        {
            return if self.may_expand(place.span) { self.place_that_may_be_undefined(&same) } else { None };
        }
        let place = self.place(place);
        match place.base {
            Base::Local(LocalId(n)) if self.frame().locals[n as usize].kind == LocalKind::Bound => None,
            _ => Some(place),
        }
    }
}

/// The negation; of a comparison, the opposite comparison.
fn negated(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Binary(BinaryOp::Equal, left, right) => {
            Expr::new(ExprKind::Binary(BinaryOp::NotEqual, left, right), expr.span)
        }
        kind => not(Expr::new(kind, expr.span)),
    }
}
