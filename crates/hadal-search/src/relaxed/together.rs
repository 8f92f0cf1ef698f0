//! An order-relaxed search of several workers: each expands what it owns and is certainly new, sends what others own, and meets
//! them every now and then. All decide what waits when nobody has anything certain left; when nobody has anything at all, all
//! is seen.

use super::pool::Class;
use super::search::{BLOCK, Exploration, RelaxedEnd};
use crate::exchange::{HELPED_FROM, Heard, PIECE, Said, Stops, Words};
use crate::firings::Counts;
use crate::lane::{Batch, Sink};
use crate::layered::Trouble;
use crate::report::{StopReason, Verdict};
use crate::run::{RUNNING, complete, out_of_memory, status};
use hadal_store::error::WriteError;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::sort_records;
use hadal_store::{Disk, Governor, OverBudget, Reservation};
use hadal_system::{Ascending, States};
use std::sync::atomic::Ordering;

/// Blocks of states that are expanded between two meetings.
const BLOCKS: usize = 16;

/// What all workers counted.
pub(super) struct Totals {
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) counts: Counts,
}

/// States that came from other workers and have not met the pool yet: some in RAM, the rest in runs.
pub(super) struct Incoming {
    held: Vec<u64>,
    most: usize,
    runs: Vec<RunFile>,
    _memory: Reservation,
}

impl Incoming {
    /// At most so many bytes of them in RAM.
    pub(super) fn new(bytes: u64, governor: &Governor) -> Result<Self, OverBudget> {
        let most = (bytes / 8) as usize;
        let _memory = governor.try_reserve(bytes, "states from other workers")?;
        Ok(Incoming { held: Vec::new(), most, runs: Vec::new(), _memory })
    }

    fn take(&mut self, batch: Ascending, (disk, options): (&Disk, &RunOptions)) -> Result<(), WriteError> {
        let flat = batch.states().flat();
        if self.held.len() + flat.len() <= self.most {
            if self.held.capacity() == 0 {
                self.held.reserve_exact(self.most);
            }
            self.held.extend_from_slice(flat);
            return Ok(());
        }
        let mut writer = RunWriter::create(disk, RunKind::Candidates, options)?;
        writer.push_all(Records::new(options.shape, flat))?;
        self.runs.push(writer.finish()?);
        Ok(())
    }
}

/// What is kept of a search that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    /// Everything that was seen.
    All,
    /// What all committed before.
    LastCommit,
}

/// What a worker says when all meet.
struct Word {
    stop: Option<StopReason>,
    /// Whether it stops in the middle of something: then nobody commits.
    breaks_off: bool,
    found: bool,
    sent: u64,
    /// Whether it has something to expand, and something to decide.
    certain: bool,
    undecided: bool,
    due: bool,
    states: u64,
    expanded: u64,
}

impl Word {
    fn said(&self) -> Vec<u64> {
        let said = Said::default().stop(self.stop.as_ref());
        let flags = [self.breaks_off, self.found, self.certain, self.undecided, self.due].map(u64::from);
        said.list(&flags).word(self.sent).word(self.states).word(self.expanded).into_words()
    }
}

/// What all say together.
#[derive(Default)]
struct Met {
    stops: Stops,
    breaks_off: bool,
    found: bool,
    certain: bool,
    undecided: bool,
    /// The clock of the first decides for all.
    commits: bool,
    sent: u64,
    states: u64,
    expanded: u64,
}

impl Met {
    fn of(heard: &[Vec<u64>]) -> Self {
        let mut met = Met::default();
        for (worker, words) in heard.iter().enumerate() {
            let mut words = Words::new(words);
            met.stops.add(&mut words);
            if let &[breaks_off, found, certain, undecided, due] = words.list() {
                met.breaks_off |= breaks_off == 1;
                met.found |= found == 1;
                met.certain |= certain == 1;
                met.undecided |= undecided == 1;
                met.commits |= due == 1 && worker == 0;
            }
            met.sent += words.word();
            met.states += words.word();
            met.expanded += words.word();
        }
        met
    }
}

