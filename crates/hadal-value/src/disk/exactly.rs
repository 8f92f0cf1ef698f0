//! Exact values of a graph on disk: what graph search leaves open is read into RAM, where unknowns are eliminated component by
//! component. The graph need not fit; its equations and the fractions have to, and are counted.

use super::equations::{Equations, Start};
use super::solve::Found;
use super::sweep::Bounds;
use crate::components::{Edges, NONE, Tarjan};
use crate::optimistic;
use crate::problem::Problem;
use crate::values::Exact;
use crate::{SolveError, exact};
use dashu_ratio::RBig;
use hadal_store::Governor;

/// The exact values of the starts of some equations, whose bounds are known by node.
pub(super) fn exactly(
    equations: &Equations,
    bounds: &[Bounds],
    governor: Option<&Governor>,
    room: Option<u64>,
) -> Result<Vec<Exact>, SolveError> {
    let nodes = equations.nodes as usize;
    let (mut choices, mut branches) = (0u64, 0u64);
    equations.scan(|_, row| {
        choices += row.ends.len() as u64;
        branches += row.branches.len() as u64;
    })?;
    // Once in the order of nodes, once in that of components, with what finds these.
    let bytes = equations.nodes * (8 + 40 + 16) + 24 * choices + 16 * branches;
    let _memory = super::solve::reserve(1, bytes, governor)?;
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
    let told = |start: &Start| match start {
        Start::Node(node) => Exact::Finite(values[place[*node as usize] as usize].clone()),
        Start::Value(0.0) => Exact::Finite(RBig::ZERO),
        Start::Value(f64::INFINITY) => Exact::Infinite,
        Start::Value(_) => Exact::Finite(RBig::ONE),
    };
    Ok(equations.starts.iter().map(told).collect())
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

/// What was found, with exact values beside it.
pub(super) struct Exactly {
    pub found: Found,
    pub exact: Vec<Exact>,
}
