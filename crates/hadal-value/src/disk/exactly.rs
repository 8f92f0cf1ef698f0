//! Exact values of a graph on disk: what graph search leaves open is read into RAM, where unknowns are eliminated component by
//! component. The graph need not fit; its equations and the fractions have to, and are counted.

use super::equations::{Equations, Settled, number};
use super::everywhere::{EVERYWHERE, certain};
use super::journal::Journal;
use super::rows::Rows;
use super::solve::{How, Question, Settling, Tier, governor, iterate, recall, reserve, settle, write_down};
use super::stages::Stages;
use super::sweep::Bounds;
use crate::components::{Edges, NONE, Tarjan};
use crate::optimistic;
use crate::problem::{Known, Problem};
use crate::values::Exact;
use crate::{SolveError, exact};
use dashu_ratio::RBig;
use hadal_store::{Governor, Reservation};

/// Exact values of all states, with bounds beside them.
pub(super) struct Exactly {
    known: Vec<Known>,
    /// By state, as equations are numbered before they are in stages.
    node_of: Vec<u32>,
    stages: Stages,
    /// By node.
    bounds: Vec<Bounds>,
    /// By node: where its value is.
    place: Vec<u32>,
    values: Vec<RBig>,
    /// Sweeps over the equations.
    pub sweeps: u64,
    /// Where values were kept while bounds were found.
    pub tier: Tier,
    _memory: [Option<Reservation>; 2],
}

impl Exactly {
    /// Bounds of a state, and its value.
    pub fn of(&self, state: usize) -> (Bounds, Exact) {
        if let Some(bounds) = certain(self.known[state]) {
            let value = match self.known[state] {
                Known::Zero => Exact::Finite(RBig::ZERO),
                Known::Infinite => Exact::Infinite,
                Known::One | Known::Open => Exact::Finite(RBig::ONE),
            };
            return (bounds, value);
        }
        let node = self.stages.renumbered(u64::from(self.node_of[state])) as usize;
        (self.bounds[node], Exact::Finite(self.values[self.place[node] as usize].clone()))
    }
}

/// Answers a question about `rows` with exact values: bounds of all unknowns are in RAM, which are eliminated there.
pub(super) fn solve_exactly<R: Rows>(
    rows: &R,
    initial: &[u64],
    question: Question,
    (how, room): (How, Option<u64>),
    mut journal: Option<&mut Journal>,
) -> Result<Exactly, SolveError> {
    let settling = settle(rows, question, how.sense, journal.as_deref().map(governor))?;
    let of_states = reserve(rows.states(), EVERYWHERE, journal.as_deref().map(governor))?;
    let (equations, stages) = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => write_down(rows, &settling, initial, how.sense, journal.as_deref_mut())?,
    };
    let Settling { known, groups, .. } = settling;
    let (node_of, _) = number(&Settled { known: &known, groups: &groups, initial: &[] });
    drop(groups);
    let of_nodes = reserve(equations.nodes, 16, journal.as_deref().map(governor))?;
    let mut bounds = vec![(0.0, equations.most()); equations.nodes as usize];
    let keep = |node: u64, found: Bounds| {
        if let Some(bounds) = bounds.get_mut(node as usize) {
            *bounds = found;
        }
    };
    let (sweeps, tier) =
        iterate((&equations, &stages), how, equations.nodes > 0, journal.as_deref_mut(), keep)?;
    let (place, values) = exactly(&equations, &bounds, journal.as_deref().map(governor), room)?;
    let _memory = [of_states, of_nodes];
    Ok(Exactly { known, node_of, stages, bounds, place, values, sweeps, tier, _memory })
}

/// The exact values of some equations, whose bounds are known by node: where the value of each node is, and the values.
fn exactly(
    equations: &Equations,
    bounds: &[Bounds],
    governor: Option<&Governor>,
    room: Option<u64>,
) -> Result<(Vec<u32>, Vec<RBig>), SolveError> {
    let nodes = equations.nodes as usize;
    let (mut choices, mut branches) = (0u64, 0u64);
    equations.scan(|_, row| {
        choices += row.ends.len() as u64;
        branches += row.branches.len() as u64;
    })?;
    // Once in the order of nodes, once in that of components, with what finds these.
    let bytes = equations.nodes * (8 + 40 + 16) + 24 * choices + 16 * branches;
    let _memory = reserve(1, bytes, governor)?;
    let by_node = Listed::read(equations)?;
    let (order, components) = Tarjan::new(nodes).run(&by_node, 0..nodes as u32);
    let mut place = vec![NONE; nodes];
    order.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
    let mut problem = Problem {
        sense: equations.sense,
        first_choice: vec![0],
        first_branch: vec![0],
        targets: Vec::with_capacity(branches as usize),
        weights: Vec::with_capacity(branches as usize),
        rewards: Vec::with_capacity(choices as usize),
        origin: Vec::new(),
        node_of: Vec::new(),
        components,
    };
    for &node in &order {
        let list = &by_node.choices;
        for choice in by_node.first[node as usize]..by_node.first[node as usize + 1] {
            let begin = if choice == 0 { 0 } else { list[choice as usize - 1].0 };
            for &(to, weight) in &by_node.branches[begin as usize..list[choice as usize].0 as usize] {
                let target = match to {
                    to if (to as usize) < nodes => place[to as usize],
                    to if to as usize == nodes => continue,
                    _ => nodes as u32,
                };
                problem.targets.push(target);
                problem.weights.push(weight);
            }
            problem.first_branch.push(problem.targets.len() as u32);
            problem.rewards.push(list[choice as usize].1);
        }
        problem.first_choice.push(problem.rewards.len() as u32);
    }
    drop(by_node);
    let lower: Vec<f64> = order.iter().map(|&node| bounds[node as usize].0).chain([1.0]).collect();
    let bounds = optimistic::Bounds { lower, upper: Vec::new(), sweeps: 0 };
    let values = exact::solve(&problem, &equations.numbers, &bounds, room)?;
    Ok((place, values))
}

/// Equations in the order of nodes.
struct Listed {
    /// Where the choices of each node begin, and the end.
    first: Vec<u32>,
    /// Where each choice ends among the branches, and what it earns.
    choices: Vec<(u32, u32)>,
    branches: Vec<(u32, u32)>,
    nodes: u32,
}

impl Listed {
    fn read(equations: &Equations) -> Result<Self, SolveError> {
        let nodes = equations.nodes as u32;
        let mut this = Listed { first: vec![0], choices: Vec::new(), branches: Vec::new(), nodes };
        equations.scan(|_, row| {
            for (branches, reward) in row.choices() {
                this.branches.extend(branches.iter().map(|&(to, weight)| (to as u32, weight)));
                this.choices.push((this.branches.len() as u32, reward));
            }
            this.first.push(this.choices.len() as u32);
        })?;
        Ok(this)
    }
}

impl Edges for Listed {
    /// The cursor counts the branches of a node, over all its choices.
    fn next(&self, node: usize, (_, mut at): (u32, u32)) -> Option<(u32, (u32, u32))> {
        let branch_of = |choice: u32| if choice == 0 { 0 } else { self.choices[choice as usize - 1].0 };
        let (begin, end) = (branch_of(self.first[node]), branch_of(self.first[node + 1]));
        while begin + at < end {
            let to = self.branches[(begin + at) as usize].0;
            at += 1;
            if to < self.nodes {
                return Some((to, (0, at)));
            }
        }
        None
    }
}
