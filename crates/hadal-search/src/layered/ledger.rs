//! Commits: what a search that is killed finds again.
//!
//! A commit names the runs of the journal's layers and says what was counted in them. Nothing else is needed: the closed
//! set is the union of the layers, and the search goes on by expanding the last one. Commits are at most one a second, as
//! each waits for the disk; deep graphs have thousands of layers a second.

use super::journal::{Journal, JournalRecord};
use super::snapshot::{Snapshot, Snapshots};
use super::{Trouble, room};
use crate::firings::ActionFirings;
use crate::report::{Layer, Stage};
use hadal_store::diagram::ClosedDiagram;
use hadal_store::manifest::{Commit, CommitError, Manifest, ManifestFile, RunFolder};
use hadal_store::run::{RunFile, RunOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SECTION: &str = "search";
const ABOUT: &str = "about";
const BESIDE: &str = "sets";
/// What [`Ledger::keep_together`] keeps.
pub const TOGETHER: &str = "workers";
const SPACING: Duration = Duration::from_secs(1);
/// How often the room on disk is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Most moments a record keeps; beyond it every other one is dropped.
const MOST_SAMPLES: usize = 2000;

/// The run folder of a search, and when it was last written to.
pub struct Ledger {
    folder: RunFolder,
    about: serde_json::Value,
    samples: Vec<Sample>,
    /// Storage of earlier sittings.
    stages_before: Vec<StageRecord>,
    committed: Option<Instant>,
    spacing: Duration,
    /// When the room on disk was last looked at, and whether it was told already that it is too small.
    looked: Option<Instant>,
    foretold: bool,
    /// What is kept beside the layers once all of them are known.
    beside: Option<Beside>,
    /// The diagram of the layers.
    snapshots: Snapshots,
    /// The depth of the last layer that was committed.
    depth: Option<u64>,
}

/// Files beside the layers, and what is to be known about them.
#[derive(Clone, Default)]
struct Beside {
    files: Vec<ManifestFile>,
    section: Vec<u8>,
}

/// A search at the moment of a commit, for whoever looks at its course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Wall-clock seconds spent so far, in all sittings.
    pub seconds: f64,
    /// Distinct states, in complete layers where there are layers.
    pub states: u64,
    /// Transitions out of the expanded ones.
    pub transitions: u64,
    /// The layer to be expanded next, where there are layers.
    pub depth: Option<u64>,
    /// Bytes held under the memory budget.
    pub memory_bytes: u64,
    /// Bytes of all files in the run's folder.
    pub disk_bytes: u64,
}

/// When a kind of storage began, in one of the sittings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// What the closed set was from there on.
    pub storage: String,
    /// Distinct states in complete layers at that moment.
    pub states: u64,
    /// The layer that was being expanded.
    pub depth: u64,
}

impl From<&Stage> for StageRecord {
    fn from(stage: &Stage) -> Self {
        StageRecord { storage: stage.storage.to_owned(), states: stage.states, depth: stage.depth }
    }
}

/// What a run's folder says about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// How the search stands.
    pub status: String,
    /// The expanded layers.
    #[serde(with = "super::rows")]
    pub layers: Vec<Layer>,
    /// How often each property was covered in them.
    pub covers: Vec<u64>,
    /// How often each action fired in them; empty where nobody counted.
    #[serde(default)]
    pub actions: Vec<ActionFirings>,
    /// Wall-clock seconds spent so far.
    pub seconds: f64,
    /// How it stood at some of the commits, in order of time.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// How states were stored, in order, in all sittings.
    #[serde(default)]
    pub stages: Vec<StageRecord>,
    /// The depth of the deepest state that was met, where that is below the complete layers.
    #[serde(default)]
    pub(crate) reached: Option<u64>,
    /// States in the layer that was being found when something wrong was: whoever goes on finds it again.
    #[serde(default)]
    pub(crate) beyond: u64,
    /// States of the last layer that were expanded in vain: whoever goes on expands them again.
    #[serde(default)]
    pub(crate) begun: u64,
    /// Where the layers lie.
    pub(crate) journal: JournalRecord,
}

