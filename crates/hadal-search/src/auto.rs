//! The default: a table in RAM while it fits, then a decision diagram, then sorted runs on disk. Nothing is explored
//! twice when the storage changes, and a search that stops leaves a run to be resumed.

use crate::firings::Counts;
use crate::lane::{Lane, Parents, Task};
use crate::layered::Trouble;
use crate::layered::cache::{Cache, CacheKind};
use crate::layered::detector::{Detector, Nothing};
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, RunRecord, Tally};
use crate::layered::room::{self, make_fit};
use crate::layered::sweep::{Keep, Sweep};
use crate::ram::Search;
use crate::ram::breadth::{Ended, Range, TABLE, Walk};
use crate::report::{DiskFigures, Layer, Report, Stage, StopReason, Verdict};
use crate::run::storage::{Room, on_disk};
use crate::run::{Buffers, RUNNING, closed_set, out_of_memory, run_options, sorted_runs, status};
use crate::strategy::{Strategy, StrategySearch};
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Governor, OverBudget, Reservation};
use std::sync::atomic::Ordering;

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

/// A search that may use the disk.
#[derive(Clone, Copy)]
pub struct AutoSearch<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// Opens the run folder, once one is needed.
    pub ledger: &'a dyn Fn() -> Result<Ledger, Trouble>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
}

/// Explores breadth-first, moving from one storage to the next as the budget demands.
pub fn explore(search: &AutoSearch) -> Result<Report, Trouble> {
    let writers = search.threads.max(1);
    let table_budget = search.governor.part(search.table_bytes());
    let ram = Search { task: search.task, governor: &table_budget, threads: writers };
    let mut lanes: Vec<Lane> = (0..writers).map(|n| Lane::new(search.task, n, Parents::Forgotten)).collect();
    let mut table = StateTable::new(search.task.space.words(), 0, writers, &table_budget)?;
    let mut walk = Walk::new(&ram, &table);
    match walk.run(&mut lanes) {
        Ended::Whole => Ok(walk.report(&lanes, Verdict::Holds)),
        Ended::Decided(Verdict::Stopped(reason)) => {
            // Every state is known, and what is asked about runs is not answered yet.
            let begun = Begun::of_all(&walk);
            let report = walk.report(&lanes, Verdict::Stopped(reason));
            table.drop_index();
            search.after_table(table, begun, report)
        }
        Ended::Decided(verdict) => Ok(walk.report(&lanes, verdict)),
        Ended::Stopped(reason) => {
            let begun = Begun::of(&mut walk);
            let mut report = walk.report(&lanes, Verdict::Stopped(reason));
            table.drop_index();
            report.disk = search.keep_for_later(&table, &begun, &report)?;
            Ok(report)
        }
        Ended::Full(left, full) => {
            let begun = Begun::of(&mut walk);
            if begun.ranges.len() < 2 {
                // Without room for the initial states there is no search.
                return Ok(walk.report(&lanes, Verdict::Stopped(out_of_memory(full))));
            }
            let so_far = walk.report(&lanes, Verdict::Stopped(StopReason::DiskFull));
            table.drop_index();
            match search.leave_table(table, lanes, begun, left) {
                // Not even what is in the table fits there.
                Err(trouble) if trouble.is_disk_full() => Ok(so_far),
                other => other,
            }
        }
    }
}

/// Goes on with a run where its last commit left it.
pub fn resume(search: &AutoSearch) -> Result<Report, Trouble> {
    let ledger = (search.ledger)()?;
    let record = ledger.record().ok_or(Trouble::NothingToResume)?;
    search.go_on(ledger, record, (room::Disk::Untried, Vec::new()))
}

/// What the table search had done when it ended.
struct Begun {
    /// The states of each layer; the last is the one being found.
    ranges: Vec<Vec<Range>>,
    /// Figures of the layers expanded to the end.
    layers: Vec<Layer>,
    /// What was counted in them.
    counts: Counts,
}

impl Begun {
    fn of(walk: &mut Walk) -> Self {
        walk.close_layer();
        Begun::of_all(walk)
    }

    /// Of a walk whose last layer was found to be empty.
    fn of_all(walk: &Walk) -> Self {
        Begun {
            ranges: walk.layer_ranges().collect(),
            layers: walk.layers.clone(),
            counts: walk.counts.clone(),
        }
    }
}

/// Everything a layered search starts with.
struct Sweeping<'a> {
    ledger: Ledger,
    /// Memory for the cache and the diagram.
    elastic: Governor,
    journal: Journal,
    lanes: Vec<Lane<'a>>,
    detector: Box<dyn Detector + 'a>,
    layers: Vec<Layer>,
    /// Transitions of the layer being expanded that are counted in the lanes.
    fired: u64,
    /// States of the layer being found that the detector was offered already.
    offered: u64,
    rest: Option<Sorted>,
    /// Whether the disk has no room for the detector, so that nothing can be done now.
    is_full: bool,
    /// What earlier sittings counted, and what was counted in all complete layers.
    counts_before: Counts,
    counts: Counts,
    seconds: f64,
    stages: Vec<Stage>,
}

