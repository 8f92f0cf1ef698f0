//! Run folders: where a search keeps what does not fit the memory budget, and what is needed to resume it.

use crate::error::CheckError;
use hadal_search::Control;
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::{Ledger, RunRecord};
use hadal_store::error::WriteError;
use hadal_store::manifest::{Manifest, Medium, OpenError, RunFolder, Verify};
use hadal_store::vfs::{Folder, IoThreads, LimitedFolder, Vfs};
use hadal_store::{Disk, Governor};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where run folders are kept unless a folder is named.
pub const DEFAULT_DISK: &str = ".hadal";

/// Set aside so that the last commit still fits a full disk.
const RESERVE_BYTES: u64 = 1 << 20;
/// What writing one more manifest may take.
const AMENDING_BYTES: u64 = 1 << 20;
/// Threads that read ahead and write behind.
const IO_THREADS: usize = 2;

/// Runs that this process named before.
static OTHERS: AtomicU64 = AtomicU64::new(0);

/// The folder of this search. It exists once it is opened.
pub struct RunPlace {
    /// Where it is.
    pub path: PathBuf,
    /// Most bytes in it.
    limit: Option<u64>,
    opened: Cell<bool>,
    tables: Cell<bool>,
}

/// The folder of tables that guides look up, in that of the run.
const TABLES: &str = "tables";

impl RunPlace {
    /// A new folder below `parent`, named after the model and the moment.
    pub fn new(parent: &Path, model: &str) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // A name may hold anything; a folder's name may not.
        let stem: String =
            model.chars().map(|c| if c == '/' || c == '\\' || c == '\0' { '_' } else { c }).collect();
        let stem = if stem.is_empty() { "model" } else { &stem };
        let named = format!("{stem}-{}-{}", now.as_millis(), std::process::id());
        // Two checks of one process may begin in the same millisecond.
        let path = match OTHERS.fetch_add(1, Ordering::Relaxed) {
            0 => parent.join(named),
            others => parent.join(format!("{named}-{others}")),
        };
        RunPlace::existing(&path)
    }

    /// A folder that is there already.
    pub fn existing(path: &Path) -> Self {
        RunPlace { path: path.to_owned(), limit: None, opened: Cell::new(false), tables: Cell::new(false) }
    }

    /// The same, with at most this many bytes in it.
    pub fn limited_to(self, limit: Option<u64>) -> Self {
        RunPlace { limit, ..self }
    }

    /// A folder that counts its bytes, and takes no more than it may.
    fn within_limit(&self, folder: Folder) -> std::io::Result<Arc<dyn Vfs>> {
        Ok(Arc::new(LimitedFolder::new(Arc::new(folder), self.limit.unwrap_or(u64::MAX))?))
    }

    /// A folder for another search, next to this one and those next to it.
    pub fn beside(&self, purpose: &str) -> Self {
        let name = self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let own = match name.rsplit_once(".part") {
            Some((own, number)) if number.parse::<usize>().is_ok() => own,
            _ => &name,
        };
        RunPlace::existing(&self.path.with_file_name(format!("{own}.{purpose}")))
    }

    /// Whether the search has used it.
    pub fn is_used(&self) -> bool {
        self.opened.get()
    }

    /// Starts a run here.
    pub fn create(
        &self,
        governor: &Governor,
        fingerprint: u64,
        about: &serde_json::Value,
    ) -> Result<Ledger, Trouble> {
        let create = || std::fs::create_dir_all(&self.path).and_then(|()| Folder::create(&self.path));
        let folder = RunFolder::create(self.medium(create, governor)?, fingerprint, RESERVE_BYTES)?;
        Ok(Ledger::new(folder, about.clone()))
    }

    /// Opens the run that is here.
    pub fn open(
        &self,
        governor: &Governor,
        fingerprint: u64,
        about: &serde_json::Value,
    ) -> Result<Ledger, Trouble> {
        let medium = self.medium(|| Folder::open(&self.path), governor)?;
        let folder = RunFolder::open(medium, fingerprint, RESERVE_BYTES, Verify::Tails)?;
        Ok(Ledger::new(folder, about.clone()))
    }

    /// What a run is written to, within the limit of the disk.
    fn medium(
        &self,
        folder: impl FnOnce() -> std::io::Result<Folder>,
        governor: &Governor,
    ) -> Result<Medium, WriteError> {
        let unusable = |source| WriteError::Io { file: self.path.display().to_string(), source };
        let vfs = folder().and_then(|folder| self.within_limit(folder)).map_err(unusable)?;
        self.opened.set(true);
        Ok(Medium::new(vfs, IoThreads::new(IO_THREADS), governor.clone()))
    }

    /// Lets lists of runs say how the search ended, whatever it wrote itself.
    pub fn say_ended(&self, status: &str) -> Result<(), CheckError> {
        let KnownRun { record, about, .. } = look_at(&self.path)?;
        if record.status == status {
            return Ok(());
        }
        let unusable = |error| CheckError::File { path: self.path.clone(), error };
        let fingerprint = Folder::open(&self.path)
            .map_err(unusable)
            .and_then(|folder| {
                RunFolder::peek(&folder).map_err(|error| CheckError::Damaged(error.to_string()))
            })?
            .fingerprint;
        let mut ledger = self.open(&Governor::new(AMENDING_BYTES), fingerprint, &about)?;
        Ok(ledger.amend_status(status)?)
    }

    /// Opens the folder of tables that guides look up. Whole ones that are there already are taken up; what is left of
    /// others goes.
    pub fn tables(&self, governor: &Governor) -> Result<Disk, WriteError> {
        let path = self.path.join(TABLES);
        let unusable = |source| WriteError::Io { file: path.display().to_string(), source };
        if is_in_use(&self.path) {
            return Err(unusable(std::io::Error::other("another process has the run open")));
        }
        std::fs::create_dir_all(&path).map_err(unusable)?;
        self.tables.set(true);
        let vfs = Folder::create(&path).and_then(|folder| self.within_limit(folder)).map_err(unusable)?;
        let mut next = 1;
        for file in vfs.list().map_err(unusable)? {
            let number = file.name.split(['-', '.']).filter_map(|part| part.parse::<u64>().ok()).max();
            next = next.max(number.unwrap_or(0) + 1);
            if !file.name.starts_with("distances-") {
                vfs.remove(&file.name).map_err(unusable)?;
            }
        }
        Ok(Disk::new(vfs, IoThreads::new(IO_THREADS), governor.clone(), next))
    }

    /// Removes the folder if there is nothing in it but tables; warns where it cannot.
    pub(crate) fn discard_tables(&self, control: &Control) {
        if self.tables.get() && !self.is_used() {
            self.discard(control);
        }
    }

    /// Removes the folder and everything in it; warns where it cannot.
    pub(crate) fn discard(&self, control: &Control) {
        if self.remove().is_err() {
            control.warn(format!("cannot remove {}", self.path.display()));
        }
    }

    /// Removes the folder and everything in it.
    pub fn remove(&self) -> std::io::Result<()> {
        let removed = std::fs::remove_dir_all(&self.path);
        // The folder above goes too, if this was the last run in it.
        if let Some(parent) = self.path.parent() {
            let _ = std::fs::remove_dir(parent);
        }
        removed
    }
}

