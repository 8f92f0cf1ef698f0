//! What a commit keeps of a search whose order is relaxed.

use crate::layered::journal::JournalRecord;
use serde::{Deserialize, Serialize};

/// The name of its section in the manifest.
pub(super) const SECTION: &str = "relaxed";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RelaxedRecord {
    /// Where the sets of states lie. All of them together are what is closed.
    pub(super) journal: JournalRecord,
    /// The sets still to be expanded, in order.
    pub(super) waiting: Vec<WaitingSet>,
    pub(super) transitions: u64,
    pub(super) covers: Vec<u64>,
    pub(super) fired: Vec<u64>,
    pub(super) seconds: f64,
}

/// A set of the journal that is not expanded to the end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct WaitingSet {
    /// Which one.
    pub(super) set: usize,
    /// How many of its first states are expanded.
    pub(super) expanded: u64,
}
