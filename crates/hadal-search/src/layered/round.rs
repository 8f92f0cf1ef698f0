//! Ending a search that may run in circles: where layers were deleted, or a bound is trusted, states come again for ever
//! unless somebody notices.
//!
//! Every state of an earlier layer was expanded. So when all states of the last layer lie in one earlier layer, everything
//! reachable was visited. The search is determined by the layers it keeps, so its layers come again after some depth with some
//! period, and one layer kept at depths that double (Brent 1980) is met again.

use super::Trouble;
use super::journal::Journal;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::vfs::Disk;
use hadal_system::state::compare;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering::{Equal, Less};

/// The layer that later ones are compared with. The journal commits it: a search that goes on ends where it would have ended.
#[derive(Default)]
pub(super) struct Round {
    kept: Option<RunFile>,
    /// Layers since it was chosen, and after how many another one is.
    since: u64,
    most: u64,
    /// The depth of the layer that was compared with it last.
    asked: Option<usize>,
}

/// The same in a manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RoundRecord {
    run: Option<String>,
    since: u64,
    most: u64,
    asked: usize,
}

impl Round {
    pub(super) fn open(disk: &Disk, options: &RunOptions, record: &RoundRecord) -> Result<Round, Trouble> {
        let &RoundRecord { ref run, since, most, asked } = record;
        let kept = run.as_ref().map(|name| RunFile::open(disk, name, options)).transpose()?;
        Ok(Round { kept, since, most, asked: Some(asked) })
    }

    /// What a manifest keeps, once a layer was compared.
    pub(super) fn record(&self) -> Option<RoundRecord> {
        let run = self.kept.as_ref().map(|run| run.name().to_owned());
        Some(RoundRecord { run, since: self.since, most: self.most, asked: self.asked? })
    }

    /// The run that it keeps.
    pub(super) fn run(&self) -> Option<&RunFile> {
        self.kept.as_ref()
    }

    /// Whether all states of the layer at this depth, which is about to be expanded, lie in the layer that is kept. Keeps this
    /// one from now on when it is time.
    pub(super) fn closes_with(&mut self, journal: &Journal, depth: usize) -> Result<bool, Trouble> {
        if self.asked == Some(depth) {
            // An earlier sitting began to expand it.
            return Ok(false);
        }
        if let Some(kept) = &self.kept
            && journal.states(depth) <= kept.records()
            && lies_in(journal, depth, kept)?
        {
            return Ok(true);
        }
        self.asked = Some(depth);
        self.since += 1;
        // A layer in several parts would have to be sorted first.
        if (self.kept.is_none() || self.since >= self.most) && journal.parts(depth).is_none() {
            self.kept = Some(copy(journal, depth)?);
            self.most = (2 * self.most).max(1);
            self.since = 0;
        }
        Ok(false)
    }
}

fn copy(journal: &Journal, depth: usize) -> Result<RunFile, Trouble> {
    let mut writer = RunWriter::create(journal.disk(), RunKind::Frontier, journal.options())?;
    let (mut reader, mut block) = (journal.reader(depth)?, Vec::new());
    while reader.next_records(&mut block)? {
        writer.push_all(Records::new(journal.shape(), &block))?;
    }
    Ok(writer.finish()?)
}

/// Whether each state of a layer is in the run.
fn lies_in(journal: &Journal, depth: usize, run: &RunFile) -> Result<bool, Trouble> {
    let shape = journal.shape();
    let mut among = Among::open(run, shape)?;
    let (mut reader, mut block, mut last) = (journal.reader(depth)?, Vec::new(), Vec::new());
    while reader.next_records(&mut block)? {
        for record in block.chunks_exact(shape.stride()) {
            let state = shape.state(record);
            if !last.is_empty() && compare(state, &last) == Less {
                // Another ascending part.
                among = Among::open(run, shape)?;
            }
            if !among.has(state)? {
                return Ok(false);
            }
            last.clear();
            last.extend_from_slice(state);
        }
    }
    Ok(true)
}

/// A run that is asked for ascending states.
struct Among {
    reader: RunReader,
    shape: RecordShape,
    block: Vec<u64>,
    at: usize,
}

impl Among {
    fn open(run: &RunFile, shape: RecordShape) -> Result<Self, Trouble> {
        Ok(Among { reader: RunReader::open(run)?, shape, block: Vec::new(), at: 0 })
    }

    fn has(&mut self, state: &[u64]) -> Result<bool, Trouble> {
        loop {
            while let Some(record) = self.block.get(self.at..self.at + self.shape.stride()) {
                match compare(self.shape.state(record), state) {
                    Less => self.at += self.shape.stride(),
                    order => return Ok(order == Equal),
                }
            }
            self.at = 0;
            if !self.reader.next_block(&mut self.block)? {
                self.block.clear();
                return Ok(false);
            }
        }
    }
}
