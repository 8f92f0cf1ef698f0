//! The index of a table: where the state of a hash may lie, in [buckets](super::bucket) of one cache line. A full bucket
//! goes on in the next.
//!
//! Growing keeps the memory: address space for the largest index that the budget allows is set aside, and more of it is
//! used each time, so the system clears every page once and [entries move](super::splitting) within it.

use super::bucket::{Bucket, Seen};
use super::codes::{Codes, CutHash};
use super::pages::{Before, Pages};
use crate::governor::{Governor, OverBudget, Reservation};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes of a bucket.
const LINE: u64 = 64;
/// The index grows when more than this share of its entries is used.
const MAX_LOAD: (u64, u64) = (7, 8);
/// Buckets of a new index.
const FIRST_BUCKETS: u64 = 128;
/// A larger index grows by half instead of twice: fewer bytes stay unused, at the price of entering states more often.
const BY_HALF_FROM: u64 = 1 << 16;

#[derive(Debug)]
pub(super) struct Index<B> {
    pages: Option<Pages>,
    buckets: u64,
    /// Bits that name a writer in a place.
    writer_bits: u32,
    codes: Codes,
    reservation: Reservation,
    kind: PhantomData<B>,
}

/// The buckets to look into. No slice: a reference to all of them for every look is what Miri would check each time.
pub(super) struct Lines<'i, B> {
    start: NonNull<B>,
    len: usize,
    pub(super) codes: Codes,
    scale: u64,
    index: PhantomData<&'i [B]>,
}

// SAFETY: it stands for a shared slice of buckets.
unsafe impl<B: Sync> Sync for Lines<'_, B> {}

impl<B: Bucket> Index<B> {
    /// An index of the first size, whose places name writers with so many bits.
    pub(super) fn new(writer_bits: u32, governor: &Governor) -> Result<Self, OverBudget> {
        let mut index = Index {
            pages: None,
            buckets: 0,
            writer_bits,
            codes: Codes::of(0, B::CODE_BITS, writer_bits),
            reservation: governor.empty("index of states"),
            kind: PhantomData,
        };
        index.start_again(governor)?;
        Ok(index)
    }

    /// Gives up every entry and the memory.
    pub(super) fn give_up(&mut self) {
        self.pages = None;
        self.buckets = 0;
        self.codes = Codes::of(0, B::CODE_BITS, self.writer_bits);
        self.reservation.shrink_to(0);
    }

    /// Gives up every entry; the size is the first again.
    pub(super) fn start_again(&mut self, governor: &Governor) -> Result<(), OverBudget> {
        self.give_up();
        self.allocate(FIRST_BUCKETS, governor).map(drop)
    }

    /// How codes are put together.
    pub(super) fn codes(&self) -> Codes {
        self.codes
    }

    /// Makes the index larger; says whether the entries there were are where they were. On error the old one is still there.
    fn allocate(&mut self, buckets: u64, governor: &Governor) -> Result<Before, OverBudget> {
        let bytes = buckets * LINE;
        let (before, none) = (
            self.reservation.bytes(),
            OverBudget { what: "index of states", asked: bytes, available: 0, limit: bytes },
        );
        self.reservation.try_resize(bytes)?;
        let pages = match &mut self.pages {
            Some(pages) => Some(pages),
            none => Pages::set_aside(governor.limit()).map(|pages| none.insert(pages)),
        };
        let Some(entries) = pages.and_then(|pages| pages.use_more(bytes as usize)) else {
            self.reservation.shrink_to(before);
            return Err(none);
        };
        self.buckets = buckets;
        self.codes = Codes::of(buckets, B::CODE_BITS, self.writer_bits);
        Ok(entries)
    }

    /// Gives up every entry, keeps the memory.
    pub(super) fn clear(&mut self) {
        if let Some(pages) = &mut self.pages {
            pages.clear();
        }
    }

    /// How many buckets it has.
    pub(super) fn buckets(&self) -> u64 {
        self.buckets
    }

