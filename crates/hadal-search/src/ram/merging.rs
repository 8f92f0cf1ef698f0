//! One lane's way into a table that keeps payloads beside its states.

use crate::lane::{Batch, Sink};
use hadal_store::OverBudget;
use hadal_store::table::{StateTable, Writer};

/// Payloads of states of the layer being found are merged; those of earlier layers are final, because every shortest path
/// into a layer comes from the one before it.
pub(super) struct MergingWriter<'t> {
    writer: Writer<'t>,
    /// Where the layer being found begins in each arena.
    since: &'t [u64],
    taken: Option<usize>,
}

impl<'t> MergingWriter<'t> {
    /// One for each lane, and the table to read from.
    pub(super) fn share(table: &'t mut StateTable, since: &'t [u64]) -> (&'t StateTable, Vec<Self>) {
        let (table, writers) = table.share();
        (table, writers.into_iter().map(|writer| MergingWriter { writer, since, taken: None }).collect())
    }
}

impl Sink for MergingWriter<'_> {
    fn take(&mut self, batch: Batch, told: impl FnMut(usize)) -> Result<(), OverBudget> {
        let Batch { states, payloads, .. } = batch;
        self.taken = None;
        self.writer.merge_all(states.flat(), payloads, self.since, told).map_err(|(taken, full)| {
            self.taken = Some(taken);
            full
        })
    }

    fn taken(&self) -> Option<usize> {
        self.taken
    }
}
