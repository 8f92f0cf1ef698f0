//! Averages in the long run, between proved bounds.
//!
//! A run ends in an end component and stays there. What a step has on average inside one is bounded by value iteration: whatever
//! values `v` are, the best average lies between the least and the greatest change that one more sweep would make to them
//! (Odoni 1969; Puterman 1994, sec. 8.5). Steps are made lazy, so that nothing is periodic. Then every state of an end component
//! may end the run for the component's average, and the rest is a reward that is earned once (de Alfaro 1997).

use crate::components::{NONE, end_components};
use crate::graph::Graph;
use crate::numbers::Numbers;
use crate::values::Values;
use crate::{Precision, SolveError, reach};
use hadal_system::chance::Sense;
use hadal_system::rows::Rational;

/// Of so many steps, about one is a pause.
const PAUSE: f64 = 0.125;
/// Averages are written down as multiples of this part of 1.
const GRID: f64 = (1u64 << 60) as f64;
/// About so many branches are followed for one end component at most.
const WORK: f64 = 3e8;

/// What is averaged.
pub(crate) struct Average<'g> {
    pub graph: &'g Graph,
    /// By choice: what it earns, between two bounds.
    pub earned: Vec<(f64, f64)>,
    /// In continuous time: how often each state is left in a unit of time, or almost.
    pub rates: Option<Vec<f64>>,
    pub sense: Sense,
}

