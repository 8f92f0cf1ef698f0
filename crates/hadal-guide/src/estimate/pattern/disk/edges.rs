//! The edges of a projection on disk, sorted by where they lead: a record is (from, to).

use hadal_store::error::{ReadError, WriteError};
use hadal_store::run::{BlockIndex, RunFile, RunReader};

use crate::estimate::pattern::Unbuilt;

/// Reading on through so many blocks is cheaper than beginning again.
const NEAR: usize = 8;

pub(super) struct Edges {
    run: RunFile,
    index: BlockIndex,
}

impl Edges {
    pub(super) fn open(run: RunFile) -> Result<Self, ReadError> {
        let index = BlockIndex::load(&run)?;
        Ok(Edges { run, index })
    }

    /// A pass over ascending states.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor { edges: self, reader: None, number: 0, block: Vec::new(), at: 0 }
    }
}

pub(super) struct Cursor<'e> {
    edges: &'e Edges,
    reader: Option<RunReader>,
    /// Of the block read last, where there is a reader.
    number: usize,
    block: Vec<u64>,
    at: usize,
}

impl Cursor<'_> {
    /// Gives every state with an edge to `state`, ascending; states must ascend from call to call.
    pub(super) fn each_into(
        &mut self,
        state: u64,
        mut each: impl FnMut(u64) -> Result<(), WriteError>,
    ) -> Result<(), Unbuilt> {
        if !self.find(state)? {
            return Ok(());
        }
        loop {
            while self.at < self.block.len() {
                let (from, to) = (self.block[self.at], self.block[self.at + 1]);
                if to > state {
                    return Ok(());
                }
                if to == state {
                    each(from)?;
                }
                self.at += 2;
            }
            if !self.next_block()? {
                return Ok(());
            }
        }
    }

    /// Goes to the first block that can hold an edge to `state`; `false` at the end.
    fn find(&mut self, state: u64) -> Result<bool, Unbuilt> {
        let index = &self.edges.index;
        let here = match self.block.len().checked_sub(1) {
            Some(last) => self.block[last] >= state,
            None => false,
        };
        if here {
            return Ok(true);
        }
        // The last block that begins before any edge to `state` can, or the first one.
        let (mut low, mut high) = (0, index.blocks());
        while low < high {
            let middle = (low + high) / 2;
            if index.first_key(middle)[1] < state { low = middle + 1 } else { high = middle }
        }
        let wanted = low.saturating_sub(1);
        if self.reader.is_none() || wanted > self.number + NEAR {
            self.reader = None;
            self.reader = Some(RunReader::open_at(&self.edges.run, index, wanted)?);
            self.number = wanted;
            self.block.clear();
            self.at = 0;
            return self.read();
        }
        while self.number < wanted {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_block(&mut self) -> Result<bool, Unbuilt> {
        self.number += 1;
        self.read()
    }

    fn read(&mut self) -> Result<bool, Unbuilt> {
        self.at = 0;
        match &mut self.reader {
            Some(reader) => Ok(reader.next_block(&mut self.block)?),
            None => Ok(false),
        }
    }
}
