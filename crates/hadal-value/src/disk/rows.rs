//! Choices of states, told one state after the other from wherever they are kept.

use super::DiskError;
use crate::build::Built;
use crate::graph::Graph;
use crate::numbers::Numbers;

/// Marks the last branch of a choice.
pub(super) const LAST: u64 = 1 << 63;

/// The choices of one state.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Where every branch leads and the number of its weight, choice by choice.
    pub branches: Vec<(u64, u32)>,
    /// Where each choice ends.
    pub ends: Vec<u32>,
    /// The reward of each choice, as a number.
    pub rewards: Vec<u32>,
}

impl Row {
    pub(super) fn clear(&mut self) {
        self.branches.clear();
        self.ends.clear();
        self.rewards.clear();
    }

    /// Adds a branch as it is written down: weight, reward of its choice, whether it is the last.
    #[inline]
    pub(super) fn push(&mut self, target: u64, payload: u64) {
        self.branches.push((target, payload as u32));
        if payload & LAST != 0 {
            self.ends.push(self.branches.len() as u32);
            self.rewards.push((payload >> 32) as u32 & 0x7FFF_FFFF);
        }
    }

    /// The branches and the reward of each choice.
    pub fn choices(&self) -> impl Iterator<Item = (&[(u64, u32)], u32)> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = begins.zip(&self.ends).map(|(begin, &end)| &self.branches[begin as usize..end as usize]);
        ranges.zip(self.rewards.iter().copied())
    }
}

/// A branch as it is written down.
pub(super) fn payload(weight: u32, reward: u32, last: bool) -> u64 {
    u64::from(weight) | u64::from(reward) << 32 | if last { LAST } else { 0 }
}

/// Something with choices for each of its states.
pub trait Rows {
    /// How many states.
    fn states(&self) -> u64;
    /// Weights and rewards.
    fn numbers(&self) -> &Numbers;
    /// Tells every state, in order, with its choices.
    fn scan(&self, each: impl FnMut(u64, &Row)) -> Result<(), DiskError>;
}

impl Rows for Graph {
    fn states(&self) -> u64 {
        Graph::states(self) as u64
    }

    fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let mut row = Row::default();
        for state in 0..Graph::states(self) {
            row.clear();
            for choice in self.choices_of(state) {
                let branches = self.branches_of(choice);
                row.branches.extend(branches.map(|b| (u64::from(self.targets[b]), self.weights[b])));
                row.ends.push(row.branches.len() as u32);
                row.rewards.push(self.reward_of(choice));
            }
            each(state as u64, &row);
        }
        Ok(())
    }
}

/// Something that knows its states.
pub trait States {
    /// Tells every state by its number, in order.
    fn tell(&self, each: impl FnMut(u64, &[u64])) -> Result<(), DiskError>;
}

impl Rows for Built {
    fn states(&self) -> u64 {
        Rows::states(&self.graph)
    }

    fn numbers(&self) -> &Numbers {
        &self.graph.numbers
    }

    fn scan(&self, each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        self.graph.scan(each)
    }
}

impl States for Built {
    fn tell(&self, mut each: impl FnMut(u64, &[u64])) -> Result<(), DiskError> {
        (0..self.states.len()).for_each(|number| each(number as u64, self.states.state(number)));
        Ok(())
    }
}
