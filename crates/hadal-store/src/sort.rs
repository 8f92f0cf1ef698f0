//! Sorting packed states in RAM, in place.
//!
//! Narrow records are sorted as arrays of words. Wide ones are sorted through (leading bits, number) pairs and moved
//! once at the end: moving them at every step would cost more than the extra memory.

use std::cmp::Ordering;

use crate::shape::RecordShape;

/// Sorts records by state, equal states by payload.
pub fn sort_records(shape: RecordShape, flat: &mut [u64]) {
    match shape.stride() {
        1 => flat.sort_unstable(),
        2 => sort_arrays::<2>(flat),
        3 => sort_arrays::<3>(flat),
        4 => sort_arrays::<4>(flat),
        stride => sort_wide(stride, flat),
    }
}

/// Sorts records and keeps one of each state, the one with the smallest payload. Returns how many were dropped.
pub fn sort_unique(shape: RecordShape, flat: &mut Vec<u64>) -> u64 {
    sort_records(shape, flat);
    dedupe_sorted(shape, flat)
}

/// Keeps the first record of each state of sorted records. Returns how many were dropped.
pub fn dedupe_sorted(shape: RecordShape, flat: &mut Vec<u64>) -> u64 {
    let stride = shape.stride();
    let count = flat.len() / stride;
    let mut kept = 1;
    for at in 1..count {
        let state = shape.state(&flat[at * stride..(at + 1) * stride]);
        if state != shape.state(&flat[(kept - 1) * stride..kept * stride]) {
            if kept != at {
                flat.copy_within(at * stride..(at + 1) * stride, kept * stride);
            }
            kept += 1;
        }
    }
    if count > 0 {
        flat.truncate(kept * stride);
        (count - kept) as u64
    } else {
        0
    }
}

/// Bytes of scratch memory that sorting `count` records takes.
pub fn scratch_bytes(shape: RecordShape, count: usize) -> u64 {
    if shape.stride() <= 4 { 0 } else { (count * size_of::<(u64, u32)>()) as u64 }
}

fn sort_arrays<const N: usize>(flat: &mut [u64]) {
    flat.as_chunks_mut::<N>().0.sort_unstable_by(compare_arrays);
}

#[inline(always)]
fn compare_arrays<const N: usize>(a: &[u64; N], b: &[u64; N]) -> Ordering {
    hadal_system::state::compare(a, b)
}

fn sort_wide(stride: usize, flat: &mut [u64]) {
    let Some(window) = Window::find(stride, flat) else { return };
    let record = |at: u32| &flat[at as usize * stride..][..stride];
    let mut order: Vec<(u64, u32)> =
        flat.chunks_exact(stride).zip(0..).map(|(record, at)| (window.bits(record), at)).collect();
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| hadal_system::state::compare(record(a.1), record(b.1)))
    });
    permute(stride, flat, &mut order);
}

/// The 64 most significant bits among those in which records differ.
struct Window {
    word: usize,
    shift: u32,
}

impl Window {
    /// `None` if all records are equal.
    fn find(stride: usize, flat: &[u64]) -> Option<Window> {
        for word in (0..stride).rev() {
            let first = *flat.get(word)?;
            let varying =
                flat.chunks_exact(stride).fold(0, |varying, record| varying | (record[word] ^ first));
            if varying != 0 {
                return Some(Window { word, shift: varying.leading_zeros() });
            }
        }
        None
    }

    fn bits(&self, record: &[u64]) -> u64 {
        let high = record[self.word] << self.shift;
        match self.word.checked_sub(1) {
            Some(below) if self.shift > 0 => high | record[below] >> (64 - self.shift),
            _ => high,
        }
    }
}

/// Moves the record numbered `order[i].1` to place `i`, following the cycles of the permutation.
fn permute(stride: usize, flat: &mut [u64], order: &mut [(u64, u32)]) {
    let mut held = vec![0; stride];
    for start in 0..order.len() {
        if order[start].1 as usize == start {
            continue;
        }
        held.copy_from_slice(&flat[start * stride..][..stride]);
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place].1, place as u32) as usize;
            if from == start {
                break;
            }
            flat.copy_within(from * stride..(from + 1) * stride, place * stride);
            place = from;
        }
        flat[place * stride..][..stride].copy_from_slice(&held);
    }
}
