//! One layer of a journal while it is written or read.

use crate::layered::Trouble;
use hadal_store::error::WriteError;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;
use hadal_system::Ascending;

/// Records of a layer in RAM that are read at a time: about a block of a run, so that limits are looked at as often.
const PIECE: usize = 1 << 13;

/// A layer being written, in ascending order.
pub(crate) struct LayerWriter {
    disk: Disk,
    options: RunOptions,
    held: Vec<u64>,
    most_held: usize,
    run: Option<RunWriter>,
    /// Runs finished before.
    parts: Vec<RunFile>,
    /// Whether `held` is of several parts, not one ascending list.
    mixed: bool,
    /// Whether a part is held that has not ended.
    part_begun: bool,
    states: u64,
}

/// A layer being read, in ascending order.
pub(crate) struct LayerReader {
    pub(super) source: LayerSource,
    pub(super) shape: RecordShape,
}

/// Where its records come from.
pub(super) enum LayerSource {
    /// In RAM, from this word on.
    Resident {
        /// The whole layer.
        held: Vec<u64>,
        /// What comes next.
        next: usize,
    },
    /// Block by block.
    Run(RunReader),
    /// One run after the other.
    Parts {
        /// Those not begun, the next one last.
        rest: Vec<RunFile>,
        /// The one being read.
        current: Option<RunReader>,
    },
    /// Block by block, keeping one depth.
    Bundled {
        /// All layers of the bundle.
        reader: RunReader,
        /// Which one.
        depth: u64,
        /// A block with depths.
        block: Vec<u64>,
    },
}

/// States that were written as a layer and are none of the journal's.
pub(crate) struct Aside {
    pub(super) written: Written,
    pub(super) shape: RecordShape,
}

impl Aside {
    /// Reads them, from the first on.
    pub(crate) fn read(&self) -> Result<LayerReader, Trouble> {
        let source = match &self.written {
            Written::Held(held) => LayerSource::Resident { held: held.clone(), next: 0 },
            Written::Runs(runs) => {
                LayerSource::Parts { rest: runs.iter().rev().cloned().collect(), current: None }
            }
        };
        Ok(LayerReader { source, shape: self.shape })
    }
}

/// What became of a layer that was written.
pub(super) enum Written {
    /// It stayed in RAM, one ascending list.
    Held(Vec<u64>),
    /// Ascending runs.
    Runs(Vec<RunFile>),
}

impl LayerWriter {
    /// A layer of which this many words may stay in RAM.
    pub(super) fn new(disk: &Disk, options: RunOptions, most_held: usize) -> Self {
        LayerWriter {
            disk: disk.clone(),
            options,
            held: Vec::new(),
            most_held,
            run: None,
            parts: Vec::new(),
            mixed: false,
            part_begun: false,
            states: 0,
        }
    }

    /// Ends the layer.
    pub(super) fn finish(mut self) -> Result<Written, WriteError> {
        let mixed = self.mixed;
        self.end_part()?;
        if self.parts.is_empty() {
            if mixed {
                sort_records(self.options.shape, &mut self.held);
            }
            return Ok(Written::Held(self.held));
        }
        self.spill()?;
        Ok(Written::Runs(self.parts))
    }

    /// Where it is written.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// States written so far.
    pub(crate) fn states(&self) -> u64 {
        self.states
    }

    /// Appends states, each after its payload; they also ascend from one call to the next.
    pub(crate) fn push_all(&mut self, states: Ascending) -> Result<(), Trouble> {
        Ok(self.write(states.flat())?)
    }

    /// As [`LayerWriter::push_all`], for those who can only fail in writing.
    pub(crate) fn write(&mut self, states: &[u64]) -> Result<(), WriteError> {
        let shape = self.options.shape;
        self.states += (states.len() / shape.stride()) as u64;
        if let Some(run) = &mut self.run {
            return run.push_all(Records::new(shape, states));
        }
        if self.held.len() + states.len() <= self.most_held {
            self.held.extend_from_slice(states);
            self.part_begun = true;
            return Ok(());
        }
        if self.mixed {
            self.spill()?;
        }
        let mut run = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
        run.push_all(Records::new(shape, &self.held))?;
        run.push_all(Records::new(shape, states))?;
        self.held = Vec::new();
        self.run = Some(run);
        Ok(())
    }

    /// Takes a run as a part of its own.
    pub(crate) fn push_run(&mut self, run: RunFile) {
        self.states += run.records();
        self.parts.push(run);
    }

    /// Ends an ascending part: what follows need not lie behind it.
    pub(crate) fn end_part(&mut self) -> Result<(), WriteError> {
        if let Some(run) = self.run.take() {
            self.parts.push(run.finish()?);
        }
        self.mixed |= self.part_begun;
        Ok(())
    }

    /// Writes what is held as a part of its own.
    fn spill(&mut self) -> Result<(), WriteError> {
        let mut held = std::mem::take(&mut self.held);
        (self.mixed, self.part_begun) = (false, false);
        if held.is_empty() {
            return Ok(());
        }
        let shape = self.options.shape;
        sort_records(shape, &mut held);
        let mut run = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
        run.push_all(Records::new(shape, &held))?;
        self.parts.push(run.finish()?);
        Ok(())
    }
}

impl LayerReader {
    /// Reads a run as a layer.
    pub(crate) fn of_run(run: &RunFile) -> Result<Self, Trouble> {
        Ok(LayerReader { source: LayerSource::Run(RunReader::open(run)?), shape: run.options().shape })
    }

    /// Replaces `states` by the next ones; `false` at the end.
    pub(crate) fn next_block(&mut self, states: &mut Vec<u64>) -> Result<bool, Trouble> {
        let more = self.next_records(states)?;
        self.shape.strip_payloads(states);
        Ok(more)
    }

    /// Replaces `records` by the next states, each after its payload; `false` at the end.
    pub(crate) fn next_records(&mut self, records: &mut Vec<u64>) -> Result<bool, Trouble> {
        match &mut self.source {
            LayerSource::Resident { held, next } => {
                let to = held.len().min(*next + PIECE * self.shape.stride());
                records.clear();
                records.extend_from_slice(&held[*next..to]);
                *next = to;
                Ok(!records.is_empty())
            }
            LayerSource::Run(reader) => Ok(reader.next_block(records)?),
            LayerSource::Parts { rest, current } => loop {
                if let Some(reader) = current
                    && reader.next_block(records)?
                {
                    return Ok(true);
                }
                match rest.pop() {
                    Some(run) => *current = Some(RunReader::open(&run)?),
                    None => return Ok(false),
                }
            },
            LayerSource::Bundled { reader, depth, block } => {
                records.clear();
                while records.is_empty() {
                    if !reader.next_block(block)? {
                        return Ok(false);
                    }
                    let stride = reader.shape().stride();
                    for record in block.chunks_exact(stride).filter(|record| record[0] == *depth) {
                        records.extend_from_slice(&record[1..]);
                    }
                }
                Ok(true)
            }
        }
    }
}
