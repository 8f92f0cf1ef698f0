//! Adjacency lists, looked up for ascending vertices: a jump for each, unless the next list is near.

use super::set::{Set, Walk};
use crate::layered::Trouble;
use hadal_store::run::{BlockIndex, RunFile, RunReader};

/// Reading on through so many blocks is cheaper than a jump.
const NEAR: usize = 2;

/// Records on disk or in RAM, sorted by their last word, of which some are looked up.
pub(super) enum Lists<'s> {
    Held(Walk<'s>, &'s Set),
    OnDisk { run: &'s RunFile, index: BlockIndex, walk: Option<Walk<'s>>, block: usize },
}

impl<'s> Lists<'s> {
    pub(super) fn of(set: &'s Set) -> Result<Self, Trouble> {
        Ok(match set {
            Set::Held { .. } => Lists::Held(set.walk()?, set),
            Set::Run(run) => Lists::OnDisk { run, index: BlockIndex::load(run)?, walk: None, block: 0 },
        })
    }

    /// Back to the first record: ascending lookups begin again.
    pub(super) fn rewind(&mut self) -> Result<(), Trouble> {
        match self {
            Lists::Held(walk, set) => *walk = set.walk()?,
            Lists::OnDisk { walk, .. } => *walk = None,
        }
        Ok(())
    }

    /// Calls `each` for the records with this last word, which ascends from call to call.
    pub(super) fn each(
        &mut self,
        last: u64,
        mut each: impl FnMut(&[u64]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let walk = self.find(last)?;
        while let Some(record) = walk.peek()
            && record[record.len() - 1] <= last
        {
            if record[record.len() - 1] == last {
                each(record)?;
            }
            walk.step()?;
        }
        Ok(())
    }

    /// The walk, not far before the first record with this last word.
    fn find(&mut self, last: u64) -> Result<&mut Walk<'s>, Trouble> {
        let (run, index, walk, block) = match self {
            Lists::Held(walk, _) => return Ok(walk),
            Lists::OnDisk { run, index, walk, block } => (*run, index, walk, block),
        };
        let words = run.options().shape.words();
        // The last block that begins before any such record can, or the first one.
        let (mut low, mut high) = (0, index.blocks());
        while low < high {
            let middle = (low + high) / 2;
            if index.first_key(middle)[words - 1] < last { low = middle + 1 } else { high = middle }
        }
        let wanted = low.saturating_sub(1);
        let near = walk.take().filter(|_| wanted <= *block + NEAR);
        *block = wanted;
        let here = match near {
            Some(near) => near,
            None => Walk::of_reader(words, RunReader::open_at(run, index, wanted)?)?,
        };
        Ok(walk.insert(here))
    }
}