/// A [`RunRecord`] as it is written: nothing is copied for it.
#[derive(Serialize)]
struct WrittenRecord<'a> {
    status: &'a str,
    #[serde(serialize_with = "super::rows::serialize")]
    layers: &'a [Layer],
    covers: &'a [u64],
    actions: &'a [ActionFirings],
    seconds: f64,
    samples: &'a [Sample],
    stages: Vec<StageRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    beyond: u64,
    begun: u64,
    journal: JournalRecord,
}

impl RunRecord {
    /// Distinct states in complete layers, and beside them what was counted together with something wrong.
    pub fn states(&self) -> u64 {
        self.journal.states() + self.beyond
    }

    /// The depth of the deepest state that was met, the initial states being layer 0; of a search without layers, 0.
    pub fn depth(&self) -> u64 {
        self.journal.depth().max(self.reached.unwrap_or(0))
    }

    /// Whether there are layers besides the last two, which a full disk may be relieved of.
    pub(crate) fn has_old_layers(&self) -> bool {
        self.journal.kept() > 2
    }

    /// Reads it from a manifest, with what the command said about itself.
    pub fn of(manifest: &Manifest) -> Option<(RunRecord, serde_json::Value)> {
        let record = serde_json::from_slice(manifest.sections.get(SECTION)?).ok()?;
        let about = serde_json::from_slice(manifest.sections.get(ABOUT)?).ok()?;
        Some((record, about))
    }
}

fn is_zero(states: &u64) -> bool {
    *states == 0
}

/// Gives the generations of a run numbers that workers that commit together have in common.
pub(crate) type Moment = fn(&Manifest) -> Option<u64>;

/// By the number of layers.
fn layers(manifest: &Manifest) -> Option<u64> {
    Some(RunRecord::of(manifest)?.0.journal.layers())
}

/// The figures of layers, as a manifest's record has them under `layers`.
pub fn layers_of(rows: serde_json::Value) -> serde_json::Result<Vec<Layer>> {
    super::rows::deserialize(rows)
}

/// What [`layers_of`] reads.
pub(crate) fn rows_of(layers: &[Layer]) -> serde_json::Result<serde_json::Value> {
    super::rows::serialize(layers, serde_json::value::Serializer)
}

/// What was met beside the complete layers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// The depth of the deepest state.
    pub(crate) depth: u64,
    /// States in the layer that was being found when something wrong was.
    pub(crate) beyond: u64,
}

/// What is counted in complete layers.
pub(crate) struct Tally<'a> {
    pub(crate) layers: &'a [Layer],
    pub(crate) covers: &'a [u64],
    pub(crate) actions: Vec<ActionFirings>,
    pub(crate) seconds: f64,
    /// Storage of this sitting.
    pub(crate) stages: &'a [Stage],
    /// The depth of the deepest state that was met, where that may be below the complete layers.
    pub(crate) reached: Option<Reached>,
    /// States of the last layer that were expanded in vain.
    pub(crate) begun: u64,
}

impl Ledger {
    /// What was wrong with newer commits when the run was opened.
    pub fn damaged(&self) -> &[hadal_store::error::Corrupted] {
        self.folder.damaged()
    }

    /// For a run in `folder`; `about` is kept for whoever resumes it.
    pub fn new(folder: RunFolder, about: serde_json::Value) -> Self {
        let record = folder.manifest().and_then(RunRecord::of);
        let beside = folder.manifest().and_then(|manifest| {
            let is_set = |file: &&ManifestFile| file.name.starts_with("set-");
            let files = manifest.files.iter().filter(is_set).cloned().collect();
            Some(Beside { files, section: manifest.sections.get(BESIDE)?.clone() })
        });
        let (samples, stages_before) =
            record.map_or((Vec::new(), Vec::new()), |(record, _)| (record.samples, record.stages));
        Ledger {
            snapshots: Snapshots::of(folder.manifest()),
            folder,
            about,
            samples,
            stages_before,
            committed: None,
            spacing: SPACING,
            looked: None,
            foretold: false,
            beside,
            depth: None,
        }
    }

    /// Commits after this much time instead of a second: at each layer where it is zero.
    pub fn spaced(self, spacing: Duration) -> Self {
        Ledger { spacing, ..self }
    }

