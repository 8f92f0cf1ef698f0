//! The main loop: take the bucket with the least f, then the least g; expand it whole; commit now and then.
//!
//! Whatever interrupts an expansion (a limit, a full disk) undoes it, so that figures and files always stand between two
//! expansions.

use super::divide::{self, Crossing};
use super::expand::{Done, Expander, Pass, Rules};
use super::figures::{BucketFigures, ExternalFigures, bucket_bound};
use super::matrix::{Cell, Matrix, OpenBucket};
use super::part::{Part, Place, Ready, Shelf, Stored};
use super::record::{self, SECTION, SearchRecord};
use super::scope::{self, ClosedPart, Scope};
use super::spill::{self, Shared, lock, own_run_bytes};
use super::targets::Targets;
use super::trail::{Mode, Trail, lost};
use super::{Explored, ExternalSearch, StopAt, TraceBy, order};
use crate::directed::{DirectedFigures, aims_at, may_prune};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::lane::{Lane, Parents, take_finding, total_counts};
use crate::layered::Trouble;
use crate::layered::ledger::{Ledger, Standing};
use crate::report::{DiskFigures, Proviso, Report, Stage, StopReason, Verdict, Violation, ViolationKind};
use hadal_guide::Promises;
use hadal_store::Reservation;
use hadal_store::error::ReadError;
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{Codec, RunFile, RunKind, RunOptions, RunReader};
use hadal_store::vfs::Disk;
use hadal_system::PropertyKind;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Shares of the budget, in percent; the rest is for what is small.
const TARGET_SHARE: u64 = 36;
const RESIDENT_SHARE: u64 = 38;
const STREAM_SHARE: u64 = 20;
/// Commits take at most one part in so many of the time.
const COMMIT_PART: u32 = 20;
/// Generated states from which on a bucket is worth several threads.
const SHARED_FROM: u64 = 1 << 14;
/// Most parts in RAM that are merged at once.
const MOST_RESIDENT: usize = 32;

/// What ended the expansions.
pub(super) enum Found {
    /// Something in a state of this bucket.
    Target {
        cell: Cell,
        finding: Finding,
    },
    /// A fault in making an initial state.
    Start(Finding),
    /// Nothing: every bucket is expanded.
    Nothing,
    Stopped(StopReason),
}

pub(super) struct Engine<'a> {
    search: &'a ExternalSearch<'a>,
    promises: Promises,
    mode: Mode,
    scope: Scope,
    /// Rows of a column that stay, where the others are deleted.
    rows_kept: Option<u64>,
    shelf: Shelf,
    matrix: Matrix,
    expanders: Vec<Expander<'a>>,
    ledger: Option<Ledger>,
    figures: ExternalFigures,
    /// The costs of transitions that were met.
    costs: BTreeSet<u64>,
    expansions: u64,
    counts: Counts,
    /// What earlier sittings counted.
    counts_before: Counts,
    seconds_before: f64,
    committed: Option<Instant>,
    commit_took: Duration,
    start_finding: Option<Finding>,
    _memory: Reservation,
}

impl<'a> Engine<'a> {
    /// A search in a run folder.
    pub(super) fn begin(search: &'a ExternalSearch<'a>, ledger: Ledger) -> Result<Self, Trouble> {
        let task = search.task;
        if task.question.of_kind(task.space.properties(), PropertyKind::Liveness).next().is_some() {
            return Err(Trouble::Liveness);
        }
        let mode = match search.options.trace_by {
            // Without consistency a part of the path need not be found at its cost; then nothing is deleted either.
            TraceBy::Divide if !search.guide.promises().consistent => Mode::Bare,
            trace_by => Mode::of(trace_by),
        };
        let disk = ledger.disk().clone();
        Engine::new(search, &disk, Some(ledger), mode)
    }

