//! Run folders: where a search keeps what does not fit the memory budget.

use hadal_search::layered::Trouble;
use hadal_store::Governor;
use hadal_store::error::WriteError;
use hadal_store::vfs::{Disk, Folder, IoThreads};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that exists once it is opened, and is removed when the search is over.
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// A folder of its own below `parent`, not created yet.
    pub fn new(parent: &Path) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        RunFolder { path: parent.join(format!("run-{}-{}", now.as_secs(), std::process::id())) }
    }

    /// Creates the folder.
    pub fn open(&self, governor: &Governor) -> Result<Disk, Trouble> {
        let unusable = |source| WriteError::Io { file: self.path.display().to_string(), source };
        std::fs::create_dir_all(&self.path).map_err(unusable)?;
        let folder = Folder::create(&self.path).map_err(unusable)?;
        Ok(Disk::new(Arc::new(folder), IoThreads::new(2), governor.clone(), 0))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.path.exists() && std::fs::remove_dir_all(&self.path).is_err() {
            eprintln!("warning: cannot remove {}", self.path.display());
        }
    }
}
