//! Choices of states, told one state after the other from wherever they are kept.

use super::DiskError;
use super::company::Company;
use crate::build::Built;
use crate::graph::Graph;
use crate::numbers::Numbers;
use hadal_system::state::compare;

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
    /// Tells every state, in order, with its choices; of several workers, those of this one's states.
    fn scan(&self, each: impl FnMut(u64, &Row)) -> Result<(), DiskError>;
    /// The workers that have the choices of the other states, if there are some.
    fn company(&self) -> Option<&Company> {
        None
    }
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

/// A graph in RAM whose states are numbered by rank, as on disk: stages depend on the numbers, and values on the stages.
pub(super) struct ByRank<'b> {
    built: &'b Built,
    /// By rank.
    order: Vec<u32>,
    /// By number.
    rank: Vec<u32>,
}

impl<'b> ByRank<'b> {
    pub fn of(built: &'b Built) -> Self {
        let mut order: Vec<u32> = (0..built.states.len() as u32).collect();
        let state = |&number: &u32| built.states.state(number as usize);
        order.sort_unstable_by(|l, r| compare(state(l), state(r)));
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &number)| rank[number as usize] = at as u32);
        ByRank { built, order, rank }
    }

    /// The states by rank.
    pub fn order(self) -> Vec<u32> {
        self.order
    }

    /// The ranks of the initial states, ascending.
    pub fn initial(&self) -> Vec<u64> {
        let ranks = self.built.graph.initial.iter().map(|&number| self.rank[number as usize].into());
        let mut ranks: Vec<u64> = ranks.collect();
        ranks.sort_unstable();
        ranks
    }

    /// Which states are marked, by rank.
    pub fn marks(&self) -> Vec<Vec<bool>> {
        let by_rank = |mark: &Vec<bool>| self.order.iter().map(|&number| mark[number as usize]).collect();
        self.built.marks.iter().map(by_rank).collect()
    }
}

impl Rows for ByRank<'_> {
    fn states(&self) -> u64 {
        Rows::states(&self.built.graph)
    }

    fn numbers(&self) -> &Numbers {
        &self.built.graph.numbers
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let (graph, mut row) = (&self.built.graph, Row::default());
        for (rank, &number) in self.order.iter().enumerate() {
            row.clear();
            for choice in graph.choices_of(number as usize) {
                let branches = graph.branches_of(choice);
                let to = |b: usize| u64::from(self.rank[graph.targets[b] as usize]);
                row.branches.extend(branches.map(|b| (to(b), graph.weights[b])));
                row.ends.push(row.branches.len() as u32);
                row.rewards.push(graph.reward_of(choice));
            }
            each(rank as u64, &row);
        }
        Ok(())
    }
}

impl States for ByRank<'_> {
    fn tell(&self, mut each: impl FnMut(u64, &[u64])) -> Result<(), DiskError> {
        let states = self.order.iter().map(|&number| self.built.states.state(number as usize));
        states.enumerate().for_each(|(rank, state)| each(rank as u64, state));
        Ok(())
    }
}
