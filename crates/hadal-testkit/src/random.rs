//! One source of choices for tests (SplitMix64; Steele, Lea, Flood 2014): the same seed gives the same choices on every
//! machine and with every toolchain.

use hadal_system::Value;

/// A seeded source of choices.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Types of whole numbers that can be drawn.
pub trait Whole: Copy {
    /// As 64 bits; not negative.
    fn bits(self) -> u64;
    /// Back from them: they are less than a number of this type.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Whole for $type {
            fn bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}
whole!(usize, u64, u32, u16, u8, i64, i32);

impl Random {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 where there is none.
    pub fn below<N: Whole>(&mut self, n: N) -> N {
        N::from_bits(self.bits() % n.bits().max(1))
    }

    /// A value from `lo` to `hi`, both included.
    pub fn between(&mut self, lo: Value, hi: Value) -> Value {
        let span = (i128::from(hi) - i128::from(lo) + 1) as u128;
        (i128::from(lo) + (u128::from(self.bits()) % span) as i128) as Value
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// One of them, if there are any.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { Some(from[self.below(from.len())]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert!((0..1000).all(|_| random.below(7u8) < 7));
    }
}
