//! Fairness as acceptance sets: one for each process, or for each rule where the language has no processes.
//!
//! Weak fairness (justice): a process that can move from some time on for ever moves again and again. A transition is in
//! the set of a process that moves in it, and in that of every process that cannot move where it begins. Strong fairness
//! (compassion): a process that can move again and again moves again and again. A transition is in the set of a process
//! that moves in it, and a pair of strong fairness is able where its process can move (Kesten, Pnueli and Raviv,
//! "Algorithmic verification of linear temporal logic specifications", ICALP 1998).

use super::ProductError;
use crate::model::Model;
use hadal_system::{StateSpace, Successors};

/// Which runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// All.
    #[default]
    Off,
    /// Those in which whoever can always move does move.
    Weak,
    /// Those in which every process that is enabled infinitely often also moves infinitely often.
    Strong,
}

#[derive(Debug)]
pub(super) struct Fair {
    fairness: Fairness,
    /// The number of the first set.
    first: u32,
    count: u32,
    /// First labels of actions, ascending, and who moves in each.
    starts: Vec<u32>,
    movers: Vec<u64>,
}

impl Fair {
    pub(super) fn new(model: &Model, fairness: Fairness, first: u32) -> Result<Option<Fair>, ProductError> {
        if fairness == Fairness::Off {
            return Ok(None);
        }
        let system = model.system();
        let by_process = !system.processes.is_empty();
        let count = if by_process { system.processes.len() } else { system.actions.len() };
        if count == 0 {
            return Err(ProductError::NobodyToBeFairTo);
        }
        if first as usize + count > 64 {
            return Err(ProductError::TooManySets(first as usize + count));
        }
        let movers = system.actions.iter().enumerate().map(|(n, action)| match by_process {
            true => action.processes.iter().fold(0u64, |all, process| all | 1 << process.0),
            false => 1 << n,
        });
        let starts = model.actions().iter().map(|action| action.labels.start).collect();
        Ok(Some(Fair { fairness, first, count: count as u32, starts, movers: movers.collect() }))
    }

    /// Sets that every fair cycle meets.
    pub(super) fn sets(&self) -> u32 {
        if self.fairness == Fairness::Weak { self.count } else { 0 }
    }

    /// Pairs of strong fairness.
    pub(super) fn pairs(&self) -> u32 {
        if self.fairness == Fairness::Strong { self.count } else { 0 }
    }

    fn movers(&self, label: u32) -> u64 {
        // The action that stays is none of them: nobody moves.
        self.starts.partition_point(|&start| start <= label).checked_sub(1).map_or(0, |n| self.movers[n])
    }

    /// Who can move in the state with these transitions, whose labels are `factor` times the model's.
    fn who_can(&self, out: &Successors, factor: u32) -> u64 {
        out.labels().iter().fold(0, |able, label| able | self.movers(label.0 / factor))
    }

    /// Adds the sets to the marks of all transitions out of one state.
    pub(super) fn add(&self, out: &Successors, factor: u32, marks: &mut [u64]) {
        let all = if self.count == 64 { u64::MAX } else { (1 << self.count) - 1 };
        let idle = match self.fairness {
            Fairness::Weak => all & !self.who_can(out, factor),
            _ => 0,
        };
        for (label, marks) in out.labels().iter().zip(marks) {
            *marks |= (self.movers(label.0 / factor) | idle) << self.first;
        }
    }

    /// The pairs that are able in the state with these transitions, as marks.
    pub(super) fn able(&self, out: &Successors, factor: u32) -> u64 {
        if self.fairness == Fairness::Strong { self.who_can(out, factor) << self.first } else { 0 }
    }
}
