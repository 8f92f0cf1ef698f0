//! Closed states as sorted runs that are streamed, not probed: no indexes. Hash buckets and phased detection use them.

use super::Trouble;
use super::closed_set::askable;
use super::detector::LayerView;
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;

pub(crate) struct ClosedRuns {
    pub(super) disk: Disk,
    pub(super) options: RunOptions,
    /// First and last depth, and the run; oldest first.
    runs: Vec<((u64, u64), RunFile)>,
    /// States not in a run yet, in no order.
    resident: Vec<u64>,
    resident_depths: (u64, u64),
    most_resident: usize,
    most_runs: usize,
}

impl ClosedRuns {
    /// Nothing yet. Keeps at most `most_resident` words in RAM (the caller reserves them) and `most_runs` runs.
    pub(crate) fn new(disk: &Disk, options: RunOptions, most_resident: usize, most_runs: usize) -> Self {
        ClosedRuns {
            disk: disk.clone(),
            options,
            runs: Vec::new(),
            resident: Vec::new(),
            resident_depths: (0, 0),
            most_resident,
            most_runs: most_runs.max(2),
        }
    }

    /// Adds a layer or a part of one.
    pub(crate) async fn add(&mut self, depth: u64, layer: LayerView<'_>) -> Result<(), Trouble> {
        match layer {
            LayerView::Run(run) => {
                self.flush().await?;
                let run = askable(run, &self.options).await?;
                self.push((depth, depth), run).await
            }
            LayerView::States(states) => {
                let states = states.flat();
                if self.resident.len() + states.len() > self.most_resident {
                    self.flush().await?;
                }
                if states.len() > self.most_resident {
                    let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
                    run.push_all(Records::new(self.options.shape, states))?;
                    return self.push((depth, depth), run.finish()?).await;
                }
                if self.resident.is_empty() {
                    self.resident_depths.0 = depth;
                }
                self.resident_depths.1 = depth;
                self.resident.extend_from_slice(states);
                Ok(())
            }
        }
    }

    /// Adds a run.
    pub(crate) async fn push(&mut self, depths: (u64, u64), run: RunFile) -> Result<(), Trouble> {
        self.runs.push((depths, run));
        if self.runs.len() > self.most_runs {
            // The older half becomes one run: each state is rewritten logarithmically often.
            let rest = self.runs.split_off(self.runs.len() / 2);
            let older = std::mem::replace(&mut self.runs, rest);
            let depths = (older[0].0.0, older[older.len() - 1].0.1);
            let runs = older.into_iter().map(|(_, run)| run).collect();
            let limits = MergeLimits::for_memory(&self.disk, &self.options);
            let (run, _) = merge_unique(&self.disk, runs, RunKind::Closed, &self.options, limits).await?;
            self.runs.insert(0, (depths, run));
        }
        Ok(())
    }

    /// Moves what is in RAM to a run.
    pub(crate) async fn flush(&mut self) -> Result<(), Trouble> {
        let mut resident = std::mem::take(&mut self.resident);
        if resident.is_empty() {
            return Ok(());
        }
        sort_records(self.options.shape, &mut resident);
        let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        run.push_all(Records::new(self.options.shape, &resident))?;
        self.push(self.resident_depths, run.finish()?).await
    }

    /// The runs with their depths.
    pub(crate) fn runs(&self) -> &[((u64, u64), RunFile)] {
        &self.runs
    }

    /// First and last depth of what is in RAM.
    pub(crate) fn resident_depths(&self) -> (u64, u64) {
        self.resident_depths
    }

    /// What is in RAM.
    pub(crate) fn resident(&self) -> &[u64] {
        &self.resident
    }
}
