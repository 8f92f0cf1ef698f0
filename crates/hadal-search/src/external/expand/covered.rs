//! An expansion in a space whose states may cover others: candidates of a key are compared with each other and with the
//! closed states of that key. What can be estimated is the same for all of them, so they lie in one column; a state that
//! covers another from the same row or an earlier one makes it needless.

use super::super::scope::Keeper;
use super::super::spill::lock;
use super::{Expander, Pass};
use crate::layered::Trouble;
use crate::layered::cover::{Antichain, Stream};
use hadal_store::merge::RunMerge;
use hadal_store::run::RunKind;
use hadal_system::Cover;
use hadal_system::state::compare;
use std::cmp::Ordering;
use std::sync::atomic;

/// Closed states of one key that are compared at a time.
const BLOCK_STATES: usize = 4096;
/// Records that are expanded together.
const BATCH_RECORDS: usize = 4096;

impl Expander<'_> {
    /// Merges a piece of a bucket key by key, leaves out what is covered, and expands the rest.
    pub(super) fn expand_covered(
        &mut self,
        pass: &Pass,
        (piece, merge): (usize, RunMerge),
        cover: &dyn Cover,
    ) -> Result<(), Trouble> {
        let (shape, key_words) = (self.shape, cover.key_words());
        let stride = shape.stride();
        let sources = pass.closed.iter().map(|part| part.source(shape)).collect::<Result<_, _>>()?;
        let mut known = Stream::new(RunMerge::new(shape, sources), stride);
        let mut candidates = Stream::new(merge, stride);
        let mut antichain = Antichain::beside_payloads(cover, shape);
        let mut kept = Keeper::new(pass.shared.shelf, RunKind::Closed);
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let (mut group, mut closed) = (Vec::new(), Vec::new());
        let mut more = true;
        while more && !pass.is_stopped() && !self.is_over(pass) {
            more = candidates.next_group(key_words, &mut group)?;
            self.done.unique += (group.len() / stride) as u64;
            while !group.is_empty() {
                closed.clear();
                let key = &group[stride - key_words..stride];
                while let Some(record) = known.peek()? {
                    match compare(&record[stride - key_words..], key) {
                        Ordering::Less => {}
                        Ordering::Equal => closed.extend_from_slice(record),
                        Ordering::Greater => break,
                    }
                    known.step();
                    if closed.len() >= BLOCK_STATES * stride {
                        break;
                    }
                }
                if closed.is_empty() {
                    break;
                }
                antichain.subtract(&mut group, &closed);
            }
            antichain.keep_maximal(&mut group);
            batch.extend_from_slice(&group);
            if batch.is_empty() || (more && batch.len() < BATCH_RECORDS * stride) {
                continue;
            }
            let fresh = (batch.len() / stride) as u64;
            self.done.expanded += fresh;
            let states = self.task.control.gauges.states.fetch_add(fresh, atomic::Ordering::Relaxed) + fresh;
            kept.push(&batch)?;
            self.expand(pass, &batch)?;
            batch.clear();
            if let Some(reason) = self.task.control.must_stop(states) {
                *lock(&pass.stopped) = Some(reason);
            }
        }
        self.batch = batch;
        self.done.closed.push((piece, kept.finish(pass.shared.made_in)?));
        Ok(())
    }
}
