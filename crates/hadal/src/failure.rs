//! What can go wrong outside the model's answer, with its exit code.

use hadal_check::CheckError;
use std::path::PathBuf;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The model was refused; the findings are already rendered.
    #[error("{rendered}")]
    Refused {
        /// Findings with carets, then a summary.
        rendered: String,
    },
    /// The command makes no sense as given.
    #[error("{0}")]
    Usage(String),
    /// A run on disk cannot be used.
    #[error("{0}")]
    Damaged(String),
    /// hadal is wrong.
    #[error("internal error: {0}\nThis is a bug of hadal. Please report it with the model and the command.")]
    Internal(String),
}

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::File { .. } | Failure::Refused { .. } | Failure::Usage(_) => 2,
            Failure::Internal(_) | Failure::Damaged(_) => 4,
        }
    }
}

#[cfg(feature = "bench")]
impl From<hadal_bench::BenchError> for Failure {
    fn from(error: hadal_bench::BenchError) -> Self {
        match error {
            hadal_bench::BenchError::File { path, error } => Failure::File { path, error },
            hadal_bench::BenchError::Usage(why) => Failure::Usage(why),
            hadal_bench::BenchError::Check(error) => error.into(),
            hadal_bench::BenchError::Internal(why) => Failure::Internal(why),
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Question(why) => Failure::Usage(why),
            CheckError::File { path, error } => Failure::File { path, error },
            CheckError::Damaged(why) => Failure::Damaged(why),
            CheckError::Internal(why) => Failure::Internal(why),
        }
    }
}
