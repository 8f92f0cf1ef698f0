//! What a run on disk has done so far: files and a few words by name, committed together. A run that was killed goes on from
//! its last commit.

use super::DiskError;
use super::company::Company;
use hadal_store::manifest::{Manifest, ManifestFile, OpenError, Verify};
use hadal_store::vfs::{Folder, IoThreads, Vfs};
use hadal_store::{Commit, Disk, Governor, Medium, RunFile, RunFolder, RunOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Set aside for the last commit on a full disk.
const RESERVE: u64 = 1 << 16;
/// Of the time, at most one part in so many is spent on commits that are not asked for.
const PART: u32 = 10;
/// The section that says which file each name stands for.
const FILES: &str = "files";
/// The section that says how many commits there were.
const MOMENT: &str = "moment";

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
    /// Those who commit together.
    company: Company,
    /// How many commits there were.
    moment: u64,
    /// The states of this worker, where there are others.
    own: Option<Range<u64>>,
    /// Those of workers of another number, to be moved here.
    former: Option<Vec<Journal>>,
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
            company: Company::alone(),
            moment: 0,
            own: None,
            former: None,
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
        journal.folder = Some(folder);
        journal.read();
        Ok(journal)
    }

    /// The same for one of several workers, who all go back to the newest commit that all have.
    pub fn open_among(
        path: &Path,
        fingerprint: u64,
        governor: &Governor,
        company: &Company,
    ) -> Result<Self, DiskError> {
        let mut journal = Journal::open(path, fingerprint, governor)?;
        let kept = journal.moments();
        let heard = company.agree(&kept)?;
        let shared = |moment: &&u64| heard.iter().all(|kept| kept.contains(moment));
        match kept.iter().find(shared) {
            Some(&moment) => journal.go_back_to(moment),
            None if kept.is_empty() => {}
            None => {
                // Somebody has committed nothing yet: all begin anew.
                drop(journal);
                std::fs::remove_dir_all(path)?;
                journal = Journal::open(path, fingerprint, governor)?;
            }
        }
        journal.company = company.clone();
        journal.company.stands(0, journal.moment);
        Ok(journal)
    }

    /// The same in company.
    pub(super) fn among(self, company: Company) -> Self {
        Journal { company, ..self }
    }

    /// The numbers of the commits that can be gone back to, newest first.
    pub(super) fn moments(&self) -> Vec<u64> {
        self.folder.iter().flat_map(|folder| folder.generations()).map(moment_of).collect()
    }

    /// Goes back to the commit of this number.
    pub(super) fn go_back_to(&mut self, moment: u64) {
        let Some(folder) = &mut self.folder else { return };
        let there = folder.generations().iter().find(|manifest| moment_of(manifest) == moment);
        if let Some(generation) = there.map(|manifest| manifest.generation) {
            folder.go_back_to(generation);
            self.read();
        }
    }

    /// Reads the last commit.
    fn read(&mut self) {
        (self.runs, self.words) = (BTreeMap::new(), BTreeMap::new());
        let Some(manifest) = self.folder.as_ref().and_then(RunFolder::manifest) else { return };
        self.resumed = true;
        self.moment = moment_of(manifest);
        let listed = manifest.sections.get(FILES).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        for line in listed.unwrap_or_default().lines() {
            let Some((name, file)) = line.split_once('\t') else { continue };
            if let Some(found) = manifest.files.iter().find(|f| f.name == file) {
                self.runs.insert(name.to_owned(), Kept::Closed(found.clone()));
            }
        }
        for (name, bytes) in
            manifest.sections.iter().filter(|(name, _)| ![FILES, MOMENT].contains(&name.as_str()))
        {
            self.words.insert(name.clone(), words_of(bytes));
        }
    }

    /// Those who commit together.
    pub fn company(&self) -> &Company {
        &self.company
    }

    /// How many commits there were.
    pub fn moment(&self) -> u64 {
        self.moment
    }

    /// Goes on with what these have, unless it has something itself.
    pub(super) fn follows(&mut self, former: Vec<Journal>) {
        self.former = Some(former).filter(|_| self.moment == 0);
    }

    /// What it goes on with, once: where there is anything, all workers have it to be asked.
    pub(super) fn former(&mut self) -> Option<Vec<Journal>> {
        self.former.take()
    }

    /// Goes on counting commits from here.
    pub(super) fn continue_from(&mut self, moment: u64) {
        self.moment = moment;
        self.resumed = true;
    }

    /// The states of this worker, where there are others.
    pub(super) fn own(&self) -> Option<&Range<u64>> {
        self.own.as_ref()
    }

    /// Takes note of them.
    pub(super) fn owns(&mut self, states: Range<u64>) {
        self.own = Some(states).filter(|_| !self.company.is_alone());
    }

    /// The names of all runs, and all words.
    pub(super) fn contents(&self) -> (impl Iterator<Item = &str>, &BTreeMap<String, Vec<u64>>) {
        (self.runs.keys().map(String::as_str), &self.words)
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
        commit.sections.insert(MOMENT.to_owned(), (self.moment + 1).to_le_bytes().to_vec());
        for (name, words) in &self.words {
            commit.sections.insert(name.clone(), words.iter().flat_map(|w| w.to_le_bytes()).collect());
        }
        folder.commit(commit).map_err(|error| DiskError::Folder(error.to_string()))?;
        self.moment += 1;
        if !self.company.is_alone() {
            // Nobody commits again before all have: what is kept of the last two commits has one in common.
            self.company.agree(&[])?;
            self.company.stands(self.own.as_ref().map_or(0, |own| own.end - own.start), self.moment);
        }
        self.last = Instant::now();
        self.cost = started.elapsed();
        Ok(())
    }

    /// Whether enough was done since the last commit to make the next one worth its time.
    pub fn is_due(&self) -> bool {
        self.folder.is_some() && self.last.elapsed() >= self.cost * PART
    }

    /// The same of several workers: whether it is for any of them.
    pub fn is_time(&self) -> Result<bool, DiskError> {
        match (&self.folder, self.company.is_alone()) {
            (Some(_), false) => self.company.any(self.is_due()),
            _ => Ok(self.is_due()),
        }
    }
}

fn moment_of(manifest: &Manifest) -> u64 {
    let words = manifest.sections.get(MOMENT).map(|bytes| words_of(bytes));
    words.and_then(|words| words.first().copied()).unwrap_or(0)
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &b| word << 8 | u64::from(b));
    bytes.chunks(8).map(word).collect()
}
