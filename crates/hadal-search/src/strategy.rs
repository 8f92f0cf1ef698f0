//! The seeds' strategies by name: each is a way of detection, a cache before it, and which layers are kept; the loop, the
//! journal and the counters are the same for all (Lamborn 2014; docs/strategies.md describes each).

use crate::control::{Control, Limits, WhenFull};
use crate::firings::Counts;
use crate::lane::{Lane, Parents, Task};
use crate::layered::Trouble;
use crate::layered::cache::{Cache, CacheKind};
use crate::layered::cover::CoverDetector;
use crate::layered::detector::{Detector, Nothing};
use crate::layered::hash::sample::initial_partition;
use crate::layered::hash::structured::StructuredDetector;
use crate::layered::hash::{HashDetector, Partition, Sampling, SplitBy};
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, RunRecord};
use crate::layered::partial::{Bound, PartialDetector};
use crate::layered::path;
use crate::layered::phased::PhasedDetector;
use crate::layered::room::{self, Fitted, make_fit};
use crate::layered::sorted::{Merging, Passes, SortedDetector, Sorting};
use crate::layered::sweep::{Keep, Sweep};
use crate::report::{DeadlockNotion, Layer, Question, Report, Stage, StopReason, Verdict};
use crate::run::{Buffers, run_options};
use hadal_store::Governor;
use hadal_store::levels::LevelPolicy;
use hadal_store::run::RunOptions;
use hadal_store::vfs::Disk;
use std::sync::atomic::Ordering;

/// Shares of the budget, in percent. Sorting what is in the cache takes about as much again.
const CACHE_SHARE: u64 = 28;
/// With a table for detection besides.
const SMALL_CACHE_SHARE: u64 = 14;
const LEAST_CACHE_SHARE: u64 = 3;
const TABLE_SHARE: u64 = 20;
/// Antichains in RAM, beside a small cache.
const GROUPS_SHARE: u64 = 50;
/// Potential buckets of the initial partition, at most, and the memory each should have.
const MOST_BUCKETS: u64 = 1000;
const BYTES_PER_BUCKET: u64 = 256 << 10;

/// How duplicates are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// By sorting, closed states in levels that merge as they grow.
    Sort,
    /// By sorting, closed states in one file that is rewritten with each layer.
    SortSingleFile,
    /// By sorting, closed states in one file per layer.
    SortFilePerLayer,
    /// By sorting, in a first pass the candidates alone, in a second against the closed states.
    SortSeparate,
    /// By sorting, against all closed states whenever memory is full.
    SortPerBatch,
    /// In buckets.
    Hash {
        /// How buckets begin.
        partition: PartitionSource,
        /// How they are split.
        split_by: SplitBy,
    },
    /// In phases.
    Phased,
    /// In tables, of which those that successors fall into are in RAM.
    Structured,
    /// Against recent layers, with full checks now and then.
    Partial(Bound),
    /// Up to covering, where the space has it: antichains in RAM, then in sorted runs.
    Cover,
}

/// Where a partition comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionSource {
    /// A sampling search.
    Sampled(Sampling),
    /// These scalars.
    Names(Vec<String>),
    /// What an earlier run saved.
    Saved(String),
}

/// A strategy with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// How duplicates are found.
    pub detection: Detection,
    /// What is remembered of generated states.
    pub cache: CacheKind,
    /// Most layers kept; older ones are deleted.
    pub keep_layers: Option<u64>,
    /// Most bytes of layers kept on disk; older layers are deleted.
    pub keep_bytes: Option<u64>,
    /// Nothing new lies deeper than this, says who asks.
    pub diameter: Option<u64>,
    /// How far back hashed and phased detection look between full checks; everywhere where it is not given.
    pub bound: Option<Bound>,
}

impl Strategy {
    /// The layered strategy of this name, with its usual settings ([`crate::strategies`] has them all).
    pub fn named(name: &str) -> Option<Strategy> {
        crate::strategies::StrategyInfo::named(name)?.settings()
    }

    /// By sorting, everything kept.
    pub(crate) fn sorting() -> Strategy {
        Strategy {
            detection: Detection::Sort,
            cache: CacheKind::Lru,
            keep_layers: None,
            keep_bytes: None,
            diameter: None,
            bound: None,
        }
    }

    /// Up to covering.
    pub fn covering() -> Strategy {
        Strategy { detection: Detection::Cover, cache: CacheKind::Table, ..Strategy::sorting() }
    }

    fn keep(&self) -> Keep {
        Keep { bytes: self.keep_bytes, layers: self.keep_layers, diameter: self.diameter }
    }
}

/// A search with one strategy from the first state on.
pub struct StrategySearch<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// Opens the run folder.
    pub ledger: &'a dyn Fn() -> Result<Ledger, Trouble>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
    /// How.
    pub strategy: &'a Strategy,
}

/// What a search leaves besides its report.
#[derive(Debug)]
pub struct Explored {
    /// The report.
    pub report: Report,
    /// The partition as it was at the end, for [`PartitionSource::Saved`].
    pub partition: Option<String>,
}

