//! Freeing one bucket of duplicates: equal candidates meet in a table, what is left is sorted, as a layer is, and walked
//! beside the closed blocks that may hold some of it.

use super::super::Trouble;
use super::super::closed_set::ClosedPass;
use super::super::detector::{Found, LayerView};
use super::super::journal::LayerWriter;
use super::Tabling;
use super::waiting::{Taking, Waiting, lead, unlead};
use hadal_store::error::WriteError;
use hadal_store::merge::{ClosedFilter, RecordSink, RunMerge, subtract_closed};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_records, sort_unique};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Governor};
use hadal_system::Ascending;
use std::panic::resume_unwind;

/// A bucket is split when its candidates would take more of the table than this.
const FULL_PERCENT: u64 = 95;
/// Candidates that are compared with closed states at a time.
const PIECE: usize = 1 << 12;

/// Candidates of a group of buckets from which on several threads decide about them.
const WORTH_THREADS: u64 = 1 << 13;

/// The candidates of all buckets, and those who decide about them.
pub(super) struct Bench {
    pub(super) waiting: Waiting,
    /// The way through them, at the end of a layer.
    taking: Taking,
    /// One for each thread.
    judges: Vec<Judge>,
    tabling: Tabling,
    /// Most candidates of a bucket that a judge takes.
    capacity: u64,
    /// How often a bucket was freed of duplicates by merging.
    pub(super) merged: u64,
}

impl Bench {
    /// With so many judges, each with a table of its share of `memory`.
    pub(super) fn new(
        waiting: Waiting,
        (tabling, memory): (Tabling, &Governor),
        capacity: u64,
        judges: usize,
    ) -> Result<Self, Trouble> {
        let (shape, share) = (waiting.shape(), memory.limit() / judges as u64);
        let judges = (0..judges).map(|_| Judge::new(shape, memory.part(share))).collect();
        let mut bench = Bench { taking: Taking::default(), waiting, judges, tabling, capacity, merged: 0 };
        if let Tabling::Own(_) = tabling {
            bench.judges.iter_mut().try_for_each(Judge::make_table)?;
        }
        Ok(bench)
    }

    /// How many decide at once.
    pub(super) fn judges(&self) -> usize {
        self.judges.len()
    }

    /// Bytes that a judge takes for a bucket besides the table.
    pub(super) fn footprint(shape: RecordShape, capacity: u64) -> u64 {
        capacity * (3 * shape.bytes() as u64 + 8) + scratch_bytes(shape, capacity as usize)
    }

    /// Whether a bucket has more candidates than should go into a table.
    pub(super) fn is_too_large(&self, bucket: usize) -> bool {
        self.waiting.count(bucket) * 100 > self.capacity * FULL_PERCENT
    }

    /// Begins to go through the buckets, in ascending order.
    pub(super) async fn begin(&mut self) -> Result<(), Trouble> {
        for judge in self.judges.iter_mut().filter(|judge| judge.table.is_none()) {
            judge.make_table()?;
        }
        self.taking = self.waiting.begin().await?;
        Ok(())
    }

    /// Forgets all candidates.
    pub(super) fn end(&mut self) {
        self.taking = Taking::default();
        self.waiting.clear();
        if let Tabling::InTurn(_) = self.tabling {
            self.judges.iter_mut().for_each(|judge| judge.table = None);
        }
    }

    /// The candidates of a bucket that is not too large, for somebody else to decide; if he does not, they wait for
    /// [`Bench::decide_taken`].
    pub(super) fn take(&mut self, bucket: usize) -> Result<&[u64], Trouble> {
        let judge = &mut self.judges[0];
        judge.ascend = self.taking.take(&mut self.waiting, bucket, &mut judge.records)?;
        Ok(&judge.records)
    }

    /// Writes those of a bucket's candidates that are new, whatever their number.
    pub(super) async fn decide(
        &mut self,
        bucket: usize,
        pass: &mut ClosedPass<'_>,
        fresh: &mut Fresh<'_>,
    ) -> Result<(), Trouble> {
        if self.is_too_large(bucket) {
            fresh.found.work.buckets += 1;
            self.merged += 1;
            let offered = self.waiting.count(bucket);
            let merge = self.taking.merge(&mut self.waiting, bucket, &mut self.judges[0].records);
            return fresh.merge((bucket, offered), merge, pass).await;
        }
        self.take(bucket)?;
        self.decide_taken(bucket, pass, fresh)
    }

