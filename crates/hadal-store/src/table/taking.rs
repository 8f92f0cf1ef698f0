//! What becomes of the states of a batch that a table takes: compiled once for tables without payloads, and once with.

use super::StateRef;
use super::payloads::Payloads;
use crate::governor::OverBudget;

/// Follows a batch into the table. States come in order; by default nothing is kept beside them.
pub(super) trait Taking {
    /// Fills the caller's words for a state of the batch.
    fn fill(&mut self, number: usize, extra: &mut [u64]);

    /// The state was there before.
    ///
    /// # Safety
    /// The reference comes from the index.
    unsafe fn known(&mut self, number: usize, at: StateRef) {
        let _ = (number, at);
    }

    /// The state is written to a writer's arena, and the index does not name it yet.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    unsafe fn write_beside(&mut self, number: usize, writer: usize) -> Result<(), OverBudget> {
        let _ = (number, writer);
        Ok(())
    }

    /// The index names the state.
    fn publish(&mut self, at: StateRef) {
        let _ = at;
    }

    /// The state is new, and counts.
    fn added(&mut self, number: usize, at: StateRef);
}

/// Only the caller's words.
pub(super) struct Plain<E, A> {
    pub(super) extra: E,
    pub(super) added: A,
}

impl<E: FnMut(usize, &mut [u64]), A: FnMut(usize, StateRef)> Taking for Plain<E, A> {
    #[inline]
    fn fill(&mut self, number: usize, extra: &mut [u64]) {
        (self.extra)(number, extra);
    }

    #[inline]
    fn added(&mut self, number: usize, at: StateRef) {
        (self.added)(number, at);
    }
}

/// Payloads that are merged.
pub(super) struct Merging<'p, A> {
    pub(super) kept: &'p Payloads,
    /// One payload for each state of the batch.
    pub(super) given: &'p [u64],
    /// States of each writer from this number on are merged with.
    pub(super) since: &'p [u64],
    /// How many states of the batch are in the table, and their payloads merged.
    pub(super) taken: usize,
    pub(super) scratch: Vec<u64>,
    pub(super) added: A,
}

impl<A> Merging<'_, A> {
    fn given(&self, number: usize) -> &[u64] {
        &self.given[number * self.kept.shape.words..][..self.kept.shape.words]
    }
}

impl<A: FnMut(usize)> Taking for Merging<'_, A> {
    fn fill(&mut self, _: usize, _: &mut [u64]) {}

    unsafe fn known(&mut self, number: usize, at: StateRef) {
        if at.number() >= self.since[at.writer()] {
            let mut scratch = std::mem::take(&mut self.scratch);
            // SAFETY: the reference comes from the index.
            unsafe { self.kept.merge(at, self.given(number), &mut scratch) };
            self.scratch = scratch;
        }
        self.taken = number + 1;
    }

    unsafe fn write_beside(&mut self, number: usize, writer: usize) -> Result<(), OverBudget> {
        // SAFETY: as the caller promises.
        unsafe { self.kept.write(writer, self.given(number)) }
    }

    fn publish(&mut self, at: StateRef) {
        self.kept.publish(at);
    }

    fn added(&mut self, number: usize, _: StateRef) {
        self.taken = number + 1;
        (self.added)(number);
    }
}
