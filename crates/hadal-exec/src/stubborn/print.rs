//! What each group of action instances touches, and which of them disturb each other.

use super::channels::{Use, Way as Through};
use super::plain::PlainTests;
use hadal_system::facts::{Footprint, SlotSet};
use hadal_system::fold::Fold;
use hadal_system::system::instance_values;
use hadal_system::{Action, Expr, System};

/// A group: one instance of an action, or all of them.
pub(super) struct Print {
    pub(super) facts: Footprint,
    /// The guard with its parameters known, where it stands for one instance only.
    pub(super) guard: Option<Expr>,
    /// What decides whether the guard meets an error.
    pub(super) guard_sites: SlotSet,
    /// What decides whether the body does, where the guard is true.
    pub(super) body_sites: SlotSet,
    pub(super) plain: PlainTests,
    /// Whether it stands for one instance only.
    pub(super) single: bool,
    pub(super) rank: u8,
    pub(super) uses: Vec<Buffer>,
    /// The actions that it goes through, its own first.
    pub(super) members: Vec<usize>,
}

impl Print {
    /// Whether its guard can be true or meet an error.
    pub(super) fn is_possible(&self) -> bool {
        self.facts.can_hold || self.facts.guard_faults.is_some()
    }
}

/// The slots of a buffer that an action sends to or receives from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) held: u32,
    /// From, and up to but not including.
    pub(super) cells: (u32, u32),
    pub(super) way: Through,
}

impl Buffer {
    pub(super) fn new(system: &System, first_slots: &[usize], found: &Use) -> Self {
        let first = first_slots[found.messages.0 as usize];
        let end = first + system.shapes.slots(system.variable(found.messages).shape);
        let held = first_slots[found.held.0 as usize] as u32;
        Buffer { held, cells: (first as u32, end as u32), way: found.way }
    }

    pub(super) fn has(&self, slot: u32) -> bool {
        slot == self.held || (self.cells.0..self.cells.1).contains(&slot)
    }

    pub(super) fn is_touched(&self, slots: &SlotSet) -> bool {
        slots.contains(self.held) || slots.meets_range(self.cells.0, self.cells.1)
    }
}

/// Which groups touch each slot, and which may write it.
pub(super) struct Meetings {
    touching: Vec<Vec<u32>>,
    writing: Vec<Vec<u32>>,
    /// Words of a row of groups.
    pub(super) words: usize,
}

impl Meetings {
    pub(super) fn of(prints: &[Print]) -> Self {
        let slots = prints.iter().flat_map(|it| [&it.facts.reads, &it.facts.may_write]);
        let count =
            slots.filter_map(|set| set.ranges().last().map(|&(_, to)| to as usize)).max().unwrap_or(0);
        let words = prints.len().div_ceil(64);
        let mut meetings =
            Meetings { touching: vec![Vec::new(); count], writing: vec![Vec::new(); count], words };
        for (n, print) in prints.iter().enumerate().filter(|(_, print)| print.is_possible()) {
            print.facts.may_write.iter().for_each(|slot| meetings.writing[slot as usize].push(n as u32));
            let mut touched = print.facts.reads.clone();
            touched.extend(&print.facts.may_write);
            touched.iter().for_each(|slot| meetings.touching[slot as usize].push(n as u32));
        }
        meetings
    }

    /// The groups that touch a slot.
    pub(super) fn touching(&self, slot: u32) -> &[u32] {
        self.touching.get(slot as usize).map_or(&[], Vec::as_slice)
    }

    /// The row of the groups that may write one of these.
    pub(super) fn writers(&self, slots: &SlotSet) -> Vec<u64> {
        let mut all = vec![0; self.words];
        let rows = slots.iter().filter_map(|slot| self.writing.get(slot as usize));
        rows.for_each(|row| insert(row, &mut all));
        all
    }

    /// The row of the groups that touch what this writes, or write what it touches.
    pub(super) fn with(&self, print: &Footprint) -> Vec<u64> {
        let mut all = vec![0; self.words];
        print.may_write.iter().for_each(|slot| insert(&self.touching[slot as usize], &mut all));
        print.reads.iter().for_each(|slot| insert(&self.writing[slot as usize], &mut all));
        all
    }
}

/// Adds groups to a row.
fn insert(groups: &[u32], row: &mut [u64]) {
    groups.iter().for_each(|&group| row[group as usize / 64] |= 1 << (group % 64));
}

/// The guard of an action's n-th instance.
pub(super) fn guard_of(system: &System, action: &Action, n: u64) -> Expr {
    let values = instance_values(&action.params, &system.domains, n);
    let known = action.params.iter().map(|param| param.local).zip(values);
    Fold::new(system, known).unrolling(16).expr(&action.guard)
}

/// What an action reads and preconditions, and that it writes nothing.
pub(super) fn bare(print: &Footprint) -> Footprint {
    Footprint {
        reads: print.reads.clone(),
        tests: print.tests.clone(),
        preconditions: print.preconditions.clone(),
        can_hold: print.can_hold,
        ..Footprint::default()
    }
}

/// Whether firing `one` may change what `other` does, or writes what it writes.
pub(super) fn disturbs(one: &Print, other: &Print) -> bool {
    let (writes, reads) = (&one.facts.may_write, &other.facts.reads);
    let opposite =
        |a: &&Buffer| other.uses.iter().any(|b| a.held == b.held && a.cells == b.cells && a.way != b.way);
    let shared: Vec<&Buffer> = one.uses.iter().filter(opposite).collect();
    if !shared.is_empty() {
        let apart = |slot: u32| shared.iter().any(|buffer| buffer.has(slot));
        let both = writes.common(&other.facts.may_write);
        let stays = |slot| one.facts.result(slot).is_some_and(|after| other.plain.pass(slot, after));
        return !both.iter().all(apart)
            || !writes.common(reads).iter().all(|slot| apart(slot) || stays(slot));
    }
    if writes.meets(&other.facts.may_write) {
        return true;
    }
    if !writes.meets(reads) || other.plain.is_empty() {
        return writes.meets(reads);
    }
    let stays = |slot| one.facts.result(slot).is_some_and(|after| other.plain.pass(slot, after));
    !writes.common(reads).iter().all(stays)
}
