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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Closed states in more slices than this are written anew as one when their partition leaves RAM.
pub(super) const MANY_CLOSED: usize = 8;
/// Queues in more slices than this are written anew as one.
pub(super) const MANY_QUEUED: usize = 32;
/// The smallest of more files than this are written anew as one: all but a quarter of so many, so that what was joined
/// before, which is larger, stays.
const MANY_FILES: usize = 256;
/// Less waste than this is left alone.
const LITTLE_WASTE: u64 = 4 << 20;

/// Time spent on files so far.
#[derive(Clone, Default)]
pub(super) struct Io(Arc<AtomicU64>);

impl Io {
    /// Does something that reads or writes files.
    pub(super) fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = work();
        self.0.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// The time so far.
    pub(super) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// A partition. Its slices and shelves hold what is not in RAM to be searched; a partition in RAM has its new states there
/// only.
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
    /// Records of each kind that are in no file yet ([`super::shelf`], [`super::queue`]), one after the other.
    shelved: [Vec<u64>; 3],
    /// Records that are not expanded states, in files and on the shelf.
    waiting: u64,
}

impl Partition {
    /// What is to be done in it.
    pub(super) fn pending(&self) -> u64 {
        self.waiting
    }

    /// What is on its shelf.
    pub(super) fn shelved(&self, kind: RunKind) -> &[u64] {
        &self.shelved[shelf_of(kind)]
    }

    /// Puts a record on its shelf.
    pub(super) fn shelve(&mut self, kind: RunKind, record: &[u64]) {
        self.waiting += u64::from(kind != RunKind::Closed);
        self.shelved[shelf_of(kind)].extend_from_slice(record);
    }

    /// Puts a state into its queue.
    pub(super) fn enqueue(&mut self, from: u64, state: &[u64]) {
        self.shelved[shelf_of(RunKind::Candidates)].push(from);
        self.shelve(RunKind::Candidates, state);
    }

    /// Takes what is on its shelf.
    pub(super) fn take_shelved(&mut self, kind: RunKind, stride: usize) -> Vec<u64> {
        let records = std::mem::take(&mut self.shelved[shelf_of(kind)]);
        if kind != RunKind::Closed {
            self.waiting -= (records.len() / stride) as u64;
        }
        records
    }

    /// Sorts what is on its shelf and drops what is there twice.
    pub(super) fn sort_shelved(&mut self, kind: RunKind, shape: RecordShape) {
        let records = &mut self.shelved[shelf_of(kind)];
        let before = records.len();
        sort_unique(shape, records);
        if kind != RunKind::Closed {
            self.waiting -= ((before - records.len()) / shape.stride()) as u64;
        }
    }

    /// Gives it another slice.
    pub(super) fn give(&mut self, kind: RunKind, slice: RunSlice) {
        if kind != RunKind::Closed {
            self.waiting += slice.records();
        }
        self.of_kind(kind).push(slice);
    }

    /// Gives up the last slice of its queue.
    pub(super) fn pop_queue(&mut self) {
        if let Some(slice) = self.queue.pop() {
            self.waiting -= slice.records();
        }
    }

    /// Takes all slices of a kind for which `wanted` holds.
    pub(super) fn take(&mut self, kind: RunKind, wanted: impl Fn(&RunSlice) -> bool) -> Vec<RunSlice> {
        let taken: Vec<RunSlice> = self.of_kind(kind).extract_if(.., |slice| wanted(slice)).collect();
        if kind != RunKind::Closed {
            self.waiting -= taken.iter().map(RunSlice::records).sum::<u64>();
        }
        taken
    }

    /// All its slices.
    pub(super) fn slices(&self) -> impl Iterator<Item = &RunSlice> {
        self.closed.iter().chain(&self.open).chain(&self.queue)
    }

    /// Its slices of one kind.
    fn of_kind(&mut self, kind: RunKind) -> &mut Vec<RunSlice> {
        match kind {
            RunKind::Frontier => &mut self.open,
            RunKind::Candidates => &mut self.queue,
            // Tables of guides belong to no partition.
            RunKind::Closed | RunKind::Distances => &mut self.closed,
        }
    }
}

fn shelf_of(kind: RunKind) -> usize {
    match kind {
        RunKind::Closed | RunKind::Distances => 0,
        RunKind::Frontier => 1,
        RunKind::Candidates => 2,
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
/// the smallest, where there are many.
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
        sizes.truncate(files.len() - MANY_FILES / 4);
        untidy.extend(sizes.into_iter().map(|(_, name)| name.to_owned()));
    }
    untidy
}

/// Reads the records of a slice without the partition that leads them.
pub(super) struct SliceScan<'a> {
    reader: RunReader,
    raw: Vec<u64>,
    io: &'a Io,
}

impl<'a> SliceScan<'a> {
    pub(super) fn open(slice: &RunSlice, io: &'a Io) -> Result<Self, Trouble> {
        Ok(SliceScan { reader: io.measure(|| slice.reader())?, raw: Vec::new(), io })
    }

    /// Replaces the contents of `flat` by some records; `false` at the end.
    pub(super) fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, Trouble> {
        let more = self.io.measure(|| self.reader.next_block(&mut self.raw))?;
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
pub(super) fn write_slices<S: AsRef<[u64]>>(
    disk: &Disk,
    (kind, options): (RunKind, &RunOptions),
    shares: impl Iterator<Item = (u32, S)>,
    mut give: impl FnMut(u32, RunSlice),
) -> Result<(), Trouble> {
    let mut shares = shares.peekable();
    if shares.peek().is_none() {
        return Ok(());
    }
    let mut writer = RunWriter::create(disk, kind, options)?;
    let mut marks = vec![(0, writer.mark()?)];
    for (partition, share) in shares {
        writer.push_all(Records::new(options.shape, share.as_ref()))?;
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
    io: Io,
    _memory: Reservation,
}

impl Dealer {
    /// A dealer of states like those of `options`, in chunks of `bytes`.
    pub(super) fn new(disk: &Disk, options: RunOptions, bytes: u64, io: &Io) -> Result<Self, OverBudget> {
        let (disk, io) = (disk.clone(), io.clone());
        let memory = disk.governor.try_reserve(bytes, "sorting")?;
        Ok(Dealer { disk, options, chunk: Vec::new(), bytes, payload: 0, io, _memory: memory })
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
        self.io.measure(|| write_slices(&self.disk, (kind, &options), shares, give))?;
        let written = (self.chunk.len() / options.shape.stride()) as u64;
        self.chunk.clear();
        Ok(written)
    }
}
