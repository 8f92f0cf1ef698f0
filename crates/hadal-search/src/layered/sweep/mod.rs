//! The loop of a layered search: expand a layer, let the detector find the next, commit (Lamborn 2014, sec. 3.1).

mod answer;
mod expand;
mod parts;
mod together;

pub(crate) use parts::{Keep, Means, Origin, Partly};

use super::Trouble;
use super::cache::Cache;
use super::detector::{Detector, LayerView, Nothing};
use super::journal::Journal;
use super::ledger::Ledger;
use super::round::Round;
use super::tally::{Counted, DiskMark};
use crate::exchange::Mailbox;
use crate::explore::{Phase, Progress};
use crate::lane::{Lane, SearchTask, take_finding, total_counts};
use crate::report::{Layer, Proviso, Stage, StopReason, Verdict, Violation};
use crate::resting::{Reins, busy};
use crate::run::RUNNING;
use hadal_store::Governor;
use hadal_store::vfs::{Disk, at_once};
use hadal_system::units::grouped;
pub(crate) use parts::Fallback;
use parts::{Answered, At, Expanding, Source};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use together::Met;

/// What a transition counts as, its part in detection included: about nanoseconds. A byte that is read or written counts as one,
/// its part in merging included.
const TRANSITION_WORK: u64 = 120;
/// States of another search's layer that are expanded at a time.
const REST_BLOCK: usize = 1 << 16;

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
    /// What went wrong in this worker when the others had gone on: all stop at the next meeting.
    failed: Option<StopReason>,
    /// Whether deleted layers, or a bound, qualify the answer.
    pub(in crate::layered) proviso: Option<Proviso>,
    /// Notices where states come again for ever.
    round: Round,
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
            round: Round::default(),
            journal,
            counted,
            moved_before: disk.traffic.bytes_moved(),
            fired_before,
            disk,
            keep,
            begun,
            mailbox,
            widths: Vec::new(),
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

    /// Begins the journal's last layer, unless there is nothing to expand.
    fn begin_layer(
        &mut self,
        partly: Option<Partly>,
    ) -> Result<ControlFlow<Option<Answered>, Expanding>, Trouble> {
        let depth = self.journal.depth() - 1;
        if self.counted.layers.len() > depth {
            // The run was committed when its last layer was expanded: there is nothing left to do.
            return Ok(ControlFlow::Break(self.complete()));
        }
        let limits = &self.task.control.limits;
        if limits.max_depth.is_some_and(|max| depth as u64 >= max) && partly.is_none() {
            return Ok(ControlFlow::Break(Some(Verdict::Stopped(StopReason::DepthLimit).into())));
        }
        if let Some(bound) = self.keep.diameter.filter(|&bound| depth as u64 > bound) {
            self.proviso = Some(Proviso::Diameter { bound });
            return Ok(ControlFlow::Break(self.complete_before(depth)));
        }
        let counts_again =
            matches!(self.proviso, Some(Proviso::LayersDeleted { .. } | Proviso::BoundTrusted));
        let may_end = partly.is_none() && self.mailbox.is_alone();
        if counts_again && may_end && self.round.closes_with(&self.journal, depth)? {
            return Ok(ControlFlow::Break(self.complete_before(depth)));
        }
        let gauges = &self.task.control.gauges;
        gauges.begin_layer(depth as u64, self.journal.states(depth));
        if partly.is_none() {
            gauges.expanded.store(0, Ordering::Relaxed);
        }
        let fired = self.fired() - partly.as_ref().map_or(0, |partly| partly.fired);
        let mark = DiskMark::of(&self.disk);
        let source = match partly {
            Some(Partly { rest: (rest, memory), .. }) => {
                Source::Rest { flat: rest, next: 0, _memory: memory }
            }
            None => Source::Journal(self.journal.reader(depth)?),
        };
        Ok(ControlFlow::Continue(Expanding { depth, fired, mark, source, done: 0 }))
    }

    /// Ends the search before this layer, the last: whatever is in it was met before, in a layer that is gone, so it is no layer
    /// of its own.
    fn complete_before(&mut self, depth: usize) -> Option<Answered> {
        let again = self.journal.states(depth);
        self.journal.pop();
        if let Some(row) = self.counted.layers.last_mut() {
            row.unique -= again;
            row.duplicates.earlier += again;
        }
        self.task.control.gauges.states.fetch_sub(again, Ordering::Relaxed);
        self.complete()
    }

    /// Expands the journal's last layer, unless there is nothing to expand, and finds the next.
    async fn layer(
        &mut self,
        partly: Option<Partly>,
        reins: &Reins<'a>,
    ) -> Result<Option<Answered>, Trouble> {
        let mut layer = match self.begin_layer(partly)? {
            ControlFlow::Continue(layer) => layer,
            ControlFlow::Break(answered) => return Ok(answered),
        };
        let mut stopped = match self.expand(&mut layer, reins).await {
            Ok(stopped) => stopped,
            Err(trouble) => Some(self.shared_stop(trouble)?),
        };
        let Expanding { depth, fired, mark, source, done } = layer;
        self.begun = self.begun.max(done);
        // Its memory is needed for what comes.
        drop(source);
        if stopped.is_none()
            && let Err(trouble) = self.drain().await
        {
            stopped = Some(self.shared_stop(trouble)?);
        }
        let mut finding = None;
        if stopped.is_none() || !self.mailbox.is_alone() {
            finding = take_finding(&mut self.lanes);
            (stopped, finding) = self.meet(stopped, finding)?;
        }
        match (stopped, finding) {
            (Some(reason), finding) => {
                // It is told that something is wrong, not what.
                self.lanes[0].finding = self.lanes[0].finding.take().or(finding);
                Ok(Some(Verdict::Stopped(reason).into()))
            }
            (None, Some(finding)) => {
                self.at = At::Found(finding, depth);
                Ok(None)
            }
            (None, None) => self.end_layer(depth, fired, &mark).await,
        }
    }

    /// Expands a layer; the reason where it stops before its end.
    async fn expand(
        &mut self,
        layer: &mut Expanding,
        reins: &Reins<'a>,
    ) -> Result<Option<StopReason>, Trouble> {
        if self.failed.is_some() {
            return Ok(self.failed.take());
        }
        let words = self.journal.shape().stride();
        let (mut block, mut fired) = (Vec::new(), self.fired());
        loop {
            let (mut stopped, block_len) = match &mut layer.source {
                Source::Journal(reader) => match reader.next_records(&mut block)? {
                    true => (self.expand_block(&block).await?, block.len()),
                    false => return Ok(None),
                },
                Source::Rest { flat, next, .. } if *next < flat.len() => {
                    let from = std::mem::replace(next, flat.len().min(*next + REST_BLOCK * words));
                    (self.expand_block(&flat[from..*next]).await?, *next - from)
                }
                // Successors of states that were expanded before may wait in the lanes, and they belong to this layer.
                Source::Rest { .. } => return self.expand_block(&[]).await,
            };
            if stopped.is_none() {
                if !self.mailbox.is_alone() {
                    self.take_in()?;
                }
                layer.done += (block_len / words) as u64;
                if layer.done > self.begun {
                    // The first new work of this sitting: what an earlier one did in vain is behind it.
                    self.task.control.count_time();
                }
                reins.count((self.fired() - fired) * TRANSITION_WORK);
                fired = self.fired();
                let states = self.task.control.gauges.states.load(Ordering::Relaxed);
                reins.note(states, self.transitions_so_far());
                self.disk.rest().await?;
                stopped = reins.turn().ends().then_some(StopReason::Interrupted);
            }
            if stopped.is_some() {
                self.begun = self.begun.max(layer.done);
                return Ok(stopped);
            }
        }
    }

    /// Lets the detector find the next layer.
    async fn end_layer(
        &mut self,
        depth: usize,
        fired: u64,
        mark: &DiskMark,
    ) -> Result<Option<Answered>, Trouble> {
        let mut layer = self.journal.writer();
        let disk = self.disk.clone();
        let armed = self.task.control.brake(&disk);
        let (found, seconds) = busy(self.detector.finish_layer(&mut layer)).await;
        drop(armed);
        let own = layer.states();
        let fired = self.fired() - fired;
        let row = &mut self.counted.row;
        row.transitions = fired;
        row.states = self.journal.states(depth);
        row.seconds.detecting += seconds;
        let found = match found {
            Ok(found) => {
                row.candidates += found.besides;
                self.end_row(found, own, mark)
            }
            Err(trouble) => Err(self.shared_stop(trouble)?),
        };
        let Met { mut row, counts, commits } = match self.meet_at_end(found)? {
            Ok(met) => met,
            Err(reason) => return Ok(Some(Verdict::Stopped(reason).into())),
        };
        let unique = row.unique;
        if let Some(most) = self.task.control.limits.max_states.filter(|&most| self.states() + unique > most)
        {
            // The last layer stays the frontier: a run with a higher limit expands it again.
            self.task.control.warn(format!(
                "with layer {} there would be {} states, more than --max-states {}: it is dropped",
                depth + 1,
                grouped(self.states() + unique),
                grouped(most),
            ));
            self.take_back(layer);
            return Ok(Some(Verdict::Stopped(StopReason::StateLimit).into()));
        }
        if let Some(settling) = self.detector.settling() {
            // Layers found by a bound that is trusted share states with others for good.
            let apart = if settling.is_trusted() { 0 } else { settling.settled() as usize };
            self.journal.keep_apart_from(apart);
        }
        let pushed = if unique > 0 { self.journal.push(layer) } else { Ok(()) };
        if unique == 0 || self.journal.depth() > depth + 1 {
            self.begun = 0;
            self.task.control.count_time();
            // The layer counts as expanded exactly if the journal has the next one, also when something fails here.
            if self.mailbox.is_alone() {
                mark.complete(&mut row, &DiskMark::of(&self.disk));
            }
            self.counted.layers.push(row);
            self.counted.counts = counts;
        }
        if unique == 0 {
            return Ok(self.complete());
        }
        self.widths.push(unique);
        self.task.control.gauges.states.fetch_add(unique, Ordering::Relaxed);
        let ended = match pushed {
            Ok(()) => self.go_deeper(depth, commits).await,
            failed => failed,
        };
        if let Err(trouble) = ended {
            // The others go on: they hear of it when they meet again.
            self.failed = Some(self.shared_stop(trouble)?);
        }
        self.at = At::Between(None);
        Ok(None)
    }

    /// Closes the layer just found, and commits where that is due.
    async fn go_deeper(&mut self, depth: usize, commits: bool) -> Result<(), Trouble> {
        let detector = &mut self.detector;
        let mut close = async |layer: LayerView<'_>| detector.closed(depth as u64 + 1, layer).await;
        let (closed, seconds) = busy(self.journal.view_last(&mut close)).await;
        self.counted.row.seconds.detecting += seconds;
        closed?;
        if self.detector.struggles() {
            self.fall_back().await?;
        }
        if self.detector.settling().is_some_and(|settling| settling.is_due()) {
            self.settle().await?;
        }
        self.delete_old();
        if let Some(warning) = self.ledger.as_mut().and_then(|ledger| ledger.foresee(&self.journal)) {
            self.task.control.warn(warning);
        }
        if commits {
            // Not at every layer: there may be many, and each may have a file.
            self.task.control.gauges.disk.store(self.journal.bytes(), Ordering::Relaxed);
            if !self.is_unsettled() {
                self.commit(RUNNING)?;
            }
        }
        self.tell_others();
        Ok(())
    }

    /// Whether layers may still hold states of earlier ones, so that they cannot be committed.
    fn is_unsettled(&mut self) -> bool {
        let depth = self.journal.depth() as u64;
        self.detector.settling().is_some_and(|settling| settling.settled() < depth)
    }

    /// Deletes the oldest layers where the rest is all that may be kept (Lamborn and Hansen 2006).
    fn delete_old(&mut self) {
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
        many || self.keep.bytes.is_some_and(|bytes| self.journal.bytes_held() > bytes)
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
        if let Some(finding) = finding {
            let payload = self.payload_of(0, &finding.state).await?;
            let path = if finding.state.is_empty() { Vec::new() } else { vec![finding.state] };
            let verdict = Verdict::Violated(Violation { kind: finding.kind, path, shortest: true });
            return Ok(Some(Answered { payload, ..verdict.into() }));
        }
        let mut layer = self.journal.writer();
        self.detector.finish_layer(&mut layer).await?;
        let (states, counts) = self.meet_at_start(layer.states())?;
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
