//! How a state lies in an arena: the bytes that its bits need, one record behind the other.
//!
//! Records are not aligned. The last load or store of a state ends with its last byte and overlaps the one before, so
//! nothing outside the record is touched, and no width needs a loop over bytes.

use hadal_system::state::mask;

/// Bytes a record has at least: one overlapping pair of 32-bit accesses needs as many.
const LEAST: usize = 4;

/// The shape of packed states in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    words: usize,
    bytes: usize,
    /// Where the last access begins.
    last: usize,
    /// How far the last words are shifted down for it.
    shift: u32,
    /// Bits of the last word that have no room.
    beyond: u64,
}

impl Form {
    /// States of `words` words of which the lowest `bits` are used, in as few bytes as hold them.
    pub(super) fn of_bits(words: usize, bits: u32) -> Self {
        let whole = words * 8;
        // Words are cut to bytes where the least significant byte of a word comes first.
        let bytes = if cfg!(target_endian = "little") { (bits as usize).div_ceil(8) } else { whole };
        let bytes = if words == 1 { bytes.max(LEAST) } else { bytes.max(whole - 7) };
        let access = if words == 1 { LEAST } else { 8 };
        let last = bytes.min(whole) - access;
        let before = if words == 1 { 0 } else { (words - 2) * 8 };
        let bytes = bytes.min(whole);
        let beyond = !mask((bytes - (words - 1) * 8) as u32 * 8);
        Form { words, bytes, last, shift: (last - before) as u32 * 8, beyond }
    }

    /// States of whole words.
    pub(super) fn of_words(words: usize) -> Self {
        Form::of_bits(words, words as u32 * 64)
    }

    /// Bytes of a state.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether a state whose last word is this one fits: no bit is set that records have no room for.
    #[inline]
    pub(super) fn holds(self, last: u64) -> bool {
        last & self.beyond == 0
    }

    /// What the last access reads or writes of `state`, which has more than one word.
    #[inline]
    fn tail(self, state: &[u64], words: usize) -> u64 {
        let pair = u128::from(state[words - 1]) << 64 | u128::from(state[words - 2]);
        (pair >> self.shift) as u64
    }

    /// How many words, known when compiled where `W` is not 0.
    #[inline]
    fn words<const W: usize>(self) -> usize {
        if W == 0 { self.words } else { W }
    }

    /// Whether the record at `at` is `state`.
    ///
    /// # Safety
    /// At `at` lies a whole record that nobody writes; `W` is 0 or the number of words.
    #[inline]
    pub(super) unsafe fn is_same<const W: usize>(self, at: *const u8, state: &[u64]) -> bool {
        let words = self.words::<W>();
        let state = &state[..words];
        // SAFETY: all accesses end within the record's bytes.
        unsafe {
            if words == 1 {
                let low = at.cast::<u32>().read_unaligned() ^ state[0] as u32;
                let high = at.add(self.last).cast::<u32>().read_unaligned() ^ (state[0] >> self.shift) as u32;
                return low | high == 0;
            }
            let mut differ = at.add(self.last).cast::<u64>().read_unaligned() ^ self.tail(state, words);
            for (n, word) in state[..words - 1].iter().enumerate() {
                differ |= at.add(8 * n).cast::<u64>().read_unaligned() ^ word;
            }
            differ == 0
        }
    }

    /// Reads the record at `at`.
    ///
    /// # Safety
    /// As for [`Form::is_same`].
    #[inline]
    pub(super) unsafe fn read<const W: usize>(self, at: *const u8, state: &mut [u64]) {
        let words = self.words::<W>();
        let state = &mut state[..words];
        // SAFETY: all accesses end within the record's bytes.
        unsafe {
            if words == 1 {
                let low = u64::from(at.cast::<u32>().read_unaligned());
                let high = u64::from(at.add(self.last).cast::<u32>().read_unaligned());
                state[0] = low | high << self.shift;
                return;
            }
            for (n, word) in state[..words - 1].iter_mut().enumerate() {
                *word = at.add(8 * n).cast::<u64>().read_unaligned();
            }
            state[words - 1] = at.add(self.last).cast::<u64>().read_unaligned() >> (64 - self.shift);
        }
    }

    /// Writes `state` to `at`.
    ///
    /// # Safety
    /// The record's bytes at `at` are the caller's alone; `W` is 0 or the number of words.
    #[inline]
    pub(super) unsafe fn write<const W: usize>(self, at: *mut u8, state: &[u64]) {
        let words = self.words::<W>();
        let state = &state[..words];
        // SAFETY: all accesses end within the record's bytes.
        unsafe {
            if words == 1 {
                at.cast::<u32>().write_unaligned(state[0] as u32);
                at.add(self.last).cast::<u32>().write_unaligned((state[0] >> self.shift) as u32);
                return;
            }
            for (n, word) in state[..words - 1].iter().enumerate() {
                at.add(8 * n).cast::<u64>().write_unaligned(*word);
            }
            at.add(self.last).cast::<u64>().write_unaligned(self.tail(state, words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    #[test]
    fn states_of_every_width_come_back_and_their_neighbours_stay() {
        let mut random = Random::new(3);
        // Miri looks at every access, which takes its time.
        for bits in (1..=400u32).step_by(if cfg!(miri) { 37 } else { 1 }) {
            let words = bits.div_ceil(64) as usize;
            let form = Form::of_bits(words, bits);
            assert!(form.bytes() <= words * 8 && form.bytes() * 8 >= bits as usize);
            let mut state: Vec<u64> = (0..words).map(|_| random.bits()).collect();
            state[words - 1] &= mask(bits - 64 * (words as u32 - 1));
            let mut memory = vec![0xA5; form.bytes() + 2];
            let mut back = vec![0; words];
            // SAFETY: the record and a byte on either side fit the memory.
            unsafe {
                form.write::<0>(memory.as_mut_ptr().add(1), &state);
                form.read::<0>(memory.as_ptr().add(1), &mut back);
                assert!(form.is_same::<0>(memory.as_ptr().add(1), &state));
                assert_eq!(back, state, "{bits} bits");
                for bit in 0..bits as usize {
                    back[bit / 64] ^= 1 << (bit % 64);
                    assert!(!form.is_same::<0>(memory.as_ptr().add(1), &back), "{bits} bits, {bit} differs");
                    back[bit / 64] ^= 1 << (bit % 64);
                }
            }
            assert_eq!((memory[0], memory[form.bytes() + 1]), (0xA5, 0xA5), "{bits} bits");
        }
    }
}