    /// The disk of the run.
    pub(crate) fn disk(&self) -> &hadal_store::Disk {
        self.folder.disk()
    }

    /// What was committed last.
    pub fn record(&self) -> Option<RunRecord> {
        self.folder.manifest().and_then(RunRecord::of).map(|(record, _)| record)
    }

    /// Opens the journal as it was committed.
    pub(crate) fn open_journal(&self, options: RunOptions, record: &RunRecord) -> Result<Journal, Trouble> {
        Journal::open(self.disk(), options, &record.journal)
    }

    /// Whether enough time has passed since the last commit.
    pub(crate) fn is_due(&self) -> bool {
        self.committed.is_none_or(|at| at.elapsed() >= self.spacing)
    }

    /// Makes everything up to the journal's last layer durable.
    pub(crate) fn commit(
        &mut self,
        journal: &mut Journal,
        tally: Tally,
        status: &str,
    ) -> Result<(), Trouble> {
        match journal.bundle() {
            Err(trouble) if trouble.is_disk_full() && self.folder.release_reserve() => journal.bundle()?,
            other => other?,
        }
        let states = (0..journal.depth()).map(|depth| journal.states(depth)).sum();
        let transitions = tally.layers.iter().map(|layer| layer.transitions).sum();
        self.sample(tally.seconds, states, transitions, (journal.depth() as u64).checked_sub(1));
        let record = WrittenRecord {
            status,
            layers: tally.layers,
            covers: tally.covers,
            actions: &tally.actions,
            seconds: tally.seconds,
            samples: &self.samples,
            stages: self.stages_before.iter().cloned().chain(tally.stages.iter().map(Into::into)).collect(),
            reached: tally.reached.map(|reached| reached.depth),
            beyond: tally.reached.map_or(0, |reached| reached.beyond),
            begun: tally.begun,
            journal: journal.record(),
        };
        let mut sections = BTreeMap::new();
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record)?);
        sections.insert(ABOUT.to_owned(), serde_json::to_vec(&self.about)?);
        let mut beside = self.beside.clone().unwrap_or_default();
        if let Some((file, (name, section))) = self.snapshots.beside(journal) {
            beside.files.push(file);
            sections.insert(name, section);
        }
        if !beside.section.is_empty() {
            sections.insert(BESIDE.to_owned(), beside.section);
        }
        let runs = journal.committed_runs().collect();
        self.folder.commit(Commit { runs, files: beside.files, sections })?;
        self.snapshots.remove_gone(self.folder.disk());
        self.committed = Some(Instant::now());
        self.depth = (journal.depth() as u64).checked_sub(1);
        Ok(())
    }

    /// Whether a diagram of the layers should be written before the next commit.
    pub(crate) fn wants_snapshot(&self) -> bool {
        self.snapshots.is_due(self.spacing)
    }

    /// Writes down a diagram of the journal's layers, for the next commit; in vain where that does not work.
    pub(crate) fn keep_snapshot(&mut self, closed: &ClosedDiagram, journal: &Journal) {
        self.snapshots.renew(closed, journal);
    }

    /// Lets the next commit do without a diagram.
    pub(crate) fn drop_snapshot(&mut self) {
        self.snapshots.drop();
    }

    /// The diagram that was committed.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshots.newest()
    }

    /// The depth of the last layer that was committed in this sitting.
    pub(crate) fn committed_depth(&self) -> Option<u64> {
        self.depth
    }

    /// How many layers each of the generations has that can be gone back to, newest first.
    pub(crate) fn layers_kept(&self) -> Vec<u64> {
        self.moments_kept(layers)
    }

    /// The generations that can be gone back to, newest first, each by the number that `moment` gives it.
    pub(crate) fn moments_kept(&self, moment: Moment) -> Vec<u64> {
        self.folder.generations().iter().filter_map(moment).collect()
    }

    /// What was committed when there were so many layers, where that is kept.
    pub(crate) fn record_with(&self, layers: u64) -> Option<RunRecord> {
        let mut records = self.folder.generations().iter().filter_map(RunRecord::of);
        records.find_map(|(record, _)| (record.journal.layers() == layers).then_some(record))
    }

    /// Goes back to a generation of so many layers; whether there is one.
    pub(crate) fn go_back_to(&mut self, layers_then: u64) -> bool {
        self.go_back_to_moment(layers, layers_then)
    }

    /// Goes back to the generation of this number; whether there is one.
    pub(crate) fn go_back_to_moment(&mut self, moment: Moment, number: u64) -> bool {
        let there = self.folder.generations().iter().find(|manifest| moment(manifest) == Some(number));
        let Some(generation) = there.map(|manifest| manifest.generation) else { return false };
        let gone = self.folder.go_back_to(generation);
        if let Some(record) = self.record() {
            (self.samples, self.stages_before) = (record.samples, record.stages);
        }
        self.snapshots = Snapshots::of(self.folder.manifest());
        gone
    }

    /// What was kept beside the layers.
    pub(crate) fn beside(&self) -> Option<&[u8]> {
        self.beside.as_ref().map(|beside| beside.section.as_slice())
    }

    /// Keeps files beside the layers, which are as they were at the last commit, in the place of what was kept there.
    pub(crate) fn commit_beside(
        &mut self,
        files: Vec<ManifestFile>,
        section: Vec<u8>,
    ) -> Result<(), Trouble> {
        let Some(last) = self.folder.manifest() else { return Err(Trouble::NothingToResume) };
        let old: Vec<String> =
            self.beside.iter().flat_map(|beside| &beside.files).map(|file| file.name.clone()).collect();
        let layers = last.files.iter().filter(|file| !old.contains(&file.name)).cloned();
        let mut sections = last.sections.clone();
        sections.insert(BESIDE.to_owned(), section.clone());
        let commit =
            Commit { runs: Vec::new(), files: layers.chain(files.iter().cloned()).collect(), sections };
        self.folder.commit(commit)?;
        self.beside = Some(Beside { files, section });
        self.committed = Some(Instant::now());
        Ok(())
    }

    /// Says that the search ended so, beside what was committed last: a run resumed meets the end again.
    pub fn amend_status(&mut self, status: &str) -> Result<(), Trouble> {
        let (Some(mut record), Some(last)) = (self.record(), self.folder.manifest()) else { return Ok(()) };
        record.status = status.to_owned();
        let mut sections = last.sections.clone();
        let files = last.files.clone();
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record)?);
        self.folder.commit(Commit { runs: Vec::new(), files, sections })?;
        Ok(())
    }

    /// What to tell about the room on disk, once, if the rest will probably not fit. Asked after each layer, it looks now
    /// and then.
    pub(crate) fn foresee(&mut self, journal: &Journal) -> Option<String> {
        if self.foretold || self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let vfs = &self.disk().vfs;
        let (free, files) = (vfs.free_bytes().ok()?, vfs.list().ok()?);
        let used = files.iter().filter(|file| file.name.ends_with(".run")).map(|file| file.bytes).sum();
        let widths: Vec<u64> = (0..journal.depth()).map(|depth| journal.states(depth)).collect();
        let told = room::foresee(&widths, used, free);
        self.foretold = told.is_some();
        told
    }

    /// Takes note of how the search stands.
    fn sample(&mut self, seconds: f64, states: u64, transitions: u64, depth: Option<u64>) {
        let disk = self.disk();
        // A folder that cannot be listed now is no reason to end the search.
        let Ok(files) = disk.vfs.list() else { return };
        let sample = Sample {
            seconds,
            states,
            transitions,
            depth,
            memory_bytes: disk.governor.current(),
            disk_bytes: files.iter().map(|file| file.bytes).sum(),
        };
        push_thinned(&mut self.samples, sample, MOST_SAMPLES);
    }
}