    /// Writes those of the candidates that were taken last that are new.
    pub(super) fn decide_taken(
        &mut self,
        bucket: usize,
        pass: &mut ClosedPass<'_>,
        fresh: &mut Fresh<'_>,
    ) -> Result<(), Trouble> {
        let judged = self.judges[0].decide(bucket, pass)?;
        fresh.add((bucket, self.waiting.count(bucket)), judged, &self.judges[0].led)
    }

    /// Writes the new candidates of buckets that are not too large, at most one for each judge, each of whom has a pass.
    pub(super) fn decide_together(
        &mut self,
        buckets: &[usize],
        passes: &mut [ClosedPass<'_>],
        fresh: &mut Fresh<'_>,
    ) -> Result<(), Trouble> {
        let mut candidates = 0;
        for (judge, &bucket) in self.judges.iter_mut().zip(buckets) {
            judge.ascend = self.taking.take(&mut self.waiting, bucket, &mut judge.records)?;
            candidates += self.waiting.count(bucket);
        }
        let work = self.judges.iter_mut().zip(passes).zip(buckets);
        let judged: Vec<Result<Judged, Trouble>> = match buckets.len() > 1 && candidates >= WORTH_THREADS {
            false => work.map(|((judge, pass), &bucket)| judge.decide(bucket, pass)).collect(),
            true => std::thread::scope(|scope| {
                let mut threads = Vec::new();
                for ((judge, pass), &bucket) in work {
                    threads.push(scope.spawn(move || judge.decide(bucket, pass)));
                }
                // A thread that panics takes the search with it.
                let joined = threads.into_iter().map(|thread| thread.join());
                joined.map(|judged| judged.unwrap_or_else(|panic| resume_unwind(panic))).collect()
            }),
        };
        for ((judged, judge), &bucket) in judged.into_iter().zip(&self.judges).zip(buckets) {
            fresh.add((bucket, self.waiting.count(bucket)), judged?, &judge.led)?;
        }
        Ok(())
    }
}

/// Decides about one bucket at a time.
struct Judge {
    /// Where equal candidates meet; none while its memory is the cache's.
    table: Option<StateTable>,
    memory: Governor,
    shape: RecordShape,
    /// Candidates of a bucket as they came, and each once and ascending.
    records: Vec<u64>,
    /// Whether those ascend already, each of them once.
    ascend: bool,
    distinct: Vec<u64>,
    /// Those that are new, led by their bucket.
    led: Vec<u64>,
    present: Bitmap,
}

/// What became of the candidates of a bucket.
struct Judged {
    distinct: u64,
    earlier: u64,
}

impl Judge {
    fn new(shape: RecordShape, memory: Governor) -> Self {
        Judge {
            table: None,
            memory,
            shape,
            records: Vec::new(),
            ascend: false,
            distinct: Vec::new(),
            led: Vec::new(),
            present: Bitmap::default(),
        }
    }

    fn make_table(&mut self) -> Result<(), Trouble> {
        let (words, payload) = (self.shape.words(), self.shape.payload());
        self.table = Some(StateTable::keeping((words, words as u32 * 64), payload, 1, &self.memory)?);
        Ok(())
    }

    /// Leaves those of the candidates that are new in `led`.
    fn decide(&mut self, bucket: usize, pass: &mut ClosedPass<'_>) -> Result<Judged, Trouble> {
        let (stride, led_stride) = (self.shape.stride(), self.shape.stride() + 1);
        self.make_distinct()?;
        let led_shape = RecordShape::keeping(self.shape.words() + 1, self.shape.payload());
        let distinct = (self.distinct.len() / stride) as u64;
        self.led.clear();
        let (mut earlier, mut kept) = (0, 0);
        for piece in self.distinct.chunks(PIECE * stride) {
            lead(Records::new(self.shape, piece), bucket, &mut self.led);
            self.present.reset(piece.len() / stride);
            let candidates = Records::new(led_shape, &self.led[kept..]);
            earlier += pass.mark(candidates, &mut self.present)?;
            let from = kept;
            for at in (0..piece.len() / stride).filter(|&at| !self.present.get(at)) {
                let record = from + at * led_stride;
                self.led.copy_within(record..record + led_stride, kept);
                kept += led_stride;
            }
            self.led.truncate(kept);
        }
        Ok(Judged { distinct, earlier })
    }

