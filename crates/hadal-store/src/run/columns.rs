//! The columns of a block: lengths, differences, payload planes (`docs/format.md`, 1.2).
//!
//! A difference is a big-integer subtraction from the state before, so that counters which carry become the
//! same few bytes again and again, which is what LZ4 wants. Lengths stand apart so that decoding is one masked load and
//! one addition per state, without a branch on the data for states of one and two words.

use crate::shape::Width;

/// Readable bytes that must follow the columns, so that a difference can be loaded as whole words.
pub(super) const PADDING: usize = 8;

/// Most bytes the columns of `count` records can take.
pub(super) fn bound<W: Width>(w: W, count: usize) -> usize {
    (count.saturating_sub(1)) * (8 * w.words() + length_bytes(w)) + count * 8 * w.payload() + 8 * w.words()
}

#[inline(always)]
fn length_bytes<W: Width>(w: W) -> usize {
    if w.words() <= 31 { 1 } else { 2 }
}

#[inline(always)]
fn significant_bytes(word: u64) -> usize {
    (71 - word.leading_zeros() as usize) / 8
}

/// Encodes `flat` (whole records) into `out`, which is at least [`bound`] long. Returns the bytes used, or
/// `None` if the states do not strictly ascend.
pub(super) fn encode<W: Width>(w: W, flat: &[u64], out: &mut [u8]) -> Option<usize> {
    let count = flat.len() / w.stride();
    let (lengths, differences) = out.split_at_mut((count - 1) * length_bytes(w));
    let mut at = 0;
    let mut ascending = true;
    for i in 1..count {
        let (before, state) = (w.state(flat, i - 1), w.state(flat, i));
        let room = &mut differences[at..at + 8 * w.words()];
        let mut borrow = false;
        let mut bytes = 0;
        for word in 0..w.words() {
            let (part, under) = state[word].overflowing_sub(before[word]);
            let (part, under_again) = part.overflowing_sub(u64::from(borrow));
            borrow = under | under_again;
            room[8 * word..8 * word + 8].copy_from_slice(&part.to_le_bytes());
            bytes = if part == 0 { bytes } else { 8 * word + significant_bytes(part) };
        }
        ascending &= !borrow & (bytes > 0);
        set_length(w, lengths, i - 1, bytes);
        at += bytes;
    }
    if !ascending {
        return None;
    }
    let mut at = (count - 1) * length_bytes(w) + at;
    for plane in 0..8 * w.payload() {
        let column = &mut out[at..at + count];
        for (byte, record) in column.iter_mut().zip(flat.chunks_exact(w.stride())) {
            *byte = (record[plane / 8] >> (8 * (plane % 8))) as u8;
        }
        at += count;
    }
    Some(at)
}

/// Decodes `count` records into `flat`, which is exactly that long. `columns` is followed by [`PADDING`] bytes
/// that `length` does not count. `false` if the lengths do not add up.
#[must_use]
pub(super) fn decode<W: Width>(w: W, first: &[u64], columns: &[u8], length: usize, flat: &mut [u64]) -> bool {
    let stride = w.stride();
    let count = flat.len() / stride;
    let Some(differences) = checked_differences(w, columns, length, count) else { return false };
    let lengths = &columns[..(count - 1) * length_bytes(w)];
    let planes = lengths.len() + differences;
    let padded = &columns[lengths.len()..];
    flat[w.payload()..stride].copy_from_slice(first);
    match w.words() {
        1 => decode_one(w, lengths, padded, flat),
        2 => decode_two(w, lengths, padded, flat),
        _ => decode_many(w, lengths, padded, flat),
    }
    for plane in 0..8 * w.payload() {
        let column = &columns[planes + plane * count..][..count];
        let shift = 8 * (plane % 8);
        for (byte, record) in column.iter().zip(flat.chunks_exact_mut(stride)) {
            let keep = if shift == 0 { 0 } else { record[plane / 8] };
            record[plane / 8] = keep | u64::from(*byte) << shift;
        }
    }
    true
}

