//! Sorted runs: files of strictly ascending states in compressed, checksummed blocks (`docs/format.md`, section 1).

mod block;
mod columns;
mod file;
mod index;
mod lookup;
mod piece;
mod probe;
mod reader;
mod slice;
mod writer;

pub use file::{RunFile, RunSummary};
pub use index::BlockIndex;
pub use lookup::{LookupStats, RunLookup};
pub use piece::{RunPiece, StateRange};
pub use probe::{ProbeStats, RunProbe};
pub use reader::RunReader;
pub use slice::{RunMark, RunSlice, SlicePlace};
pub use writer::RunWriter;

pub(crate) use file::verify_run;
pub(crate) use probe::mark_present;

use crate::shape::RecordShape;

/// What a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// States that were expanded or are about to be.
    Closed,
    /// States to expand.
    Frontier,
    /// Generated states whose novelty is undecided.
    Candidates,
    /// States with how far each is from what is looked for.
    Distances,
}

impl RunKind {
    /// All of them.
    pub const ALL: [RunKind; 4] =
        [RunKind::Closed, RunKind::Frontier, RunKind::Candidates, RunKind::Distances];

    /// As files of it are called.
    pub fn name(self) -> &'static str {
        match self {
            RunKind::Closed => "closed",
            RunKind::Frontier => "frontier",
            RunKind::Candidates => "candidates",
            RunKind::Distances => "distances",
        }
    }

    /// The kind that a file's name says it is of.
    pub(crate) fn of_name(name: &str) -> Option<RunKind> {
        let (kind, _) = name.rsplit_once('-')?;
        RunKind::ALL.into_iter().find(|known| known.name() == kind)
    }

    fn code(self) -> u8 {
        match self {
            RunKind::Closed => 1,
            RunKind::Frontier => 2,
            RunKind::Candidates => 3,
            RunKind::Distances => 4,
        }
    }
}

/// What is tried on a block once differences are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Nothing.
    Plain = 0,
    /// LZ4, kept where it makes the block smaller.
    Lz4 = 1,
    /// Zstandard, kept where it makes the block smaller: for what is written once and read from front to back.
    Zstd = 2,
}

/// How runs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// State and payload widths.
    pub shape: RecordShape,
    /// Fingerprint of the model and its layout; files with another one are refused.
    pub fingerprint: u64,
    /// Block codec.
    pub codec: Codec,
    /// Bytes of records, as they are in RAM, that make a block.
    pub block_bytes: usize,
    /// Bytes moved by one read or write of a stream.
    pub chunk_bytes: usize,
}

/// The smallest budget with room for dense blocks.
pub const DENSE_FROM: u64 = 20 << 20;
/// Dense blocks take one part in so many of the budget.
const DENSE_PART: u64 = 160;
/// Blocks grow where the index of a run would take more than one part in so many of the budget.
const INDEX_PART: u64 = 32;
/// Larger blocks save index and cost buffers: the two are in balance at about so many blocks' bytes of index, with a dozen
/// buffers in use.
const BLOCKS_OF_INDEX: u64 = 16;

impl RunOptions {
    /// Usual settings for records of this shape.
    pub fn new(shape: RecordShape, fingerprint: u64) -> Self {
        RunOptions { shape, fingerprint, codec: Codec::Lz4, block_bytes: 64 << 10, chunk_bytes: 64 << 10 }
    }

    /// These options for a run of about `records`: with larger blocks where the index of so many small ones would take much
    /// of `budget`, as it does of many wide states.
    pub fn for_records(&self, records: u64, budget: u64) -> Self {
        let (entry, state) = (BlockIndex::entry_bytes(self.shape.words()), self.shape.bytes() as u64);
        let small_enough =
            (records.saturating_mul(entry) / (budget / INDEX_PART).max(1)).saturating_mul(state);
        let balanced = (records.saturating_mul(state).saturating_mul(entry) / BLOCKS_OF_INDEX).isqrt();
        RunOptions { block_bytes: self.block_bytes.max(small_enough.min(balanced) as usize), ..*self }
    }

    /// These options for what is written once and only streamed: a stronger codec and larger blocks, as far as `budget` has
    /// room for their buffers; as they are where it has not.
    pub fn dense(&self, budget: u64) -> Self {
        if budget < DENSE_FROM {
            return *self;
        }
        let block = (budget / DENSE_PART).clamp(32 << 10, 512 << 10) as usize;
        RunOptions { codec: Codec::Zstd, block_bytes: self.block_bytes.max(block), ..*self }
    }

    /// Records in a full block.
    pub fn block_records(&self) -> usize {
        // At most 2^16 records of 2^17 words, so that all lengths in a block fit 32 bits with room to spare.
        (self.block_bytes / self.shape.bytes()).clamp(1, 1 << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_only_where_an_index_of_the_usual_ones_would_not_fit() {
        let usual = RunOptions { block_bytes: 48 << 10, ..RunOptions::new(RecordShape::states(2), 0) };
        assert_eq!(usual.for_records(10_000_000, 24 << 20), usual, "a tenth of a megabyte of index");
        let wide = RunOptions { block_bytes: 48 << 10, ..RunOptions::new(RecordShape::states(51), 0) };
        assert_eq!(wide.for_records(3_000_000, 1 << 30), wide, "there is room enough");
        let grown = wide.for_records(3_000_000, 24 << 20);
        let blocks = 3_000_000 / grown.block_records() as u64;
        let index = blocks * BlockIndex::entry_bytes(51);
        assert!(index < (24 << 20) / 6, "{index} bytes of index");
        assert!(grown.block_bytes < (24 << 20) / 100, "{} bytes a block", grown.block_bytes);
        assert_eq!(wide.for_records(1 << 60, 1).shape, wide.shape, "nothing overflows");
    }
}
