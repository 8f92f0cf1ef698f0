//! How many shortest paths lead to each state: payloads that add up.
//!
//! Any search that goes layer by layer and keeps payloads counts them on the way: every shortest path to a state passes a
//! state of the layer before, so its number is the sum of theirs, and final when its layer is.

use hadal_system::{Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};

/// A space in which every state keeps the number of paths that lead there: as many as lead to the states before. A number
/// too large for a word stays the largest. What a search found is in [`crate::explore::Explored::payload`].
pub struct CountedPaths<'s>(&'s dyn StateSpace);

struct CountingWorker<'s>(Box<dyn Worker + 's>);

impl<'s> CountedPaths<'s> {
    /// The paths of this space, whose own payloads are left out.
    pub fn of(space: &'s dyn StateSpace) -> Self {
        CountedPaths(space)
    }
}

impl WrapsSpace for CountedPaths<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.0
    }
    fn payload(&self) -> Payload {
        Payload { words: 1, merge: Merge::Sum }
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(CountingWorker(self.0.worker()))
    }
}

impl WrapsWorker for CountingWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.0
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.0
    }
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        let paths = from.map_or(1, |(_, payload)| payload[0]);
        payloads.extend(std::iter::repeat_n(paths, out.len() - first));
    }
}