/// Appends to a list of at most `most`, dropping every other element when it is full. The newest is always kept.
fn push_thinned<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() >= most {
        let mut keep = false;
        list.retain(|_| {
            keep = !keep;
            keep
        });
    }
    list.push(item);
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
        self.commit_with((name, section), runs, Vec::new(), standing)
    }

    /// The same for a search that is one file, which is synced already.
    pub(crate) fn commit_file(
        &mut self,
        section: (&str, Vec<u8>),
        file: ManifestFile,
        standing: Standing,
    ) -> Result<(), Trouble> {
        self.commit_with(section, Vec::new(), vec![file], standing)
    }

    fn commit_with(
        &mut self,
        (name, section): (&str, Vec<u8>),
        runs: Vec<&RunFile>,
        files: Vec<ManifestFile>,
        standing: Standing,
    ) -> Result<(), Trouble> {
        self.sample(standing.seconds, standing.states, standing.transitions, None);
        let record = RunRecord {
            status: standing.status.to_owned(),
            layers: Vec::new(),
            covers: standing.covers.to_vec(),
            actions: standing.actions,
            seconds: standing.seconds,
            samples: self.samples.clone(),
            stages: self.stages_before.clone(),
            reached: None,
            beyond: 0,
            begun: 0,
            journal: JournalRecord::without_layers(standing.states),
        };
        let mut sections = BTreeMap::new();
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record)?);
        sections.insert(ABOUT.to_owned(), serde_json::to_vec(&self.about)?);
        sections.insert(name.to_owned(), section);
        self.folder.commit(Commit { runs, files, sections })?;
        self.committed = Some(Instant::now());
        Ok(())
    }
}

