//! An expansion in separate steps: what each gives is written, and read by the next. This is what one pass saves (Jabbar
//! 2008, sec. 3.5.2); it gives the same buckets.

use super::super::part::Part;
use super::super::scope::Probe;
use super::super::spill::lock;
use super::{Expander, Pass};
use crate::layered::Trouble;
use hadal_store::merge::{BlockSource, RunMerge};
use hadal_store::run::{RunKind, RunReader, RunWriter};
use hadal_store::shape::Records;
use std::sync::atomic::Ordering;

impl Expander<'_> {
    /// Merges, then subtracts, then expands a piece of a bucket.
    pub(super) fn expand_apart(
        &mut self,
        pass: &Pass,
        piece: usize,
        mut merge: RunMerge,
    ) -> Result<(), Trouble> {
        let (shape, shelf) = (self.shape, pass.shared.shelf);
        let mut batch = std::mem::take(&mut self.batch);
        let mut unique = RunWriter::create(&shelf.disk, RunKind::Candidates, &shelf.options)?;
        while merge.next_block(&mut batch)? {
            unique.push_all(Records::new(shape, &batch))?;
        }
        drop(merge);
        let unique = unique.finish()?;
        self.done.unique += unique.records();

        let mut probes: Vec<Option<Probe>> = pass.closed.iter().map(|_| None).collect();
        let mut closed = RunWriter::create(&shelf.disk, RunKind::Closed, &shelf.options)?;
        let mut reader = RunReader::open(&unique)?;
        while reader.next_block(&mut batch)? {
            self.subtract(pass.closed, &mut probes, &mut batch)?;
            closed.push_all(Records::new(shape, &batch))?;
        }
        drop((reader, probes, unique));
        let closed = closed.finish()?;

        let mut reader = RunReader::open(&closed)?;
        while reader.next_block(&mut batch)? {
            let fresh = (batch.len() / shape.stride()) as u64;
            self.done.expanded += fresh;
            let states = self.task.control.gauges.states.fetch_add(fresh, Ordering::Relaxed) + fresh;
            self.expand(pass, &batch)?;
            if let Some(reason) = self.task.control.must_stop(states) {
                *lock(&pass.stopped) = Some(reason);
            }
            if pass.is_stopped() || self.is_over(pass) {
                break;
            }
        }
        self.batch = batch;
        self.done.closed.push((piece, Part::run(closed, pass.shared.made_in)));
        Ok(())
    }
}
