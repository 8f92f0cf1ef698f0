//! One bucket: its candidates and its closed states, in RAM and in sorted runs.

use super::super::Trouble;
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::{sort_records, sort_unique};
use hadal_store::vfs::Disk;

#[derive(Default)]
pub(super) struct Bucket {
    /// Candidates in RAM, as they came.
    pub(super) held: Vec<u64>,
    pub(super) candidates: Vec<RunFile>,
    /// Candidates added, duplicates included.
    pub(super) count: u64,
    /// Duplicates met while candidates were written.
    pub(super) within: u64,
    /// Closed states in RAM, as they came.
    pub(super) resident: Vec<u64>,
    /// Each less than half as large as the one before.
    pub(super) closed: Vec<RunFile>,
}

impl Bucket {
    pub(super) fn hold_candidate(&mut self, state: &[u64]) {
        self.held.extend_from_slice(state);
        self.count += 1;
    }

    pub(super) fn spill_candidates(&mut self, disk: &Disk, options: &RunOptions) -> Result<(), Trouble> {
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Ok(());
        }
        self.within += sort_unique(options.shape, &mut held);
        let mut run = RunWriter::create(disk, RunKind::Candidates, options)?;
        run.push_all(Records::new(options.shape, &held))?;
        self.candidates.push(run.finish()?);
        Ok(())
    }

    pub(super) fn spill_closed(&mut self, disk: &Disk, options: &RunOptions) -> Result<(), Trouble> {
        let mut resident = std::mem::take(&mut self.resident);
        if resident.is_empty() {
            return Ok(());
        }
        sort_records(options.shape, &mut resident);
        let mut run = RunWriter::create(disk, RunKind::Closed, options)?;
        run.push_all(Records::new(options.shape, &resident))?;
        self.closed.push(run.finish()?);
        let runs = &self.closed;
        let mut first = runs.len() - 1;
        let mut total = runs[first].records();
        while first > 0 && runs[first - 1].records() < 2 * total {
            first -= 1;
            total += runs[first].records();
        }
        if first + 1 < runs.len() {
            let merged = self.closed.split_off(first);
            let limits = MergeLimits::for_memory(disk, options);
            self.closed.push(merge_unique(disk, merged, RunKind::Closed, options, limits)?.0);
        }
        Ok(())
    }

    /// Makes one run of the candidates where there are too many to read at once; returns the duplicates met.
    pub(super) fn reduce(&mut self, disk: &Disk, options: &RunOptions) -> Result<u64, Trouble> {
        let limits = MergeLimits::for_memory(disk, options);
        if self.candidates.len() < limits.fan_in {
            return Ok(0);
        }
        let runs = std::mem::take(&mut self.candidates);
        let (run, duplicates) = merge_unique(disk, runs, RunKind::Candidates, options, limits)?;
        self.candidates.push(run);
        Ok(duplicates)
    }

    /// Up to so many words of the candidates that came last.
    pub(super) fn recent_candidates(&self, most: usize) -> Result<Vec<u64>, Trouble> {
        let mut sample = self.held[self.held.len() - self.held.len().min(most)..].to_vec();
        let mut block = Vec::new();
        for run in self.candidates.iter().rev() {
            let mut reader = RunReader::open(run)?;
            while sample.len() < most && reader.next_block(&mut block)? {
                sample.extend_from_slice(&block[..block.len().min(most - sample.len())]);
            }
        }
        Ok(sample)
    }

    pub(super) fn forget_candidates(&mut self) {
        self.held = Vec::new();
        self.candidates.clear();
        (self.count, self.within) = (0, 0);
    }
}
