//! A run's folder: locked by one process, committed atomically, cleaned of what no commit names.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::{Manifest, ManifestFile};
use crate::error::{Corrupted, ReadError};
use crate::governor::Governor;
use crate::run::{RunFile, RunKind, verify_run};
use crate::vfs::{Caching, Disk, Folder, FolderLock, IoThreads, Vfs, read_small};

const LOCK: &str = "lock";
const RESERVE: &str = "reserve";
const TEMPORARY: &str = "manifest.tmp";

/// How closely files are looked at when a run is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Their existence, length and last bytes. Damage inside is found when a block is read, damage of a file that can be made
    /// again when it is.
    Tails,
    /// Every block of every sorted run.
    EveryBlock,
}

/// Why a run could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the run is in use by another process")]
    Locked,
    /// Nothing was ever committed here.
    #[error("there is no run here")]
    NothingCommitted,
    /// A new run was asked for where there is one.
    #[error("there is a run here already")]
    AlreadyThere,
    /// The run is of another model.
    #[error("the run was made for another model (fingerprint {found:016x}, not {expected:016x})")]
    OtherModel {
        /// The run's fingerprint.
        found: u64,
        /// The model's.
        expected: u64,
    },
    /// No committed generation is whole.
    #[error("no committed state of the run is intact; {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Damaged(Vec<Corrupted>),
    /// The operating system refused.
    #[error("cannot open the run: {0}")]
    Io(#[from] io::Error),
}

/// Why a commit failed. The generation before it stands.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// No space left, not even with the reserve.
    #[error("the disk is full: the run could not be committed")]
    DiskFull,
    /// The operating system refused.
    #[error("cannot commit the run: {0}")]
    Io(io::Error),
}

/// What to commit.
#[derive(Default)]
pub struct Commit<'a> {
    /// Sorted runs; synced and kept by the commit.
    pub runs: Vec<&'a RunFile>,
    /// Other files, which their owner has synced already.
    pub files: Vec<ManifestFile>,
    /// Bytes to keep by name.
    pub sections: BTreeMap<String, Vec<u8>>,
}

/// A commit that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The new generation.
    pub generation: u64,
    /// The disk is full and this took the reserve: make room before the next one.
    pub used_reserve: bool,
}

/// The folder of one run, open in this process.
pub struct RunFolder {
    disk: Disk,
    fingerprint: u64,
    reserve_bytes: u64,
    /// Kept generations, newest first; at most two.
    kept: Vec<Manifest>,
    damaged: Vec<Corrupted>,
    _lock: Box<dyn FolderLock>,
}

/// What the files of a run are kept on: a place for them, the threads that read and write there, and the memory that
/// their buffers are taken from.
pub struct Medium {
    vfs: Arc<dyn Vfs>,
    threads: Arc<IoThreads>,
    governor: Governor,
}

impl Medium {
    /// Files in `vfs`, moved by `threads`, buffered in memory of `governor`.
    pub fn new(vfs: Arc<dyn Vfs>, threads: Arc<IoThreads>, governor: Governor) -> Self {
        Medium { vfs, threads, governor }
    }
}

impl RunFolder {
    /// Starts a run in a folder that has none. `reserve_bytes` are set aside for the last commit on a full disk.
    pub fn create(medium: Medium, fingerprint: u64, reserve_bytes: u64) -> Result<Self, OpenError> {
        let Medium { vfs, threads, governor } = medium;
        let lock = take_lock(&*vfs)?;
        if vfs.list()?.iter().any(|entry| Manifest::generation_of(&entry.name).is_some()) {
            return Err(OpenError::AlreadyThere);
        }
        let disk = Disk::new(vfs, threads, governor, 0);
        let folder = RunFolder {
            disk,
            fingerprint,
            reserve_bytes,
            kept: Vec::new(),
            damaged: Vec::new(),
            _lock: lock,
        };
        folder.remove_strays()?;
        folder.set_reserve_aside()?;
        Ok(folder)
    }

    /// Opens the newest generation that is whole; [`RunFolder::damaged`] says what was wrong with newer ones.
    pub fn open(
        medium: Medium,
        fingerprint: u64,
        reserve_bytes: u64,
        verify: Verify,
    ) -> Result<Self, OpenError> {
        let Medium { vfs, threads, governor } = medium;
        let lock = take_lock(&*vfs)?;
        let (manifests, mut damaged) = read_manifests(&*vfs)?;
        if manifests.is_empty() && damaged.is_empty() {
            return Err(OpenError::NothingCommitted);
        }
        // Numbers go on after everything ever committed and everything still lying here: a stray's name, which
        // seeds its checksums, is not used again.
        let committed = manifests.iter().map(|manifest| manifest.next_file);
        let lying_here = vfs.list()?.into_iter().filter_map(|entry| Some(file_number(&entry.name)? + 1));
        let next_file = committed.chain(lying_here).max().unwrap_or(0);
        let disk = Disk::new(vfs, threads, governor, next_file);
        let mut kept: Vec<Manifest> = Vec::new();
        for manifest in manifests {
            if manifest.fingerprint != fingerprint {
                return Err(OpenError::OtherModel { found: manifest.fingerprint, expected: fingerprint });
            }
            // Once one is whole, an older one is only a reserve and is not looked at.
            let whole = if kept.is_empty() { check_files(&disk, &manifest, verify) } else { Ok(()) };
            match whole {
                Ok(()) => kept.push(manifest),
                Err(CheckError::Corrupted(what)) => damaged.push(what),
                Err(CheckError::Io(error)) => return Err(error.into()),
            }
        }
        kept.truncate(2);
        if kept.is_empty() {
            return Err(OpenError::Damaged(damaged));
        }
        let folder = RunFolder { disk, fingerprint, reserve_bytes, kept, damaged, _lock: lock };
        folder.remove_strays()?;
        // Without room for it the run opens all the same: it may be about to free some.
        let _ = folder.set_reserve_aside();
        Ok(folder)
    }

