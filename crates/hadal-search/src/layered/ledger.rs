//! Commits: what a search that is killed finds again.
//!
//! A commit names the runs of the journal's layers and says what was counted in them. Nothing else is needed: the closed
//! set is the union of the layers, and the search goes on by expanding the last one. Commits are at most one a second, as
//! each waits for the disk; deep graphs have thousands of layers a second.

use super::Trouble;
use super::journal::{Journal, JournalRecord};
use crate::report::Layer;
use hadal_store::manifest::{Commit, CommitError, RunFolder};
use hadal_store::run::{RunFile, RunOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SECTION: &str = "search";
const ABOUT: &str = "about";
const SPACING: Duration = Duration::from_secs(1);

/// The run folder of a search, and when it was last written to.
pub struct Ledger {
    folder: RunFolder,
    about: serde_json::Value,
    committed: Option<Instant>,
}

/// What a run's folder says about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// How the search stands.
    pub status: String,
    /// The expanded layers.
    pub layers: Vec<Layer>,
    /// How often each property was covered in them.
    pub covers: Vec<u64>,
    /// Wall-clock seconds spent so far.
    pub seconds: f64,
    /// Where the layers lie.
    pub(crate) journal: JournalRecord,
}

impl RunRecord {
    /// Distinct states in complete layers.
    pub fn states(&self) -> u64 {
        self.journal.states()
    }

    /// Reads it from a manifest, with what the command said about itself.
    pub fn of(manifest: &hadal_store::manifest::Manifest) -> Option<(RunRecord, serde_json::Value)> {
        let record = serde_json::from_slice(manifest.sections.get(SECTION)?).ok()?;
        let about = serde_json::from_slice(manifest.sections.get(ABOUT)?).ok()?;
        Some((record, about))
    }
}

/// What is counted in complete layers.
pub(crate) struct Tally<'a> {
    pub(crate) layers: &'a [Layer],
    pub(crate) covers: &'a [u64],
    pub(crate) seconds: f64,
}

impl Ledger {
    /// For a run in `folder`; `about` is kept for whoever resumes it.
    pub fn new(folder: RunFolder, about: serde_json::Value) -> Self {
        Ledger { folder, about, committed: None }
    }

    /// The disk of the run.
    pub(crate) fn disk(&self) -> &hadal_store::Disk {
        self.folder.disk()
    }

    /// What was committed last.
    pub(crate) fn record(&self) -> Option<RunRecord> {
        self.folder.manifest().and_then(RunRecord::of).map(|(record, _)| record)
    }

    /// Opens the journal as it was committed.
    pub(crate) fn open_journal(&self, options: RunOptions, record: &RunRecord) -> Result<Journal, Trouble> {
        Journal::open(self.disk(), options, &record.journal)
    }

    /// Whether enough time has passed since the last commit.
    pub(crate) fn is_due(&self) -> bool {
        self.committed.is_none_or(|at| at.elapsed() >= SPACING)
    }

    /// Makes everything up to the journal's last layer durable.
    pub(crate) fn commit(
        &mut self,
        journal: &mut Journal,
        tally: Tally,
        status: &str,
    ) -> Result<(), Trouble> {
        journal.bundle()?;
        let record = RunRecord {
            status: status.to_owned(),
            layers: tally.layers.to_vec(),
            covers: tally.covers.to_vec(),
            seconds: tally.seconds,
            journal: journal.record(),
        };
        let mut sections = BTreeMap::new();
        // Numbers, strings and lists of them always serialise.
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record).unwrap_or_default());
        sections.insert(ABOUT.to_owned(), serde_json::to_vec(&self.about).unwrap_or_default());
        let runs = journal.runs().collect();
        self.folder.commit(Commit { runs, files: Vec::new(), sections })?;
        self.committed = Some(Instant::now());
        Ok(())
    }
}

impl Ledger {
    /// What a search of another kind keeps under this name.
    pub(crate) fn section(&self, name: &str) -> Option<&[u8]> {
        Some(self.folder.manifest()?.sections.get(name)?)
    }

    /// Makes the state of a search without layers durable: its files, and what it keeps in a section of its own.
    pub(crate) fn commit_section(
        &mut self,
        (name, section): (&str, Vec<u8>),
        runs: Vec<&RunFile>,
        standing: Standing,
    ) -> Result<(), Trouble> {
        let record = RunRecord {
            status: standing.status.to_owned(),
            layers: Vec::new(),
            covers: standing.covers.to_vec(),
            seconds: standing.seconds,
            journal: JournalRecord::without_layers(standing.states),
        };
        let mut sections = BTreeMap::new();
        // Numbers, strings and lists of them always serialise.
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record).unwrap_or_default());
        sections.insert(ABOUT.to_owned(), serde_json::to_vec(&self.about).unwrap_or_default());
        sections.insert(name.to_owned(), section);
        self.folder.commit(Commit { runs, files: Vec::new(), sections })?;
        self.committed = Some(Instant::now());
        Ok(())
    }
}

/// How a search without layers stands, for lists of runs.
pub(crate) struct Standing<'a> {
    pub(crate) status: &'a str,
    pub(crate) states: u64,
    pub(crate) covers: &'a [u64],
    pub(crate) seconds: f64,
}

impl From<CommitError> for Trouble {
    fn from(error: CommitError) -> Self {
        Trouble::Commit(error)
    }
}
