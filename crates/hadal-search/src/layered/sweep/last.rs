//! The layer that is being found when something wrong turns up.
//!
//! It is finished and counted, so that a violated search counts what the search in RAM counts, whatever the budget. But whoever
//! goes on with the run must meet the violation again: the layer is not among those that are committed.

use super::Sweep;
use super::parts::{Answered, At};
use super::together::Met;
use crate::finding::Finding;
use crate::firings::Counts;
use crate::layered::Trouble;
use crate::layered::detector::LayerView;
use crate::layered::journal::LayerWriter;
use crate::report::{Layer, StopReason, Verdict};
use crate::run::out_of_memory;
use std::sync::atomic::Ordering;

/// Such a layer while it stands in the journal; the row of the layer before it stands among the others.
pub(in crate::layered) struct Last {
    /// What was counted without it.
    pub(in crate::layered) before: Counts,
    /// Whether it has states, and the journal has it.
    stands: bool,
    /// Whether there is a layer before it.
    has_row: bool,
}

/// What the answer counts beyond the complete layers.
#[derive(Default)]
pub(super) struct Beyond {
    pub(super) row: Option<Layer>,
    pub(super) counts: Counts,
    pub(super) states: u64,
}

impl Sweep<'_> {
    /// Why that layer is not finished.
    pub(super) fn stop_at_last(&mut self, trouble: Trouble) -> Result<StopReason, Trouble> {
        match trouble {
            trouble if trouble.is_disk_full() => Ok(StopReason::DiskFull),
            trouble if trouble.is_stop() => Ok(StopReason::Interrupted),
            Trouble::OverBudget(full) => Ok(out_of_memory(full)),
            trouble => Err(trouble),
        }
    }

    /// Counts the layer found while the one at this depth was expanded, with which something wrong was found.
    pub(super) async fn end_last(
        &mut self,
        layer: LayerWriter,
        (depth, finding): (usize, Finding),
        met: Result<Met, StopReason>,
    ) -> Result<Option<Answered>, Trouble> {
        match met {
            Err(StopReason::Interrupted) => {
                // It is told that something is wrong, not what.
                self.lanes[0].finding = Some(finding);
                return Ok(Some(Verdict::Stopped(StopReason::Interrupted).into()));
            }
            Err(reason) => self.leave_out(&reason.to_string()),
            Ok(Met { row, counts, .. }) => {
                let states = row.unique;
                self.count_last(layer, (Some(row), counts), states).await?;
            }
        }
        self.at = At::Found(finding, depth);
        Ok(None)
    }

    /// Counts a layer of so many states that was found together with something wrong: `row` are the figures of the layer
    /// before it, where there is one, and `counts` is what was counted with that. Without room on disk it is not counted.
    pub(super) async fn count_last(
        &mut self,
        layer: LayerWriter,
        (row, counts): (Option<Layer>, Counts),
        states: u64,
    ) -> Result<(), Trouble> {
        let stands = states > 0;
        if stands {
            match self.place(layer).await {
                Err(trouble) if trouble.is_disk_full() => {
                    self.leave_out("the disk is full");
                    return Ok(());
                }
                other => other?,
            }
            self.widths.push(states);
        }
        let has_row = row.is_some();
        self.counted.layers.extend(row);
        let before = std::mem::replace(&mut self.counted.counts, counts);
        self.last = Some(Last { before, stands, has_row });
        Ok(())
    }

    /// Puts the layer where it can be settled.
    async fn place(&mut self, layer: LayerWriter) -> Result<(), Trouble> {
        let depth = self.journal.depth();
        if let Some(settling) = self.detector.settling() {
            let apart = if settling.is_trusted() { 0 } else { settling.settled() as usize };
            self.journal.keep_apart_from(apart);
        }
        let mut placed = self.journal.push(layer);
        if placed.is_ok() && self.detector.settling().is_some() {
            let detector = &mut self.detector;
            let mut close = async |layer: LayerView<'_>| detector.closed(depth as u64, layer).await;
            placed = self.journal.view_last(&mut close).await;
        }
        if placed.is_err() && self.journal.depth() > depth {
            self.journal.pop();
        }
        placed
    }

    /// Says that the layer being found is not counted.
    pub(super) fn leave_out(&self, why: &str) {
        let depth = self.journal.depth();
        self.task
            .control
            .warn(format!("{why}: what is counted leaves out layer {depth}, which was being found"));
    }

    /// Takes that layer out of the journal again. It counts where the answer is what was found with it.
    pub(super) fn take_last(&mut self, verdict: &Verdict) {
        let Some(Last { before, stands, has_row }) = self.last.take() else { return };
        let counts = std::mem::replace(&mut self.counted.counts, before);
        let row = if has_row { self.counted.layers.pop() } else { None };
        let mut states = 0;
        if stands {
            let own = self.journal.states(self.journal.depth() - 1);
            let width = self.widths.pop();
            states = if self.mailbox.is_alone() { own } else { width.unwrap_or(own) };
            self.journal.pop();
        }
        if matches!(verdict, Verdict::Violated(_)) {
            self.task.control.gauges.states.fetch_add(states, Ordering::Relaxed);
            self.beyond = Some(Beyond { row, counts, states });
        }
    }
}
