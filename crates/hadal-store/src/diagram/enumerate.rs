//! The states of a set in ascending order, batch by batch.
//!
//! Between batches the diagram may change and be collected: an [`Enumerator`] remembers the last state
//! it gave out, and finds its place again when its path through the nodes is void.

use super::core::{Diagram, Root};
use super::node::{EMPTY, Node, Ref, TERMINAL};

/// A branch on the way to the last state given out.
struct Visit {
    node: Ref,
    level: usize,
    index: usize,
    label: u8,
}

/// A position in a set. It holds no nodes alive: the root does.
///
/// If the set changes between two batches, the enumeration goes on with the smallest state of the
/// changed set that is greater than the last one given out.
pub struct Enumerator {
    root: Root,
    /// The state at the position, and whether there is one.
    state: Vec<u64>,
    begun: bool,
    done: bool,
    visits: Vec<Visit>,
    /// What the path was made for: epoch and root node.
    made_for: (u64, Ref),
}

impl Diagram {
    /// Enumerates the set from its smallest state on.
    pub fn enumerate(&self, root: Root) -> Enumerator {
        Enumerator {
            root,
            state: vec![0; self.levels.words()],
            begun: false,
            done: false,
            visits: Vec::new(),
            made_for: (self.epoch, EMPTY),
        }
    }

    /// Enumerates the states of the set that are greater than `state`.
    pub fn enumerate_after(&self, root: Root, state: &[u64]) -> Enumerator {
        let mut position = self.enumerate(root);
        position.state.copy_from_slice(state);
        position.begun = true;
        position
    }
}

impl Enumerator {
    /// Appends up to `limit` further states to `batch`; returns how many. Fewer than `limit` means
    /// that these were the last.
    pub fn next_batch(&mut self, diagram: &Diagram, limit: usize, batch: &mut Vec<u64>) -> usize {
        let mut given = 0;
        while given < limit && self.advance(diagram) {
            batch.extend_from_slice(&self.state);
            given += 1;
            given += self.finish_leaf(diagram, limit - given, batch);
        }
        given
    }

    /// Whether the end was reached, as far as the last call saw.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Moves to the next state, if there is one.
    fn advance(&mut self, diagram: &Diagram) -> bool {
        let root = diagram.node(self.root);
        let place = (diagram.epoch, root);
        let found = if !self.begun {
            self.visits.clear();
            root != EMPTY && self.descend_first(diagram, root, 0)
        } else if self.made_for != place {
            root != EMPTY && self.seek_after(diagram, root)
        } else {
            self.turn(diagram)
        };
        self.made_for = place;
        self.begun |= found;
        self.done = !found;
        found
    }

    /// Gives out the rest of the innermost branch if it is a leaf: only the last level changes.
    #[inline]
    fn finish_leaf(&mut self, diagram: &Diagram, limit: usize, batch: &mut Vec<u64>) -> usize {
        let last = diagram.levels.count() - 1;
        let Some(visit) = self.visits.last_mut().filter(|visit| visit.level == last) else { return 0 };
        let Node::Branch(branch) = diagram.nodes.read(visit.node) else { return 0 };
        let mut given = 0;
        while given < limit
            && let Some((index, label)) = branch.next(visit.index, visit.label)
        {
            (visit.index, visit.label) = (index, label);
            diagram.levels.put(&mut self.state, last, label);
            batch.extend_from_slice(&self.state);
            given += 1;
        }
        given
    }

    /// Takes the next label of the innermost branch that has one, and the smallest state below it.
    fn turn(&mut self, diagram: &Diagram) -> bool {
        while let Some(visit) = self.visits.last_mut() {
            if let Node::Branch(branch) = diagram.nodes.read(visit.node)
                && let Some((index, label)) = branch.next(visit.index, visit.label)
            {
                (visit.index, visit.label) = (index, label);
                let level = visit.level;
                diagram.levels.put(&mut self.state, level, label);
                return self.descend_first(diagram, branch.child(index), level + 1);
            }
            self.visits.pop();
        }
        false
    }

    /// Goes to the smallest state below `node`, which stands at `level`; always finds one.
    fn descend_first(&mut self, diagram: &Diagram, mut node: Ref, mut level: usize) -> bool {
        while node != TERMINAL {
            match diagram.nodes.read(node) {
                Node::Chain { labels, child } => {
                    for &label in labels.iter() {
                        diagram.levels.put(&mut self.state, level, label);
                        level += 1;
                    }
                    node = child;
                }
                Node::Branch(branch) => {
                    let label = branch.first();
                    diagram.levels.put(&mut self.state, level, label);
                    self.visits.push(Visit { node, level, index: 0, label });
                    level += 1;
                    node = branch.child(0);
                }
            }
        }
        true
    }

    /// Goes to the smallest state greater than the one at the position.
    fn seek_after(&mut self, diagram: &Diagram, root: Ref) -> bool {
        let mut path = vec![0; diagram.levels.count()];
        diagram.levels.fill(&self.state, 0, &mut path);
        self.visits.clear();
        let (mut node, mut level) = (root, 0);
        while node != TERMINAL {
            match diagram.nodes.read(node) {
                Node::Chain { labels, child } => {
                    match labels.cmp(&path[level..level + labels.len()]) {
                        std::cmp::Ordering::Equal => {}
                        std::cmp::Ordering::Less => return self.turn(diagram),
                        std::cmp::Ordering::Greater => return self.descend_first(diagram, node, level),
                    }
                    level += labels.len();
                    node = child;
                }
                Node::Branch(branch) => {
                    let Some((index, label)) = branch.seek(0, path[level]) else {
                        return self.turn(diagram);
                    };
                    self.visits.push(Visit { node, level, index, label });
                    node = branch.child(index);
                    if label > path[level] {
                        diagram.levels.put(&mut self.state, level, label);
                        return self.descend_first(diagram, node, level + 1);
                    }
                    level += 1;
                }
            }
        }
        self.turn(diagram)
    }
}
