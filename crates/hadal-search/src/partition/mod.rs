//! Exploration partition by partition with dynamic refinement (S. Evangelista and L. M. Kristensen, *Dynamic state space
//! partitioning for external memory state space exploration*, 2011).
//!
//! The search starts with one partition and is then a search in RAM. When the states in RAM reach their bound, the
//! largest partition is split by a component of the state: only its files are written anew. From then on partitions are
//! read into RAM one after the other, the one with the longest queue first, and searched until nothing new is left in
//! them; transitions into others are queued. `docs/partition.md` has the details.

mod component;
mod diagram;
mod figures;
mod files;
mod heuristic;
mod queue;
mod record;
mod reorganise;
mod resident;
mod sample;
mod search;
mod shelf;
#[cfg(test)]
mod tests;
mod trail;
mod visit;

pub use figures::{DiskWork, PartitionFigures, PartitionSizes};
pub use heuristic::Heuristic;

use crate::explore::{Explored, Explorer, Method, Phase, Progress, Run, Setting};
use crate::layered::Trouble;
use crate::report::{StopReason, Verdict};
use crate::strategies::Resumes;
use search::Exploration;
use std::time::Duration;

/// How to explore.
#[derive(Clone, Debug)]
pub struct PartitionOptions {
    /// How partitions are split.
    pub heuristic: Heuristic,
    /// Most states in RAM, if fewer than fit the budget: half of them in partitions, half in queues (the setting of the
    /// paper's experiments).
    pub resident_states: Option<u64>,
    /// Whether a partition leaves RAM before the next is read, as in the paper.
    pub one_at_a_time: bool,
    /// Whether a partition that its heuristic cannot split may outgrow the bound, as in the paper, as far as memory allows.
    pub may_overflow: bool,
    /// States of the sample that SS and LHC look at.
    pub sample_states: u64,
    /// Commits are at least this far apart.
    pub commit_every: Duration,
}

impl Default for PartitionOptions {
    fn default() -> Self {
        PartitionOptions {
            heuristic: Heuristic::default(),
            resident_states: None,
            one_at_a_time: false,
            may_overflow: false,
            sample_states: 100_000,
            commit_every: Duration::from_secs(2),
        }
    }
}

/// Expands on one thread, whatever their number; liveness needs another strategy. Traces lead where they say, but need not
/// be shortest.
impl Method for PartitionOptions {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let exploration = match setting.run {
            Run::Resumed(_) => Exploration::again(setting, self)?,
            _ => Exploration::begin(setting, self)?,
        };
        Ok(Box::new(PartitionExplorer { exploration, verdict: None }))
    }
}

/// A search under way.
struct PartitionExplorer<'a> {
    exploration: Exploration<'a>,
    verdict: Option<Verdict>,
}

impl Explorer for PartitionExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        if self.verdict.is_none() {
            self.verdict = match self.exploration.go_on(work) {
                Err(trouble) if trouble.is_disk_full() => Some(Verdict::Stopped(StopReason::DiskFull)),
                other => other?,
            };
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let progress = self.exploration.progress();
        match self.verdict {
            Some(_) => Progress { phase: Phase::Over, ..progress },
            None => progress,
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Explored, Trouble> {
        let verdict = match self.verdict.take() {
            Some(verdict) => verdict,
            None => self.exploration.stop(StopReason::Interrupted)?,
        };
        Ok(Explored::leaving(self.exploration.report(verdict), Resumes::ItsOwn))
    }
}
