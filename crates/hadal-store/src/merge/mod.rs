//! Merging sorted streams of records: a loser tree over decoded blocks, duplicates removed on the way.

mod inputs;
mod kernel;
mod passes;
mod ranges;
mod scan;
mod source;
mod subtract;

pub use inputs::MergeInputs;
pub use passes::{MergeLimits, merge_unique};
pub use scan::RunScan;
pub use source::{BlockSource, MemorySource};
pub use subtract::{ClosedFilter, RecordSink, Subtracted, subtract_closed, subtract_together};

use kernel::{Cursor, Fill, Output, Tournament};

use crate::error::ReadError;
use crate::run::{RunFile, RunReader};
use crate::shape::{RecordShape, with_width};

/// The union of several sorted streams as one, strictly ascending.
///
/// A state that occurs in several inputs comes out once, with its payloads merged by the rule of their shape, so the output depends on
/// the records alone and not on how they were spread over inputs.
pub struct RunMerge<'a> {
    shape: RecordShape,
    cursors: Vec<Cursor<'a>>,
    tournament: Tournament,
    duplicates: u64,
    compared: u64,
    batch_records: usize,
    primed: bool,
}

impl<'a> RunMerge<'a> {
    /// Merges `sources`, whose records all have this shape.
    pub fn new(shape: RecordShape, sources: Vec<Box<dyn BlockSource + 'a>>) -> Self {
        RunMerge {
            shape,
            cursors: sources.into_iter().map(Cursor::new).collect(),
            tournament: Tournament::default(),
            duplicates: 0,
            compared: 0,
            batch_records: (64 << 10) / shape.bytes() + 1,
            primed: false,
        }
    }

    /// Merges whole runs, each read front to back.
    pub fn of_runs(shape: RecordShape, runs: &[RunFile]) -> Result<Self, ReadError> {
        let mut sources: Vec<Box<dyn BlockSource + 'a>> = Vec::with_capacity(runs.len());
        for run in runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        Ok(RunMerge::new(shape, sources))
    }

    /// Most records that [`BlockSource::next_block`] gives at once.
    pub fn with_batch_records(mut self, batch_records: usize) -> Self {
        self.batch_records = batch_records.max(1);
        self
    }

    /// Shape of the records.
    pub fn shape(&self) -> RecordShape {
        self.shape
    }

    /// Records dropped so far because an equal state came before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Pairs of states compared so far.
    pub fn comparisons(&self) -> u64 {
        self.compared
    }

    /// Fetches a block for every source that has none, and forgets those that have ended.
    fn refill_all(&mut self) -> Result<(), ReadError> {
        let mut at = 0;
        while at < self.cursors.len() {
            if !self.cursors[at].is_used_up() || self.cursors[at].refill()? {
                at += 1;
            } else {
                self.cursors.swap_remove(at);
            }
        }
        Ok(())
    }

    fn refill(&mut self, source: usize, flat: &mut [u64], filled: usize) -> Result<(), ReadError> {
        if self.cursors.len() <= 2 {
            // Equal heads are taken together, so both may be used up.
            return self.refill_all();
        }
        if self.cursors[source].refill()? {
            with_width!(self.shape, w => self.tournament.replay(w, &self.cursors, source));
            return Ok(());
        }
        self.cursors.swap_remove(source);
        if self.cursors.len() > 2 {
            with_width!(self.shape, w => self.tournament.rebuild(w, &self.cursors));
            return Ok(());
        }
        // From here on the tree is not used, and no head may equal what was given out last.
        self.absorb(flat, filled)
    }

    /// Drops heads equal to the last record given out.
    fn absorb(&mut self, flat: &mut [u64], filled: usize) -> Result<(), ReadError> {
        let stride = self.shape.stride();
        let Some(start) = filled.checked_sub(stride) else { return Ok(()) };
        let last = &mut flat[start..filled];
        let mut at = 0;
        while at < self.cursors.len() {
            let cursor = &mut self.cursors[at];
            if self.shape.state(cursor.head(stride)) == self.shape.state(last) {
                let payload = self.shape.payload_words();
                self.shape.merge().merge(&mut last[..payload], &cursor.head(stride)[..payload]);
                self.duplicates += 1;
                if cursor.step(stride) && !cursor.refill()? {
                    self.cursors.swap_remove(at);
                    continue;
                }
            }
            at += 1;
        }
        Ok(())
    }
}

impl BlockSource for RunMerge<'_> {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        if !self.primed {
            self.primed = true;
            self.refill_all()?;
            with_width!(self.shape, w => self.tournament.rebuild(w, &self.cursors));
        }
        flat.resize(self.batch_records * self.shape.stride(), 0);
        let mut out = Output { flat, filled: 0, duplicates: 0, compared: 0 };
        while !self.cursors.is_empty() {
            let fill = with_width!(self.shape, w => {
                kernel::fill(w, &mut self.cursors, &mut self.tournament, &mut out)
            });
            match fill {
                Fill::Full => break,
                Fill::Empty(source) => self.refill(source, out.flat, out.filled)?,
            }
        }
        let filled = out.filled;
        self.duplicates += out.duplicates;
        self.compared += out.compared;
        flat.truncate(filled);
        Ok(filled > 0)
    }
}
