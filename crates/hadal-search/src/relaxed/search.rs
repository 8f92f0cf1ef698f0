//! The loop of a search whose order is relaxed: expand what is certainly new, decide the rest, commit.

use super::closed::Closed;
use super::pool::{Class, Pool};
use super::record::{RelaxedRecord, SECTION};
use super::together::{Incoming, Totals};
use crate::exchange::{Exchange, Helping, Mailbox};
use crate::explore::{Phase, Progress, Run, Setting};
use crate::firings::Counts;
use crate::fixpoint::Seeing;
use crate::lane::{Lane, Parents, SearchTask, total_counts};
use crate::layered::Trouble;
use crate::layered::block::{BlockEnd, Left};
use crate::layered::detector::LayerView;
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, Standing};
use crate::report::{DiskFigures, Report, Stage, StopReason, Verdict};
use crate::resting::Reins;
use crate::run::storage::Room;
use crate::run::{Answer, Buffers, RUNNING, Tier, closed_set, complete, run_options, status};
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::vfs::at_once;
use hadal_store::{Governor, Reservation};
use hadal_system::{Ascending, States};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Shares of the budget, in percent; the rest is for small sets, buffers and leaving the diagram.
const POOL_SHARE: u64 = 28;
const SORT_SHARE: u64 = 12;
const FILTER_SHARE: u64 = 18;
const DIAGRAM_SHARE: u64 = 24;
/// And for what came from other workers, where there are some.
const INCOMING_SHARE: u64 = 4;
/// What a transition counts as, its part in detection included: about nanoseconds.
const TRANSITION_WORK: u64 = 120;
/// States expanded before limits are looked at.
pub(super) const BLOCK: usize = 1 << 12;

/// How a search ended.
pub(super) enum RelaxedEnd {
    /// With this answer.
    Decided(Verdict),
    /// With something wrong, to be searched for breadth-first.
    Found,
}

pub(super) struct Exploration<'a> {
    pub(super) task: SearchTask<'a>,
    pub(super) governor: Governor,
    pub(super) options: RunOptions,
    threads: usize,
    run: Run<'a>,
    pub(super) lanes: Vec<Lane<'a>>,
    pub(super) pool: Pool<'a>,
    pub(super) sorted: Vec<u64>,
    /// States that fit `sorted`.
    pub(super) most_sorted: usize,
    _sort_memory: Reservation,
    /// What may be divided.
    whole: u64,
    /// None while everything fits the pool.
    pub(super) closed: Option<Closed<'a>>,
    stages: Vec<Stage>,
    transitions_before: u64,
    counts_before: Counts,
    seconds_before: f64,
    /// Whether the initial states are found.
    pub(super) is_begun: bool,
    ended: Option<RelaxedEnd>,
    /// The way to other workers, and what came from them.
    pub(super) mailbox: Mailbox<'a>,
    pub(super) incoming: Incoming,
    /// How often workers met.
    pub(super) rounds: u64,
    /// States sent since they last met, and states of its own expanded.
    pub(super) sent: u64,
    pub(super) expanded: u64,
    /// Whether all together expanded enough for idle workers to help.
    pub(super) are_many: bool,
    pub(super) helping: Option<Helping<'a>>,
    /// Whether all decide what waits to see if there are too many states.
    pub(super) recounts: bool,
    /// Why this worker must stop when it meets the others.
    pub(super) failed: Option<StopReason>,
    /// What all counted, once they have ended.
    pub(super) totals: Option<Totals>,
}

impl<'a> Seeing<'a> for Exploration<'a> {
    fn go_on(&mut self, _: u64) -> Result<bool, Trouble> {
        // All of it rests.
        Ok(true)
    }

    fn progress(&self) -> Progress {
        self.progress()
    }

    fn has_more(&self) -> bool {
        self.ended.is_none()
    }

    fn reins(&self) -> Arc<Reins<'a>> {
        Reins::new(self.task.control, &self.governor, self.progress())
    }

    async fn proceed(mut self: Box<Self>, reins: Arc<Reins<'a>>) -> Result<Box<Self>, Trouble> {
        let disk = self.closed.as_ref().map(|closed| closed.ledger.disk().clone());
        let turns = disk.map(|disk| disk.brake.take_turns(reins.turn(), disk.traffic.bytes_moved()));
        self.ended = match self.mailbox.is_alone() {
            true => {
                let gone = self.expand_some().await;
                self.conclude(gone).await?
            }
            false => self.expand_together().await?,
        };
        drop(turns);
        Ok(self)
    }
}

