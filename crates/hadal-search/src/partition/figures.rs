//! What Evangelista and Kristensen (2011, sec. 6) measure of a partitioned search.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of the largest partitions are listed.
const TOP: usize = 200;

/// Records and bytes moved to and from disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskWork {
    /// Records (states, alone or with where they came from) read.
    pub reads: u64,
    /// Records written.
    pub writes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Of it reading and writing files, commits included.
    pub io_seconds: f64,
}

impl std::ops::Add for DiskWork {
    type Output = DiskWork;

    fn add(self, other: DiskWork) -> DiskWork {
        DiskWork {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            seconds: self.seconds + other.seconds,
            io_seconds: self.io_seconds + other.io_seconds,
        }
    }
}

impl std::ops::Sub for DiskWork {
    type Output = DiskWork;

    fn sub(self, other: DiskWork) -> DiskWork {
        DiskWork {
            reads: self.reads.saturating_sub(other.reads),
            writes: self.writes.saturating_sub(other.writes),
            bytes_read: self.bytes_read.saturating_sub(other.bytes_read),
            bytes_written: self.bytes_written.saturating_sub(other.bytes_written),
            seconds: (self.seconds - other.seconds).max(0.0),
            io_seconds: (self.io_seconds - other.io_seconds).max(0.0),
        }
    }
}

/// Figures of a search partition by partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionFigures {
    /// How partitions were split.
    pub heuristic: String,
    /// Components of the state vector that were known.
    pub components: u64,
    /// Transitions into a partition that was not in RAM.
    pub cross_transitions: u64,
    /// Partitions read into RAM.
    pub swaps: u64,
    /// Partitions split.
    pub refinements: u64,
    /// Of them by a hash of the whole state, because no component told its states apart.
    pub refinements_by_hash: u64,
    /// How often each component was split by.
    pub split_by: BTreeMap<String, u64>,
    /// Disk work of the search itself.
    pub search: DiskWork,
    /// Disk work of splitting partitions.
    pub reorganisation: DiskWork,
    /// How large partitions are.
    #[serde(flatten)]
    pub sizes: PartitionSizes,
    /// Branches on the way to the deepest partition.
    pub diagram_depth: u64,
    /// Bytes on disk of a visited state, where some are there.
    pub bytes_per_state: Option<f64>,
}

/// How large partitions are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionSizes {
    /// Most states that partitions in RAM may have together, and so any of them alone.
    pub bound: u64,
    /// States of the largest partition there ever was.
    pub largest: u64,
    /// Partitions that are not empty.
    pub partitions: u64,
    /// States of the largest partitions, descending.
    #[serde(rename = "sizes")]
    pub descending: Vec<u64>,
}

impl PartitionSizes {
    /// Takes note of the partitions as they are.
    pub(super) fn describe(&mut self, states_of_partitions: impl Iterator<Item = u64>) {
        self.descending = states_of_partitions.filter(|&states| states > 0).collect();
        self.descending.sort_unstable_by(|a, b| b.cmp(a));
        self.partitions = self.descending.len() as u64;
        self.descending.truncate(TOP);
    }
}
