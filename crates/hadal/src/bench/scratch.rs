//! A folder for generated files, gone when the benchmark ends.

use crate::failure::Failure;
use std::path::PathBuf;

/// A folder of this process under the system's folder for temporary files.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes the folder.
    pub fn new() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("hadal-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| Failure::File { path: folder.clone(), error })?;
        Ok(Scratch { folder })
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
