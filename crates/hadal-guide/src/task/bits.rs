//! Small sets: which of a variable's possible values are meant, by their place among them.

/// The most values a variable of the abstract task tells apart.
pub const MAX_VALUES: usize = 256;

/// A set of numbers below [`MAX_VALUES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Bits([u64; MAX_VALUES / 64]);

impl Bits {
    /// The numbers below `count`.
    pub fn below(count: usize) -> Self {
        (0..count).collect()
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
