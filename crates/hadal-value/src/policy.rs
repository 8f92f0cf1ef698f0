//! Policies: one choice per state that attains the values up to the precision, and the chain that is left under it.

use crate::components::NONE;
use crate::graph::{Graph, Reverse};
use crate::numbers::Numbers;
use crate::optimistic::Bounds;
use crate::problem::{Known, Problem};
use hadal_system::chance::Sense;

/// What a policy is read from.
pub(crate) struct Solved<'a> {
    pub graph: &'a Graph,
    pub problem: &'a Problem,
    pub known: &'a [Known],
    /// The end component of each state that was collapsed.
    pub groups: &'a [u32],
    pub bounds: &'a Bounds,
    /// The states that are to be reached.
    pub target: &'a [bool],
}

impl Solved<'_> {
    /// One choice of the graph per state.
    pub fn policy(&self) -> Vec<u32> {
        let graph = self.graph;
        let mut policy: Vec<u32> = graph.first_choice[..graph.states()].to_vec();
        let mut placed = vec![false; graph.states()];
        for node in 0..self.problem.nodes() {
            if let Some(choice) = best(self.problem, &graph.numbers, self.bounds, node) {
                let choice = self.problem.origin[choice];
                let state = graph.first_choice.partition_point(|&first| first <= choice) - 1;
                policy[state] = choice;
                placed[state] = true;
            }
        }
        let reverse = Reverse::of(graph);
        // Members of a collapsed end component go to the one that leaves it, without leaving before.
        let group = |state: u32| self.groups.get(state as usize).copied().unwrap_or(NONE);
        let starts: Vec<u32> =
            (0..graph.states() as u32).filter(|&s| placed[s as usize] && group(s) != NONE).collect();
        let inside = |from: u32, choice: usize| {
            group(from) != NONE
                && (self.problem.rewards.is_empty() || graph.reward_of(choice) == 0)
                && graph.targets_of(choice).iter().all(|&t| group(t) == group(from))
        };
        approach(&reverse, starts, inside, &mut placed, &mut policy);
        // Where the target is certain, every choice must keep it so and may come nearer.
        let sure = |state: u32| self.known[state as usize] == Known::One || self.target[state as usize];
        let starts: Vec<u32> = (0..graph.states() as u32).filter(|&s| self.target[s as usize]).collect();
        starts.iter().for_each(|&s| placed[s as usize] = true);
        let stays =
            |from: u32, choice: usize| sure(from) && graph.targets_of(choice).iter().all(|&t| sure(t));
        approach(&reverse, starts, stays, &mut placed, &mut policy);
        if self.problem.sense == Sense::Least {
            // Where the target can be avoided, it is.
            let avoids = |state: usize| self.known[state] == Known::Zero && !self.target[state];
            for state in (0..graph.states()).filter(|&s| avoids(s)) {
                let stays = |c: &usize| graph.targets_of(*c).iter().all(|&t| avoids(t as usize));
                if let Some(choice) = graph.choices_of(state).find(stays) {
                    policy[state] = choice as u32;
                }
            }
        }
        policy
    }
}

/// The choice of a node that looks best under the lower bounds.
fn best(problem: &Problem, numbers: &Numbers, bounds: &Bounds, node: usize) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for choice in problem.choices_of(node) {
        let mut sum = numbers.below()[problem.reward_of(choice) as usize];
        for branch in problem.branches_of(choice) {
            let target = problem.targets[branch] as usize;
            sum += numbers.below()[problem.weights[branch] as usize] * bounds.lower[target];
        }
        let better = match (best, problem.sense) {
            (None, _) => true,
            (Some((old, _)), Sense::Least) => sum < old,
            (Some((old, _)), Sense::Greatest) => sum > old,
        };
        if better {
            best = Some((sum, choice));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Gives states that are not placed an allowed choice with a branch to one that is, from `open` outward.
fn approach(
    reverse: &Reverse,
    mut open: Vec<u32>,
    allowed: impl Fn(u32, usize) -> bool,
    placed: &mut [bool],
    policy: &mut [u32],
) {
    let mut at = 0;
    while at < open.len() {
        for &choice in reverse.leading_to(open[at] as usize) {
            let from = reverse.state_of[choice as usize];
            if !placed[from as usize] && allowed(from, choice as usize) {
                placed[from as usize] = true;
                policy[from as usize] = choice;
                open.push(from);
            }
        }
        at += 1;
    }
}

/// The chain under a policy, over the states that it reaches from the initial ones; and which state each of its states is.
pub fn induced(graph: &Graph, policy: &[u32]) -> (Graph, Vec<u32>) {
    let mut number = vec![NONE; graph.states()];
    let mut states: Vec<u32> = Vec::new();
    let mut chain = Graph {
        first_choice: vec![0],
        first_branch: vec![0],
        numbers: graph.numbers.clone(),
        ..Graph::default()
    };
    for &start in &graph.initial {
        number[start as usize] = states.len() as u32;
        chain.initial.push(states.len() as u32);
        states.push(start);
    }
    let mut at = 0;
    while at < states.len() {
        let choice = policy[states[at] as usize] as usize;
        for branch in graph.branches_of(choice) {
            let target = graph.targets[branch] as usize;
            if number[target] == NONE {
                number[target] = states.len() as u32;
                states.push(target as u32);
            }
            chain.targets.push(number[target]);
            chain.weights.push(graph.weights[branch]);
        }
        if !graph.rewards.is_empty() {
            chain.rewards.push(graph.reward_of(choice));
        }
        chain.first_branch.push(chain.targets.len() as u32);
        chain.first_choice.push(chain.first_branch.len() as u32 - 1);
        at += 1;
    }
    (chain, states)
}
