//! Lending states of a layer to workers that have none left, and expanding what others lend.

use super::Sweep;
use crate::exchange::{HELPED_FROM, Heard, PIECE};
use crate::layered::Trouble;
use crate::report::StopReason;
use std::sync::atomic::Ordering;

impl Sweep<'_> {
    /// Before a layer.
    pub(super) fn begin_helping(&mut self, depth: usize) {
        let wide = self.widths.get(depth).is_some_and(|&states| states >= HELPED_FROM);
        let helps = wide && !self.mailbox.is_alone();
        self.helping = helps.then(|| self.mailbox.helping(self.journal.shape()));
    }

    /// Expands a block, but for the parts that others take who are free.
    pub(super) async fn expand_or_lend(&mut self, mut block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        if self.helping.is_none() {
            return self.expand_block(block).await;
        }
        let piece = PIECE * self.lanes.len() * self.journal.shape().stride();
        while !block.is_empty() {
            block = self.lend(block)?;
            let (own, rest) = block.split_at(piece.min(block.len()));
            let stopped = self.expand_block(own).await?;
            if stopped.is_some() {
                return Ok(stopped);
            }
            self.take_in()?;
            block = rest;
        }
        Ok(None)
    }

    /// Lends parts of a block to those who are free; what is left of it is for this worker.
    fn lend<'b>(&mut self, block: &'b [u64]) -> Result<&'b [u64], Trouble> {
        let Some(helping) = &self.helping else { return Ok(block) };
        let own = helping.lend(block)?;
        let lent = (block.len() - own.len()) / self.journal.shape().stride();
        self.task.control.gauges.expanded.fetch_add(lent as u64, Ordering::Relaxed);
        Ok(own)
    }

    /// Tells the others that this worker has nothing left, and expands what they lend until nobody has. Where it must stop, it
    /// expands no more.
    pub(super) async fn help(&mut self, stopped: Option<StopReason>) -> Result<Option<StopReason>, Trouble> {
        let Some(helping) = self.helping.take() else { return Ok(stopped) };
        helping.has_expanded_its_own()?;
        if stopped.is_some() {
            return Ok(stopped);
        }
        loop {
            self.take_in()?;
            match helping.hear()? {
                Heard::States(from, block) => {
                    let states = (block.len() / self.journal.shape().stride()) as u64;
                    let stopped = self.expand_block(&block).await?;
                    if stopped.is_some() {
                        return Ok(stopped);
                    }
                    self.task.control.gauges.expanded.fetch_sub(states, Ordering::Relaxed);
                    self.mailbox.has_helped(states);
                    helping.is_free_for(from)?;
                }
                Heard::Over => return Ok(None),
                Heard::Nothing => helping.wait(),
            }
        }
    }
}