    /// A search without buckets, with or without a folder to commit to.
    pub(super) fn new(
        search: &'a ExternalSearch<'a>,
        disk: &Disk,
        ledger: Option<Ledger>,
        mode: Mode,
    ) -> Result<Self, Trouble> {
        let (task, governor, options) = (search.task, search.governor, &search.options);
        let (promises, threads) = (search.guide.promises(), search.threads.max(1) as u64);
        let share = |percent: u64| governor.limit() / 100 * percent;
        let shape = mode.shape(task.space.words());
        let usual = RunOptions::new(shape, task.space.fingerprint());
        // A small budget cannot spare the usual buffers for each of a dozen open runs.
        let most = (governor.limit() / 512).max(4 << 10) as usize;
        let shelf = Shelf {
            disk: disk.clone(),
            options: RunOptions {
                block_bytes: usual.block_bytes.min(most),
                chunk_bytes: (4 * usual.chunk_bytes).min(most),
                // The states of a bucket have little in common but their leading bits, which differences remove.
                codec: if shape.stride() == 1 { Codec::Plain } else { Codec::Lz4 },
                ..usual
            },
        };
        let rules = Rules {
            // A part of a path was not left out before.
            prune: ledger.is_some() && may_prune(task, search.guide, search.aim),
            look_ahead: promises.consistent && options.stop_at == StopAt::Generation,
            bound: options.bound,
            mode,
        };
        let local =
            task.space.undirected().filter(|_| promises.consistent).map(|cost| 2 * u64::from(cost.max(1)));
        let parents = if mode == Mode::Bare { Parents::Forgotten } else { Parents::Kept };
        let mut expanders = Vec::new();
        for n in 0..threads as usize {
            let targets = Targets::new(
                (shape, task.space.bits()),
                share(TARGET_SHARE) / threads,
                governor.empty("successors"),
            );
            let lane = Lane::new(task, n, parents);
            expanders.push(Expander::new((task, rules), lane, shape, search.guide.estimator(), targets));
        }
        // The closed states of a piece, before it is known that they are many.
        let memory = governor.try_reserve(
            threads * (own_run_bytes(&shelf) + (256 << 10).min(governor.limit() / 64)),
            "closed states",
        )?;
        Ok(Engine {
            search,
            promises,
            mode,
            scope: local.map_or(Scope::Full, Scope::Rows),
            rows_kept: local.filter(|_| matches!(mode, Mode::Relay(_))),
            matrix: Matrix::new(governor, share(RESIDENT_SHARE)),
            shelf,
            expanders,
            ledger,
            figures: ExternalFigures { guide: search.guide.name(), ..ExternalFigures::default() },
            costs: BTreeSet::new(),
            expansions: 0,
            counts: Counts::zero(task.space),
            counts_before: Counts::zero(task.space),
            seconds_before: 0.0,
            committed: None,
            commit_took: Duration::ZERO,
            start_finding: None,
            _memory: memory,
        })
    }

    /// Puts the initial states into their buckets.
    pub(super) fn start(&mut self) -> Result<(), Trouble> {
        let expander = &mut self.expanders[0];
        expander.start()?;
        self.start_finding = expander.lane.finding.take();
        let shared = Shared::new(&mut self.matrix, &self.shelf, (0, 0), self.expansions, None);
        let mut raw = Vec::new();
        expander.targets.finish(&shared, |cell, states| raw.push((cell, states)))?;
        for (cell, states) in raw {
            self.matrix.open.entry(cell.rank()).or_default().raw += states;
        }
        self.figures.pruned = std::mem::take(&mut expander.done).pruned;
        Ok(())
    }

    /// Takes up what was committed.
    pub(super) fn restore(&mut self, record: SearchRecord) -> Result<(), Trouble> {
        if record.figures.guide != self.figures.guide {
            let what = "it was searched with another guide";
            return Err(ReadError::Foreign { file: SECTION.into(), what }.into());
        }
        record::restore(&record, &mut self.matrix, &self.shelf)?;
        self.expansions = record.expansions;
        let actions = self.ledger.as_ref().and_then(Ledger::record).map_or(Vec::new(), |run| run.actions);
        self.counts_before = Counts::of_record(record.covers, &actions);
        self.counts = self.counts_before.clone();
        self.seconds_before = record.seconds;
        self.figures = record.figures;
        for bucket in &self.figures.buckets {
            self.costs.extend(bucket.targets.iter().map(|target| target.g - bucket.g));
        }
        if self.scope == Scope::Full {
            let cells: Vec<Cell> = self
                .matrix
                .columns
                .iter()
                .flat_map(|(&h, column)| column.rows.keys().map(move |&g| Cell { g, h }))
                .collect();
            for cell in cells {
                scope::add_level(&mut self.matrix, cell, &self.shelf)?;
            }
        }
        self.search.task.control.gauges.states.store(self.figures.expanded, Ordering::Relaxed);
        Ok(())
    }

