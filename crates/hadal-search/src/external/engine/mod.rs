//! The main loop: take the bucket with the least f, then the least g; expand it, in steps where it is large; commit now and
//! then.
//!
//! Whatever interrupts an expansion (a limit, a full disk) undoes it, so that figures and files always stand between two
//! expansions.

mod again;
mod answer;
mod commit;
mod moving;
mod pass;
mod settle;
mod together;

use super::expand::{Expander, Rules};
use super::figures::ExternalFigures;
use super::horizon::{Horizon, Turn};
use super::matrix::{Cell, Matrix};
use super::part::Shelf;
use super::record::{self, SECTION, SearchRecord};
use super::scope::{self, Scope};
use super::spill::{Shared, own_run_bytes};
use super::targets::{Dealing, Targets};
use super::trail::Mode;
use super::{ExternalSearch, Flush, StopAt, TraceBy};
use crate::directed::may_prune;
use crate::exchange::{Mailbox, Shares};
use crate::explore::{Explored, Phase, Progress};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::lane::{Lane, Parents};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::{StopReason, Verdict, Violation};
use crate::run::{Buffers, COMPLETE, run_options_keeping, status};
use crate::strategies::Resumes;
use hadal_store::Reservation;
use hadal_store::error::ReadError;
use hadal_store::run::{Codec, RunFile, RunOptions};
use hadal_store::shape::RecordShape;
use hadal_store::vfs::Disk;
use hadal_system::guide::Promises;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Shares of the budget, in percent; the rest is for what is small.
const TARGET_SHARE: u64 = 36;
const RESIDENT_SHARE: u64 = 38;
const STREAM_SHARE: u64 = 20;

/// What a transition counts as, its part in sorting and merging included: about nanoseconds.
const TRANSITION_WORK: u64 = 150;

/// What ended the expansions.
pub(super) enum Found {
    /// Something in a state of this bucket.
    Goal {
        cell: Cell,
        finding: Finding,
    },
    /// A fault in making an initial state.
    Start(Finding),
    /// Nothing: every bucket is expanded.
    Nothing,
    Stopped(StopReason),
}

/// What a search is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is what was asked.
    Answer,
    /// It looks for a part of a path that was found.
    PartOfPath,
}

pub(super) struct Engine<'a> {
    search: ExternalSearch<'a>,
    purpose: Purpose,
    promises: Promises,
    mode: Mode,
    scope: Scope,
    /// Rows of a column that stay, where the others are deleted.
    rows_kept: Option<u64>,
    shelf: Shelf,
    matrix: Matrix,
    expanders: Vec<Expander<'a>>,
    ledger: Option<Ledger>,
    horizon: Horizon,
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
    /// The bucket that is half expanded.
    begun: Option<pass::Begun>,
    /// The way to other workers.
    mailbox: Mailbox<'a>,
    /// Why this worker must stop when it meets the others.
    failed: Option<StopReason>,
    /// Whether all commit now.
    commits: bool,
    /// States that this worker expanded.
    own_states: u64,
    /// What was counted of states whose expansion was taken back.
    in_vain: Counts,
    /// Bytes for streams.
    streams: u64,
    _memory: Reservation,
}

/// Who owns which states, and who this worker is; none where there is no other.
fn owners<'a>(mailbox: &Mailbox<'a>) -> Option<(&'a Shares, usize)> {
    let exchange = mailbox.exchange();
    (!mailbox.is_alone()).then(|| (exchange.shares(), exchange.me()))
}

impl<'a> Engine<'a> {
    /// A search in a run folder.
    pub(super) fn begin(search: ExternalSearch<'a>, ledger: Ledger) -> Result<Self, Trouble> {
        let task = search.task;
        if task.question.asks_about_runs(task.space) {
            return Err(Trouble::Liveness);
        }
        let mode = match search.options.trace_by {
            // Where steps may cost nothing rows do not tell which of two states came first.
            _ if task.space.costs().least == 0 => Mode::Parent,
            // Without consistency a part of the path need not be found at its cost; then nothing is deleted either.
            TraceBy::Divide if !search.guide.promises().consistent => Mode::Bare,
            trace_by => Mode::of(trace_by),
        };
        let disk = ledger.disk().clone();
        let mut engine = Engine::new(search, &disk, mode, Purpose::Answer)?;
        engine.ledger = Some(ledger);
        Ok(engine)
    }

