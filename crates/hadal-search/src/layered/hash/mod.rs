//! Hash-based delayed detection: candidates go to buckets by a [partition](Partition) of the packed state; at the end of the
//! layer each bucket's candidates meet in a table, and what is left is compared with the bucket's closed states (Lamborn
//! 2014, ch. 4).
//!
//! The closed states of all buckets are in the same runs, in the order of their buckets: what leaves RAM together is one
//! file, and runs merge as they grow. So a layer opens a few files however many buckets there are, and goes through each
//! once. A bucket whose candidates would fill the table is split first. One that no variable splits is freed of duplicates
//! by merging instead.

mod detect;
pub(crate) mod detection;
mod partition;
mod projection;
pub(crate) mod sample;
pub(crate) mod structured;
mod waiting;

pub use partition::{Partition, PartitionError, SplitBy};
pub use sample::Sampling;

use super::Trouble;
use super::closed_set::{ClosedSet, TakesClosed};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::settling::{Looking, Settling};
use crate::report::Buckets;
use detect::{Bench, Fresh};
use hadal_store::Reservation;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::ClosedFilter;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_records;
use hadal_store::vfs::{CachedFolder, Disk};
use hadal_system::Ascending;
use hadal_system::random::Xorshift;
use std::future::ready;
use std::sync::Arc;
use waiting::{Waiting, lead, led, unlead};

/// Files that were written lately take at most one part in so many of the budget.
const RECENT_PART: u64 = 16;
/// Candidates in RAM, and small closed layers, take at most one part in so many.
const HELD_PART: u64 = 48;
/// Buckets are decided by several threads only where each has so much of the budget.
const JUDGE_BYTES: u64 = 12 << 20;
/// States that decide about a split.
const SAMPLED: usize = 10_000;

/// The bytes of the table in which the candidates of a bucket meet.
#[derive(Clone, Copy)]
pub(crate) enum Tabling {
    /// For as long as there are buckets.
    Own(u64),
    /// While a layer is found; before, they are the cache's (Lamborn 2014, sec. 4.2.1).
    InTurn(u64),
}

/// First and last depth of some layers.
pub(super) type Depths = (u64, u64);

pub(crate) struct HashDetector {
    disk: Disk,
    options: RunOptions,
    shape: RecordShape,
    partition: Partition,
    split_by: SplitBy,
    /// Closed states, led by their buckets.
    closed: ClosedSet,
    /// Closed states by bucket.
    closed_states: Vec<u64>,
    bench: Bench,
    most_held: usize,
    random: Xorshift,
    depth: u64,
    /// Where recent layers are looked at only.
    settling: Option<Settling>,
    splits: u64,
    sampling_ms: u64,
    /// Duplicates met while buckets were split before the layer ended.
    within_split: u64,
    _memory: Reservation,
}

