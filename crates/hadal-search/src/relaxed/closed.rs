//! What an order-relaxed search has closed: sets of the journal, the detector that knows them, and those that wait.

use super::record::WaitingSet;
use crate::layered::Trouble;
use crate::layered::detector::{Detector, LayerView};
use crate::layered::journal::{Journal, LayerReader};
use crate::layered::ledger::Ledger;
use crate::run::storage::on_disk;
use hadal_store::run::RunOptions;
use hadal_system::Ascending;
use std::collections::VecDeque;

/// What is closed and not in the pool.
pub(super) struct Closed<'a> {
    pub(super) ledger: Ledger,
    pub(super) journal: Journal,
    pub(super) detector: Box<dyn Detector + 'a>,
    /// Whether the detector is the one on disk.
    pub(super) on_disk: bool,
    pub(super) waiting: VecDeque<WaitingSet>,
    /// Reads the first waiting set.
    pub(super) reader: Option<LayerReader>,
}

impl Closed<'_> {
    pub(super) fn states(&self) -> u64 {
        (0..self.journal.depth()).map(|set| self.journal.states(set)).sum()
    }

    /// Adds states that are new: a set of their own in the journal.
    pub(super) async fn add(&mut self, states: Ascending<'_>, options: RunOptions) -> Result<(), Trouble> {
        let mut writer = self.journal.writer();
        writer.push_all(states)?;
        self.journal.push(writer)?;
        let (detector, set) = (&mut self.detector, self.journal.depth() as u64 - 1);
        let mut adopt = async |layer: LayerView<'_>| detector.adopt_at_hand(set, states, layer).await;
        let added = self.journal.view_last(&mut adopt).await;
        match added {
            Err(Trouble::OverBudget(_)) if !self.on_disk => self.move_to_disk(options),
            other => other,
        }
    }

    /// Adds those of the candidates that are new; they wait to be expanded.
    pub(super) async fn add_new_of(
        &mut self,
        candidates: Ascending<'_>,
        options: RunOptions,
    ) -> Result<(), Trouble> {
        match self.detector.offer(candidates) {
            Err(Trouble::OverBudget(_)) if !self.on_disk => {
                self.move_to_disk(options)?;
                self.detector.offer(candidates)?;
            }
            other => other?,
        }
        let mut writer = self.journal.writer();
        self.detector.finish_layer(&mut writer).await?;
        if writer.states() > 0 {
            self.journal.push(writer)?;
            let (detector, set) = (&mut self.detector, self.journal.depth() as u64 - 1);
            self.journal.view_last(&mut async |layer| detector.closed(set, layer).await).await?;
            self.wait();
        }
        Ok(())
    }

    /// Whether some states wait to be expanded.
    pub(super) fn has_waiting(&self) -> bool {
        let expanded = |waiting: &WaitingSet| waiting.expanded >= self.journal.states(waiting.set);
        self.waiting.iter().any(|waiting| !expanded(waiting))
    }

    /// The last set of the journal waits to be expanded.
    pub(super) fn wait(&mut self) {
        self.waiting.push_back(WaitingSet { set: self.journal.depth() - 1, expanded: 0 });
    }

    /// Replaces the detector by sorted runs: all that is closed stands in the journal.
    pub(super) fn move_to_disk(&mut self, options: RunOptions) -> Result<(), Trouble> {
        self.detector = Box::new(crate::layered::detector::Nothing);
        self.detector = on_disk(self.ledger.disk(), options, &self.journal, 0)?;
        self.on_disk = true;
        Ok(())
    }

    /// Replaces `block` by the next states that wait; `false` where none do. They count as expanded from now on.
    pub(super) fn next_block(&mut self, block: &mut Vec<u64>) -> Result<bool, Trouble> {
        while let Some(first) = self.waiting.front_mut() {
            let words = self.journal.words();
            let mut skip = 0;
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => {
                    skip = first.expanded as usize;
                    self.reader.insert(self.journal.reader(first.set)?)
                }
            };
            while reader.next_block(block)? {
                let states = block.len() / words;
                if skip >= states {
                    skip -= states;
                    continue;
                }
                block.drain(..skip * words);
                first.expanded += (block.len() / words) as u64;
                return Ok(true);
            }
            self.reader = None;
            self.waiting.pop_front();
        }
        Ok(false)
    }
}
