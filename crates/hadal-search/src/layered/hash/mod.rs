//! Hash-based delayed detection: candidates go to buckets by a [partition](Partition) of the packed state; at the end of the
//! layer each bucket's candidates are put into a table and its closed states streamed past it (Lamborn 2014, ch. 4).
//!
//! A bucket whose candidates would fill the table is split first. One that no variable splits is freed of duplicates
//! by sorting instead. (Runs are sorted, because batches arrive sorted and sorted runs are small; nothing relies on it.)

mod bucket;
pub(crate) mod detection;
mod partition;
mod projection;
pub(crate) mod sample;
pub(crate) mod structured;

pub use partition::{Partition, PartitionError, SplitBy};
pub use sample::Sampling;

use super::Trouble;
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::settling::{Looking, Settling};
use crate::report::{Buckets, Distance};
use bucket::{Bucket, Depths};
use hadal_store::merge::{RecordSink, RunMerge, RunScan, subtract_closed};
use hadal_store::run::{RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::vfs::{CachedFolder, Disk};
use hadal_store::{Bitmap, Reservation};
use hadal_system::Ascending;
use hadal_system::random::Xorshift;
use std::future::ready;
use std::sync::Arc;

/// A bucket is split when its candidates would take more of the table than this.
const FULL_PERCENT: u64 = 95;
/// Files that were written lately take at most one part in so many of the budget.
const RECENT_PART: u64 = 12;
/// States that decide about a split.
const SAMPLED: usize = 10_000;

/// The states that fit a table of so many bytes, with some to spare for the index as it grows.
pub(crate) fn capacity(table_bytes: u64, words: usize) -> u64 {
    (table_bytes / 2 / (8 * words as u64 + 16)).max(16)
}

pub(crate) struct HashDetector {
    disk: Disk,
    options: RunOptions,
    shape: RecordShape,
    partition: Partition,
    split_by: SplitBy,
    buckets: Vec<Bucket>,
    table: StateTable,
    capacity: u64,
    /// Words of candidates, and of closed states, in RAM.
    held: usize,
    resident: usize,
    most_held: usize,
    random: Xorshift,
    depth: u64,
    /// Where recent layers are looked at only.
    settling: Option<Settling>,
    /// The first depth to compare with now.
    since: u64,
    splits: u64,
    sorted: u64,
    /// Duplicates met while buckets were split before the layer ended.
    within_split: u64,
    _memory: Reservation,
}

impl HashDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        (partition, split_by): (Partition, SplitBy),
        table_bytes: u64,
        looking: Option<Looking>,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 24).clamp(96 << 10, 64 << 20);
        let shape = options.shape;
        let capacity = capacity(table_bytes, shape.stride());
        let survivors = capacity * shape.bytes() as u64 + scratch_bytes(shape, capacity as usize);
        let table = disk.governor.part(table_bytes);
        // Nothing here is ever committed: small runs that are merged soon need not reach the disk.
        let recent = disk.governor.part(disk.governor.limit() / RECENT_PART);
        let disk = disk.through(|folder| Arc::new(CachedFolder::new(folder, recent)));
        Ok(HashDetector {
            disk: disk.clone(),
            options,
            shape,
            partition,
            split_by,
            buckets: Vec::new(),
            table: StateTable::keeping(
                (shape.words(), shape.words() as u32 * 64),
                shape.payload(),
                1,
                &table,
            )?,
            capacity,
            held: 0,
            resident: 0,
            most_held: most as usize / 8,
            random: Xorshift::other(),
            depth: 0,
            settling: looking.map(|looking| Settling::new(&disk, options, looking)).transpose()?,
            since: 0,
            splits: 0,
            sorted: 0,
            within_split: 0,
            // Candidates and closed states of all buckets, what is being sorted of either, and one bucket's new states.
            _memory: disk.governor.try_reserve(4 * most + survivors, "buckets")?,
        })
    }

    fn bucket_of(&mut self, state: &[u64]) -> usize {
        let bucket = self.partition.bucket(state);
        while self.buckets.len() <= bucket {
            self.buckets.push(Bucket::default());
        }
        bucket
    }

    fn add_candidates(&mut self, records: &[u64]) -> Result<(), Trouble> {
        for record in records.chunks_exact(self.shape.stride()) {
            let bucket = self.bucket_of(self.shape.state(record));
            self.buckets[bucket].hold_candidate(record);
            self.held += record.len();
            if self.held > self.most_held {
                self.spill_candidates()?;
            }
        }
        Ok(())
    }

    async fn add_closed(&mut self, records: &[u64], depths: Depths) -> Result<(), Trouble> {
        for record in records.chunks_exact(self.shape.stride()) {
            let bucket = self.bucket_of(self.shape.state(record));
            self.buckets[bucket].hold_closed(record, depths);
            self.resident += record.len();
            if self.resident > self.most_held {
                self.spill_closed().await?;
            }
        }
        Ok(())
    }

    /// Writes the largest batches of candidates until half of the room is free.
    fn spill_candidates(&mut self) -> Result<(), Trouble> {
        for at in self.largest_first(|bucket| bucket.held.len()) {
            if self.held <= self.most_held / 2 {
                break;
            }
            self.held -= self.buckets[at].held.len();
            self.buckets[at].spill_candidates(&self.disk, &self.options)?;
        }
        Ok(())
    }

    async fn spill_closed(&mut self) -> Result<(), Trouble> {
        for at in self.largest_first(|bucket| bucket.resident.len()) {
            if self.resident <= self.most_held / 2 {
                break;
            }
            self.resident -= self.buckets[at].resident.len();
            self.buckets[at].spill_closed(&self.disk, &self.options).await?;
        }
        Ok(())
    }

    fn largest_first(&self, words: impl Fn(&Bucket) -> usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.buckets.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(words(&self.buckets[at])));
        order
    }

    /// Splits the bucket until each part's candidates fit the table; `false` where that cannot be.
    async fn split(&mut self, bucket: usize, found: &mut Found) -> Result<bool, Trouble> {
        let shape = self.shape;
        let mut sample = self.buckets[bucket].recent_states(SAMPLED * shape.stride())?;
        shape.strip_payloads(&mut sample);
        let states = sample.chunks_exact(shape.words());
        if !self.partition.split(bucket, states, self.split_by, self.random.bits()) {
            return Ok(false);
        }
        self.splits += 1;
        let old = std::mem::take(&mut self.buckets[bucket]);
        self.held -= old.held.len();
        found.within += old.within;
        self.resident -= old.resident.len();
        let mut block = Vec::new();
        self.add_candidates(&old.held)?;
        for run in &old.candidates {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                self.add_candidates(&block)?;
                self.disk.rest().await?;
            }
        }
        for (depths, run) in &old.closed {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                self.add_closed(&block, *depths).await?;
                self.disk.rest().await?;
            }
        }
        self.add_closed(&old.resident, old.resident_depths).await?;
        Ok(true)
    }

    /// Frees one bucket of duplicates in the table; `false` (and nothing done) where it does not fit.
    async fn detect(
        &mut self,
        at: usize,
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<bool, Trouble> {
        let bucket = &self.buckets[at];
        let mut block = Vec::new();
        self.table.clear()?;
        let shape = self.shape;
        if self.table.insert_records(Records::new(shape, &bucket.held)).is_err() {
            return Ok(false);
        }
        for run in &bucket.candidates {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                if self.table.insert_records(Records::new(shape, &block)).is_err() {
                    return Ok(false);
                }
                self.disk.rest().await?;
            }
        }
        let distinct = self.table.len();
        let mut dead = Bitmap::new(distinct as usize);
        let mut strike = |records: &[u64]| {
            let mut hits = 0;
            for record in records.chunks_exact(shape.stride()) {
                let known = self.table.find(shape.state(record));
                if let Some(known) = known.filter(|at| !dead.get(at.number() as usize)) {
                    dead.set(known.number() as usize);
                    hits += 1;
                }
            }
            hits
        };
        note(found, self.depth, bucket.resident_depths, strike(&bucket.resident));
        for (depths, run) in bucket.closed.iter().filter(|(depths, _)| depths.1 >= self.since) {
            let mut reader = RunReader::open(run)?;
            let mut hits = 0;
            while reader.next_block(&mut block)? {
                hits += strike(&block);
                self.disk.rest().await?;
            }
            note(found, self.depth, *depths, hits);
        }
        let offered = bucket.count;
        let mut fresh = Vec::new();
        for number in (0..distinct).filter(|&number| !dead.get(number as usize)) {
            self.table.copy_records(0, number, number + 1, &mut fresh);
        }
        sort_records(shape, &mut fresh);
        layer.push_all(Ascending::new(shape.stride(), &fresh))?;
        layer.end_part()?;
        found.within += offered - distinct;
        found.earlier += distinct - (fresh.len() / shape.stride()) as u64;
        self.forget_candidates(at);
        self.add_closed(&fresh, (self.depth, self.depth)).await?;
        Ok(true)
    }

    /// Frees one bucket of duplicates by sorting.
    async fn detect_sorted(
        &mut self,
        at: usize,
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let bucket = &mut self.buckets[at];
        self.held -= bucket.held.len();
        self.resident -= bucket.resident.len();
        bucket.spill_candidates(&self.disk, &self.options)?;
        bucket.spill_closed(&self.disk, &self.options).await?;
        let merged = bucket.reduce(&self.disk, &self.options).await?;
        let mut closed = Vec::new();
        for (_, run) in bucket.closed.iter().filter(|(depths, _)| depths.1 >= self.since) {
            closed.push(RunScan::open(run)?);
        }
        let merge = RunMerge::of_runs(self.options.shape, &bucket.candidates)?;
        let copy = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        let mut both = Both { layer, copy };
        let mut filter = Scans(closed);
        let done = subtract_closed(&self.disk, merge, &mut filter, &mut both).await?;
        let copy = both.copy.finish()?;
        layer.end_part()?;
        found.within += bucket.within + merged + done.duplicates_within;
        found.earlier += done.duplicates_closed;
        if copy.records() > 0 {
            bucket.closed.push(((self.depth, self.depth), copy));
        }
        self.forget_candidates(at);
        Ok(())
    }

    /// Frees one bucket of duplicates, in parts where it is too large.
    async fn finish_bucket(
        &mut self,
        at: usize,
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        if self.buckets[at].count == 0 {
            return Ok(());
        }
        let too_many = self.buckets[at].count * 100 > self.capacity * FULL_PERCENT;
        let split = too_many && self.split(at, found).await?;
        if !split && (too_many || !self.detect(at, layer, found).await?) {
            self.sorted += 1;
            self.detect_sorted(at, layer, found).await?;
        }
        Ok(())
    }

    /// Frees all buckets of duplicates, one after the other.
    async fn detect_all(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        let since = self.settling.as_mut().and_then(|settling| {
            let candidates = self.buckets.iter().map(|bucket| bucket.count).sum();
            settling.since(candidates)
        });
        self.since = since.unwrap_or(0);
        let mut found = Found::default();
        let mut at = 0;
        // Splits add buckets at the end, which are met later.
        while at < self.buckets.len() {
            self.finish_bucket(at, layer, &mut found).await?;
            at += 1;
        }
        if let Some(settling) = &mut self.settling {
            settling.checked(since, &found.by_distance);
            found.window = settling.window(since);
        }
        Ok(found)
    }

    fn forget_candidates(&mut self, at: usize) {
        let bucket = &mut self.buckets[at];
        self.held -= bucket.held.len();
        bucket.forget_candidates();
    }

    /// How states are parted now.
    pub(crate) fn partition(&self) -> &Partition {
        &self.partition
    }
}

