//! From an ascending batch of states to a diagram in one pass, bottom-up.
//!
//! Only the levels at which the current path branches are open. A level where neighbours agree is
//! never looked at: it becomes part of a chain.

use super::levels::Levels;
use super::node::{EMPTY, Ref, TERMINAL};
use super::nodes::{Full, Nodes};

/// Scratch space of the pass, kept between batches.
#[derive(Default)]
pub(super) struct Builder {
    /// The labels of the path to the last state.
    path: Vec<u8>,
    /// Finished children of all open branches, those of deeper levels behind.
    labels: Vec<u8>,
    children: Vec<Ref>,
    /// The open branches of the path.
    open: Vec<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    level: usize,
    /// Where its children start.
    first: usize,
}

impl Builder {
    /// The set of the given ascending, distinct states.
    pub(super) fn build<'b>(
        &mut self,
        levels: &Levels,
        nodes: &mut Nodes,
        mut states: impl Iterator<Item = &'b [u64]>,
    ) -> Result<Ref, Full> {
        self.path.resize(levels.count(), 0);
        self.labels.clear();
        self.children.clear();
        self.open.clear();
        let Some(mut previous) = states.next() else { return Ok(EMPTY) };
        levels.fill(previous, 0, &mut self.path);
        for state in states {
            debug_assert!(levels.covers(state));
            let Some(level) = levels.divergence(previous, state) else { continue };
            self.finish_below(nodes, level)?;
            levels.fill(state, level, &mut self.path);
            previous = state;
        }
        let (node, end) = self.close_down_to(nodes, 0)?;
        nodes.make_chain(&self.path[..end], node)
    }

    /// Finishes everything below `level` and adds it there as a child.
    #[inline]
    fn finish_below(&mut self, nodes: &mut Nodes, level: usize) -> Result<(), Full> {
        let (node, end) = self.close_down_to(nodes, level + 1)?;
        let node = nodes.make_chain(&self.path[level + 1..end], node)?;
        if self.open.last().is_none_or(|open| open.level < level) {
            self.open.push(Open { level, first: self.labels.len() });
        }
        self.labels.push(self.path[level]);
        self.children.push(node);
        Ok(())
    }

    /// Closes the open branches at `level` and deeper. Returns the topmost of them (the terminal if
    /// there is none) and its level (the number of levels).
    #[inline]
    fn close_down_to(&mut self, nodes: &mut Nodes, level: usize) -> Result<(Ref, usize), Full> {
        let (mut node, mut end) = (TERMINAL, self.path.len());
        while let Some(&open) = self.open.last()
            && open.level >= level
        {
            let child = nodes.make_chain(&self.path[open.level + 1..end], node)?;
            self.labels.push(self.path[open.level]);
            self.children.push(child);
            node = nodes.make_branch(&self.labels[open.first..], &self.children[open.first..])?;
            end = open.level;
            self.labels.truncate(open.first);
            self.children.truncate(open.first);
            self.open.pop();
        }
        Ok((node, end))
    }

    pub(super) fn bytes(&self) -> usize {
        self.path.capacity()
            + self.labels.capacity()
            + self.children.capacity() * size_of::<Ref>()
            + self.open.capacity() * size_of::<Open>()
    }
}
