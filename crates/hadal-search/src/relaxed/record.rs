//! What a commit keeps of a search whose order is relaxed.

use crate::layered::journal::JournalRecord;
use hadal_store::manifest::Manifest;
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
    /// How often workers had met.
    #[serde(default)]
    pub(super) rounds: u64,
}

/// Numbers the commits of workers by how often they had met.
pub(super) fn moment(manifest: &Manifest) -> Option<u64> {
    Some(serde_json::from_slice::<RelaxedRecord>(manifest.sections.get(SECTION)?).ok()?.rounds)
}

/// A set of the journal that is not expanded to the end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct WaitingSet {
    /// Which one.
    pub(super) set: usize,
    /// How many of its first states are expanded.
    pub(super) expanded: u64,
}