impl HashDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        (partition, split_by): (Partition, SplitBy),
        (tabling, threads): (Tabling, usize),
        looking: Option<Looking>,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / HELD_PART).clamp(64 << 10, 64 << 20);
        let shape = options.shape;
        let (Tabling::Own(table_bytes) | Tabling::InTurn(table_bytes)) = tabling;
        // What comes and goes is no larger than what a bucket may take besides.
        let for_bucket = match tabling {
            Tabling::Own(bytes) => bytes,
            Tabling::InTurn(bytes) => bytes / 2,
        };
        let judges = threads.min((disk.governor.limit() / JUDGE_BYTES) as usize).max(1);
        let capacity = (for_bucket / judges as u64 / 2 / (8 * shape.stride() as u64 + 16)).max(16);
        let table = disk.governor.part(table_bytes);
        // Nothing here is ever committed: small runs that are merged soon need not reach the disk.
        let recent = disk.governor.part(disk.governor.limit() / RECENT_PART);
        let disk = disk.through(|folder| Arc::new(CachedFolder::new(folder, recent)));
        let most_held = most as usize / 8;
        let policy = LevelPolicy::Merging { ratio: 3 };
        Ok(HashDetector {
            closed: ClosedSet::new(&disk, led(options), policy, most_held / 2),
            closed_states: Vec::new(),
            bench: Bench::new(Waiting::new(&disk, options, most_held), (tabling, &table), capacity, judges)?,
            options,
            shape,
            partition,
            split_by,
            most_held,
            random: Xorshift::other(),
            depth: 0,
            settling: looking.map(|looking| Settling::new(&disk, options, looking)).transpose()?,
            splits: 0,
            sampling_ms: 0,
            within_split: 0,
            // Candidates of all buckets, what is being sorted of them, small closed layers, the copy made when they grow, new
            // states, and one bucket's candidates as they came and as they are sorted.
            _memory: disk
                .governor
                .try_reserve(4 * most + judges as u64 * Bench::footprint(shape, capacity), "buckets")?,
            disk,
        })
    }

    /// The same, whose first scalars were chosen in this time.
    pub(crate) fn sampled_in(self, sampling: std::time::Duration) -> Self {
        HashDetector { sampling_ms: sampling.as_millis() as u64, ..self }
    }

    /// The bucket of a state.
    fn bucket_of(&mut self, state: &[u64]) -> usize {
        let bucket = self.partition.bucket(state);
        if self.closed_states.len() <= bucket {
            self.closed_states.resize(bucket + 1, 0);
        }
        bucket
    }

    fn add_candidates(&mut self, records: &[u64]) -> Result<(), Trouble> {
        for record in records.chunks_exact(self.shape.stride()) {
            let bucket = self.bucket_of(self.shape.state(record));
            self.bench.waiting.add(bucket, record)?;
        }
        Ok(())
    }

    /// Adds closed states of any buckets, in any order.
    async fn add_closed(&mut self, records: &[u64], depths: Depths) -> Result<(), Trouble> {
        let stride = self.shape.stride();
        for piece in records.chunks((self.most_held / 2 / (stride + 1)).max(1) * stride) {
            let mut led = Vec::with_capacity(piece.len() / stride * (stride + 1));
            for record in piece.chunks_exact(stride) {
                let bucket = self.bucket_of(self.shape.state(record));
                self.closed_states[bucket] += 1;
                lead(Records::new(self.shape, record), bucket, &mut led);
            }
            let shape = waiting::led(self.options).shape;
            sort_records(shape, &mut led);
            let layer = LayerView::States(Ascending::new(shape.stride(), &led));
            self.closed.add_between(depths, layer).await?;
        }
        Ok(())
    }

    /// Splits the bucket by one more variable; `false` where none does.
    async fn split(&mut self, bucket: usize, found: &mut Found) -> Result<bool, Trouble> {
        let shape = self.shape;
        let most = SAMPLED * shape.stride();
        let mut sample = self.bench.waiting.recent(bucket, most)?;
        if sample.len() < most {
            let add = &mut |_, states: &[u64]| {
                sample.extend_from_slice(&states[..states.len().min(most - sample.len())]);
                Ok(())
            };
            each_closed((&self.closed, shape), bucket, add).await?;
        }
        shape.strip_payloads(&mut sample);
        let states = sample.chunks_exact(shape.words());
        if !self.partition.split(bucket, states, self.split_by, self.random.bits()) {
            return Ok(false);
        }
        self.splits += 1;
        found.within += self.bench.waiting.count(bucket);
        let (partition, mut moved) = (&mut self.partition, 0);
        let add = &mut |waiting: &mut Waiting, records: &[u64]| {
            for record in records.chunks_exact(shape.stride()) {
                waiting.add(partition.bucket(shape.state(record)), record)?;
                moved += 1;
            }
            Ok(())
        };
        self.bench.waiting.remove(bucket, add).await?;
        found.within -= moved;
        self.closed_states.resize(self.partition.buckets().max(self.closed_states.len()), 0);
        if std::mem::take(&mut self.closed_states[bucket]) > 0 {
            self.move_closed(bucket).await?;
        }
        Ok(true)
    }

    /// Adds the closed states of a bucket that was split to its parts; where they were nobody asks for them any more.
    async fn move_closed(&mut self, bucket: usize) -> Result<(), Trouble> {
        let (shape, options) = (self.shape, led(self.options));
        let mut moved = Led { disk: self.disk.clone(), options, most: self.most_held / 2, parts: Vec::new() };
        let (partition, states) = (&mut self.partition, &mut self.closed_states);
        let mut held: (Depths, Vec<u64>) = ((0, 0), Vec::new());
        let add = &mut |depths: Depths, records: &[u64]| {
            if depths != held.0 || held.1.len() > moved.most {
                moved.write(held.0, &mut held.1)?;
            }
            held.0 = depths;
            for record in records.chunks_exact(shape.stride()) {
                let bucket = partition.bucket(shape.state(record));
                states.resize(states.len().max(bucket + 1), 0);
                states[bucket] += 1;
                lead(Records::new(shape, record), bucket, &mut held.1);
            }
            Ok(())
        };
        each_closed((&self.closed, shape), bucket, add).await?;
        moved.write(held.0, &mut held.1)?;
        for (depths, run) in moved.parts {
            self.closed.add_between(depths, LayerView::Run(&run)).await?;
        }
        Ok(())
    }

    /// Splits the buckets that are too large for the table, where that can be.
    async fn split_large(&mut self, found: &mut Found) -> Result<(), Trouble> {
        let mut at = 0;
        // Splits add buckets at the end, which are met later.
        while at < self.closed_states.len() {
            if self.bench.is_too_large(at) {
                self.split(at, found).await?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Frees all buckets of duplicates, one after the other.
    async fn decide_all(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        let candidates = self.bench.waiting.total();
        let since = self.settling.as_mut().and_then(|settling| settling.since(candidates));
        let mut found = Found::default();
        self.split_large(&mut found).await?;
        self.bench.begin().await?;
        found.work = self.bench.waiting.work();
        let mut fresh = Fresh::new(layer, found, &self.disk, led(self.options), self.most_held / 2);
        let mut passes = Vec::new();
        for _ in 0..self.bench.judges() {
            passes.push(self.closed.filter(since.unwrap_or(0))?);
        }
        let mut group = Vec::new();
        for bucket in 0..self.closed_states.len() {
            if self.bench.waiting.count(bucket) == 0 {
                continue;
            }
            let is_large = self.bench.is_too_large(bucket);
            if is_large || group.len() == passes.len() {
                self.bench.decide_together(&group, &mut passes, &mut fresh)?;
                group.clear();
                self.disk.rest().await?;
            }
            match is_large {
                true => self.bench.decide(bucket, &mut passes[0], &mut fresh).await?,
                false => group.push(bucket),
            }
        }
        self.bench.decide_together(&group, &mut passes, &mut fresh)?;
        for pass in &passes {
            pass.by_distance(self.depth, &mut fresh.found.by_distance);
            fresh.found.work.comparisons += pass.comparisons();
        }
        drop(passes);
        self.bench.end();
        let (mut found, closing) = fresh.finish(&mut self.closed_states)?;
        self.closed.add(self.depth, closing.view()).await?;
        if let Some(settling) = &mut self.settling {
            settling.checked(since, &found.by_distance);
            found.window = settling.window(since);
        }
        Ok(found)
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
        Box::pin(self.decide_all(layer))
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
        let (buckets, depth) = (self.closed_states.len() as u64, self.partition.depth());
        let (splits, sorted, sampling_ms) = (self.splits, self.bench.merged, self.sampling_ms);
        Some(Buckets { buckets, splits, sorted, depth, sampling_ms })
    }

    fn scalars(&self) -> Vec<String> {
        self.partition.scalars()
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        let stride = self.shape.stride();
        Box::pin(async move {
            self.bench.waiting.each(&mut |states| to.offer(Ascending::new(stride, states))).await
        })
    }

    fn name(&self) -> &'static str {
        "hash buckets"
    }
}

/// Calls `take` with the closed states of a bucket, in pieces.
async fn each_closed(
    (closed, shape): (&ClosedSet, RecordShape),
    bucket: usize,
    take: &mut TakesClosed<'_>,
) -> Result<(), Trouble> {
    let words = shape.words();
    let (mut from, mut to) = (vec![0; words + 1], vec![u64::MAX; words + 1]);
    (from[words], to[words]) = (bucket as u64, bucket as u64);
    let mut plain = Vec::new();
    let each = &mut |depths, led: &[u64]| {
        plain.clear();
        unlead(led, shape.stride() + 1, &mut plain);
        take(depths, &plain)
    };
    closed.each_between((&from, &to), each).await
}

/// Runs of led records.
struct Led {
    disk: Disk,
    options: RunOptions,
    /// Words that become a run.
    most: usize,
    parts: Vec<(Depths, RunFile)>,
}

impl Led {
    /// Writes records, which need not ascend, as a run and empties the list.
    fn write(&mut self, depths: Depths, led: &mut Vec<u64>) -> Result<(), Trouble> {
        if !led.is_empty() {
            sort_records(self.options.shape, led);
            let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
            run.push_all(Records::new(self.options.shape, led))?;
            self.parts.push((depths, run.finish()?));
            led.clear();
        }
        Ok(())
    }
}
