//! Breadth-first search with delayed duplicate detection: the closed set is not in a table but in a [detector], and new
//! states are decided in sorted batches.
//!
//! One loop serves every detector ([sweep]; Lamborn 2014, sec. 3.1). The states of a layer are read from the [journal] and
//! expanded into a [cache] of what was generated lately; what the cache did not know is sorted and offered to the
//! detector when the cache is full and at the end of the layer.

pub(crate) mod block;
pub mod cache;
mod candidates;
mod closed_set;
pub(crate) mod cover;
pub(crate) mod detection;
pub(crate) mod detector;
pub(crate) mod diagram;
pub(crate) mod distances;
pub mod hash;
pub(crate) mod journal;
pub mod kept;
pub mod ledger;
pub mod partial;
pub(crate) mod path;
pub(crate) mod phased;
mod repeated;
pub(crate) mod room;
mod round;
mod rows;
mod screen;
mod settle;
mod settling;
pub(crate) mod snapshot;
pub(crate) mod sorted;
pub(crate) mod sweep;
pub(crate) mod tabled;
pub(crate) mod tally;

use hadal_store::OverBudget;
use hadal_store::diagram::SetupError;
use hadal_store::error::{MergeError, ReadError, WriteError};
use hadal_store::manifest::{CommitError, OpenError};

/// States of so many words moved at a time between sets: few enough that the budget need not count them.
pub(crate) fn batch_states(words: usize) -> usize {
    const WORDS: usize = 1 << 13;
    (WORDS / words).max(1)
}

/// What can end a search that uses the disk.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// A file cannot be read, or is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Progress cannot be committed.
    #[error(transparent)]
    Commit(CommitError),
    /// A run folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A run folder of something else.
    #[error("the run holds nothing to continue from")]
    NothingToResume,
    /// States that a diagram cannot hold.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A partition that does not suit the states.
    #[error(transparent)]
    Partition(#[from] hash::PartitionError),
    /// What is to be committed cannot be put into words: a path that is not UTF-8, for instance.
    #[error("what a run has to remember cannot be written down: {0}")]
    Record(#[from] serde_json::Error),
    /// A search that needs the disk was given no folder.
    #[error("the search has no folder for what does not fit in memory")]
    NoFolder,
    /// A question that a search for accepted cycles cannot answer.
    #[error(transparent)]
    Unsuited(#[from] crate::cycles::Unsuited),
    /// A space with payloads that the search would lose.
    #[error("the space keeps something beside every state, which this search cannot: {0}")]
    Payloads(&'static str),
    /// A run whose states have other payloads, or none.
    #[error("the run keeps something else beside its states: resume it with the strategy that began it")]
    OtherPayloads,
    /// More operators than are marked.
    #[error(
        "--used-operators marks at most {} operators beside every state",
        crate::operators::MOST_OPERATORS
    )]
    Operators,
    /// Another worker of the cluster is gone.
    #[error(transparent)]
    Lost(#[from] crate::exchange::Lost),
    /// A way to search that several workers cannot share.
    #[error("not over several workers: {0}")]
    NotShared(&'static str),
    /// A question that layers do not answer.
    #[error("liveness properties need every state at hand: use the strategies auto or bfs")]
    Liveness,
}

impl Trouble {
    /// Whether the disk is full: the run pauses and can go on when there is room.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Trouble::Write(WriteError::DiskFull { .. }) | Trouble::Commit(CommitError::DiskFull))
    }
}

impl Trouble {
    /// The request that does not fit the budget, where that is it.
    pub fn over_budget(&self) -> Option<&OverBudget> {
        match self {
            Trouble::OverBudget(over)
            | Trouble::Read(ReadError::OverBudget(over))
            | Trouble::Write(WriteError::OverBudget(over))
            | Trouble::Setup(SetupError::OverBudget(over)) => Some(over),
            _ => None,
        }
    }

    /// Whether reading was ended by a limit or an interrupt.
    pub fn is_stop(&self) -> bool {
        matches!(self, Trouble::Read(ReadError::Stopped))
    }
}

impl From<MergeError> for Trouble {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Read(error) => error.into(),
            MergeError::Write(error) => error.into(),
        }
    }
}
