//! What is kept beside the states of a batch that a table takes.

use super::StateRef;
use super::payloads::Payloads;
use crate::governor::OverBudget;

/// Follows a batch into the table: told of every state in order, by its number in the batch.
pub(super) trait Beside {
    /// Fills the caller's words for a state.
    fn fill(&mut self, number: usize, extra: &mut [u64]) {
        let _ = (number, extra);
    }

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
    unsafe fn write(&mut self, number: usize, writer: usize) -> Result<(), OverBudget> {
        let _ = (number, writer);
        Ok(())
    }

    /// The index names the state.
    fn publish(&mut self, at: StateRef) {
        let _ = at;
    }
}

/// The caller's words.
pub(super) struct Extra<E>(pub(super) E);

impl<E: FnMut(usize, &mut [u64])> Beside for Extra<E> {
    fn fill(&mut self, number: usize, extra: &mut [u64]) {
        (self.0)(number, extra);
    }
}

/// Payloads that are merged.
pub(super) struct Merging<'p> {
    pub(super) kept: &'p Payloads,
    /// One payload for each state of the batch.
    pub(super) given: &'p [u64],
    /// States of each writer from this number on are merged with.
    pub(super) since: &'p [u64],
    pub(super) scratch: Vec<u64>,
}

impl Merging<'_> {
    fn given(&self, number: usize) -> &[u64] {
        &self.given[number * self.kept.shape.words..][..self.kept.shape.words]
    }
}

impl Beside for Merging<'_> {
    unsafe fn known(&mut self, number: usize, at: StateRef) {
        if at.number() >= self.since[at.writer()] {
            let mut scratch = std::mem::take(&mut self.scratch);
            // SAFETY: the reference comes from the index.
            unsafe { self.kept.merge(at, self.given(number), &mut scratch) };
            self.scratch = scratch;
        }
    }

    unsafe fn write(&mut self, number: usize, writer: usize) -> Result<(), OverBudget> {
        // SAFETY: as the caller promises.
        unsafe { self.kept.write(writer, self.given(number)) }
    }

    fn publish(&mut self, at: StateRef) {
        self.kept.publish(at);
    }
}
