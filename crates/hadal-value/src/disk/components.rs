//! Equations of a file as those of RAM: read whole, in the order of their components.

use super::DiskError;
use super::equations::Equations;
use super::solve::reserve;
use crate::Precision;
use crate::components::{Edges, NONE, Tarjan};
use crate::optimistic;
use crate::problem::Problem;
use hadal_store::{Governor, Reservation};

/// At most so many nodes are solved in RAM where sweeps proved nothing.
const FEW: u64 = 1 << 14;

/// All equations, component by component.
pub(super) struct Components {
    pub problem: Problem,
    /// The nodes in this order, and where each of them is.
    pub order: Vec<u32>,
    pub place: Vec<u32>,
    pub _memory: Option<Reservation>,
}

impl Components {
    pub fn of(equations: &Equations, governor: Option<&Governor>) -> Result<Self, DiskError> {
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
        Ok(Components { problem, order, place, _memory })
    }
}

/// Bounds of the nodes of few equations, which sweeps of all values at once could not prove. They depend on the equations alone, so all
/// tiers have the same bits here as well. `None`: there are more.
pub(super) fn solved_at_once(
    equations: &Equations,
    precision: f64,
    governor: Option<&Governor>,
) -> Result<Option<Vec<(f64, f64)>>, DiskError> {
    if equations.nodes > FEW {
        return Ok(None);
    }
    let Components { problem, place, _memory, .. } = Components::of(equations, governor)?;
    let wanted = Precision { relative: precision, ..Precision::default() };
    let found = optimistic::solve(&problem, &equations.numbers, &wanted);
    let bounds = |&at: &u32| (found.lower[at as usize], found.upper[at as usize]);
    Ok(Some(place.iter().map(bounds).collect()))
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
    fn read(equations: &Equations) -> Result<Self, DiskError> {
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