    /// Searches to an answer.
    pub(super) fn run(mut self) -> Result<Explored, Trouble> {
        self.commit("running")?;
        let found = match self.work() {
            Err(trouble) if trouble.is_disk_full() => Found::Stopped(StopReason::DiskFull),
            other => other?,
        };
        let verdict = match found {
            Found::Nothing => {
                self.commit("complete")?;
                self.complete()
            }
            Found::Stopped(reason) => {
                match self.commit(&format!("stopped: {reason}")) {
                    // The commit before this one stands.
                    Err(trouble) if trouble.is_disk_full() => {}
                    other => other?,
                }
                Verdict::Stopped(reason)
            }
            Found::Start(finding) => {
                Verdict::Violated(Violation { kind: finding.kind, path: Vec::new(), shortest: true })
            }
            Found::Target { cell, finding } => return self.answer(cell, finding),
        };
        let report = self.report(verdict);
        Ok(Explored { report, figures: self.figures })
    }

    /// Expands buckets until something is found or nothing is left.
    pub(super) fn work(&mut self) -> Result<Found, Trouble> {
        if let Some(finding) = self.start_finding.take() {
            return Ok(Found::Start(finding));
        }
        let deepest = self.search.task.control.limits.max_depth.unwrap_or(u64::MAX);
        loop {
            let mut ranks = self.matrix.open.keys();
            let Some(&rank) = ranks.find(|&&(_, g)| g < deepest) else {
                let left = !self.matrix.open.is_empty() || self.figures.beyond > 0;
                return Ok(if left { Found::Stopped(StopReason::DepthLimit) } else { Found::Nothing });
            };
            if let Some(found) = self.expand_bucket(Cell::of_rank(rank))? {
                return Ok(found);
            }
            self.commit_if_due()?;
        }
    }

    fn expand_bucket(&mut self, cell: Cell) -> Result<Option<Found>, Trouble> {
        self.expansions += 1;
        let Some(mut bucket) = self.matrix.open.remove(&cell.rank()) else { return Ok(None) };
        let before: u64 = self.expanders.iter().map(|expander| expander.lane.transitions).sum();
        let passed = self.pass(cell, &mut bucket);
        let stopped = match passed {
            Ok((None, closed)) => {
                let row = self.settle(cell, bucket, closed, before)?;
                return Ok(row);
            }
            Ok((Some(reason), _)) => Ok(Some(Found::Stopped(reason))),
            Err(trouble) => Err(trouble),
        };
        self.matrix.undo(self.expansions);
        self.expansions -= 1;
        self.matrix.open.insert(cell.rank(), bucket);
        for expander in &mut self.expanders {
            expander.targets.forget();
            expander.done = Done::default();
            expander.lane.finding = None;
        }
        self.search.task.control.gauges.states.store(self.figures.expanded, Ordering::Relaxed);
        stopped
    }

