//! One layer: expand it, let the detector find the next, close that, and commit where it is due.

use super::parts::{Answered, At, Expanding, Partly, Source};
use super::together::Met;
use super::{Sweep, TRANSITION_WORK};
use crate::finding::Finding;
use crate::lane::take_finding;
use crate::layered::Trouble;
use crate::layered::detector::LayerView;
use crate::layered::tally::DiskMark;
use crate::report::{Proviso, StopReason, Verdict};
use crate::resting::{Reins, busy};
use crate::run::RUNNING;
use hadal_system::units::grouped;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

impl<'a> Sweep<'a> {
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
        let trusts = self.detector.settling().is_some_and(|settling| settling.is_trusted());
        let counts_again = trusts || self.journal.first_kept() > 0;
        let may_end = partly.is_none() && self.mailbox.is_alone();
        if counts_again && may_end && self.journal.goes_round(depth)? {
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
            Some(Partly { rest, .. }) => Source::Rest(rest),
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
    pub(super) async fn layer(
        &mut self,
        partly: Option<Partly>,
        reins: &Reins<'a>,
    ) -> Result<Option<Answered>, Trouble> {
        let mut layer = match self.begin_layer(partly)? {
            ControlFlow::Continue(layer) => layer,
            ControlFlow::Break(answered) => return Ok(answered),
        };
        self.begin_helping(layer.depth);
        if !self.mailbox.is_alone() {
            self.counted.passed.get_or_insert(0);
        }
        let mut stopped = match self.expand(&mut layer, reins).await {
            Ok(stopped) => stopped,
            Err(trouble) => Some(self.shared_stop(trouble)?),
        };
        stopped = match self.help(stopped).await {
            Ok(stopped) => stopped,
            Err(trouble) => Some(self.shared_stop(trouble)?),
        };
        let Expanding { depth, fired, mark, source, done } = layer;
        self.begun = self.begun.max(done);
        // Its memory is needed for what comes.
        drop(source);
        let row = &mut self.counted.row;
        (row.detection.layer_read, row.seconds.files.layer_read) = mark.layers_read(&self.disk);
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
            (None, finding) => self.end_layer((depth, finding), fired, &mark).await,
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
                    true => (self.expand_or_lend(&block).await?, block.len()),
                    false => return Ok(None),
                },
                Source::Rest(reader) => match reader.next_records(&mut block)? {
                    true => (self.expand_block(&block).await?, block.len()),
                    // Successors of states that were expanded before may wait in the lanes, and they belong to this layer.
                    false => return self.expand_block(&[]).await,
                },
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

    /// Lets the detector find the next layer. Where something wrong was found on the way, that is the last one.
    async fn end_layer(
        &mut self,
        (depth, finding): (usize, Option<Finding>),
        fired: u64,
        mark: &DiskMark,
    ) -> Result<Option<Answered>, Trouble> {
        let mut layer = self.journal.writer();
        let disk = self.disk.clone();
        let armed = match finding {
            // No limit ends the search any more.
            Some(_) => self.task.control.brake_reading_back(&disk),
            None => self.task.control.brake(&disk),
        };
        self.cache.leave();
        let (found, seconds) = busy(self.detector.finish_layer(&mut layer)).await;
        drop(armed);
        self.cache.come_back()?;
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
            Err(trouble) if finding.is_some() => Err(self.stop_at_last(trouble)?),
            Err(trouble) => Err(self.shared_stop(trouble)?),
        };
        let met = self.meet_at_end(found)?;
        if let Some(finding) = finding {
            return self.end_last(layer, (depth, finding), met).await;
        }
        let Met { mut row, counts, commits } = match met {
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
            // A layer of which a worker has no states may have some of others; workers settle nothing.
            if self.mailbox.is_alone() {
                self.drop_empty_layers();
            }
            return Ok(self.complete());
        }
        self.widths.push(unique);
        self.task.control.gauges.states.fetch_add(unique, Ordering::Relaxed);
        let ended = match pushed {
            Ok(()) => self.go_deeper(depth, commits, mark).await,
            failed => failed,
        };
        if let Err(trouble) = ended {
            // The others go on: they hear of it when they meet again.
            self.failed = Some(self.shared_stop(trouble)?);
        }
        self.at = At::Between(None);
        Ok(None)
    }

    /// Closes the layer just found, and settles those before it where that is due.
    async fn close(&mut self, depth: usize) -> Result<(), Trouble> {
        let detector = &mut self.detector;
        let mut close = async |layer: LayerView<'_>| detector.closed(depth as u64 + 1, layer).await;
        self.journal.view_last(&mut close).await?;
        if self.detector.struggles() {
            self.fall_back().await?;
        }
        if self.detector.settling().is_some_and(|settling| settling.is_due()) {
            self.settle().await?;
        }
        Ok(())
    }

    /// Adds what closing took to the figures of the layer from which the closed one was found.
    fn note_closing(&mut self, depth: usize, mark: &DiskMark, seconds: f64) {
        match self.counted.layers.get_mut(depth).filter(|_| self.mailbox.is_alone()) {
            Some(row) => {
                row.seconds.detecting += seconds;
                mark.complete(row, &DiskMark::of(&self.disk));
            }
            // The figures of all workers were added up before.
            None => self.counted.row.seconds.detecting += seconds,
        }
    }

    /// Closes the layer just found, and commits where that is due.
    async fn go_deeper(&mut self, depth: usize, commits: bool, mark: &DiskMark) -> Result<(), Trouble> {
        let (closed, seconds) = busy(self.close(depth)).await;
        self.note_closing(depth, mark, seconds);
        closed?;
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
}