    /// The newest readable manifest of a run that may be in use, for listing.
    pub fn peek(vfs: &dyn Vfs) -> Result<Manifest, OpenError> {
        let (manifests, damaged) = read_manifests(vfs)?;
        match manifests.into_iter().next() {
            Some(newest) => Ok(newest),
            None if damaged.is_empty() => Err(OpenError::NothingCommitted),
            None => Err(OpenError::Damaged(damaged)),
        }
    }

    /// Whether a process has the run in this folder open.
    pub fn is_in_use(folder: &Folder) -> io::Result<bool> {
        folder.is_locked(LOCK)
    }

    /// Frees the reserve, where it is still there: for whoever must write more than a manifest to a full disk. A later
    /// commit sets it aside again. Says whether there was one.
    pub fn release_reserve(&self) -> bool {
        self.disk.vfs.remove(RESERVE).is_ok()
    }

    /// The disk to write to.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// What was committed last.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.kept.first()
    }

    /// What was wrong with newer generations when the run was opened.
    pub fn damaged(&self) -> &[Corrupted] {
        &self.damaged
    }

    /// The generations that are kept, newest first. Of those behind the first only the manifest was looked at.
    pub fn generations(&self) -> &[Manifest] {
        &self.kept
    }

    /// Goes back to a generation that is kept, where others of several that belong together have nothing newer. Says
    /// whether there is such a one.
    pub fn go_back_to(&mut self, generation: u64) -> bool {
        let Some(at) = self.kept.iter().position(|manifest| manifest.generation == generation) else {
            return false;
        };
        for newer in self.kept.drain(..at) {
            // Should this fail, the next commit replaces the file: it takes the same generation.
            let _ = self.disk.vfs.remove(&Manifest::file_name(newer.generation));
        }
        true
    }

    /// Goes back one generation, when a file of the newest turned out damaged. `None` if there is none before it.
    pub fn fall_back(&mut self, because: Corrupted) -> Option<&Manifest> {
        if self.kept.len() < 2 {
            return None;
        }
        let dropped = self.kept.remove(0);
        // Should this fail, the next commit replaces the file: it takes the same generation.
        let _ = self.disk.vfs.remove(&Manifest::file_name(dropped.generation));
        self.damaged.push(because);
        self.manifest()
    }

    /// Makes `commit` the state that a later [`RunFolder::open`] finds, whatever happens from then on.
    pub fn commit(&mut self, commit: Commit<'_>) -> Result<Committed, CommitError> {
        let generation = self.manifest().map_or(1, |manifest| manifest.generation + 1);
        let mut files = commit.files;
        for run in &commit.runs {
            run.sync().map_err(CommitError::io)?;
            files.push(ManifestFile::from(*run));
        }
        let manifest = Manifest {
            generation,
            fingerprint: self.fingerprint,
            next_file: self.disk.next_file(),
            files,
            sections: commit.sections,
        };
        let bytes = manifest.encode();
        let mut used_reserve = false;
        if let Err(error) = self.write_manifest(generation, &bytes) {
            let CommitError::DiskFull = error else { return Err(error) };
            // Without a reserve to give up there is nothing else to try.
            self.disk.vfs.remove(RESERVE).map_err(|_| CommitError::DiskFull)?;
            self.write_manifest(generation, &bytes)?;
            used_reserve = true;
        }
        for run in &commit.runs {
            run.keep();
        }
        self.kept.insert(0, manifest);
        self.let_go();
        // Whoever needed it has it set aside again, as soon as there is room.
        used_reserve = self.set_reserve_aside().is_err() && used_reserve;
        Ok(Committed { generation, used_reserve })
    }

    fn write_manifest(&self, generation: u64, bytes: &[u8]) -> Result<(), CommitError> {
        let vfs = &*self.disk.vfs;
        let write = || -> io::Result<()> {
            let file = vfs.create(TEMPORARY, Caching::Buffered)?;
            file.write_at(0, bytes)?;
            file.sync()?;
            vfs.rename(TEMPORARY, &Manifest::file_name(generation))?;
            vfs.sync_folder()
        };
        self.disk.traffic.add_written(bytes.len() as u64);
        write().map_err(CommitError::io)
    }

    /// Removes the oldest generation once there are three, and the files only it named.
    fn let_go(&mut self) {
        while self.kept.len() > 2 {
            let Some(old) = self.kept.pop() else { return };
            // What cannot be removed now is a stray, and goes when the run is next opened.
            let _ = self.disk.vfs.remove(&Manifest::file_name(old.generation));
            let named = self.named();
            for file in old.files.iter().filter(|file| !named.contains(file.name.as_str())) {
                let _ = self.disk.vfs.remove(&file.name);
            }
        }
    }

    fn named(&self) -> BTreeSet<&str> {
        self.kept.iter().flat_map(|manifest| &manifest.files).map(|file| file.name.as_str()).collect()
    }

    /// Removes files of ours that no kept generation names: left over from before a crash. Others are not touched.
    fn remove_strays(&self) -> io::Result<()> {
        let named = self.named();
        for entry in self.disk.vfs.list()? {
            let stray = match Manifest::generation_of(&entry.name) {
                Some(generation) => !self.kept.iter().any(|manifest| manifest.generation == generation),
                None => {
                    entry.name == TEMPORARY
                        || entry.name.ends_with(".run") && !named.contains(entry.name.as_str())
                }
            };
            if stray {
                self.disk.vfs.remove(&entry.name)?;
            }
        }
        Ok(())
    }

    fn set_reserve_aside(&self) -> io::Result<()> {
        let vfs = &*self.disk.vfs;
        let there =
            vfs.list()?.iter().any(|entry| entry.name == RESERVE && entry.bytes >= self.reserve_bytes);
        if there || self.reserve_bytes == 0 {
            return Ok(());
        }
        let file = vfs.create(RESERVE, Caching::Buffered)?;
        let zeros = vec![0; 64 << 10];
        let mut written = 0;
        let mut fill = || -> io::Result<()> {
            while written < self.reserve_bytes {
                let now = (self.reserve_bytes - written).min(zeros.len() as u64);
                file.write_at(written, &zeros[..now as usize])?;
                written += now;
            }
            file.sync()
        };
        fill().inspect_err(|_| {
            // Half a reserve is taken for none.
            let _ = vfs.remove(RESERVE);
        })
    }
}