impl<'a> AutoSearch<'a> {
    fn share(&self, percent: u64) -> u64 {
        self.governor.limit() / 100 * percent
    }

    /// What the table may take: of wide states nearly all is states, which stay while it is left.
    fn table_bytes(&self) -> u64 {
        let state = 8 * self.task.space.words() as u64;
        let with_index = self.share(STATES_SHARE) / state * (state + INDEX_BYTES);
        with_index.min(self.share(TABLE_SHARE))
    }

    pub(crate) fn options(&self) -> RunOptions {
        run_options(self.task.space, self.governor, Buffers::Many)
    }

    /// Moves what the full table holds to the journal and a detector, and goes on with the pieces `left`.
    fn leave_table(
        &self,
        table: StateTable,
        lanes: Vec<Lane<'a>>,
        begun: Begun,
        left: Vec<Range>,
    ) -> Result<Report, Trouble> {
        let mut ledger = (self.ledger)()?;
        let disk = ledger.disk().clone();
        let found = begun.ranges.len() - 1;
        let mut journal = self.journal_of(&table, &begun.ranges[..found], &disk)?;
        let elastic = self.governor.part(self.share(ELASTIC_SHARE));
        let (mut detector, stage) = self.detector(&disk, &journal, &elastic)?;
        let next = sorted_states(&table, &begun.ranges[found], self.governor)?;
        match detector.offer(&next.flat) {
            Err(Trouble::OverBudget(_)) => {
                // What it held is needed for the next.
                drop(std::mem::replace(&mut detector, Box::new(Nothing)));
                detector = on_disk(&disk, self.options(), &journal, self.share(SCREEN_SHARE))?;
                detector.offer(&next.flat)?;
            }
            other => other?,
        }
        let offered = (next.flat.len() / table.words()) as u64;
        drop(next);
        let rest = sorted_states(&table, &left, self.governor)?;
        drop(table);
        // From here on a killed search loses at most what the next commit would have added.
        let seconds = self.task.control.elapsed().as_secs_f64();
        let stages = [TABLE, stage];
        let actions = begun.counts.actions(self.task.space);
        let (layers, covers) = (&begun.layers, &begun.counts.covers);
        let tally = Tally { layers, covers, actions, seconds, stages: &stages };
        ledger.commit(&mut journal, tally, RUNNING)?;
        let finished: u64 = begun.layers.iter().map(|layer| layer.transitions).sum();
        let fired: u64 = lanes.iter().map(|lane| lane.transitions).sum();
        self.sweep(Sweeping {
            ledger,
            elastic,
            journal,
            detector,
            layers: begun.layers,
            fired: fired - finished,
            offered,
            lanes,
            rest: Some(rest),
            is_full: false,
            counts_before: Counts::zero(self.task.space),
            counts: begun.counts,
            seconds: 0.0,
            stages: stages.to_vec(),
        })
    }

    fn sweep(&self, start: Sweeping<'a>) -> Result<Report, Trouble> {
        let words = self.task.space.words();
        let gauges = &self.task.control.gauges;
        gauges
            .states
            .store((0..start.journal.depth()).map(|d| start.journal.states(d)).sum(), Ordering::Relaxed);
        let (options, disk, screen) = (self.options(), start.ledger.disk().clone(), self.share(SCREEN_SHARE));
        let proviso = start.journal.proviso();
        let mut sweep = Sweep {
            task: self.task,
            governor: self.governor.clone(),
            cache: Cache::new(
                CacheKind::Table,
                words,
                start.lanes.len(),
                self.share(CACHE_SHARE),
                &start.elastic,
            )?,
            lanes: start.lanes,
            detector: start.detector,
            journal: start.journal,
            layers: start.layers,
            transitions_before: start.fired,
            figures: Layer { candidates: start.offered, ..Layer::default() },
            counts: start.counts,
            counts_before: start.counts_before,
            seconds_before: start.seconds,
            rest: start.rest.map(|sorted| (sorted.flat, sorted.memory)),
            fallback: Some(Box::new(move || Ok(Box::new(sorted_runs(&disk, options, screen)?)))),
            disk: start.ledger.disk().clone(),
            ledger: Some(start.ledger),
            stages: start.stages,
            keep: Keep::ALL,
            proviso,
            path_begins_at: 0,
            counts_again: Counts::zero(self.task.space),
            covering: None,
        };
        sweep.suit_journal();
        let verdict = match start.is_full {
            true => {
                // There is nothing to commit, and no room that could be made.
                sweep.ledger = None;
                Verdict::Stopped(StopReason::DiskFull)
            }
            false => sweep.run()?,
        };
        if let Some((ledger, record)) = sweep.may_make_room(&verdict) {
            let (stages, seconds) = (std::mem::take(&mut sweep.stages), sweep.seconds_before);
            drop(sweep);
            return self.go_on(ledger, RunRecord { seconds, ..record }, (room::Disk::Full, stages));
        }
        let (begins_at, disk) = (sweep.path_begins_at, sweep.disk.clone());
        let mut report = sweep.report(verdict);
        drop(sweep);
        if let (Verdict::Violated(violation), 1..) = (&mut report.verdict, begins_at) {
            let &AutoSearch { task, ledger, governor, threads } = self;
            let again = StrategySearch { task, ledger, governor, threads, strategy: &Strategy::sorting() };
            again.complete_path(&disk, &mut violation.path, begins_at)?;
        }
        Ok(report)
    }

