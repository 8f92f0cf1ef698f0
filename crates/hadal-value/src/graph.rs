//! A decision process as a graph: choices per state, branches per choice, each array flat.
//!
//! A branch takes 8 bytes: its target and the index of its weight. Rewards are indices, too.

use crate::numbers::Numbers;
use std::ops::Range;

/// A finite decision process.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Where the choices of each state begin, and the end.
    pub first_choice: Vec<u32>,
    /// Where the branches of each choice begin, and the end.
    pub first_branch: Vec<u32>,
    /// Where each branch leads.
    pub targets: Vec<u32>,
    /// How likely each branch is, an index into `numbers`.
    pub weights: Vec<u32>,
    /// What each choice earns, an index into `numbers`; empty where no reward was asked for.
    pub rewards: Vec<u32>,
    /// Weights and rewards.
    pub numbers: Numbers,
    /// The initial states.
    pub initial: Vec<u32>,
    /// The states that had no choice of their own and got a loop, ascending.
    pub deadlocks: Vec<u32>,
}

impl Graph {
    /// How many states.
    pub fn states(&self) -> usize {
        self.first_choice.len().saturating_sub(1)
    }

    /// How many choices.
    pub fn choices(&self) -> usize {
        self.first_branch.len().saturating_sub(1)
    }

    /// How many branches.
    pub fn branches(&self) -> usize {
        self.targets.len()
    }

    /// The choices of a state.
    #[inline]
    pub fn choices_of(&self, state: usize) -> Range<usize> {
        self.first_choice[state] as usize..self.first_choice[state + 1] as usize
    }

    /// The branches of a choice.
    #[inline]
    pub fn branches_of(&self, choice: usize) -> Range<usize> {
        self.first_branch[choice] as usize..self.first_branch[choice + 1] as usize
    }

    /// The targets of a choice.
    #[inline]
    pub fn targets_of(&self, choice: usize) -> &[u32] {
        &self.targets[self.branches_of(choice)]
    }

    /// What a choice earns, an index into `numbers`.
    #[inline]
    pub fn reward_of(&self, choice: usize) -> u32 {
        self.rewards.get(choice).copied().unwrap_or(0)
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> u64 {
        let words = self.first_choice.capacity()
            + self.first_branch.capacity()
            + self.targets.capacity()
            + self.weights.capacity()
            + self.rewards.capacity();
        words as u64 * 4
    }
}

/// Who leads to a state: for each state the choices with a branch to it, and whose choice each is.
#[derive(Debug)]
pub struct Reverse {
    first: Vec<u32>,
    choices: Vec<u32>,
    /// The state of each choice.
    pub state_of: Vec<u32>,
}

impl Reverse {
    /// Of a graph.
    pub fn of(graph: &Graph) -> Self {
        let n = graph.states();
        let mut state_of = vec![0; graph.choices()];
        for state in 0..n {
            for choice in graph.choices_of(state) {
                state_of[choice] = state as u32;
            }
        }
        let mut first = vec![0u32; n + 1];
        for &target in &graph.targets {
            first[target as usize + 1] += 1;
        }
        for state in 0..n {
            first[state + 1] += first[state];
        }
        let mut next = first.clone();
        let mut choices = vec![0; graph.branches()];
        for choice in 0..graph.choices() {
            for &target in graph.targets_of(choice) {
                let at = &mut next[target as usize];
                choices[*at as usize] = choice as u32;
                *at += 1;
            }
        }
        Reverse { first, choices, state_of }
    }

    /// The choices with a branch to `state`, once per branch.
    pub fn leading_to(&self, state: usize) -> &[u32] {
        &self.choices[self.first[state] as usize..self.first[state + 1] as usize]
    }
}
