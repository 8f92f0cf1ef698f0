//! One interface for deterministic problems, AND/OR graphs, game trees and decision processes (Bonet, Geffner 2006): states,
//! actions with costs, and outcomes that are added up, averaged, or taken at their worst.

mod floor;
mod model;
mod racetrack;
mod space;
mod tiles;

pub use floor::WetFloor;
pub use model::{Aim, Estimates, ModelTask};
pub use racetrack::{Racetrack, TrackError};
pub use space::TaskSpace;
pub use tiles::Tiles;

/// What the values of several outcomes become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Their mean: decision processes; with one outcome each, shortest paths.
    Expected,
    /// Their sum: AND/OR graphs whose parts are all solved.
    Additive,
    /// The greatest: AND/OR graphs by depth, games.
    Worst,
}

/// A problem of getting to a terminal state at the least cost.
pub trait Task: Sync {
    /// Where it begins.
    fn initial(&self) -> u64;
    /// What a terminal state costs; `None` where something can be done.
    fn terminal(&self, state: u64) -> Option<f64>;
    /// What can be done in a state that is not terminal.
    fn actions(&self, state: u64, out: &mut Actions);
    /// What the values of several outcomes become.
    fn kind(&self) -> Kind {
        Kind::Expected
    }
    /// Whether something was met that makes every answer worthless: searches end then.
    fn failed(&self) -> bool {
        false
    }
    /// Not more than the least cost from here.
    fn estimate(&self, state: u64) -> f64 {
        let _ = state;
        0.0
    }
}

/// The actions of a state, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    costs: Vec<f64>,
    ends: Vec<u32>,
    outcomes: Vec<(u64, f64)>,
}

impl Actions {
    /// Forgets them, keeps the memory.
    pub fn clear(&mut self) {
        self.costs.clear();
        self.ends.clear();
        self.outcomes.clear();
    }

    /// Adds an action. Equal outcomes become one, their probabilities add up; outcomes stand in the order of their states.
    pub fn push(&mut self, cost: f64, outcomes: &[(u64, f64)]) {
        let first = self.outcomes.len();
        self.outcomes.extend_from_slice(outcomes);
        self.outcomes[first..].sort_by_key(|o| o.0);
        let mut kept = first;
        for n in first + 1..self.outcomes.len() {
            if self.outcomes[n].0 == self.outcomes[kept].0 {
                self.outcomes[kept].1 += self.outcomes[n].1;
            } else {
                kept += 1;
                self.outcomes[kept] = self.outcomes[n];
            }
        }
        self.outcomes.truncate(kept + 1);
        self.costs.push(cost);
        self.ends.push(self.outcomes.len() as u32);
    }

    /// Gives every outcome another name.
    pub fn rename(&mut self, name: impl Fn(u64) -> u64) {
        self.outcomes.iter_mut().for_each(|outcome| outcome.0 = name(outcome.0));
    }

    /// How many actions.
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// Whether nothing can be done.
    pub fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// What the n-th action costs.
    pub fn cost(&self, n: usize) -> f64 {
        self.costs[n]
    }

    /// Where the n-th action leads, and how likely.
    pub fn outcomes(&self, n: usize) -> &[(u64, f64)] {
        let first = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        &self.outcomes[first..self.ends[n] as usize]
    }
}

/// The value of an action: its cost and what its outcomes are worth, in their order.
#[inline]
pub fn backup(kind: Kind, cost: f64, outcomes: impl Iterator<Item = (f64, f64)>) -> f64 {
    match kind {
        Kind::Expected => outcomes.fold(cost, |sum, (value, probability)| sum + probability * value),
        Kind::Additive => outcomes.fold(cost, |sum, (value, _)| sum + value),
        Kind::Worst => cost + outcomes.fold(f64::NEG_INFINITY, |most, (value, _)| most.max(value)),
    }
}
