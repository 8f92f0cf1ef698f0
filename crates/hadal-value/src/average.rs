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
        let rate = |state: usize| self.rates.as_ref().map_or(1.0, |rates| rates[state]);
        let mut tally = Tally::new(false);
        for (&state, choices) in states.iter().zip(&inside) {
            tally.meets(state as usize, rate(state as usize));
            choices.iter().for_each(|&c| tally.counts(graph.branches_of(c).len(), self.earned[c]));
        }
        let mut values = vec![0.0; graph.states()];
        let mut next = vec![0.0; states.len()];
        while tally.is_open(width) {
            for (at, (&state, choices)) in states.iter().zip(&inside).enumerate() {
                let state = state as usize;
                let moves = tally.moves(rate(state));
                let mut change = Change::new(self.sense);
                for &choice in choices {
                    let terms = graph.branches_of(choice).map(|branch| {
                        let weight = graph.numbers.below()[graph.weights[branch] as usize];
                        (weight, values[graph.targets[branch] as usize])
                    });
                    change.choice(self.earned[choice], moves, values[state], terms);
                }
                next[at] = values[state] + tally.sees(change);
            }
            tally.swept(next[0]);
            for (&state, next) in states.iter().zip(&next) {
                values[state as usize] = next - tally.shift();
            }
        }
        (tally.bounds(), tally.sweeps)
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

/// What a sweep does to a state, choice by choice.
pub(crate) struct Change {
    sense: Sense,
    best: Option<f64>,
    wrong: f64,
}

impl Change {
    pub fn new(sense: Sense) -> Self {
        Change { sense, best: None, wrong: 0.0 }
    }

    /// Takes a choice that earns so much, of a state that moves with this probability, with the weight and the value of each branch.
    #[inline]
    pub fn choice(
        &mut self,
        (low, high): (f64, f64),
        moves: f64,
        own: f64,
        branches: impl ExactSizeIterator<Item = (f64, f64)>,
    ) {
        let terms = branches.len() as f64 + 8.0;
        let (mut sum, mut size) = (-own, own.abs());
        for (weight, value) in branches {
            sum += weight * value;
            size += weight * value.abs();
        }
        let change = low + moves * sum;
        // Weights are off by a few units in the last place; so is every sum and product.
        self.wrong = self.wrong.max(high - low + 16.0 * terms * f64::EPSILON * (high + size));
        self.best = Some(match (self.best, self.sense) {
            (None, _) => change,
            (Some(old), Sense::Least) => change.min(old),
            (Some(old), Sense::Greatest) => change.max(old),
        });
    }
}

/// What is known of the average inside one end component.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    bounds: (f64, f64),
    /// The least and the greatest change of this sweep.
    seen: (f64, f64),
    /// What its choices earn, as long as that is the same, and whether it is not.
    earned: Option<(f64, f64)>,
    differs: bool,
    idle: bool,
    first: Option<usize>,
    branches: usize,
    fastest: f64,
    shift: f64,
    sweeps: u64,
}

const UNSEEN: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl Tally {
    /// Of one that was not looked at yet, or one where a run may stay and earn nothing.
    pub fn new(idle: bool) -> Self {
        Tally {
            bounds: if idle { (0.0, 0.0) } else { (0.0, f64::INFINITY) },
            seen: UNSEEN,
            earned: None,
            differs: false,
            idle,
            first: None,
            branches: 0,
            fastest: 0.0,
            shift: 0.0,
            sweeps: 0,
        }
    }

    /// Takes a member, which is left so often in a unit of time.
    pub fn meets(&mut self, state: usize, rate: f64) {
        self.first.get_or_insert(state);
        self.fastest = self.fastest.max(rate);
    }

    /// Takes a choice that stays, by its branches and what it earns.
    pub fn counts(&mut self, branches: usize, earned: (f64, f64)) {
        self.branches += branches;
        self.differs |= *self.earned.get_or_insert(earned) != earned;
    }

    /// Whether it has to be swept on.
    pub fn is_open(&self, width: f64) -> bool {
        let most = (WORK / self.branches as f64).max(1000.0) as u64;
        let wide = self.sweeps == 0 || self.bounds.1 - self.bounds.0 > width * self.bounds.1;
        self.differs && !self.idle && wide && self.sweeps < most
    }

    /// Between what the average lies.
    pub fn bounds(&self) -> (f64, f64) {
        match (self.idle, self.differs, self.earned) {
            (false, false, Some(earned)) => earned,
            _ => self.bounds,
        }
    }

    /// Goes on after so many sweeps.
    pub fn restore(&mut self, bounds: (f64, f64), sweeps: u64) {
        (self.bounds, self.sweeps) = (bounds, sweeps);
    }

    /// How likely a step of a member that is left so often is one of its own.
    #[inline]
    pub fn moves(&self, rate: f64) -> f64 {
        (1.0 - PAUSE) * (rate / self.fastest)
    }

    /// Takes the change of a member, and tells it.
    #[inline]
    pub fn sees(&mut self, change: Change) -> f64 {
        let by = change.best.unwrap_or(0.0);
        self.seen = (self.seen.0.min(by - change.wrong), self.seen.1.max(by + change.wrong));
        by
    }

    /// The first member.
    pub fn first(&self) -> usize {
        self.first.unwrap_or(0)
    }

    /// Ends a sweep after which the first member has this value.
    pub fn swept(&mut self, first: f64) {
        self.bounds = (self.bounds.0.max(self.seen.0), self.bounds.1.min(self.seen.1));
        self.seen = UNSEEN;
        // Only differences matter, and small numbers are sharp.
        self.shift = first;
        self.sweeps += 1;
    }

    /// What is taken from all values after a sweep.
    pub fn shift(&self) -> f64 {
        self.shift
    }
}

/// The nearest multiple of the grid below or above.
pub(crate) fn on_grid(value: f64, up: bool) -> Option<Rational> {
    let scaled = value.max(0.0) * GRID;
    let whole = if up { scaled.ceil() } else { scaled.floor() };
    (whole < 1e36).then(|| Rational::new(whole as i128, GRID as i128))
}
