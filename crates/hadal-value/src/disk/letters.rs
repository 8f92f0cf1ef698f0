//! Which formulas about states hold in the states of a graph, a bit for each: in RAM, or in a file where states are looked up. Whoever
//! asks goes through states in their order, layer by layer, so a few blocks at a time are enough.

use super::DiskError;
use super::graph::run_options;
use super::rows::States;
use crate::SolveError;
use hadal_store::run::{BlockIndex, RunLookup};
use hadal_store::{Disk, Governor, RecordShape, RunFile, RunKind, RunWriter};
use hadal_system::state::compare;
use std::cmp::Ordering;
use std::sync::Arc;

/// A part of the budget for the blocks of one lookup.
const PART: u64 = 16;

/// What holds in every state.
pub(crate) struct Letters {
    words: usize,
    kept: Kept,
}

enum Kept {
    /// The states, sorted, and their letters.
    Ram(Vec<u64>, Vec<u64>),
    Run(RunFile, Arc<BlockIndex>, Governor),
}

impl Letters {
    /// Writes down which states of `rows` are in each of `sets`.
    pub(super) fn write<R: States>(
        rows: &R,
        words: usize,
        sets: &[Vec<bool>],
        disk: Option<&Disk>,
    ) -> Result<Self, DiskError> {
        let letter = |state: u64| {
            sets.iter().enumerate().fold(0, |letter, (at, set)| letter | u64::from(set[state as usize]) << at)
        };
        let Some(disk) = disk else {
            let (mut states, mut letters) = (Vec::new(), Vec::new());
            rows.tell(|rank, state| {
                states.extend_from_slice(state);
                letters.push(letter(rank));
            })?;
            return Ok(Letters { words, kept: Kept::Ram(states, letters) });
        };
        let mut options = run_options(words, 0, disk.governor.limit());
        options.shape = RecordShape::with_payload(words, 1);
        let mut writer = RunWriter::create(disk, RunKind::Closed, &options)?;
        let (mut record, mut failed) = (Vec::with_capacity(words + 1), None);
        rows.tell(|rank, state| {
            record.clear();
            record.push(letter(rank));
            record.extend_from_slice(state);
            failed = failed.take().or(writer.push(&record).err());
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let run = writer.finish()?;
        let index = Arc::new(BlockIndex::load(&run)?);
        Ok(Letters { words, kept: Kept::Run(run, index, disk.governor.clone()) })
    }

    /// One way into it.
    pub fn lookup(&self) -> Result<Lookup<'_>, SolveError> {
        match &self.kept {
            Kept::Ram(states, letters) => Ok(Lookup::Ram(self.words, states, letters)),
            Kept::Run(run, index, governor) => {
                let lookup = RunLookup::open(run, Arc::clone(index), governor, governor.limit() / PART);
                Ok(Lookup::Run(Box::new(lookup.map_err(DiskError::from)?)))
            }
        }
    }
}

/// Finds letters.
pub(crate) enum Lookup<'l> {
    Ram(usize, &'l [u64], &'l [u64]),
    Run(Box<RunLookup>),
}

impl Lookup<'_> {
    /// What holds in a state of the graph.
    pub fn letter(&mut self, state: &[u64]) -> Result<u64, SolveError> {
        let lost = || DiskError::Damaged("a state is missing".into());
        let found = match self {
            Lookup::Ram(words, states, letters) => {
                let (mut low, mut high) = (0, letters.len());
                while low < high {
                    let middle = (low + high) / 2;
                    match compare(&states[middle * *words..(middle + 1) * *words], state) {
                        Ordering::Equal => return Ok(letters[middle]),
                        Ordering::Less => low = middle + 1,
                        Ordering::Greater => high = middle,
                    }
                }
                None
            }
            Lookup::Run(lookup) => lookup.find(state).map_err(DiskError::from)?.map(|payload| payload[0]),
        };
        Ok(found.ok_or_else(lost)?)
    }
}
