//! What is merged: runs on disk and ascending records in RAM.

use super::{BlockSource, MemorySource, RunMerge};
use crate::error::ReadError;
use crate::run::{BlockIndex, RunFile, RunPiece, RunReader, StateRange};
use crate::shape::{RecordShape, Records};
use crate::vfs::Disk;
use hadal_system::state::compare;
use std::cmp::Ordering::Less;

/// Records from which on several threads merge them.
const WORTH_THREADS: u64 = 1 << 14;
/// Bytes of what a thread merges at a time, at least and at most.
const LEAST_PIECE: u64 = 32 << 10;
const MOST_PIECE: u64 = 4 << 20;
/// A thread has as many ranges at least, so that none waits long for another.
const RANGES_EACH: u64 = 2;
/// The blocks in which a range begins and ends are read twice: a range has this many blocks of each run at least.
const LEAST_BLOCKS: u64 = 2;

/// Sorted streams that are merged, once or range by range.
#[derive(Default)]
pub struct MergeInputs<'a> {
    /// Runs, each read whole.
    pub runs: Vec<RunFile>,
    /// Strictly ascending records, where there are any.
    pub held: Option<Records<'a>>,
}

/// How inputs are parted among threads.
pub(super) struct Ranges {
    indexes: Vec<BlockIndex>,
    /// States at which one range ends and the next begins.
    cuts: Vec<u64>,
    shape: RecordShape,
    /// Threads that the ranges are worth, two or more.
    pub(super) threads: usize,
    /// Bytes of the records of a range, about.
    pub(super) piece_bytes: u64,
}

impl MergeInputs<'_> {
    /// These runs.
    pub fn of_runs(runs: Vec<RunFile>) -> Self {
        MergeInputs { runs, held: None }
    }

    /// All of it as one stream.
    pub fn merge(&self, shape: RecordShape) -> Result<RunMerge<'_>, ReadError> {
        let mut sources: Vec<Box<dyn BlockSource + '_>> = Vec::new();
        for run in &self.runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        if let Some(held) = self.held.filter(|held| !held.is_empty()) {
            sources.push(Box::new(MemorySource::new(held)));
        }
        Ok(RunMerge::new(shape, sources))
    }

    /// Ranges for the threads of `disk`, each of which needs `beside` bytes besides; none where one thread does as well.
    pub(super) fn ranges(
        &self,
        disk: &Disk,
        shape: RecordShape,
        beside: u64,
    ) -> Result<Option<Ranges>, ReadError> {
        let held = self.held.map_or(0, |held| held.len() as u64);
        let records = self.runs.iter().map(RunFile::records).sum::<u64>() + held;
        if disk.workers() < 2 || records < WORTH_THREADS {
            return Ok(None);
        }
        let readers: u64 = self.runs.iter().map(RunReader::footprint_of).sum();
        let blocks: u64 = self.runs.iter().map(RunFile::blocks).sum();
        let least = LEAST_BLOCKS * self.runs.len() as u64 * records / blocks.max(1) * shape.bytes() as u64;
        // Half of what is free; of a thread's share, two ranges' records wait or are made, which may be larger by a half.
        let free = disk.governor.available() / 2;
        let all = records * shape.bytes() as u64;
        let piece_of = |threads: usize| {
            let room = (free / threads as u64).saturating_sub(readers + beside) / 3;
            room.min(MOST_PIECE).min(all / (RANGES_EACH * threads as u64))
        };
        let fits = |&threads: &usize| piece_of(threads) >= least.max(LEAST_PIECE);
        let Some(threads) = (2..=disk.workers()).rev().find(fits) else { return Ok(None) };
        let piece_bytes = piece_of(threads);
        let piece = piece_bytes / shape.bytes() as u64;
        let mut indexes = Vec::new();
        for run in &self.runs {
            match BlockIndex::load(run) {
                Ok(index) => indexes.push(index),
                Err(ReadError::OverBudget(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let cuts = self.cuts(&indexes, shape.words(), piece);
        Ok(Some(Ranges { indexes, cuts, shape, threads, piece_bytes }))
    }

    /// States between which about `piece` records lie.
    fn cuts(&self, indexes: &[BlockIndex], words: usize, piece: u64) -> Vec<u64> {
        let mut begins: Vec<(&[u64], u64)> = Vec::new();
        for index in indexes {
            begins.extend((0..index.blocks()).map(|n| (index.first_key(n), index.records(n) as u64)));
        }
        if let Some(held) = self.held {
            let step = (piece / 8).max(1) as usize;
            begins.extend((0..held.len()).step_by(step).map(|n| (held.state(n), step as u64)));
        }
        begins.sort_unstable_by(|a, b| compare(a.0, b.0));
        let (mut cuts, mut since) = (Vec::<u64>::new(), 0);
        for (state, records) in begins {
            let last = cuts.len().checked_sub(words).map(|at| &cuts[at..]);
            if since >= piece && last.is_none_or(|last| compare(last, state) == Less) {
                cuts.extend_from_slice(state);
                since = 0;
            }
            since += records;
        }
        cuts
    }

    /// The records of a range as one stream.
    pub(super) fn merge_range(&self, ranges: &Ranges, number: usize) -> Result<RunMerge<'_>, ReadError> {
        let range = ranges.range(number);
        let mut sources: Vec<Box<dyn BlockSource + '_>> = Vec::new();
        for (run, index) in self.runs.iter().zip(&ranges.indexes) {
            if let Some(piece) = RunPiece::open(run, index, range)? {
                sources.push(Box::new(piece));
            }
        }
        if let Some(held) = self.held {
            let held = held.slice(range.within(held));
            if !held.is_empty() {
                sources.push(Box::new(MemorySource::new(held)));
            }
        }
        Ok(RunMerge::new(ranges.shape, sources))
    }
}

impl Ranges {
    /// The shape of the records.
    pub(super) fn shape(&self) -> RecordShape {
        self.shape
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.cuts.len() / self.shape.words() + 1
    }

    fn range(&self, number: usize) -> StateRange<'_> {
        let words = self.shape.words();
        let cut = |number: usize| self.cuts.get(number * words..(number + 1) * words);
        StateRange { from: number.checked_sub(1).and_then(cut), to: cut(number) }
    }
}

impl BlockSource for RunPiece {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        RunPiece::next_block(self, flat)
    }
}
