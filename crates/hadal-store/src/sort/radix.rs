//! Radix sort of single words, least significant digit first, passing over digits that all words share.

/// Below this many words comparison sorting is as fast.
pub(super) const FEW: usize = 1 << 10;

const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts `words`, of which only the low `bits` bits are used, with `scratch` of the same length.
pub(super) fn sort_words(words: &mut [u64], scratch: &mut [u64], bits: u32) {
    let passes = bits.div_ceil(DIGIT_BITS) as usize;
    let mut counts = vec![[0u32; DIGITS]; passes];
    for &word in words.iter() {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(word, pass)] += 1;
        }
    }
    let (mut from, mut to) = (&mut *words, &mut *scratch);
    let mut swapped = false;
    for (pass, counts) in counts.iter().enumerate() {
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut next = [0u32; DIGITS];
        let mut sum = 0;
        for (next, count) in next.iter_mut().zip(counts) {
            *next = sum;
            sum += count;
        }
        for &word in from.iter() {
            let place = &mut next[digit(word, pass)];
            to[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        words.copy_from_slice(scratch);
    }
}

#[inline(always)]
fn digit(word: u64, pass: usize) -> usize {
    (word >> (pass as u32 * DIGIT_BITS)) as usize % DIGITS
}
