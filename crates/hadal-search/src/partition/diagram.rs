//! The compositional partitioning diagram (Evangelista and Kristensen 2011, sec. 4): inner nodes branch on the state,
//! leaves are partitions, and refining one leaf leaves all others as they are.

use super::component::{Bits, Component, hashed};
use hadal_system::state::{get_bits, hash};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How an inner node looks at a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Branch {
    /// By the value of a component, or its hash where it has many.
    Component(usize),
    /// By a hash of a component, of all of the state where there is none.
    Hash {
        /// Which component.
        of: Option<usize>,
        /// Makes hashes at different depths independent.
        salt: u64,
        /// Into how many.
        ways: usize,
    },
    /// By whether the hash of a component reaches a bound: half of its classes go to each side.
    Classes {
        /// Which component.
        of: usize,
        /// The least hash of the upper half.
        from: u64,
    },
    /// By one bit: tells any two states apart when nothing else does.
    Bit(u32),
}

/// The class of a state under a component, for [`Branch::Classes`].
pub(super) fn class(component: &Component, state: &[u64]) -> u64 {
    hash(&[component.value(state)])
}

impl Branch {
    /// Into how many it splits.
    pub(super) fn ways(self, components: &[Component]) -> usize {
        match self {
            Branch::Component(n) => components[n].ways(),
            Branch::Hash { ways, .. } => ways,
            Branch::Classes { .. } | Branch::Bit(_) => 2,
        }
    }

    /// Where a state goes.
    pub(super) fn way(self, components: &[Component], state: &[u64]) -> usize {
        match self {
            Branch::Component(n) => components[n].branch(state),
            Branch::Hash { of, salt, ways } => {
                let value = of.map_or_else(|| hash(state), |n| components[n].value(state));
                (hash(&[value, salt]) % ways as u64) as usize
            }
            Branch::Classes { of, from } => usize::from(class(&components[of], state) >= from),
            Branch::Bit(offset) => get_bits(state, offset, 1) as usize,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Node {
    Leaf(u32),
    Inner { branch: Branch, first_child: u32 },
}

/// A node as the way down meets it: most look at a few bits of one word, and need no component for it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Leaf(u32),
    /// The child of the value of these bits.
    Value(Bits, u32),
    /// The child of its hash.
    Hashed(Bits, u32),
    /// The child that the branch says.
    Branch(Branch, u32),
}

impl Step {
    fn of(node: &Node, components: &[Component]) -> Self {
        match *node {
            Node::Leaf(partition) => Step::Leaf(partition),
            Node::Inner { branch: Branch::Component(n), first_child } => match components[n].bits() {
                Some((bits, true)) => Step::Value(bits, first_child),
                Some((bits, false)) => Step::Hashed(bits, first_child),
                None => Step::Branch(Branch::Component(n), first_child),
            },
            Node::Inner { branch, first_child } => Step::Branch(branch, first_child),
        }
    }
}

/// Maps states to partitions, which are numbered in the order in which they were made. A refined one is no more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Diagram {
    nodes: Vec<Node>,
    parents: Vec<u32>,
    /// The node of each partition.
    leaves: Vec<u32>,
    /// The nodes as [`Diagram::partition`] meets them.
    #[serde(skip)]
    steps: Vec<Step>,
}

impl Diagram {
    /// One partition for everything.
    pub(super) fn new() -> Self {
        Diagram { nodes: vec![Node::Leaf(0)], parents: vec![0], leaves: vec![0], steps: vec![Step::Leaf(0)] }
    }

    /// This diagram as it was read from a file, ready to be asked.
    pub(super) fn prepared(mut self, components: &[Component]) -> Self {
        self.steps = self.nodes.iter().map(|node| Step::of(node, components)).collect();
        self
    }

    /// How many partitions were ever made.
    pub(super) fn partitions(&self) -> usize {
        self.leaves.len()
    }

    /// The partition of a state.
    pub(super) fn partition(&self, components: &[Component], state: &[u64]) -> u32 {
        let mut at = 0;
        loop {
            at = match self.steps[at] {
                Step::Leaf(partition) => return partition,
                Step::Value(bits, first_child) => first_child as usize + bits.of(state) as usize,
                Step::Hashed(bits, first_child) => first_child as usize + hashed(bits.of(state)),
                Step::Branch(branch, first_child) => first_child as usize + branch.way(components, state),
            }
        }
    }

    /// Replaces a partition by one per way of `branch`.
    pub(super) fn refine(&mut self, partition: u32, branch: Branch, components: &[Component]) -> Range<u32> {
        let node = self.leaves[partition as usize];
        let first_child = self.nodes.len() as u32;
        let first = self.leaves.len() as u32;
        for way in 0..branch.ways(components) as u32 {
            self.nodes.push(Node::Leaf(first + way));
            self.steps.push(Step::Leaf(first + way));
            self.parents.push(node);
            self.leaves.push(first_child + way);
        }
        self.nodes[node as usize] = Node::Inner { branch, first_child };
        self.steps[node as usize] = Step::of(&self.nodes[node as usize], components);
        first..self.leaves.len() as u32
    }

    /// The branches on the way to a partition, the nearest first.
    pub(super) fn path(&self, partition: u32) -> impl Iterator<Item = Branch> + '_ {
        let mut at = self.leaves[partition as usize];
        std::iter::from_fn(move || {
            if at == 0 {
                return None;
            }
            at = self.parents[at as usize];
            match self.nodes[at as usize] {
                Node::Inner { branch, .. } => Some(branch),
                Node::Leaf(_) => None,
            }
        })
    }

    /// The most branches on the way to a partition.
    pub(super) fn depth(&self) -> usize {
        (0..self.leaves.len() as u32).map(|leaf| self.path(leaf).count()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refining_one_partition_moves_no_state_of_another() {
        let mut diagram = Diagram::new();
        let states: Vec<[u64; 1]> = (0..500).map(|n| [n * 7]).collect();
        diagram.refine(0, Branch::Hash { of: None, salt: 0, ways: 20 }, &[]);
        let before: Vec<u32> = states.iter().map(|s| diagram.partition(&[], s)).collect();
        let new = diagram.refine(3, Branch::Bit(1), &[]);
        for (state, before) in states.iter().zip(before) {
            let after = diagram.partition(&[], state);
            assert!(if before == 3 { new.contains(&after) } else { after == before });
        }
        assert_eq!(diagram.path(new.start).count(), 2);
        assert_eq!(diagram.depth(), 2);
    }
}
