//! Commits: everything that is open or closed gets a copy on disk, and the manifest names it.

use super::super::record::{self, SECTION, SearchRecord};
use super::super::spill;
use super::Engine;
use crate::layered::Trouble;
use crate::layered::ledger::Standing;
use crate::run::RUNNING;
use std::time::Instant;

/// Commits take at most one part in so many of the time.
const COMMIT_PART: u32 = 20;

impl Engine<'_> {
    pub(super) fn is_commit_due(&self) -> bool {
        let least = self.search.options.commit_every;
        let spacing = least.max(self.commit_took * COMMIT_PART);
        self.committed.is_none_or(|at| at.elapsed() >= spacing || least.is_zero())
    }

    /// Commits now and then; several workers when they agreed to.
    pub(super) fn commit_if_due(&mut self) -> Result<(), Trouble> {
        let due = match self.mailbox.is_alone() {
            true => self.is_commit_due(),
            false => std::mem::take(&mut self.commits),
        };
        if !due || self.failed.is_some() {
            return Ok(());
        }
        let committed = self.commit(RUNNING);
        self.unless_shared(committed)
    }

    /// Makes everything durable.
    pub(in crate::external) fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let began = Instant::now();
        spill::copy_all(&mut self.matrix, &self.shelf)?;
        let (open, closed) = record::buckets(&self.matrix);
        let seconds = self.seconds_before + self.search.task.control.elapsed().as_secs_f64();
        let options = &self.search.options;
        let (reach, left_out) = self.horizon.committed();
        let record = SearchRecord {
            trace_by: options.trace_by,
            stop_at: options.stop_at,
            bound: options.bound,
            flush: options.flush,
            reach,
            left_out,
            expansions: self.expansions,
            covers: self.counts.covers.clone(),
            seconds,
            figures: self.figures.clone(),
            open,
            closed,
        };
        let section = serde_json::to_vec(&record)?;
        let standing = Standing {
            status,
            states: self.figures.states.expanded,
            transitions: self.figures.states.generated,
            covers: &self.counts.covers,
            actions: self.counts.actions(self.search.task.space),
            seconds,
        };
        ledger.commit_section((SECTION, section), self.matrix.files(), standing)?;
        self.commit_took = began.elapsed();
        self.committed = Some(Instant::now());
        self.tell_others();
        Ok(())
    }
}
