//! What the bucket of a state does not say of it: quotienting (D. E. Knuth, *The Art of Computer Programming* 3, 6.4,
//! exercise 13; J. G. Cleary, "Compact hash tables using bidirectional linear probing", 1984).
//!
//! States of one word are scattered by a permutation of their numbers. The bucket that a scattered state begins at says
//! its high bits; an entry with its low bits and its distance from that bucket is the whole state. So whether a state is
//! known is read off one cache line, and equality still decides.

use super::codes::{before, first_of, next_like};
use hadal_system::state::mask;

/// Low bits of a scattered state in an entry: 7 in the byte and 24 in the code.
const KEPT: u32 = 31;
const IN_BYTE: u32 = 7;
/// Bits of a code that say how far from its first bucket it lies, counted from 1: no code is 0.
const DISTANCE: u32 = 8;
/// How far from its first bucket a state may lie. Even in an index that is about to grow, runs of full buckets are hardly
/// ever half as long.
pub(super) const FARTHEST: u32 = if cfg!(test) { 2 } else { (1 << DISTANCE) - 2 };
/// No byte is 0.
const TAKEN: u64 = 1 << IN_BYTE;

/// How states of so many bits are scattered and cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remainders {
    bits: u32,
    /// What is folded down between multiplications.
    half: u32,
    mask: u64,
}

/// A scattered state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Scattered(u64);

impl Remainders {
    /// For states of one word whose lowest `bits` are used; no others fit an entry.
    pub(super) fn of(words: usize, bits: u32) -> Option<Self> {
        // Few bits would be scattered badly, and need not be few.
        let bits = bits.max(32);
        (words == 1 && bits <= 64).then(|| Remainders { bits, half: bits.div_ceil(2), mask: mask(bits) })
    }

    /// Whether a state has no other bits.
    #[inline]
    pub(super) fn holds(self, state: u64) -> bool {
        state & !self.mask == 0
    }

    /// So many buckets say all bits that an entry does not keep: at most `1 << KEPT` neighbours share a bucket, and those
    /// differ in their low bits.
    pub(super) fn least_buckets(self) -> u64 {
        1 << self.bits.saturating_sub(KEPT)
    }

    /// A permutation of the numbers of so many bits.
    #[inline]
    pub(super) fn scatter(self, state: u64) -> Scattered {
        let fold = |x: u64| x ^ x >> self.half;
        let x = fold(state).wrapping_mul(0x9E37_79B9_7F4A_7C15) & self.mask;
        let x = fold(x).wrapping_mul(0xD6E8_FEB8_6659_FD93) & self.mask;
        Scattered(fold(x))
    }

    /// The least scattered state that begins at one of so many buckets.
    #[inline]
    pub(super) fn least(self, (bucket, buckets): (u64, u64)) -> u64 {
        first_of(bucket, buckets, self.bits)
    }

    /// The scattered state of an entry in one of so many buckets, of which also the [least](Remainders::least) is given.
    #[inline]
    pub(super) fn entered(self, (bucket, buckets): (u64, u64), least: u64, byte: u8, code: u64) -> Scattered {
        let low = code >> DISTANCE << IN_BYTE | u64::from(byte) & mask(IN_BYTE);
        let least = match (code & mask(DISTANCE)) - 1 {
            0 => least,
            distance => self.least((before(bucket, distance, buckets), buckets)),
        };
        Scattered(next_like(least, low, mask(KEPT)))
    }

    /// The scattered state as a hash: the share of buckets that lie before its first one.
    #[inline]
    pub(super) fn hash(self, Scattered(x): Scattered) -> u64 {
        x << (64 - self.bits)
    }
}

impl Scattered {
    /// The byte of its entry.
    #[inline]
    pub(super) fn byte(self) -> u8 {
        (TAKEN | self.0 & mask(IN_BYTE)) as u8
    }

    /// The code of its entry in its first bucket; that in the n-th behind is greater by n.
    #[inline]
    pub(super) fn code(self) -> u64 {
        (self.0 >> IN_BYTE & mask(KEPT - IN_BYTE)) << DISTANCE | 1
    }

    /// The code of its entry so many buckets behind, where there is one.
    #[inline]
    pub(super) fn code_behind(self, distance: u64) -> Option<u64> {
        (distance <= u64::from(FARTHEST)).then(|| self.code() + distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;
    use std::collections::HashSet;

    #[test]
    fn scattering_is_a_permutation() {
        let of_few = Remainders { bits: 12, half: 6, mask: mask(12) };
        let images: HashSet<Scattered> = (0..1 << 12).map(|state| of_few.scatter(state)).collect();
        assert!(images.len() == 1 << 12 && images.iter().all(|image| image.0 < 1 << 12));
        assert!(Remainders::of(2, 70).is_none());
    }

    /// Whatever the number of buckets, two states never have the same entry in the same first bucket: their scattered
    /// forms are neighbours there, and nearer to one another than low bits repeat.
    #[test]
    fn bucket_and_entry_are_the_whole_state() {
        let mut random = Random::new(5);
        for _ in 0..if cfg!(miri) { 200 } else { 100_000 } {
            let bits = 32 + random.below(33) as u32;
            let remainders = Remainders::of(1, bits).unwrap();
            let buckets = remainders.least_buckets() + random.below(remainders.least_buckets());
            let first = |x: Scattered| ((u128::from(remainders.hash(x)) * u128::from(buckets)) >> 64) as u64;
            let one = Scattered(random.bits() & remainders.mask);
            let distance = random.below(u64::from(FARTHEST) + 1);
            let code = one.code_behind(distance).expect("it is near enough");
            let bucket = (first(one) + distance) % buckets;
            let least = remainders.least((bucket, buckets));
            let entered = remainders.entered((bucket, buckets), least, one.byte(), code);
            assert_eq!(entered, one, "{bits} bits");
            // The nearest one with the same low bits.
            let Some(other) = one.0.checked_add(1 << KEPT).filter(|&other| remainders.holds(other)) else {
                continue;
            };
            let other = Scattered(other);
            assert_eq!((one.byte(), one.code()), (other.byte(), other.code()));
            assert_ne!(first(one), first(other), "{bits} bits, {buckets} buckets");
        }
    }
}
