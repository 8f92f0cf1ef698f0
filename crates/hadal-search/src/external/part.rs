//! A sorted set of states that belongs to a bucket, wherever it lies: in RAM, in a run of its own, or among other small
//! ones in a bundle.
//!
//! A bundle is a run whose states have one more word, the most significant, which says whose they are.

use crate::layered::Trouble;
use hadal_store::error::ReadError;
use hadal_store::merge::{BlockSource, MemorySource, RunMerge};
use hadal_store::run::{BlockIndex, RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::vfs::Disk;
use hadal_system::state::compare;
use std::cmp::Ordering;
use std::sync::Arc;

/// States that strictly ascend.
pub(super) struct Part {
    pub(super) records: u64,
    pub(super) place: Place,
    /// Number of the expansion that made it.
    pub(super) made_in: u64,
}

pub(super) enum Place {
    /// In RAM, and possibly on disk as well.
    Resident {
        flat: Arc<Vec<u64>>,
        copy: Option<Stored>,
    },
    Stored(Stored),
}

/// Where a part lies on disk.
#[derive(Clone)]
pub(super) enum Stored {
    Run(RunFile),
    Bundle { run: RunFile, id: u64 },
}

impl Part {
    pub(super) fn resident(shape: RecordShape, flat: Vec<u64>, made_in: u64) -> Self {
        let records = (flat.len() / shape.stride()) as u64;
        Part { records, place: Place::Resident { flat: Arc::new(flat), copy: None }, made_in }
    }

    pub(super) fn run(run: RunFile, made_in: u64) -> Self {
        Part { records: run.records(), place: Place::Stored(Stored::Run(run)), made_in }
    }

    /// Words held in RAM.
    pub(super) fn resident_words(&self) -> usize {
        match &self.place {
            Place::Resident { flat, .. } => flat.len(),
            Place::Stored(_) => 0,
        }
    }

    /// Where it lies on disk, if it does.
    pub(super) fn stored(&self) -> Option<&Stored> {
        match &self.place {
            Place::Resident { copy, .. } => copy.as_ref(),
            Place::Stored(stored) => Some(stored),
        }
    }
}

impl Stored {
    pub(super) fn file(&self) -> &RunFile {
        match self {
            Stored::Run(run) | Stored::Bundle { run, .. } => run,
        }
    }
}

/// Writes and reads parts.
#[derive(Clone)]
pub(super) struct Shelf {
    pub(super) disk: Disk,
    pub(super) options: RunOptions,
}

impl Shelf {
    pub(super) fn shape(&self) -> RecordShape {
        self.options.shape
    }

    /// How bundles are written.
    pub(super) fn bundle_options(&self) -> RunOptions {
        let shape = RecordShape::with_payload(self.shape().words() + 1, self.shape().payload_words());
        RunOptions { shape, ..self.options }
    }

    /// One run of several parts in RAM.
    pub(super) fn write_run(&self, kind: RunKind, parts: &[&[u64]]) -> Result<RunFile, Trouble> {
        let shape = self.shape();
        let mut writer = RunWriter::create(&self.disk, kind, &self.options)?;
        if let [only] = parts {
            writer.push_all(Records::new(shape, only))?;
        } else {
            let sources = parts.iter().map(|flat| memory_source(shape, flat)).collect();
            let mut merge = RunMerge::new(shape, sources);
            let mut block = Vec::new();
            while merge.next_block(&mut block)? {
                writer.push_all(Records::new(shape, &block))?;
            }
        }
        Ok(writer.finish()?)
    }

    /// A run of several sets, numbered from 0 on.
    pub(super) fn write_bundle(&self, sets: &[&[u64]]) -> Result<RunFile, Trouble> {
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &self.bundle_options())?;
        let mut record = Vec::with_capacity(self.shape().stride() + 1);
        for (id, set) in sets.iter().enumerate() {
            for state in set.chunks_exact(self.shape().stride()) {
                record.clear();
                record.extend_from_slice(state);
                record.push(id as u64);
                writer.push(&record)?;
            }
        }
        Ok(writer.finish()?)
    }

    /// The records of one set of a bundle.
    pub(super) fn load(&self, run: &RunFile, id: u64) -> Result<Vec<u64>, Trouble> {
        let index = BlockIndex::load(run)?;
        let words = self.shape().words();
        let mut from = vec![0; words];
        from.push(id);
        let mut reader = RunReader::open_at(run, &index, block_of(&index, &from))?;
        let (mut block, mut flat) = (Vec::new(), Vec::new());
        let stride = self.shape().stride() + 1;
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(stride) {
                match record[stride - 1].cmp(&id) {
                    Ordering::Less => {}
                    Ordering::Equal => flat.extend_from_slice(&record[..stride - 1]),
                    Ordering::Greater => return Ok(flat),
                }
            }
        }
        Ok(flat)
    }

    /// Makes a part ready to be read by several threads.
    pub(super) fn ready(&self, part: &Part) -> Result<Ready, Trouble> {
        Ok(match &part.place {
            Place::Resident { flat, .. } => Ready::Flat(Arc::clone(flat)),
            Place::Stored(Stored::Bundle { run, id }) => Ready::Flat(Arc::new(self.load(run, *id)?)),
            Place::Stored(Stored::Run(run)) => Ready::Run(run.clone(), Arc::new(BlockIndex::load(run)?)),
        })
    }
}