/// Explores breadth-first.
pub fn explore(search: &StrategySearch) -> Result<Explored, Trouble> {
    let ledger = (search.ledger)()?;
    let disk = ledger.disk().clone();
    let journal = Journal::new(&disk, search.options())?;
    search.run(Start { task: search.task, disk, ledger: Some(ledger), journal, record: None })
}

/// Goes on with a run where its last commit left it, whatever strategy began it.
pub fn resume(search: &StrategySearch) -> Result<Explored, Trouble> {
    let ledger = (search.ledger)()?;
    let record = ledger.record().ok_or(Trouble::NothingToResume)?;
    let journal = ledger.open_journal(search.options(), &record)?;
    let disk = ledger.disk().clone();
    search.run(Start { task: search.task, disk, ledger: Some(ledger), journal, record: Some(record) })
}

impl<'a> StrategySearch<'a> {
    fn share(&self, percent: u64) -> u64 {
        self.governor.limit() / 100 * percent
    }

    fn options(&self) -> RunOptions {
        run_options(self.task.space, self.governor, Buffers::Few)
    }

    fn detector(&self, disk: &Disk) -> Result<Box<dyn Detector + 'a>, Trouble> {
        let (options, space) = (self.options(), self.task.space);
        let sorted = |sorting| -> Result<Box<dyn Detector + 'a>, Trouble> {
            Ok(Box::new(SortedDetector::new(disk, options, sorting)?))
        };
        let table = self.share(TABLE_SHARE);
        match &self.strategy.detection {
            Detection::Sort => sorted(Sorting::LEVELS),
            Detection::SortSingleFile => {
                sorted(Sorting { closed: LevelPolicy::SingleFile, ..Sorting::LEVELS })
            }
            Detection::SortFilePerLayer => {
                sorted(Sorting { closed: LevelPolicy::FilePerLayer, ..Sorting::LEVELS })
            }
            Detection::SortSeparate => sorted(Sorting { merging: Merging::Separate, ..Sorting::LEVELS }),
            Detection::SortPerBatch => sorted(Sorting { passes: Passes::PerBatch, ..Sorting::LEVELS }),
            Detection::Phased => {
                Ok(Box::new(PhasedDetector::new(disk, options, table, self.strategy.bound)?))
            }
            Detection::Cover => match space.cover() {
                Some(cover) => {
                    let groups = self.governor.part(self.share(GROUPS_SHARE));
                    Ok(Box::new(CoverDetector::new(cover, disk, options, &groups)?))
                }
                None => sorted(Sorting::LEVELS),
            },
            Detection::Partial(bound) => Ok(Box::new(PartialDetector::new(disk, options, *bound)?)),
            Detection::Structured => {
                Ok(Box::new(StructuredDetector::new(disk, options, space, self.threads.max(1))?))
            }
            Detection::Hash { partition, split_by } => {
                let bound = self.strategy.bound;
                let wanted = (self.governor.limit() / BYTES_PER_BUCKET).clamp(16, MOST_BUCKETS);
                let partition = match partition {
                    PartitionSource::Sampled(sampling) => {
                        initial_partition(space, self.governor, wanted, *sampling)
                    }
                    PartitionSource::Names(names) => {
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        Partition::by_names(space, &names)?
                    }
                    PartitionSource::Saved(text) => Partition::load(space, text)?,
                };
                Ok(Box::new(HashDetector::new(disk, options, partition, *split_by, table, bound)?))
            }
        }
    }

    /// A detector that knows the layers of the journal.
    fn adopted(&self, disk: &Disk, journal: &Journal) -> Result<Box<dyn Detector + 'a>, Trouble> {
        let mut detector = self.detector(disk)?;
        journal.view_all(&mut |depth, layer| detector.adopt(depth, layer))?;
        Ok(detector)
    }

    /// Goes on from what was committed; stops at once where the disk has no room for the detector.
    fn go_on(
        &self,
        disk: &Disk,
        mut ledger: Ledger,
        (record, known): (RunRecord, room::Disk),
    ) -> Result<(Sweep<'a>, Verdict), Trouble> {
        let when_full = self.task.control.limits.when_full;
        let fitted = make_fit(&mut ledger, self.options(), record, (known, when_full), |journal| {
            self.adopted(disk, journal)
        })?;
        let Fitted { journal, record, made } = fitted;
        // Where nothing could be made there is nothing to commit, and no room that could be made.
        let ledger = made.is_some().then_some(ledger);
        let start = Start { task: self.task, disk: disk.clone(), ledger, journal, record: Some(record) };
        match made {
            Some(detector) => {
                let mut sweep = self.sweep_with(detector, start)?;
                let verdict = sweep.run()?;
                Ok((sweep, verdict))
            }
            None => {
                let sweep = self.sweep_with(Box::new(Nothing), start)?;
                Ok((sweep, Verdict::Stopped(StopReason::DiskFull)))
            }
        }
    }

    /// A search from the journal's last layer, or from the beginning where it has none.
    fn sweep(&self, start: Start<'a>) -> Result<Sweep<'a>, Trouble> {
        let detector = self.adopted(&start.disk, &start.journal)?;
        self.sweep_with(detector, start)
    }

    fn sweep_with(&self, detector: Box<dyn Detector + 'a>, start: Start<'a>) -> Result<Sweep<'a>, Trouble> {
        let Start { task, disk, ledger, journal, record } = start;
        let (layers, counts, seconds) = match record {
            Some(record) => {
                (record.layers, Counts::of_record(record.covers, &record.actions), record.seconds)
            }
            None => (Vec::new(), Counts::zero(task.space), 0.0),
        };
        let cache_share = self.share(match self.strategy.detection {
            // Only initial states pass through it.
            Detection::Structured => LEAST_CACHE_SHARE,
            Detection::Hash { .. } | Detection::Phased | Detection::Cover => SMALL_CACHE_SHARE,
            _ => CACHE_SHARE,
        });
        let (words, threads) = (task.space.words(), self.threads.max(1));
        let states = (0..journal.depth()).map(|depth| journal.states(depth)).sum();
        task.control.gauges.states.store(states, Ordering::Relaxed);
        let stage =
            Stage { storage: detector.name(), states, depth: (journal.depth() as u64).saturating_sub(1) };
        Ok(Sweep {
            task,
            governor: self.governor.clone(),
            lanes: (0..threads).map(|n| Lane::new(task, n, Parents::Forgotten)).collect(),
            cache: Cache::new(self.strategy.cache, words, threads, cache_share, self.governor)?,
            detector,
            stages: vec![stage],
            keep: self.strategy.keep(),
            proviso: journal.proviso(),
            journal,
            layers,
            figures: Layer::default(),
            transitions_before: 0,
            counts: counts.clone(),
            counts_before: counts,
            counts_again: Counts::zero(task.space),
            covering: None,
            seconds_before: seconds,
            disk,
            ledger,
            rest: None,
            fallback: None,
            path_begins_at: 0,
        })
    }

    fn run(&self, start: Start<'a>) -> Result<Explored, Trouble> {
        if self.task.question.asks_about_runs(self.task.space) {
            return Err(Trouble::Liveness);
        }
        let disk = start.disk.clone();
        let (mut sweep, mut verdict) = match start {
            Start { record: Some(record), ledger: Some(ledger), journal, .. } => {
                drop(journal);
                self.go_on(&disk, ledger, (record, room::Disk::Untried))?
            }
            start => {
                let mut sweep = self.sweep(start)?;
                let verdict = match sweep.start()? {
                    Some(verdict) => verdict,
                    None => sweep.run()?,
                };
                (sweep, verdict)
            }
        };
        while let Some((ledger, record)) = sweep.may_make_room(&verdict) {
            let (stages, seconds) = (std::mem::take(&mut sweep.stages), sweep.seconds_before);
            drop(sweep);
            let record = RunRecord { seconds, ..record };
            (sweep, verdict) = self.go_on(&disk, ledger, (record, room::Disk::Full))?;
            sweep.stages.splice(0..0, stages);
        }
        let partition = sweep.detector.partition_text();
        let begins_at = sweep.path_begins_at;
        let mut report = sweep.report(verdict);
        // The search for the rest of a trace needs the memory.
        drop(sweep);
        if let Verdict::Violated(violation) = &mut report.verdict {
            self.complete_path(&disk, &mut violation.path, begins_at)?;
        }
        Ok(Explored { report, partition })
    }

    /// Prepends what lies in deleted layers: the search is repeated up to the first state of the path, as often as it
    /// takes (Lamborn and Hansen 2006).
    pub(crate) fn complete_path(
        &self,
        disk: &Disk,
        path: &mut Vec<Vec<u64>>,
        mut depth: usize,
    ) -> Result<(), Trouble> {
        let question = Question { deadlock: DeadlockNotion::Off, asked: Vec::new() };
        while depth > 0 {
            let when_full = self.task.control.limits.when_full;
            let limits = Limits { max_depth: Some(depth as u64), when_full, ..Limits::default() };
            let control = Control::new(limits);
            let task = Task { question: &question, control: &control, ..self.task };
            let journal = Journal::new(disk, self.options())?;
            let again = StrategySearch { task, ..*self };
            let mut sweep =
                again.sweep(Start { task, disk: disk.clone(), ledger: None, journal, record: None })?;
            sweep.keep.diameter = None;
            if task.control.limits.when_full == WhenFull::DeleteLayers {
                // The disk was too small for all layers, and still is.
                let free = disk.vfs.free_bytes().unwrap_or(0) / 4;
                sweep.keep.bytes = Some(sweep.keep.bytes.map_or(free, |bytes| bytes.min(free)));
            }
            sweep.start()?;
            sweep.run()?;
            let before = path::shortest(task, &sweep.journal, self.threads, depth, path.remove(0))?;
            depth = depth + 1 - before.len();
            path.splice(0..0, before);
        }
        Ok(())
    }
}

/// What a search starts with.
struct Start<'a> {
    task: Task<'a>,
    disk: Disk,
    ledger: Option<Ledger>,
    journal: Journal,
    record: Option<RunRecord>,
}
