//! Sorting wide records by (leading bits, number) pairs, moving each record once.

use hadal_system::state::compare;

/// Bytes of extra memory for `count` records.
pub(super) fn scratch_bytes(count: usize) -> u64 {
    (count * size_of::<(u64, u32)>()) as u64
}

pub(super) fn sort(stride: usize, flat: &mut [u64]) {
    let Some(window) = Window::find(stride, flat) else { return };
    assert!(flat.len() / stride <= u32::MAX as usize, "more records than a batch may have");
    let record = |at: u32| &flat[at as usize * stride..][..stride];
    let mut order: Vec<(u64, u32)> =
        flat.chunks_exact(stride).zip(0..).map(|(record, at)| (window.bits(record), at)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(record(a.1), record(b.1))));
    permute(stride, flat, &mut order);
}

/// The 64 bits from the most significant one in which records differ.
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
