//! What can go wrong besides a count that is not the published one.

use hadal_check::CheckError;
use std::path::PathBuf;

/// A benchmark that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The command makes no sense as given.
    #[error("{0}")]
    Usage(String),
    /// A search of this process ended without a result.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// hadal is wrong.
    #[error("{0}")]
    Internal(String),
}
