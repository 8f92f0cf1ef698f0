//! Why a predicate has the value it has: the innermost part that decides it, and the values of bound names that do.

use hadal_system::{
    BinaryOp, Expr, ExprKind, PropertyBody, PropertyId, PropertyKind, Quantifier, Shape, Span, UnaryOp,
};

use super::{Execution, Interpreter, Notes, Stop};

/// The part of a predicate that decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// Where the part stands.
    pub span: Span,
    /// What the part is: true where it should be false, or the other way round.
    pub is: bool,
    /// Names that quantifiers bind, with the values for which it is so.
    pub witnesses: Vec<(String, String)>,
}

impl Interpreter<'_> {
    /// The part of a violated invariant (or of a goal that is met) that decides it in this state; none where the whole
    /// predicate does, or evaluating it meets an error.
    pub fn culprit(&self, state: &[u64], property: PropertyId) -> Option<Culprit> {
        let (at, values) = self.system.property_instance(property)?;
        let it = &self.system.properties[at];
        let PropertyBody::State(condition) = &it.body else { return None };
        let mut frame = self.properties[at].frame();
        for (param, &value) in it.params.iter().zip(&values) {
            frame.bind(param.local, value);
        }
        let state = self.layout.unpack(self.system, state);
        let mut execution =
            Execution { code: self, state, frames: vec![frame], notes: &mut Notes::default() };
        let is = it.kind != PropertyKind::Invariant;
        let mut bound = Vec::new();
        let part = execution.decisive(condition, is, &mut bound).ok()?;
        if part.0 == condition.span && bound.is_empty() {
            return None;
        }
        let name = |(local, value): (hadal_system::LocalId, hadal_system::Value)| {
            let local = &it.locals[local.0 as usize];
            let shown = match self.system.shapes[local.shape] {
                Shape::Scalar(domain) => self.system.domains.render(domain, Some(value)),
                _ => value.to_string(),
            };
            (local.name.clone(), shown)
        };
        Some(Culprit { span: part.0, is: part.1, witnesses: bound.into_iter().map(name).collect() })
    }
}

type Bound = Vec<(hadal_system::LocalId, hadal_system::Value)>;

impl Execution<'_, '_> {
    /// The innermost part of `expr`, whose value is `is`, that makes it so, and that part's value.
    fn decisive(&mut self, expr: &Expr, is: bool, bound: &mut Bound) -> Result<(Span, bool), Stop> {
        let whole = (expr.span, is);
        // Parts that front ends made have no place of their own.
        let placed = |part: (Span, bool)| if part.0 == Span::default() { whole } else { part };
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.decisive(operand, !is, bound).map(placed),
            ExprKind::Binary(BinaryOp::And, left, right) if !is => {
                let part = if self.holds(left)? { right } else { left };
                self.decisive(part, false, bound).map(placed)
            }
            ExprKind::Binary(BinaryOp::Or, left, right) if is => {
                let part = if self.holds(left)? { left } else { right };
                self.decisive(part, true, bound).map(placed)
            }
            ExprKind::Binary(BinaryOp::Implies, _, right) if !is => {
                self.decisive(right, false, bound).map(placed)
            }
            ExprKind::Quantified { quantifier, local, range, body }
                if is == (*quantifier == Quantifier::Exists) =>
            {
                for value in self.range(range, expr.span)? {
                    self.frame().bind(*local, value);
                    if self.holds(body)? == is {
                        bound.push((*local, value));
                        return self.decisive(body, is, bound).map(placed);
                    }
                }
                Ok(whole)
            }
            _ => Ok(whole),
        }
    }
}
