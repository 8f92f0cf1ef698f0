//! A bucket of the index: one cache line with a byte of hash for each entry, side by side, and where each state lies.
//!
//! All bytes of hash are compared at once. They are loaded as two atomic words, so no thread ever reads what another one
//! is writing otherwise than by atomics. A byte is 0 as long as its entry is free; entries are taken from the first on
//! and never given back. Whoever takes one writes where the state lies first and the byte last; another thread that
//! comes between sees a free entry that it cannot take, and writes the byte itself.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A line of entries. Codes say where a state lies; none is 0.
pub(super) trait Bucket: Sized + Sync + 'static {
    /// Entries.
    const ENTRIES: usize;
    /// Bits of a code.
    const CODE_BITS: u32;
    /// A line whose entries are free.
    fn free() -> &'static [Self; 1];

    /// Which entries have this byte, and which are free.
    fn look(&self, byte: u8) -> Seen;

    /// The code in an entry whose byte was seen.
    fn code(&self, entry: usize) -> u64;

    /// Takes an entry, for one who is alone with the index.
    fn enter(&self, entry: usize, code: u64, byte: u8);

    /// Takes a free entry for a code, or says whose it is.
    fn claim(&self, entry: usize, code: u64) -> Result<(), u64>;

    /// Lets a claimed entry be seen; any number of threads may.
    fn reveal(&self, entry: usize, byte: u8);

    /// Gives up all entries, for one who is alone with the line, and tells of the byte and the code of each.
    fn take_out(&self, told: impl FnMut(u8, u64));
}

/// What one look at a bucket shows, a bit per entry.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) fits: u32,
    pub(super) free: u32,
}

impl Seen {
    /// Compares the bytes of two words, the lowest first, with `byte` and with 0.
    #[inline]
    fn of(low: u64, high: u64, byte: u8, entries: usize) -> Self {
        let all = (1 << entries) - 1;
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;
            // SAFETY: SSE2 belongs to every x86-64 processor.
            let (fits, free) = unsafe {
                let bytes = _mm_set_epi64x(high as i64, low as i64);
                let fits = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8)));
                (fits, _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())))
            };
            Seen { fits: fits as u32 & all, free: free as u32 & all }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let mut seen = Seen { fits: 0, free: 0 };
            let bytes = low.to_le_bytes().into_iter().chain(high.to_le_bytes());
            for (entry, held) in bytes.enumerate() {
                seen.fits |= u32::from(held == byte) << entry;
                seen.free |= u32::from(held == 0) << entry;
            }
            Seen { fits: seen.fits & all, free: seen.free & all }
        }
    }
}

/// Twelve entries of 32 bits: all that most tables ever need.
#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct Narrow {
    bytes: [AtomicU64; 2],
    codes: [AtomicU32; 12],
}

/// Seven entries of 64 bits, for tables of more than four billion states.
#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct Wide {
    bytes: AtomicU64,
    codes: [AtomicU64; 7],
}

impl Bucket for Narrow {
    const ENTRIES: usize = 12;
    const CODE_BITS: u32 = 32;

    fn free() -> &'static [Self; 1] {
        static FREE: [Narrow; 1] =
            [Narrow { bytes: [const { AtomicU64::new(0) }; 2], codes: [const { AtomicU32::new(0) }; 12] }];
        &FREE
    }

    #[inline]
    fn look(&self, byte: u8) -> Seen {
        let (low, high) = (self.bytes[0].load(Ordering::Acquire), self.bytes[1].load(Ordering::Acquire));
        Seen::of(low, high, byte, Self::ENTRIES)
    }

    #[inline]
    fn code(&self, entry: usize) -> u64 {
        u64::from(self.codes[entry].load(Ordering::Relaxed))
    }

    #[inline]
    fn enter(&self, entry: usize, code: u64, byte: u8) {
        self.codes[entry].store(code as u32, Ordering::Relaxed);
        enter_byte(&self.bytes[entry / 8], entry % 8, byte);
    }

    #[inline]
    fn claim(&self, entry: usize, code: u64) -> Result<(), u64> {
        let claimed = self.codes[entry].compare_exchange(0, code as u32, Ordering::AcqRel, Ordering::Acquire);
        claimed.map(drop).map_err(u64::from)
    }

    #[inline]
    fn reveal(&self, entry: usize, byte: u8) {
        self.bytes[entry / 8].fetch_or(u64::from(byte) << (entry % 8 * 8), Ordering::AcqRel);
    }

    #[inline]
    fn take_out(&self, mut told: impl FnMut(u8, u64)) {
        for (word, codes) in self.bytes.iter().zip(self.codes.chunks(8)) {
            let bytes = word.load(Ordering::Relaxed);
            word.store(0, Ordering::Relaxed);
            for (code, byte) in codes.iter().zip(bytes.to_le_bytes()).take_while(|(_, byte)| *byte != 0) {
                told(byte, u64::from(code.load(Ordering::Relaxed)));
                code.store(0, Ordering::Relaxed);
            }
        }
    }
}

impl Bucket for Wide {
    const ENTRIES: usize = 7;
    const CODE_BITS: u32 = 64;

    fn free() -> &'static [Self; 1] {
        static FREE: [Wide; 1] = [Wide { bytes: AtomicU64::new(0), codes: [const { AtomicU64::new(0) }; 7] }];
        &FREE
    }

    #[inline]
    fn look(&self, byte: u8) -> Seen {
        Seen::of(self.bytes.load(Ordering::Acquire), 0, byte, Self::ENTRIES)
    }

    #[inline]
    fn code(&self, entry: usize) -> u64 {
        self.codes[entry].load(Ordering::Relaxed)
    }

    #[inline]
    fn enter(&self, entry: usize, code: u64, byte: u8) {
        self.codes[entry].store(code, Ordering::Relaxed);
        enter_byte(&self.bytes, entry, byte);
    }

    #[inline]
    fn claim(&self, entry: usize, code: u64) -> Result<(), u64> {
        self.codes[entry].compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    #[inline]
    fn reveal(&self, entry: usize, byte: u8) {
        self.bytes.fetch_or(u64::from(byte) << (entry * 8), Ordering::AcqRel);
    }

    #[inline]
    fn take_out(&self, mut told: impl FnMut(u8, u64)) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        for (code, byte) in self.codes.iter().zip(bytes.to_le_bytes()).take_while(|(_, byte)| *byte != 0) {
            told(byte, code.load(Ordering::Relaxed));
            code.store(0, Ordering::Relaxed);
        }
    }
}

#[inline]
fn enter_byte(word: &AtomicU64, at: usize, byte: u8) {
    let others = word.load(Ordering::Relaxed);
    word.store(others | u64::from(byte) << (at * 8), Ordering::Release);
}
