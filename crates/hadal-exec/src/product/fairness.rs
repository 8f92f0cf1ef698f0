//! Fairness as acceptance sets: one for each process, or for each rule where the language has no processes.
//!
//! Weak fairness: a process that can move from some time on for ever moves again and again. A transition is in the set of
//! a process that moves in it, and in that of every process that cannot move where it begins.

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
}

#[derive(Debug)]
pub(super) struct Fair {
    /// The number of the first set.
    first: u32,
    sets: u32,
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
        let sets = if by_process { system.processes.len() } else { system.actions.len() };
        if sets == 0 {
            return Err(ProductError::NobodyToBeFairTo);
        }
        if first as usize + sets > 64 {
            return Err(ProductError::TooManySets(first as usize + sets));
        }
        let movers = system.actions.iter().enumerate().map(|(n, action)| match by_process {
            true => action.processes.iter().fold(0u64, |all, process| all | 1 << process.0),
            false => 1 << n,
        });
        let starts = model.actions().iter().map(|action| action.labels.start).collect();
        Ok(Some(Fair { first, sets: sets as u32, starts, movers: movers.collect() }))
    }

    pub(super) fn sets(&self) -> u32 {
        self.sets
    }

    fn movers(&self, label: u32) -> u64 {
        // The action that stays is none of them: nobody moves.
        self.starts.partition_point(|&start| start <= label).checked_sub(1).map_or(0, |n| self.movers[n])
    }

    /// Adds the sets to the marks of all transitions out of one state, whose labels are `factor` times the model's.
    pub(super) fn add(&self, out: &Successors, factor: u32, marks: &mut [u64]) {
        let able = out.labels().iter().fold(0, |able, label| able | self.movers(label.0 / factor));
        let all = if self.sets == 64 { u64::MAX } else { (1 << self.sets) - 1 };
        for (label, marks) in out.labels().iter().zip(marks) {
            *marks |= (self.movers(label.0 / factor) | (all & !able)) << self.first;
        }
    }
}
