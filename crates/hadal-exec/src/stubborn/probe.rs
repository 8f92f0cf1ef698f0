//! What is looked for, as actions that never fire: each is *enabled* exactly where something asked about is wrong.
//!
//! Their footprints then say what must change before that can be, by the same facts as for real actions.

use hadal_system::{
    Action, BinaryOp, Expr, ExprKind, Local, Param, ParamValues, Property, PropertyBody, Quantifier, Range,
    System, UnaryOp,
};

/// The probes of the invariants and goals. A property that `may_fault` is one probe; others are taken apart into the
/// conjuncts and instances that can be wrong by themselves.
pub(super) fn probes(system: &System, may_fault: impl Fn(usize) -> bool) -> Vec<Action> {
    let mut found = Vec::new();
    for (n, property) in system.properties.iter().enumerate() {
        let Some(wrong_when) = property.kind.found_when() else { continue };
        let PropertyBody::State(condition) = &property.body else { continue };
        let mut split = Split { property, params: property.params.clone(), found: &mut found };
        if may_fault(n) {
            split.add(condition, wrong_when);
        } else {
            split.take_apart(condition, wrong_when);
        }
    }
    found
}

struct Split<'a> {
    property: &'a Property,
    params: Vec<Param>,
    found: &'a mut Vec<Action>,
}

impl Split<'_> {
    /// Adds probes that together are enabled where `condition` is `wrong_when`.
    fn take_apart(&mut self, condition: &Expr, wrong_when: bool) {
        match &condition.kind {
            ExprKind::Const(value) if (*value != 0) != wrong_when => {}
            ExprKind::Unary(UnaryOp::Not, of) => self.take_apart(of, !wrong_when),
            ExprKind::Binary(BinaryOp::And, left, right) if !wrong_when => {
                self.take_apart(left, false);
                self.take_apart(right, false);
            }
            ExprKind::Binary(BinaryOp::Or, left, right) if wrong_when => {
                self.take_apart(left, true);
                self.take_apart(right, true);
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) if wrong_when => {
                self.take_apart(left, false);
                self.take_apart(right, true);
            }
            ExprKind::Quantified { quantifier, local, range, body }
                if (*quantifier == Quantifier::Exists) == wrong_when =>
            {
                let Range::Domain(domain) = **range else { return self.add(condition, wrong_when) };
                self.params.push(Param { local: *local, values: ParamValues::Domain(domain) });
                self.take_apart(body, wrong_when);
                self.params.pop();
            }
            _ => self.add(condition, wrong_when),
        }
    }

    fn add(&mut self, condition: &Expr, wrong_when: bool) {
        let condition = condition.clone();
        let span = condition.span;
        let guard = if wrong_when {
            condition
        } else {
            Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(condition)), span)
        };
        let locals: Vec<Local> = self.property.locals.clone();
        self.found.push(Action {
            name: self.property.name.clone(),
            params: self.params.clone(),
            locals,
            guard,
            span,
            ..Action::default()
        });
    }
}

/// Probes of a state predicate for the question whether an action may change it: where it holds, and where it does not.
/// `None` where that is not told by one predicate.
pub(super) fn both_ways(property: &Property) -> Option<[Action; 2]> {
    let PropertyBody::State(condition) = &property.body else { return None };
    if !property.params.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    let mut split = Split { property, params: Vec::new(), found: &mut found };
    split.add(condition, true);
    split.add(condition, false);
    found.try_into().ok()
}