/// A part that can be read from any state on.
#[derive(Clone)]
pub(super) enum Ready {
    Flat(Arc<Vec<u64>>),
    Run(RunFile, Arc<BlockIndex>),
}

/// States from one on and before another; all where there is none.
#[derive(Clone, Copy)]
pub(super) struct Range<'a> {
    pub(super) from: Option<&'a [u64]>,
    pub(super) to: Option<&'a [u64]>,
}

impl Range<'_> {
    pub(super) const ALL: Range<'static> = Range { from: None, to: None };
}

impl Ready {
    /// Its states in `range` as a stream.
    pub(super) fn source<'s>(
        &'s self,
        shape: RecordShape,
        range: Range<'s>,
    ) -> Result<Box<dyn BlockSource + 's>, ReadError> {
        Ok(match self {
            Ready::Flat(flat) => memory_source(shape, cut(shape, flat, range)),
            Ready::Run(run, index) => {
                let block = range.from.map_or(0, |from| block_of(index, from));
                let reader = RunReader::open_at(run, index, block)?;
                Box::new(RangeSource { reader, shape, range, begun: false })
            }
        })
    }

    /// Appends about `count` evenly spread states and returns how many records each stands for.
    pub(super) fn sample(&self, shape: RecordShape, count: usize, out: &mut Vec<(Vec<u64>, u64)>) {
        match self {
            Ready::Run(run, index) => {
                let step = index.blocks().div_ceil(count).max(1);
                let weight = run.records() * step as u64 / index.blocks().max(1) as u64;
                let keys = (0..index.blocks()).step_by(step).map(|block| index.first_key(block).to_vec());
                out.extend(keys.map(|key| (key, weight)));
            }
            Ready::Flat(flat) => {
                let step = (flat.len() / shape.stride()).div_ceil(count).max(1);
                let chosen = flat.chunks_exact(shape.stride()).step_by(step);
                out.extend(chosen.map(|record| (shape.state(record).to_vec(), step as u64)));
            }
        }
    }
}

fn memory_source(shape: RecordShape, flat: &[u64]) -> Box<dyn BlockSource + '_> {
    Box::new(MemorySource::new(Records::new(shape, flat)))
}

/// The block that holds `state`, if any does.
fn block_of(index: &BlockIndex, state: &[u64]) -> usize {
    let (mut low, mut high) = (0, index.blocks());
    while low < high {
        let middle = (low + high) / 2;
        match compare(index.first_key(middle), state) {
            Ordering::Greater => high = middle,
            _ => low = middle + 1,
        }
    }
    low.saturating_sub(1)
}

/// The number of the first record of `flat` whose state is not below `state`.
pub(super) fn lower_bound(shape: RecordShape, flat: &[u64], state: &[u64]) -> usize {
    let stride = shape.stride();
    let (mut low, mut high) = (0, flat.len() / stride);
    while low < high {
        let middle = (low + high) / 2;
        match compare(shape.state(&flat[middle * stride..(middle + 1) * stride]), state) {
            Ordering::Less => low = middle + 1,
            _ => high = middle,
        }
    }
    low
}

fn cut<'s>(shape: RecordShape, flat: &'s [u64], range: Range) -> &'s [u64] {
    let start = range.from.map_or(0, |from| lower_bound(shape, flat, from));
    let end = range.to.map_or(flat.len() / shape.stride(), |to| lower_bound(shape, flat, to));
    &flat[start * shape.stride()..end.max(start) * shape.stride()]
}

/// The states of a run that lie in a range.
struct RangeSource<'s> {
    reader: RunReader,
    shape: RecordShape,
    range: Range<'s>,
    begun: bool,
}

impl BlockSource for RangeSource<'_> {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        loop {
            if !self.reader.next_block(flat)? {
                return Ok(false);
            }
            if let Some(to) = self.range.to {
                let end = lower_bound(self.shape, flat, to);
                flat.truncate(end * self.shape.stride());
                if end == 0 {
                    return Ok(false);
                }
            }
            if !std::mem::replace(&mut self.begun, true)
                && let Some(from) = self.range.from
            {
                let start = lower_bound(self.shape, flat, from);
                flat.drain(..start * self.shape.stride());
                if flat.is_empty() {
                    // The next block begins beyond `from`.
                    continue;
                }
            }
            return Ok(true);
        }
    }
}
