//! The sparse index of a run: where each block is and with which state it begins.

use std::cmp::Ordering;
use std::ops::Range;

use hadal_system::state::compare;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::block::{u32_at, u64_at};
use super::file::RunFile;
use crate::error::{Corrupted, ReadError, checksums_agree};
use crate::governor::Reservation;
use crate::vfs::read_range;

/// The index of one run, in RAM under a reservation.
#[derive(Debug)]
pub struct BlockIndex {
    words: usize,
    offsets: Vec<u64>,
    lengths: Vec<u32>,
    counts: Vec<u32>,
    first_keys: Vec<u64>,
    last_key: Vec<u64>,
    _memory: Option<Reservation>,
}

impl BlockIndex {
    /// Reads and checks the index of `run`.
    pub fn load(run: &RunFile) -> Result<Self, ReadError> {
        let trailer = *run.trailer();
        let words = run.options().shape.words();
        let wrong = |what| Corrupted::file(run.name(), what);
        let expected = Some(trailer.blocks)
            .and_then(|blocks| blocks.checked_mul(16 + 8 * words as u64))
            .and_then(|bytes| bytes.checked_add(24 + 8 * words as u64));
        if expected != Some(trailer.index_bytes) {
            return Err(wrong("its index has the wrong length").into());
        }
        let memory = run.disk().governor.try_reserve(trailer.index_bytes, "block index")?;
        // The raw bytes live only while they are parsed; they are claimed as well.
        let passing = run.disk().governor.try_reserve(2 * trailer.index_bytes, "block index being read")?;
        let range = trailer.index_offset..trailer.index_offset + trailer.index_bytes;
        let bytes = read_range(run.disk(), &*run.open_file()?, range)
            .map_err(|error| ReadError::io(run.name(), error))?;
        let checksum = xxh3_64_with_seed(&bytes[16..], run.identity());
        let intact =
            checksums_agree(checksum, u64_at(&bytes, 8)) && checksums_agree(checksum, trailer.index_checksum);
        if bytes[..8] != *b"HADALIDX" || !intact {
            return Err(wrong("its index is damaged").into());
        }
        let blocks = trailer.blocks as usize;
        if u64_at(&bytes, 16) != trailer.blocks {
            return Err(wrong("its index counts other blocks than its trailer").into());
        }
        let words_at = |at: usize, count: usize| {
            bytes[at..at + 8 * count].chunks_exact(8).map(|word| u64_at(word, 0)).collect::<Vec<_>>()
        };
        let halves_at = |at: usize, count: usize| {
            bytes[at..at + 4 * count].chunks_exact(4).map(|half| u32_at(half, 0)).collect::<Vec<_>>()
        };
        let keys = 24 + 16 * blocks;
        let index = BlockIndex {
            words,
            offsets: words_at(24, blocks),
            lengths: halves_at(24 + 8 * blocks, blocks),
            counts: halves_at(24 + 12 * blocks, blocks),
            first_keys: words_at(keys, blocks * words),
            last_key: words_at(keys + 8 * blocks * words, words),
            _memory: Some(memory),
        };
        drop(passing);
        Ok(index)
    }

    pub(super) fn new(words: usize) -> Self {
        BlockIndex {
            words,
            offsets: Vec::new(),
            lengths: Vec::new(),
            counts: Vec::new(),
            first_keys: Vec::new(),
            last_key: vec![0; words],
            _memory: None,
        }
    }

    pub(super) fn push(&mut self, extent: Range<u64>, count: usize, first: &[u64], last: &[u64]) {
        self.offsets.push(extent.start);
        self.lengths.push((extent.end - extent.start) as u32);
        self.counts.push(count as u32);
        self.first_keys.extend_from_slice(first);
        self.last_key.copy_from_slice(last);
    }

    /// Bytes one more block adds.
    pub(super) fn entry_bytes(words: usize) -> u64 {
        16 + 8 * words as u64
    }

    /// The index as it stands in a file, and its checksum.
    pub(super) fn encode(&self, identity: u64) -> (Vec<u8>, u64) {
        let mut bytes = Vec::with_capacity(24 + self.blocks() * 16 + 8 * self.words * (self.blocks() + 1));
        bytes.extend_from_slice(b"HADALIDX");
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&(self.blocks() as u64).to_le_bytes());
        for offset in &self.offsets {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        for half in self.lengths.iter().chain(&self.counts) {
            bytes.extend_from_slice(&half.to_le_bytes());
        }
        for word in self.first_keys.iter().chain(&self.last_key) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&bytes[16..], identity);
        bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.offsets.len()
    }

    /// The state a block begins with.
    pub fn first_key(&self, block: usize) -> &[u64] {
        &self.first_keys[block * self.words..][..self.words]
    }

    /// The only block that may hold `state`, or the first where none may.
    pub fn block_before(&self, state: &[u64]) -> usize {
        self.blocks_where(|first| compare(first, state) != Ordering::Greater).saturating_sub(1)
    }

    /// How many blocks begin with a state below this one.
    pub(super) fn blocks_below(&self, state: &[u64]) -> usize {
        self.blocks_where(|first| compare(first, state) == Ordering::Less)
    }

    /// How many blocks begin with a state of which this holds; it holds for all before those of which it does not.
    fn blocks_where(&self, holds: impl Fn(&[u64]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.blocks());
        while low < high {
            let middle = (low + high) / 2;
            match holds(self.first_key(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// All first keys, one after the other.
    pub(super) fn first_keys(&self) -> &[u64] {
        &self.first_keys
    }

    /// The last state of the run.
    pub fn last_key(&self) -> &[u64] {
        &self.last_key
    }

    /// Records in a block.
    pub fn records(&self, block: usize) -> usize {
        self.counts[block] as usize
    }

    /// Where a block lies in the file.
    pub(super) fn range(&self, block: usize) -> Range<u64> {
        self.offsets[block]..self.offsets[block] + u64::from(self.lengths[block])
    }
}
