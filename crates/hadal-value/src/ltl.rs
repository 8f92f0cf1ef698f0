//! Probabilities of formulas about whole runs: the product with a limit-deterministic automaton.
//!
//! A Büchi automaton for the formula is followed as the set of states it may be in. At any moment the choices may bet on
//! some of these states, inside one accepting component: from then on a *breakpoint* is a moment by which every run from
//! there has passed an accepting edge since the breakpoint before. A run with breakpoints without end is accepted, and where
//! acceptance is almost certain some bet wins almost surely, so the greatest probability of the formula is that of reaching
//! an end component with a breakpoint (Courcoubetis and Yannakakis 1995; Hahn et al. 2015 for sets instead of single states).

use crate::build::BuildError;
use crate::components::{NONE, end_components};
use crate::graph::Graph;
use crate::phase::{Follower, Phase};
use crate::reach;
use crate::values::{Exact, Values};
use crate::{Precision, SolveError};
use dashu_ratio::RBig;
use hadal_ltl::Ltl;
use hadal_system::chance::Sense;
use std::collections::HashMap;

/// The greatest probability of `formula` in every state. `letters` are the atoms that hold in each state; the product may
/// take `memory` bytes.
pub(crate) fn greatest(
    graph: &Graph,
    letters: &[u64],
    formula: &Ltl,
    (precision, memory): (Precision, Option<u64>),
) -> Result<Values, SolveError> {
    let mut product = Product::new(graph, letters, Follower::new(formula)?);
    product.explore(memory)?;
    let Product { graph: product, accepting, .. } = product;
    let everywhere = vec![true; product.states()];
    let (groups, count) = end_components(&product, &everywhere, |_| true);
    let mut wins = vec![false; count as usize];
    for (state, &group) in groups.iter().enumerate().filter(|(_, group)| **group != NONE) {
        wins[group as usize] |= accepting[state];
    }
    let target: Vec<bool> = groups.iter().map(|&group| group != NONE && wins[group as usize]).collect();
    let precision = Precision { policy: false, ..precision };
    let values = reach::until(&product, &everywhere, &target, Sense::Greatest, precision)?;
    // The first states of the product are those of the graph.
    let n = graph.states();
    let exact = values.exact.map(|list| list.into_iter().take(n).collect::<Vec<Exact>>());
    Ok(Values {
        lower: values.lower[..n].to_vec(),
        upper: values.upper[..n].to_vec(),
        exact,
        sweeps: values.sweeps,
        policy: None,
    })
}

/// Values where there is nothing to solve.
pub(crate) fn constant(states: usize, holds: bool, exact: bool) -> Values {
    let value = if holds { 1.0 } else { 0.0 };
    let fraction = if holds { RBig::ONE } else { RBig::ZERO };
    Values {
        lower: vec![value; states],
        upper: vec![value; states],
        exact: exact.then(|| vec![Exact::Finite(fraction); states]),
        sweeps: 0,
        policy: None,
    }
}

struct Product<'a> {
    of: &'a Graph,
    letters: &'a [u64],
    follower: Follower,
    numbers: HashMap<(u32, Phase), u32>,
    order: Vec<(u32, Phase)>,
    graph: Graph,
    /// Whether every way out of a state is a breakpoint.
    accepting: Vec<bool>,
}

impl<'a> Product<'a> {
    fn new(of: &'a Graph, letters: &'a [u64], follower: Follower) -> Self {
        let graph = Graph {
            first_choice: vec![0],
            first_branch: vec![0],
            numbers: of.numbers.clone(),
            ..Graph::default()
        };
        let mut product = Product {
            of,
            letters,
            follower,
            numbers: HashMap::new(),
            order: Vec::new(),
            graph,
            accepting: Vec::new(),
        };
        let first = product.follower.first();
        for state in 0..of.states() as u32 {
            product.number(state, first);
        }
        product
    }

    fn number(&mut self, state: u32, phase: Phase) -> u32 {
        // Where no run is left, it does not matter where the process is.
        let key = if phase == Phase::Lost { (0, Phase::Lost) } else { (state, phase) };
        let order = &mut self.order;
        *self.numbers.entry(key).or_insert_with(|| {
            order.push(key);
            order.len() as u32 - 1
        })
    }

    fn explore(&mut self, memory: Option<u64>) -> Result<(), SolveError> {
        let (mut at, mut next) = (0, Vec::new());
        while at < self.order.len() {
            let (state, phase) = self.order[at];
            let letter = self.letters[state as usize];
            let accepting = phase != Phase::Lost && self.follower.moves(phase, letter, &mut next)?;
            if phase == Phase::Lost {
                self.rest(at as u32);
            } else {
                next.iter().for_each(|&next| self.choices(state, next));
            }
            self.accepting.push(accepting);
            self.graph.first_choice.push(self.graph.choices() as u32);
            at += 1;
            let bytes = self.graph.bytes() + 64 * self.order.len() as u64;
            if let Some(limit) = memory.filter(|&limit| bytes > limit) {
                return Err(BuildError::Memory { limit, states: at as u64 }.into());
            }
            if self.graph.branches() >= NONE as usize {
                return Err(BuildError::TooLarge.into());
            }
        }
        Ok(())
    }

    /// Every choice of the process, with the automaton in `next` behind it.
    fn choices(&mut self, state: u32, next: Phase) {
        let of = self.of;
        for choice in of.choices_of(state as usize) {
            for branch in of.branches_of(choice) {
                let target = self.number(of.targets[branch], next);
                self.graph.targets.push(target);
                self.graph.weights.push(of.weights[branch]);
                if next == Phase::Lost {
                    // All branches lead to the one place: once is enough, with certainty.
                    let last = self.graph.weights.len() - 1;
                    self.graph.weights[last] = 1;
                    break;
                }
            }
            self.graph.first_branch.push(self.graph.targets.len() as u32);
        }
    }

    fn rest(&mut self, number: u32) {
        self.graph.targets.push(number);
        self.graph.weights.push(1);
        self.graph.first_branch.push(self.graph.targets.len() as u32);
    }
}
