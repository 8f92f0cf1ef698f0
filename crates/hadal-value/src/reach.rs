//! Values of unbounded questions: probabilities of an until, rewards earned before a target, total rewards.

use crate::components::{NONE, end_components};
use crate::exact;
use crate::graph::{Graph, Reverse};
use crate::optimistic;
use crate::policy::Solved;
use crate::problem::{Known, Problem};
use crate::qualitative::{can_reach, certain};
use crate::values::{Exact, Values};
use crate::{Precision, SolveError};
use dashu_ratio::RBig;
use hadal_system::chance::Sense;

/// The probability of `through U target` in every state.
pub fn until(
    graph: &Graph,
    through: &[bool],
    target: &[bool],
    sense: Sense,
    precision: Precision,
) -> Result<Values, SolveError> {
    let reverse = Reverse::of(graph);
    let certain = certain(graph, &reverse, through, target, sense);
    let known: Vec<Known> = (0..graph.states())
        .map(|s| match (certain.zero[s], certain.one[s]) {
            (true, _) => Known::Zero,
            (_, true) => Known::One,
            _ => Known::Open,
        })
        .collect();
    drop(reverse);
    let groups = match sense {
        Sense::Greatest => {
            let open: Vec<bool> = known.iter().map(|k| *k == Known::Open).collect();
            end_components(graph, &open, |_| true).0
        }
        // Whoever could stay in an end component for ever would have probability 0.
        Sense::Least => Vec::new(),
    };
    let problem = Problem::new(graph, &known, &groups, sense, false);
    finish(graph, &problem, (&known, &groups, target), precision)
}

/// What is earned before a target is reached, in every state; infinite where it may never be.
pub fn earned_before(
    graph: &Graph,
    target: &[bool],
    sense: Sense,
    precision: Precision,
) -> Result<Values, SolveError> {
    let reverse = Reverse::of(graph);
    let anywhere = vec![true; graph.states()];
    let surely = certain(graph, &reverse, &anywhere, target, sense.opposite()).one;
    drop(reverse);
    let known: Vec<Known> = (0..graph.states())
        .map(|s| match (target[s], surely[s]) {
            (true, _) => Known::Zero,
            (_, false) => Known::Infinite,
            _ => Known::Open,
        })
        .collect();
    let groups = match sense {
        // Whoever stays where nothing is earned pays nothing, but never arrives: such places are one node.
        Sense::Least => {
            let open: Vec<bool> = known.iter().map(|k| *k == Known::Open).collect();
            end_components(graph, &open, |c| graph.reward_of(c) == 0).0
        }
        Sense::Greatest => Vec::new(),
    };
    let problem = Problem::new(graph, &known, &groups, sense, true);
    finish(graph, &problem, (&known, &groups, target), precision)
}

/// What is earned for ever, in every state.
pub fn earned_for_ever(graph: &Graph, sense: Sense, precision: Precision) -> Result<Values, SolveError> {
    let precision = Precision { policy: false, ..precision };
    let anywhere = vec![true; graph.states()];
    let free = end_components(graph, &anywhere, |c| graph.reward_of(c) == 0).0;
    if sense == Sense::Least {
        // Only whoever ends where nothing is earned earns a finite amount.
        let resting: Vec<bool> = free.iter().map(|&g| g != NONE).collect();
        return earned_before(graph, &resting, sense, precision);
    }
    let groups = end_components(graph, &anywhere, |_| true).0;
    let earning: Vec<bool> = (0..graph.states())
        .map(|s| {
            let stays = |c: usize| graph.targets_of(c).iter().all(|&t| groups[t as usize] == groups[s]);
            groups[s] != NONE && graph.choices_of(s).any(|c| graph.reward_of(c) != 0 && stays(c))
        })
        .collect();
    let mut endless = vec![false; graph.states()];
    let earning_groups: std::collections::HashSet<u32> =
        (0..graph.states()).filter(|&s| earning[s]).map(|s| groups[s]).collect();
    for state in 0..graph.states() {
        endless[state] = groups[state] != NONE && earning_groups.contains(&groups[state]);
    }
    let reverse = Reverse::of(graph);
    let infinite = can_reach(graph, &reverse, &anywhere, &endless);
    drop(reverse);
    // An end component that nothing leaves earns nothing more.
    let mut left = vec![false; graph.states()];
    for state in 0..graph.states() {
        let group = groups[state];
        let leaves = |c: usize| graph.targets_of(c).iter().any(|&t| groups[t as usize] != group);
        if group != NONE && graph.choices_of(state).any(leaves) {
            left[group as usize] = true;
        }
    }
    let known: Vec<Known> = (0..graph.states())
        .map(|s| match groups[s] {
            _ if infinite[s] => Known::Infinite,
            group if group != NONE && !left[group as usize] => Known::Zero,
            _ => Known::Open,
        })
        .collect();
    let problem = Problem::new(graph, &known, &groups, sense, true);
    finish(graph, &problem, (&known, &groups, &[]), precision)
}

/// Solves the equations and puts known values beside what they give.
fn finish(
    graph: &Graph,
    problem: &Problem,
    (known, groups, target): (&[Known], &[u32], &[bool]),
    precision: Precision,
) -> Result<Values, SolveError> {
    let bounds = optimistic::solve(problem, &graph.numbers, &precision);
    let exact = if precision.exact {
        Some(exact::solve(problem, &graph.numbers, &bounds, precision.room)?)
    } else {
        None
    };
    let n = graph.states();
    let mut values = Values {
        lower: Vec::with_capacity(n),
        upper: Vec::with_capacity(n),
        exact: None,
        sweeps: bounds.sweeps,
        policy: precision
            .policy
            .then(|| Solved { graph, problem, known, groups, bounds: &bounds, target }.policy()),
    };
    let mut exactly = Vec::new();
    for (state, &known) in known.iter().enumerate() {
        let (low, high, sharp) = match known {
            Known::Zero => (0.0, 0.0, Exact::Finite(RBig::ZERO)),
            Known::One => (1.0, 1.0, Exact::Finite(RBig::ONE)),
            Known::Infinite => (f64::INFINITY, f64::INFINITY, Exact::Infinite),
            Known::Open => {
                let node = problem.node_of[state] as usize;
                let sharp = match &exact {
                    Some(list) => Exact::Finite(list[node].clone()),
                    None => Exact::Infinite,
                };
                (bounds.lower[node], bounds.upper[node], sharp)
            }
        };
        values.lower.push(low);
        values.upper.push(high);
        if exact.is_some() {
            exactly.push(sharp);
        }
    }
    values.exact = exact.map(|_| exactly);
    Ok(values)
}
