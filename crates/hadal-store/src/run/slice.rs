//! Parts of a run that are read by themselves: whole blocks that follow each other.
//!
//! Many small sorted sets share a file as slices of one run, written in one go (the n-th set has a number that leads its
//! records, so the run as a whole ascends). Each slice keeps the file as any handle of the run does.

use super::file::{HEADER_BYTES, RunFile};
use super::reader::RunReader;
use crate::error::{Corrupted, ReadError};

/// A place between two blocks of a run that is being written ([`super::RunWriter::mark`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunMark {
    pub(super) offset: u64,
    pub(super) block: u64,
    pub(super) records: u64,
}

/// Where a slice lies in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlicePlace {
    /// Its first byte in the file.
    pub offset: u64,
    /// Bytes of its blocks.
    pub bytes: u64,
    /// The number of its first block.
    pub block: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Its records.
    pub records: u64,
}

/// Blocks of a run that follow each other.
#[derive(Clone, Debug)]
pub struct RunSlice {
    run: RunFile,
    place: SlicePlace,
}

impl RunSlice {
    /// What was written between two marks of this run.
    pub fn between(run: &RunFile, from: RunMark, to: RunMark) -> Self {
        let place = SlicePlace {
            offset: from.offset,
            bytes: to.offset - from.offset,
            block: from.block,
            blocks: to.block - from.block,
            records: to.records - from.records,
        };
        RunSlice { run: run.clone(), place }
    }

    /// The slice that was at this place when the run was written. Whether its blocks are whole is seen on reading.
    pub fn at(run: &RunFile, place: SlicePlace) -> Result<Self, ReadError> {
        let trailer = run.trailer();
        let ends = |from: u64, length: u64, least: u64, most: u64| {
            from >= least && from.checked_add(length).is_some_and(|end| end <= most)
        };
        let fits = ends(place.offset, place.bytes, HEADER_BYTES as u64, trailer.index_offset)
            && ends(place.block, place.blocks, 0, trailer.blocks)
            && place.records <= trailer.records;
        match fits {
            true => Ok(RunSlice { run: run.clone(), place }),
            false => Err(Corrupted::file(run.name(), "it has no such part").into()),
        }
    }

    /// Its run.
    pub fn run(&self) -> &RunFile {
        &self.run
    }

    /// Where it lies.
    pub fn place(&self) -> SlicePlace {
        self.place
    }

    /// Its records.
    pub fn records(&self) -> u64 {
        self.place.records
    }

    /// Bytes of its blocks.
    pub fn bytes(&self) -> u64 {
        self.place.bytes
    }

    /// A scan from its first record to its last.
    pub fn reader(&self) -> Result<RunReader, ReadError> {
        RunReader::of_slice(&self.run, self.place)
    }
}
