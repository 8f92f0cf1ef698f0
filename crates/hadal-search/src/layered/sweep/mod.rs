//! The loop of a layered search: expand a layer, let the detector find the next, commit (Lamborn 2014, sec. 3.1).

mod answer;
mod deciding;
mod expand;
mod help;
mod last;
mod layer;
mod parts;
mod together;

pub(crate) use parts::{Keep, Means, Origin, Partly};

use super::Trouble;
use super::cache::Cache;
use super::detector::{Detector, Nothing};
use super::journal::Journal;
use super::ledger::Ledger;
use super::tally::Counted;
use crate::exchange::{Helping, Mailbox};
use crate::explore::{Phase, Progress};
use crate::lane::{Lane, SearchTask, take_finding, total_counts};
use crate::report::{Layer, Proviso, Stage, StopReason, Verdict, Violation};
use crate::resting::Reins;
use hadal_store::Governor;
use hadal_store::vfs::{Disk, at_once};
use last::{Beyond, Last};
use parts::{Answered, At};
pub(crate) use parts::{Fallback, Next};
use std::sync::atomic::Ordering;

/// What a transition counts as, its part in detection included: about nanoseconds. A byte that is read or written counts as one,
/// its part in merging included.
const TRANSITION_WORK: u64 = 120;

/// A layered search that is under way.
pub(crate) struct Sweep<'a> {
    pub(in crate::layered) task: SearchTask<'a>,
    governor: Governor,
    lanes: Vec<Lane<'a>>,
    cache: Cache,
    pub(in crate::layered) detector: Box<dyn Detector + 'a>,
    fallback: Option<Fallback<'a>>,
    pub(in crate::layered) journal: Journal,
    pub(in crate::layered) counted: Counted,
    disk: Disk,
    ledger: Option<Ledger>,
    keep: Keep,
    mailbox: Mailbox<'a>,
    /// States of each layer, of all workers together, where there are several.
    widths: Vec<u64>,
    /// Who may help in the layer being expanded, where that is worth it.
    helping: Option<Helping<'a>>,
    /// What went wrong in this worker when the others had gone on: all stop at the next meeting.
    failed: Option<StopReason>,
    /// Whether deleted layers, or a bound, qualify the answer.
    pub(in crate::layered) proviso: Option<Proviso>,
    /// The layer that was being found when something wrong was, while it stands in the journal.
    pub(in crate::layered) last: Option<Last>,
    /// What the answer counts of it.
    beyond: Option<Beyond>,
    /// Most states of layers that were there at once.
    peak_states: u64,
    /// States of the layer being expanded that were expanded in vain, in this sitting or before.
    begun: u64,
    /// Bytes that had been read and written before it.
    moved_before: u64,
    /// Transitions of earlier sittings and of other storage; what its lanes had fired then is not among them.
    fired_before: u64,
    at: At,
}

impl<'a> Sweep<'a> {
    pub(crate) fn new(task: SearchTask<'a>, governor: &Governor, means: Means<'a>, origin: Origin) -> Self {
        let Means { lanes, cache, detector, fallback, keep, mailbox } = means;
        let Origin { disk, ledger, journal, layers, counts, seconds, stages, partly, begun } = origin;
        if task.control.is_resumed() {
            task.control.hold_time();
        }
        let mut counted = Counted::new(task.space, layers, counts, seconds, stages);
        if let Some(partly) = &partly {
            counted.go_on_with(task.space, partly.offered);
        }
        let fired = lanes.iter().map(|lane| lane.transitions).sum::<u64>();
        let partly_fired = partly.as_ref().map_or(0, |partly| partly.fired);
        let fired_before = (counted.transitions() + partly_fired).wrapping_sub(fired);
        let own: Vec<u64> = (0..journal.depth()).map(|depth| journal.states(depth)).collect();
        task.control.gauges.states.store(own.iter().sum(), Ordering::Relaxed);
        task.control.gauges.disk.store(journal.bytes(), Ordering::Relaxed);
        task.control.gauges.set_widths(own);
        let at = match (&detector, journal.depth()) {
            (None, _) => At::End(Verdict::Stopped(StopReason::DiskFull).into()),
            (_, 0) => At::Start,
            _ => At::Between(partly),
        };
        let peak_states = journal.states_kept();
        Sweep {
            task,
            governor: governor.clone(),
            lanes,
            cache,
            // Where nothing could be made there is nothing to commit, and no room that could be made.
            ledger: ledger.filter(|_| detector.is_some()),
            detector: detector.unwrap_or_else(|| Box::new(Nothing)),
            fallback,
            proviso: journal.proviso(),
            journal,
            peak_states,
            last: None,
            beyond: None,
            counted,
            moved_before: disk.traffic.bytes_moved(),
            fired_before,
            disk,
            keep,
            begun,
            mailbox,
            widths: Vec::new(),
            helping: None,
            failed: None,
            at,
        }
    }

