//! One bit per candidate: is it in the closed set?

/// A growable array of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    bits: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all clear.
    pub fn new(len: usize) -> Self {
        let mut bitmap = Bitmap::default();
        bitmap.reset(len);
        bitmap
    }

    /// Becomes `len` clear bits, keeping its memory.
    pub fn reset(&mut self, len: usize) {
        self.bits.clear();
        self.bits.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit numbered `at`.
    #[inline]
    pub fn get(&self, at: usize) -> bool {
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// Sets the bit numbered `at`.
    #[inline]
    pub fn set(&mut self, at: usize) {
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Clears the bit numbered `at`.
    #[inline]
    pub fn clear(&mut self, at: usize) {
        self.bits[at / 64] &= !(1 << (at % 64));
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }
}
