//! Scalars that an action only compares with constants, in conjuncts of its guard.
//!
//! Another action that leaves such a scalar within the comparisons does not disturb this one, although it writes what
//! this one reads. Committed locations are asked about in this way by every other process.

use hadal_system::facts::ValueSet;
use hadal_system::visit::{self, Node};
use hadal_system::{Action, Base, BinaryOp, Expr, ExprKind, Place, System, Value};
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

/// Calls `found` for every conjunct of the form `scalar op constant`.
fn collect(guard: &Expr, found: &mut dyn FnMut(&Place, BinaryOp, Value)) {
    let ExprKind::Binary(op, left, right) = &guard.kind else { return };
    match (op, &left.kind, &right.kind) {
        (BinaryOp::And, _, _) => {
            collect(left, found);
            collect(right, found);
        }
        (BinaryOp::Equal | BinaryOp::NotEqual, ExprKind::Const(value), ExprKind::Read(place))
        | (
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual,
            ExprKind::Read(place),
            ExprKind::Const(value),
        ) => found(place, *op, *value),
        _ => {}
    }
}
