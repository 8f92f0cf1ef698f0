//! The index of a table: one 64-bit entry per state, in buckets of one cache line.
//!
//! An entry holds where the state lies and 24 bits of its hash. Entries of a bucket are taken from the first on and never
//! given back; a full bucket goes on in the next.

use super::StateRef;
use super::pages::Pages;
use crate::governor::{Governor, OverBudget, Reservation};
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries per bucket: one cache line.
pub(super) const BUCKET: usize = 8;
/// The index grows when more than this share of its entries is used.
const MAX_LOAD: (u64, u64) = (13, 16);
/// Buckets of a new index.
pub(super) const FIRST_BUCKETS: u64 = 128;

#[derive(Debug)]
pub(super) struct Index {
    pages: Option<Pages>,
    pub(super) buckets: u64,
    reservation: Reservation,
}

#[inline]
fn tag_of(word: u64) -> u64 {
    word & 0xFF_FFFF
}

#[inline]
pub(super) fn entry_of(at: StateRef, h: u64) -> u64 {
    (at.0 + 1) << 24 | tag_of(h)
}

#[inline]
pub(super) fn ref_of(entry: u64) -> StateRef {
    StateRef((entry >> 24) - 1)
}

impl Index {
    /// An index of the first size.
    pub(super) fn new(governor: &Governor) -> Result<Self, OverBudget> {
        let mut index = Index { pages: None, buckets: 0, reservation: governor.empty("index of states") };
        index.allocate(FIRST_BUCKETS)?;
        Ok(index)
    }

    /// Gives up every entry and the memory.
    pub(super) fn give_up(&mut self) {
        self.pages = None;
        self.buckets = 0;
        self.reservation.shrink_to(0);
    }

    /// Enters a state that is not there.
    pub(super) fn enter(&self, h: u64, at: StateRef) {
        let mut bucket = self.home(h);
        loop {
            let entries = self.bucket(bucket);
            let seen = Seen::of(entries, h);
            if seen.free != 0 {
                entries[seen.free.trailing_zeros() as usize].store(entry_of(at, h), Ordering::Relaxed);
                return;
            }
            bucket = self.after(bucket);
        }
    }

    /// Replaces the index by an empty one. On error the old one is still there, or the system has no memory left.
    pub(super) fn allocate(&mut self, buckets: u64) -> Result<(), OverBudget> {
        let bytes = buckets * BUCKET as u64 * 8;
        self.reservation.try_resize(bytes)?;
        self.pages = None;
        self.buckets = 0;
        let none = OverBudget { what: "index of states", asked: bytes, available: 0, limit: bytes };
        self.pages = Some(Pages::zeroed(buckets as usize * BUCKET).ok_or(none)?);
        self.buckets = buckets;
        Ok(())
    }

    pub(super) fn holds(&self, states: u64) -> bool {
        states <= self.buckets * BUCKET as u64 / MAX_LOAD.1 * MAX_LOAD.0
    }

    /// Replaces the index by an empty larger one: twice the size, or what the budget still allows if that is enough
    /// for `needed` states and worth the rebuilding.
    pub(super) fn grow(&mut self, needed: u64, governor: &Governor) -> Result<(), OverBudget> {
        let free = governor.available() + self.reservation.bytes();
        let affordable = free / (BUCKET as u64 * 8);
        let wanted = self.buckets * 2;
        let least = self.buckets + self.buckets / 4;
        let enough = needed.div_ceil(BUCKET as u64) * MAX_LOAD.1 / MAX_LOAD.0 + 1;
        let buckets = wanted.max(enough).min(affordable.max(least.max(enough)));
        let bytes = buckets * BUCKET as u64 * 8;
        if bytes > free {
            return Err(OverBudget {
                what: "index of states",
                asked: bytes - self.reservation.bytes(),
                available: governor.available(),
                limit: governor.limit(),
            });
        }
        self.allocate(buckets)
    }

    /// Where the search for a hash begins.
    #[inline]
    pub(super) fn home(&self, h: u64) -> usize {
        ((u128::from(h) * u128::from(self.buckets)) >> 64) as usize
    }

    /// The next bucket, around the end.
    #[inline]
    pub(super) fn after(&self, bucket: usize) -> usize {
        if bucket + 1 < self.buckets as usize { bucket + 1 } else { 0 }
    }

    #[inline]
    pub(super) fn bucket(&self, bucket: usize) -> &[AtomicU64; BUCKET] {
        static NOTHING: [AtomicU64; BUCKET] = [const { AtomicU64::new(0) }; BUCKET];
        match &self.pages {
            // SAFETY: `bucket < self.buckets` by `home` and `after`; the mapping holds that many buckets of
            // zero-initialised words, which are valid atomics, and lives as long as `self` is borrowed.
            Some(pages) => unsafe { &*pages.start().add(bucket * BUCKET).cast() },
            None => &NOTHING,
        }
    }

    /// The first entry of the home bucket whose tag fits.
    #[inline]
    pub(super) fn likely(&self, h: u64) -> Option<StateRef> {
        let entries = self.bucket(self.home(h));
        let seen = Seen::of(entries, h);
        seen.candidates().next().map(|at| ref_of(entries[at].load(Ordering::Relaxed)))
    }
}

/// What one look at a bucket shows, a bit per entry. Computed without branches: where a state lies in its bucket cannot
/// be predicted.
pub(super) struct Seen {
    fits: u32,
    pub(super) free: u32,
}

impl Seen {
    #[inline]
    pub(super) fn of(entries: &[AtomicU64; BUCKET], h: u64) -> Self {
        let mut seen = Seen { fits: 0, free: 0 };
        for (at, entry) in entries.iter().enumerate() {
            let held = entry.load(Ordering::Acquire);
            seen.fits |= u32::from(tag_of(held) == tag_of(h)) << at;
            seen.free |= u32::from(held == 0) << at;
        }
        seen
    }

    /// The entries whose tag fits.
    #[inline]
    pub(super) fn candidates(&self) -> impl Iterator<Item = usize> {
        // A free entry looks like tag 0.
        let mut rest = self.fits & !self.free;
        std::iter::from_fn(move || {
            let at = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                at
            })
        })
    }
}

#[inline]
pub(super) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching is a hint and never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