    /// A search without buckets that commits nothing.
    pub(super) fn new(
        search: ExternalSearch<'a>,
        disk: &Disk,
        mode: Mode,
        purpose: Purpose,
    ) -> Result<Self, Trouble> {
        let (task, governor, options) = (search.task, search.governor, &search.options);
        let payload = mode.payload(task.space.words());
        let sent = together::tagged(RecordShape::keeping(task.space.words(), payload));
        let mailbox = Mailbox::new(search.exchange, sent, governor)?.owned_by(0..task.space.words());
        let dealing = if mailbox.is_alone() { Dealing::ToItself } else { Dealing::ToOwners };
        let (promises, threads) = (search.guide.promises(), search.threads.max(1) as u64);
        // The task and the guide may have their part of the budget already.
        let whole = governor.available().max(governor.limit() / 2);
        let share = |percent: u64| whole / 100 * percent;
        let small = run_options_keeping(task.space, payload, governor, Buffers::Smallest);
        let (shape, usual) = (small.shape, RunOptions::new(small.shape, small.fingerprint));
        let shelf = Shelf {
            disk: disk.clone(),
            options: RunOptions {
                chunk_bytes: (4 * usual.chunk_bytes).min(Buffers::Smallest.most(governor)),
                // The states of a bucket have little in common but their leading bits, which differences remove.
                codec: if shape.stride() == 1 { Codec::Plain } else { Codec::Lz4 },
                ..small
            },
        };
        let rules = Rules {
            // A part of a path was not left out before.
            prune: purpose == Purpose::Answer && may_prune(task, search.guide, search.goal),
            look_ahead: promises.consistent && options.stop_at == StopAt::Generation,
            mode,
            steps: options.steps,
        };
        let local =
            task.space.undirected().filter(|_| promises.consistent).map(|cost| 2 * u64::from(cost.max(1)));
        let parents = if mode == Mode::Bare { Parents::Forgotten } else { Parents::Kept };
        let mut expanders = Vec::new();
        for _ in 0..threads {
            let targets = Targets::new(
                (shape, task.space.bits()),
                dealing,
                share(TARGET_SHARE) / threads,
                governor.empty("successors"),
            );
            let lane = Lane::new(task, parents).with_costs();
            expanders.push(Expander::new((task, rules), lane, shape, search.guide.estimator(), targets));
        }
        // The closed states of a piece, before it is known that they are many.
        let memory = governor.try_reserve(
            threads * (own_run_bytes(&shelf) + (256 << 10).min(governor.limit() / 64)),
            "closed states",
        )?;
        Ok(Engine {
            purpose,
            promises,
            mode,
            scope: local.map_or(Scope::Full, Scope::Rows),
            // What may have to be expanded again stays.
            rows_kept: local.filter(|_| {
                let restarts = purpose == Purpose::Answer && options.bound.is_some();
                matches!(mode, Mode::Relay(_)) && options.flush == Flush::AtOnce && !restarts
            }),
            horizon: Horizon::new(options.flush, options.bound),
            matrix: Matrix::new(governor, share(RESIDENT_SHARE)),
            shelf,
            expanders,
            ledger: None,
            figures: ExternalFigures { guide: search.guide.name(), ..ExternalFigures::default() },
            costs: BTreeSet::new(),
            expansions: 0,
            counts: Counts::zero(task.space),
            counts_before: Counts::zero(task.space),
            seconds_before: 0.0,
            committed: None,
            commit_took: Duration::ZERO,
            start_finding: None,
            begun: None,
            mailbox,
            failed: None,
            commits: false,
            own_states: 0,
            in_vain: Counts::zero(task.space),
            streams: share(STREAM_SHARE),
            _memory: memory,
            search,
        })
    }

    /// Puts the initial states into their buckets.
    pub(super) fn start(&mut self) -> Result<(), Trouble> {
        let expander = &mut self.expanders[0];
        expander.start()?;
        self.start_finding = expander.lane.finding.take();
        let shared = Shared::new(&mut self.matrix, &self.shelf, (0, 0), self.expansions, None)
            .owned_by(owners(&self.mailbox));
        let mut raw = Vec::new();
        expander.targets.finish(&shared, |cell, states| raw.push((cell, states)))?;
        for (cell, states) in raw {
            self.matrix.open.entry(cell.rank()).or_default().raw += states;
        }
        // The others generate them themselves.
        self.matrix.drop_outgoing();
        self.figures.pruned = std::mem::take(&mut expander.done).pruned;
        if let Some(&(f, _)) = self.matrix.open.keys().next() {
            self.horizon.begin(f);
        }
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
        self.horizon.restore(record.reach.or(record.bound), &record.left_out);
        for bucket in &self.figures.buckets {
            self.costs.extend(bucket.targets.iter().map(|target| target.g - bucket.g));
        }
        let rows = self.matrix.columns.values().flat_map(|column| column.rows.values().flatten());
        self.own_states = rows.map(|part| part.records).sum();
        self.search.task.control.gauges.states.store(self.figures.states.expanded, Ordering::Relaxed);
        self.add_levels()
    }

