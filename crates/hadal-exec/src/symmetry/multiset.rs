//! The normal form of multisets: elements descend in packed order, absent ones are all zero.
//!
//! `present` is the most significant bit of an element, so absent elements come last.

use std::cmp::Ordering;

use hadal_system::state::{get_bits, mask, set_bits};

/// One multiset in the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bag {
    /// Offset of the least significant bit, which is the last element's.
    pub offset: u32,
    /// How many elements fit.
    pub capacity: u32,
    /// Bits of an element.
    pub stride: u32,
    /// Whether a permutation can change what an element holds.
    pub permuted: bool,
}

/// All multisets of a state, inner before outer.
#[derive(Clone, Debug)]
pub(super) struct Bags {
    list: Vec<Bag>,
    buffer_words: usize,
}

/// Which multisets to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All: after an action.
    All,
    /// Those whose elements a permutation changes: after a permutation.
    Permuted,
}

impl Bags {
    pub fn new(list: Vec<Bag>) -> Bags {
        let words = |bag: &Bag| (bag.capacity * bag.stride.div_ceil(64)) as usize;
        let buffer_words = list.iter().map(words).max().unwrap_or(0);
        Bags { list, buffer_words }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Room for the elements of the largest multiset.
    pub fn buffer(&self) -> Vec<u64> {
        vec![0; self.buffer_words]
    }

    /// Puts the multisets into normal form.
    pub fn normalise(&self, state: &mut [u64], which: Which, buffer: &mut [u64]) {
        for bag in &self.list {
            if which == Which::All || bag.permuted {
                bag.normalise(state, buffer);
            }
        }
    }

    /// The same, where those that are as in `source` are in normal form already.
    pub fn normalise_changed(&self, state: &mut [u64], source: &[u64], buffer: &mut [u64]) {
        for bag in &self.list {
            if !bag.is_same(state, source) {
                bag.normalise(state, buffer);
            }
        }
    }
}

impl Bag {
    /// Offset of an element's least significant bit.
    #[inline]
    fn element(&self, at: u32) -> u32 {
        self.offset + (self.capacity - 1 - at) * self.stride
    }

    fn normalise(&self, state: &mut [u64], buffer: &mut [u64]) {
        if self.stride <= 64 {
            self.normalise_narrow(state, buffer)
        } else {
            self.normalise_wide(state, buffer)
        }
    }

    /// Whether two states have the same elements in the same order.
    fn is_same(&self, a: &[u64], b: &[u64]) -> bool {
        let bits = self.capacity * self.stride;
        if bits == 0 {
            return true;
        }
        let (first, last) = (self.offset / 64, (self.offset + bits - 1) / 64);
        let mut differ = 0;
        for word in first..=last {
            let low = self.offset.saturating_sub(word * 64);
            let high = (self.offset + bits - word * 64).min(64);
            differ |= (a[word as usize] ^ b[word as usize]) & (mask(high) & !mask(low));
        }
        differ == 0
    }

    /// For elements of at most 64 bits.
    fn normalise_narrow(&self, state: &mut [u64], buffer: &mut [u64]) {
        let keys = &mut buffer[..self.capacity as usize];
        let mut normal = true;
        let mut before = u64::MAX;
        for (at, key) in keys.iter_mut().enumerate() {
            let bits = get_bits(state, self.element(at as u32), self.stride);
            let present = bits >> (self.stride - 1) == 1;
            *key = if present { bits } else { 0 };
            normal &= *key == bits && bits <= before;
            before = bits;
        }
        if normal {
            return;
        }
        sort_descending(keys);
        for (at, &key) in keys.iter().enumerate() {
            set_bits(state, self.element(at as u32), self.stride, key);
        }
    }

    /// For elements of more than 64 bits, kept in the buffer as several words, the most significant first.
    fn normalise_wide(&self, state: &mut [u64], buffer: &mut [u64]) {
        let words = self.stride.div_ceil(64) as usize;
        let keys = &mut buffer[..self.capacity as usize * words];
        for (at, key) in keys.chunks_exact_mut(words).enumerate() {
            self.for_each_word(at as u32, |n, offset, width| key[n] = get_bits(state, offset, width));
            let top = (self.stride - 1) % 64;
            if key[0] >> top == 0 {
                key.fill(0);
            }
        }
        // Insertion sort by swapping neighbours: multisets are short and nearly sorted.
        for n in 1..self.capacity as usize {
            for at in (1..=n).rev() {
                let (left, right) = keys[(at - 1) * words..(at + 1) * words].split_at_mut(words);
                if (*left).cmp(&*right) != Ordering::Less {
                    break;
                }
                left.swap_with_slice(right);
            }
        }
        for (at, key) in keys.chunks_exact(words).enumerate() {
            self.for_each_word(at as u32, |n, offset, width| set_bits(state, offset, width, key[n]));
        }
    }

    /// Calls `visit` with number, offset and width of each word of an element, the most significant first.
    fn for_each_word(&self, at: u32, mut visit: impl FnMut(usize, u32, u32)) {
        let base = self.element(at);
        let words = self.stride.div_ceil(64);
        for n in 0..words {
            let low = (words - 1 - n) * 64;
            visit(n as usize, base + low, (self.stride - low).min(64));
        }
    }
}

#[inline]
fn sort_descending(keys: &mut [u64]) {
    if keys.len() > 24 {
        keys.sort_unstable_by(|a, b| b.cmp(a));
        return;
    }
    for n in 1..keys.len() {
        let moving = keys[n];
        let mut at = n;
        while at > 0 && keys[at - 1] < moving {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    #[test]
    fn multisets_that_no_action_wrote_are_left_alone_and_others_are_put_in_order() {
        let mut random = Random::new(11);
        for stride in [3, 7, 20, 64, 70] {
            let bag = |offset| Bag { offset, capacity: 5, stride, permuted: false };
            // Neighbours share words, and so do other bits before, between and behind them.
            let bags = Bags::new(vec![bag(5), bag(5 + 5 * stride), bag(11 + 10 * stride)]);
            let words = (20 + 15 * stride).div_ceil(64) as usize;
            let mut buffer = bags.buffer();
            for _ in 0..200 {
                let mut source: Vec<u64> = (0..words).map(|_| random.bits()).collect();
                bags.normalise(&mut source, Which::All, &mut buffer);
                let mut state = source.clone();
                for _ in 0..random.below(4) {
                    let at = random.below(words as u64 * 64) as u32;
                    set_bits(&mut state, at, 1, random.below(2));
                }
                let mut whole = state.clone();
                bags.normalise(&mut whole, Which::All, &mut buffer);
                bags.normalise_changed(&mut state, &source, &mut buffer);
                assert_eq!(state, whole, "elements of {stride} bits");
            }
        }
    }
}
