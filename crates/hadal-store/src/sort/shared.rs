//! Sorting on several threads, in place: records are parted around a pivot, and the parts sorted by a thread each.

use super::sort_records;
use crate::shape::RecordShape;
use hadal_system::state::compare;
use std::cmp::Ordering;

/// Records below this number are sorted by one thread.
const WORTH_A_THREAD: usize = 1 << 13;
/// Records that the pivot is chosen from.
const SAMPLED: usize = 33;

/// Sorts records by state, equal states by payload, on so many threads. The outcome is that of [`sort_records`].
pub fn sort_records_on(threads: usize, shape: RecordShape, flat: &mut [u64]) {
    let (stride, count) = (shape.stride(), flat.len() / shape.stride());
    if threads < 2 || count < WORTH_A_THREAD {
        return sort_records(shape, flat);
    }
    let middle = part(stride, flat);
    if middle == 0 || middle == flat.len() {
        return sort_records(shape, flat);
    }
    let (below, above) = flat.split_at_mut(middle);
    // As many threads for each part as it has of the records.
    let share = (threads * below.len() / (below.len() + above.len())).clamp(1, threads - 1);
    std::thread::scope(|scope| {
        scope.spawn(|| sort_records_on(share, shape, below));
        sort_records_on(threads - share, shape, above);
    });
}

/// Moves the records below one of them to the front; returns the words of those.
fn part(stride: usize, flat: &mut [u64]) -> usize {
    let count = flat.len() / stride;
    let mut sample: Vec<&[u64]> =
        (0..SAMPLED).map(|n| &flat[n * (count / SAMPLED) * stride..][..stride]).collect();
    sample.sort_unstable_by(|a, b| compare(a, b));
    let pivot = sample[SAMPLED / 2].to_vec();
    let is_below = |record: &[u64]| compare(record, &pivot) == Ordering::Less;
    let (mut low, mut high) = (0, count);
    loop {
        while low < high && is_below(&flat[low * stride..][..stride]) {
            low += 1;
        }
        while low < high && !is_below(&flat[(high - 1) * stride..][..stride]) {
            high -= 1;
        }
        if low >= high {
            return low * stride;
        }
        let (front, back) = flat.split_at_mut((high - 1) * stride);
        front[low * stride..][..stride].swap_with_slice(&mut back[..stride]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    #[test]
    fn any_number_of_threads_sorts_as_one_does() {
        let mut random = Random::new(3);
        let count = if cfg!(miri) { 100 } else { 40_000 };
        for stride in [1, 2, 5] {
            let shape = RecordShape::states(stride);
            for mask in [0u64, 1, 0xFF, u64::MAX] {
                let flat: Vec<u64> = (0..count * stride).map(|_| random.bits() & mask).collect();
                let mut expected = flat.clone();
                sort_records(shape, &mut expected);
                for threads in 1..6 {
                    let mut sorted = flat.clone();
                    sort_records_on(threads, shape, &mut sorted);
                    assert!(sorted == expected, "{stride} words, mask {mask:x}, {threads} threads");
                }
            }
        }
    }
}
