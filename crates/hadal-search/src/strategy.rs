//! The seeds' strategies on disk: each is a way of detection, a cache before it, and which layers are kept; the loop, the
//! journal and the counters are the same for all (Lamborn 2014; docs/strategies.md describes each).

mod completing;
mod distributed;
mod small;

pub(crate) use completing::complete_path;
pub use distributed::Distributed;

use crate::exchange::{Alone, Exchange, Mailbox};
use crate::explore::{Explored, Explorer, Method, Payloads, Progress, Run, Setting};
use crate::firings::Counts;
use crate::fixpoint::Following;
use crate::lane::{Lane, Parents};
use crate::layered::Trouble;
use crate::layered::cache::{Cache, CacheKind};
use crate::layered::cover::COVER;
pub use crate::layered::detection::Detection;
use crate::layered::detection::{Making, TABLE_SHARE};
use crate::layered::detector::Detector;
use crate::layered::hash::{Sampling, SplitBy};
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, RunRecord};
use crate::layered::partial::{Bound, Looking};
use crate::layered::room::{self, make_fit};
use crate::layered::sweep::{Keep, Means, Origin, Sweep};
use crate::report::{Stage, StopReason, Verdict};
use crate::run::{Buffers, run_options};
use crate::strategies::Resumes;
use hadal_store::run::RunOptions;
use hadal_store::vfs::{Disk, IoThreads, MemoryFolder, at_once};
use std::sync::Arc;

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
#[derive(Clone, Debug)]
pub struct Strategy {
    /// How duplicates are found.
    pub detection: &'static Detection,
    /// What is remembered of generated states.
    pub cache: CacheKind,
    /// Most layers kept; older ones are deleted.
    pub keep_layers: Option<u64>,
    /// Most bytes of layers kept on disk; older layers are deleted.
    pub keep_bytes: Option<u64>,
    /// Keep them in RAM: there is no folder, and nothing to resume.
    pub in_ram: bool,
    /// Nothing new lies deeper than this, says who asks.
    pub diameter: Option<u64>,
    /// How far back partial, hashed and phased detection look between full checks; as far as suits the detection where it is
    /// not given.
    pub bound: Option<Bound>,
    /// Take that bound for right: never compare with all layers, and count states that lie farther back again.
    pub trust_bound: bool,
    /// Measure how far apart generations of one state are.
    pub cache_distances: bool,
    /// Use one table in turn for the cache and for buckets.
    pub shared_table: bool,
    /// How buckets begin, where states go to buckets.
    pub partition: PartitionSource,
    /// How buckets are split.
    pub split_by: SplitBy,
}

impl Strategy {
    /// The layered strategy of this name, with its usual settings ([`crate::strategies`] has them all).
    pub fn named(name: &str) -> Option<Strategy> {
        crate::strategies::StrategyInfo::named(name)?.settings()
    }

    /// This way of finding duplicates, everything kept.
    pub(crate) fn by(detection: &'static Detection) -> Strategy {
        Strategy {
            detection,
            cache: CacheKind::Lru,
            keep_layers: None,
            keep_bytes: None,
            in_ram: false,
            diameter: None,
            bound: None,
            trust_bound: false,
            cache_distances: false,
            shared_table: false,
            partition: PartitionSource::Sampled(Sampling::Deep),
            split_by: SplitBy::SmallestLargest,
        }
    }

    /// Up to covering.
    pub fn covering() -> Strategy {
        Strategy { cache: CacheKind::Table, ..Strategy::by(&COVER) }
    }

    /// How far back detection looks, where that is given.
    pub(crate) fn looking(&self) -> Option<Looking> {
        self.bound.map(|bound| Looking { bound, trusted: self.trust_bound })
    }

    fn keep(&self) -> Keep {
        Keep { bytes: self.keep_bytes, layers: self.keep_layers, diameter: self.diameter }
    }
}

impl Method for Strategy {
    /// Goes on with a run whatever layered strategy began it.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        if setting.task.question.asks_about_runs(setting.task.space) {
            return Err(Trouble::Liveness);
        }
        let layering = Layering { setting, strategy: self, exchange: &Alone };
        if self.in_ram {
            if setting.run.is_resumed() {
                return Err(Trouble::NothingToResume);
            }
            let folder = Arc::new(MemoryFolder::new(setting.governor));
            let disk = Disk::new(folder, IoThreads::new(0), setting.governor.clone(), 0);
            let sweep = layering.begin(&disk, None)?;
            return Ok(Box::new(LayeredExplorer { layering, disk, sweep: Some(Following::new(sweep)) }));
        }
        let ledger = setting.run.open()?;
        let disk = ledger.disk().clone();
        let sweep = match setting.run {
            Run::Resumed(_) => {
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                layering.go_on(ledger, record, room::Disk::Untried)?
            }
            _ => layering.begin(&disk, Some(ledger))?,
        };
        Ok(Box::new(LayeredExplorer { layering, disk, sweep: Some(Following::new(sweep)) }))
    }

    fn payloads(&self) -> Payloads {
        self.detection.payloads
    }
}

/// Sets up layered searches.
#[derive(Clone, Copy)]
struct Layering<'a> {
    setting: Setting<'a>,
    strategy: &'a Strategy,
    exchange: &'a dyn Exchange,
}

impl<'a> Layering<'a> {
    fn options(&self) -> RunOptions {
        run_options(self.setting.task.space, self.setting.governor, Buffers::Few)
    }

