//! What External A* counts.

use serde::{Deserialize, Serialize};

/// Figures of a search with External A*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExternalFigures {
    /// The guide.
    pub guide: String,
    /// The states that were handled.
    #[serde(flatten)]
    pub states: StateFigures,
    /// The path.
    #[serde(flatten)]
    pub path: PathFigures,
    /// Most buckets that can be needed for a path of this cost where transitions cost 1 and estimates change by 1 at most:
    /// (f^2 + f + 1) / 3 (Jabbar 2008, lemma 3.3).
    pub bucket_bound: Option<u64>,
    /// The largest distance in rows at which a duplicate was found: at least this, where rows are merged.
    pub locality: u64,
    /// States dropped because the guide proves that nothing is reachable from them.
    pub pruned: u64,
    /// Successors left out because they lay beyond the bound asked for, or beyond the present diagonal.
    pub beyond: u64,
    /// The least estimate of a whole path among those that were not written later.
    pub least_beyond: Option<u64>,
    /// States expanded again for successors that had been left out.
    pub expanded_again: u64,
    /// Bytes read from disk.
    pub bytes_read: u64,
    /// Bytes written to disk.
    pub bytes_written: u64,
    /// Expansions of buckets, in order.
    pub buckets: Vec<BucketFigures>,
}

/// The states that External A* handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateFigures {
    /// States expanded; where estimates are not consistent, some more than once.
    pub expanded: u64,
    /// Successors generated.
    pub generated: u64,
    /// Expanded states, and generated ones that wait, duplicates among them included.
    pub stored: u64,
    /// Expanded states that were still there at the end.
    pub closed: u64,
}

/// The path that External A* looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathFigures {
    /// The largest estimate of a whole path through an expanded state.
    pub f: u64,
    /// What the path found costs.
    pub cost: Option<u64>,
    /// Whether nothing cheaper exists.
    pub optimal: bool,
}

/// The expansion of one bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BucketFigures {
    /// Cost so far.
    pub g: u64,
    /// Estimate of the rest.
    pub h: u32,
    /// States generated into it.
    pub raw: u64,
    /// Distinct ones.
    pub unique: u64,
    /// Those not closed before: they were expanded.
    pub expanded: u64,
    /// Bytes of the closed bucket.
    pub bytes: u64,
    /// Where the successors went.
    pub targets: Vec<TargetFigures>,
}

/// Successors of a bucket that went to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFigures {
    /// Cost so far.
    pub g: u64,
    /// Estimate of the rest.
    pub h: u32,
    /// How many.
    pub states: u64,
}

/// Most buckets for a path of cost `f` (Jabbar 2008, lemma 3.3, as its proof has it).
pub fn bucket_bound(f: u64) -> u64 {
    (f * f + f + 1) / 3
}
