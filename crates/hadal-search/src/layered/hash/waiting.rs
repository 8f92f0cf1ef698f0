//! Candidates of all buckets: lists in RAM, and one run for each time that they were written, whose records are led by the
//! number of their bucket. At the end of a layer the buckets are gone through in order, and so is each run, once.

use super::super::Trouble;
use crate::report::DetectionWork;
use hadal_store::error::ReadError;
use hadal_store::merge::{BlockSource, MemorySource, MergeLimits, RunMerge, merge_unique};
use hadal_store::run::{BlockIndex, RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_unique;
use hadal_store::vfs::Disk;
use hadal_system::state::compare;
use std::cmp::Ordering;

/// Options for records led by the number of a bucket: their most significant word.
pub(super) fn led(options: RunOptions) -> RunOptions {
    let shape = options.shape;
    RunOptions { shape: RecordShape::keeping(shape.words() + 1, shape.payload()), ..options }
}

/// Appends records to `into`, each led by the number of its bucket.
pub(super) fn lead(records: Records<'_>, bucket: usize, into: &mut Vec<u64>) {
    into.reserve(records.len() * (records.shape().stride() + 1));
    for record in records.flat().chunks_exact(records.shape().stride()) {
        into.extend_from_slice(record);
        into.push(bucket as u64);
    }
}

/// Appends the records without the numbers that lead them.
pub(super) fn unlead(led: &[u64], led_stride: usize, into: &mut Vec<u64>) {
    for record in led.chunks_exact(led_stride) {
        into.extend_from_slice(&record[..led_stride - 1]);
    }
}

/// Takes candidates that were another bucket's.
type Moves<'t> = dyn FnMut(&mut Waiting, &[u64]) -> Result<(), Trouble> + 't;

pub(super) struct Waiting {
    disk: Disk,
    /// Of led records.
    options: RunOptions,
    shape: RecordShape,
    /// By bucket, in RAM, as they came.
    held: Vec<Vec<u64>>,
    /// Whether those in RAM ascend, each of them once.
    ascend: Vec<bool>,
    held_words: usize,
    most_held: usize,
    /// Candidates added by bucket, duplicates included.
    counts: Vec<u64>,
    runs: Vec<RunFile>,
    written: u64,
    passes: u64,
}

impl Waiting {
    /// None yet. Up to `most_held` words stay in RAM; the caller reserves three times as many.
    pub(super) fn new(disk: &Disk, options: RunOptions, most_held: usize) -> Self {
        Waiting {
            disk: disk.clone(),
            options: led(options),
            shape: options.shape,
            held: Vec::new(),
            ascend: Vec::new(),
            held_words: 0,
            most_held,
            counts: Vec::new(),
            runs: Vec::new(),
            written: 0,
            passes: 0,
        }
    }

    /// The shape of candidates.
    pub(super) fn shape(&self) -> RecordShape {
        self.shape
    }

    /// Candidates of a bucket, duplicates included.
    pub(super) fn count(&self, bucket: usize) -> u64 {
        self.counts.get(bucket).copied().unwrap_or(0)
    }

    /// Candidates of all buckets, duplicates included.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn add(&mut self, bucket: usize, record: &[u64]) -> Result<(), Trouble> {
        if self.held.len() <= bucket {
            self.held.resize_with(bucket + 1, Vec::new);
            self.ascend.resize(bucket + 1, true);
            self.counts.resize(bucket + 1, 0);
        }
        let held = &mut self.held[bucket];
        let last = held.len().checked_sub(record.len()).map(|at| self.shape.state(&held[at..]));
        self.ascend[bucket] = last.is_none_or(|last| {
            self.ascend[bucket] && compare(last, self.shape.state(record)) == Ordering::Less
        });
        held.extend_from_slice(record);
        self.counts[bucket] += 1;
        self.held_words += record.len();
        if self.held_words > self.most_held {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in RAM as one run.
    fn spill(&mut self) -> Result<(), Trouble> {
        if self.held_words == 0 {
            return Ok(());
        }
        let mut run = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
        let mut led = Vec::new();
        for (bucket, held) in self.held.iter_mut().enumerate().filter(|(_, held)| !held.is_empty()) {
            let mut held = std::mem::take(held);
            sort_unique(self.shape, &mut held);
            led.clear();
            lead(Records::new(self.shape, &held), bucket, &mut led);
            run.push_all(Records::new(self.options.shape, &led))?;
        }
        self.held_words = 0;
        self.written += 1;
        self.runs.push(run.finish()?);
        Ok(())
    }

    /// Takes a bucket's candidates out, for other buckets: calls `take` with them in pieces.
    pub(super) async fn remove(&mut self, bucket: usize, take: &mut Moves<'_>) -> Result<(), Trouble> {
        let held = self.held.get_mut(bucket).map(std::mem::take).unwrap_or_default();
        self.held_words -= held.len();
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = 0;
        }
        take(self, &held)?;
        let mut plain = Vec::new();
        for run in self.runs.clone() {
            let mut first = vec![0; self.options.shape.words()];
            first[self.shape.words()] = bucket as u64;
            let index = BlockIndex::load(&run)?;
            let mut cursor = Cursor::new(RunReader::open_at(&run, &index, index.block_before(&first))?);
            while cursor.find(bucket as u64, self.options.shape)? {
                plain.clear();
                unlead(
                    cursor.part(bucket as u64, self.options.shape),
                    self.options.shape.stride(),
                    &mut plain,
                );
                take(self, &plain)?;
                self.disk.rest().await?;
            }
        }
        Ok(())
    }

    /// Up to so many words of the candidates of a bucket that came last.
    pub(super) fn recent(&self, bucket: usize, most: usize) -> Result<Vec<u64>, Trouble> {
        let held = self.held.get(bucket).map_or(&[][..], Vec::as_slice);
        let mut sample = held[held.len() - held.len().min(most)..].to_vec();
        for run in self.runs.iter().rev() {
            let mut cursor = Cursor::new(RunReader::open(run)?);
            while sample.len() < most && cursor.find(bucket as u64, self.options.shape)? {
                let part = cursor.part(bucket as u64, self.options.shape);
                unlead(part, self.options.shape.stride(), &mut sample);
            }
        }
        sample.truncate(most / self.shape.stride() * self.shape.stride());
        Ok(sample)
    }

    /// Makes as few runs of them as can be read at once, and begins to go through the buckets in ascending order.
    pub(super) async fn begin(&mut self) -> Result<Taking, Trouble> {
        let limits = MergeLimits::for_memory(&self.disk, &self.options);
        if self.runs.len() >= limits.fan_in {
            let runs = std::mem::take(&mut self.runs);
            let merged = merge_unique(&self.disk, runs, RunKind::Candidates, &self.options, limits);
            let run = merged.await?.0;
            self.passes += 1;
            self.runs.push(run);
        }
        let open = |run| Ok(Cursor::new(RunReader::open(run)?));
        Ok(Taking { cursors: self.runs.iter().map(open).collect::<Result<_, Trouble>>()? })
    }

    /// What they took so far: runs written, and merges of them ahead of the last.
    pub(super) fn work(&self) -> DetectionWork {
        DetectionWork { runs: self.written, passes: self.passes, ..DetectionWork::default() }
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.held.iter_mut().for_each(|held| *held = Vec::new());
        self.counts.fill(0);
        (self.held_words, self.written, self.passes) = (0, 0, 0);
        self.runs.clear();
    }

    /// All of them, in pieces that ascend.
    pub(super) async fn each(
        &mut self,
        take: &mut dyn FnMut(&[u64]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.spill()?;
        let (mut block, mut plain) = (Vec::new(), Vec::new());
        for run in &self.runs {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                let (stride, mut at) = (self.options.shape.stride(), 0);
                while let Some(&bucket) = block.get(at + stride - 1) {
                    let rest = block[at..].chunks_exact(stride);
                    let words = rest.take_while(|record| record[stride - 1] == bucket).count() * stride;
                    // What went to other buckets is met there.
                    if self.count(bucket as usize) > 0 {
                        plain.clear();
                        unlead(&block[at..at + words], stride, &mut plain);
                        take(&plain)?;
                    }
                    at += words;
                }
                self.disk.rest().await?;
            }
        }
        Ok(())
    }
}

/// A way through the candidates, bucket by bucket in ascending order.
#[derive(Default)]
pub(super) struct Taking {
    cursors: Vec<Cursor>,
}

impl Taking {
    /// Replaces `into` by all candidates of a bucket. Whether they ascend, each of them once: they may not where they came
    /// from several places.
    pub(super) fn take(
        &mut self,
        waiting: &mut Waiting,
        bucket: usize,
        into: &mut Vec<u64>,
    ) -> Result<bool, Trouble> {
        let (mut places, mut ascend) = (0, true);
        into.clear();
        if let Some(held) = waiting.held.get_mut(bucket) {
            waiting.held_words -= held.len();
            into.append(held);
            *held = Vec::new();
            places += u32::from(!into.is_empty());
            ascend = waiting.ascend[bucket];
        }
        let led = waiting.options.shape;
        for cursor in &mut self.cursors {
            let before = into.len();
            while cursor.find(bucket as u64, led)? {
                unlead(cursor.part(bucket as u64, led), led.stride(), into);
            }
            places += u32::from(into.len() > before);
        }
        Ok(ascend && places <= 1)
    }

    /// All candidates of a bucket as led records, ascending and each once; `held` is for those in RAM.
    pub(super) fn merge<'t>(
        &'t mut self,
        waiting: &mut Waiting,
        bucket: usize,
        held: &'t mut Vec<u64>,
    ) -> RunMerge<'t> {
        let led = waiting.options.shape;
        held.clear();
        if let Some(list) = waiting.held.get_mut(bucket) {
            waiting.held_words -= list.len();
            sort_unique(waiting.shape, list);
            lead(Records::new(waiting.shape, list), bucket, held);
            *list = Vec::new();
        }
        let mut sources: Vec<Box<dyn BlockSource + 't>> = Vec::new();
        sources.push(Box::new(MemorySource::new(Records::new(led, held))));
        for cursor in &mut self.cursors {
            sources.push(Box::new(OfBucket { cursor, bucket: bucket as u64, led }));
        }
        RunMerge::new(led, sources)
    }
}