    /// Expands a bucket on all threads; says why if it was stopped.
    fn pass(
        &mut self,
        cell: Cell,
        bucket: &mut OpenBucket,
    ) -> Result<(Option<StopReason>, Vec<ClosedPart>), Trouble> {
        self.unpin(cell, bucket)?;
        self.join_small(bucket);
        let closed = self.scope.closed(&self.matrix, cell, &self.shelf)?;
        let threads = self.affordable_threads(bucket, &closed)?;
        let sources =
            bucket.parts.iter().map(|part| self.shelf.ready(part)).collect::<Result<Vec<_>, _>>()?;
        let records: u64 = bucket.parts.iter().map(|part| part.records).sum();
        let gauges = &self.search.task.control.gauges;
        gauges.depth.store(cell.g, Ordering::Relaxed);
        gauges.frontier.store(records, Ordering::Relaxed);
        gauges.expanded.store(0, Ordering::Relaxed);
        // Neither depends on the budget or on how many threads there are.
        let small = bucket.raw < SHARED_FROM;
        let goal_is_near = u64::from(cell.h) <= self.costs.last().copied().unwrap_or(1);
        let threads = if small { 1 } else { threads };
        let splitters = self.splitters(&sources, if threads == 1 { 1 } else { 4 * threads });
        let pass = Pass {
            cell,
            sources: &sources,
            closed: &closed,
            splitters: &splitters,
            next_piece: AtomicUsize::new(0),
            ends_early: small && goal_is_near,
            shared: Shared::new(&mut self.matrix, &self.shelf, cell.rank(), self.expansions, Some(cell.h)),
            stopped: Mutex::new(None),
        };
        if threads == 1 {
            self.expanders[0].work(&pass)?;
        } else {
            let results: Vec<Result<(), Trouble>> = std::thread::scope(|scope| {
                let pass = &pass;
                let running: Vec<_> = self.expanders[..threads]
                    .iter_mut()
                    .map(|expander| scope.spawn(move || expander.work(pass)))
                    .collect();
                running
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            });
            results.into_iter().collect::<Result<(), _>>()?;
        }
        let stopped = lock(&pass.stopped).take();
        Ok((stopped, closed))
    }

    /// Sees to it that what is about to be read, and so cannot leave RAM, takes a half of its share at most.
    fn unpin(&mut self, cell: Cell, bucket: &mut OpenBucket) -> Result<(), Trouble> {
        let column = self.matrix.columns.get(&cell.h);
        let rows = column.into_iter().flat_map(|column| column.rows.values().flatten());
        let pinned: usize = rows.chain(&bucket.parts).map(Part::resident_words).sum();
        if pinned <= self.matrix.most_words() / 2 {
            return Ok(());
        }
        let most = self.matrix.most_words();
        // Everything that can leave does: the bucket's own parts go back for a moment.
        let parts = std::mem::take(&mut bucket.parts);
        self.matrix.open.entry(cell.rank()).or_default().parts = parts;
        let shared = Shared::new(&mut self.matrix, &self.shelf, cell.rank(), u64::MAX, None);
        let made = shared.make_room(most);
        let back = self.matrix.open.remove(&cell.rank());
        bucket.parts = back.map(|bucket| bucket.parts).unwrap_or_default();
        made
    }

    /// Merges the smallest parts in RAM until they are few.
    fn join_small(&mut self, bucket: &mut OpenBucket) {
        let shape = self.shelf.shape();
        loop {
            let (mut held, rest): (Vec<Part>, Vec<Part>) =
                std::mem::take(&mut bucket.parts).into_iter().partition(|part| part.resident_words() > 0);
            bucket.parts = rest;
            if held.len() <= MOST_RESIDENT {
                bucket.parts.append(&mut held);
                return;
            }
            held.sort_by_key(|part| std::cmp::Reverse(part.records));
            let small = held.split_off(held.len() - MOST_RESIDENT);
            bucket.parts.append(&mut held);
            let words: usize = small.iter().map(Part::resident_words).sum();
            let flats: Vec<Vec<u64>> = small
                .into_iter()
                .filter_map(|part| match part.place {
                    Place::Resident { flat, .. } => {
                        Some(std::sync::Arc::try_unwrap(flat).unwrap_or_else(|flat| flat.to_vec()))
                    }
                    Place::Stored(_) => None,
                })
                .collect();
            let joined =
                order::sort_chunks((shape, self.search.task.space.bits()), &flats, &mut Vec::new(), 0);
            self.matrix.release(words - joined.len());
            bucket.parts.push(Part::resident(shape, joined, 0));
        }
    }