impl<'a> Exploration<'a> {
    /// A search that has not begun.
    pub(super) fn begin(setting: Setting<'a>, exchange: &'a dyn Exchange) -> Result<Self, Trouble> {
        let Setting { task, governor, .. } = setting;
        let (words, threads) = (task.space.words(), setting.threads.max(1));
        let shape = RecordShape::states(words);
        let mailbox = Mailbox::new(exchange, shape, governor)?;
        let owners = (!mailbox.is_alone()).then(|| (exchange.shares(), exchange.me()));
        let whole = if mailbox.is_alone() { governor.limit() } else { governor.available() };
        let share = |percent: u64| whole / 100 * percent;
        let state = shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024;
        Ok(Exploration {
            task,
            governor: governor.clone(),
            options: run_options(task.space, governor, Buffers::Many),
            threads,
            run: setting.run,
            lanes: (0..threads).map(|_| Lane::new(task, Parents::Forgotten)).collect(),
            pool: Pool::new(words, threads, (share(POOL_SHARE), share(FILTER_SHARE)), governor, owners)?,
            sorted: Vec::new(),
            most_sorted: (share(SORT_SHARE) / state).max(1024) as usize,
            _sort_memory: governor.try_reserve(share(SORT_SHARE), "sorting")?,
            whole,
            closed: None,
            stages: vec![Stage { storage: "table", states: 0, depth: 0 }],
            transitions_before: 0,
            counts_before: Counts::zero(task.space),
            seconds_before: 0.0,
            is_begun: false,
            ended: None,
            incoming: Incoming::new(if mailbox.is_alone() { 0 } else { share(INCOMING_SHARE) }, governor)?,
            mailbox,
            rounds: 0,
            sent: 0,
            expanded: 0,
            are_many: false,
            helping: None,
            recounts: false,
            failed: None,
            totals: None,
        })
    }

