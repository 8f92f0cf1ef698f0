//! External A* (Edelkamp, Jabbar and Schroedl 2004; Jabbar 2008, ch. 3 and 5): A* whose open list is a matrix of buckets
//! by cost so far and estimate, on disk.
//!
//! A bucket is expanded in one pass: its sorted parts are merged, freed of duplicates among themselves and of closed
//! states, noted as closed and expanded, and what is generated is dealt out to other buckets. Graphs may be directed and
//! weighted, estimates inconsistent. The same numbers come out for any budget and number of threads, as a bucket is
//! finished before anything in it is reported. `docs/external-astar.md` describes it for users.

mod distributed;
mod divide;
mod engine;
mod expand;
mod figures;
mod horizon;
mod matrix;
mod order;
mod part;
mod record;
mod scope;
mod spill;
mod targets;
mod trail;

pub use distributed::DistributedExternal;
pub use figures::{BucketFigures, ExternalFigures, PathFigures, StateFigures, TargetFigures, bucket_bound};

use crate::exchange::{Alone, Exchange};
use crate::explore::{Explored, Explorer, Method, Phase, Progress, Run, Setting};
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::StopReason;
use engine::{Engine, Found};
use hadal_store::Governor;
use hadal_system::guide::{Goal, Guide};
use record::SearchRecord;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the path to what was found is rebuilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceBy {
    /// Records carry a word about their parent.
    Parents,
    /// Backwards, by expanding closed rows again; where steps can be taken back, by looking for successors in them.
    #[default]
    Scan,
    /// By searching for the two halves of the path again. Closed buckets are deleted as soon as no duplicate can be in
    /// them, where steps can be taken back.
    Divide,
}

/// When a state that is looked for ends the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopAt {
    /// As soon as it is generated, if then nothing cheaper can exist.
    #[default]
    Generation,
    /// When it would be expanded.
    Expansion,
}

/// When successors are written that lie beyond the diagonal being searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flush {
    /// As they are generated.
    #[default]
    AtOnce,
    /// Only when their diagonal's turn comes: the states of the diagonals before are then expanded again for them. Saves
    /// writing what lies beyond the last diagonal, and generates successors twice.
    Deferred,
}

/// Whether the steps of an expansion are one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steps {
    /// Nothing is written between them.
    #[default]
    Fused,
    /// Each writes what it gives and the next one reads it: to measure what one pass saves (Jabbar 2008, sec. 3.5.2).
    Apart,
}

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalOptions {
    /// How paths are rebuilt.
    pub trace_by: TraceBy,
    /// When to stop.
    pub stop_at: StopAt,
    /// Drop states whose estimate of the whole path is above this. A run that found nothing can be resumed with a larger
    /// one.
    pub bound: Option<u64>,
    /// When to write what is not needed soon.
    pub flush: Flush,
    /// How the steps of an expansion are joined.
    pub steps: Steps,
    /// Least time between commits; longer where commits themselves take long. With zero, one after every bucket.
    pub commit_every: Duration,
}

impl Default for ExternalOptions {
    fn default() -> Self {
        ExternalOptions {
            trace_by: TraceBy::default(),
            stop_at: StopAt::default(),
            bound: None,
            flush: Flush::default(),
            steps: Steps::default(),
            commit_every: Duration::from_secs(1),
        }
    }
}

/// External A*.
pub struct External<'g> {
    /// Where to look first.
    pub guide: &'g dyn Guide,
    /// What the guide looks for: the part of the question that its promises are about.
    pub goal: &'g Goal,
    /// How.
    pub options: ExternalOptions,
}

/// What a search works on.
#[derive(Clone)]
struct ExternalSearch<'a> {
    task: SearchTask<'a>,
    guide: &'a dyn Guide,
    goal: &'a Goal,
    governor: &'a Governor,
    threads: usize,
    options: ExternalOptions,
    exchange: &'a dyn Exchange,
}

impl External<'_> {
    /// A search without buckets, among the workers of an exchange. Where a run is resumed, records are kept as it was begun;
    /// budget and threads are those of the setting, and so is the bound if it is larger.
    fn engine<'a>(
        &'a self,
        setting: Setting<'a>,
        exchange: &'a dyn Exchange,
        ledger: Ledger,
        record: Option<&SearchRecord>,
    ) -> Result<Engine<'a>, Trouble> {
        let options = match record {
            Some(record) => ExternalOptions {
                trace_by: record.trace_by,
                stop_at: record.stop_at,
                bound: record.bound.map(|bound| self.options.bound.map_or(bound, |other| other.max(bound))),
                flush: record.flush,
                ..self.options.clone()
            },
            None => self.options.clone(),
        };
        let Setting { task, governor, threads, .. } = setting;
        let (guide, goal) = (self.guide, self.goal);
        Engine::begin(ExternalSearch { task, guide, goal, governor, threads, options, exchange }, ledger)
    }
}

/// Takes up what was committed.
fn go_on(engine: &mut Engine, task: SearchTask, record: SearchRecord) -> Result<(), Trouble> {
    // The first bucket is expanded however long it takes: so every sitting gets on.
    task.control.hold_time();
    let disk = engine.disk();
    let _armed = task.control.brake_reading_back(&disk);
    engine.restore(record)
}

impl Method for External<'_> {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let ledger = setting.run.open()?;
        let record = match setting.run {
            Run::Resumed(_) => Some(record::read(&ledger).ok_or(Trouble::NothingToResume)?),
            _ => None,
        };
        let mut engine = self.engine(setting, &Alone, ledger, record.as_ref())?;
        match record {
            Some(record) => go_on(&mut engine, setting.task, record)?,
            None => engine.start()?,
        }
        engine.commit(crate::run::RUNNING)?;
        Ok(Box::new(ExternalExplorer { engine, found: None }))
    }
}

/// A search under way.
struct ExternalExplorer<'a> {
    engine: Engine<'a>,
    found: Option<Found>,
}

impl Explorer for ExternalExplorer<'_> {
    /// Pieces of buckets: the last may go beyond the step's work.
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        if self.found.is_none() {
            self.found = match self.engine.go_on(work) {
                Err(trouble) if trouble.is_disk_full() => Some(Found::Stopped(StopReason::DiskFull)),
                other => other?,
            };
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let progress = self.engine.progress();
        match self.found {
            Some(_) => Progress { phase: Phase::Over, ..progress },
            None => progress,
        }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        let ExternalExplorer { engine, found } = *self;
        engine.conclude(found.unwrap_or(Found::Stopped(StopReason::Interrupted)))
    }
}