    /// Goes on from what was committed, after these `stages`.
    fn go_on(
        &self,
        mut ledger: Ledger,
        record: RunRecord,
        (known, mut stages): (room::Disk, Vec<Stage>),
    ) -> Result<Report, Trouble> {
        let disk = ledger.disk().clone();
        let elastic = self.governor.part(self.share(ELASTIC_SHARE));
        let when_full = self.task.control.limits.when_full;
        let fitted = make_fit(&mut ledger, self.options(), record, (known, when_full), |journal| {
            self.detector(&disk, journal, &elastic)
        })?;
        let (journal, record, is_full) = (fitted.journal, fitted.record, fitted.made.is_none());
        let detector: Box<dyn Detector + 'a> = match fitted.made {
            Some((detector, stage)) => {
                stages.push(stage);
                detector
            }
            None => Box::new(Nothing),
        };
        let writers = self.threads.max(1);
        let counts = Counts::of_record(record.covers, &record.actions);
        self.sweep(Sweeping {
            ledger,
            elastic,
            journal,
            lanes: (0..writers).map(|n| Lane::new(self.task, n, Parents::Forgotten)).collect(),
            detector,
            layers: record.layers,
            fired: 0,
            offered: 0,
            rest: None,
            is_full,
            counts_before: counts.clone(),
            counts,
            seconds: record.seconds,
            stages,
        })
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
            threads: self.threads,
        };
        let (detector, tier) = closed_set(self.task.space, journal, room)?;
        Ok((detector, Stage { storage: tier.name(), states, depth }))
    }

    /// Writes layers of the table to a new journal.
    fn journal_of(&self, table: &StateTable, layers: &[Vec<Range>], disk: &Disk) -> Result<Journal, Trouble> {
        let mut journal = Journal::new(disk, self.options())?;
        journal.make_dense();
        for layer in layers {
            let states = sorted_states(table, layer, self.governor)?;
            let mut writer = journal.writer();
            writer.push_all(&states.flat)?;
            journal.push(writer)?;
        }
        Ok(journal)
    }

    /// Commits the complete layers of a table search that stopped, so that it can be resumed.
    fn keep_for_later(
        &self,
        table: &StateTable,
        begun: &Begun,
        report: &Report,
    ) -> Result<Option<DiskFigures>, Trouble> {
        let kept = self.commit_table(table, begun, report)?;
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
    fn commit_table(
        &self,
        table: &StateTable,
        begun: &Begun,
        report: &Report,
    ) -> Result<Option<(Ledger, u64)>, Trouble> {
        // The layer being found is not complete; where the layer before it is, expanding it again finds it again.
        let complete = begun.ranges.len().saturating_sub(1);
        let (Verdict::Stopped(_), 1..) = (&report.verdict, complete) else { return Ok(None) };
        let mut ledger = (self.ledger)()?;
        let mut journal = self.journal_of(table, &begun.ranges[..complete], ledger.disk())?;
        let tally = Tally {
            layers: &begun.layers,
            covers: &begun.counts.covers,
            actions: begun.counts.actions(self.task.space),
            seconds: self.task.control.elapsed().as_secs_f64(),
            stages: &report.stages,
        };
        ledger.commit(&mut journal, tally, &status(&report.verdict))?;
        Ok(Some((ledger, journal.bytes())))
    }

    /// Every state is in the table, and looking for runs stopped: for want of memory beside the table it goes on from disk,
    /// else it may be resumed.
    fn after_table(&self, table: StateTable, begun: Begun, mut report: Report) -> Result<Report, Trouble> {
        match &report.verdict {
            Verdict::Stopped(StopReason::Memory { .. }) => {
                let Some((ledger, _)) = self.commit_table(&table, &begun, &report)? else {
                    return Ok(report);
                };
                drop(table);
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                self.go_on(ledger, record, (room::Disk::Untried, report.stages))
            }
            // Going on later would not answer it either.
            Verdict::Stopped(StopReason::Unanswered) => Ok(report),
            _ => {
                report.disk = self.keep_for_later(&table, &begun, &report)?;
                Ok(report)
            }
        }
    }
}

/// States in ascending order, under the budget.
struct Sorted {
    flat: Vec<u64>,
    memory: Reservation,
}

fn sorted_states(table: &StateTable, ranges: &[Range], governor: &Governor) -> Result<Sorted, OverBudget> {
    let states: u64 = ranges.iter().map(|r| r.to - r.from).sum();
    let shape = RecordShape::states(table.words());
    let bytes = states * shape.bytes() as u64 + scratch_bytes(shape, states as usize);
    let memory = governor.try_reserve(bytes, "sorting")?;
    let mut flat = Vec::with_capacity(states as usize * table.words());
    for range in ranges {
        table.copy_states(range.writer, range.from, range.to, &mut flat);
    }
    sort_records(shape, &mut flat);
    Ok(Sorted { flat, memory })
}