/// A run of led records, as far as it was read.
struct Cursor {
    reader: RunReader,
    block: Vec<u64>,
    /// First word of `block` not passed yet.
    next: usize,
    has_ended: bool,
}

impl Cursor {
    fn new(reader: RunReader) -> Self {
        Cursor { reader, block: Vec::new(), next: 0, has_ended: false }
    }

    /// Whether a record of the bucket comes next, after passing those of buckets before it.
    fn find(&mut self, bucket: u64, led: RecordShape) -> Result<bool, ReadError> {
        let stride = led.stride();
        loop {
            while let Some(&lead) = self.block.get(self.next + stride - 1) {
                if lead >= bucket {
                    return Ok(lead == bucket);
                }
                self.next += stride;
            }
            self.next = 0;
            self.has_ended = self.has_ended || !self.reader.next_block(&mut self.block)?;
            if self.has_ended {
                self.block.clear();
                return Ok(false);
            }
        }
    }

    /// What comes next of the bucket in this block.
    fn part(&mut self, bucket: u64, led: RecordShape) -> &[u64] {
        let stride = led.stride();
        let rest = self.block[self.next..].chunks_exact(stride);
        let words = rest.take_while(|record| record[stride - 1] == bucket).count() * stride;
        self.next += words;
        &self.block[self.next - words..self.next]
    }
}

/// What a run has of one bucket.
struct OfBucket<'t> {
    cursor: &'t mut Cursor,
    bucket: u64,
    led: RecordShape,
}

impl BlockSource for OfBucket<'_> {
    fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        flat.clear();
        if self.cursor.find(self.bucket, self.led)? {
            flat.extend_from_slice(self.cursor.part(self.bucket, self.led));
        }
        Ok(!flat.is_empty())
    }
}
