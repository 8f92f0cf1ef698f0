//! Which states of an ascending batch are in a set: one walk for the whole batch.
//!
//! The walk keeps the branches on the path of the last state. The next state starts from the deepest
//! one that both share, and there from the label where the last one stood.

use crate::Bitmap;

use super::core::{Diagram, Root};
use super::node::{EMPTY, Node, Ref, TERMINAL};

/// A branch on the path of the last state.
struct Visit {
    node: Ref,
    level: usize,
    /// The index of the last label found or passed here.
    index: usize,
}

/// The walk through one set.
struct SetWalk<'d> {
    diagram: &'d Diagram,
    root: Ref,
    path: Vec<u8>,
    visits: Vec<Visit>,
    /// The level at which the last state left the set; the number of levels if it is in there.
    left_at: usize,
}

impl Diagram {
    /// Marks in `present` the states of the ascending `batch` that are in the set.
    pub fn filter_sorted(&self, root: Root, batch: &[u64], present: &mut Bitmap) {
        present.reset(batch.len() / self.levels.words());
        self.each_present(root, batch, |at| present.set(at));
    }

    /// Calls `found` with the index of every state of the ascending `batch` that is in the set.
    #[inline]
    pub(super) fn each_present(&self, root: Root, batch: &[u64], mut found: impl FnMut(usize)) {
        let mut states = batch.chunks_exact(self.levels.words());
        let Some(mut previous) = states.next().filter(|_| !self.is_empty(root)) else { return };
        let mut walk = SetWalk::new(self, self.node(root));
        if walk.start(previous) {
            found(0);
        }
        for (at, state) in states.enumerate() {
            let here = match self.levels.divergence(previous, state) {
                Some(level) => walk.step(state, level),
                None => walk.is_inside(),
            };
            if here {
                found(at + 1);
            }
            previous = state;
        }
    }

    /// Whether the state is in the set.
    pub fn contains(&self, root: Root, state: &[u64]) -> bool {
        let root = self.node(root);
        root != EMPTY && SetWalk::new(self, root).start(state)
    }
}

impl<'d> SetWalk<'d> {
    fn new(diagram: &'d Diagram, root: Ref) -> Self {
        let path = vec![0; diagram.levels.count()];
        SetWalk { diagram, root, path, visits: Vec::new(), left_at: 0 }
    }

    fn is_inside(&self) -> bool {
        self.left_at == self.path.len()
    }

    /// Looks up the first state.
    fn start(&mut self, state: &[u64]) -> bool {
        self.diagram.levels.fill(state, 0, &mut self.path);
        self.visits.clear();
        self.descend(self.root, 0)
    }

    /// Looks up a state greater than the last one, that differs from it first at `level`.
    #[inline]
    fn step(&mut self, state: &[u64], level: usize) -> bool {
        if level > self.left_at {
            // It leaves where the last one left.
            return false;
        }
        let last_left_at = self.left_at;
        self.diagram.levels.fill(state, level, &mut self.path);
        while self.visits.last().is_some_and(|visit| visit.level > level) {
            self.visits.pop();
        }
        match self.visits.last() {
            Some(visit) if visit.level == level => self.branch_out(),
            // The level is inside a chain, whose label there is the last state's, or is not.
            _ if last_left_at != level => {
                self.left_at = level;
                false
            }
            None => self.descend(self.root, 0),
            Some(visit) => {
                let (node, from) = (self.child_of(visit), visit.level + 1);
                self.descend(node, from)
            }
        }
    }

    #[inline]
    fn child_of(&self, visit: &Visit) -> Ref {
        match self.diagram.nodes.read(visit.node) {
            Node::Branch(branch) => branch.child(visit.index),
            Node::Chain { child, .. } => child,
        }
    }

    /// Goes on from the innermost branch, forward from the label it was left at.
    #[inline]
    fn branch_out(&mut self) -> bool {
        let Some(visit) = self.visits.last_mut() else { return false };
        let Node::Branch(branch) = self.diagram.nodes.read(visit.node) else { return false };
        let (level, label) = (visit.level, self.path[visit.level]);
        match branch.seek(visit.index, label) {
            Some((index, found)) => {
                visit.index = index;
                if found == label {
                    let child = branch.child(index);
                    return self.descend(child, level + 1);
                }
            }
            None => visit.index = branch.len() - 1,
        }
        self.left_at = level;
        false
    }

    /// Follows the path from `node`, which stands at `level`.
    #[inline]
    fn descend(&mut self, mut node: Ref, mut level: usize) -> bool {
        while node != TERMINAL {
            match self.diagram.nodes.read(node) {
                Node::Chain { labels, child } => {
                    let path = &self.path[level..level + labels.len()];
                    if *path != *labels {
                        let agree = path.iter().zip(labels.iter()).take_while(|(x, y)| x == y).count();
                        self.left_at = level + agree;
                        return false;
                    }
                    level += labels.len();
                    node = child;
                }
                Node::Branch(branch) => {
                    let sought = branch.seek(0, self.path[level]);
                    let index = sought.map_or_else(|| branch.len() - 1, |(index, _)| index);
                    self.visits.push(Visit { node, level, index });
                    if sought.is_none_or(|(_, label)| label != self.path[level]) {
                        self.left_at = level;
                        return false;
                    }
                    node = branch.child(index);
                    level += 1;
                }
            }
        }
        self.left_at = self.path.len();
        true
    }
}
