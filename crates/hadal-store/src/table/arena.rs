//! States in the order in which one writer found them, in chunks that never move.
//!
//! One thread appends. A record becomes visible in two steps: the index entry that names it, then the arena's length.
//! Any thread may read a record whose number it has from either, by an acquiring load.

use super::pages::Pages;
use crate::governor::{Governor, OverBudget, Reservation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Append-only records of a fixed number of bytes.
#[derive(Debug)]
pub(super) struct Arena {
    /// Bytes of a record.
    record: usize,
    /// Records per chunk, a power of two: `1 << shift`.
    shift: u32,
    chunks: Box<[AtomicPtr<u8>]>,
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
    /// An empty arena for records of `record` bytes, in chunks of at most `chunk_bytes` or one record; as many of them as
    /// the budget allows.
    pub(super) fn new(record: usize, chunk_bytes: usize, governor: &Governor) -> Self {
        let shift = (chunk_bytes / record).max(1).ilog2();
        // Chunks are rounded down to a power of two of records, so there may be twice as many.
        let each = (record as u64) << shift;
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
        (self.record as u64) << self.shift
    }

    /// Where the n-th record lies, where it has that many.
    #[inline]
    pub(super) fn record(&self, n: u64) -> *const u8 {
        assert!(n < self.len(), "no such record");
        // SAFETY: `n` is below `len`.
        unsafe { self.address(n) }
    }

    /// Where record `n` lies. It is fully written, and never written again.
    ///
    /// # Safety
    /// `n` was read from the index, or is below `len`.
    #[inline]
    pub(super) unsafe fn address(&self, n: u64) -> *const u8 {
        // SAFETY: a record was written before its number could be known, so its chunk is in the list. Chunks stay
        // mapped as long as the arena lives.
        let chunk = unsafe { self.chunks.get_unchecked((n >> self.shift) as usize) }.load(Ordering::Acquire);
        chunk.wrapping_add((n & ((1 << self.shift) - 1)) as usize * self.record)
    }

    /// Forgets all records, keeps the chunks.
    pub(super) fn clear(&mut self) {
        *self.len.get_mut() = 0;
    }

    /// Room for a record behind the last one, and its number. It counts once it is [published](Arena::publish); until then
    /// the next one takes its place.
    ///
    /// # Safety
    /// No other thread writes to this arena meanwhile. Whoever writes to the room stays within a record.
    #[inline]
    pub(super) unsafe fn next(&self) -> Result<(u64, *mut u8), OverBudget> {
        let n = self.len.load(Ordering::Relaxed);
        let inside = n & ((1 << self.shift) - 1);
        let chunk = (n >> self.shift) as usize;
        if inside == 0 {
            self.ensure_chunk(chunk)?;
        }
        // Records below `len` are never written again, and nobody reads this one before the index names it, so the single
        // writer has it to itself.
        Ok((n, self.chunks[chunk].load(Ordering::Relaxed).wrapping_add(inside as usize * self.record)))
    }

    /// Lets the record written last count: the index names it.
    #[inline]
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
        let pages = Pages::zeroed((self.record << self.shift).div_ceil(8)).ok_or(full)?;
        slot.store(pages.start().as_ptr().cast(), Ordering::Release);
        owned.pages.push(pages);
        Ok(())
    }
}
