//! A filter of hashes: it knows that a state was never added, and never that it was.
//!
//! Each hash has its bits in one cache line. It saves asking the closed set about states that are certainly new; it
//! decides nothing else.

use crate::{Governor, OverBudget, Reservation};
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a line.
const LINE: usize = 8;
/// Bits set for each hash.
const BITS: u32 = 4;

/// A set of hashes that errs on the side of "perhaps there". Threads may add at the same time.
#[derive(Debug)]
pub struct NewnessFilter {
    words: Vec<AtomicU64>,
    lines: u64,
    _memory: Reservation,
}

impl NewnessFilter {
    /// An empty filter of at most `bytes`, at least one line.
    pub fn new(bytes: u64, governor: &Governor) -> Result<Self, OverBudget> {
        let lines = (bytes / (8 * LINE as u64)).max(1);
        let _memory = governor.try_reserve(lines * 8 * LINE as u64, "filter")?;
        let words = (0..lines as usize * LINE).map(|_| AtomicU64::new(0)).collect();
        Ok(NewnessFilter { words, lines, _memory })
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> u64 {
        self.lines * 8 * LINE as u64
    }

    /// Adds a hash. `true` means that it was certainly not added before.
    #[inline]
    pub fn add(&self, hash: u64) -> bool {
        let line = ((u128::from(hash) * u128::from(self.lines)) >> 64) as usize * LINE;
        // The high bits chose the line: the rest comes from another mixture of all of them.
        let mut bits = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (hash >> 29);
        let mut new = false;
        for _ in 0..BITS {
            let (word, bit) = (bits as usize % LINE, 1 << (bits >> 3 & 63));
            bits >>= 9;
            // Most bits are set already when the filter is well filled: looking first saves writing to the line.
            let word = &self.words[line + word];
            if word.load(Ordering::Relaxed) & bit == 0 {
                new |= word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_system::state::hash;

    #[test]
    fn what_was_added_is_never_called_new_and_few_others_are_taken_for_old() {
        let filter = NewnessFilter::new(16 << 10, &Governor::new(1 << 20)).unwrap();
        let new = (0..10_000u64).filter(|&n| filter.add(hash(&[n]))).count();
        assert!((0..10_000u64).all(|n| !filter.add(hash(&[n]))));
        // 13 bits for each: about one in fifty looks old when the last are added, fewer before.
        assert!(new > 9_800, "{new}");
    }

    #[test]
    fn a_full_filter_calls_nothing_new() {
        let filter = NewnessFilter::new(64, &Governor::new(1 << 20)).unwrap();
        (0..10_000u64).for_each(|n| {
            filter.add(hash(&[n]));
        });
        assert!((10_000..20_000u64).all(|n| !filter.add(hash(&[n]))));
    }
}
