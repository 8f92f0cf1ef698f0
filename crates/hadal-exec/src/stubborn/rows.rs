//! Sets of action groups as rows of bits; equal rows are kept once.

use std::collections::HashMap;

/// Rows of bits, all of one width.
pub(super) struct Rows {
    words: usize,
    bits: Vec<u64>,
    known: HashMap<Vec<u64>, u32>,
}

impl Rows {
    pub(super) fn new(groups: usize) -> Self {
        Rows { words: groups.div_ceil(64).max(1), bits: Vec::new(), known: HashMap::new() }
    }

    /// Words of a row.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The number of the row that holds exactly these groups.
    pub(super) fn add(&mut self, groups: impl IntoIterator<Item = usize>) -> u32 {
        let mut row = vec![0u64; self.words];
        for group in groups {
            row[group / 64] |= 1 << (group % 64);
        }
        let next = self.known.len() as u32;
        *self.known.entry(row).or_insert_with_key(|row| {
            self.bits.extend_from_slice(row);
            next
        })
    }

    pub(super) fn row(&self, number: u32) -> &[u64] {
        &self.bits[number as usize * self.words..][..self.words]
    }

    /// Forgets what only adding rows needs.
    pub(super) fn finish(&mut self) {
        self.known = HashMap::new();
    }
}

/// The groups of a row, ascending.
pub(super) fn members(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(at * 64 + bit)
        })
    })
}

/// Whether two rows have a group in common.
pub(super) fn meet(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// Whether three rows have a group in common.
pub(super) fn meet_all(a: &[u64], b: &[u64], c: &[u64]) -> bool {
    a.iter().zip(b).zip(c).any(|((a, b), c)| a & b & c != 0)
}

/// How many groups a row has.
pub(super) fn count(row: &[u64]) -> u32 {
    row.iter().map(|word| word.count_ones()).sum()
}

/// Whether a row has this group.
pub(super) fn has(row: &[u64], group: usize) -> bool {
    row[group / 64] >> (group % 64) & 1 == 1
}
