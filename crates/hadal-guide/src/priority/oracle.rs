//! The truth about small models: exact distances, and so which transitions are useless (Wehrle 2011, sec. 3.2.1). For
//! experiments and tests; every query is a breadth-first search.

use hadal_exec::Model;
use hadal_system::guide::Goal;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::{Check, Label, PropertyId, StateSpace, Successors, Worker};
use std::collections::{HashMap, HashSet};

/// A guide that knows.
pub struct Oracle<'m> {
    model: &'m Model,
    goal: Goal,
}

impl<'m> Oracle<'m> {
    /// The exact distances to what `goal` names; deadlocks and errors are not looked for.
    pub fn new(model: &'m Model, goal: &Goal) -> Self {
        Oracle { model, goal: goal.clone() }
    }
}

impl Guide for Oracle<'_> {
    fn name(&self) -> String {
        "exact".into()
    }

    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Seer {
            goal: &self.goal,
            worker: self.model.worker(),
            words: self.model.words(),
            seen: HashMap::new(),
        })
    }
}

/// Computes exact distances.
struct Seer<'o> {
    goal: &'o Goal,
    worker: Box<dyn Worker + 'o>,
    words: usize,
    /// What was asked with everything enabled.
    seen: HashMap<Vec<u64>, Distance>,
}

impl Seer<'_> {
    fn is_met(&mut self, state: &[u64]) -> bool {
        match self.worker.check(state) {
            Check::Hit(id) => self.goal.properties.contains(&PropertyId(id.0)),
            _ => false,
        }
    }

    fn search(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let mut known: HashSet<Vec<u64>> = HashSet::from([state.to_vec()]);
        let mut layer = vec![state.to_vec()];
        let mut distance = 0;
        let mut out = Successors::new(self.words);
        while !layer.is_empty() {
            let mut next = Vec::new();
            for state in layer {
                if self.is_met(&state) {
                    return Distance(distance);
                }
                out.clear();
                self.worker.successors(&state, &mut out);
                for (label, successor) in out.iter() {
                    let enabled = off.is_none_or(|off| !off.contains(label));
                    if enabled && !known.contains(successor) {
                        known.insert(successor.to_vec());
                        next.push(successor.to_vec());
                    }
                }
            }
            layer = next;
            distance += 1;
        }
        Distance::INFINITE
    }
}

impl Estimator for Seer<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        if off.is_some() {
            return self.search(state, off);
        }
        if let Some(&known) = self.seen.get(state) {
            return known;
        }
        let distance = self.search(state, None);
        self.seen.insert(state.to_vec(), distance);
        distance
    }
}

/// How often a guide is right about which transitions are useless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Useless, and said to be.
    pub true_positive: u64,
    /// Not useless, and not said to be.
    pub true_negative: u64,
    /// Not useless, but said to be.
    pub false_positive: u64,
    /// Useless, but not said to be.
    pub false_negative: u64,
}

impl Confusion {
    /// Counts one transition.
    pub fn count(&mut self, useless: bool, said: bool) {
        *match (useless, said) {
            (true, true) => &mut self.true_positive,
            (false, false) => &mut self.true_negative,
            (false, true) => &mut self.false_positive,
            (true, false) => &mut self.false_negative,
        } += 1;
    }
}

/// Whether the transition opens none of the shortest ways to what is looked for: leaving through it does not come nearer.
pub fn is_useless(truth: &mut dyn Estimator, state: &[u64], successor: &[u64]) -> bool {
    truth.estimate(state, None) <= truth.estimate(successor, None)
}

/// Whether the sufficient test of the exact distance says so: without the transition's edges the way is no longer.
pub fn is_useless_without(truth: &mut dyn Estimator, state: &[u64], successor: &[u64], off: &Mask) -> bool {
    truth.estimate(state, Some(off)) <= truth.estimate(successor, None)
}

/// The transitions of a state, with their labels: what a confusion matrix is counted over.
pub fn steps(model: &Model, state: &[u64]) -> Vec<(Label, Vec<u64>)> {
    let mut out = Successors::new(model.words());
    model.worker().successors(state, &mut out);
    out.iter().map(|(label, successor)| (label, successor.to_vec())).collect()
}