    /// Goes on as it was committed.
    pub(super) fn go_on_from(&mut self, ledger: Ledger) -> Result<(), Trouble> {
        let record: Option<RelaxedRecord> =
            ledger.section(SECTION).and_then(|bytes| serde_json::from_slice(bytes).ok());
        let record = record.ok_or(Trouble::NothingToResume)?;
        let journal = Journal::open(ledger.disk(), self.options, &record.journal)?;
        let disk = ledger.disk().clone();
        let _armed = self.task.control.brake_reading_back(&disk);
        let words = self.task.space.words();
        let mut note = async |_, layer: LayerView<'_>| match layer {
            LayerView::States(states) => {
                states.iter().for_each(|state| self.pool.note_closed(state));
                Ok(())
            }
            LayerView::Run(run) => {
                let mut reader = hadal_store::run::RunReader::open(run)?;
                let mut block = Vec::new();
                while reader.next_block(&mut block)? {
                    block.chunks_exact(words).for_each(|state| self.pool.note_closed(state));
                }
                Ok(())
            }
        };
        at_once(journal.view_all(&mut note))?;
        self.open_closed(ledger, journal)?;
        if let Some(closed) = &mut self.closed {
            closed.waiting = record.waiting.into();
        }
        self.count_before(record.transitions, Counts { covers: record.covers, fired: record.fired });
        self.seconds_before = record.seconds;
        self.rounds = record.rounds;
        self.is_begun = true;
        Ok(())
    }

    /// What earlier sittings counted.
    pub(super) fn count_before(&mut self, transitions: u64, counts: Counts) {
        self.transitions_before = transitions;
        self.counts_before = counts;
    }

    /// Sets up what is closed outside the pool: the states of the journal.
    pub(super) fn open_closed(&mut self, ledger: Ledger, journal: Journal) -> Result<(), Trouble> {
        let room = Room {
            disk: ledger.disk(),
            options: self.options,
            diagram: self.governor.part(self.whole / 100 * DIAGRAM_SHARE),
            screen: 0,
            threads: self.threads,
            control: self.task.control,
            snapshot: None,
        };
        let (detector, tier) = closed_set(self.task.space, &journal, room)?;
        let on_disk = tier == Tier::SortedRuns;
        self.stages.push(Stage { storage: detector.name(), states: self.pool.len(), depth: 0 });
        let (waiting, reader) = (VecDeque::new(), None);
        self.closed = Some(Closed { ledger, journal, detector, on_disk, waiting, reader });
        Ok(())
    }

    /// Finds the initial states.
    pub(super) async fn start(&mut self) -> Result<(), Trouble> {
        let mut taken = self.lanes[0].start(&mut self.pool.sinks()[0]);
        while taken.is_err() {
            self.decide().await?;
            taken = self.lanes[0].finish_batch(&mut self.pool.sinks()[0]);
        }
        Ok(())
    }

    /// How it ended, if it did.
    pub(super) fn ended(&self) -> Option<&RelaxedEnd> {
        self.ended.as_ref()
    }

    /// Leaves its run's folder to whoever says how the search ended.
    pub(super) fn take_ledger(&mut self) -> Option<Ledger> {
        self.closed.take().map(|closed| closed.ledger)
    }

    /// Bytes that were moved, a unit of work each, and the transitions.
    fn work(&self) -> u64 {
        let moved = self.closed.as_ref().map_or(0, |closed| closed.ledger.disk().traffic.bytes_moved());
        moved + self.lanes.iter().map(|lane| lane.transitions).sum::<u64>() * TRANSITION_WORK
    }

    /// Expands a block, or decides what waits; how the search ended, if everything is seen, something is wrong, or a limit is
    /// met.
    async fn expand_some(&mut self) -> Result<Option<RelaxedEnd>, Trouble> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.start().await?;
        }
        let mut block = Vec::new();
        if self.lanes.iter().any(|lane| lane.finding.is_some()) {
            return Ok(Some(RelaxedEnd::Found));
        }
        let control = self.task.control;
        let states = self.states();
        control.gauges.states.store(states, Ordering::Relaxed);
        if let Some(reason) = control.must_stop(states) {
            let is_exact = !self.pool.has_undecided();
            self.decide().await?;
            if reason == StopReason::StateLimit && !is_exact {
                // Of what was undecided some may have been known.
                return Ok(None);
            }
            return Ok(Some(RelaxedEnd::Decided(Verdict::Stopped(reason))));
        }
        if self.closed.as_ref().is_some_and(|closed| closed.ledger.is_due()) {
            self.decide().await?;
            self.commit(RUNNING)?;
        }
        let from_set = match &mut self.closed {
            Some(closed) => closed.next_block(&mut block)?,
            None => false,
        };
        if from_set || self.pool.take_certain(BLOCK, &mut block) {
            self.expand(&block).await?;
        } else if self.pool.len() == 0 || self.closed.is_none() {
            return Ok(Some(RelaxedEnd::Decided(complete(self.task, &self.counts().covers))));
        } else {
            self.decide().await?;
        }
        Ok(None)
    }

    /// Expands a block of states, deciding what the pool holds whenever it is full.
    pub(super) async fn expand(&mut self, block: &[u64]) -> Result<(), Trouble> {
        let left = Left::all();
        let block = States::new(self.task.space.words(), block);
        loop {
            match left.expand(&mut self.lanes, &mut self.pool.sinks(), block, block.words()) {
                BlockEnd::Whole => return Ok(()),
                BlockEnd::Full => self.decide().await?,
                BlockEnd::Stuck(over) => return Err(over.into()),
            }
        }
    }

    /// Moves everything from the pool to the closed set; what was undecided and is new waits to be expanded.
    pub(super) async fn decide(&mut self) -> Result<(), Trouble> {
        self.sort_out()?;
        if self.closed.is_none() {
            let ledger = self.run.open()?;
            let journal = Journal::new(ledger.disk(), self.options)?;
            self.open_closed(ledger, journal)?;
        }
        let Some(closed) = &mut self.closed else { return Ok(()) };
        let shape = self.options.shape;
        for class in [Class::Expanded, Class::Waiting, Class::Undecided] {
            let options = self.options;
            let take = async |states: &mut Vec<u64>| {
                sort_records(shape, states);
                let states = Ascending::new(shape.words(), states);
                match class {
                    Class::Expanded => closed.add(states, options).await,
                    Class::Waiting => {
                        closed.add(states, options).await?;
                        closed.wait();
                        Ok(())
                    }
                    Class::Undecided => closed.add_new_of(states, options).await,
                    // They are their owners' from now on.
                    Class::Foreign | Class::Sent => Ok(()),
                }
            };
            self.pool.each(class, self.most_sorted, &mut self.sorted, take).await?;
        }
        if !closed.on_disk && closed.detector.struggles() {
            closed.move_to_disk(self.options)?;
        }
        if closed.on_disk && self.stages.last().is_some_and(|stage| stage.storage != closed.detector.name()) {
            let states = closed.states();
            self.stages.push(Stage { storage: closed.detector.name(), states, depth: 0 });
        }
        self.pool.clear()?;
        Ok(())
    }

    /// Makes everything decided durable. The pool must be empty.
    pub(super) fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        let (transitions, counts, seconds) = (self.transitions(), self.counts(), self.seconds());
        let actions = counts.actions(self.task.space);
        let Some(closed) = &mut self.closed else { return Ok(()) };
        closed.journal.bundle()?;
        let record = RelaxedRecord {
            journal: closed.journal.record(),
            waiting: closed.waiting.iter().copied().collect(),
            transitions,
            covers: counts.covers.clone(),
            fired: counts.fired,
            seconds,
            rounds: self.rounds,
        };
        let (states, covers) = (closed.states(), &record.covers);
        let standing = Standing { status, states, transitions, covers, actions, seconds };
        let section = (SECTION, serde_json::to_vec(&record)?);
        let runs = closed.journal.runs().collect();
        closed.ledger.commit_section(section, runs, standing)
    }

    /// Commits how the search ended, if it did; a full disk is a way to end it.
    async fn conclude(
        &mut self,
        ended: Result<Option<RelaxedEnd>, Trouble>,
    ) -> Result<Option<RelaxedEnd>, Trouble> {
        let full = || Some(RelaxedEnd::Decided(Verdict::Stopped(StopReason::DiskFull)));
        match ended {
            // What was committed before stands.
            Err(trouble) if trouble.is_disk_full() => Ok(full()),
            Ok(Some(RelaxedEnd::Decided(verdict))) if self.closed.is_some() => {
                let written = match self.decide().await {
                    Ok(()) => self.commit(&status(&verdict)),
                    failed => failed,
                };
                match written {
                    Err(trouble) if trouble.is_disk_full() => Ok(full()),
                    Err(other) => Err(other),
                    Ok(()) => Ok(Some(RelaxedEnd::Decided(verdict))),
                }
            }
            other => other,
        }
    }

    /// Ends the search here, and keeps what it has seen for later.
    pub(super) fn stop(&mut self, reason: StopReason) -> Result<Verdict, Trouble> {
        let verdict = Verdict::Stopped(reason);
        if !self.is_begun || matches!(self.run, Run::Nowhere) {
            return Ok(verdict);
        }
        let decided = at_once(self.decide()).map(|()| Some(RelaxedEnd::Decided(verdict.clone())));
        match at_once(self.conclude(decided))? {
            Some(RelaxedEnd::Decided(verdict)) => Ok(verdict),
            _ => Ok(verdict),
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            phase: match (&self.ended, self.is_begun) {
                (Some(RelaxedEnd::Decided(_)), _) => Phase::Over,
                (_, true) => Phase::Within,
                (_, false) => Phase::Between,
            },
            depth: None,
            states: self.states(),
            transitions: self.transitions(),
            work: self.work(),
            ahead: 0,
            memory: self.governor.current(),
            disk: self.closed.as_ref().map_or(0, |closed| closed.journal.bytes()),
        }
    }

    /// Distinct states decided so far, and those of the pool that may be new.
    pub(super) fn states(&self) -> u64 {
        if let Some(totals) = &self.totals {
            return totals.states;
        }
        self.closed.as_ref().map_or(0, Closed::states) + self.pool.len()
    }

    pub(super) fn transitions(&self) -> u64 {
        if let Some(totals) = &self.totals {
            return totals.transitions;
        }
        self.transitions_before + self.lanes.iter().map(|lane| lane.transitions).sum::<u64>()
    }

    pub(super) fn counts(&self) -> Counts {
        if let Some(totals) = &self.totals {
            return totals.counts.clone();
        }
        let mut counts = total_counts(&self.lanes, self.task.space);
        counts.add(&self.counts_before);
        counts
    }

    fn seconds(&self) -> f64 {
        self.seconds_before + self.task.control.elapsed().as_secs_f64()
    }

    pub(super) fn report(&self, verdict: Verdict) -> Report {
        let held = |closed: &Closed| DiskFigures::of(closed.ledger.disk(), closed.journal.bytes());
        let disk = self.closed.as_ref().map(held);
        let counts = self.counts();
        let answer = Answer {
            verdict,
            states: self.states(),
            transitions: self.transitions(),
            counts: &counts,
            stages: self.stages.clone(),
        };
        Report { disk, ..answer.report(self.task, &self.governor) }
    }
}