    /// Goes on by a layer, unless everything is seen, something is wrong, or a limit is met; a full disk is such a limit.
    async fn advance(&mut self, reins: &Reins<'a>) -> Result<(), Trouble> {
        let answered = match std::mem::replace(&mut self.at, At::Between(None)) {
            at @ (At::End(_) | At::Known | At::Found(..)) => {
                self.at = at;
                return Ok(());
            }
            At::Start => self.start().await?,
            At::Between(partly) => {
                let part = self.layer(partly, reins).await;
                self.conclude(part).await?
            }
        };
        if let Some(answered) = answered {
            self.at = At::End(answered);
        }
        Ok(())
    }

    /// With other layers kept.
    pub(crate) fn keeping(self, keep: Keep) -> Self {
        Sweep { keep, ..self }
    }

    /// After these stages of storage.
    pub(crate) fn after(mut self, stages: Vec<Stage>) -> Self {
        self.counted.stages.splice(0..0, stages);
        self
    }

    /// Goes on to the end.
    pub(crate) fn run(&mut self) -> Result<(), Trouble> {
        let reins = Reins::new(self.task.control, &self.governor, self.progress());
        while matches!(self.at, At::Start | At::Between(_)) {
            at_once(self.advance(&reins))?;
        }
        Ok(())
    }

    /// Ends the search where it stands, if it is not at its end.
    pub(crate) fn interrupt(&mut self) -> Result<(), Trouble> {
        if !matches!(self.at, At::End(_) | At::Start) {
            self.decide(Verdict::Stopped(StopReason::Interrupted))?;
        }
        Ok(())
    }

