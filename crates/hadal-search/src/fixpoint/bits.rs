//! A bitmap that threads change together.

use hadal_store::{Governor, OverBudget, Reservation};
use std::sync::atomic::{AtomicU64, Ordering};

/// A set of numbers.
pub(super) struct Bits {
    words: Vec<AtomicU64>,
    _memory: Reservation,
}

impl Bits {
    /// The empty set of numbers below `size`.
    pub(super) fn new(size: u64, governor: &Governor) -> Result<Self, OverBudget> {
        let words = size.div_ceil(64) as usize;
        let memory = governor.try_reserve(8 * words as u64, "sets of states")?;
        Ok(Bits { words: (0..words).map(|_| AtomicU64::new(0)).collect(), _memory: memory })
    }

    #[inline]
    pub(super) fn get(&self, at: u64) -> bool {
        self.words[(at / 64) as usize].load(Ordering::Relaxed) >> (at % 64) & 1 == 1
    }

    /// Adds a number; whether it was not there.
    #[inline]
    pub(super) fn set(&self, at: u64) -> bool {
        let mask = 1 << (at % 64);
        self.words[(at / 64) as usize].fetch_or(mask, Ordering::Relaxed) & mask == 0
    }

    #[inline]
    pub(super) fn clear(&self, at: u64) {
        self.words[(at / 64) as usize].fetch_and(!(1 << (at % 64)), Ordering::Relaxed);
    }

    pub(super) fn clear_all(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// All of it, word by word.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Replaces a word; one past the end is left out.
    pub(super) fn put_word(&self, at: usize, word: u64) {
        if let Some(held) = self.words.get(at) {
            held.store(word, Ordering::Relaxed);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }
}
