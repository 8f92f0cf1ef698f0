//! What a commit keeps of a partitioned search (Evangelista and Kristensen 2011): enough to go on from, after any visit.

use super::diagram::Diagram;
use super::figures::PartitionFigures;
use super::files::Partition;
use super::heuristic::Heuristic;
use hadal_store::run::RunFile;
use serde::{Deserialize, Serialize};

/// The manifest section it stands in.
pub(super) const SECTION: &str = "partitions";

/// A search between two visits.
#[derive(Serialize, Deserialize)]
pub(super) struct SearchRecord {
    pub(super) heuristic: Heuristic,
    pub(super) diagram: Diagram,
    pub(super) partitions: Vec<PartitionRecord>,
    pub(super) trail: Vec<String>,
    /// The queues that were in RAM.
    pub(super) queues: Option<String>,
    pub(super) transitions: u64,
    pub(super) covers: Vec<u64>,
    pub(super) seconds: f64,
    pub(super) updates: Vec<u64>,
    pub(super) figures: PartitionFigures,
}

/// The files of a partition, by name.
#[derive(Serialize, Deserialize)]
pub(super) struct PartitionRecord {
    #[serde(rename = "n")]
    pub(super) states: u64,
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) closed: Vec<String>,
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) open: Vec<String>,
    #[serde(rename = "q", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) queue: Vec<String>,
}

impl PartitionRecord {
    pub(super) fn of(partition: &Partition) -> Self {
        PartitionRecord {
            states: partition.states,
            closed: names(&partition.closed),
            open: names(&partition.open),
            queue: names(&partition.queue),
        }
    }
}

/// The names of files.
pub(super) fn names(runs: &[RunFile]) -> Vec<String> {
    runs.iter().map(|run| run.name().to_owned()).collect()
}
