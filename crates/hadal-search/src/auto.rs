//! The default: a table in RAM while it fits, then a decision diagram, then sorted runs on disk. Nothing is explored
//! twice when the storage changes, and a search that stops leaves a run to be resumed.

use crate::explore::{Explored, Explorer, Method, Payloads, Phase, Progress, Run, Setting};
use crate::fixpoint::{Following, Seeing};
use crate::lane::{Lane, Parents};
use crate::layered::Trouble;
use crate::layered::cache::{Cache, CacheKind};
use crate::layered::detector::{Detector, Nothing};
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, RunRecord, Tally};
use crate::layered::room::{self, make_fit};
use crate::layered::sweep::{Keep, Means, Origin, Partly, Sweep};
use crate::ram::breadth::{Begun, BreadthWalk, TABLE};
use crate::ram::layer::{LayerEnd, Range};
use crate::report::{DiskFigures, Report, Stage, StopReason, Verdict};
use crate::run::storage::{Room, on_disk};
use crate::run::{Buffers, RUNNING, closed_set, out_of_memory, run_options, sorted_runs, status};
use crate::strategies::Resumes;
use crate::strategy::complete_path;
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::Ascending;

/// Shares of the budget, in percent. While the table is left, its states without the index, a sorted copy of a layer and
/// the diagram stand side by side.
const TABLE_SHARE: u64 = 45;
const STATES_SHARE: u64 = 28;
/// Bytes of a table's index for each state, at least.
const INDEX_BYTES: u64 = 10;
const CACHE_SHARE: u64 = 24;
const DIAGRAM_SHARE: u64 = 65;
/// What the cache and the diagram may take together: the rest is for buffers, small layers and leaving the diagram.
const ELASTIC_SHARE: u64 = 80;
/// The filter in front of sorted runs, once the diagram is gone.
const SCREEN_SHARE: u64 = 25;

/// The default strategy: breadth-first, moving from one storage to the next as the budget demands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto;

impl Method for Auto {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let moving = Moving { setting };
        let at = match setting.run {
            Run::Resumed(_) => {
                let ledger = setting.run.open()?;
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                At::Layers(Following::new(moving.go_on(ledger, record, (room::Disk::Untried, Vec::new()))?))
            }
            _ => {
                let table = setting.governor.part(moving.table_bytes());
                At::Table(Following::new(
                    BreadthWalk::new(setting.task, &table, setting.threads)?.moving_on(),
                ))
            }
        };
        Ok(Box::new(AutoExplorer { moving, at, payload: None }))
    }

    fn payloads(&self) -> Payloads {
        Payloads::Merged
    }
}

/// A search under way.
struct AutoExplorer<'a> {
    moving: Moving<'a>,
    at: At<'a>,
    /// What is kept beside the state that is wrong.
    payload: Option<Vec<u64>>,
}

/// Where its states are.
enum At<'a> {
    Table(Following<'a, BreadthWalk<'a>>),
    Layers(Following<'a, Sweep<'a>>),
    /// It is over.
    Nowhere(Box<Report>),
}

