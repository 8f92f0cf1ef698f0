//! What lies on disk of a partition (Evangelista and Kristensen 2011, sec. 2): its visited states and its queue, both as
//! sorted runs; and the dealer that writes records to the files of the partitions they belong to.

use crate::layered::Trouble;
use hadal_store::merge::{BlockSource, RunMerge};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_unique};
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};

/// More runs than this of one kind in one partition are merged.
const MANY_RUNS: usize = 8;

/// A partition. Its files hold what is not in RAM; a partition in RAM has its new states there only.
#[derive(Default)]
pub(super) struct Partition {
    /// Distinct states in it, wherever they are.
    pub(super) states: u64,
    /// States that were expanded.
    pub(super) closed: Vec<RunFile>,
    /// States that are counted but not expanded yet, each with its number.
    pub(super) open: Vec<RunFile>,
    /// States that transitions led to, each with where it came from; they may be known already.
    pub(super) queue: Vec<RunFile>,
    /// Records of its queue that are in RAM.
    pub(super) buffered: u64,
}

impl Partition {
    /// What is to be done in it.
    pub(super) fn pending(&self) -> u64 {
        let files = self.open.iter().chain(&self.queue).map(RunFile::records).sum::<u64>();
        files + self.buffered
    }

    /// All its files.
    pub(super) fn files(&self) -> impl Iterator<Item = &RunFile> {
        self.closed.iter().chain(&self.open).chain(&self.queue)
    }

    /// Merges files where there are too many of them; returns how many records were moved.
    pub(super) fn consolidate(&mut self) -> Result<u64, Trouble> {
        Ok(consolidate(&mut self.closed, RunKind::Closed)?
            + consolidate(&mut self.queue, RunKind::Candidates)?)
    }
}

fn consolidate(runs: &mut Vec<RunFile>, kind: RunKind) -> Result<u64, Trouble> {
    if runs.len() <= MANY_RUNS {
        return Ok(0);
    }
    let (disk, options) = (runs[0].disk().clone(), *runs[0].options());
    // Smallest first: they are what there are too many of.
    runs.sort_by_key(|run| (run.records(), run.name().to_owned()));
    let readable = disk.governor.available() / 2 / RunReader::footprint(&options);
    let count = runs.len().min(readable as usize);
    if count < 2 {
        return Ok(0);
    }
    let batch = options.block_records();
    let mut merge = RunMerge::of_runs(options.shape, &runs[..count])?.with_batch_records(batch);
    let mut writer = RunWriter::create(&disk, kind, &options)?;
    let mut block = Vec::new();
    while merge.next_block(&mut block)? {
        writer.push_all(Records::new(options.shape, &block))?;
    }
    drop(merge);
    let merged = writer.finish()?;
    let records = merged.records();
    runs.splice(..count, [merged]);
    Ok(records)
}

/// Sorts records by partition and state, a chunk at a time, and writes each partition's share to a run of its own.
pub(super) struct Dealer {
    disk: Disk,
    options: RunOptions,
    chunk: Vec<u64>,
    bytes: u64,
    /// Payload words of the records in the chunk.
    payload: usize,
    _memory: Reservation,
}

impl Dealer {
    /// A dealer of states like those of `options`, in chunks of `bytes`.
    pub(super) fn new(disk: &Disk, options: RunOptions, bytes: u64) -> Result<Self, OverBudget> {
        let memory = disk.governor.try_reserve(bytes, "sorting")?;
        Ok(Dealer { disk: disk.clone(), options, chunk: Vec::new(), bytes, payload: 0, _memory: memory })
    }

    /// The partition is the most significant word: it comes last.
    fn shape(&self) -> RecordShape {
        RecordShape::with_payload(self.options.shape.words() + 1, self.payload)
    }

    /// Options of the runs that are written.
    pub(super) fn options(&self, payload: usize) -> RunOptions {
        RunOptions { shape: RecordShape::with_payload(self.options.shape.words(), payload), ..self.options }
    }

    /// Starts with records of this many payload words.
    pub(super) fn begin(&mut self, payload: usize) {
        self.payload = payload;
        self.chunk.clear();
        let shape = self.shape();
        let each = shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024 + 1;
        let records = (self.bytes / each).max(1) as usize;
        self.chunk.reserve_exact(records * shape.stride());
    }

    /// Adds a record; says whether the chunk is full.
    pub(super) fn add(&mut self, partition: u32, record: &[u64]) -> bool {
        self.chunk.extend_from_slice(record);
        self.chunk.push(u64::from(partition));
        self.chunk.len() + self.shape().stride() > self.chunk.capacity()
    }

    /// Writes the chunk, giving each partition its run. Returns how many records were written.
    pub(super) fn deal(&mut self, kind: RunKind, mut give: impl FnMut(u32, RunFile)) -> Result<u64, Trouble> {
        let shape = self.shape();
        sort_unique(shape, &mut self.chunk);
        let stride = shape.stride();
        let options = self.options(self.payload);
        let same = |a: &[u64], b: &[u64]| a[stride - 1] == b[stride - 1];
        let mut rest = &self.chunk[..];
        while !rest.is_empty() {
            let first = &rest[..stride];
            let share = rest.chunks_exact(stride).take_while(|record| same(first, record)).count() * stride;
            let mut writer = RunWriter::create(&self.disk, kind, &options)?;
            for record in rest[..share].chunks_exact(stride) {
                writer.push(&record[..stride - 1])?;
            }
            give(first[stride - 1] as u32, writer.finish()?);
            rest = &rest[share..];
        }
        let written = (self.chunk.len() / stride) as u64;
        self.chunk.clear();
        Ok(written)
    }
}
