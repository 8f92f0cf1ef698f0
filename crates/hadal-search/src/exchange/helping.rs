//! Workers that have nothing left of their own help others to expand: who still has states lends some to who is free. What comes
//! of them goes to its owners as always, so nothing depends on who expanded what.
//!
//! Each worker tells all when it has expanded what it owns of a layer or a round. From then on it lends nothing, and
//! expands what others lend until all have told so: then everything is expanded.

use super::{Exchange, Lost};
use hadal_store::shape::{RecordShape, Records};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// States of all workers from which on lending is worth it.
pub(crate) const HELPED_FROM: u64 = 1 << 12;
/// States that a thread expands between two looks for somebody who is free.
pub(crate) const PIECE: usize = 1 << 10;

/// Who may help while something is expanded. Threads may share it.
pub(crate) struct Helping<'a> {
    exchange: &'a dyn Exchange,
    round: u64,
    shape: RecordShape,
    /// Most records that are lent at a time.
    most: usize,
    known: Mutex<Known>,
}

/// What is known of all workers.
struct Known {
    /// Those that wait for states.
    free: Vec<bool>,
    /// Those that have expanded what they own.
    done: Vec<bool>,
}

/// What is heard of the others.
pub(crate) enum Heard {
    /// One lent these records.
    States(usize, Vec<u64>),
    /// Nothing new.
    Nothing,
    /// Nobody has anything left.
    Over,
}

impl<'a> Helping<'a> {
    /// In this round, of records of a shape.
    pub(super) fn new(exchange: &'a dyn Exchange, round: u64, shape: RecordShape, most: usize) -> Self {
        let workers = exchange.shares().workers();
        let mut known = Known { free: vec![false; workers], done: vec![false; workers] };
        known.done[exchange.me()] = true;
        Helping { exchange, round, shape, most, known: Mutex::new(known) }
    }

    /// Lends parts of a block to those who are free; what is left of it is for this worker.
    pub(crate) fn lend<'b>(&self, mut block: &'b [u64]) -> Result<&'b [u64], Lost> {
        // Whoever has states of its own left is lent none.
        self.hear()?;
        let stride = self.shape.stride();
        for (to, free) in self.known().free.iter_mut().enumerate() {
            if block.len() > stride && std::mem::take(free) {
                let half = (block.len() / stride).div_ceil(2).min(self.most) * stride;
                let (lent, rest) = block.split_at(half);
                self.exchange.lend(self.round, to, Records::new(self.shape, lent))?;
                block = rest;
            }
        }
        Ok(block)
    }

    /// Tells the others that this worker has nothing left.
    pub(crate) fn has_expanded_its_own(&self) -> Result<(), Lost> {
        let (me, workers) = (self.exchange.me(), self.exchange.shares().workers());
        (0..workers).filter(|&worker| worker != me).try_for_each(|worker| self.is_free_for(worker))
    }

    /// Tells another worker that this one is free, once what it lent before is expanded.
    pub(crate) fn is_free_for(&self, worker: usize) -> Result<(), Lost> {
        self.exchange.lend(self.round, worker, Records::new(self.shape, &[]))
    }

    /// Hears from the others, up to states to be expanded.
    pub(crate) fn hear(&self) -> Result<Heard, Lost> {
        let (mut known, mut block) = (self.known(), Vec::new());
        while let Some(from) = self.exchange.lent(self.round, &mut block)? {
            if !block.is_empty() {
                return Ok(Heard::States(from, block));
            }
            (known.free[from], known.done[from]) = (true, true);
        }
        Ok(if known.done.iter().all(|&done| done) { Heard::Over } else { Heard::Nothing })
    }

    /// Waits for news of the others.
    pub(crate) fn wait(&self) {
        self.exchange.wait();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