    /// How many threads can have the buffers they need; merges runs where one cannot.
    fn affordable_threads(
        &mut self,
        bucket: &mut OpenBucket,
        closed: &[ClosedPart],
    ) -> Result<usize, Trouble> {
        let footprint = RunReader::footprint(&self.shelf.options);
        let asked: u64 = closed.iter().map(ClosedPart::footprint).sum();
        let runs = |bucket: &OpenBucket| {
            let stored = bucket.parts.iter().filter_map(|part| match &part.place {
                Place::Stored(Stored::Run(run)) => Some(run.clone()),
                _ => None,
            });
            stored.collect::<Vec<RunFile>>()
        };
        // Besides the streams of a thread there are those of whoever writes buckets.
        let free = self.search.governor.limit() / 100 * STREAM_SHARE;
        let need = |bucket: &OpenBucket| asked + footprint * (runs(bucket).len() as u64 + 3);
        if need(bucket) > free && runs(bucket).len() > 1 {
            let limits = MergeLimits::for_memory(&self.shelf.disk, &self.shelf.options);
            let merged =
                merge_unique(&self.shelf.disk, runs(bucket), RunKind::Frontier, &self.shelf.options, limits)?
                    .0;
            bucket.parts.retain(|part| !matches!(part.place, Place::Stored(Stored::Run(_))));
            bucket.parts.push(Part::run(merged, 0));
        }
        Ok((free / need(bucket).max(1)).clamp(1, self.expanders.len() as u64) as usize)
    }

    /// States that cut the bucket into about equal pieces.
    fn splitters(&self, sources: &[Ready], pieces: usize) -> Vec<Vec<u64>> {
        if pieces < 2 {
            return Vec::new();
        }
        let mut sample = Vec::new();
        sources.iter().for_each(|source| source.sample(self.shelf.shape(), 8 * pieces, &mut sample));
        sample.sort_by(|a, b| hadal_system::state::compare(&a.0, &b.0));
        let total: u64 = sample.iter().map(|(_, weight)| weight).sum();
        let (mut passed, mut splitters): (u64, Vec<Vec<u64>>) = (0, Vec::new());
        for (state, weight) in sample {
            if passed * pieces as u64 >= total * (splitters.len() as u64 + 1)
                && splitters.last().is_none_or(|last| *last != state)
            {
                splitters.push(state);
            }
            passed += weight;
        }
        splitters
    }

    /// Notes what an expansion did.
    fn settle(
        &mut self,
        cell: Cell,
        bucket: OpenBucket,
        closed: Vec<ClosedPart>,
        transitions_before: u64,
    ) -> Result<Option<Found>, Trouble> {
        let mut whole = Done::default();
        for expander in &mut self.expanders {
            let done = std::mem::take(&mut expander.done);
            whole.unique += done.unique;
            whole.expanded += done.expanded;
            whole.pruned += done.pruned;
            whole.beyond += done.beyond;
            whole.least_beyond = whole.least_beyond.into_iter().chain(done.least_beyond).min();
            whole.closed.extend(done.closed);
            for target in done.targets {
                let at = whole.targets.iter_mut().find(|t| (t.g, t.h) == (target.g, target.h));
                match at {
                    Some(at) => at.states += target.states,
                    None => whole.targets.push(target),
                }
            }
            if let Some((cost, found)) = done.ahead {
                whole.offer_ahead(cost, found);
            }
        }
        for target in &whole.targets {
            let to = Cell { g: target.g, h: target.h };
            self.matrix.open.entry(to.rank()).or_default().raw += target.states;
            self.costs.insert(target.g - cell.g);
        }
        whole.targets.sort_by_key(|target| (target.g, target.h));
        whole.closed.sort_by_key(|&(piece, _)| piece);
        let parts: Vec<Part> =
            whole.closed.into_iter().map(|(_, part)| part).filter(|part| part.records > 0).collect();
        let fired: u64 = self.expanders.iter().map(|expander| expander.lane.transitions).sum();
        let figures = &mut self.figures;
        figures.expanded += whole.expanded;
        figures.generated += fired - transitions_before;
        figures.pruned += whole.pruned;
        figures.beyond += whole.beyond;
        figures.least_beyond = figures.least_beyond.into_iter().chain(whole.least_beyond).min();
        if whole.expanded > 0 {
            figures.f = figures.f.max(cell.f());
        }
        for part in &closed {
            if part.found.load(Ordering::Relaxed) > 0 {
                figures.locality = figures.locality.max(cell.g - part.rows.1);
            }
        }
        drop(closed);
        figures.buckets.push(BucketFigures {
            g: cell.g,
            h: cell.h,
            raw: bucket.raw,
            unique: whole.unique,
            expanded: whole.expanded,
            bytes: parts.iter().map(|part| bytes(&self.shelf, part)).sum(),
            targets: whole.targets,
        });
        self.counts = self.counts_before.clone();
        for expander in &self.expanders {
            self.counts.add(&total_counts(std::slice::from_ref(&expander.lane), self.search.task.space));
        }
        self.matrix.release(bucket.parts.iter().map(Part::resident_words).sum());
        drop(bucket);
        let found = self.found(cell, whole.ahead);
        let closed = self.close(cell, parts);
        // What was found needs nothing more from the disk, and must not be passed by.
        if found.is_none() {
            closed?;
        }
        Ok(found)
    }

