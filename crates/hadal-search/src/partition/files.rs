//! What lies on disk of a partition (Evangelista and Kristensen 2011, sec. 2): its visited states and its queue, both sorted;
//! and the dealer that writes records to the partitions they belong to.
//!
//! Partitions share files. Whatever leaves RAM together is one run, sorted by partition, of which each partition has a
//! slice: a file is written front to back, however small the partitions are. A file goes when its last slice does;
//! [`untidy`] finds files most of which nobody needs any more.

use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunSlice, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_unique};
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};
use std::collections::{BTreeMap, BTreeSet};

/// Closed states in more slices than this are written anew as one when their partition leaves RAM.
pub(super) const MANY_CLOSED: usize = 8;
/// Queues in more slices than this are written anew as one.
pub(super) const MANY_QUEUED: usize = 32;
/// The smallest of more files than this are written anew as one.
const MANY_FILES: usize = 32;
/// Less waste than this is left alone.
const LITTLE_WASTE: u64 = 4 << 20;

/// A partition. Its slices hold what is not in RAM; a partition in RAM has its new states there only.
#[derive(Default)]
pub(super) struct Partition {
    /// Distinct states in it, wherever they are.
    pub(super) states: u64,
    /// States that were expanded.
    pub(super) closed: Vec<RunSlice>,
    /// States that are counted but not expanded yet, each with its number.
    pub(super) open: Vec<RunSlice>,
    /// States that transitions led to, each with where it came from; they may be known already.
    pub(super) queue: Vec<RunSlice>,
    /// Records of its queue that are in RAM.
    pub(super) buffered: u64,
}

impl Partition {
    /// What is to be done in it.
    pub(super) fn pending(&self) -> u64 {
        let files = self.open.iter().chain(&self.queue).map(RunSlice::records).sum::<u64>();
        files + self.buffered
    }

    /// All its slices.
    pub(super) fn slices(&self) -> impl Iterator<Item = &RunSlice> {
        self.closed.iter().chain(&self.open).chain(&self.queue)
    }

    /// Its slices of one kind.
    pub(super) fn of_kind(&mut self, kind: RunKind) -> &mut Vec<RunSlice> {
        match kind {
            RunKind::Frontier => &mut self.open,
            RunKind::Candidates => &mut self.queue,
            // Tables of guides belong to no partition.
            RunKind::Closed | RunKind::Distances => &mut self.closed,
        }
    }
}

/// Payload words of the records of a kind: the number of a state, or where it came from.
pub(super) fn payload_of(kind: RunKind) -> usize {
    usize::from(kind != RunKind::Closed)
}

/// The files that slices of these partitions lie in, each once, by name.
pub(super) fn files(partitions: &[Partition]) -> BTreeMap<&str, (&RunFile, u64)> {
    let mut files = BTreeMap::new();
    for slice in partitions.iter().flat_map(Partition::slices) {
        files.entry(slice.run().name()).or_insert((slice.run(), 0)).1 += slice.bytes();
    }
    files
}

/// The files worth writing anew: those most of whose bytes belong to no slice any more, where there is much of that; and
/// the smallest, where there are many files, each of which a commit would have to sync.
pub(super) fn untidy(partitions: &[Partition]) -> BTreeSet<String> {
    let files = files(partitions);
    let all: u64 = files.values().map(|(run, _)| run.bytes()).sum();
    let used: u64 = files.values().map(|(_, used)| used).sum();
    let mut untidy = BTreeSet::new();
    if all > 2 * used + LITTLE_WASTE {
        let mostly = files.iter().filter(|(_, (run, used))| 2 * used < run.bytes());
        untidy.extend(mostly.map(|(&name, _)| name.to_owned()));
    }
    if files.len() > MANY_FILES {
        let mut sizes: Vec<(u64, &str)> = files.iter().map(|(&name, (run, _))| (run.bytes(), name)).collect();
        sizes.sort_unstable();
        let mut left = (all / 8).max(LITTLE_WASTE);
        for (bytes, name) in sizes {
            let Some(less) = left.checked_sub(bytes) else { break };
            left = less;
            untidy.insert(name.to_owned());
        }
    }
    untidy
}

