//! States in the order in which one writer found them, in chunks that never move.
//!
//! One thread appends. A record becomes visible in two steps: the index entry that names it, then the arena's length.
//! Any thread may read a record whose number it has from either, by an acquiring load.

use super::pages::Pages;
use crate::governor::{Governor, OverBudget, Reservation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Append-only records of a fixed number of words.
#[derive(Debug)]
pub(super) struct Arena {
    record: usize,
    /// Records per chunk, a power of two: `1 << shift`.
    shift: u32,
    chunks: Box<[AtomicPtr<u64>]>,
    /// Records up to here are never written again.
    len: AtomicU64,
    owned: Mutex<Owned>,
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

    /// The n-th record's words, where it has that many.
    #[inline]
    pub(super) fn record(&self, n: u64) -> &[u64] {
        assert!(n < self.len(), "no such record");
        // SAFETY: `n` is below `len`.
        unsafe { self.get(n) }
    }

    /// The record's words.
    ///
    /// # Safety
    /// `n` was read from the index, or is below `len`.
    #[inline]
    pub(super) unsafe fn get(&self, n: u64) -> &[u64] {
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

    /// Writes a record behind the last one and returns its number. It counts once it is [published](Arena::publish); until
    /// then the next one takes its place.
    ///
    /// # Safety
    /// No other thread writes to this arena meanwhile.
    pub(super) unsafe fn write(&self, state: &[u64], extra: &[u64]) -> Result<u64, OverBudget> {
        debug_assert_eq!(state.len() + extra.len(), self.record);
        let n = self.len.load(Ordering::Relaxed);
        let chunk = (n >> self.shift) as usize;
        if n & ((1 << self.shift) - 1) == 0 {
            self.ensure_chunk(chunk)?;
        }
        let at = self.address(n);
        // SAFETY: `ensure_chunk` mapped the chunk of record `n`; records below `len` are never written again, and
        // nobody reads this one before the index names it, so the single writer has it to itself.
        unsafe {
            std::ptr::copy_nonoverlapping(state.as_ptr(), at, state.len());
            std::ptr::copy_nonoverlapping(extra.as_ptr(), at.add(state.len()), extra.len());
        }
        Ok(n)
    }

    /// Lets the record written last count: the index names it.
    pub(super) fn publish(&self, n: u64) {
        self.len.store(n + 1, Ordering::Release);
    }

    /// Lets record `n` count, which the index names although its writer has not got so far yet.
    pub(super) fn reach(&self, n: u64) {
        if self.len() <= n {
            self.len.fetch_max(n + 1, Ordering::AcqRel);
        }
    }

    #[cold]
    fn ensure_chunk(&self, chunk: usize) -> Result<(), OverBudget> {
        // A poisoned lock means another thread died while mapping; the list itself is always consistent.
        let mut owned = self.owned.lock().unwrap_or_else(|e| e.into_inner());
        if chunk < owned.pages.len() {
            return Ok(()); // left over from a record that was not published, or from before a `clear`
        }
        let bytes = self.chunk_bytes();
        let full =
            OverBudget { what: "states", asked: bytes, available: 0, limit: owned.reservation.bytes() };
        let slot = self.chunks.get(chunk).ok_or(full)?;
        owned.reservation.try_grow(bytes)?;
        let pages = Pages::zeroed(self.record << self.shift).ok_or(full)?;
        slot.store(pages.start(), Ordering::Release);
        owned.pages.push(pages);
        Ok(())
    }
}
