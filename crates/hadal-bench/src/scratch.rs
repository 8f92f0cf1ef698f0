//! A folder for generated files, gone when the benchmark ends.

use crate::error::BenchError;
use std::path::{Path, PathBuf};

/// A folder of this process in a folder that is given, or in the system's folder for temporary files.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes the folder.
    pub fn new(place: Option<&Path>) -> Result<Self, BenchError> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let folder = place.join(format!("hadal-bench-{}", std::process::id()));
        let failed = |error| BenchError::File { path: folder.clone(), error };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        // Children work elsewhere, so the path must not depend on where we are.
        let folder = std::fs::canonicalize(&folder).map_err(failed)?;
        Ok(Scratch { folder })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which clears the folder's parent.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
