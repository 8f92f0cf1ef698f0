//! Sorting generated states out of their chunks: one word each by their leading bits, wider ones by the store's sort.
//!
//! One distribution by the leading digit brings the records of all chunks together in parts that fit a cache; each part is
//! sorted by its next few digits only. What is equal so far is hardly ever more than a handful, and sorted by comparing where it
//! is not in order by itself.

use hadal_store::shape::RecordShape;
use hadal_store::sort::sort_unique;

const LEADING_BITS: u32 = 8;
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Digits sorted by distribution within a part.
const PASSES: u32 = 3;
/// Below this many words comparing is as fast.
const FEW: usize = 1 << 10;

/// The records of all chunks, sorted and once each; of equal states the one with the smallest payload.
///
/// `bits` is how many bits of a state are used; `scratch` is memory to use, never longer than `most_scratch` words.
pub(super) fn sort_chunks(
    (shape, bits): (RecordShape, u32),
    chunks: &[Vec<u64>],
    scratch: &mut Vec<u64>,
    most_scratch: usize,
) -> Vec<u64> {
    let total: usize = chunks.iter().map(Vec::len).sum();
    let mut flat;
    if shape.stride() == 1 && total >= FEW {
        flat = vec![0; total];
        let kept = sort_words(bits, chunks, &mut flat, scratch, most_scratch);
        flat.truncate(kept);
    } else {
        flat = Vec::with_capacity(total);
        chunks.iter().for_each(|chunk| flat.extend_from_slice(chunk));
        sort_unique(shape, &mut flat);
    }
    flat.shrink_to_fit();
    flat
}

/// Returns how many words are left.
fn sort_words(
    bits: u32,
    chunks: &[Vec<u64>],
    flat: &mut [u64],
    scratch: &mut Vec<u64>,
    most_scratch: usize,
) -> usize {
    let mut shift = bits.min(u64::BITS).saturating_sub(LEADING_BITS);
    let mut ends = count_leading(chunks, shift);
    if ends.iter().any(|&count| count > flat.len() / 2) {
        // The leading bits hardly differ: lead with the first that do.
        let first = chunks.iter().find_map(|chunk| chunk.first()).copied().unwrap_or(0);
        let differing = chunks.iter().flatten().fold(0, |bits, word| bits | (word ^ first));
        shift = (u64::BITS - differing.leading_zeros()).saturating_sub(LEADING_BITS);
        ends = count_leading(chunks, shift);
    }
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    for &word in chunks.iter().flatten() {
        let place = &mut ends[leading(word, shift)];
        flat[*place] = word;
        *place += 1;
    }
    let (mut start, mut kept) = (0, 0);
    for end in ends {
        sort_part(&mut flat[start..end], shift, scratch, most_scratch);
        // Equal words are in the same part, and leave while it is in the cache.
        let mut last = flat.get(start).map_or(0, |first| !first);
        for at in start..end {
            let word = flat[at];
            flat[kept] = word;
            kept += usize::from(word != last);
            last = word;
        }
        start = end;
    }
    kept
}

#[inline(always)]
fn leading(word: u64, shift: u32) -> usize {
    (word >> shift) as usize % (1 << LEADING_BITS)
}

fn count_leading(chunks: &[Vec<u64>], shift: u32) -> [usize; 1 << LEADING_BITS] {
    let mut counts = [0; 1 << LEADING_BITS];
    chunks.iter().flatten().for_each(|&word| counts[leading(word, shift)] += 1);
    counts
}

/// Sorts words that differ in their low `bits` bits at most.
fn sort_part(words: &mut [u64], bits: u32, scratch: &mut Vec<u64>, most_scratch: usize) {
    if words.len() < FEW || words.len() > most_scratch {
        return words.sort_unstable();
    }
    if scratch.len() < words.len() {
        scratch.resize(words.len(), 0);
    }
    let low = bits.saturating_sub(PASSES * DIGIT_BITS);
    let passes = (bits - low).div_ceil(DIGIT_BITS);
    let (mut from, mut to) = {
        let count = words.len();
        (words, &mut scratch[..count])
    };
    let digit = |word: u64, pass: usize| (word >> (low + pass as u32 * DIGIT_BITS)) as usize % DIGITS;
    let mut counts = [[0u32; DIGITS]; PASSES as usize];
    for &word in from.iter() {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(word, pass)] += 1;
        }
    }
    for (pass, next) in counts.iter_mut().enumerate().take(passes as usize) {
        let mut sum = 0;
        for next in next.iter_mut() {
            (*next, sum) = (sum, sum + *next);
        }
        for &word in from.iter() {
            let place = &mut next[digit(word, pass)];
            to[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    if passes % 2 == 1 {
        to.copy_from_slice(from);
        std::mem::swap(&mut from, &mut to);
    }
    if low > 0 {
        sort_ties(from, low);
    }
}

/// Sorts words that are sorted but for their low `low` bits. Most are in place: equal ones are, and few others agree so far.
fn sort_ties(words: &mut [u64], low: u32) {
    let mut at = 1;
    while at < words.len() {
        if words[at] < words[at - 1] {
            at = sort_tie(words, low, at);
        }
        at += 1;
    }
}

/// Sorts the words that agree with the one at `at` but for their low bits; returns the last of them.
#[cold]
#[inline(never)]
fn sort_tie(words: &mut [u64], low: u32, at: usize) -> usize {
    let prefix = words[at] >> low;
    let start = words[..at].iter().rposition(|word| word >> low != prefix).map_or(0, |before| before + 1);
    let end =
        words[at..].iter().position(|word| word >> low != prefix).map_or(words.len(), |after| at + after);
    words[start..end].sort_unstable();
    end - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    #[test]
    fn chunks_come_out_sorted_and_unique_whatever_bits_differ() {
        let mut random = Random::new(7);
        for mask in [0u64, 0xF, 0xFFF0_0000, 0xFFFF_FFFF, 0x8000_0000_0000_0001, u64::MAX] {
            for count in [0usize, 1, 100, 5000, 200_000] {
                let words: Vec<u64> =
                    (0..count).map(|_| 0x1234_5678_9ABC_DEF0 & !mask | random.bits() & mask).collect();
                let chunks: Vec<Vec<u64>> = words.chunks(777).map(<[u64]>::to_vec).collect();
                let mut expected = words;
                expected.sort_unstable();
                expected.dedup();
                for (bits, most_scratch) in [(64, 0), (64, 1 << 30), (61, 1 << 30)] {
                    let shape = (RecordShape::states(1), bits);
                    let sorted = sort_chunks(shape, &chunks, &mut Vec::new(), most_scratch);
                    assert!(
                        sorted == expected || bits < 64 && mask >> bits > 0,
                        "{count} words, mask {mask:x}"
                    );
                }
            }
        }
    }
}
