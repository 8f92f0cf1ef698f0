//! Sorting packed states in RAM, in place.
//!
//! Most bits of a batch of states are the same in all of them. Records are first squeezed to the bits that differ,
//! inside their own memory, sorted as arrays of one to four words, and widened again. Where that is impossible wide
//! records are sorted through (leading bits, number) pairs and moved once.

mod external;
mod radix;
mod shared;
mod squeeze;
mod wide;

pub use external::Sorter;
pub use shared::sort_records_on;
use squeeze::Squeeze;

use crate::shape::RecordShape;
use hadal_system::Merge;

/// Records below this number are not worth looking at twice.
const FEW: usize = 64;

/// Sorts records by state, equal states by payload.
pub fn sort_records(shape: RecordShape, flat: &mut [u64]) {
    match Squeeze::find(shape.stride(), flat) {
        Some(squeeze) if flat.len() / shape.stride() > FEW => {
            let width = squeeze.width();
            let count = squeeze.narrow(flat);
            sort_squeezed(width, squeeze.bits(), count, flat);
            squeeze.widen(flat, count);
        }
        _ => sort_plain(shape.stride(), flat),
    }
}

/// Sorts records and keeps one of each state, with all its payloads merged. Returns how many were dropped.
pub fn sort_unique(shape: RecordShape, flat: &mut Vec<u64>) -> u64 {
    sort_records(shape, flat);
    dedupe_sorted(shape, flat)
}

/// Keeps one record of each state of sorted records, with all its payloads merged. Returns how many were dropped.
pub fn dedupe_sorted(shape: RecordShape, flat: &mut Vec<u64>) -> u64 {
    let stride = shape.stride();
    let count = flat.len() / stride;
    // Of equal states the first has the least payload.
    let payload = shape.payload_words();
    let merges = payload > 0 && shape.merge() != Merge::Least;
    let mut kept = 1;
    for at in 1..count {
        let state = shape.state(&flat[at * stride..(at + 1) * stride]);
        if state != shape.state(&flat[(kept - 1) * stride..kept * stride]) {
            if kept != at {
                flat.copy_within(at * stride..(at + 1) * stride, kept * stride);
            }
            kept += 1;
        } else if merges {
            let (before, here) = flat.split_at_mut(at * stride);
            shape.merge().merge(&mut before[(kept - 1) * stride..][..payload], &here[..payload]);
        }
    }
    flat.truncate(kept * stride);
    (count.max(1) - kept) as u64
}

/// Most bytes of extra memory that sorting `count` records can take.
pub fn scratch_bytes(shape: RecordShape, count: usize) -> u64 {
    if shape.stride() <= 4 { 0 } else { wide::scratch_bytes(count) }
}

/// Sorts the first `count` records of `width` words; the rest of `flat` is free to use.
fn sort_squeezed(width: usize, bits: u32, count: usize, flat: &mut [u64]) {
    let (squeezed, free) = flat.split_at_mut(count * width);
    if width == 1 && free.len() >= count && count > radix::FEW {
        radix::sort_words(squeezed, &mut free[..count], bits);
    } else {
        sort_plain(width, squeezed);
    }
}

fn sort_plain(stride: usize, flat: &mut [u64]) {
    match stride {
        1 => flat.sort_unstable(),
        2 => flat
            .as_chunks_mut::<2>()
            .0
            .sort_unstable_by_key(|&[low, high]| u128::from(high) << 64 | u128::from(low)),
        3 => sort_arrays::<3>(flat),
        4 => sort_arrays::<4>(flat),
        stride => wide::sort(stride, flat),
    }
}

fn sort_arrays<const N: usize>(flat: &mut [u64]) {
    flat.as_chunks_mut::<N>().0.sort_unstable_by(|a, b| hadal_system::state::compare(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    /// Every way a batch can be sorted: widths, and how many bits differ (squeezed or not, by digits or not).
    #[test]
    fn large_batches_are_sorted_whatever_the_number_of_differing_bits() {
        let mut random = Random::new(1);
        // Few enough for Miri, more than what is sorted at once.
        let count = if cfg!(miri) { 2 * FEW } else { 3000 };
        for stride in 1..=8 {
            let shape = RecordShape::states(stride);
            for mask in [0u64, 0xFF, 0x8000_0000_0000_0001, 0x0F0F_0F0F_0F0F_0F0F, u64::MAX] {
                let mut flat: Vec<u64> = (0..count * stride)
                    .map(|_| 0x1234_5678_9ABC_DEF0 & !mask | random.bits() & mask)
                    .collect();
                let mut expected: Vec<Vec<u64>> = flat.chunks(stride).map(<[u64]>::to_vec).collect();
                expected.sort_by(|a, b| hadal_system::state::compare(a, b));
                sort_records(shape, &mut flat);
                assert_eq!(flat, expected.concat(), "{stride} words, mask {mask:x}");
                expected.dedup();
                let dropped = dedupe_sorted(shape, &mut flat);
                assert_eq!((flat, dropped as usize), (expected.concat(), count - expected.len()));
            }
        }
    }
}
