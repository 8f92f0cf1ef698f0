//! What a run on disk has done so far: files and a few words by name, committed together. A run that was killed goes on from
//! its last commit.

use super::DiskError;
use hadal_store::manifest::{ManifestFile, OpenError, Verify};
use hadal_store::vfs::{Folder, IoThreads, Vfs};
use hadal_store::{Commit, Disk, Governor, Medium, RunFile, RunFolder, RunOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Set aside for the last commit on a full disk.
const RESERVE: u64 = 1 << 16;
/// Of the time, at most one part in so many is spent on commits that are not asked for.
const PART: u32 = 10;
/// The section that says which file each name stands for.
const FILES: &str = "files";

enum Kept {
    Open(RunFile),
    /// As the manifest knows it; nobody has asked for it yet.
    Closed(ManifestFile),
}

/// Names of files and words, in a folder that outlives the process or in a disk that does not.
pub struct Journal {
    disk: Disk,
    folder: Option<RunFolder>,
    runs: BTreeMap<String, Kept>,
    words: BTreeMap<String, Vec<u64>>,
    /// Stands before every name.
    scope: String,
    last: Instant,
    cost: Duration,
    resumed: bool,
    sweeping: Sweeping,
}

/// Bytes that sweeps moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sweeping {
    /// Those of all.
    pub all: u64,
    /// Those of the sweep that moved most.
    pub most: u64,
}

impl Journal {
    /// One that nothing is committed to.
    pub fn passing(disk: &Disk) -> Self {
        Journal {
            disk: disk.clone(),
            folder: None,
            runs: BTreeMap::new(),
            words: BTreeMap::new(),
            scope: String::new(),
            last: Instant::now(),
            cost: Duration::ZERO,
            resumed: false,
            sweeping: Sweeping::default(),
        }
    }

    /// The journal in a folder, with what was committed there for the same question, if anything.
    pub fn open(path: &Path, fingerprint: u64, governor: &Governor) -> Result<Self, DiskError> {
        Journal::on(Arc::new(Folder::create(path)?), fingerprint, governor)
    }

    /// The same in whatever keeps files.
    pub fn on(vfs: Arc<dyn Vfs>, fingerprint: u64, governor: &Governor) -> Result<Self, DiskError> {
        let threads = IoThreads::new(1);
        let medium = || Medium::new(vfs.clone(), threads.clone(), governor.clone());
        let folder = match RunFolder::open(medium(), fingerprint, RESERVE, Verify::Tails) {
            Err(OpenError::NothingCommitted) => RunFolder::create(medium(), fingerprint, RESERVE),
            other => other,
        };
        let folder = folder.map_err(|error| DiskError::Folder(error.to_string()))?;
        let mut journal = Journal::passing(folder.disk());
        if let Some(manifest) = folder.manifest() {
            journal.resumed = true;
            let listed =
                manifest.sections.get(FILES).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            for line in listed.unwrap_or_default().lines() {
                let Some((name, file)) = line.split_once('\t') else { continue };
                if let Some(found) = manifest.files.iter().find(|f| f.name == file) {
                    journal.runs.insert(name.to_owned(), Kept::Closed(found.clone()));
                }
            }
            for (name, bytes) in manifest.sections.iter().filter(|(name, _)| *name != FILES) {
                let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &b| word << 8 | u64::from(b));
                journal.words.insert(name.clone(), bytes.chunks(8).map(word).collect());
            }
        }
        journal.folder = Some(folder);
        Ok(journal)
    }

    /// Whether it goes on with what an earlier process did.
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// The disk to write to.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Does one sweep, whose bytes count.
    pub(super) fn counting<T>(&mut self, sweep: impl FnOnce(&mut Journal) -> T) -> T {
        let before = self.disk.traffic.bytes_moved();
        let found = sweep(self);
        let moved = self.disk.traffic.bytes_moved() - before;
        self.sweeping = Sweeping { all: self.sweeping.all + moved, most: self.sweeping.most.max(moved) };
        found
    }

    /// What its sweeps have moved.
    pub(super) fn sweeping(&self) -> Sweeping {
        self.sweeping
    }

    /// Does something whose names are its own.
    pub fn scoped<T>(&mut self, scope: &str, act: impl FnOnce(&mut Journal) -> T) -> T {
        let around = self.scope.len();
        self.scope.push_str(scope);
        let found = act(self);
        self.scope.truncate(around);
        found
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.scope)
    }

    /// The run of this name, written with options like these.
    pub fn run(&mut self, name: &str, options: &RunOptions) -> Result<Option<RunFile>, DiskError> {
        let name = self.named(name);
        let run = match self.runs.get(&name) {
            None => return Ok(None),
            Some(Kept::Open(run)) => return Ok(Some(run.clone())),
            Some(Kept::Closed(file)) => RunFile::open(&self.disk, &file.name, options)?,
        };
        self.runs.insert(name, Kept::Open(run.clone()));
        Ok(Some(run))
    }

    /// The file behind a name.
    pub fn file_of(&self, name: &str) -> Option<String> {
        self.runs.get(&self.named(name)).map(|kept| match kept {
            Kept::Open(run) => run.name().to_owned(),
            Kept::Closed(file) => file.name.clone(),
        })
    }

    /// The words of this name.
    pub fn words(&self, name: &str) -> Option<&[u64]> {
        self.words.get(&self.named(name)).map(Vec::as_slice)
    }

    /// Names a run.
    pub fn put_run(&mut self, name: impl AsRef<str>, run: &RunFile) {
        self.runs.insert(self.named(name.as_ref()), Kept::Open(run.clone()));
    }

    /// Names words.
    pub fn put_words(&mut self, name: impl AsRef<str>, words: Vec<u64>) {
        self.words.insert(self.named(name.as_ref()), words);
    }

    /// Forgets everything whose name begins so.
    pub fn forget(&mut self, prefix: &str) {
        let prefix = self.named(prefix);
        self.runs.retain(|name, _| !name.starts_with(&prefix));
        self.words.retain(|name, _| !name.starts_with(&prefix));
    }

    /// Makes all names the state that a later process finds.
    pub fn commit(&mut self) -> Result<(), DiskError> {
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let started = Instant::now();
        let mut commit = Commit::default();
        let (mut listed, mut named) = (String::new(), BTreeSet::new());
        for (name, kept) in &self.runs {
            let file = match kept {
                Kept::Open(run) => run.name(),
                Kept::Closed(file) => &file.name,
            };
            // One file may have several names.
            if named.insert(file.to_owned()) {
                match kept {
                    Kept::Open(run) => commit.runs.push(run),
                    Kept::Closed(file) => commit.files.push(file.clone()),
                }
            }
            listed.push_str(&format!("{name}\t{file}\n"));
        }
        commit.sections.insert(FILES.to_owned(), listed.into_bytes());
        for (name, words) in &self.words {
            commit.sections.insert(name.clone(), words.iter().flat_map(|w| w.to_le_bytes()).collect());
        }
        folder.commit(commit).map_err(|error| DiskError::Folder(error.to_string()))?;
        self.last = Instant::now();
        self.cost = started.elapsed();
        Ok(())
    }

    /// Whether enough was done since the last commit to make the next one worth its time.
    pub fn is_due(&self) -> bool {
        self.folder.is_some() && self.last.elapsed() >= self.cost * PART
    }
}
