//! Expanding states that other workers lend, once this one has expanded its own part of a bucket. Who lends them has closed and
//! counted them; what they lead to goes to its owners as always.

use super::super::matrix::OpenBucket;
use super::super::spill::lock;
use super::Engine;
use super::pass::{Begun, SHARED_FROM, on_all};
use crate::exchange::{Heard, Helping};
use crate::layered::Trouble;
use crate::report::StopReason;
use std::sync::atomic::{AtomicUsize, Ordering};

impl<'a> Engine<'a> {
    /// Whether, and how, workers help each other with a bucket: all know how much was generated for it.
    pub(super) fn may_help(&self, bucket: &OpenBucket) -> Option<Helping<'a>> {
        let wide = bucket.raw >= SHARED_FROM && !self.mailbox.is_alone();
        wide.then(|| self.mailbox.helping(self.shelf.shape()))
    }

    /// Tells the others that this worker has nothing left, and expands what they lend until nobody has; why it must stop, if it
    /// must.
    pub(super) fn help(&mut self, begun: &Begun<'a>) -> Result<Option<StopReason>, Trouble> {
        let Some(helping) = &begun.helping else { return Ok(None) };
        has_expanded_its_own(begun.helping.as_ref())?;
        let mut has_helped = false;
        loop {
            match helping.hear()? {
                Heard::States(from, block) => {
                    if let Some(reason) = self.expand_lent(begun, &block)? {
                        return Ok(Some(reason));
                    }
                    has_helped = true;
                    self.mailbox.has_helped((block.len() / self.shelf.shape().stride()) as u64);
                    helping.is_free_for(from)?;
                }
                Heard::Over if has_helped => return self.deliver(begun),
                Heard::Over => return Ok(None),
                Heard::Nothing => helping.wait(),
            }
        }
    }

    /// Expands a block on all threads.
    fn expand_lent(&mut self, begun: &Begun<'a>, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        let stride = self.shelf.shape().stride();
        let (control, disk) = (self.search.task.control, self.disk());
        let _armed = control.brake(&disk);
        let (pass, expanders) = self.on_bucket(begun, u64::MAX);
        let pieces: Vec<&[u64]> =
            block.chunks((block.len() / stride).div_ceil(expanders.len()) * stride).collect();
        let next = AtomicUsize::new(0);
        on_all(&mut expanders[..pieces.len()], &|expander| match pieces
            .get(next.fetch_add(1, Ordering::Relaxed))
        {
            Some(piece) => expander.expand_lent(&pass, piece),
            None => Ok(()),
        })?;
        let stopped = lock(&pass.stopped).take();
        Ok(stopped)
    }

    /// Puts what came of lent states where the other successors are.
    fn deliver(&mut self, begun: &Begun<'a>) -> Result<Option<StopReason>, Trouble> {
        let (pass, expanders) = self.on_bucket(begun, u64::MAX);
        on_all(expanders, &|expander| expander.deliver(&pass))?;
        let stopped = lock(&pass.stopped).take();
        Ok(stopped)
    }
}

/// Tells the others that this worker has nothing left to lend, where they help each other.
pub(super) fn has_expanded_its_own(helping: Option<&Helping>) -> Result<(), Trouble> {
    match helping {
        Some(helping) => Ok(helping.has_expanded_its_own()?),
        None => Ok(()),
    }
}
