//! Makes a certificate of values that were found: the states that matter, and ranks by search from the target.

use super::{Certificate, Claim, Claims};
use crate::SolveError;
use crate::build::Built;
use crate::exact::fraction;
use crate::graph::{Graph, Reverse};
use crate::values::Values;
use dashu_ratio::RBig;
use hadal_system::chance::Sense;
use std::collections::VecDeque;

/// No rank yet.
const NONE: u32 = u32::MAX;

/// What was found, and for what.
pub(crate) struct Solved<'a> {
    pub graph: &'a Graph,
    /// States outside it that are no targets have probability 0.
    pub through: &'a [bool],
    pub target: &'a [bool],
    pub values: &'a Values,
    pub sense: Sense,
    /// Whether rewards were asked for, not a probability.
    pub rewards: bool,
    /// At most how likely the target is, where rewards are infinite: at best for least rewards, at worst for greatest.
    pub escape: &'a [f64],
}

impl Solved<'_> {
    /// The certificate of the initial states.
    pub fn certify(
        &self,
        built: &Built,
        formula: &str,
        value: (f64, f64),
    ) -> Result<Certificate, SolveError> {
        let inner = self.inner();
        let rank = self.ranks(&inner);
        let mut claims = Claims::new(built.states.words(), None)?;
        for state in (0..self.graph.states()).filter(|&s| inner[s]) {
            let (lower, upper) = (self.values.lower[state], self.values.upper[state]);
            let endless = self.rewards && lower == f64::INFINITY;
            let escape = endless.then(|| self.escape.get(state).copied().unwrap_or(1.0));
            let needs_rank = match (self.rewards, self.sense) {
                (false, _) => lower > 0.0,
                (true, _) => upper < f64::INFINITY,
            };
            if needs_rank && rank[state] == NONE || escape.is_some_and(|e| e >= 1.0) {
                return Err(SolveError::NoCertificate(
                    "these bounds are too wide to be shown; a smaller --precision may have one",
                ));
            }
            let rank = if rank[state] == NONE { 0 } else { rank[state] };
            let state = built.states.state(state).to_vec();
            claims.push(&Claim { state, lower, upper, rank, escape })?;
        }
        Ok(Certificate { formula: formula.to_owned(), value, claims: claims.finish()? })
    }

    /// Whether a state's value follows from its choices.
    fn is_open(&self, state: usize) -> bool {
        !self.target[state] && (self.rewards || self.through[state])
    }

    /// The open states that can be reached before anything is decided.
    fn inner(&self) -> Vec<bool> {
        let graph = self.graph;
        let mut seen = vec![false; graph.states()];
        let mut open: Vec<u32> = Vec::new();
        let mut meet = |state: u32, open: &mut Vec<u32>| {
            if self.is_open(state as usize) && !std::mem::replace(&mut seen[state as usize], true) {
                open.push(state);
            }
        };
        graph.initial.iter().for_each(|&s| meet(s, &mut open));
        while let Some(state) = open.pop() {
            for choice in graph.choices_of(state as usize) {
                graph.targets_of(choice).iter().for_each(|&t| meet(t, &mut open));
            }
        }
        seen
    }

    /// Distances from the target along choices that attain the bound; or, where every choice must make progress, along all.
    fn ranks(&self, inner: &[bool]) -> Vec<u32> {
        let graph = self.graph;
        let reverse = Reverse::of(graph);
        let every = self.rewards == (self.sense == Sense::Greatest);
        let bound = if self.rewards { &self.values.upper } else { &self.values.lower };
        let exact = |state: usize| RBig::try_from(bound[state]).ok();
        let mut rank = vec![NONE; graph.states()];
        let mut left: Vec<u32> = (0..graph.states()).map(|s| graph.choices_of(s).len() as u32).collect();
        let mut counted = vec![false; graph.choices()];
        let mut open: VecDeque<u32> =
            (0..graph.states() as u32).filter(|&s| self.target[s as usize]).collect();
        open.iter().for_each(|&s| rank[s as usize] = 0);
        while let Some(state) = open.pop_front() {
            for &choice in reverse.leading_to(state as usize) {
                let from = reverse.state_of[choice as usize] as usize;
                if rank[from] != NONE || !inner[from] || !self.claims_something(from) {
                    continue;
                }
                if every {
                    if std::mem::replace(&mut counted[choice as usize], true) {
                        continue;
                    }
                    left[from] -= 1;
                    if left[from] > 0 {
                        continue;
                    }
                } else if !self.attains(choice as usize, from, exact) {
                    continue;
                }
                rank[from] = rank[state as usize] + 1;
                open.push_back(from as u32);
            }
        }
        rank
    }

    fn claims_something(&self, state: usize) -> bool {
        match self.rewards {
            true => self.values.upper[state] < f64::INFINITY,
            false => self.values.lower[state] > 0.0,
        }
    }

    /// Whether a choice is as good as the bound of its state says, exactly.
    fn attains(&self, choice: usize, state: usize, exact: impl Fn(usize) -> Option<RBig>) -> bool {
        let graph = self.graph;
        let mut sum = match self.rewards {
            true => fraction(&graph.numbers.exact(graph.reward_of(choice))),
            false => RBig::ZERO,
        };
        for branch in graph.branches_of(choice) {
            let to = graph.targets[branch] as usize;
            let weight = fraction(&graph.numbers.exact(graph.weights[branch]));
            match (exact(to), self.target[to]) {
                (_, true) if self.rewards => {}
                (_, true) => sum += weight,
                (Some(value), _) if self.is_open(to) => sum += weight * value,
                (None, _) => return false,
                _ => {}
            }
        }
        match (exact(state), self.rewards) {
            (Some(value), true) => sum <= value,
            (Some(value), false) => sum >= value,
            (None, _) => false,
        }
    }
}
