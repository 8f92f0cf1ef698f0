//! What can be merged: anything that gives ascending records block by block.

use crate::error::ReadError;
use crate::run::RunReader;
use crate::shape::Records;

/// A stream of strictly ascending records.
pub trait BlockSource: Send {
    /// Replaces the contents of `flat` by the next records, at least one; `false` at the end.
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError>;
}

impl BlockSource for RunReader {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        RunReader::next_block(self, flat)
    }
}

/// Records in RAM as a stream.
pub struct MemorySource<'a> {
    rest: Records<'a>,
}

impl<'a> MemorySource<'a> {
    /// Streams `records`, which strictly ascend.
    pub fn new(records: Records<'a>) -> Self {
        MemorySource { rest: records }
    }
}

impl BlockSource for MemorySource<'_> {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        let block = ((16 << 10) / self.rest.shape().bytes()).max(1).min(self.rest.len());
        flat.clear();
        flat.extend_from_slice(self.rest.slice(0..block).flat());
        self.rest = self.rest.slice(block..self.rest.len());
        Ok(block > 0)
    }
}
