//! How a packed state is cut into levels, each read as a label of at most 8 bits.
//!
//! Level 0 holds the most significant bits, so that label strings compare like states do: the
//! state is one big integer with word 0 least significant.

/// The states and level widths a diagram cannot be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelsError {
    /// The widths do not add up to a state of that many words.
    #[error("{bits} bits do not fit into {words} words of a state")]
    Bits {
        /// Bits asked for.
        bits: usize,
        /// Words of a state.
        words: usize,
    },
    /// A level is 1 to 8 bits wide.
    #[error("a level of {0} bits; it must have 1 to 8")]
    Width(usize),
    /// Operations recurse once per level, so the number of levels is bounded.
    #[error("{0} levels; a diagram has at most {MAX_LEVELS}")]
    TooMany(usize),
}

/// The most levels a diagram may have: 4 KiB of state at 8 bits per level.
pub const MAX_LEVELS: usize = 4096;

/// Where each level lies in the packed state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    words: usize,
    cuts: Vec<Cut>,
    /// For every bit of the state, the level it belongs to.
    level_of_bit: Vec<u16>,
    /// Every level but the first is exactly one byte, aligned.
    bytewise: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    bit: u32,
    width: u8,
}

impl Levels {
    /// `bits` used bits cut from the least significant end into levels of `width` bits; the
    /// first level takes what is left.
    pub fn even(words: usize, bits: usize, width: usize) -> Result<Self, LevelsError> {
        if !(1..=8).contains(&width) {
            return Err(LevelsError::Width(width));
        }
        let first = bits % width;
        let mut widths = vec![width as u8; bits / width];
        if first > 0 || bits == 0 {
            widths.insert(0, first.max(1) as u8);
        }
        Self::from_widths(words, &widths)
    }

    /// Levels of the given widths, most significant first; the last ends at bit 0.
    pub fn from_widths(words: usize, widths: &[u8]) -> Result<Self, LevelsError> {
        if let Some(&width) = widths.iter().find(|&&width| !(1..=8).contains(&width)) {
            return Err(LevelsError::Width(width as usize));
        }
        let bits: usize = widths.iter().map(|&width| width as usize).sum();
        if bits > words * 64 || bits == 0 {
            return Err(LevelsError::Bits { bits, words });
        }
        if widths.len() > MAX_LEVELS {
            return Err(LevelsError::TooMany(widths.len()));
        }
        let mut cuts = Vec::with_capacity(widths.len());
        let mut level_of_bit = vec![0; bits];
        let mut end = bits;
        for (level, &width) in widths.iter().enumerate() {
            end -= width as usize;
            cuts.push(Cut { bit: end as u32, width });
            level_of_bit[end..end + width as usize].fill(level as u16);
        }
        let bytewise = widths[1..].iter().all(|&width| width == 8);
        Ok(Levels { words, cuts, level_of_bit, bytewise })
    }

    /// Words of a state.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Bits of a state that the levels cover.
    pub fn bits(&self) -> usize {
        self.level_of_bit.len()
    }

    /// The number of levels.
    pub fn count(&self) -> usize {
        self.cuts.len()
    }

    /// The width in bits of every level, most significant first.
    pub fn widths(&self) -> impl Iterator<Item = u8> + '_ {
        self.cuts.iter().map(|cut| cut.width)
    }

    /// The first level at which the states differ, or `None` when they are equal.
    #[inline]
    pub(super) fn divergence(&self, left: &[u64], right: &[u64]) -> Option<usize> {
        (0..self.words).rev().find_map(|word| {
            let difference = left[word] ^ right[word];
            (difference != 0).then(|| self.level_of_bit[word * 64 + difference.ilog2() as usize] as usize)
        })
    }

    /// Whether no bit outside the levels is set.
    pub(super) fn covers(&self, state: &[u64]) -> bool {
        (0..self.words).all(|word| {
            let below = self.bits().saturating_sub(word * 64).min(64);
            below == 64 || state[word] >> below == 0
        })
    }

    /// Writes the labels of levels `from..` into the same places of `labels`.
    #[inline]
    pub(super) fn fill(&self, state: &[u64], from: usize, labels: &mut [u8]) {
        let count = self.cuts.len();
        if !self.bytewise {
            for (level, label) in labels.iter_mut().enumerate().skip(from) {
                *label = self.label(state, level);
            }
            return;
        }
        // Word w holds the levels count - 8(w+1) .. count - 8w, its top byte first.
        let mut end = from + (count - from - 1) % 8 + 1;
        let mut start = from;
        while start < count {
            let bytes = state[(count - end) / 8].to_be_bytes();
            labels[start..end].copy_from_slice(&bytes[8 - (end - start)..]);
            start = end;
            end += 8;
        }
    }

    /// The label of one level.
    #[inline]
    fn label(&self, state: &[u64], level: usize) -> u8 {
        let Cut { bit, width } = self.cuts[level];
        let (word, shift) = (bit as usize / 64, bit % 64);
        let mut value = state[word] >> shift;
        if shift + u32::from(width) > 64 {
            value |= state[word + 1] << (64 - shift);
        }
        value as u8 & (0xff >> (8 - width))
    }

    /// Sets the label of one level in `state`.
    #[inline]
    pub(super) fn put(&self, state: &mut [u64], level: usize, label: u8) {
        let Cut { bit, width } = self.cuts[level];
        let (word, shift) = (bit as usize / 64, bit % 64);
        let mask = u64::from(0xffu8 >> (8 - width));
        state[word] = state[word] & !(mask << shift) | u64::from(label) << shift;
        if shift + u32::from(width) > 64 {
            let shift = 64 - shift;
            state[word + 1] = state[word + 1] & !(mask >> shift) | u64::from(label) >> shift;
        }
    }

    /// Whether `label` fits the width of `level`.
    pub(super) fn admits(&self, level: usize, label: u8) -> bool {
        label <= 0xff >> (8 - self.cuts[level].width)
    }
}