impl Explorer for AutoExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        match &mut self.at {
            At::Table(walk) => {
                if walk.go_on(work)? {
                    self.leave_table()?;
                }
            }
            At::Layers(sweep) => {
                if sweep.go_on(work)? {
                    self.make_room()?;
                }
            }
            At::Nowhere(_) => {}
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        match &self.at {
            At::Table(walk) => walk.progress(),
            At::Layers(sweep) => sweep.progress(),
            At::Nowhere(report) => Progress {
                phase: Phase::Over,
                depth: report.depth,
                states: report.states,
                transitions: report.transitions,
                disk: report.disk.map_or(0, |disk| disk.bytes),
                ..Progress::NOTHING
            },
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Explored, Trouble> {
        if let At::Table(_) = &self.at {
            self.leave_table()?;
        }
        let report = match self.at {
            At::Nowhere(report) => *report,
            At::Layers(sweep) => {
                let mut sweep = sweep.end()?;
                sweep.interrupt()?;
                self.payload = sweep.take_payload();
                let (begins_at, disk) = (sweep.path_begins_at(), sweep.disk().clone());
                let mut report = sweep.report();
                drop(sweep);
                if let (Verdict::Violated(violation), 1..) = (&mut report.verdict, begins_at) {
                    complete_path(self.moving.setting, &disk, &mut violation.path, begins_at)?;
                }
                report
            }
            // It was left above.
            At::Table(_) => self.moving.nothing(),
        };
        Ok(Explored { payload: self.payload, ..Explored::leaving(report, Resumes::Layers) })
    }
}

impl AutoExplorer<'_> {
    /// What follows the table: another storage where it is full, what is kept for later where the search stopped.
    fn leave_table(&mut self) -> Result<(), Trouble> {
        let idle = At::Nowhere(Box::new(self.moving.nothing()));
        let At::Table(walk) = std::mem::replace(&mut self.at, idle) else { return Ok(()) };
        let mut walk = walk.end()?;
        let moving = self.moving;
        self.payload = walk.take_payload();
        if !matches!(walk.ended(), Some(LayerEnd::Whole | LayerEnd::Decided(_))) && !walk.has_questions() {
            walk.close_layer();
        }
        self.at = match walk.ended() {
            Some(LayerEnd::Decided(Verdict::Stopped(_))) => {
                let report = walk.report(walk.verdict());
                let (begun, _) = walk.into_begun();
                moving.after_table(begun, report)?
            }
            Some(LayerEnd::Whole | LayerEnd::Decided(_)) => {
                At::Nowhere(Box::new(walk.report(walk.verdict())))
            }
            Some(&LayerEnd::Full(_, full)) => {
                let mut so_far = walk.report(Verdict::Stopped(StopReason::DiskFull));
                let (begun, left) = walk.into_begun();
                if begun.ranges.len() < 2 {
                    // Without room for the initial states there is no search.
                    so_far.verdict = Verdict::Stopped(out_of_memory(full));
                    At::Nowhere(Box::new(so_far))
                } else {
                    match moving.leave_table(begun, &left) {
                        // Not even what is in the table fits there.
                        Err(trouble) if trouble.is_disk_full() => At::Nowhere(Box::new(so_far)),
                        other => At::Layers(Following::new(other?)),
                    }
                }
            }
            Some(LayerEnd::Stopped(_)) | None => {
                let mut report = walk.report(walk.verdict());
                let (mut begun, _) = walk.into_begun();
                begun.table.drop_index();
                report.disk = moving.keep_for_later(&begun, &report)?;
                At::Nowhere(Box::new(report))
            }
        };
        Ok(())
    }

    /// Where the disk is full and old layers may go, goes on without them.
    fn make_room(&mut self) -> Result<(), Trouble> {
        let At::Layers(sweep) = &mut self.at else { return Ok(()) };
        let Some(sweep) = sweep.search() else { return Ok(()) };
        let Some((ledger, record)) = sweep.may_make_room() else { return Ok(()) };
        let (stages, seconds) = sweep.take_past();
        // Its memory is needed for the next.
        self.at = At::Nowhere(Box::new(self.moving.nothing()));
        let record = RunRecord { seconds, ..record };
        let sweep = self.moving.go_on(ledger, record, (room::Disk::Full, stages))?;
        self.at = At::Layers(Following::new(sweep));
        Ok(())
    }
}

/// Moves a search from one storage to the next.
#[derive(Clone, Copy)]
struct Moving<'a> {
    setting: Setting<'a>,
}

/// What a layered search that begins, or goes on, has besides its origin.
struct Outfit<'a> {
    lanes: Vec<Lane<'a>>,
    /// Memory for the cache and the diagram.
    elastic: Governor,
    detector: Option<Box<dyn Detector + 'a>>,
}

impl<'a> Moving<'a> {
    fn share(&self, percent: u64) -> u64 {
        self.setting.governor.limit() / 100 * percent
    }

    /// What the table may take: of wide states nearly all is states, which stay while it is left.
    fn table_bytes(&self) -> u64 {
        let state = self.options().shape.bytes() as u64;
        let with_index = self.share(STATES_SHARE) / state * (state + INDEX_BYTES);
        with_index.min(self.share(TABLE_SHARE))
    }

    fn options(&self) -> RunOptions {
        run_options(self.setting.task.space, self.setting.governor, Buffers::Many)
    }

    /// Stands in while the storage changes.
    fn nothing(&self) -> Report {
        let verdict = Verdict::Stopped(StopReason::Interrupted);
        Report::of_nothing(self.setting.task, self.setting.governor, verdict, TABLE)
    }

