//! What one action instance (or a whole action) touches, requires and leaves behind.

use super::point::{Point, join_into};
use super::slots::SlotSet;
use super::values::ValueSet;
use super::walk::{AbstractWalk, Ground, Met};
use crate::machine::{AbstractMachine, block, value};
use crate::system::{Action, Param, ParamValues};

/// The static facts of an action, or of one instance of it.
///
/// An action *fires* where its guard is true and no assumption drops the transition. An error of the model met on
/// the way is not firing: it is reported. Sets called "may" are supersets of what can happen, sets called "must"
/// subsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Slots whose values before the firing may influence anything: whether it fires, errors, what is written.
    pub reads: SlotSet,
    /// The part of `reads` that may influence whether it fires or its guard meets an error.
    pub tests: SlotSet,
    /// Slots that some firing may write.
    pub may_write: SlotSet,
    /// Slots that every firing writes (perhaps with the value they had).
    pub must_write: SlotSet,
    /// Slots that can only have some of their values where the guard is true, ascending.
    pub preconditions: Vec<(u32, ValueSet)>,
    /// Where the guard can meet an error, what the slots must then be, like `preconditions`; `None` where it cannot.
    pub guard_faults: Option<Vec<(u32, ValueSet)>>,
    /// Slots that surely are written and can only have some of their values after, ascending.
    pub results: Vec<(u32, ValueSet)>,
    /// Whether an error of the model may be met, in the guard or in the body.
    pub may_fault: bool,
    /// Whether the body may meet one where the guard is true.
    pub body_may_fault: bool,
    /// Whether an assumption may drop the transition although the guard is true.
    pub may_drop: bool,
    /// Whether the guard can be true at all, as far as it alone tells.
    pub can_hold: bool,
    /// Whether it can fire at all (the guard true, the body ending without an error), as far as its guard and body alone tell.
    pub can_fire: bool,
}

impl Footprint {
    /// The slots that the guard wants to have exactly one value, with it.
    pub fn equalities(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.preconditions.iter().filter_map(|(slot, values)| Some((*slot, values.as_const()?)))
    }

    /// The slots that every firing sets to one known value, with it.
    pub fn assignments(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.results.iter().filter_map(|(slot, values)| Some((*slot, values.as_const()?)))
    }

    /// The values a slot can have where the guard is true, where that is less than its domain.
    pub fn precondition(&self, slot: u32) -> Option<&ValueSet> {
        find(&self.preconditions, slot)
    }

    /// The values a slot can have after a firing, where it surely is written and that is less than its domain.
    pub fn result(&self, slot: u32) -> Option<&ValueSet> {
        find(&self.results, slot)
    }

    /// What holds for either of two instances.
    pub(super) fn merge(&mut self, other: &Footprint) {
        self.reads.extend(&other.reads);
        self.tests.extend(&other.tests);
        self.may_write.extend(&other.may_write);
        if other.can_hold {
            self.preconditions = if self.can_hold {
                either(&self.preconditions, &other.preconditions)
            } else {
                other.preconditions.clone()
            };
        }
        if other.can_fire && self.can_fire {
            self.must_write = self.must_write.common(&other.must_write);
            self.results = either(&self.results, &other.results);
        } else if other.can_fire {
            self.must_write = other.must_write.clone();
            self.results = other.results.clone();
        }
        self.guard_faults = match (self.guard_faults.take(), &other.guard_faults) {
            (Some(ours), Some(theirs)) => Some(either(&ours, theirs)),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        self.may_fault |= other.may_fault;
        self.body_may_fault |= other.body_may_fault;
        self.may_drop |= other.may_drop;
        self.can_hold |= other.can_hold;
        self.can_fire |= other.can_fire;
    }
}

fn find(list: &[(u32, ValueSet)], slot: u32) -> Option<&ValueSet> {
    list.binary_search_by_key(&slot, |(s, _)| *s).ok().map(|at| &list[at].1)
}

/// Per slot that both know something about, what either allows.
fn either(a: &[(u32, ValueSet)], b: &[(u32, ValueSet)]) -> Vec<(u32, ValueSet)> {
    a.iter().filter_map(|(slot, values)| Some((*slot, values.union(find(b, *slot)?)))).collect()
}

/// The values of a parameter that stands for all its instances.
pub(super) fn param_values(ground: &Ground, param: &Param) -> ValueSet {
    match param.values {
        ParamValues::Domain(id) => ValueSet::defined_of(&ground.system.domains[id]),
        ParamValues::Steps { from, to, by } => {
            if by > 0 {
                ValueSet::interval(from, to)
            } else {
                ValueSet::interval(to, from)
            }
        }
    }
}

/// Walks an action with these values for its parameters.
pub(super) fn footprint<'a>(
    walk: &mut AbstractWalk<'a>,
    action: &'a Action,
    params: &[ValueSet],
) -> Footprint {
    walk.begin(&action.locals, action.params.iter().zip(params.iter().cloned()));
    let entry = walk.point.clone();
    walk.fault = Some(None);
    let held = value(walk, &action.guard);
    let fault = walk.fault.take().flatten();
    let tests = walk.met.reads.clone();
    // What a guard writes (through calls) is not part of the state it was asked about.
    let guard_writes = walk.met.writes.clone();
    let fires = held.is_ok_and(|held| held.may_be_true()) && walk.assume(&action.guard, true);
    let guard_faults = fault.map(|point| restrictions(walk, &point, &guard_writes));
    let mut print = Footprint { guard_faults, can_hold: fires, ..Footprint::default() };
    let guard_may_fault = std::mem::take(&mut walk.met.faults);
    if fires {
        print.preconditions = restrictions(walk, &walk.point, &guard_writes);
        for &(from, to) in guard_writes.ranges() {
            walk.point.forget(from, to);
        }
        // The body starts from the same state with fresh locals.
        walk.point.forget(walk.state_slots, walk.slot_domains.len() as u32);
        walk.point.values.extend(entry.values);
        walk.point.written = SlotSet::new();
        let reached = block(walk, &action.body).is_ok();
        let mut end = walk.frame().exit.point.take();
        if reached {
            join_into(&mut end, Some(std::mem::take(&mut walk.point)));
        }
        if let Some(end) = end {
            print.can_fire = true;
            print.must_write = end.written.clone();
            let known = end.values.range(..walk.state_slots);
            print.results = known
                .filter(|&(&slot, values)| end.written.contains(slot) && *values != walk.top(slot))
                .map(|(&slot, values)| (slot, values.clone()))
                .collect();
        }
    }
    let Met { reads, writes, faults, drops } = std::mem::take(&mut walk.met);
    print.tests = if drops { reads.clone() } else { tests };
    print.reads = reads;
    print.may_write = writes;
    print.may_fault = faults || guard_may_fault;
    print.body_may_fault = faults;
    print.may_drop = drops;
    // Multisets are sorted: a write to one element may move all, by the values of all.
    for &(from, to) in &walk.ground.multisets {
        if print.may_write.meets_range(from, to) {
            print.may_write.insert_range(from, to);
            print.reads.insert_range(from, to);
        }
    }
    print
}

/// The slots of the state about which `point` knows more than their domain, but for `except`.
fn restrictions(walk: &AbstractWalk, point: &Point, except: &SlotSet) -> Vec<(u32, ValueSet)> {
    let known = point.values.range(..walk.state_slots);
    known
        .filter(|&(&slot, values)| !except.contains(slot) && *values != walk.top(slot))
        .map(|(&slot, values)| (slot, values.clone()))
        .collect()
}
