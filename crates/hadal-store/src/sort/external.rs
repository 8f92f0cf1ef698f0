//! Records that are found in any order and wanted in theirs: sorted in RAM in batches, in runs on disk where they are many.

use super::sort_unique;
use crate::error::{MergeError, WriteError};
use crate::levels::Levels;
use crate::merge::{BlockSource, MemorySource, MergeLimits, RunMerge, merge_unique, subtract_closed};
use crate::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use crate::shape::Records;
use crate::vfs::at_once;
use crate::{Disk, Reservation};

/// Sorts records; equal ones are one.
pub struct Sorter<'d> {
    disk: &'d Disk,
    options: RunOptions,
    held: Vec<u64>,
    most_words: usize,
    runs: Vec<RunFile>,
    memory: Reservation,
}

impl<'d> Sorter<'d> {
    /// At most `bytes` are held in RAM.
    pub fn new(disk: &'d Disk, options: RunOptions, bytes: u64) -> Self {
        let stride = options.shape.stride();
        let most_words = (bytes as usize / 8 / stride).max(64) * stride;
        let memory = disk.governor.empty("records being sorted");
        Sorter { disk, options, held: Vec::new(), most_words, runs: Vec::new(), memory }
    }

    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: &[u64]) -> Result<(), WriteError> {
        if self.held.len() + record.len() > self.held.capacity() {
            self.make_room(record.len())?;
        }
        self.held.extend_from_slice(record);
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, words: usize) -> Result<(), WriteError> {
        if self.held.len() + words > self.most_words {
            // Many are often equal: it is worth looking before they are written.
            sort_unique(self.options.shape, &mut self.held);
            if self.held.len() > self.most_words / 2 {
                self.flush()?;
            }
            return Ok(());
        }
        let more = self.held.len().max(1 << 10).min(self.most_words - self.held.len());
        self.memory.try_grow(8 * more as u64)?;
        self.held.reserve_exact(more);
        Ok(())
    }

    /// Writes what is held and sorted.
    fn flush(&mut self) -> Result<(), WriteError> {
        let mut writer = RunWriter::create(self.disk, RunKind::Candidates, &self.options)?;
        writer.push_all(Records::new(self.options.shape, &self.held))?;
        self.runs.push(writer.finish()?);
        self.held.clear();
        Ok(())
    }

    /// All records as one run.
    pub fn into_run(mut self) -> Result<RunFile, MergeError> {
        if !self.held.is_empty() || self.runs.is_empty() {
            sort_unique(self.options.shape, &mut self.held);
            self.flush()?;
        }
        self.held = Vec::new();
        self.memory.shrink_to(0);
        self.merge(1)
    }

    /// Merges all runs into one, where there are more than `most`, and gives the last.
    fn merge(&mut self, most: usize) -> Result<RunFile, MergeError> {
        if self.runs.len() > most {
            let limits = MergeLimits::for_memory(self.disk, &self.options);
            let runs = std::mem::take(&mut self.runs);
            let merged = merge_unique(self.disk, runs, RunKind::Candidates, &self.options, limits);
            self.runs.push(at_once(merged)?.0);
        }
        // There is at least the one just made, or the ones that were few enough.
        Ok(self.runs[self.runs.len() - 1].clone())
    }

    /// Gives those of the records whose states are not in `known`, as a run, and is empty then.
    pub fn drain_into_new(&mut self, known: &Levels) -> Result<RunFile, MergeError> {
        let fan_in = MergeLimits::for_memory(self.disk, &self.options).fan_in / 2;
        if self.runs.len() > fan_in.max(2) {
            self.merge(1)?;
        }
        sort_unique(self.options.shape, &mut self.held);
        let mut writer = RunWriter::create(self.disk, RunKind::Frontier, &self.options)?;
        let held = Records::new(self.options.shape, &self.held);
        let mut sources: Vec<Box<dyn BlockSource + '_>> = vec![Box::new(MemorySource::new(held))];
        for run in &self.runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        let merge = RunMerge::new(self.options.shape, sources);
        at_once(subtract_closed(self.disk, merge, &mut known.filter()?, &mut writer))?;
        self.held.clear();
        self.runs.clear();
        Ok(writer.finish()?)
    }
}
