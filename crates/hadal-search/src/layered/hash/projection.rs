//! The projection of structured duplicate detection (Zhou and Hansen 2004): which scalars make the abstract states.
//!
//! A good projection has many abstract states and few abstract successors of each: then what must be in RAM while one of
//! them is expanded, its *scope*, is a small share of all states. Scalars are added one by one, each time the one after
//! which the expected scope is smallest in a sample of transitions.

use super::partition::{Partition, PartitionError};
use super::sample::{FOLLOWED, sample};
use hadal_store::Governor;
use hadal_system::{StateSpace, Successors};
use std::collections::{BTreeSet, HashMap, HashSet};

/// States of the sample whose transitions are looked at.
const SOURCES: usize = 2000;
/// Scalars that are tried in each step: those that are best by themselves.
const TRIED: usize = 24;
/// A further scalar must make the scope smaller by this factor.
const WORTH: f64 = 0.95;

/// A sample of transitions between numbered states.
struct Transitions {
    states: Vec<Box<[u64]>>,
    steps: Vec<(u32, u32)>,
}

/// A partition of states with about `wanted` parts, chosen for small scopes.
pub(super) fn project(
    space: &dyn StateSpace,
    governor: &Governor,
    wanted: usize,
) -> Result<Partition, PartitionError> {
    if space.fields().is_empty() {
        return Err(PartitionError::NoScalars);
    }
    let mut partition = Partition::whole(space);
    let sampled = Transitions::of(space, governor);
    let pieces = partition.pieces();
    // The value of each piece in each state.
    let values = |piece: usize| -> Vec<u64> {
        sampled.states.iter().map(|state| pieces[piece].value(state)).collect()
    };
    let mut classes = vec![0; sampled.states.len()];
    let mut ranked: Vec<(f64, usize, Vec<u64>)> = Vec::new();
    for piece in 0..pieces.len() {
        let values = values(piece);
        let (refined, count) = refine(&classes, &values);
        if count > 1 && count <= 2 * wanted {
            ranked.push((sampled.scope_share(&refined, count), piece, values));
        }
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.truncate(TRIED);
    let (mut chosen, mut share, mut count) = (Vec::new(), 1.0, 1);
    while count < wanted {
        let mut best: Option<(f64, usize, Vec<u32>, usize)> = None;
        for (n, (_, _, values)) in ranked.iter().enumerate() {
            let (refined, count) = refine(&classes, values);
            let share = sampled.scope_share(&refined, count);
            if count <= 2 * wanted && best.as_ref().is_none_or(|best| share < best.0) {
                best = Some((share, n, refined, count));
            }
        }
        let Some((better, n, refined, parts)) = best.filter(|best| best.0 < share * WORTH) else { break };
        chosen.push(ranked.remove(n).1);
        (share, classes, count) = (better, refined, parts);
    }
    partition.split_evenly(&chosen);
    Ok(partition)
}

/// The classes that a further value splits, and how many there are.
fn refine(classes: &[u32], values: &[u64]) -> (Vec<u32>, usize) {
    let mut numbers = HashMap::new();
    let refined = classes
        .iter()
        .zip(values)
        .map(|(&class, &value)| {
            let next = numbers.len() as u32;
            *numbers.entry((class, value)).or_insert(next)
        })
        .collect();
    (refined, numbers.len())
}

impl Transitions {
    fn of(space: &dyn StateSpace, governor: &Governor) -> Self {
        // In order, so that every run chooses alike.
        let sampled: BTreeSet<Box<[u64]>> = sample(space, governor, FOLLOWED).into_iter().collect();
        let every = (sampled.len() / SOURCES).max(1);
        let mut sampled_steps = Transitions { states: Vec::new(), steps: Vec::new() };
        let mut numbers: HashMap<Box<[u64]>, u32> = HashMap::new();
        let mut worker = space.worker();
        let mut out = Successors::new(space.words());
        for source in sampled.into_iter().step_by(every) {
            out.clear();
            worker.successors(&source, &mut out);
            let from = sampled_steps.number(&mut numbers, &source);
            for (_, target) in out.iter() {
                let to = sampled_steps.number(&mut numbers, target);
                sampled_steps.steps.push((from, to));
            }
        }
        sampled_steps
    }

    fn number(&mut self, numbers: &mut HashMap<Box<[u64]>, u32>, state: &[u64]) -> u32 {
        if let Some(&number) = numbers.get(state) {
            return number;
        }
        let number = self.states.len() as u32;
        numbers.insert(state.into(), number);
        self.states.push(state.into());
        number
    }

    /// The share of all states that is in RAM while a state is expanded, on average: its class and those its class leads to.
    fn scope_share(&self, classes: &[u32], count: usize) -> f64 {
        let mut weights = vec![0u64; count];
        for &class in classes {
            weights[class as usize] += 1;
        }
        let edges: HashSet<(u32, u32)> =
            self.steps.iter().map(|&(from, to)| (classes[from as usize], classes[to as usize])).collect();
        let mut scopes = weights.clone();
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            scopes[from as usize] += weights[to as usize];
        }
        let total = classes.len().max(1) as f64;
        let sum: f64 =
            weights.iter().zip(&scopes).map(|(&weight, &scope)| weight as f64 * scope as f64).sum();
        sum / total / total
    }
}
