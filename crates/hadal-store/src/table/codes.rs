//! What an entry of the index says: where a state lies and, of its hash, what its bucket does not say. So entries of a
//! larger index follow from those of a smaller one, and no state is looked at ([splitting](super::splitting)).
//!
//! The search for a state begins at a share of the buckets that the high bits of its hash name. That bucket, the byte and
//! the code of an entry together are all of those bits: as the index grows, a bucket says more of them and a code less,
//! and a place takes the bits that become free.

use hadal_system::state::mask;

/// Bits of a code that say how far from its first bucket an entry lies.
const DISTANCE: u32 = 4;
/// Entries a bucket has at most, in bits, with room for writers' numbers of states that are never counted: a place takes so
/// many bits more than the number of a bucket.
const IN_BUCKET: u32 = 5;
/// Bits of a cut hash beyond those of a bucket, at least: those of the byte. Larger indexes have no room for the rest.
const BEYOND: u32 = 8;
/// Bits of a hash that are dropped where entries do not say the rest.
const DROPPED: u32 = 8;

/// How hashes are cut, and codes put together, in an index of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codes {
    buckets: u64,
    /// Bits of a hash that are dropped; the others are the cut hash.
    shift: u32,
    /// Bits of a code that hold a place. The distance is above them, and the kept part of the cut hash at the top.
    place_bits: u32,
    /// What a code keeps of a cut hash above its byte.
    kept: u64,
    /// The bits of a code that are a place.
    place: u64,
    /// The distance that stands for all from there on; 0 where codes are places only.
    far: u64,
}

/// What a hash is cut to. Its lowest byte is never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CutHash(pub(super) u64);

impl CutHash {
    /// The byte that is compared first.
    #[inline]
    pub(super) fn byte(self) -> u8 {
        self.0 as u8
    }
}

impl Codes {
    /// For an index of so many buckets with codes of `bits`, whose places name writers with `writer_bits`.
    pub(super) fn of(buckets: u64, bits: u32, writer_bits: u32) -> Self {
        let size = buckets.max(1).ilog2();
        let place_bits = size + IN_BUCKET + writer_bits;
        let hash_bits = bits + 8 - DISTANCE - IN_BUCKET - writer_bits;
        if size + BEYOND > hash_bits {
            let place_bits = bits.min(60);
            return Codes { buckets, shift: DROPPED, place_bits, kept: 0, place: mask(place_bits), far: 0 };
        }
        let kept = mask(hash_bits - size - BEYOND);
        let (shift, place, far) = (64 - hash_bits, mask(place_bits), mask(DISTANCE));
        Codes { buckets, shift, place_bits, kept, place, far }
    }

    /// Whether codes of an index of this kind become those of another size.
    pub(super) fn continues_in(self, other: Codes) -> bool {
        self.buckets > 0 && self.far > 0 && self.shift == other.shift
    }

    /// The number that a hash, multiplied with it, is a bucket's number in the high half of.
    #[inline]
    pub(super) fn scale(self) -> u64 {
        self.buckets.max(1) << self.shift
    }

    /// What is used of a hash.
    #[inline]
    pub(super) fn cut(self, h: u64) -> CutHash {
        let cut = h >> self.shift;
        CutHash(cut | u64::from(cut as u8 == 0))
    }

    /// The greatest place.
    pub(super) fn most(self) -> u64 {
        self.place
    }

    /// The code of an entry so many buckets behind the first one.
    #[inline]
    pub(super) fn code(self, CutHash(h): CutHash, place: u64, distance: u64) -> u64 {
        ((h >> 8 & self.kept) << DISTANCE | distance.min(self.far)) << self.place_bits | place
    }

    /// Where the state of an entry lies.
    #[inline]
    pub(super) fn place(self, code: u64) -> u64 {
        code & self.place
    }

    /// The least cut hash that begins at a bucket.
    #[inline]
    pub(super) fn least(self, bucket: u64) -> u64 {
        first_of(bucket, self.buckets, 64 - self.shift)
    }

    /// The cut hash of an entry in a bucket, of which also the [least](Codes::least) is given; `None` where it lies too far
    /// from its first bucket to say that.
    #[inline]
    pub(super) fn hash(self, (bucket, least): (u64, u64), byte: u8, code: u64) -> Option<CutHash> {
        let said = code >> self.place_bits;
        let low = said >> DISTANCE << 8 | u64::from(byte);
        let least = match said & mask(DISTANCE) {
            0 => least,
            distance if distance == self.far => return None,
            distance => self.least(before(bucket, distance, self.buckets)),
        };
        Some(CutHash(next_like(least, low, self.kept << 8 | 0xFF)))
    }
}

/// The bucket so many before this one, around the beginning.
#[inline]
pub(super) fn before(bucket: u64, distance: u64, buckets: u64) -> u64 {
    if bucket < distance { bucket + buckets - distance } else { bucket - distance }
}

/// Of the numbers of `bits` bits that are shared out evenly to so many buckets, the first in this bucket.
#[inline]
pub(super) fn first_of(bucket: u64, buckets: u64, bits: u32) -> u64 {
    match bucket.leading_zeros() > bits {
        true => (bucket << bits).div_ceil(buckets),
        false => (u128::from(bucket) << bits).div_ceil(u128::from(buckets)) as u64,
    }
}

/// The first number from `least` on that is `low` where `known` has bits.
#[inline]
pub(super) fn next_like(least: u64, low: u64, known: u64) -> u64 {
    least.wrapping_add(low.wrapping_sub(least) & known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    /// Sizes as an index has them: powers of two, halves between, whatever the budget allows.
    fn sizes(random: &mut Random) -> u64 {
        let size = 1 << (7 + random.below(17));
        match random.below(3) {
            0 => size,
            1 => size / 2 * 3,
            _ => size + random.below(size),
        }
    }

    #[test]
    fn bucket_and_entry_say_place_and_cut_hash() {
        let mut random = Random::new(3);
        for _ in 0..if cfg!(miri) { 200 } else { 100_000 } {
            let (bits, writer_bits) = ([32, 64][random.below(2) as usize], random.below(3) as u32);
            let buckets = sizes(&mut random);
            let codes = Codes::of(buckets, bits, writer_bits);
            let cut = codes.cut(random.bits());
            assert_ne!(cut.byte(), 0);
            let home = ((u128::from(cut.0) * u128::from(codes.scale())) >> 64) as u64;
            assert!(home < buckets);
            let place = 1 + random.below(codes.most());
            let distance = random.below(20);
            let code = codes.code(cut, place, distance);
            assert!(bits == 64 || code <= u64::from(u32::MAX), "{buckets} buckets");
            assert_eq!(codes.place(code), place);
            let bucket = (home + distance) % buckets;
            let expected = (codes.far > distance).then_some(cut);
            if codes.far > 0 {
                let near = (bucket, codes.least(bucket));
                assert_eq!(codes.hash(near, cut.byte(), code), expected, "{buckets} buckets");
            }
        }
    }

    #[test]
    fn places_of_all_states_of_a_full_index_fit_their_codes() {
        for (buckets, writer_bits) in (7..29).flat_map(|size| (0..=6).map(move |bits| (1u64 << size, bits))) {
            for buckets in [buckets, buckets / 2 * 3, buckets * 2 - 1] {
                for (bits, entries) in [(32, 12), (64, 7)] {
                    let codes = Codes::of(buckets, bits, writer_bits);
                    let states = buckets * entries;
                    let fits = (states << writer_bits) <= codes.most();
                    assert!(fits || codes.far == 0, "{buckets} buckets, {writer_bits} bits of writers");
                }
            }
        }
    }
}