    /// Adds states to a closed bucket. They are in it even if this fails.
    fn close(&mut self, cell: Cell, parts: Vec<Part>) -> Result<(), Trouble> {
        let words = parts.iter().map(Part::resident_words).sum();
        let shared = Shared::new(&mut self.matrix, &self.shelf, cell.rank(), self.expansions, None);
        let room = shared.make_room(words);
        let held = self.matrix.hold(words);
        if !parts.is_empty() {
            self.matrix.columns.entry(cell.h).or_default().rows.entry(cell.g).or_default().extend(parts);
        }
        if let Some(rows) = self.rows_kept {
            self.matrix.delete_before(cell.h, (cell.g + 1).saturating_sub(rows));
        }
        held?;
        if self.scope == Scope::Full {
            scope::add_level(&mut self.matrix, cell, &self.shelf)?;
        }
        room
    }

    /// Which of the things found in an expansion is reported: the cheapest.
    fn found(&mut self, cell: Cell, ahead: Option<(u64, Finding)>) -> Option<Found> {
        let mut here = None;
        for expander in &mut self.expanders {
            if let Some(finding) = take_finding(std::slice::from_mut(&mut expander.lane)) {
                Finding::offer(&mut here, finding);
            }
        }
        // A part of a path looks for its end only.
        let is_part = self.ledger.is_none();
        let here = here.filter(|finding| !is_part || matches!(finding.kind, ViolationKind::Goal(_)));
        match (here, ahead) {
            (Some(finding), _) => Some(Found::Target { cell, finding }),
            (None, Some((g, finding))) => Some(Found::Target { cell: Cell { g, h: 0 }, finding }),
            (None, None) => None,
        }
    }

