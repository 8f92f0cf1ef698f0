//! Workers that have nothing left of their own help others to expand a layer: who still has blocks lends some to who is free.
//! What comes of them goes to its owners as always, so nothing depends on who expanded what.
//!
//! Each worker tells all when it has expanded what it owns. From then on it lends nothing, and expands what others lend until
//! all have told so: then the layer is expanded.

use super::Sweep;
use crate::exchange::Mailbox;
use crate::layered::Trouble;
use crate::report::StopReason;
use std::sync::atomic::Ordering;

/// Layers of fewer states, of all workers, are not worth lending.
const HELPED_FROM: u64 = 1 << 12;
/// States that a thread expands between two looks for somebody who is free.
const PIECE: usize = 1 << 10;

/// Who may help in a layer.
pub(super) struct Helping {
    /// Workers that wait for states.
    free: Vec<bool>,
    /// Workers that have expanded what they own.
    done: Vec<bool>,
    block: Vec<u64>,
}

/// What another worker lent.
enum Lent {
    States(usize),
    Nothing,
}

impl Helping {
    fn new(workers: usize) -> Self {
        Helping { free: vec![false; workers], done: vec![false; workers], block: Vec::new() }
    }

    /// Hears from the others, up to states to be expanded.
    fn hear(&mut self, mailbox: &Mailbox) -> Result<Lent, Trouble> {
        while let Some(from) = mailbox.lent(&mut self.block)? {
            if !self.block.is_empty() {
                return Ok(Lent::States(from));
            }
            (self.free[from], self.done[from]) = (true, true);
        }
        Ok(Lent::Nothing)
    }
}

impl Sweep<'_> {
    /// Before a layer.
    pub(super) fn begin_helping(&mut self, depth: usize) {
        let wide = self.widths.get(depth).is_some_and(|&states| states >= HELPED_FROM);
        let workers = self.mailbox.exchange().shares().workers();
        self.helping = (wide && !self.mailbox.is_alone()).then(|| Helping::new(workers));
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
    fn lend<'b>(&mut self, mut block: &'b [u64]) -> Result<&'b [u64], Trouble> {
        let Some(helping) = &mut self.helping else { return Ok(block) };
        // Whoever has states of its own left is lent none.
        helping.hear(&self.mailbox)?;
        let stride = self.journal.shape().stride();
        for to in self.mailbox.others() {
            if block.len() > stride && std::mem::take(&mut helping.free[to]) {
                let half = (block.len() / stride).div_ceil(2) * stride;
                let (lent, rest) = block.split_at(half.min(self.mailbox.lent_words()));
                self.mailbox.lend(to, lent)?;
                self.task.control.gauges.expanded.fetch_add((lent.len() / stride) as u64, Ordering::Relaxed);
                block = rest;
            }
        }
        Ok(block)
    }

    /// Tells the others that this worker has nothing left, and expands what they lend until nobody has. Where it must stop, it
    /// expands no more.
    pub(super) async fn help(&mut self, stopped: Option<StopReason>) -> Result<Option<StopReason>, Trouble> {
        let Some(mut helping) = self.helping.take() else { return Ok(stopped) };
        for other in self.mailbox.others() {
            self.mailbox.lend(other, &[])?;
        }
        if stopped.is_some() {
            return Ok(stopped);
        }
        loop {
            self.take_in()?;
            match helping.hear(&self.mailbox)? {
                Lent::States(from) => {
                    let states = (helping.block.len() / self.journal.shape().stride()) as u64;
                    let stopped = self.expand_block(&helping.block).await?;
                    if stopped.is_some() {
                        return Ok(stopped);
                    }
                    self.task.control.gauges.expanded.fetch_sub(states, Ordering::Relaxed);
                    self.mailbox.has_helped(states);
                    self.mailbox.lend(from, &[])?;
                }
                Lent::Nothing if self.mailbox.others().all(|other| helping.done[other]) => return Ok(None),
                Lent::Nothing => self.mailbox.wait(),
            }
        }
    }
}
