//! Union, difference and intersection of two sets, node by node, with remembered results.
//!
//! Chains have to be compared label by label, so the recursion walks *cursors*: a node and how many
//! labels of it, if it is a chain, were read already.

use super::cache::Cache;
use super::node::{EMPTY, Node, Ref};
use super::nodes::{Full, Nodes};

/// What to do with two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Union,
    Difference,
    Intersection,
}

/// A node, with the first `skip` labels of a chain left out (fewer than the chain has).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) node: Ref,
    pub(super) skip: u16,
}

impl Cursor {
    pub(super) const fn at(node: Ref) -> Self {
        Cursor { node, skip: 0 }
    }
}

/// The merged labels of the branches being worked on, one stack for the whole recursion.
#[derive(Default)]
struct Merged {
    labels: Vec<u8>,
    left: Vec<Ref>,
    right: Vec<Ref>,
}

/// One operation on its way.
pub(super) struct Combine<'a> {
    nodes: &'a mut Nodes,
    cache: &'a mut Cache,
    operation: Operation,
    merged: Merged,
}

/// Which operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// What two cursors look at.
enum Meeting {
    /// Two chains that agree on `shared` labels; a side that ends has no label left after them.
    Chains { shared: usize, left_ends: bool, right_ends: bool, left_child: Ref, right_child: Ref },
    /// Two branches.
    Branches,
    /// A chain with this next label and what follows it, and a branch.
    LeftChain { label: u8, rest: Cursor },
    /// A branch, and a chain with this next label and what follows it.
    RightChain { label: u8, rest: Cursor },
}

impl<'a> Combine<'a> {
    pub(super) fn new(nodes: &'a mut Nodes, cache: &'a mut Cache, operation: Operation) -> Self {
        Combine { nodes, cache, operation, merged: Merged::default() }
    }

    /// The combined set.
    pub(super) fn run(&mut self, left: Ref, right: Ref) -> Result<Ref, Full> {
        self.combine(Cursor::at(left), Cursor::at(right))
    }

    fn combine(&mut self, left: Cursor, right: Cursor) -> Result<Ref, Full> {
        use Operation::{Difference, Intersection, Union};
        let operation = self.operation;
        if left == right {
            return if operation == Difference { Ok(EMPTY) } else { self.node_at(left) };
        }
        if left.node == EMPTY || right.node == EMPTY {
            return match operation {
                Union => self.node_at(if left.node == EMPTY { right } else { left }),
                Difference => self.node_at(left),
                Intersection => Ok(EMPTY),
            };
        }
        // Union and intersection commute: one order finds more in the cache.
        let (left, right) =
            if operation != Difference && left.node > right.node { (right, left) } else { (left, right) };
        let meeting = self.meet(left, right);
        if let Meeting::Chains { shared, left_ends, right_ends, left_child, right_child } = meeting {
            let shared = shared as u16;
            let after_left = self.advance(left, shared, left_ends, left_child);
            let after_right = self.advance(right, shared, right_ends, right_child);
            let rest = if !left_ends && !right_ends {
                self.fork(after_left, after_right)?
            } else {
                self.combine(after_left, after_right)?
            };
            let from = left.skip as usize;
            return self.nodes.make_part_of_chain(left.node, from, from + shared as usize, rest);
        }
        if let Some(result) = self.cache.get(operation, left, right) {
            return Ok(result);
        }
        let base = self.merged.labels.len();
        match meeting {
            Meeting::LeftChain { label, rest } => {
                self.one_against_branch(label, rest, right.node, Side::Left)?
            }
            Meeting::RightChain { label, rest } => {
                self.one_against_branch(label, rest, left.node, Side::Right)?
            }
            _ => self.branch_against_branch(left.node, right.node)?,
        }
        let result = self.make_merged(base)?;
        self.cache.put(operation, left, right, result);
        Ok(result)
    }

    /// Looks at both sides at once. Neither is empty, and they are not both the terminal.
    #[inline]
    fn meet(&self, left: Cursor, right: Cursor) -> Meeting {
        match (self.nodes.read(left.node), self.nodes.read(right.node)) {
            (Node::Chain { labels: a, child: left_child }, Node::Chain { labels: b, child: right_child }) => {
                let (a, b) = (&a[left.skip as usize..], &b[right.skip as usize..]);
                let shared = a.iter().zip(b).take_while(|(x, y)| x == y).count();
                let (left_ends, right_ends) = (shared == a.len(), shared == b.len());
                Meeting::Chains { shared, left_ends, right_ends, left_child, right_child }
            }
            (Node::Branch(_), Node::Branch(_)) => Meeting::Branches,
            (Node::Chain { labels, child }, Node::Branch(_)) => {
                let label = labels[left.skip as usize];
                let ends = left.skip as usize + 1 == labels.len();
                Meeting::LeftChain { label, rest: self.advance(left, 1, ends, child) }
            }
            (Node::Branch(_), Node::Chain { labels, child }) => {
                let label = labels[right.skip as usize];
                let ends = right.skip as usize + 1 == labels.len();
                Meeting::RightChain { label, rest: self.advance(right, 1, ends, child) }
            }
        }
    }

    #[inline]
    fn advance(&self, cursor: Cursor, by: u16, ends: bool, child: Ref) -> Cursor {
        if ends { Cursor::at(child) } else { Cursor { node: cursor.node, skip: cursor.skip + by } }
    }

