//! Zones as fixed-width codes in the low words of a state: smaller codes are tighter bounds, no bound is the largest.

use hadal_system::state::get_bits;

use super::dbm::{INFINITY, Zone, strict, weak};

/// How zones are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    size: usize,
    /// The bound with code 0.
    least: i32,
    /// Bits of an entry.
    width: u32,
}

impl Packing {
    /// For zones of this many clocks (the reference included) with finite bounds between `< -below` and `<= above`.
    pub(crate) fn new(size: usize, below: i64, above: i64) -> Self {
        let least = strict(-(below as i32));
        let codes = i64::from(weak(above as i32)) - i64::from(least) + 2;
        Packing { size, least, width: 64 - (codes as u64 - 1).leading_zeros() }
    }

    /// Words of a zone.
    pub(crate) fn words(&self) -> usize {
        (self.bits() as usize).div_ceil(64)
    }

    /// Bits of a zone.
    pub(crate) fn bits(&self) -> u32 {
        (self.size * (self.size - 1)) as u32 * self.width
    }

    fn infinite(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The least code that no tighter bound than this one has.
    pub(crate) fn code(&self, bound: i32) -> u64 {
        if bound == INFINITY {
            return self.infinite();
        }
        (i64::from(bound) - i64::from(self.least)).clamp(0, self.infinite() as i64) as u64
    }

    /// The code of an entry.
    #[inline]
    pub(crate) fn code_at(&self, state: &[u64], offset: u32) -> u64 {
        get_bits(state, offset, self.width)
    }

    /// Where the entry (i, j) starts.
    #[inline]
    pub(crate) fn offset(&self, i: usize, j: usize) -> u32 {
        let at = i * (self.size - 1) + if j > i { j - 1 } else { j };
        at as u32 * self.width
    }

    /// Packs a zone into the first words; false where a bound does not fit.
    pub(crate) fn pack(&self, zone: &Zone, words: &mut [u64]) -> bool {
        let (n, most) = (self.size, self.infinite());
        let (mut have, mut held, mut at, mut fits) = (0u32, 0u64, 0usize, true);
        let bounds = zone.bounds();
        for i in 0..n {
            for j in 0..n {
                if i == j {
                    continue;
                }
                let bound = bounds[i * n + j];
                let code = if bound == INFINITY {
                    most
                } else {
                    let code = i64::from(bound) - i64::from(self.least);
                    fits &= code >= 0 && (code as u64) < most;
                    code as u64 & most
                };
                held |= code << have;
                have += self.width;
                if have >= 64 {
                    words[at] = held;
                    at += 1;
                    have -= 64;
                    held = if have == 0 { 0 } else { code >> (self.width - have) };
                }
            }
        }
        if have > 0 {
            words[at] = held;
        }
        fits
    }

    /// The zone in the first words.
    pub(crate) fn unpack(&self, words: &[u64], zone: &mut Zone) {
        let (n, most, width) = (self.size, self.infinite(), self.width);
        // What is left of the word before, and how many bits that is.
        let (mut held, mut have) = (0u64, 0u32);
        let mut words = words.iter();
        let bounds = zone.bounds_mut();
        for (i, row) in bounds.chunks_exact_mut(n).enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                if i == j {
                    *entry = weak(0);
                    continue;
                }
                let code = if have >= width {
                    let code = held & most;
                    held >>= width;
                    have -= width;
                    code
                } else {
                    let next = words.next().copied().unwrap_or(0);
                    let (code, used) = ((held | next << have) & most, width - have);
                    held = next.checked_shr(used).unwrap_or(0);
                    have = 64 - used;
                    code
                };
                *entry = if code == most { INFINITY } else { self.least + code as i32 };
            }
        }
    }
}