impl Exploration<'_> {
    /// Expands some of what this worker owns, and meets the others; how the search ended, if it did.
    pub(super) async fn expand_together(&mut self) -> Result<Option<RelaxedEnd>, Trouble> {
        self.helping = self.are_many.then(|| self.mailbox.helping(self.options.shape));
        let failed = self.failed.take();
        let recounts = std::mem::take(&mut self.recounts);
        let expanded = match &failed {
            None if !recounts => self.expand_blocks().await,
            _ => Ok(None),
        };
        let expanded = self.help(expanded).await;
        let (stop, breaks_off) = match expanded.and_then(|stop| self.sort_out().map(|()| stop)) {
            Ok(stop) => (failed.clone().or(stop), failed.is_some()),
            Err(trouble) => (Some(as_stop(trouble)?), true),
        };
        let word = Word {
            stop,
            breaks_off,
            found: self.lanes.iter().any(|lane| lane.finding.is_some()),
            sent: std::mem::take(&mut self.sent),
            certain: self.has_certain(),
            undecided: self.pool.has_undecided(),
            due: self.closed.as_ref().is_some_and(|closed| closed.ledger.is_due()),
            states: self.states(),
            expanded: std::mem::take(&mut self.expanded),
        };
        let met = Met::of(&self.hear(&word.said())?);
        self.rounds += 1;
        self.are_many = met.expanded >= HELPED_FROM;
        self.task.control.gauges.states.store(met.states, Ordering::Relaxed);
        let is_full = self.task.control.limits.max_states.is_some_and(|most| met.states >= most);
        // What is undecided may be known: all decide first, and count again.
        self.recounts = is_full && met.undecided;
        let limit = (is_full && !met.undecided).then_some(StopReason::StateLimit);
        match met.stops.reason().or(limit) {
            Some(reason) => {
                let keeping = if met.breaks_off { Keeping::LastCommit } else { Keeping::All };
                return self.end_together(Verdict::Stopped(reason), keeping).await.map(Some);
            }
            None if met.found => return Ok(Some(RelaxedEnd::Found)),
            None => {}
        }
        let is_idle = !met.certain && met.sent == 0;
        if is_idle && !met.undecided {
            return self.end_together(Verdict::Holds, Keeping::All).await.map(Some);
        }
        let done = match self.take_incoming().await {
            Ok(()) if met.commits || is_idle || self.recounts => self.decide().await,
            taken => taken,
        };
        let done = match done {
            Ok(()) if met.commits => self.commit(RUNNING),
            done => done,
        };
        if let Err(trouble) = done {
            self.failed = Some(as_stop(trouble)?);
        }
        self.tell_others(met.commits);
        Ok(None)
    }

    /// Expands blocks of states; why it must stop, if it must.
    async fn expand_blocks(&mut self) -> Result<Option<StopReason>, Trouble> {
        if !std::mem::replace(&mut self.is_begun, true) && self.mailbox.is_first() {
            self.start().await?;
        }
        let mut block = Vec::new();
        for _ in 0..BLOCKS {
            if self.lanes.iter().any(|lane| lane.finding.is_some()) {
                break;
            }
            match self.task.control.must_stop(self.states()) {
                Some(StopReason::StateLimit) if self.pool.has_undecided() => break,
                Some(reason) => return Ok(Some(reason)),
                None => {}
            }
            let from_set = match &mut self.closed {
                Some(closed) => closed.next_block(&mut block)?,
                None => false,
            };
            if !from_set && !self.pool.take_certain(BLOCK, &mut block) {
                break;
            }
            self.expanded += (block.len() / self.options.shape.words()) as u64;
            self.expand_or_lend(&block).await?;
        }
        Ok(None)
    }

    /// Expands states, but for those that other workers take who are free.
    async fn expand_or_lend(&mut self, mut block: &[u64]) -> Result<(), Trouble> {
        if self.helping.is_none() {
            return self.expand(block).await;
        }
        let piece = PIECE * self.lanes.len() * self.options.shape.words();
        while !block.is_empty() {
            if let Some(helping) = &self.helping {
                block = helping.lend(block)?;
            }
            let (own, rest) = block.split_at(piece.min(block.len()));
            self.expand(own).await?;
            block = rest;
        }
        Ok(())
    }

    /// Tells the others that this worker has nothing left in this round, and expands what they lend until nobody has. What is lent
    /// is expanded even where this worker must stop: whoever lent it keeps it as expanded.
    async fn help(
        &mut self,
        expanded: Result<Option<StopReason>, Trouble>,
    ) -> Result<Option<StopReason>, Trouble> {
        let Some(helping) = self.helping.take() else { return expanded };
        helping.has_expanded_its_own()?;
        let stop = expanded?;
        loop {
            self.take_in()?;
            match helping.hear()? {
                Heard::States(from, block) => {
                    self.expand(&block).await?;
                    let states = (block.len() / self.options.shape.words()) as u64;
                    self.mailbox.has_helped(states);
                    helping.is_free_for(from)?;
                }
                Heard::Over => return Ok(stop),
                Heard::Nothing => helping.wait(),
            }
        }
    }

    /// Takes in what arrived, so that nobody waits who sends.
    fn take_in(&mut self) -> Result<(), Trouble> {
        let Some(closed) = &self.closed else { return Ok(()) };
        let (incoming, at) = (&mut self.incoming, (closed.ledger.disk(), &self.options));
        self.mailbox.take_in(&mut |batch| Ok(incoming.take(batch, at)?))
    }

    fn has_certain(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.has_waiting()) || self.pool.has_certain()
    }

    /// Sends what others own.
    pub(super) fn sort_out(&mut self) -> Result<(), Trouble> {
        let Some(closed) = self.closed.as_ref().filter(|_| !self.mailbox.is_alone()) else { return Ok(()) };
        let (shape, words) = (self.options.shape, self.options.shape.words());
        let (mailbox, incoming, at) =
            (&mut self.mailbox, &mut self.incoming, (closed.ledger.disk(), &self.options));
        let sent = &mut self.sent;
        let send = async |states: &mut Vec<u64>| {
            sort_records(shape, states);
            *sent += (states.len() / words) as u64;
            mailbox.sort_out(states, &mut |batch| Ok(incoming.take(batch, at)?))
        };
        hadal_store::vfs::at_once(self.pool.each(Class::Foreign, self.most_sorted, &mut self.sorted, send))?;
        self.pool.sorted_out();
        Ok(())
    }

    /// The same, ready to meet the others: rounds have passed since it was made.
    pub(super) fn meeting_others(mut self) -> Self {
        self.mailbox.keep_quiet(false);
        self
    }

    /// Meets the others.
    fn hear(&mut self, words: &[u64]) -> Result<Vec<Vec<u64>>, Trouble> {
        let Some(closed) = &self.closed else { return Err(Trouble::NothingToResume) };
        let (incoming, at, mut failed) = (&mut self.incoming, (closed.ledger.disk(), &self.options), None);
        let heard = self.mailbox.agree(words, &mut |batch| {
            // The others wait: what cannot be taken is told when all meet again.
            if failed.is_none() {
                failed = incoming.take(batch, at).err();
            }
            Ok(())
        })?;
        if let Some(trouble) = failed {
            self.failed = Some(as_stop(trouble.into())?);
        }
        Ok(heard)
    }

    /// Puts what came from others into the pool, deciding what that holds whenever it is full.
    async fn take_incoming(&mut self) -> Result<(), Trouble> {
        let held = std::mem::take(&mut self.incoming.held);
        let taken = self.meet_pool(&held).await;
        self.incoming.held = held;
        self.incoming.held.clear();
        taken?;
        let mut block = Vec::new();
        for run in std::mem::take(&mut self.incoming.runs) {
            let mut reader = RunReader::open(&run)?;
            while reader.next_block(&mut block)? {
                self.meet_pool(&block).await?;
            }
        }
        Ok(())
    }

    async fn meet_pool(&mut self, states: &[u64]) -> Result<(), Trouble> {
        let words = self.options.shape.words();
        for piece in states.chunks(BLOCK * words) {
            let states = States::new(words, piece);
            let mut tries = 0;
            // What was taken before it was full is decided, and known when it comes again.
            while let Err(full) =
                self.pool.sinks()[0].take(Batch { states, parents: &[], payloads: &[] }, |_| {})
            {
                tries += 1;
                if tries > 2 {
                    return Err(full.into());
                }
                self.decide().await?;
            }
        }
        Ok(())
    }

    /// Ends the search with all others, and keeps what was seen.
    async fn end_together(&mut self, verdict: Verdict, keeping: Keeping) -> Result<RelaxedEnd, Trouble> {
        let mut failed = None;
        if keeping == Keeping::All {
            let taken = match self.take_incoming().await {
                Ok(()) => self.decide().await,
                failed => failed,
            };
            let written = match taken {
                Ok(()) => self.commit(&status(&verdict)),
                failed => failed,
            };
            failed = written.err().map(as_stop).transpose()?;
        }
        let counts = self.counts();
        let said = Said::default().stop(failed.as_ref()).word(self.states()).word(self.transitions());
        let mut totals = Totals { states: 0, transitions: 0, counts: Counts::zero(self.task.space) };
        let mut stops = Stops::default();
        for words in &self.mailbox.agree_on(&said.counts(&counts).into_words())? {
            let mut words = Words::new(words);
            stops.add(&mut words);
            totals.states += words.word();
            totals.transitions += words.word();
            totals.counts.add(&words.counts());
        }
        let verdict = match (stops.reason(), verdict) {
            (Some(reason), _) => Verdict::Stopped(reason),
            (None, Verdict::Holds) => complete(self.task, &totals.counts.covers),
            (None, verdict) => verdict,
        };
        self.totals = Some(totals);
        Ok(RelaxedEnd::Decided(verdict))
    }

    /// Tells whoever watches how this worker stands.
    fn tell_others(&mut self, committed: bool) {
        let own = self.states();
        self.mailbox.tell(own, committed.then_some(self.rounds));
    }
}

/// The reason to stop that a trouble is, where others wait for this worker.
fn as_stop(trouble: Trouble) -> Result<StopReason, Trouble> {
    match trouble {
        trouble if trouble.is_disk_full() => Ok(StopReason::DiskFull),
        trouble if trouble.is_stop() => Ok(StopReason::Interrupted),
        Trouble::OverBudget(full) => Ok(out_of_memory(full)),
        trouble => Err(trouble),
    }
}
