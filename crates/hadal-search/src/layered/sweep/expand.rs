//! Expanding blocks of states, and giving what is generated to the detector.

use super::Sweep;
use crate::lane::has_found;
use crate::layered::Trouble;
use crate::layered::block::{BlockEnd, Left};
use crate::report::StopReason;
use crate::resting::busy;
use hadal_system::States;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl<'a> Sweep<'a> {
    /// Expands a block of states group by group, each with its scope in RAM.
    pub(super) async fn expand_scoped(&mut self, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        let words = self.task.space.words();
        let Some(order) = self.detector.scopes().map(|scopes| scopes.grouped(block)) else {
            return Ok(None);
        };
        let mut group = Vec::new();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            group.clear();
            for &(_, n) in same {
                group.extend_from_slice(&block[n as usize * words..(n as usize + 1) * words]);
            }
            let left = Left::all();
            let Some(scopes) = self.detector.scopes() else { return Ok(None) };
            let (entered, seconds) = busy(scopes.enter(same[0].0 as usize)).await;
            self.counted.row.seconds.detecting += seconds;
            entered?;
            loop {
                if let Some(reason) = self.limit() {
                    return Ok(Some(reason));
                }
                let begun = Instant::now();
                let Some(scopes) = self.detector.scopes() else { return Ok(None) };
                let ended = scopes.expand(&left, &mut self.lanes, &group);
                self.counted.row.seconds.expanding += begun.elapsed().as_secs_f64();
                if ended == BlockEnd::Whole {
                    break;
                }
                // Tables leave one by one, and it may take many small ones to let a large one grow.
                let has_left = scopes.make_room().await?;
                if let BlockEnd::Stuck(over) = ended
                    && !has_left
                {
                    return Err(over.into());
                }
            }
        }
        Ok(None)
    }

    /// The limit that is met, if one is. Where something is wrong, the layer is finished rather than a number of states kept.
    pub(super) fn limit(&self) -> Option<StopReason> {
        let control = self.task.control;
        let reason = control.must_stop(control.gauges.states.load(Ordering::Relaxed))?;
        (reason != StopReason::StateLimit || !has_found(&self.lanes)).then_some(reason)
    }

    /// Expands a block of records, draining the cache whenever it is full.
    pub(super) async fn expand_block(&mut self, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        if self.detector.scopes().is_some() {
            return self.expand_scoped(block).await;
        }
        let left = Left::all();
        loop {
            if let Some(reason) = self.limit() {
                return Ok(Some(reason));
            }
            let begun = Instant::now();
            let shape = self.journal.shape();
            let records = States::new(shape.stride(), block);
            let (lanes, words) = (&mut self.lanes, shape.words());
            let ended = match self.detector.writers() {
                None => left.expand(lanes, &mut self.cache.sinks(), records, words),
                Some(own) => {
                    let mut sinks = self.mailbox.routes(own, self.cache.sinks());
                    left.expand(lanes, &mut sinks, records, words)
                }
            };
            self.counted.row.seconds.expanding += begun.elapsed().as_secs_f64();
            match ended {
                BlockEnd::Whole => return Ok(None),
                BlockEnd::Full => {}
                // Without the diagram there is room.
                BlockEnd::Stuck(over) if !self.fall_back().await? => return Err(over.into()),
                BlockEnd::Stuck(_) => {}
            }
            self.drain().await?;
            self.cache.make_room()?;
        }
    }

    /// Offers what the cache learned to the detector.
    pub(super) async fn drain(&mut self) -> Result<(), Trouble> {
        loop {
            let begun = Instant::now();
            let batch = self.cache.sort_new()?;
            self.counted.row.seconds.sorting += begun.elapsed().as_secs_f64();
            if batch.is_empty() {
                return Ok(());
            }
            match self.mailbox.is_alone() {
                true => self.counted.row.candidates += batch.len() as u64,
                false => self.sort_out()?,
            }
            let (offered, seconds) = busy(self.offer()).await;
            self.counted.row.seconds.detecting += seconds;
            offered?;
        }
    }

    /// Offers what was sorted last to the detector, or to the next one where it has no memory for it.
    async fn offer(&mut self) -> Result<(), Trouble> {
        let mut offered = self.detector.take(self.cache.sorted()).await;
        while let Err(Trouble::OverBudget(_)) = offered {
            if !self.cache.give_way()? && !self.fall_back().await? {
                break;
            }
            offered = self.detector.take(self.cache.sorted()).await;
        }
        offered
    }
}
