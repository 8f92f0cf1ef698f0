//! Sets of one process: all that it can do from where it stands. Such a set is stubborn where nothing that disturbs what it
//! can do, or enables what it cannot, can come before it moves. Who can still get where without it is worked out
//! once from the control graphs, so a state is asked only where processes stand (ample sets; Peled 1994, Clarke, Grumberg
//! and Peled 1999, sec. 10.5).
//!
//! Let p stand at c, and T be the groups that demand of p to stand at places among which c is. On a path without a member of
//! T, p stays at c, so nothing fires that asks where p stands; the others move along edges that do not ask for
//! it. A group that asks of some q to stand where no such edges lead is not fired before T is. So T is stubborn where all that
//! conflicts with its enabled groups, and all that can enable its disabled ones, is in T, asks for another place of p, or is
//! such a group.

mod finder;
mod graphs;
mod making;

pub(super) use finder::{Finder, Here};
use std::collections::HashMap;

/// The sets of all processes.
#[derive(Default)]
pub(super) struct Locals {
    /// By process: where in the state it is said where it stands.
    locations: Vec<(u32, u32)>,
    /// By process and code of its location; `None` where something may move it that does not ask where it stands.
    spots: Vec<Vec<Option<Spot>>>,
    masks: Vec<u64>,
    /// Where each row of them stands.
    known: HashMap<Vec<u64>, u32>,
}

/// What a process can do at one place. Groups of which the same must hold stand together.
#[derive(Default)]
struct Spot {
    groups: Part,
    /// What must hold where one of them is enabled; `None` where nothing will do.
    enabled: Vec<(Part, Option<Needs>)>,
    /// What must hold where one of them is disabled.
    disabled: Vec<(Part, Obstacles)>,
}

/// Why a group may be disabled, and what must hold for each reason: one of those must that are so.
#[derive(Clone, PartialEq, Eq)]
struct Obstacles {
    /// What is demanded of single scalars; nothing will do where there is no more.
    tests: Vec<(Reason, Option<Needs>)>,
    /// These count where all scalars are as demanded: what is known of messages is so where there are any, and of
    /// processes where they live.
    further: Vec<(Reason, Needs)>,
}

impl Obstacles {
    /// Whether nothing must hold, whatever the reason.
    fn are_none(&self) -> bool {
        let nothing = |needs: &Needs| needs.is_empty();
        self.tests.iter().all(|(_, needs)| needs.as_ref().is_some_and(nothing))
            && self.further.iter().any(|(reason, needs)| *reason == Reason::Any && nothing(needs))
    }
}

/// Where processes must stand.
type Needs = Vec<Elsewhere>;

/// Some groups: numbers and contents of words that are not empty.
#[derive(Default)]
struct Part(Vec<(u32, u64)>);

impl Part {
    fn insert(&mut self, group: usize) {
        let (at, bit) = ((group / 64) as u32, 1u64 << (group % 64));
        match self.0.iter_mut().find(|(known, _)| *known == at) {
            Some((_, bits)) => *bits |= bit,
            None => self.0.push((at, bit)),
        }
    }

    /// Whether one of them is in the row.
    fn meets(&self, row: &[u64]) -> bool {
        self.0.iter().any(|&(at, bits)| row[at as usize] & bits != 0)
    }

    /// Whether one of them is not in the row.
    fn exceeds(&self, row: &[u64]) -> bool {
        self.0.iter().any(|&(at, bits)| !row[at as usize] & bits != 0)
    }
}

impl Spot {
    fn add(&mut self, group: usize, enabled: &Option<Needs>, disabled: &Obstacles) {
        self.groups.insert(group);
        // What holds anyway need not be looked at.
        if enabled.as_ref().is_none_or(|needs| !needs.is_empty()) {
            match self.enabled.iter_mut().find(|(_, needs)| needs == enabled) {
                Some((part, _)) => part.insert(group),
                None => {
                    let mut part = Part::default();
                    part.insert(group);
                    self.enabled.push((part, enabled.clone()));
                }
            }
        }
        if !disabled.are_none() {
            match self.disabled.iter_mut().find(|(_, known)| known == disabled) {
                Some((part, _)) => part.insert(group),
                None => {
                    let mut part = Part::default();
                    part.insert(group);
                    self.disabled.push((part, disabled.clone()));
                }
            }
        }
    }
}

/// Why a group may be disabled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// A process stands elsewhere: its number, and the places that are demanded.
    Place(Elsewhere),
    /// A scalar is not as demanded: number of the test.
    Test(u32),
    /// A conjunct is false: its number.
    Condition(u32),
    Any,
}

/// A process must stand at one of some places: a row of bits by the code of its location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Elsewhere {
    process: u32,
    mask: u32,
}