    /// The answer; a search that is not at its end was interrupted.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.at {
            At::End(answered) => answered.verdict.clone(),
            _ => Verdict::Stopped(StopReason::Interrupted),
        }
    }

    /// The depth of the first state of a violation's path: above 0 where layers before it are deleted.
    pub(crate) fn path_begins_at(&self) -> usize {
        match &self.at {
            At::End(answered) => answered.path_begins_at,
            _ => 0,
        }
    }

    /// What is kept beside the state that is wrong, where that is so.
    pub(crate) fn take_payload(&mut self) -> Option<Vec<u64>> {
        match &mut self.at {
            At::End(answered) => answered.payload.take(),
            _ => None,
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        let transitions = self.counted.transitions();
        Progress { transitions, disk: self.journal.bytes(), ..self.standing() }
    }

    /// How it stands as far as that is known without a look at every layer: settling may have taken transitions back, and the
    /// disk may hold more since the last commit.
    fn standing(&self) -> Progress {
        let (phase, ahead) = match &self.at {
            At::Start | At::Known | At::Found(..) => (Phase::Between, 0),
            At::Between(_) => (Phase::Between, self.ahead()),
            At::End(_) => (Phase::Over, 0),
        };
        let gauges = &self.task.control.gauges;
        Progress {
            phase,
            depth: Some((self.journal.depth() as u64).saturating_sub(1)),
            states: gauges.states.load(Ordering::Relaxed),
            transitions: self.transitions_so_far(),
            work: self.work(),
            ahead,
            memory: self.governor.current(),
            disk: gauges.disk.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn into_journal(self) -> Journal {
        self.journal
    }

    pub(crate) fn partition_text(&self) -> Option<String> {
        self.detector.partition_text()
    }

    /// Storage of this sitting, and seconds of those before.
    pub(crate) fn take_past(&mut self) -> (Vec<Stage>, f64) {
        (std::mem::take(&mut self.counted.stages), self.counted.seconds_before)
    }

    fn work(&self) -> u64 {
        let moved = self.disk.traffic.bytes_moved() - self.moved_before;
        self.fired() * TRANSITION_WORK + moved
    }

    /// What the next layer will take, if its states are like those before.
    fn ahead(&self) -> u64 {
        let Some(depth) = self.journal.depth().checked_sub(1) else { return 0 };
        let expanded: u64 = self.counted.layers.last().map_or(0, |layer| layer.states);
        let fired: u64 = self.counted.layers.last().map_or(0, |layer| layer.transitions);
        let next = self.journal.states(depth);
        (fired * TRANSITION_WORK).saturating_mul(next).checked_div(expanded).unwrap_or(0)
    }

    /// Whether layers may still hold states of earlier ones, so that they cannot be committed.
    fn is_unsettled(&mut self) -> bool {
        let depth = self.journal.depth() as u64;
        self.detector.settling().is_some_and(|settling| settling.settled() < depth)
    }

    /// Deletes the oldest layers where the rest is all that may be kept (Lamborn and Hansen 2006).
    fn delete_old(&mut self) {
        self.peak_states = self.peak_states.max(self.journal.states_kept());
        let last = self.journal.depth() - 1;
        let mut first = self.journal.first_kept();
        while first + 1 < last && self.must_delete(first, last) {
            self.journal.delete_first();
            first += 1;
            self.proviso = Some(Proviso::LayersDeleted { before: first as u64 });
        }
        if self.proviso.is_some() {
            self.detector.forget_before(first as u64);
        }
    }

    fn must_delete(&self, first: usize, last: usize) -> bool {
        let many = self.keep.layers.is_some_and(|layers| (last - first + 1) as u64 > layers.max(2));
        many || self.keep.bytes.is_some_and(|bytes| self.journal.packed_bytes() > bytes)
    }

    /// Finds the initial states: the first layer.
    async fn start(&mut self) -> Result<Option<Answered>, Trouble> {
        if self.mailbox.is_first() {
            let mut taken = self.lanes[0].start(&mut self.cache.sinks()[0]);
            while taken.is_err() {
                self.drain().await?;
                self.cache.make_room()?;
                taken = self.lanes[0].finish_batch(&mut self.cache.sinks()[0]);
            }
            self.drain().await?;
        }
        let finding = take_finding(&mut self.lanes);
        let (_, finding) = self.meet(None, finding)?;
        (self.counted.row, self.counted.passed) = (Layer::default(), None);
        let mut layer = self.journal.writer();
        self.detector.finish_layer(&mut layer).await?;
        let (states, counts) = self.meet_at_start(layer.states())?;
        if let Some(finding) = finding {
            self.count_last(layer, (None, counts), states).await?;
            let payload = self.payload_of(0, &finding.state)?;
            let path = if finding.state.is_empty() { Vec::new() } else { vec![finding.state] };
            let verdict = Verdict::Violated(Violation { kind: finding.kind, path, shortest: true });
            return Ok(Some(Answered { payload, ..verdict.into() }));
        }
        self.widths.push(states);
        self.task.control.gauges.states.store(states, Ordering::Relaxed);
        let empty = states == 0;
        self.journal.push(layer)?;
        let detector = &mut self.detector;
        self.journal.view_last(&mut async |layer| detector.closed(0, layer).await).await?;
        self.counted.counts = counts;
        Ok(if empty { self.complete() } else { None })
    }

    /// States of complete layers, of all workers.
    fn states(&self) -> u64 {
        match self.mailbox.is_alone() {
            true => (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum(),
            false => self.widths.iter().sum(),
        }
    }

    fn transitions_so_far(&self) -> u64 {
        self.fired_before.wrapping_add(self.fired())
    }

    /// Transitions fired in this sitting.
    fn fired(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.transitions).sum()
    }
}
