//! Scalars that an action only compares with constants, in conjuncts of its guard.
//!
//! Another action that leaves such a scalar within the comparisons does not disturb this one, although it writes what
//! this one reads. Committed locations are asked about in this way by every other process.

use hadal_system::facts::ValueSet;
use hadal_system::visit::{self, Node};
use hadal_system::{Action, Base, BinaryOp, Expr, ExprKind, Place, System, UnaryOp, Value};
use std::collections::BTreeMap;

/// More values than this are not tried one by one.
const MAX_TRIED: u64 = 256;

/// The comparisons of each scalar that nothing else of the action mentions, by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainTests(BTreeMap<u32, Vec<(BinaryOp, Value)>>);

impl PlainTests {
    pub(super) fn of(system: &System, action: &Action) -> Self {
        let first_slots = system.first_slots();
        let slot = |place: &Place| match place.base {
            Base::Global(var) if system.shapes.scalar(system.variable(var).shape).is_some() => {
                Some(first_slots[var.0 as usize] as u32)
            }
            _ => None,
        };
        let mut mentions: BTreeMap<u32, usize> = BTreeMap::new();
        let mut calls = false;
        let mut note = |node: Node| match node {
            Node::Place(place) => {
                if let Some(slot) = slot(place) {
                    *mentions.entry(slot).or_default() += 1;
                }
            }
            Node::Expr(expr) => calls |= matches!(expr.kind, ExprKind::Call(..)),
            Node::Stmt(stmt) => calls |= matches!(stmt.kind, hadal_system::StmtKind::Call(..)),
        };
        visit::expr(&action.guard, &mut note);
        visit::block(&action.body, &mut note);
        let mut tests: BTreeMap<u32, Vec<(BinaryOp, Value)>> = BTreeMap::new();
        if !calls {
            collect(&action.guard, &mut |place, op, value| {
                if let Some(slot) = slot(place) {
                    tests.entry(slot).or_default().push((op, value));
                }
            });
        }
        tests.retain(|slot, tests| mentions.get(slot) == Some(&tests.len()));
        PlainTests(tests)
    }

    /// Whether all comparisons of this scalar are true for each of the values.
    pub(super) fn pass(&self, slot: u32, values: &ValueSet) -> bool {
        let Some(tests) = self.0.get(&slot) else { return false };
        !values.may_be_undefined()
            && values.count() <= MAX_TRIED
            && values.values().all(|v| tests.iter().all(|(op, with)| op.apply(v, *with) == Some(1)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Calls `found` for every conjunct of the form `scalar op constant`, and for those that say that one is false.
fn collect(guard: &Expr, found: &mut dyn FnMut(&Place, BinaryOp, Value)) {
    match &guard.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            collect(left, found);
            collect(right, found);
        }
        ExprKind::Unary(UnaryOp::Not, of) => {
            if let Some((place, op, value)) = comparison(of) {
                found(place, negated(op), value);
            }
        }
        _ => {
            if let Some((place, op, value)) = comparison(guard) {
                found(place, op, value);
            }
        }
    }
}

/// A comparison of a scalar with a constant.
fn comparison(expr: &Expr) -> Option<(&Place, BinaryOp, Value)> {
    let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
    let (even, compares) = match op {
        BinaryOp::Equal | BinaryOp::NotEqual => (true, true),
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => (false, true),
        _ => (false, false),
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Const(value), ExprKind::Read(place)) if even => Some((place, *op, *value)),
        (ExprKind::Read(place), ExprKind::Const(value)) if compares => Some((place, *op, *value)),
        _ => None,
    }
}

/// The comparison that is true where this one is false.
fn negated(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterEqual,
        BinaryOp::LessEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessEqual,
        BinaryOp::GreaterEqual => BinaryOp::Less,
        other => other,
    }
}
