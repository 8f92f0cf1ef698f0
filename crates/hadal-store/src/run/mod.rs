//! Sorted runs: files of strictly ascending states in compressed, checksummed blocks (`docs/format.md`, section 1).

mod block;
mod columns;
mod file;
mod index;
mod probe;
mod reader;
mod writer;

pub use file::{RunFile, RunSummary};
pub use index::BlockIndex;
pub use probe::{ProbeStats, RunProbe};
pub use reader::RunReader;
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
}

impl RunKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunKind::Closed => "closed",
            RunKind::Frontier => "frontier",
            RunKind::Candidates => "candidates",
        }
    }

    /// The kind that a file's name says it is of.
    pub(crate) fn of_name(name: &str) -> Option<RunKind> {
        let kinds = [RunKind::Closed, RunKind::Frontier, RunKind::Candidates];
        let (kind, _) = name.rsplit_once('-')?;
        kinds.into_iter().find(|known| known.name() == kind)
    }

    fn code(self) -> u8 {
        match self {
            RunKind::Closed => 1,
            RunKind::Frontier => 2,
            RunKind::Candidates => 3,
        }
    }
}

/// What is tried on a block once differences are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Nothing.
    Plain,
    /// LZ4, kept where it makes the block smaller.
    Lz4,
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

impl RunOptions {
    /// Usual settings for records of this shape.
    pub fn new(shape: RecordShape, fingerprint: u64) -> Self {
        RunOptions { shape, fingerprint, codec: Codec::Lz4, block_bytes: 64 << 10, chunk_bytes: 64 << 10 }
    }

    /// Records in a full block.
    pub fn block_records(&self) -> usize {
        // At most 2^16 records of 2^17 words, so that all lengths in a block fit 32 bits with room to spare.
        (self.block_bytes / self.shape.bytes()).clamp(1, 1 << 16)
    }
}