    /// Moves what the full table holds to the journal and a detector; the pieces `left` are still to be expanded.
    fn leave_table(&self, mut begun: Begun<'a>, left: &[Range]) -> Result<Sweep<'a>, Trouble> {
        begun.table.drop_index();
        let Begun { table, lanes, ranges, layers, counts } = begun;
        let Setting { task, governor, run, .. } = self.setting;
        let mut ledger = run.open()?;
        let disk = ledger.disk().clone();
        let found = ranges.len() - 1;
        let mut journal = self.journal_of(&table, &ranges[..found], &disk)?;
        let elastic = governor.part(self.share(ELASTIC_SHARE));
        let (mut detector, stage) = self.detector(&disk, &journal, &elastic)?;
        let next = sorted_records(&table, &ranges[found], governor)?;
        match detector.offer(next.ascending()) {
            Err(Trouble::OverBudget(_)) => {
                // What it held is needed for the next.
                drop(std::mem::replace(&mut detector, Box::new(Nothing)));
                detector = on_disk(&disk, self.options(), &journal, self.share(SCREEN_SHARE))?;
                detector.offer(next.ascending())?;
            }
            other => other?,
        }
        let offered = next.ascending().len() as u64;
        drop(next);
        let rest = sorted_records(&table, left, governor)?;
        drop(table);
        // From here on a killed search loses at most what the next commit would have added.
        let seconds = task.control.elapsed().as_secs_f64();
        let stages = vec![TABLE, stage];
        let actions = counts.actions(task.space);
        let tally = Tally {
            layers: &layers,
            covers: &counts.covers,
            actions,
            seconds,
            stages: &stages,
            reached: None,
        };
        ledger.commit(&mut journal, tally, RUNNING)?;
        let finished: u64 = layers.iter().map(|layer| layer.transitions).sum();
        let fired: u64 = lanes.iter().map(|lane| lane.transitions).sum();
        let rest = (rest.flat, rest.memory);
        let partly = Some(Partly { fired: fired - finished, offered, rest });
        let ledger = Some(ledger);
        let origin = Origin { disk, ledger, journal, layers, counts, seconds: 0.0, stages, partly };
        self.sweep(Outfit { lanes, elastic, detector: Some(detector) }, origin)
    }

    fn sweep(&self, outfit: Outfit<'a>, origin: Origin) -> Result<Sweep<'a>, Trouble> {
        let Outfit { lanes, elastic, detector } = outfit;
        let Setting { task, governor, .. } = self.setting;
        let share = self.share(CACHE_SHARE);
        let (options, disk, screen) = (self.options(), origin.disk.clone(), self.share(SCREEN_SHARE));
        let means = Means {
            cache: Cache::new(CacheKind::Table, options.shape, lanes.len(), share, &elastic)?,
            lanes,
            detector,
            fallback: Some(Box::new(move || Ok(Box::new(sorted_runs(&disk, options, screen)?)))),
            keep: Keep::ALL,
        };
        let mut sweep = Sweep::new(task, governor, means, origin);
        sweep.suit_journal();
        Ok(sweep)
    }

    /// Goes on from what was committed, after these `stages`; stops at once where the disk has no room for the detector.
    fn go_on(
        &self,
        mut ledger: Ledger,
        record: RunRecord,
        (known, mut stages): (room::Disk, Vec<Stage>),
    ) -> Result<Sweep<'a>, Trouble> {
        let Setting { task, governor, threads, .. } = self.setting;
        let disk = ledger.disk().clone();
        let elastic = governor.part(self.share(ELASTIC_SHARE));
        let when_full = task.control.limits.when_full;
        let fitted = make_fit(&mut ledger, self.options(), record, (known, when_full), |journal| {
            self.detector(&disk, journal, &elastic)
        })?;
        let detector = fitted.made.map(|(detector, stage)| {
            stages.push(stage);
            detector
        });
        let lanes = (0..threads.max(1)).map(|_| Lane::new(task, Parents::Forgotten)).collect();
        let origin = Origin { stages, ..Origin::of_record(ledger, fitted.journal, fitted.record) };
        self.sweep(Outfit { lanes, elastic, detector }, origin)
    }

    /// A diagram that knows the journal's layers, or sorted runs where that does not fit.
    fn detector(
        &self,
        disk: &Disk,
        journal: &Journal,
        elastic: &Governor,
    ) -> Result<(Box<dyn Detector + 'a>, Stage), Trouble> {
        let states = (0..journal.depth()).map(|d| journal.states(d)).sum();
        let depth = journal.depth() as u64 - 1;
        let room = Room {
            disk,
            options: self.options(),
            diagram: elastic.part(self.share(DIAGRAM_SHARE)),
            screen: self.share(SCREEN_SHARE),
            threads: self.setting.threads,
        };
        let (detector, tier) = closed_set(self.setting.task.space, journal, room)?;
        Ok((detector, Stage { storage: tier.name(), states, depth }))
    }

    /// Writes layers of the table to a new journal.
    fn journal_of(&self, table: &StateTable, layers: &[Vec<Range>], disk: &Disk) -> Result<Journal, Trouble> {
        let mut journal = Journal::new(disk, self.options())?;
        journal.make_dense();
        for layer in layers {
            let states = sorted_records(table, layer, self.setting.governor)?;
            let mut writer = journal.writer();
            writer.push_all(states.ascending())?;
            journal.push(writer)?;
        }
        Ok(journal)
    }

    /// Commits the complete layers of a table search that stopped, so that it can be resumed.
    fn keep_for_later(&self, begun: &Begun, report: &Report) -> Result<Option<DiskFigures>, Trouble> {
        let kept = self.commit_table(begun, report)?;
        Ok(kept.map(|(ledger, bytes)| {
            let traffic = &ledger.disk().traffic;
            DiskFigures {
                bytes,
                read: traffic.bytes_read(),
                written: traffic.bytes_written(),
                ..DiskFigures::default()
            }
        }))
    }

    /// Writes the complete layers to a new run; returns it with their bytes.
    fn commit_table(&self, begun: &Begun, report: &Report) -> Result<Option<(Ledger, u64)>, Trouble> {
        // The layer being found is not complete; where the layer before it is, expanding it again finds it again.
        let complete = begun.ranges.len().saturating_sub(1);
        let Setting { task, run, .. } = self.setting;
        if complete == 0 || matches!(run, Run::Nowhere) {
            return Ok(None);
        }
        let mut ledger = run.open()?;
        let mut journal = self.journal_of(&begun.table, &begun.ranges[..complete], ledger.disk())?;
        let tally = Tally {
            layers: &begun.layers,
            covers: &begun.counts.covers,
            actions: begun.counts.actions(task.space),
            seconds: task.control.elapsed().as_secs_f64(),
            stages: &report.stages,
            reached: report.depth,
        };
        ledger.commit(&mut journal, tally, &status(&report.verdict))?;
        Ok(Some((ledger, journal.bytes())))
    }

    /// Every state is in the table, and looking for runs stopped: for want of memory beside the table it goes on from disk,
    /// else it may be resumed.
    fn after_table(&self, mut begun: Begun<'a>, mut report: Report) -> Result<At<'a>, Trouble> {
        begun.table.drop_index();
        match &report.verdict {
            Verdict::Stopped(StopReason::Memory { .. }) => {
                let Some((ledger, _)) = self.commit_table(&begun, &report)? else {
                    return Ok(At::Nowhere(Box::new(report)));
                };
                drop(begun);
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                let sweep = self.go_on(ledger, record, (room::Disk::Untried, report.stages))?;
                return Ok(At::Layers(Following::new(sweep)));
            }
            // Going on later would not answer it either.
            Verdict::Stopped(StopReason::Unanswered) => {}
            _ => report.disk = self.keep_for_later(&begun, &report)?,
        }
        Ok(At::Nowhere(Box::new(report)))
    }
}

/// States, each after its payload, in ascending order, under the budget.
struct Sorted {
    stride: usize,
    flat: Vec<u64>,
    memory: Reservation,
}

impl Sorted {
    fn ascending(&self) -> Ascending<'_> {
        Ascending::new(self.stride, &self.flat)
    }
}

fn sorted_records(table: &StateTable, ranges: &[Range], governor: &Governor) -> Result<Sorted, OverBudget> {
    let states: u64 = ranges.iter().map(|r| r.to - r.from).sum();
    let shape = RecordShape::keeping(table.words(), table.payload());
    let bytes = states * shape.bytes() as u64 + scratch_bytes(shape, states as usize);
    let memory = governor.try_reserve(bytes, "sorting")?;
    let mut flat = Vec::with_capacity(states as usize * shape.stride());
    for range in ranges {
        table.copy_records(range.writer, range.from, range.to, &mut flat);
    }
    sort_records(shape, &mut flat);
    Ok(Sorted { stride: shape.stride(), flat, memory })
}
