//! One bucket: its candidates and its closed states, in RAM and in sorted runs.

use super::super::Trouble;
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::sort_unique;
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
    /// First and last depth of those.
    pub(super) resident_depths: Depths,
    /// With their depths, the newest last; each less than half as large as the one before.
    pub(super) closed: Vec<(Depths, RunFile)>,
}

/// First and last depth of some layers.
pub(super) type Depths = (u64, u64);

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

    pub(super) async fn spill_closed(&mut self, disk: &Disk, options: &RunOptions) -> Result<(), Trouble> {
        let mut resident = std::mem::take(&mut self.resident);
        if resident.is_empty() {
            return Ok(());
        }
        // Layers found by partial detection may share states.
        sort_unique(options.shape, &mut resident);
        let mut run = RunWriter::create(disk, RunKind::Closed, options)?;
        run.push_all(Records::new(options.shape, &resident))?;
        self.closed.push((self.resident_depths, run.finish()?));
        let runs = &self.closed;
        let mut first = runs.len() - 1;
        let mut total = runs[first].1.records();
        while first > 0 && runs[first - 1].1.records() < 2 * total {
            first -= 1;
            total += runs[first].1.records();
        }
        if first + 1 < runs.len() {
            let merged = self.closed.split_off(first);
            let oldest = merged.iter().map(|(depths, _)| depths.0).min().unwrap_or(0);
            let newest = merged.iter().map(|(depths, _)| depths.1).max().unwrap_or(0);
            let merged = merged.into_iter().map(|(_, run)| run).collect();
            let limits = MergeLimits::for_memory(disk, options);
            let run = merge_unique(disk, merged, RunKind::Closed, options, limits).await?.0;
            self.closed.push(((oldest, newest), run));
        }
        Ok(())
    }

    pub(super) fn hold_closed(&mut self, state: &[u64], depths: Depths) {
        let held = &mut self.resident_depths;
        *held = if self.resident.is_empty() { depths } else { (held.0.min(depths.0), held.1.max(depths.1)) };
        self.resident.extend_from_slice(state);
    }

    /// Closed states.
    pub(super) fn closed_states(&self, words: usize) -> u64 {
        self.closed.iter().map(|(_, run)| run.records()).sum::<u64>() + (self.resident.len() / words) as u64
    }

    /// Makes one run of the candidates where there are too many to read at once; returns the duplicates met.
    pub(super) async fn reduce(&mut self, disk: &Disk, options: &RunOptions) -> Result<u64, Trouble> {
        let limits = MergeLimits::for_memory(disk, options);
        if self.candidates.len() < limits.fan_in {
            return Ok(0);
        }
        let runs = std::mem::take(&mut self.candidates);
        let (run, duplicates) = merge_unique(disk, runs, RunKind::Candidates, options, limits).await?;
        self.candidates.push(run);
        Ok(duplicates)
    }

    /// Up to so many words of the states that came last: candidates, then closed ones.
    pub(super) fn recent_states(&self, most: usize) -> Result<Vec<u64>, Trouble> {
        let mut sample = Vec::new();
        for states in [&self.held, &self.resident] {
            let room = most - sample.len();
            sample.extend_from_slice(&states[states.len() - states.len().min(room)..]);
        }
        let mut block = Vec::new();
        let closed = self.closed.iter().rev().map(|(_, run)| run);
        for run in self.candidates.iter().rev().chain(closed) {
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
