//! Candidates for the reported violation, ordered so that every thread count reports the same one.

use crate::report::{Question, ViolationKind};
use hadal_system::state::compare;
use hadal_system::{Check, PropertyInfo, PropertyKind};
use std::cmp::Ordering;

/// Something wrong in a state that was just reached or expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: ViolationKind,
    /// The packed state.
    pub state: Vec<u64>,
}

impl Finding {
    /// What the look at a state found, if it was asked about.
    pub fn from_check(
        check: Check,
        state: &[u64],
        properties: &[PropertyInfo],
        question: &Question,
    ) -> Option<Self> {
        let kind = match check {
            Check::Fine => return None,
            Check::Hit(id) if !question.asks(id) => return None,
            Check::Hit(id) => match properties[id.0 as usize].kind {
                PropertyKind::Goal => ViolationKind::Goal(id),
                PropertyKind::Formula => ViolationKind::Prefix(id),
                _ => ViolationKind::Invariant(id),
            },
            Check::Fault(id) => ViolationKind::PropertyFault(id),
        };
        Some(Finding { kind, state: state.to_vec() })
    }

    /// Which of two findings of the same layer is reported: first the one with the shorter story (a deadlock needs no
    /// further step), then by kind, property and state.
    fn order(&self, other: &Finding) -> Ordering {
        rank(&self.kind).cmp(&rank(&other.kind)).then_with(|| compare(&self.state, &other.state))
    }

    /// Keeps the better of what is held and what is new.
    pub fn offer(held: &mut Option<Finding>, new: Finding) {
        if held.as_ref().is_none_or(|old| new.order(old) == Ordering::Less) {
            *held = Some(new);
        }
    }
}

fn rank(kind: &ViolationKind) -> (u8, u32) {
    match *kind {
        ViolationKind::StartFault(label) => (0, label.0),
        ViolationKind::Deadlock => (1, 0),
        ViolationKind::Invariant(id) => (2, id.0),
        ViolationKind::Goal(id) => (3, id.0),
        ViolationKind::PropertyFault(id) => (4, id.0),
        ViolationKind::Fault(label) => (5, label.0),
        ViolationKind::Liveness(id) => (6, id.0),
        ViolationKind::Uncovered(id) => (7, id.0),
        ViolationKind::Prefix(id) => (8, id.0),
        ViolationKind::Cycle { property, .. } => (9, property.0),
    }
}
