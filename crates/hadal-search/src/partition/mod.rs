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
#[cfg(test)]
mod tests;
mod trail;
mod visit;

pub use figures::{DiskWork, PartitionFigures};
pub use heuristic::Heuristic;

use crate::lane::Task;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::Report;
use hadal_store::Governor;
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
            sample_states: 100_000,
            commit_every: Duration::from_secs(2),
        }
    }
}

/// A search partition by partition. Expands on one thread, whatever their number; liveness needs another strategy.
pub struct PartitionSearch<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// Opens the run folder.
    pub ledger: &'a dyn Fn() -> Result<Ledger, Trouble>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How.
    pub options: PartitionOptions,
}

/// Explores from the initial states. Traces lead where they say, but need not be shortest.
pub fn explore(search: &PartitionSearch) -> Result<Report, Trouble> {
    Exploration::begin(search)?.run()
}

/// Goes on with a run where its last commit left it.
pub fn resume(search: &PartitionSearch) -> Result<Report, Trouble> {
    Exploration::again(search)?.run()
}