    /// Leaves each of the candidates once, ascending.
    fn make_distinct(&mut self) -> Result<(), Trouble> {
        self.distinct.clear();
        if self.ascend {
            std::mem::swap(&mut self.records, &mut self.distinct);
            return Ok(());
        }
        if let Some(table) = &mut self.table {
            table.clear()?;
            if table.insert_records(Records::new(self.shape, &self.records)).is_ok() {
                table.copy_records(0, 0, table.len(), &mut self.distinct);
                sort_records(self.shape, &mut self.distinct);
                return Ok(());
            }
        }
        // The table is a little smaller than it was taken for.
        sort_unique(self.shape, &mut self.records);
        self.distinct.append(&mut self.records);
        Ok(())
    }
}

/// New states: they go to the layer and, led by their buckets, to the closed set.
pub(super) struct Fresh<'a> {
    pub(super) layer: &'a mut LayerWriter,
    pub(super) found: Found,
    disk: Disk,
    /// Of led records.
    options: RunOptions,
    held: Vec<u64>,
    most_held: usize,
    run: Option<RunWriter>,
    plain: Vec<u64>,
    /// Buckets and how many new states they have.
    by_bucket: Vec<(usize, u64)>,
}

/// New states that are to be closed.
pub(super) enum Closing {
    Held(Vec<u64>, usize),
    Run(RunFile),
}

impl Closing {
    pub(super) fn view(&self) -> LayerView<'_> {
        match self {
            Closing::Held(held, stride) => LayerView::States(Ascending::new(*stride, held)),
            Closing::Run(run) => LayerView::Run(run),
        }
    }
}

impl<'a> Fresh<'a> {
    /// Up to `most_held` words stay in RAM.
    pub(super) fn new(
        layer: &'a mut LayerWriter,
        found: Found,
        disk: &Disk,
        options: RunOptions,
        most_held: usize,
    ) -> Self {
        let disk = disk.clone();
        let (held, plain, by_bucket) = (Vec::new(), Vec::new(), Vec::new());
        Fresh { layer, found, disk, options, held, most_held, run: None, plain, by_bucket }
    }

    /// Takes what was decided about a bucket to which so many candidates were offered.
    fn add(&mut self, (bucket, offered): (usize, u64), judged: Judged, led: &[u64]) -> Result<(), Trouble> {
        self.by_bucket.push((bucket, (led.len() / self.options.shape.stride()) as u64));
        let twice = offered - judged.distinct;
        self.found.within += twice;
        self.found.earlier += judged.earlier;
        self.found.work.buckets += 1;
        // The table compares a candidate with one that has its hash.
        self.found.work.comparisons += twice;
        self.write(led)?;
        Ok(self.layer.end_part()?)
    }

    fn write(&mut self, led: &[u64]) -> Result<(), WriteError> {
        self.plain.clear();
        unlead(led, self.options.shape.stride(), &mut self.plain);
        self.layer.write(&self.plain)?;
        if self.run.is_none() && self.held.len() + led.len() > self.most_held {
            let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
            run.push_all(Records::new(self.options.shape, &self.held))?;
            self.held = Vec::new();
            self.run = Some(run);
        }
        match &mut self.run {
            Some(run) => run.push_all(Records::new(self.options.shape, led)),
            None => {
                self.held.extend_from_slice(led);
                Ok(())
            }
        }
    }

    /// Frees a bucket that is too large for the table of duplicates, by merging.
    pub(super) async fn merge(
        &mut self,
        (bucket, offered): (usize, u64),
        candidates: RunMerge<'_>,
        pass: &mut ClosedPass<'_>,
    ) -> Result<(), Trouble> {
        let (disk, before) = (self.disk.clone(), pass.comparisons());
        let done = subtract_closed(&disk, candidates, pass, self).await?;
        self.by_bucket.push((bucket, done.fresh));
        self.found.within += offered - done.fresh - done.duplicates_closed;
        self.found.earlier += done.duplicates_closed;
        // Those with closed states are counted by the pass.
        self.found.work.comparisons += done.comparisons - (pass.comparisons() - before);
        Ok(self.layer.end_part()?)
    }

    /// What was found, and the new states for the closed set, which are added to the states of each bucket.
    pub(super) fn finish(self, states: &mut [u64]) -> Result<(Found, Closing), Trouble> {
        for (bucket, new) in self.by_bucket {
            states[bucket] += new;
        }
        let closing = match self.run {
            Some(run) => Closing::Run(run.finish()?),
            None => Closing::Held(self.held, self.options.shape.stride()),
        };
        Ok((self.found, closing))
    }
}

impl RecordSink for Fresh<'_> {
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        self.write(records.flat())
    }
}
