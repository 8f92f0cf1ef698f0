//! A plain bitmap: the answer of a filtered batch, and the mark bits of a collection.

/// A fixed number of bits, all zero at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` zero bits.
    pub fn new(len: usize) -> Self {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    /// Makes this `len` zero bits again, keeping the allocation.
    pub fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `at`.
    #[inline]
    pub fn get(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Sets bit `at`.
    #[inline]
    pub fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// How many bits are set.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The positions of the set bits, ascending.
    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
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

    /// Sets here, from bit `offset` on, every bit set in `part`.
    pub(super) fn or_at(&mut self, offset: usize, part: &Bitmap) {
        debug_assert!(offset + part.len <= self.len);
        let (first, shift) = (offset / 64, offset % 64);
        for (index, &word) in part.words.iter().enumerate() {
            self.words[first + index] |= word << shift;
            if shift > 0 && word >> (64 - shift) != 0 {
                self.words[first + index + 1] |= word >> (64 - shift);
            }
        }
    }

    /// The 64-bit words, bit 0 lowest in the first.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}
