//! Records found in any order and wanted in theirs: sorted in RAM in batches, in runs on disk where they are many.

use hadal_store::error::{MergeError, WriteError};
use hadal_store::merge::{BlockSource, MemorySource, MergeLimits, RunMerge, merge_unique, subtract_closed};
use hadal_store::shape::Records;
use hadal_store::sort::sort_unique;
use hadal_store::{
    Disk, Levels, RecordShape, Reservation, RunFile, RunKind, RunOptions, RunReader, RunWriter,
};

/// Usual settings for runs of records of `words` words, under a budget of `limit` bytes.
pub(super) fn options(words: usize, fingerprint: u64, limit: u64) -> RunOptions {
    // A small budget cannot spare the usual buffers for each of a dozen open runs.
    let most = (limit / 256).max(4 << 10) as usize;
    let usual = RunOptions::new(RecordShape::states(words), fingerprint);
    RunOptions { block_bytes: usual.block_bytes.min(most), chunk_bytes: usual.chunk_bytes.min(most), ..usual }
}

/// Sorts records; equal ones are one.
pub(super) struct Sorter<'d> {
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
        if self.runs.len() > 1 {
            let limits = MergeLimits::for_memory(self.disk, &self.options);
            let runs = std::mem::take(&mut self.runs);
            self.runs.push(merge_unique(self.disk, runs, RunKind::Candidates, &self.options, limits)?.0);
        }
        // There is at least the one just made.
        Ok(self.runs[0].clone())
    }

    /// Those of the records that are not in `known`, as a run; the sorter is empty then.
    pub fn drain_into_new(&mut self, known: &Levels) -> Result<RunFile, MergeError> {
        let limits = MergeLimits::for_memory(self.disk, &self.options);
        if self.runs.len() > (limits.fan_in / 2).max(2) {
            let runs = std::mem::take(&mut self.runs);
            self.runs.push(merge_unique(self.disk, runs, RunKind::Candidates, &self.options, limits)?.0);
        }
        sort_unique(self.options.shape, &mut self.held);
        let mut writer = RunWriter::create(self.disk, RunKind::Frontier, &self.options)?;
        let held = Records::new(self.options.shape, &self.held);
        let mut sources: Vec<Box<dyn BlockSource + '_>> = vec![Box::new(MemorySource::new(held))];
        for run in &self.runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        let merge = RunMerge::new(self.options.shape, sources);
        subtract_closed(merge, &mut known.filter()?, &mut writer)?;
        self.held.clear();
        self.runs.clear();
        Ok(writer.finish()?)
    }
}