/// A run as its folder describes it.
pub struct KnownRun {
    /// Where it is.
    pub path: PathBuf,
    /// How it stands.
    pub record: RunRecord,
    /// What the command said about itself.
    pub about: serde_json::Value,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Looks at a run without opening it.
pub fn look_at(path: &Path) -> Result<KnownRun, CheckError> {
    let vfs = Folder::open(path).map_err(|error| CheckError::File { path: path.to_owned(), error })?;
    let manifest: Manifest = RunFolder::peek(&vfs).map_err(|error| {
        let told = format!("{}: {error}", path.display());
        match error {
            // A mistyped path is no damage.
            OpenError::NothingCommitted => {
                CheckError::Question(format!("{told}; `hadal runs` lists those there are"))
            }
            _ => CheckError::Damaged(told),
        }
    })?;
    let (mut record, about) = RunRecord::of(&manifest).ok_or_else(|| {
        CheckError::Damaged(format!("{}: not a run of this version of hadal", path.display()))
    })?;
    // Whoever commits that it is running holds the lock.
    if record.status == "running" && !RunFolder::is_in_use(&vfs).unwrap_or(true) {
        record.status = "interrupted, resumable".into();
    }
    let bytes = vfs.list().map(|files| files.iter().map(|f| f.bytes).sum()).unwrap_or(0);
    Ok(KnownRun { path: path.to_owned(), record, about, bytes })
}

/// Whether a process has the run in this folder open.
pub fn is_in_use(path: &Path) -> bool {
    Folder::open(path).and_then(|folder| RunFolder::is_in_use(&folder)).unwrap_or(false)
}

/// Whether a run began in this folder and ended before it committed anything: there is nothing to go on from.
pub fn is_left_over(path: &Path) -> bool {
    let Ok(vfs) = Folder::open(path) else { return false };
    let began = vfs.list().is_ok_and(|files| files.iter().any(|file| file.name == "lock"));
    began
        && matches!(RunFolder::peek(&vfs), Err(OpenError::NothingCommitted))
        && !RunFolder::is_in_use(&vfs).unwrap_or(true)
}

/// Folders below `parent` that [`is_left_over`], by name.
pub fn left_over(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_left_over(path)).collect();
    paths.sort();
    paths
}

/// All runs below `parent`, by name.
pub fn list(parent: &Path) -> Vec<KnownRun> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut runs: Vec<KnownRun> = entries.filter_map(|entry| look_at(&entry.path()).ok()).collect();
    runs.sort_by(|a, b| a.path.cmp(&b.path));
    runs
}
