//! The causal graph: which parts of the state depend on which (Wehrle 2011, sec. 5.2).
//!
//! There is an arc from `u` to `v` when some action instance reads or writes `u` and may write `v`. Arcs that only
//! come from writing both are marked: the cone of influence does not need them, decomposition does.

use std::collections::BTreeMap;

use super::{Facts, SlotSet};
use crate::system::{ProcessId, System, VarId};

/// What a node of a causal graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// One scalar.
    Slot(u32),
    /// A whole variable.
    Variable(VarId),
    /// A process: its location and the variables it owns.
    Process(ProcessId),
}

/// An arc's weight and reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arc {
    /// How many action instances (those not told apart count once) read the first and may write the second.
    pub reads: u32,
    /// How many touch the first in any way and may write the second.
    pub weight: u32,
}

/// Dependencies between parts of the state.
#[derive(Clone, Debug)]
pub struct CausalGraph {
    nodes: Vec<Node>,
    node_of: Vec<u32>,
    arcs: BTreeMap<(u32, u32), Arc>,
}

impl CausalGraph {
    /// The graph over scalars. Its size is the square of the number of slots at worst.
    pub fn over_slots(facts: &Facts) -> Self {
        Self::over(facts, (0..facts.slots).map(Node::Slot).collect(), (0..facts.slots).collect())
    }

    /// The graph over variables.
    pub fn over_variables(system: &System, facts: &Facts) -> Self {
        let nodes: Vec<Node> = (0..system.variables.len() as u32).map(|v| Node::Variable(VarId(v))).collect();
        Self::over(facts, nodes, spread(system, |var| var))
    }

    /// The graph over processes, with a node of its own for every variable that belongs to none.
    pub fn over_processes(system: &System, facts: &Facts) -> Self {
        let mut nodes: Vec<Node> =
            (0..system.processes.len() as u32).map(|p| Node::Process(ProcessId(p))).collect();
        let mut of_variable: Vec<Option<u32>> =
            system.variables.iter().map(|v| v.owner.map(|p| p.0)).collect();
        for (n, process) in system.processes.iter().enumerate() {
            of_variable[process.location.0 as usize] = Some(n as u32);
        }
        let of_variable: Vec<u32> = (of_variable.into_iter().enumerate())
            .map(|(var, owner)| {
                owner.unwrap_or_else(|| {
                    nodes.push(Node::Variable(VarId(var as u32)));
                    nodes.len() as u32 - 1
                })
            })
            .collect();
        Self::over(facts, nodes, spread(system, |var| of_variable[var as usize]))
    }

    fn over(facts: &Facts, nodes: Vec<Node>, node_of: Vec<u32>) -> Self {
        let mut arcs: BTreeMap<(u32, u32), Arc> = BTreeMap::new();
        // Footprints with the same nodes are counted together.
        let mut counted: BTreeMap<(Vec<u32>, Vec<u32>), u32> = BTreeMap::new();
        for (_, _, print) in facts.footprints().filter(|(_, _, f)| f.can_fire) {
            let key = (covering(&node_of, &print.reads), covering(&node_of, &print.may_write));
            *counted.entry(key).or_default() += 1;
        }
        for ((reads, writes), count) in counted {
            let mut touched: Vec<u32> = reads.iter().chain(&writes).copied().collect();
            touched.sort_unstable();
            touched.dedup();
            for &to in &writes {
                for &from in touched.iter().filter(|&&from| from != to) {
                    let arc = arcs.entry((from, to)).or_default();
                    arc.weight += count;
                    arc.reads += if reads.binary_search(&from).is_ok() { count } else { 0 };
                }
            }
        }
        CausalGraph { nodes, node_of, arcs }
    }

    /// What the nodes stand for.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of a slot.
    pub fn node_of(&self, slot: u32) -> u32 {
        self.node_of[slot as usize]
    }

    /// The arcs, ordered by their ends.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32, Arc)> + '_ {
        self.arcs.iter().map(|(&(from, to), &arc)| (from, to, arc))
    }

    /// The arc between two nodes.
    pub fn arc(&self, from: u32, to: u32) -> Option<Arc> {
        self.arcs.get(&(from, to)).copied()
    }

    /// The nodes without an arc into them.
    pub fn independent(&self) -> Vec<u32> {
        let mut entered = vec![false; self.nodes.len()];
        self.arcs.keys().for_each(|&(_, to)| entered[to as usize] = true);
        (0..self.nodes.len() as u32).filter(|&n| !entered[n as usize]).collect()
    }

    /// The cone of influence: the nodes of these slots and all that can influence them, ascending.
    pub fn cone(&self, slots: &SlotSet) -> Vec<u32> {
        let mut predecessors = vec![Vec::new(); self.nodes.len()];
        for (&(from, to), arc) in &self.arcs {
            if arc.reads > 0 {
                predecessors[to as usize].push(from);
            }
        }
        let mut inside = vec![false; self.nodes.len()];
        let mut open = covering(&self.node_of, slots);
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut inside[node as usize], true) {
                open.extend(&predecessors[node as usize]);
            }
        }
        (0..self.nodes.len() as u32).filter(|&n| inside[n as usize]).collect()
    }

    /// The weakly connected component of every node, numbered from 0 by first node.
    pub fn components(&self) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..self.nodes.len() as u32).collect();
        for &(from, to) in self.arcs.keys() {
            let (a, b) = (root(&mut parent, from), root(&mut parent, to));
            parent[a.max(b) as usize] = a.min(b);
        }
        let mut numbers = BTreeMap::new();
        (0..self.nodes.len() as u32)
            .map(|node| {
                let next = numbers.len() as u32;
                *numbers.entry(root(&mut parent, node)).or_insert(next)
            })
            .collect()
    }
}

fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        parent[node as usize] = parent[parent[node as usize] as usize];
        node = parent[node as usize];
    }
    node
}

/// The nodes of a set of slots, ascending.
fn covering(node_of: &[u32], slots: &SlotSet) -> Vec<u32> {
    let mut nodes = Vec::new();
    for slot in slots.iter() {
        let node = node_of[slot as usize];
        if nodes.last() != Some(&node) {
            nodes.push(node);
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The node of every slot, given that of every variable.
fn spread(system: &System, node: impl Fn(u32) -> u32) -> Vec<u32> {
    let variables = system.variables.iter().enumerate();
    variables.flat_map(|(n, v)| std::iter::repeat_n(node(n as u32), system.shapes.slots(v.shape))).collect()
}