    /// How many states it takes.
    pub(super) fn capacity(&self) -> u64 {
        self.buckets * B::ENTRIES as u64 / MAX_LOAD.1 * MAX_LOAD.0
    }

    /// Makes the index larger: a half more or twice the size, or what the budget still allows if that is enough for
    /// `needed` states and worth the rebuilding. Its first buckets are the old ones, or empty as the others.
    pub(super) fn grow(&mut self, needed: u64, governor: &Governor) -> Result<Before, OverBudget> {
        let free = governor.available() + self.reservation.bytes();
        let affordable = free / LINE;
        let wanted = if self.buckets < BY_HALF_FROM { self.buckets * 2 } else { self.buckets / 2 * 3 };
        let least = self.buckets + self.buckets / 4;
        let enough = needed.div_ceil(B::ENTRIES as u64 * MAX_LOAD.0) * MAX_LOAD.1 + 1;
        let buckets = wanted.max(enough).min(affordable.max(least.max(enough)));
        let bytes = buckets * LINE;
        if bytes > free {
            return Err(OverBudget {
                what: "index of states",
                asked: bytes - self.reservation.bytes(),
                available: governor.available(),
                limit: governor.limit(),
            });
        }
        self.allocate(buckets, governor)
    }

    /// The buckets; a free one where the index was given up.
    #[inline]
    pub(super) fn lines(&self) -> Lines<'_, B> {
        let (start, len) = match &self.pages {
            Some(pages) => (pages.start().cast(), self.buckets as usize),
            None => (NonNull::from(B::free()).cast(), 1),
        };
        Lines { start, len, codes: self.codes, scale: self.codes.scale(), index: PhantomData }
    }
}

impl<B: Bucket> Lines<'_, B> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where the search for a state begins.
    #[inline]
    pub(super) fn home(&self, h: CutHash) -> usize {
        ((u128::from(h.0) * u128::from(self.scale)) >> 64) as usize
    }

    /// The bucket before which this share of all buckets lies.
    #[inline]
    pub(super) fn share(&self, h: u64) -> usize {
        ((u128::from(h) * self.len as u128) >> 64) as usize
    }

    /// The next bucket, around the end.
    #[inline]
    pub(super) fn after(&self, bucket: usize) -> usize {
        if bucket + 1 < self.len { bucket + 1 } else { 0 }
    }

    /// The bucket numbered by [`Lines::home`] or [`Lines::after`].
    #[inline]
    pub(super) fn at(&self, bucket: usize) -> &B {
        debug_assert!(bucket < self.len);
        // SAFETY: both numbers are below the length, which is not 0. The mapping holds that many buckets, which were zero at
        // first, that is free, and are changed through atomics only as long as the index is borrowed; pages are aligned
        // to more than a line.
        unsafe { self.start.add(bucket).as_ref() }
    }

    /// Enters a state that is not there, for one who is alone with the index.
    #[inline]
    pub(super) fn enter(&self, h: CutHash, place: u64) {
        let (mut bucket, mut distance) = (self.home(h), 0);
        loop {
            let Seen { free, .. } = self.at(bucket).look(h.byte());
            if free != 0 {
                let code = self.codes.code(h, place, distance);
                return self.at(bucket).enter(free.trailing_zeros() as usize, code, h.byte());
            }
            (bucket, distance) = (self.after(bucket), distance + 1);
        }
    }

    /// Enters a state that is not there and that nobody else enters, while others enter theirs.
    #[inline]
    pub(super) fn enter_beside_others(&self, h: CutHash, place: u64) {
        let (mut bucket, mut distance) = (self.home(h), 0);
        loop {
            let Seen { free, .. } = self.at(bucket).look(h.byte());
            if free == 0 {
                (bucket, distance) = (self.after(bucket), distance + 1);
                continue;
            }
            let entry = free.trailing_zeros() as usize;
            if self.at(bucket).claim(entry, self.codes.code(h, place, distance)).is_ok() {
                return self.at(bucket).reveal(entry, h.byte());
            }
            // Whoever claimed it is about to reveal it.
            std::thread::yield_now();
        }
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
