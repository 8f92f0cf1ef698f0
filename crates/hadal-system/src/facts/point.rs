//! What is known at one point of a body: values of scalars, and which of the state's scalars were surely written.
//!
//! Locals are numbered as slots after the state's own, so that one map serves both.

use std::collections::BTreeMap;

use super::slots::SlotSet;
use super::values::ValueSet;

/// Knowledge at one point. A slot that is not in `values` may hold anything of its domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    pub values: BTreeMap<u32, ValueSet>,
    /// Slots of the state that every way to this point has written.
    pub written: SlotSet,
}

impl Point {
    /// What holds whether one came here from `self` or from `other`.
    pub fn join(&mut self, other: &Point) {
        self.values.retain(|slot, values| match other.values.get(slot) {
            Some(theirs) => {
                if values != theirs {
                    *values = values.union(theirs);
                }
                true
            }
            None => false,
        });
        if self.written != other.written {
            self.written = self.written.common(&other.written);
        }
    }

    /// Forgets every value that differs from `before`, so that loops settle.
    pub fn widen(&mut self, before: &Point) {
        self.values.retain(|slot, values| before.values.get(slot) == Some(values));
    }

    /// Forgets the values of the slots `from..to`.
    pub fn forget(&mut self, from: u32, to: u32) {
        if to - from == 1 {
            self.values.remove(&from);
            return;
        }
        let known: Vec<u32> = self.values.range(from..to).map(|(&slot, _)| slot).collect();
        for slot in known {
            self.values.remove(&slot);
        }
    }
}

/// Joins into `at`, which is `None` where no way leads yet.
pub(super) fn join_into(at: &mut Option<Point>, way: Option<Point>) {
    match (at.as_mut(), way) {
        (_, None) => {}
        (Some(point), Some(other)) => point.join(&other),
        (None, way) => *at = way,
    }
}