impl CommitError {
    fn io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => CommitError::DiskFull,
            _ => CommitError::Io(error),
        }
    }
}

/// The number in a file's name, if it is one of a run's files.
fn file_number(name: &str) -> Option<u64> {
    name.strip_suffix(".run")?.rsplit_once('-')?.1.parse().ok()
}

fn take_lock(vfs: &dyn Vfs) -> Result<Box<dyn FolderLock>, OpenError> {
    vfs.lock(LOCK).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::Locked,
        _ => OpenError::Io(error),
    })
}

/// All manifests, newest first, and what is wrong with those that cannot be read.
fn read_manifests(vfs: &dyn Vfs) -> io::Result<(Vec<Manifest>, Vec<Corrupted>)> {
    let (mut manifests, mut damaged) = (Vec::new(), Vec::new());
    for entry in vfs.list()? {
        if Manifest::generation_of(&entry.name).is_some() {
            match Manifest::decode(&entry.name, &read_small(vfs, &entry.name)?) {
                Ok(manifest) => manifests.push(manifest),
                Err(what) => damaged.push(what),
            }
        }
    }
    manifests.sort_by_key(|manifest| std::cmp::Reverse(manifest.generation));
    Ok((manifests, damaged))
}

enum CheckError {
    Corrupted(Corrupted),
    Io(io::Error),
}

fn check_files(disk: &Disk, manifest: &Manifest, verify: Verify) -> Result<(), CheckError> {
    let wrong = |file: &ManifestFile, what| CheckError::Corrupted(Corrupted::file(&file.name, what));
    for file in manifest.files.iter().filter(|file| !file.is_spare()) {
        let open = match disk.vfs.open(&file.name, Caching::Buffered) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(wrong(file, "it is missing"));
            }
            open => open.map_err(CheckError::Io)?,
        };
        if open.len().map_err(CheckError::Io)? != file.bytes {
            return Err(wrong(file, "it has the wrong length"));
        }
        let mut tail = vec![0; file.bytes.min(64) as usize];
        let got = open.read_at(file.bytes - tail.len() as u64, &mut tail).map_err(CheckError::Io)?;
        if got != tail.len() || xxh3_64(&tail) != file.tail_checksum {
            return Err(wrong(file, "its end is not what was committed"));
        }
        if verify == Verify::EveryBlock && RunKind::of_name(&file.name).is_some() {
            verify_run(disk, &file.name, manifest.fingerprint).map_err(|error| match error {
                ReadError::Corrupted(what) => CheckError::Corrupted(what),
                ReadError::Foreign { what, .. } => wrong(file, what),
                ReadError::Io { source, .. } => CheckError::Io(source),
                ReadError::OverBudget(over) => CheckError::Io(io::Error::other(over)),
                stopped @ ReadError::Stopped => CheckError::Io(io::Error::other(stopped)),
            })?;
        }
    }
    Ok(())
}
