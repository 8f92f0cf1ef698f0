//! Numbers that look random and are the same in every run: where a choice among equals must not follow a pattern.
//!
//! [`SplitMix`] takes any seed (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014);
//! [`Xorshift`] is the smaller one for a fixed sequence (Marsaglia, "Xorshift RNGs", 2003).

/// A sequence for every seed.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// The next number.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, unless there is none.
    pub fn below(&mut self, bound: usize) -> Option<usize> {
        // The high half of the product is below the bound.
        let drawn = (u128::from(self.bits()) * bound as u128) >> 64;
        (bound > 0).then_some(drawn as usize)
    }
}

/// One of two fixed sequences.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// The sequence that begins with the golden ratio's bits.
    pub fn golden() -> Self {
        Xorshift(0x9E37_79B9_7F4A_7C15)
    }

    /// Another one, for those who begin with other bits.
    pub fn other() -> Self {
        Xorshift(0x2545_F491_4F6C_DD1D)
    }

    /// The next number; never 0.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number as one from 0 to 1, without 1.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567, as published with the generator's reference code.
    #[test]
    fn splitmix_is_the_published_one() {
        let mut random = SplitMix::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_choice_is_drawn_and_none_from_nothing() {
        let mut random = SplitMix::new(1);
        let drawn: std::collections::BTreeSet<_> = (0..100).filter_map(|_| random.below(3)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(random.below(0), None);
    }

    #[test]
    fn xorshift_goes_on_as_by_hand() {
        let mut random = Xorshift::golden();
        let mut word = 0x9E37_79B9_7F4A_7C15u64;
        for _ in 0..3 {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            assert_eq!(random.bits(), word);
        }
        assert!((0.0..1.0).contains(&Xorshift::other().fraction()));
    }
}