/// Bytes of the difference column, if everything fits `length` exactly.
fn checked_differences<W: Width>(w: W, columns: &[u8], length: usize, count: usize) -> Option<usize> {
    if columns.len() < length + PADDING {
        return None;
    }
    let lengths = columns[..length].get(..(count - 1) * length_bytes(w))?;
    let (mut total, mut longest) = (0usize, 0usize);
    if length_bytes(w) == 1 {
        for part in lengths.chunks(1 << 16) {
            total += part.iter().map(|&byte| u32::from(byte)).sum::<u32>() as usize;
            longest = longest.max(usize::from(part.iter().copied().max().unwrap_or(0)));
        }
    } else {
        for i in 0..count - 1 {
            let bytes = get_length(w, lengths, i);
            total += bytes;
            longest = longest.max(bytes);
        }
    }
    let fits = longest <= 8 * w.words() && lengths.len() + total + count * 8 * w.payload() == length;
    fits.then_some(total)
}

/// Masks for the low 0 to 8 bytes of a word.
const LOW_BYTES: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn decode_one<W: Width>(w: W, lengths: &[u8], differences: &[u8], flat: &mut [u64]) {
    let mut at = 0;
    let mut state = flat[w.payload()];
    let records = flat.chunks_exact_mut(w.stride()).skip(1);
    for (record, &bytes) in records.zip(lengths) {
        state = state.wrapping_add(load(differences, at) & LOW_BYTES[usize::from(bytes & 15)]);
        record[w.payload()] = state;
        at += usize::from(bytes);
    }
}

fn decode_two<W: Width>(w: W, lengths: &[u8], differences: &[u8], flat: &mut [u64]) {
    let mut at = 0;
    let mut state = u128::from(flat[w.payload()]) | u128::from(flat[w.payload() + 1]) << 64;
    let records = flat.chunks_exact_mut(w.stride()).skip(1);
    for (record, &bytes) in records.zip(lengths) {
        let bytes = usize::from(bytes);
        let mut difference = u128::from(load(differences, at) & LOW_BYTES[bytes.min(8)]);
        if bytes > 8 {
            difference |= u128::from(load(differences, at + 8) & LOW_BYTES[(bytes - 8) & 15]) << 64;
        }
        state = state.wrapping_add(difference);
        record[w.payload()] = state as u64;
        record[w.payload() + 1] = (state >> 64) as u64;
        at += bytes;
    }
}

fn decode_many<W: Width>(w: W, lengths: &[u8], differences: &[u8], flat: &mut [u64]) {
    let (stride, payload) = (w.stride(), w.payload());
    let mut at = 0;
    for i in 1..flat.len() / stride {
        let bytes = get_length(w, lengths, i - 1);
        let (done, rest) = flat.split_at_mut(i * stride);
        let before = &done[(i - 1) * stride + payload..][..w.words()];
        let state = &mut rest[payload..][..w.words()];
        let mut carry = false;
        let full = bytes / 8;
        for word in 0..w.words() {
            let difference = if word < full {
                load(differences, at + 8 * word)
            } else if word == full {
                load(differences, at + 8 * word) & LOW_BYTES[bytes % 8]
            } else {
                0
            };
            let (sum, over) = before[word].overflowing_add(difference);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            carry = over | over_again;
            state[word] = sum;
        }
        at += bytes;
    }
}

#[inline(always)]
fn get_length<W: Width>(w: W, lengths: &[u8], at: usize) -> usize {
    if length_bytes(w) == 1 {
        usize::from(lengths[at])
    } else {
        usize::from(u16::from_le_bytes([lengths[2 * at], lengths[2 * at + 1]]))
    }
}

#[inline(always)]
fn set_length<W: Width>(w: W, lengths: &mut [u8], at: usize, bytes: usize) {
    if length_bytes(w) == 1 {
        lengths[at] = bytes as u8;
    } else {
        // 8 bytes for each of at most 8191 words fit; no `RecordShape` is wider.
        lengths[2 * at..2 * at + 2].copy_from_slice(&(bytes as u16).to_le_bytes());
    }
}
