//! How many states a set has.

use crate::OverBudget;

use super::collect::Marks;
use super::core::{Diagram, Root};
use super::node::{self, EMPTY, Node, Ref, TERMINAL, UNIT};

impl Diagram {
    /// The exact number of states in the set, in one upward pass over its nodes.
    ///
    /// Needs 8 bytes for each node and mark bits, leased for the time of the call.
    ///
    /// # Panics
    /// If the set has 2^64 states or more, which no sequence of batches can build.
    pub fn count(&self, root: Root) -> Result<u64, OverBudget> {
        let root = self.node(root);
        if root <= TERMINAL {
            return Ok(u64::from(root != EMPTY));
        }
        let arena = self.nodes.arena();
        let mut lease = self.governor.try_reserve(arena.len() as u64 / 16, "counting the diagram")?;
        let mut marks = Marks::starts(arena, std::iter::once(root));
        marks.index();
        lease.try_grow((marks.len() * size_of::<u64>()) as u64)?;
        let mut counts: Vec<u64> = Vec::with_capacity(marks.len());
        for unit in marks.ones() {
            let of = |child: Ref| if child == TERMINAL { 1 } else { counts[marks.rank(child) as usize] };
            let count = match node::read(arena, unit * UNIT) {
                Node::Chain { child, .. } => of(child),
                Node::Branch(branch) => (0..branch.len()).fold(0u64, |sum, index| {
                    sum.checked_add(of(branch.child(index))).expect("fewer than 2^64 states")
                }),
            };
            counts.push(count);
        }
        Ok(counts.last().copied().unwrap_or(0))
    }
}
