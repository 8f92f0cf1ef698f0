//! Values of bounded questions: so many sweeps as there are steps, rounded outward.

use crate::graph::Graph;
use crate::optimistic::{lowered, raised};
use crate::values::{Exact, Values};
use dashu_ratio::RBig;
use hadal_system::chance::Sense;
use std::collections::HashMap;

/// What a sweep does in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The value stays 0.
    Zero,
    /// The value stays 1.
    One,
    /// The best choice gives the value.
    Best,
}

/// What is swept.
#[derive(Debug)]
pub struct Sweep<'a> {
    /// Over which graph.
    pub graph: &'a Graph,
    /// Whether choices make values small or large.
    pub sense: Sense,
    /// Whether rewards are added.
    pub rewards: bool,
}

impl Sweep<'_> {
    /// The values after `steps` more steps.
    pub fn run(&self, from: Values, steps: u64, rule: impl Fn(usize) -> Rule) -> Values {
        let n = self.graph.states();
        // Under a bound the best choice depends on what is left of it: there is no policy of states alone.
        let mut values = Values { policy: None, ..from };
        let (mut low, mut high) = (vec![0.0; n], vec![0.0; n]);
        for _ in 0..steps {
            let mut changed = false;
            for state in 0..n {
                (low[state], high[state]) = match rule(state) {
                    Rule::Zero => (0.0, 0.0),
                    Rule::One => (1.0, 1.0),
                    Rule::Best => self.best(state, &values),
                };
                changed |= low[state] != values.lower[state] || high[state] != values.upper[state];
            }
            if let Some(exact) = &values.exact {
                let next: Vec<Exact> = (0..n)
                    .map(|state| match rule(state) {
                        Rule::Zero => Exact::Finite(RBig::ZERO),
                        Rule::One => Exact::Finite(RBig::ONE),
                        Rule::Best => self.best_exactly(state, exact),
                    })
                    .collect();
                changed |= next != *exact;
                values.exact = Some(next);
            }
            std::mem::swap(&mut values.lower, &mut low);
            std::mem::swap(&mut values.upper, &mut high);
            values.sweeps += 1;
            if !changed {
                break;
            }
        }
        values
    }

    fn best(&self, state: usize, values: &Values) -> (f64, f64) {
        let (graph, numbers) = (self.graph, &self.graph.numbers);
        let mut best: Option<(f64, f64)> = None;
        for choice in graph.choices_of(state) {
            let reward = if self.rewards { graph.reward_of(choice) as usize } else { 0 };
            let (mut low, mut high) = (numbers.below()[reward], numbers.above()[reward]);
            let branches = graph.branches_of(choice);
            let count = branches.len();
            if count == 1 && reward == 0 && graph.weights[branches.start] == 1 {
                let target = graph.targets[branches.start] as usize;
                (low, high) = (values.lower[target], values.upper[target]);
            } else {
                for branch in branches {
                    let (weight, target) = (graph.weights[branch] as usize, graph.targets[branch] as usize);
                    low += numbers.below()[weight] * values.lower[target];
                    high += numbers.above()[weight] * values.upper[target];
                }
                (low, high) = (lowered(low, count), raised(high, count));
            }
            best = Some(match (best, self.sense) {
                (None, _) => (low, high),
                (Some(b), Sense::Least) => (b.0.min(low), b.1.min(high)),
                (Some(b), Sense::Greatest) => (b.0.max(low), b.1.max(high)),
            });
        }
        best.unwrap_or((0.0, 0.0))
    }

    fn best_exactly(&self, state: usize, values: &[Exact]) -> Exact {
        let graph = self.graph;
        let mut best: Option<RBig> = None;
        for choice in graph.choices_of(state) {
            let mut sum = RBig::ZERO;
            if self.rewards {
                sum += fraction(graph, graph.reward_of(choice));
            }
            for branch in graph.branches_of(choice) {
                match &values[graph.targets[branch] as usize] {
                    Exact::Finite(value) => sum += fraction(graph, graph.weights[branch]) * value,
                    Exact::Infinite => return Exact::Infinite,
                }
            }
            best = Some(match (best, self.sense) {
                (Some(old), Sense::Least) if old <= sum => old,
                (Some(old), Sense::Greatest) if old >= sum => old,
                _ => sum,
            });
        }
        Exact::Finite(best.unwrap_or(RBig::ZERO))
    }
}

fn fraction(graph: &Graph, number: u32) -> RBig {
    crate::exact::fraction(&graph.numbers.exact(number))
}

/// Every state has its value between `low` and `high`, or exactly one of 0 and 1.
pub fn indicator(states: &[bool], exact: bool) -> Values {
    let value = |s: &bool| f64::from(u8::from(*s));
    let sharp = |s: &bool| Exact::Finite(if *s { RBig::ONE } else { RBig::ZERO });
    Values {
        lower: states.iter().map(value).collect(),
        upper: states.iter().map(value).collect(),
        exact: exact.then(|| states.iter().map(sharp).collect()),
        sweeps: 0,
        policy: None,
    }
}

/// The graph with the reward left to spend beside each state, from `starts` with `budget` on. Answers with the graph, the
/// state behind each of its states, and the last of them, which stands for "too much was earned".
pub fn unfold(graph: &Graph, starts: &[u32], budget: u64) -> Option<(Graph, Vec<u32>)> {
    let mut states: Vec<(u32, u64)> = Vec::new();
    let mut known: HashMap<(u32, u64), u32> = HashMap::new();
    let mut number = |at: (u32, u64), states: &mut Vec<(u32, u64)>| -> Option<u32> {
        if let Some(&n) = known.get(&at) {
            return Some(n);
        }
        let n = u32::try_from(states.len()).ok()?;
        states.push(at);
        known.insert(at, n);
        Some(n)
    };
    let mut out = Graph {
        first_choice: vec![0],
        first_branch: vec![0],
        numbers: graph.numbers.clone(),
        ..Graph::default()
    };
    for &start in starts {
        out.initial.push(number((start, budget), &mut states)?);
    }
    const SPENT: u32 = u32::MAX;
    let mut at = 0;
    while at < states.len() {
        let (state, left) = states[at];
        if state == SPENT {
            out.targets.push(at as u32);
            out.weights.push(1);
            out.first_branch.push(out.targets.len() as u32);
        } else {
            for choice in graph.choices_of(state as usize) {
                let reward = graph.numbers.exact(graph.reward_of(choice));
                if !reward.is_integer() {
                    return None;
                }
                let spent = u64::try_from(reward.to_integer()).ok()?;
                for branch in graph.branches_of(choice) {
                    let next = match left.checked_sub(spent) {
                        Some(rest) => (graph.targets[branch], rest),
                        None => (SPENT, 0),
                    };
                    out.targets.push(number(next, &mut states)?);
                    out.weights.push(graph.weights[branch]);
                }
                out.first_branch.push(out.targets.len() as u32);
            }
        }
        out.first_choice.push(out.first_branch.len() as u32 - 1);
        at += 1;
    }
    Some((out, states.iter().map(|s| s.0).collect()))
}