impl Detector for HashDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        self.add_candidates(batch.flat())
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.detect_all(layer))
    }

    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.depth = depth + 1;
        if let Some(settling) = &mut self.settling {
            settling.closed(depth, layer.states());
        }
        Box::pin(ready(Ok(())))
    }

    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.depth = depth + 1;
        Box::pin(async move {
            if let Some(settling) = &mut self.settling {
                settling.adopt(depth, layer).await?;
            }
            match layer {
                LayerView::States(states) => self.add_closed(states.flat(), (depth, depth)).await,
                LayerView::Run(run) => {
                    let mut reader = RunReader::open(run)?;
                    let mut block = Vec::new();
                    while reader.next_block(&mut block)? {
                        self.add_closed(&block, (depth, depth)).await?;
                        self.disk.rest().await?;
                    }
                    Ok(())
                }
            }
        })
    }

    fn settling(&mut self) -> Option<&mut Settling> {
        self.settling.as_mut()
    }

    fn partition_text(&self) -> Option<String> {
        Some(self.partition().saved())
    }

    fn buckets(&self) -> Option<Buckets> {
        let (buckets, splits, sorted) = (self.buckets.len() as u64, self.splits, self.sorted);
        Some(Buckets { buckets, splits, sorted })
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(async move {
            let mut block = Vec::new();
            for bucket in &mut self.buckets {
                bucket.spill_candidates(&self.disk, &self.options)?;
                for run in &bucket.candidates {
                    let mut reader = RunReader::open(run)?;
                    while reader.next_block(&mut block)? {
                        to.offer(Ascending::new(self.shape.stride(), &block))?;
                        self.disk.rest().await?;
                    }
                }
            }
            Ok(())
        })
    }

    fn name(&self) -> &'static str {
        "hash buckets"
    }
}

/// Counts duplicates by how far back; buckets have many runs of the same depths.
fn note(found: &mut Found, depth: u64, depths: Depths, hits: u64) {
    if hits == 0 {
        return;
    }
    let distance = Distance::between(depth, depths, hits);
    let same =
        |other: &&mut Distance| (other.nearest, other.farthest) == (distance.nearest, distance.farthest);
    match found.by_distance.iter_mut().find(same) {
        Some(known) => known.found += hits,
        None => found.by_distance.push(distance),
    }
}

/// New states of a bucket go to the layer and to its closed runs.
struct Both<'a> {
    layer: &'a mut LayerWriter,
    copy: RunWriter,
}

impl RecordSink for Both<'_> {
    fn accept(&mut self, records: Records<'_>) -> Result<(), hadal_store::error::WriteError> {
        self.layer.write(records.flat())?;
        self.copy.push_all(records)
    }
}

/// Several runs of one closed set, read front to back.
struct Scans(Vec<RunScan>);

impl hadal_store::merge::ClosedFilter for Scans {
    fn mark(
        &mut self,
        candidates: Records<'_>,
        present: &mut Bitmap,
    ) -> Result<u64, hadal_store::error::ReadError> {
        self.0[..].mark(candidates, present)
    }
}
