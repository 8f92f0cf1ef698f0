//! Payloads beside the states of a table: so many words for each, merged by a rule where a state comes again.
//!
//! They lie in arenas beside those of the states, numbered alike, so a table without payloads is as if there were none.

use super::StateRef;
use super::arena::Arena;
use crate::governor::{Governor, OverBudget};
use hadal_system::Payload;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Payloads that are merged at the same time, at most.
const LOCKS: usize = 64;

#[derive(Debug)]
pub(super) struct Payloads {
    pub(super) shape: Payload,
    /// One for each writer.
    arenas: Vec<Arena>,
    /// Whoever changes a payload that others may know holds the lock that its number falls to.
    locks: Box<[Mutex<()>]>,
}

impl Payloads {
    pub(super) fn new(shape: Payload, writers: usize, chunk_bytes: usize, governor: &Governor) -> Self {
        let arena = |_| Arena::new(shape.words * 8, chunk_bytes.max(shape.words * 8), governor);
        Payloads {
            shape,
            arenas: (0..writers).map(arena).collect(),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
        }
    }

    /// Writes a payload beside the state that a writer has just written.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    pub(super) unsafe fn write(&self, writer: usize, payload: &[u64]) -> Result<(), OverBudget> {
        // SAFETY: as the caller promises; a record has room for a payload, whose words are aligned.
        unsafe {
            let (_, at) = self.arenas[writer].next()?;
            std::ptr::copy_nonoverlapping(payload.as_ptr(), at.cast(), self.shape.words);
        }
        Ok(())
    }

    /// Lets the payload written last count: the index names its state.
    pub(super) fn publish(&self, at: StateRef) {
        self.arenas[at.writer()].publish(at.number());
    }

    /// Merges another payload into that of a state.
    ///
    /// # Safety
    /// The reference comes from the index.
    pub(super) unsafe fn merge(&self, at: StateRef, other: &[u64], kept: &mut Vec<u64>) {
        let lock = &self.locks[(at.number() as usize ^ at.writer()) % LOCKS];
        // Whoever died holding it had stored whole words.
        let _held = lock.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as the caller promises.
        let words = unsafe { self.words(at) };
        kept.clear();
        kept.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
        self.shape.merge.merge(kept, other);
        words.iter().zip(kept).for_each(|(word, &mut kept)| word.store(kept, Ordering::Relaxed));
    }

    /// Appends the payload of a state.
    ///
    /// # Safety
    /// The table has such a state.
    pub(super) unsafe fn copy(&self, at: StateRef, into: &mut Vec<u64>) {
        // SAFETY: as the caller promises.
        let words = unsafe { self.words(at) };
        into.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
    }

    /// # Safety
    /// The reference comes from the index, or lies below the length of its arena of states.
    unsafe fn words(&self, at: StateRef) -> &[AtomicU64] {
        // SAFETY: the number comes from the index, or lies below the length of the arena. The payload was fully written before the index named its state, its chunk stays mapped as long as the
        // arena lives, and from then on it is read and changed through atomics only.
        unsafe {
            let first: *const AtomicU64 = self.arenas[at.writer()].address(at.number()).cast();
            std::slice::from_raw_parts(first, self.shape.words)
        }
    }

    /// Forgets all payloads, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.arenas.iter_mut().for_each(Arena::clear);
    }
}
