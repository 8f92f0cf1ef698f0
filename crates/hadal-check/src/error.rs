//! Why a question gets no answer.

use hadal_search::layered::Trouble;
use hadal_store::manifest::OpenError;
use std::path::PathBuf;

/// A check that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The question, or the way to answer it, makes no sense as put.
    #[error("{0}")]
    Question(String),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A run on disk cannot be used.
    #[error("{0}")]
    Damaged(String),
    /// hadal is wrong.
    #[error("{0}")]
    Internal(String),
}

impl From<Trouble> for CheckError {
    fn from(trouble: Trouble) -> Self {
        if let Some(over) = trouble.over_budget() {
            return CheckError::Question(format!(
                "{over}; give it --memory {}M at least",
                (over.limit.saturating_add(over.asked)).div_ceil(1 << 20)
            ));
        }
        match trouble {
            Trouble::OverBudget(over) => CheckError::Question(over.to_string()),
            Trouble::Write(error) => CheckError::Question(error.to_string()),
            Trouble::Commit(error) => CheckError::Question(error.to_string()),
            Trouble::Setup(error) => CheckError::Question(error.to_string()),
            Trouble::Partition(error) => CheckError::Question(error.to_string()),
            Trouble::Liveness
            | Trouble::Unsuited(_)
            | Trouble::Record(_)
            | Trouble::NotShared(_)
            | Trouble::Payloads(_)
            | Trouble::Operators
            | Trouble::OtherPayloads => CheckError::Question(trouble.to_string()),
            Trouble::Open(error @ (OpenError::Locked | OpenError::OtherModel { .. })) => {
                CheckError::Question(error.to_string())
            }
            Trouble::Open(error) => CheckError::Damaged(error.to_string()),
            Trouble::NothingToResume => CheckError::Damaged(trouble.to_string()),
            Trouble::Lost(_) => CheckError::Damaged(trouble.to_string()),
            Trouble::NoFolder => CheckError::Internal(trouble.to_string()),
            Trouble::Read(error) => CheckError::Damaged(error.to_string()),
        }
    }
}