    /// Two chains whose next labels differ.
    fn fork(&mut self, left: Cursor, right: Cursor) -> Result<Ref, Full> {
        match self.operation {
            Operation::Difference => return self.node_at(left),
            Operation::Intersection => return Ok(EMPTY),
            Operation::Union => {}
        }
        let (left_label, left) = self.step(left);
        let (right_label, right) = self.step(right);
        let left = self.node_at(left)?;
        let right = self.node_at(right)?;
        if left_label < right_label {
            self.nodes.make_branch(&[left_label, right_label], &[left, right])
        } else {
            self.nodes.make_branch(&[right_label, left_label], &[right, left])
        }
    }

    /// The next label of a chain, and what follows it.
    fn step(&self, cursor: Cursor) -> (u8, Cursor) {
        match self.nodes.read(cursor.node) {
            Node::Chain { labels, child } => {
                let ends = cursor.skip as usize + 1 == labels.len();
                (labels[cursor.skip as usize], self.advance(cursor, 1, ends, child))
            }
            Node::Branch(_) => unreachable!("only chains are stepped through"),
        }
    }

    /// The node for what a cursor has left.
    fn node_at(&mut self, cursor: Cursor) -> Result<Ref, Full> {
        if cursor.skip == 0 {
            return Ok(cursor.node);
        }
        match self.nodes.read(cursor.node) {
            Node::Chain { labels, child } => {
                let len = labels.len();
                self.nodes.make_part_of_chain(cursor.node, cursor.skip as usize, len, child)
            }
            Node::Branch(_) => Ok(cursor.node),
        }
    }

    /// Merges the one label of a chain with a branch onto the stack.
    fn one_against_branch(&mut self, label: u8, rest: Cursor, branch: Ref, chain: Side) -> Result<(), Full> {
        let Node::Branch(view) = self.nodes.read(branch) else { return Ok(()) };
        let found = view.find(0, label).map(|index| view.child(index));
        let keep_branch = match self.operation {
            Operation::Union => true,
            Operation::Difference => chain == Side::Right,
            Operation::Intersection => false,
        };
        let below = match found {
            Some(child) if chain == Side::Left => self.combine(rest, Cursor::at(child))?,
            Some(child) => self.combine(Cursor::at(child), rest)?,
            None if self.operation == Operation::Union => self.node_at(rest)?,
            None if self.operation == Operation::Difference && chain == Side::Left => self.node_at(rest)?,
            None => EMPTY,
        };
        let base = self.merged.labels.len();
        if keep_branch && let Node::Branch(view) = self.nodes.read(branch) {
            view.list_into(&mut self.merged.labels, &mut self.merged.left);
        }
        let at = base + self.merged.labels[base..].partition_point(|&other| other < label);
        if keep_branch && found.is_some() {
            self.merged.left[at] = below;
        } else if below != EMPTY {
            self.merged.labels.insert(at, label);
            self.merged.left.insert(at, below);
        }
        self.merged.right.resize(self.merged.labels.len(), EMPTY);
        Ok(())
    }

    /// Merges two branches onto the stack and combines where both have a label.
    fn branch_against_branch(&mut self, left: Ref, right: Ref) -> Result<(), Full> {
        let base = self.merged.labels.len();
        self.list_both(left, right);
        for at in base..self.merged.labels.len() {
            let (left, right) = (self.merged.left[at], self.merged.right[at]);
            self.merged.left[at] = match self.operation {
                Operation::Union if right == EMPTY || left == right => left,
                Operation::Union if left == EMPTY => right,
                _ => self.combine(Cursor::at(left), Cursor::at(right))?,
            };
        }
        Ok(())
    }

    #[inline]
    fn list_both(&mut self, left: Ref, right: Ref) {
        let (Node::Branch(a), Node::Branch(b)) = (self.nodes.read(left), self.nodes.read(right)) else {
            return;
        };
        let Merged { labels, left, right } = &mut self.merged;
        let mut a_next = Some((0, a.first()));
        let mut b_next = Some((0, b.first()));
        loop {
            let (label, from_a, from_b) = match (a_next, b_next) {
                (Some((_, x)), Some((_, y))) => (x.min(y), x <= y, y <= x),
                (Some((_, x)), None) => (x, true, false),
                (None, Some((_, y))) => (y, false, true),
                (None, None) => break,
            };
            labels.push(label);
            left.push(match a_next {
                Some((index, _)) if from_a => a.child(index),
                _ => EMPTY,
            });
            right.push(match b_next {
                Some((index, _)) if from_b => b.child(index),
                _ => EMPTY,
            });
            if from_a && let Some((index, label)) = a_next {
                a_next = a.next(index, label);
            }
            if from_b && let Some((index, label)) = b_next {
                b_next = b.next(index, label);
            }
        }
    }

    /// Makes a node of what lies on the stack from `base` on, and takes it off.
    fn make_merged(&mut self, base: usize) -> Result<Ref, Full> {
        let merged = &mut self.merged;
        if self.operation != Operation::Union {
            let mut kept = base;
            for at in base..merged.labels.len() {
                if merged.left[at] != EMPTY {
                    merged.labels[kept] = merged.labels[at];
                    merged.left[kept] = merged.left[at];
                    kept += 1;
                }
            }
            merged.labels.truncate(kept);
            merged.left.truncate(kept);
        }
        let (labels, children) = (&merged.labels[base..], &merged.left[base..]);
        let made = match labels.len() {
            0 => EMPTY,
            1 => self.nodes.make_chain(labels, children[0])?,
            _ => self.nodes.make_branch(labels, children)?,
        };
        merged.labels.truncate(base);
        merged.left.truncate(base);
        merged.right.truncate(base);
        Ok(made)
    }
}
