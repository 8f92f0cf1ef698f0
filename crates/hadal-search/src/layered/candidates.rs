//! Candidates of the layer being found: sorted runs on disk, one for each batch, and one small batch in RAM
//! (Lamborn 2014, sec. 3.3.1: buffers are sorted before they are written, never files).

use super::Trouble;
use super::detector::Detector;
use crate::report::DetectionWork;
use hadal_store::merge::{BlockSource, MemorySource, MergeInputs, MergeLimits, RunMerge, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;
use hadal_system::Ascending;

pub(crate) struct Candidates {
    disk: Disk,
    options: RunOptions,
    /// One batch that needs no run.
    held: Vec<u64>,
    /// Words that `held` may take.
    most_held: usize,
    runs: Vec<RunFile>,
    states: u64,
    /// Duplicates met while runs were merged to fewer.
    merged: u64,
    written: u64,
    passes: u64,
}

impl Candidates {
    /// None yet; a batch of up to `most_held` words stays in RAM (the caller reserves them).
    pub(crate) fn new(disk: &Disk, options: RunOptions, most_held: usize) -> Self {
        let (held, runs) = (Vec::new(), Vec::new());
        Candidates {
            disk: disk.clone(),
            options,
            held,
            most_held,
            runs,
            states: 0,
            merged: 0,
            written: 0,
            passes: 0,
        }
    }

    /// Stands in while others are elsewhere.
    pub(crate) fn none(others: &Candidates) -> Self {
        Candidates::new(&others.disk, others.options, 0)
    }

    /// Adds a batch.
    pub(crate) fn add(&mut self, batch: Ascending) -> Result<(), Trouble> {
        self.states += batch.len() as u64;
        let batch = batch.flat();
        if self.held.is_empty() && batch.len() <= self.most_held {
            self.held.extend_from_slice(batch);
            return Ok(());
        }
        let mut run = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
        run.push_all(Records::new(self.options.shape, batch))?;
        self.runs.push(run.finish()?);
        self.written += 1;
        Ok(())
    }

    /// Adds a run.
    pub(crate) fn add_run(&mut self, run: RunFile) {
        self.states += run.records();
        self.written += 1;
        self.runs.push(run);
    }

    /// States added since the last [`Candidates::clear`], duplicates included.
    pub(crate) fn states(&self) -> u64 {
        self.states
    }

    /// Duplicates found while merging runs ahead of [`Candidates::merge`], which does not see them again.
    pub(crate) fn merged_away(&self) -> u64 {
        self.merged
    }

    /// What they took so far: runs written, and merges of them ahead of the last.
    pub(crate) fn work(&self) -> DetectionWork {
        DetectionWork { runs: self.written, passes: self.passes, ..DetectionWork::default() }
    }

    /// Runs that wait to be merged.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Makes as few runs of them as can be read at once.
    pub(crate) async fn reduce(&mut self) -> Result<(), Trouble> {
        let limits = MergeLimits::for_memory(&self.disk, &self.options);
        if self.runs.len() >= limits.fan_in {
            self.unite().await?;
        }
        Ok(())
    }

    /// Makes one run of the runs: the first pass of separate merging (Lamborn 2014, sec. 3.3.3).
    pub(crate) async fn unite(&mut self) -> Result<(), Trouble> {
        if self.runs.is_empty() || (self.runs.len() == 1 && self.held.is_empty()) {
            return Ok(());
        }
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            let mut run = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
            run.push_all(Records::new(self.options.shape, &held))?;
            self.runs.push(run.finish()?);
        }
        let runs = std::mem::take(&mut self.runs);
        let limits = MergeLimits::for_memory(&self.disk, &self.options);
        let merged = merge_unique(&self.disk, runs, RunKind::Candidates, &self.options, limits);
        let (run, duplicates) = merged.await?;
        self.runs.push(run);
        self.merged += duplicates;
        self.passes += 1;
        Ok(())
    }

    /// All of them, to be merged.
    pub(crate) fn inputs(&self) -> MergeInputs<'_> {
        let held = Records::new(self.options.shape, &self.held);
        MergeInputs { runs: self.runs.clone(), held: Some(held) }
    }

    /// All of them, ascending, each once.
    pub(crate) fn merge(&self) -> Result<RunMerge<'_>, Trouble> {
        let shape = self.options.shape;
        let mut sources: Vec<Box<dyn BlockSource + '_>> = Vec::new();
        for run in &self.runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        if !self.held.is_empty() {
            sources.push(Box::new(MemorySource::new(Records::new(shape, &self.held))));
        }
        Ok(RunMerge::new(shape, sources))
    }

    /// Offers all of them to another detector.
    pub(crate) async fn hand_over(&self, to: &mut dyn Detector) -> Result<(), Trouble> {
        let mut merge = self.merge()?;
        let mut block = Vec::new();
        while merge.next_block(&mut block)? {
            to.offer(Ascending::new(self.options.shape.stride(), &block))?;
            self.disk.rest().await?;
        }
        Ok(())
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
        self.runs.clear();
        (self.states, self.merged, self.written, self.passes) = (0, 0, 0, 0);
    }
}