    /// Takes note of every closed row.
    fn add_levels(&mut self) -> Result<(), Trouble> {
        if self.scope != Scope::Full {
            return Ok(());
        }
        let columns = self.matrix.columns.iter();
        let cells: Vec<Cell> =
            columns.flat_map(|(&h, column)| column.rows.keys().map(move |&g| Cell { g, h })).collect();
        cells.into_iter().try_for_each(|cell| scope::add_level(&mut self.matrix, cell, &self.shelf))
    }

    pub(super) fn disk(&self) -> Disk {
        self.shelf.disk.clone()
    }

    /// The answer, with the path to what was found.
    pub(super) fn conclude(mut self, found: Found) -> Result<Explored, Trouble> {
        self.undo_begun();
        let verdict = match found {
            Found::Nothing => {
                self.commit(COMPLETE)?;
                self.complete()
            }
            // Where the disk of one worker is full, what all committed before stands.
            Found::Stopped(StopReason::DiskFull) if !self.mailbox.is_alone() => {
                Verdict::Stopped(StopReason::DiskFull)
            }
            Found::Stopped(reason) => {
                let verdict = Verdict::Stopped(reason);
                match self.commit(&status(&verdict)) {
                    // The commit before this one stands.
                    Err(trouble) if trouble.is_disk_full() => {}
                    other => other?,
                }
                verdict
            }
            Found::Start(finding) => {
                Verdict::Violated(Violation { kind: finding.kind, path: Vec::new(), shortest: true })
            }
            Found::Goal { cell, finding } => return self.answer(cell, finding),
        };
        Ok(Explored::leaving(self.report(verdict)?, Resumes::ItsOwn))
    }

    pub(super) fn progress(&self) -> Progress {
        let open = self.matrix.open.keys().next();
        Progress {
            phase: if self.begun.is_some() { Phase::Within } else { Phase::Between },
            depth: open.map(|&(_, g)| g),
            states: self.figures.states.expanded,
            transitions: self.figures.states.generated + self.fired_in_begun(),
            work: self.work_done(),
            ahead: 0,
            memory: self.search.governor.current(),
            disk: self.matrix.files().into_iter().map(RunFile::bytes).sum(),
        }
    }

    fn work_done(&self) -> u64 {
        (self.figures.states.generated + self.fired_in_begun()) * TRANSITION_WORK
    }

    /// Expands buckets until something is found or nothing is left.
    pub(super) fn work(&mut self) -> Result<Found, Trouble> {
        loop {
            if let Some(found) = self.go_on(u64::MAX)? {
                return Ok(found);
            }
        }
    }

    /// Expands buckets for this much work; what ended it, if something is found or nothing is left.
    pub(super) fn go_on(&mut self, work: u64) -> Result<Option<Found>, Trouble> {
        if let Some(finding) = self.start_finding.take() {
            return Ok(Some(Found::Start(finding)));
        }
        let until = self.work_done().saturating_add(work);
        loop {
            if let Some(found) = self.expand_next(until.saturating_sub(self.work_done()))? {
                return Ok(Some(found));
            }
            if self.begun.is_none() {
                self.search.task.control.count_time();
                self.commit_if_due()?;
            }
            if self.work_done() >= until {
                return Ok(None);
            }
        }
    }

    /// Expands one bucket, however large, or raises the reach.
    pub(super) fn go_on_by_one(&mut self) -> Result<Option<Found>, Trouble> {
        match self.start_finding.take() {
            Some(finding) => Ok(Some(Found::Start(finding))),
            None => self.expand_next(u64::MAX),
        }
    }

    /// Expands the next bucket, or so much of it, or raises the reach; what ends the search, if something does.
    fn expand_next(&mut self, work: u64) -> Result<Option<Found>, Trouble> {
        if let Some(begun) = self.begun.take() {
            return self.expand_on(begun, work);
        }
        let deepest = self.search.task.control.limits.max_depth.unwrap_or(u64::MAX);
        let rank = self.matrix.open.keys().find(|&&(_, g)| g < deepest).copied();
        match (self.horizon.turn(rank.map(|(f, _)| f)), rank) {
            (Turn::Expand, Some(rank)) => self.expand_bucket(Cell::of_rank(rank), work),
            (Turn::Raise(reach), _) => Ok(self.raise(reach)?.map(Found::Stopped)),
            _ => Ok(Some(if self.matrix.open.keys().any(|&(_, g)| g >= deepest) {
                Found::Stopped(StopReason::DepthLimit)
            } else if rank.is_some() || self.horizon.least_beyond().is_some() {
                Found::Stopped(StopReason::CostBound)
            } else {
                Found::Nothing
            })),
        }
    }
}
