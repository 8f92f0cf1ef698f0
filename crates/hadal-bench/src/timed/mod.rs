//! Suites of models in real time: [`zones`] of TChecker's models, [`landing`] of aircraft, [`mcta`]: errors found by directed search.
//!
//! Counts and costs are held against what is known; a fast wrong answer is an error.

mod landing;
mod mcta;
mod zones;

pub use landing::{LANDING, landing};
pub use mcta::{MCTA, mcta};
pub use zones::{ZONES, zones};

use crate::error::BenchError;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a command of this very program.
fn itself(arguments: &[String], folder: &Path) -> Result<Value, BenchError> {
    let program = std::env::current_exe().map_err(|error| BenchError::Internal(error.to_string()))?;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| BenchError::Internal(error.to_string()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| BenchError::Usage(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// A folder beside the models, or the models themselves.
fn beside_corpus(folder: &str) -> Result<PathBuf, BenchError> {
    let named = std::env::var_os("HADAL_CORPUS").map(PathBuf::from);
    let root = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models"));
    let path = root.join(folder);
    std::fs::canonicalize(&path).map_err(|error| BenchError::File { path, error })
}
