//! What the walk reads and writes, and what it knows of what stands there.

use super::values::ValueSet;
use super::walk::{AbstractWalk, MAX_NOTED, MaySlots};
use crate::shape::ShapeId;

/// Whether a write surely happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Surely,
    Perhaps,
}

/// What is known of slots, numbered from the first of a place.
pub(super) type Known = Vec<(u32, ValueSet)>;

impl AbstractWalk<'_> {
    /// Notes that what stands at the target is read; what this walk has surely written itself does not count.
    pub fn note_read(&mut self, target: &MaySlots, length: u32) {
        if self.quiet > 0 {
            return;
        }
        for (from, to) in target.ranges(length) {
            if from >= self.state_slots {
                continue;
            }
            if !self.point.written.meets_range(from, to) {
                self.met.reads.insert_range(from, to);
            } else {
                for slot in (from..to).filter(|&s| !self.point.written.contains(s)) {
                    self.met.reads.insert(slot);
                }
            }
        }
    }

    /// What the scalar at a target may hold.
    pub fn values_at(&self, target: &MaySlots, shape: ShapeId) -> ValueSet {
        match target {
            MaySlots::Starts(starts) => {
                starts.iter().fold(ValueSet::empty(), |all, &slot| all.union(&self.known(slot)))
            }
            MaySlots::Within(..) => match self.system.shapes.scalar(shape) {
                Some(domain) => ValueSet::of_domain(&self.system.domains[domain]),
                None => ValueSet::any().union(&ValueSet::undefined()),
            },
        }
    }

    /// Writes one scalar whose place may not be known.
    pub fn write_scalar(&mut self, target: &MaySlots, values: ValueSet) {
        if let MaySlots::Starts(starts) = target
            && starts.iter().all(|&s| self.multiset_at(s).is_none())
        {
            for &slot in starts {
                if slot < self.state_slots {
                    self.met.writes.insert(slot);
                }
                if starts.len() == 1 {
                    self.point.values.insert(slot, values.clone());
                    if slot < self.state_slots {
                        self.point.written.insert(slot);
                    }
                } else if let Some(old) = self.point.values.get_mut(&slot) {
                    *old = old.union(&values);
                }
            }
            return;
        }
        self.write_unknown(target, 1, Certainty::Surely);
    }

    /// Writes something unknown of `length` slots at the target. A write into a multiset may move every element.
    pub fn write_unknown(&mut self, target: &MaySlots, length: u32, certainty: Certainty) {
        let exact = target.exact().is_some() && certainty == Certainty::Surely;
        for (from, to) in target.ranges(length) {
            if from < self.state_slots {
                self.met.writes.insert_range(from, to);
                if exact {
                    self.point.written.insert_range(from, to);
                }
            }
            if from < to {
                self.point.forget(from, to);
            }
            let first = self.multisets.partition_point(|&(_, end)| end <= from);
            let inside: Vec<(u32, u32)> =
                self.multisets[first..].iter().copied().take_while(|&(start, _)| start < to).collect();
            for (start, end) in inside {
                self.point.forget(start, end);
                self.point.written.remove_range(start, end);
            }
        }
    }

    /// What is known of the slots of a target, numbered from its first.
    pub fn known_at(&mut self, from: &MaySlots, length: u32) -> Known {
        match from.exact() {
            Some(first) if length <= MAX_NOTED => {
                let known = self.point.values.range(first..first + length);
                known.map(|(slot, values)| (slot - first, values.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Notes what each of these slots holds; nothing of the elements of multisets, which move.
    pub fn note_each(&mut self, slots: std::ops::Range<u32>, holds: fn(&Self, u32) -> ValueSet) {
        for slot in slots {
            if self.multiset_at(slot).is_none() {
                self.point.values.insert(slot, holds(self, slot));
            }
        }
    }

    /// Notes what slots hold from `slot` on.
    pub fn note_values(&mut self, slot: u32, known: Known) {
        self.burn(known.len() / 4);
        for (n, values) in known {
            if self.multiset_at(slot + n).is_none() {
                self.point.values.insert(slot + n, values);
            }
        }
    }
}
