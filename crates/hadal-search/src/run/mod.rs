//! What every search does at its beginning and its end, written once: buffers for small budgets, the closed set in its
//! tiers, the answer of a complete search, the words of a commit, the report.

pub(crate) mod answer;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod storage;

pub use answer::status;
pub(crate) use answer::{COMPLETE, LOOKING_FOR_RUNS, RUNNING, complete, covered, out_of_memory};
pub(crate) use options::{Buffers, run_options, run_options_keeping};
pub(crate) use report::Answer;
pub(crate) use storage::{Tier, closed_set, sorted_runs};
