//! Bits of the diagram's own: the fresh states of a staged batch, the mark bits of a collection.

/// A fixed number of bits, all zero at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// `len` zero bits.
    pub(super) fn new(len: usize) -> Self {
        Bits { words: vec![0; len.div_ceil(64)], len }
    }

    /// Makes this `len` zero bits again, keeping the allocation.
    pub(super) fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// The number of bits.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bit `at`.
    #[inline]
    pub(super) fn get(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Sets bit `at`.
    #[inline]
    pub(super) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// How many bits are set.
    pub(super) fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The positions of the set bits, ascending.
    pub(super) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// Turns every bit over.
    pub(super) fn invert(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// The 64-bit words, bit 0 lowest in the first.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}