    /// A detector that knows the layers of the journal.
    fn adopted(&self, disk: &Disk, journal: &Journal) -> Result<Box<dyn Detector + 'a>, Trouble> {
        let Setting { task, governor, threads, .. } = self.setting;
        let (options, strategy) = (self.options(), self.strategy);
        let disk = &disk.with_workers(threads);
        let making = Making { disk, options, space: task.space, governor, threads, strategy };
        let mut detector = (strategy.detection.make)(&making)?;
        at_once(journal.view_all(&mut async |depth, layer| detector.adopt(depth, layer).await))?;
        Ok(detector)
    }

    /// A search from the initial states.
    fn begin(&self, disk: &Disk, ledger: Option<Ledger>) -> Result<Sweep<'a>, Trouble> {
        let journal = Journal::new(disk, self.options())?;
        let detector = self.adopted(disk, &journal)?;
        let origin = Origin {
            disk: disk.clone(),
            ledger,
            journal,
            layers: Vec::new(),
            counts: Counts::zero(self.setting.task.space),
            seconds: 0.0,
            stages: Vec::new(),
            partly: None,
            begun: 0,
        };
        self.sweep(Some(detector), origin, self.strategy.keep())
    }

    /// Goes on from what was committed; stops at once where the disk has no room for the detector.
    fn go_on(&self, mut ledger: Ledger, record: RunRecord, known: room::Disk) -> Result<Sweep<'a>, Trouble> {
        let disk = ledger.disk().clone();
        let control = self.setting.task.control;
        let (armed, when_full) = (control.brake_reading_back(&disk), control.limits.when_full);
        let fitted = make_fit(&mut ledger, self.options(), record, (known, when_full), |journal| {
            self.adopted(&disk, journal)
        })?;
        drop(armed);
        let origin = Origin::of_record(ledger, fitted.journal, fitted.record);
        self.sweep(fitted.made, origin, self.strategy.keep())
    }

    fn sweep(
        &self,
        detector: Option<Box<dyn Detector + 'a>>,
        mut origin: Origin,
        keep: Keep,
    ) -> Result<Sweep<'a>, Trouble> {
        let Setting { task, governor, threads, .. } = self.setting;
        let threads = threads.max(1);
        let journal = &origin.journal;
        origin.stages.push(Stage {
            storage: detector.as_ref().map_or("none", |detector| detector.name()),
            states: (0..journal.depth()).map(|depth| journal.states(depth)).sum(),
            depth: (journal.depth() as u64).saturating_sub(1),
        });
        let shared = if self.strategy.shared_table { TABLE_SHARE } else { 0 };
        let share = governor.limit() / 100 * (self.strategy.detection.cache_share + shared);
        let mailbox = Mailbox::new(self.exchange, self.options().shape, governor)?;
        let form = (self.options().shape, task.space.bits());
        let cache = Cache::new(self.strategy.cache, form, threads, share, governor)?
            .at_once()?
            .leaving(self.strategy.shared_table);
        let cache = if self.strategy.cache_distances { cache.measuring()? } else { cache };
        let means = Means {
            lanes: (0..threads).map(|_| Lane::new(task, Parents::Forgotten)).collect(),
            cache,
            detector,
            fallback: None,
            keep,
            mailbox,
        };
        Ok(Sweep::new(task, governor, means, origin))
    }
}

/// A layered search under way.
struct LayeredExplorer<'a> {
    layering: Layering<'a>,
    disk: Disk,
    /// None only while it makes room.
    sweep: Option<Following<'a, Sweep<'a>>>,
}

impl LayeredExplorer<'_> {
    /// Where the disk is full and old layers may go, goes on without them; whether it does.
    fn makes_room(&mut self) -> Result<bool, Trouble> {
        let Some(sweep) = self.sweep.as_mut().and_then(Following::search) else { return Ok(false) };
        let Some((ledger, record)) = sweep.may_make_room() else { return Ok(false) };
        let (stages, seconds) = sweep.take_past();
        // Its memory is needed for the next.
        self.sweep = None;
        let record = RunRecord { seconds, ..record };
        let sweep = self.layering.go_on(ledger, record, room::Disk::Full)?;
        self.sweep = Some(Following::new(sweep.after(stages)));
        Ok(true)
    }
}

impl Explorer for LayeredExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        if let Some(sweep) = &mut self.sweep
            && sweep.go_on(work)?
        {
            self.makes_room()?;
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        self.sweep.as_ref().map_or(Progress::NOTHING, Following::progress)
    }

    fn finish(mut self: Box<Self>) -> Result<Explored, Trouble> {
        let Some(sweep) = self.sweep.take() else { return Err(Trouble::NothingToResume) };
        let mut sweep = sweep.end()?;
        sweep.interrupt()?;
        let partition = sweep.partition_text();
        let payload = sweep.take_payload();
        let begins_at = sweep.path_begins_at();
        let mut report = sweep.report();
        // The search for the rest of a trace needs the memory.
        drop(sweep);
        self.layering.complete(&self.disk, &mut report, begins_at)?;
        let leaves = if self.layering.strategy.in_ram { Resumes::Nothing } else { Resumes::Layers };
        if self.layering.strategy.in_ram {
            report.disk = None;
            if report.verdict == Verdict::Stopped(StopReason::DiskFull) {
                let needed = self.layering.setting.governor.limit() + 1;
                report.verdict = Verdict::Stopped(StopReason::Memory { needed });
            }
        }
        Ok(Explored { partition, payload, ..Explored::leaving(report, leaves) })
    }
}