/// Reads the records of a slice without the partition that leads them.
pub(super) struct SliceScan {
    reader: RunReader,
    raw: Vec<u64>,
}

impl SliceScan {
    pub(super) fn open(slice: &RunSlice) -> Result<Self, Trouble> {
        Ok(SliceScan { reader: slice.reader()?, raw: Vec::new() })
    }

    /// Replaces the contents of `flat` by some records; `false` at the end.
    pub(super) fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, Trouble> {
        let more = self.reader.next_block(&mut self.raw)?;
        let stride = self.reader.shape().stride();
        flat.clear();
        for record in self.raw.chunks_exact(stride) {
            flat.extend_from_slice(&record[..stride - 1]);
        }
        Ok(more)
    }
}

/// Options of the runs that partitions share: the partition is the most significant word of a record, and so the last.
pub(super) fn shared_options(of_states: &RunOptions, payload: usize) -> RunOptions {
    RunOptions { shape: RecordShape::with_payload(of_states.shape.words() + 1, payload), ..*of_states }
}

/// The records of each partition among records sorted by partition, each led by its own.
fn by_partition(mut sorted: &[u64], stride: usize) -> impl Iterator<Item = (u32, &[u64])> {
    std::iter::from_fn(move || {
        let partition = *sorted.get(stride - 1)?;
        let same = sorted.chunks_exact(stride).take_while(|record| record[stride - 1] == partition);
        let (share, rest) = sorted.split_at(same.count() * stride);
        sorted = rest;
        Some((partition as u32, share))
    })
}

/// Writes the sorted records of some partitions in ascending order, each led by its own, as one run, and tells the slices.
pub(super) fn write_slices<'a>(
    disk: &Disk,
    (kind, options): (RunKind, &RunOptions),
    shares: impl Iterator<Item = (u32, &'a [u64])>,
    mut give: impl FnMut(u32, RunSlice),
) -> Result<(), Trouble> {
    let mut shares = shares.peekable();
    if shares.peek().is_none() {
        return Ok(());
    }
    let mut writer = RunWriter::create(disk, kind, options)?;
    let mut marks = vec![(0, writer.mark()?)];
    for (partition, share) in shares {
        writer.push_all(Records::new(options.shape, share))?;
        marks.push((partition, writer.mark()?));
    }
    let run = writer.finish()?;
    for pair in marks.windows(2) {
        give(pair[1].0, RunSlice::between(&run, pair[0].1, pair[1].1));
    }
    Ok(())
}

/// Sorts records by partition and state, a chunk at a time, and writes each partition's share as a slice of its own.
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

    /// The disk it writes to.
    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Options of the runs that are written.
    pub(super) fn options(&self, payload: usize) -> RunOptions {
        shared_options(&self.options, payload)
    }

    /// Starts with records of this many payload words.
    pub(super) fn begin(&mut self, payload: usize) {
        self.payload = payload;
        self.chunk.clear();
        let shape = self.options(payload).shape;
        let each = shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024 + 1;
        let records = (self.bytes / each).max(1) as usize;
        self.chunk.reserve_exact(records * shape.stride());
    }

    /// Adds a record; says whether the chunk is full.
    pub(super) fn add(&mut self, partition: u32, record: &[u64]) -> bool {
        self.chunk.extend_from_slice(record);
        self.chunk.push(u64::from(partition));
        self.chunk.len() + record.len() + 1 > self.chunk.capacity()
    }

    /// Writes the chunk, giving each partition its slice. Returns how many records were written.
    pub(super) fn deal(&mut self, kind: RunKind, give: impl FnMut(u32, RunSlice)) -> Result<u64, Trouble> {
        let options = self.options(self.payload);
        sort_unique(options.shape, &mut self.chunk);
        let shares = by_partition(&self.chunk, options.shape.stride());
        write_slices(&self.disk, (kind, &options), shares, give)?;
        let written = (self.chunk.len() / options.shape.stride()) as u64;
        self.chunk.clear();
        Ok(written)
    }
}
