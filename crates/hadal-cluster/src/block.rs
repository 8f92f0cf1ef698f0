//! Sorted states on their way: differences of large integers, seven bits to a byte.
//!
//! States take up their words from the most significant end, so the low bits that no state of a block uses are left out.

use hadal_store::shape::{RecordShape, Records};

/// Encodes records whose states ascend.
pub(crate) fn encode(records: Records<'_>) -> Vec<u8> {
    let shape = records.shape();
    let (words, payload) = (shape.words(), shape.payload_words());
    let mut used = vec![0; words];
    for n in 0..records.len() {
        used.iter_mut().zip(records.state(n)).for_each(|(used, word)| *used |= word);
    }
    let unused = trailing_zeros(&used);
    let mut bytes = Vec::with_capacity(8 + records.len() * (2 + 2 * words));
    put(&mut bytes, words as u64);
    put(&mut bytes, payload as u64);
    put(&mut bytes, records.len() as u64);
    put(&mut bytes, unused as u64);
    let (mut before, mut difference) = (vec![0; words], vec![0; words]);
    for n in 0..records.len() {
        let state = records.state(n);
        subtract(state, &before, &mut difference);
        shift_down(&mut difference, unused);
        put_large(&mut bytes, &mut difference);
        before.copy_from_slice(state);
        records.record(n)[..payload].iter().for_each(|&word| put(&mut bytes, word));
    }
    bytes
}

/// Replaces `flat` by the records in `bytes`; none where they are no such block.
pub(crate) fn decode(bytes: &[u8], flat: &mut Vec<u64>) -> Option<RecordShape> {
    flat.clear();
    let mut at = 0;
    let words = usize::try_from(get(bytes, &mut at)?).ok().filter(|words| (1..=1 << 16).contains(words))?;
    let payload = usize::try_from(get(bytes, &mut at)?).ok().filter(|payload| *payload <= 1 << 16)?;
    let records = get(bytes, &mut at)?;
    // A record takes a byte at least.
    if records > bytes.len() as u64 {
        return None;
    }
    let unused = usize::try_from(get(bytes, &mut at)?).ok().filter(|unused| *unused <= 64 * words)?;
    let (mut state, mut difference) = (vec![0; words], vec![0; words]);
    flat.reserve(records as usize * (words + payload));
    for _ in 0..records {
        get_large(bytes, &mut at, &mut difference)?;
        shift_up(&mut difference, unused);
        add(&mut state, &difference);
        let from = flat.len();
        flat.resize(from + payload, 0);
        flat.extend_from_slice(&state);
        for n in 0..payload {
            flat[from + n] = get(bytes, &mut at)?;
        }
    }
    (at == bytes.len()).then(|| RecordShape::with_payload(words, payload))
}

fn trailing_zeros(words: &[u64]) -> usize {
    match words.iter().position(|&word| word != 0) {
        Some(at) => 64 * at + words[at].trailing_zeros() as usize,
        None => 64 * words.len(),
    }
}

fn subtract(a: &[u64], b: &[u64], into: &mut [u64]) {
    let mut borrow = false;
    for ((into, &a), &b) in into.iter_mut().zip(a).zip(b) {
        let (part, under) = a.overflowing_sub(b);
        let (part, again) = part.overflowing_sub(u64::from(borrow));
        (*into, borrow) = (part, under | again);
    }
}

fn add(sum: &mut [u64], more: &[u64]) {
    let mut carry = false;
    for (sum, &more) in sum.iter_mut().zip(more) {
        let (part, over) = sum.overflowing_add(more);
        let (part, again) = part.overflowing_add(u64::from(carry));
        (*sum, carry) = (part, over | again);
    }
}

fn shift_down(words: &mut [u64], bits: usize) {
    let (whole, rest) = (bits / 64, bits % 64);
    for n in 0..words.len() {
        let low = words.get(n + whole).copied().unwrap_or(0);
        let high = words.get(n + whole + 1).copied().unwrap_or(0);
        words[n] = if rest == 0 { low } else { low >> rest | high << (64 - rest) };
    }
}

fn shift_up(words: &mut [u64], bits: usize) {
    let (whole, rest) = (bits / 64, bits % 64);
    for n in (0..words.len()).rev() {
        let high = n.checked_sub(whole).map_or(0, |n| words[n]);
        let low = n.checked_sub(whole + 1).map_or(0, |n| words[n]);
        words[n] = if rest == 0 { high } else { high << rest | low >> (64 - rest) };
    }
}

fn put(bytes: &mut Vec<u8>, mut word: u64) {
    while word >= 128 {
        bytes.push(word as u8 | 128);
        word >>= 7;
    }
    bytes.push(word as u8);
}

fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (mut word, mut shift) = (0, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        word |= u64::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            return Some(word);
        }
        shift += 7;
    }
}

/// Puts a large integer, which is used up.
fn put_large(bytes: &mut Vec<u8>, words: &mut [u64]) {
    loop {
        let length = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        if length <= 1 {
            return put(bytes, words[0]);
        }
        // Nine groups of seven bits at a time.
        let mut low = words[0] & (u64::MAX >> 1);
        for _ in 0..9 {
            bytes.push(low as u8 | 128);
            low >>= 7;
        }
        shift_down(&mut words[..length], 63);
    }
}

fn get_large(bytes: &[u8], at: &mut usize, words: &mut [u64]) -> Option<()> {
    words.fill(0);
    let mut bit = 0;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let group = u64::from(byte & 127);
        let (word, shift) = (bit / 64, bit % 64);
        if group != 0 {
            *words.get_mut(word)? |= group << shift;
            if shift > 57 && group >> (64 - shift) != 0 {
                *words.get_mut(word + 1)? |= group >> (64 - shift);
            }
        }
        if byte < 128 {
            return Some(());
        }
        bit += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_store::sort::sort_unique;

    fn numbers(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            state ^ state >> 29
        }
    }

    #[test]
    fn blocks_read_as_they_were_written() {
        let mut next = numbers(7);
        for words in 1..=5 {
            for payload in 0..=1 {
                for unused in [0, 1, 63, 64, 65, 64 * words - 3] {
                    let shape = RecordShape::with_payload(words, payload);
                    let mut flat = Vec::new();
                    for _ in 0..next() % 200 {
                        flat.extend((0..payload).map(|_| next()));
                        // Some differ in a few bits only.
                        let mut state: Vec<u64> = (0..words)
                            .map(|_| if next().is_multiple_of(3) { next() } else { next() % 5 })
                            .collect();
                        shift_up(&mut state, unused);
                        flat.extend(state);
                    }
                    sort_unique(shape, &mut flat);
                    let bytes = encode(Records::new(shape, &flat));
                    let mut read = Vec::new();
                    assert_eq!(decode(&bytes, &mut read), Some(shape), "{words} {payload} {unused}");
                    assert_eq!(read, flat, "{words} {payload} {unused}");
                }
            }
        }
    }

    #[test]
    fn neighbours_take_a_byte_and_damage_is_noticed_or_harmless() {
        let flat: Vec<u64> = (0..1000).flat_map(|n| [n << 40, 5]).collect();
        let bytes = encode(Records::new(RecordShape::states(2), &flat));
        assert!(bytes.len() < 1000 + 32, "{}", bytes.len());
        let (mut next, mut read) = (numbers(3), Vec::new());
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = next() as usize % damaged.len();
            damaged[at] = next() as u8;
            damaged.truncate(damaged.len() - (next() % 4) as usize);
            // No panic, no endless loop, no huge allocation.
            decode(&damaged, &mut read);
        }
    }
}