    fn trail(&self) -> Trail<'_> {
        Trail {
            task: self.search.task,
            guide: self.search.guide,
            promises: self.promises,
            matrix: &self.matrix,
            shelf: &self.shelf,
            threads: self.expanders.len(),
            costs: &self.costs,
        }
    }

    /// The remembered step of the path to a state.
    pub(super) fn crossing(&self, cell: Cell, state: &[u64]) -> Result<Crossing, Trouble> {
        let record = self.trail().record(cell, state)?;
        let record = record.ok_or_else(|| lost("the end of the path has no record"))?;
        Ok(Crossing::of(self.shelf.shape(), &record))
    }

    /// Rebuilds the path to what was found.
    fn answer(mut self, cell: Cell, finding: Finding) -> Result<Explored, Trouble> {
        let crossing = match self.mode {
            Mode::Relay(_) => Some(self.crossing(cell, &finding.state)?),
            _ => None,
        };
        let mut path = Vec::new();
        if crossing.is_none() {
            path = self.trail().path(self.mode, cell, &finding.state)?;
        }
        // A guide speaks of what it looks for, and of nothing that is met by chance.
        let optimal = self.promises.admissible && cell.h == 0 && aims_at(self.search.aim, finding.kind);
        let unit_costs = self.costs.iter().all(|&cost| cost == 1);
        self.figures.cost = Some(cell.g);
        self.figures.optimal = optimal;
        self.figures.bucket_bound = Some(bucket_bound(cell.g));
        let violation = Violation { kind: finding.kind, path, shortest: optimal && unit_costs };
        let mut report = self.report(Verdict::Violated(violation));
        let figures = std::mem::take(&mut self.figures);
        if let Some(crossing) = crossing {
            let (search, disk) = (self.search, self.shelf.disk.clone());
            // Its buckets are not needed any more, and the parts need the memory. The folder stays locked.
            let _ledger = self.ledger.take();
            drop(self);
            let whole = divide::path(search, &disk, crossing, finding.state, cell.g)?;
            if let Verdict::Violated(violation) = &mut report.verdict {
                violation.path = whole;
            }
        }
        Ok(Explored { report, figures })
    }

    /// The whole space has been seen.
    fn complete(&self) -> Verdict {
        let properties = self.search.task.space.properties();
        for cover in self.search.task.question.of_kind(properties, PropertyKind::Cover) {
            if self.counts.covers[cover.0 as usize] == 0 {
                let kind = ViolationKind::Uncovered(cover);
                return Verdict::Violated(Violation { kind, path: Vec::new(), shortest: true });
            }
        }
        Verdict::Holds
    }

    fn commit_if_due(&mut self) -> Result<(), Trouble> {
        let least = self.search.options.commit_every;
        let spacing = least.max(self.commit_took * COMMIT_PART);
        match self.committed {
            Some(at) if at.elapsed() < spacing && !least.is_zero() => Ok(()),
            _ => self.commit("running"),
        }
    }

    /// Makes everything durable.
    fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let began = Instant::now();
        spill::copy_all(&mut self.matrix, &self.shelf)?;
        let (open, closed) = record::buckets(&self.matrix);
        let seconds = self.seconds_before + self.search.task.control.elapsed().as_secs_f64();
        let options = &self.search.options;
        let record = SearchRecord {
            trace_by: options.trace_by,
            stop_at: options.stop_at,
            bound: options.bound,
            expansions: self.expansions,
            covers: self.counts.covers.clone(),
            seconds,
            figures: self.figures.clone(),
            open,
            closed,
        };
        // Numbers, strings and lists of them always serialise.
        let section = serde_json::to_vec(&record).unwrap_or_default();
        let standing = Standing {
            status,
            states: self.figures.expanded,
            transitions: self.figures.generated,
            covers: &self.counts.covers,
            actions: self.counts.actions(self.search.task.space),
            seconds,
        };
        ledger.commit_section((SECTION, section), self.matrix.files(), standing)?;
        self.commit_took = began.elapsed();
        self.committed = Some(Instant::now());
        Ok(())
    }

    /// Completes the figures.
    fn report(&mut self, verdict: Verdict) -> Report {
        let traffic = &self.shelf.disk.traffic;
        let disk = DiskFigures {
            bytes: self.matrix.files().into_iter().map(RunFile::bytes).sum(),
            read: traffic.bytes_read(),
            written: traffic.bytes_written(),
        };
        let figures = &mut self.figures;
        figures.stored = figures.expanded + self.matrix.raw_open();
        let rows = self.matrix.columns.values().flat_map(|column| column.rows.values().flatten());
        figures.closed = rows.map(|part| part.records).sum();
        figures.bytes_read = disk.read;
        figures.bytes_written = disk.written;
        let left_out = Proviso::Pruned { left_out: figures.pruned };
        let proviso = (verdict == Verdict::Holds && figures.pruned > 0).then_some(left_out);
        let directed = DirectedFigures {
            guide: figures.guide.clone(),
            order: "external-astar".into(),
            priority: "none".into(),
            tie: "least cost, then all together".into(),
            admissible: self.promises.admissible,
            prunes: may_prune(self.search.task, self.search.guide, self.search.aim),
            pops: figures.expanded,
            distinct: figures.expanded,
            generated: figures.generated,
            evaluated: figures.generated,
            hopeless: figures.pruned,
            found_cost: figures.cost,
            external: Some(figures.clone()),
            ..DirectedFigures::default()
        };
        Report {
            verdict,
            states: figures.expanded,
            transitions: figures.generated,
            depth: None,
            layers: Vec::new(),
            actions: self.counts.actions(self.search.task.space),
            covers: self.counts.covers.clone(),
            peak_memory: self.search.governor.peak(),
            stages: vec![Stage { storage: "buckets by cost and estimate", states: 0, depth: 0 }],
            disk: Some(disk),
            partition: None,
            proviso,
            directed: Some(directed),
        }
    }
}

fn bytes(shelf: &Shelf, part: &Part) -> u64 {
    match &part.place {
        Place::Stored(Stored::Run(run)) => run.bytes(),
        _ => part.records * shelf.shape().bytes() as u64,
    }
}
