//! Small sets: which of a variable's possible values are meant, by their place among them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The most values a variable of the abstract task tells apart.
pub const MAX_VALUES: usize = 256;

/// A set of numbers below [`MAX_VALUES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Bits([u64; MAX_VALUES / 64]);

impl Bits {
    /// The numbers below `count`.
    pub fn below(count: usize) -> Self {
        let word = |n: usize| match count.saturating_sub(64 * n) {
            left @ 0..64 => (1 << left) - 1,
            _ => u64::MAX,
        };
        Bits(std::array::from_fn(word))
    }

    /// Just this number.
    pub fn one(n: usize) -> Self {
        let mut bits = Bits::default();
        bits.insert(n);
        bits
    }

    /// Adds a number.
    pub fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    /// Whether the number is in it.
    pub fn contains(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    /// How many are in it.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The least, where there is one.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The only one, where there is just one.
    pub fn only(&self) -> Option<usize> {
        if self.count() == 1 { self.first() } else { None }
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }

    /// What is in both.
    pub fn and(&self, other: &Bits) -> Bits {
        Bits(std::array::from_fn(|n| self.0[n] & other.0[n]))
    }

    /// What is in either.
    pub fn or(&self, other: &Bits) -> Bits {
        Bits(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }

    /// What is here and not there.
    pub fn without(&self, other: &Bits) -> Bits {
        Bits(std::array::from_fn(|n| self.0[n] & !other.0[n]))
    }
}

impl FromIterator<usize> for Bits {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut bits = Bits::default();
        numbers.into_iter().for_each(|n| bits.insert(n));
        bits
    }
}

/// A map with keys from models, which nobody chooses to collide: a cheap hash is enough.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A hash of a few words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: Bits = [0, 63, 64, 255].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(set.without(&Bits::one(64)).count(), 3);
        assert_eq!(Bits::below(256).and(&set), set);
        assert_eq!(Bits::one(7).only(), Some(7));
        assert!(Bits::default().is_empty() && set.only().is_none());
    }
}
