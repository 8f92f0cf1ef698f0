//! The records of a run from one state to another, read by themselves: what a thread has of a merge.

use super::file::{HEADER_BYTES, RunFile};
use super::index::BlockIndex;
use super::reader::RunReader;
use super::slice::SlicePlace;
use crate::error::ReadError;
use crate::shape::Records;

/// A range of states: those that are not below the first, where there is one, and below the second, where there is one.
#[derive(Clone, Copy, Debug)]
pub struct StateRange<'a> {
    /// The first state that may lie in it.
    pub from: Option<&'a [u64]>,
    /// The first state behind it.
    pub to: Option<&'a [u64]>,
}

impl StateRange<'_> {
    /// Which of the ascending records lie in the range.
    pub fn within(self, records: Records<'_>) -> std::ops::Range<usize> {
        let from = self.from.map_or(0, |state| records.first_not_below(state));
        from..self.to.map_or(records.len(), |state| records.first_not_below(state).max(from))
    }
}

/// A scan of the records of a run that lie in a range.
pub struct RunPiece {
    reader: RunReader,
    from: Option<Vec<u64>>,
    to: Option<Vec<u64>>,
}

impl RunPiece {
    /// Reads the blocks that may hold some of them; `index` must be this run's. None where no block may.
    pub fn open(run: &RunFile, index: &BlockIndex, range: StateRange<'_>) -> Result<Option<Self>, ReadError> {
        let first = range.from.map_or(0, |state| index.block_before(state));
        let end = range.to.map_or(index.blocks(), |state| index.blocks_below(state));
        if first >= end {
            return Ok(None);
        }
        let offset = if first == 0 { HEADER_BYTES as u64 } else { index.range(first).start };
        let place = SlicePlace {
            offset,
            bytes: index.range(end - 1).end - offset,
            block: first as u64,
            blocks: (end - first) as u64,
            records: (first..end).map(|block| index.records(block) as u64).sum(),
        };
        let owned = |state: &[u64]| state.to_vec();
        Ok(Some(RunPiece {
            reader: RunReader::of_slice(run, place)?,
            from: range.from.map(owned),
            to: range.to.map(owned),
        }))
    }

    /// Replaces the contents of `flat` by the next records of the range; `false` at the end.
    pub fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        let shape = self.reader.shape();
        while self.reader.next_block(flat)? {
            let range = StateRange { from: self.from.as_deref(), to: self.to.as_deref() };
            let within = range.within(Records::new(shape, flat));
            flat.truncate(within.end * shape.stride());
            flat.drain(..within.start * shape.stride());
            if !flat.is_empty() {
                // All that follow lie behind its beginning.
                self.from = None;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