/// How the workers of a cluster stand, for lists of runs.
#[derive(Clone, Debug)]
pub struct Together {
    /// How the search stands.
    pub status: String,
    /// Distinct states of all workers.
    pub states: u64,
    /// Transitions of all workers.
    pub transitions: u64,
    /// The layer that is being expanded.
    pub depth: u64,
    /// Bytes held under the budgets of all workers.
    pub memory_bytes: u64,
    /// Bytes on the disks of all workers.
    pub disk_bytes: u64,
    /// Wall-clock seconds so far.
    pub seconds: f64,
}

impl Ledger {
    /// Commits what a launcher knows of workers, each of which has a run of its own: `workers` is kept for whoever starts
    /// them again. Where they go on is their own agreement.
    pub fn keep_together(&mut self, workers: Vec<u8>, together: &Together) -> Result<(), Trouble> {
        let Together { status, states, transitions, depth, memory_bytes, disk_bytes, seconds } = together;
        let sample = Sample {
            seconds: *seconds,
            states: *states,
            transitions: *transitions,
            depth: Some(*depth),
            memory_bytes: *memory_bytes,
            disk_bytes: *disk_bytes,
        };
        push_thinned(&mut self.samples, sample, MOST_SAMPLES);
        let record = RunRecord {
            status: status.clone(),
            layers: Vec::new(),
            covers: Vec::new(),
            actions: Vec::new(),
            seconds: *seconds,
            samples: self.samples.clone(),
            stages: Vec::new(),
            reached: Some(*depth),
            beyond: 0,
            begun: 0,
            journal: JournalRecord::without_layers(*states),
        };
        let mut sections = BTreeMap::new();
        sections.insert(SECTION.to_owned(), serde_json::to_vec(&record)?);
        sections.insert(ABOUT.to_owned(), serde_json::to_vec(&self.about)?);
        sections.insert(TOGETHER.to_owned(), workers);
        self.folder.commit(Commit { runs: Vec::new(), files: Vec::new(), sections })?;
        self.committed = Some(Instant::now());
        Ok(())
    }

    /// What [`Ledger::keep_together`] kept of the workers.
    pub fn kept_together(&self) -> Option<&[u8]> {
        self.section(TOGETHER)
    }
}

/// How a search without layers stands, for lists of runs.
pub(crate) struct Standing<'a> {
    pub(crate) status: &'a str,
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) covers: &'a [u64],
    pub(crate) actions: Vec<ActionFirings>,
    pub(crate) seconds: f64,
}

impl From<CommitError> for Trouble {
    fn from(error: CommitError) -> Self {
        Trouble::Commit(error)
    }
}

#[cfg(test)]
mod tests {
    use super::push_thinned;

    #[test]
    fn a_full_list_keeps_its_first_and_its_newest_and_stays_short() {
        let mut list = Vec::new();
        for n in 0..1000 {
            push_thinned(&mut list, n, 16);
            assert_eq!((list[0], list.last()), (0, Some(&n)));
            assert!(list.len() <= 16 && list.is_sorted());
        }
    }
}
