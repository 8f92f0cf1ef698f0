//! Packed states: the one order and the one hash used everywhere.
//!
//! A state is a fixed number of 64-bit words read as one large integer, word 0 least significant. That integer's
//! order is the sort order of every table, run and diagram.

use std::cmp::Ordering;

/// Compares two states of the same width in hadal's sort order.
#[inline]
pub fn compare(a: &[u64], b: &[u64]) -> Ordering {
    debug_assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().rev().zip(b.iter().rev()) {
        match x.cmp(y) {
            Ordering::Equal => {}
            decided => return decided,
        }
    }
    Ordering::Equal
}

const K: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03, 0xA24B_AED4_963E_E407];

/// Hashes a state. Stable across runs and machines: files may depend on it.
#[inline]
pub fn hash(state: &[u64]) -> u64 {
    let mut h = K[0] ^ state.len() as u64;
    for &word in state {
        h = fold(h ^ word, K[1]);
    }
    fold(h ^ K[2], K[0])
}

/// Folds the 128-bit product: every input bit reaches every output bit.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Reads `width` bits (at most 64) that start at `offset`.
#[inline]
pub fn get_bits(words: &[u64], offset: u32, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    let mut bits = words[word] >> shift;
    if shift + width > 64 {
        bits |= words[word + 1] << (64 - shift);
    }
    bits & mask(width)
}

/// Writes `width` bits (at most 64) that start at `offset`; bits of `value` above them must be 0.
#[inline]
pub fn set_bits(words: &mut [u64], offset: u32, width: u32, value: u64) {
    if width == 0 {
        return;
    }
    debug_assert_eq!(value & !mask(width), 0);
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    words[word] = words[word] & !(mask(width) << shift) | value << shift;
    if shift + width > 64 {
        let low = 64 - shift;
        words[word + 1] = words[word + 1] & !(mask(width) >> low) | value >> low;
    }
}

/// The lowest `width` bits set.
#[inline]
pub fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_the_most_significant() {
        assert_eq!(compare(&[9, 1], &[0, 2]), Ordering::Less);
        assert_eq!(compare(&[9, 1], &[8, 1]), Ordering::Greater);
        assert_eq!(compare(&[9, 1], &[9, 1]), Ordering::Equal);
    }

    #[test]
    fn bits_round_trip_at_every_offset_and_width() {
        for width in 0..=64 {
            for offset in 0..=(192 - width) {
                let value = 0xA5A5_5A5A_F00F_0FF0 & mask(width);
                let mut words = [u64::MAX, 0, u64::MAX];
                let before = words;
                set_bits(&mut words, offset, width, value);
                assert_eq!(get_bits(&words, offset, width), value, "{offset} {width}");
                set_bits(&mut words, offset, width, get_bits(&before, offset, width));
                assert_eq!(words, before, "a neighbour changed at {offset} {width}");
            }
        }
    }

    /// Worked out by another program.
    const GOLDEN: [u64; 3] = [0x6984_5F88_B022_EC2F, 0x2473_1745_DA93_6618, 0xDA6C_37A9_E421_C86A];

    #[test]
    fn the_hash_is_part_of_the_file_format() {
        assert_eq!([hash(&[1, 2, 3]), hash(&[0]), hash(&[u64::MAX; 5])], GOLDEN);
        assert_ne!(hash(&[1, 2, 3]), hash(&[3, 2, 1]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
    }
}
