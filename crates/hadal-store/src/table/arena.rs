//! States in the order in which one writer found them, in chunks that never move.
//!
//! One thread appends; any thread may read a record once it has seen its number through an acquiring load of
//! something stored with release after the append (the index entry does that).

use super::pages::Pages;
use crate::governor::{Governor, OverBudget, Reservation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Append-only records of a fixed number of words.
#[derive(Debug)]
pub(super) struct Arena {
    record: usize,
    /// Records per chunk, a power of two: `1 << shift`.
    shift: u32,
    chunks: Box<[AtomicPtr<u64>]>,
    len: AtomicU64,
    /// Whether somebody is writing.
    busy: AtomicBool,
    owned: Mutex<Owned>,
}

/// The right to append to an arena, held by one thread at a time.
pub(super) struct Writing<'a>(&'a Arena);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

#[derive(Debug)]
struct Owned {
    pages: Vec<Pages>,
    reservation: Reservation,
}

impl Arena {
    /// An empty arena for records of `record` words, in chunks of at most `chunk_bytes` or one record; as many of them as
    /// the budget allows.
    pub(super) fn new(record: usize, chunk_bytes: usize, governor: &Governor) -> Self {
        let shift = (chunk_bytes / (record * 8)).max(1).ilog2();
        // Chunks are rounded down to a power of two of records, so there may be twice as many.
        let each = ((record * 8) as u64) << shift;
        let chunks = (governor.limit() / each + 2).min(1 << 21) as usize;
        Arena {
            record,
            shift,
            chunks: (0..chunks).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            len: AtomicU64::new(0),
            busy: AtomicBool::new(false),
            owned: Mutex::new(Owned { pages: Vec::new(), reservation: governor.empty("states") }),
        }
    }

    /// Number of records.
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Bytes one more chunk takes.
    fn chunk_bytes(&self) -> u64 {
        ((self.record * 8) as u64) << self.shift
    }

    /// Begins to write. Two threads that write to one arena at the same time would overwrite each other's records: the
    /// second one panics.
    pub(super) fn write(&self) -> Writing<'_> {
        assert!(!self.busy.swap(true, Ordering::Acquire), "a writer of a table belongs to one thread");
        Writing(self)
    }

    /// The n-th record's words, where it has that many.
    #[inline]
    pub(super) fn record(&self, n: u64) -> &[u64] {
        assert!(n < self.len(), "no such record");
        self.get(n)
    }

    /// The record's words; `n` was read from the index, or is below `len`.
    #[inline]
    pub(super) fn get(&self, n: u64) -> &[u64] {
        debug_assert!(n < self.len());
        // SAFETY: record `n` was fully written before its number could be known, its chunk stays mapped as long as
        // the arena lives, and published records are never changed.
        unsafe { std::slice::from_raw_parts(self.address(n), self.record) }
    }

    /// Where record `n` lies (or will lie), for prefetching.
    #[inline]
    pub(super) fn address(&self, n: u64) -> *mut u64 {
        let chunk = self.chunks[(n >> self.shift) as usize].load(Ordering::Acquire);
        let inside = (n & ((1 << self.shift) - 1)) as usize * self.record;
        chunk.wrapping_add(inside)
    }

    /// Forgets all records, keeps the chunks.
    pub(super) fn clear(&mut self) {
        *self.len.get_mut() = 0;
    }
}

impl Writing<'_> {
    /// Appends a record and returns its number.
    pub(super) fn push(&self, state: &[u64], extra: &[u64]) -> Result<u64, OverBudget> {
        debug_assert_eq!(state.len() + extra.len(), self.0.record);
        let n = self.0.len.load(Ordering::Relaxed);
        let chunk = (n >> self.0.shift) as usize;
        if n & ((1 << self.0.shift) - 1) == 0 {
            self.ensure_chunk(chunk)?;
        }
        let at = self.0.address(n);
        // SAFETY: `ensure_chunk` mapped the chunk of record `n`; records below `len` are never written again, and
        // this one is not yet visible to readers, so the single writer has it to itself.
        unsafe {
            std::ptr::copy_nonoverlapping(state.as_ptr(), at, state.len());
            std::ptr::copy_nonoverlapping(extra.as_ptr(), at.add(state.len()), extra.len());
        }
        self.0.len.store(n + 1, Ordering::Release);
        Ok(n)
    }

    /// Takes back the record appended last, which no reader has been told about.
    pub(super) fn pop(&self) {
        let n = self.0.len.load(Ordering::Relaxed);
        debug_assert!(n > 0);
        self.0.len.store(n - 1, Ordering::Release);
    }

    #[cold]
    fn ensure_chunk(&self, chunk: usize) -> Result<(), OverBudget> {
        // A poisoned lock means another thread died while mapping; the list itself is always consistent.
        let mut owned = self.0.owned.lock().unwrap_or_else(|e| e.into_inner());
        if chunk < owned.pages.len() {
            return Ok(()); // left over from a popped record
        }
        let bytes = self.0.chunk_bytes();
        let full =
            OverBudget { what: "states", asked: bytes, available: 0, limit: owned.reservation.bytes() };
        let slot = self.0.chunks.get(chunk).ok_or(full)?;
        owned.reservation.try_grow(bytes)?;
        let pages = Pages::zeroed(self.0.record << self.0.shift).ok_or(full)?;
        slot.store(pages.start(), Ordering::Release);
        owned.pages.push(pages);
        Ok(())
    }
}
