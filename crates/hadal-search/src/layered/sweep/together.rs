//! A sweep of several workers: where they meet, and what they agree on. A worker alone meets itself at no cost.

use super::{At, Sweep, total_counts};
use crate::exchange::{Said, Stops, Words};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::layered::Trouble;
use crate::layered::detector::Found;
use crate::layered::journal::Journal;
use crate::layered::ledger::Ledger;
use crate::layered::tally::{Counted, DiskMark};
use crate::report::{CoverFigures, Layer, StopReason, Verdict};
use std::sync::atomic::Ordering;

/// What all agreed on at the end of a layer.
pub(super) struct Met {
    /// Figures of the layer, of all workers together.
    pub(super) row: Layer,
    /// What all counted.
    pub(super) counts: Counts,
    /// Whether all commit now.
    pub(super) commits: bool,
}

impl Sweep<'_> {
    /// The reason to stop that a trouble is, where it need not end this worker: others may wait for it. Alone, every trouble
    /// stays one.
    pub(super) fn shared_stop(&mut self, trouble: Trouble) -> Result<StopReason, Trouble> {
        match trouble {
            trouble if self.mailbox.is_alone() => Err(trouble),
            trouble if trouble.is_disk_full() => Ok(StopReason::DiskFull),
            trouble if trouble.is_stop() => Ok(self.limit().unwrap_or(StopReason::Interrupted)),
            Trouble::OverBudget(full) => Ok(crate::run::out_of_memory(full)),
            trouble => Err(trouble),
        }
    }

    /// Sends what others own of the batch that was sorted last; the rest is left to be offered.
    pub(super) fn sort_out(&mut self) -> Result<(), Trouble> {
        let mut sorted = self.cache.take_sorted();
        let stride = self.journal.shape().stride();
        *self.counted.passed.get_or_insert(0) += (sorted.len() / stride) as u64;
        let (mailbox, mut deciding) = self.deciding();
        let sent = mailbox.sort_out(&mut sorted, &mut |batch| deciding.take(batch));
        self.counted.row.candidates += (sorted.len() / stride) as u64;
        self.cache.put_sorted(sorted);
        sent
    }

    /// Offers what arrived from others to the detector, once there is enough of it.
    pub(super) fn take_in(&mut self) -> Result<(), Trouble> {
        let (mailbox, mut deciding) = self.deciding();
        mailbox.take_in(&mut |batch| deciding.take(batch))
    }

    /// Waits until all have expanded the layer, and everything generated is with its owner. Whether somebody must stop, and
    /// what is reported of everything found.
    pub(super) fn meet(
        &mut self,
        stopped: Option<StopReason>,
        finding: Option<Finding>,
    ) -> Result<(Option<StopReason>, Option<Finding>), Trouble> {
        if self.mailbox.is_alone() {
            return Ok((stopped, finding));
        }
        let said = Said::default().stop(stopped.as_ref()).finding(finding.as_ref()).into_words();
        let (mailbox, mut deciding) = self.deciding();
        let mut failed = None;
        let heard = mailbox.agree(&said, &mut |batch| {
            // The others wait: what cannot be taken is told when all meet again.
            if failed.is_none() {
                failed = deciding.take(batch).err();
            }
            Ok(())
        })?;
        self.failed = match failed {
            Some(trouble) => Some(self.shared_stop(trouble)?),
            None => self.failed.take(),
        };
        let (mut stops, mut best) = (Stops::default(), None);
        for words in &heard {
            let mut words = Words::new(words);
            stops.add(&mut words);
            words.finding().into_iter().for_each(|finding| Finding::offer(&mut best, finding));
        }
        Ok((stops.reason(), best))
    }

    /// This worker's figures of the layer, with what came from others.
    pub(super) fn end_row(
        &mut self,
        mut found: Found,
        own: u64,
        mark: &DiskMark,
    ) -> Result<Layer, StopReason> {
        let taken = self.mailbox.taken();
        self.counted.row.candidates += taken.states;
        found.within += taken.twice;
        if !self.mailbox.is_alone() {
            // What threads wrote themselves was their own to decide, and so left their caches.
            *self.counted.passed.get_or_insert(0) += found.besides;
        }
        Ok(self.counted.end_row(found, own, mark, &DiskMark::of(&self.disk)))
    }

    /// Tells what became of the layer, and hears it of all: its figures, or why the search stops.
    pub(super) fn meet_at_end(
        &mut self,
        own: Result<Layer, StopReason>,
    ) -> Result<Result<Met, StopReason>, Trouble> {
        let counts = total_counts(&self.lanes, self.task.space);
        let due = self.ledger.as_ref().is_some_and(Ledger::is_due);
        if self.mailbox.is_alone() {
            return Ok(own.map(|row| Met { row, counts: self.counted.sum(counts), commits: due }));
        }
        let own = match self.failed.take() {
            Some(reason) => Err(reason),
            None => own,
        };
        let said = Said::default().stop(own.as_ref().err()).word(u64::from(due)).counts(&counts);
        let said = match &own {
            Ok(row) => said.layer(row),
            Err(_) => said,
        };
        let heard = self.mailbox.agree_on(&said.into_words())?;
        let (mut stops, mut row, mut commits) = (Stops::default(), Layer::default(), false);
        let mut total = Counts::zero(self.task.space);
        for (worker, words) in heard.iter().enumerate() {
            let mut words = Words::new(words);
            stops.add(&mut words);
            // One clock decides for all.
            commits |= words.word() == 1 && worker == 0;
            total.add(&words.counts());
            words.add_layer(&mut row);
        }
        match stops.reason() {
            Some(reason) => Ok(Err(reason)),
            None => Ok(Ok(Met { row, counts: self.counted.sum(total), commits })),
        }
    }

    /// The initial states of all workers, and what was counted.
    pub(super) fn meet_at_start(&mut self, own: u64) -> Result<(u64, Counts), Trouble> {
        let counts = total_counts(&self.lanes, self.task.space);
        self.mailbox.taken();
        if self.mailbox.is_alone() {
            return Ok((own, self.counted.sum(counts)));
        }
        let said = Said::default().word(own).counts(&counts).into_words();
        let (mut states, mut total) = (0, Counts::zero(self.task.space));
        for words in &self.mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            states += words.word();
            total.add(&words.counts());
        }
        Ok((states, self.counted.sum(total)))
    }

    /// Adds up how many states each layer has, where what was committed has some.
    pub(crate) fn meet_again(&mut self) -> Result<(), Trouble> {
        if self.mailbox.is_alone() {
            return Ok(());
        }
        let own: Vec<u64> = (0..self.journal.depth()).map(|depth| self.journal.states(depth)).collect();
        self.widths = vec![0; own.len()];
        for words in &self.mailbox.agree_on(&own)? {
            self.widths.iter_mut().zip(words).for_each(|(sum, own)| *sum += own);
        }
        let gauges = &self.task.control.gauges;
        gauges.states.store(self.widths.iter().sum(), Ordering::Relaxed);
        self.tell_others();
        Ok(())
    }

    /// What is left up to covering, of all workers together, once every state is known; or why one cannot say.
    pub(super) async fn covering(&mut self) -> Result<Result<Option<CoverFigures>, StopReason>, Trouble> {
        let own = self.detector.covering().await;
        if self.mailbox.is_alone() || self.task.space.cover().is_none() {
            return own.map(Ok);
        }
        let own = match own {
            Ok(own) => Ok(own),
            Err(trouble) => Err(self.shared_stop(trouble)?),
        };
        let figures = own.as_ref().ok().copied().flatten();
        let counts = figures.map_or(Vec::new(), |it| vec![it.discrete, it.maximal]);
        let said = Said::default().stop(own.as_ref().err()).list(&counts).into_words();
        let (mut stops, mut sum) = (Stops::default(), None);
        for words in &self.mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            stops.add(&mut words);
            // Keys have one owner each, so none counts twice.
            if let &[discrete, maximal] = words.list() {
                let sum: &mut CoverFigures = sum.get_or_insert_default();
                (sum.discrete, sum.maximal) = (sum.discrete + discrete, sum.maximal + maximal);
            }
        }
        Ok(match stops.reason() {
            Some(reason) => Err(reason),
            None => Ok(sum),
        })
    }

    /// Why it is at its end before it began, where it is.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        match self.verdict() {
            Verdict::Stopped(reason) if matches!(self.at, At::End(_)) => Some(reason),
            _ => None,
        }
    }

    /// Whether its last layer has at least so many states, or all of them four times as many.
    pub(crate) fn is_wider_than(&self, states: u64) -> bool {
        let last = self.journal.depth().checked_sub(1).map_or(0, |depth| self.journal.states(depth));
        matches!(self.at, At::Between(_)) && (last >= states || self.states() >= 4 * states)
    }

    /// How many layers are complete, and what is counted in them.
    pub(crate) fn standing_at(&self) -> (usize, &Counted) {
        (self.journal.depth(), &self.counted)
    }

    /// Its layers, and what was counted in them.
    pub(crate) fn into_parts(self) -> (Journal, Counted) {
        (self.journal, self.counted)
    }

    /// Tells whoever watches how this worker stands.
    pub(super) fn tell_others(&mut self) {
        if !self.mailbox.is_alone() {
            let own = (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum();
            let committed = self.ledger.as_ref().and_then(Ledger::committed_depth);
            self.mailbox.tell(own, committed);
        }
    }
}
