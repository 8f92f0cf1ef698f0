//! How many states a set has.

use crate::OverBudget;

use super::collect::Marks;
use super::core::{Diagram, Root};
use super::node::{self, EMPTY, Node, Ref, UNIT};

impl Diagram {
    /// The exact number of states in the set, in one upward pass over its nodes.
    ///
    /// Needs 8 bytes for each node, reserved for the time of the call, and the mark bits that the arena's
    /// lease includes.
    /// A set of more than 2^64 - 1 states, which no sequence of batches can build, counts as that many.
    pub fn count(&self, root: Root) -> Result<u64, OverBudget> {
        let root = self.node(root);
        if !node::is_stored(root) {
            return Ok(u64::from(root != EMPTY));
        }
        let arena = self.nodes.arena();
        let mut marks = Marks::starts(arena, std::iter::once(root));
        marks.index();
        let bytes = (marks.len() * size_of::<u64>()) as u64;
        let _lease = self.governor.try_reserve(bytes, "counting the diagram")?;
        let mut counts: Vec<u64> = Vec::with_capacity(marks.len());
        for unit in marks.ones() {
            let of =
                |child: Ref| if !node::is_stored(child) { 1 } else { counts[marks.rank(child) as usize] };
            let count = match node::read(arena, unit * UNIT) {
                Node::Chain { child, .. } => of(child),
                Node::Branch(branch) => {
                    (0..branch.len()).fold(0u64, |sum, index| sum.saturating_add(of(branch.child(index))))
                }
            };
            counts.push(count);
        }
        Ok(counts.last().copied().unwrap_or(0))
    }
}