impl Average<'_> {
    /// The averages of all states.
    pub fn solve(&self, precision: Precision) -> Result<Values, SolveError> {
        let graph = self.graph;
        let everywhere = vec![true; graph.states()];
        let (groups, count) = end_components(graph, &everywhere, |_| true);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
        for (state, &group) in groups.iter().enumerate().filter(|(_, group)| **group != NONE) {
            members[group as usize].push(state as u32);
        }
        // Whoever can stay where nothing is earned has the least average, which no sweep would reach.
        let free = match self.sense {
            Sense::Least => end_components(graph, &everywhere, |choice| self.earned[choice].1 == 0.0).0,
            Sense::Greatest => Vec::new(),
        };
        let mut sweeps = 0;
        let mut averages = Vec::new();
        for states in &members {
            let idle = states.iter().any(|&s| free.get(s as usize).is_some_and(|group| *group != NONE));
            let (bounds, made) = match idle {
                true => ((0.0, 0.0), 0),
                false => self.component(states, &groups, precision.relative / 4.0),
            };
            averages.push(bounds);
            sweeps = sweeps.max(made);
        }
        let precision = Precision { exact: false, policy: false, certificate: false, ..precision };
        let lower = self.ending(&groups, averages.iter().map(|a| a.0), precision, false)?;
        let upper = match averages.iter().all(|a| a.0 == a.1) {
            true => lower.clone(),
            false => self.ending(&groups, averages.iter().map(|a| a.1), precision, true)?,
        };
        Ok(Values { upper: upper.upper, sweeps: sweeps.max(lower.sweeps), ..lower })
    }

    /// The average inside an end component, and how many sweeps that took.
    fn component(&self, states: &[u32], groups: &[u32], width: f64) -> ((f64, f64), u64) {
        let graph = self.graph;
        let group = groups[states[0] as usize];
        let stays = |choice: &usize| graph.targets_of(*choice).iter().all(|&t| groups[t as usize] == group);
        let inside: Vec<Vec<usize>> =
            states.iter().map(|&s| graph.choices_of(s as usize).filter(stays).collect()).collect();
        let mut earned = inside.iter().flatten().map(|&choice| self.earned[choice]);
        let first = earned.next().unwrap_or((0.0, 0.0));
        if earned.all(|other| other == first) {
            return (first, 0);
        }
        let branches: usize = inside.iter().flatten().map(|&c| graph.branches_of(c).len()).sum();
        let most = (WORK / branches as f64).max(1000.0) as u64;
        let fastest = self
            .rates
            .as_ref()
            .map_or(1.0, |rates| states.iter().map(|&s| rates[s as usize]).fold(0.0, f64::max));
        let mut values = vec![0.0; graph.states()];
        let mut next = vec![0.0; states.len()];
        let mut bounds = (0.0f64, f64::INFINITY);
        let mut sweeps = 0;
        while sweeps == 0 || sweeps < most && bounds.1 - bounds.0 > width * bounds.1 {
            let mut seen = (f64::INFINITY, f64::NEG_INFINITY);
            for (at, (&state, choices)) in states.iter().zip(&inside).enumerate() {
                let state = state as usize;
                let rate = self.rates.as_ref().map_or(1.0, |rates| rates[state]) / fastest;
                let (change, wrong) = self.change(state, choices, (1.0 - PAUSE) * rate, &values);
                seen = (seen.0.min(change - wrong), seen.1.max(change + wrong));
                next[at] = values[state] + change;
            }
            bounds = (bounds.0.max(seen.0), bounds.1.min(seen.1));
            // Only differences matter, and small numbers are sharp.
            let shift = next[0];
            for (&state, next) in states.iter().zip(&next) {
                values[state as usize] = next - shift;
            }
            sweeps += 1;
        }
        (bounds, sweeps)
    }

    /// What a sweep adds to a state, and by how much that may be wrong.
    fn change(&self, state: usize, choices: &[usize], moves: f64, values: &[f64]) -> (f64, f64) {
        let graph = self.graph;
        let (mut best, mut wrong) = (None, 0.0f64);
        for &choice in choices {
            let (low, high) = self.earned[choice];
            let branches = graph.branches_of(choice);
            let terms = branches.len() as f64 + 8.0;
            let (mut sum, mut size) = (-values[state], values[state].abs());
            for branch in branches {
                let weight = graph.numbers.below()[graph.weights[branch] as usize];
                let value = values[graph.targets[branch] as usize];
                sum += weight * value;
                size += weight * value.abs();
            }
            let change = low + moves * sum;
            // Weights are off by a few units in the last place; so is every sum and product.
            wrong = wrong.max(high - low + 16.0 * terms * f64::EPSILON * (high + size));
            best = Some(match (best, self.sense) {
                (None, _) => change,
                (Some(old), Sense::Least) => change.min(old),
                (Some(old), Sense::Greatest) => change.max(old),
            });
        }
        (best.unwrap_or(0.0), wrong)
    }

    /// What is earned where every state of an end component may end the run for its average.
    fn ending(
        &self,
        groups: &[u32],
        averages: impl Iterator<Item = f64>,
        precision: Precision,
        up: bool,
    ) -> Result<Values, SolveError> {
        let graph = self.graph;
        let mut numbers: Numbers = graph.numbers.clone();
        let mut earned = Vec::new();
        for average in averages {
            earned
                .push(numbers.add(on_grid(average, up).ok_or(SolveError::Time("an average is too large"))?));
        }
        let sink = graph.states() as u32;
        let mut ended = Graph { first_choice: vec![0], first_branch: vec![0], numbers, ..Graph::default() };
        let add = |ended: &mut Graph, target: u32, reward: u32| {
            ended.targets.push(target);
            ended.weights.push(1);
            ended.first_branch.push(ended.targets.len() as u32);
            ended.rewards.push(reward);
        };
        for (state, &group) in groups.iter().enumerate() {
            for choice in graph.choices_of(state) {
                ended.targets.extend(graph.targets_of(choice));
                ended.weights.extend(&graph.weights[graph.branches_of(choice)]);
                ended.first_branch.push(ended.targets.len() as u32);
                ended.rewards.push(0);
            }
            if group != NONE {
                add(&mut ended, sink, earned[group as usize]);
            }
            ended.first_choice.push(ended.first_branch.len() as u32 - 1);
        }
        add(&mut ended, sink, 0);
        ended.first_choice.push(ended.first_branch.len() as u32 - 1);
        ended.initial = graph.initial.clone();
        let mut values = match self.sense {
            Sense::Greatest => reach::earned_for_ever(&ended, self.sense, precision)?,
            Sense::Least => {
                let mut target = vec![false; ended.states()];
                target[sink as usize] = true;
                reach::earned_before(&ended, &target, self.sense, precision)?
            }
        };
        values.lower.truncate(graph.states());
        values.upper.truncate(graph.states());
        Ok(values)
    }
}

/// The nearest multiple of the grid below or above.
fn on_grid(value: f64, up: bool) -> Option<Rational> {
    let scaled = value.max(0.0) * GRID;
    let whole = if up { scaled.ceil() } else { scaled.floor() };
    (whole < 1e36).then(|| Rational::new(whole as i128, GRID as i128))
}
