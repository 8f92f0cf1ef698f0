//! Freeing one bucket of duplicates: equal candidates meet in a table, what is left is sorted, as a layer is, and walked
//! beside the closed blocks that may hold some of it.

use super::super::Trouble;
use super::super::closed_set::ClosedPass;
use super::super::detector::{Found, LayerView};
use super::super::journal::LayerWriter;
use super::waiting::{Taking, Waiting, lead, unlead};
use hadal_store::Bitmap;
use hadal_store::error::WriteError;
use hadal_store::merge::{ClosedFilter, RecordSink, RunMerge, subtract_closed};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_records, sort_unique};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_system::Ascending;

/// A bucket is split when its candidates would take more of the table than this.
const FULL_PERCENT: u64 = 95;
/// Candidates that are compared with closed states at a time.
const PIECE: usize = 1 << 12;

/// The candidates of all buckets, and what decides about those of one after the other.
pub(super) struct Bench {
    pub(super) waiting: Waiting,
    /// The way through them, at the end of a layer.
    taking: Taking,
    /// Where equal candidates of a bucket meet.
    table: StateTable,
    /// Most candidates of a bucket that it takes.
    capacity: u64,
    shape: RecordShape,
    /// Candidates of a bucket as they came, and each once and ascending.
    records: Vec<u64>,
    distinct: Vec<u64>,
    led: Vec<u64>,
    present: Bitmap,
    /// How often a bucket was freed of duplicates by merging.
    pub(super) merged: u64,
}

impl Bench {
    pub(super) fn new(waiting: Waiting, table: StateTable, capacity: u64) -> Self {
        Bench {
            taking: Taking::default(),
            shape: waiting.shape(),
            waiting,
            table,
            capacity,
            records: Vec::new(),
            distinct: Vec::new(),
            led: Vec::new(),
            present: Bitmap::default(),
            merged: 0,
        }
    }

    /// Bytes that a bucket takes besides the table.
    pub(super) fn footprint(shape: RecordShape, capacity: u64) -> u64 {
        2 * capacity * shape.bytes() as u64 + scratch_bytes(shape, capacity as usize)
    }

    /// Whether a bucket has more candidates than should go into the table.
    pub(super) fn is_too_large(&self, bucket: usize) -> bool {
        self.waiting.count(bucket) * 100 > self.capacity * FULL_PERCENT
    }

    /// Begins to go through the buckets, in ascending order.
    pub(super) async fn begin(&mut self) -> Result<(), Trouble> {
        self.taking = self.waiting.begin().await?;
        Ok(())
    }

    /// Forgets all candidates.
    pub(super) fn end(&mut self) {
        self.taking = Taking::default();
        self.waiting.clear();
    }

    /// The candidates of a bucket that is not too large, for somebody else to decide.
    pub(super) fn take(&mut self, bucket: usize) -> Result<&[u64], Trouble> {
        self.taking.take(&mut self.waiting, bucket, &mut self.records)?;
        Ok(&self.records)
    }

    /// Writes those of a bucket's candidates that are new.
    pub(super) async fn decide(
        &mut self,
        bucket: usize,
        pass: &mut ClosedPass<'_>,
        fresh: &mut Fresh<'_>,
    ) -> Result<(), Trouble> {
        if self.is_too_large(bucket) {
            self.merged += 1;
            let offered = self.waiting.count(bucket);
            let merge = self.taking.merge(&mut self.waiting, bucket, &mut self.records);
            return fresh.merge(offered, merge, pass).await;
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
        let stride = self.shape.stride();
        self.make_distinct()?;
        fresh.found.within += self.waiting.count(bucket) - (self.distinct.len() / stride) as u64;
        for piece in self.distinct.chunks(PIECE * stride) {
            self.led.clear();
            lead(Records::new(self.shape, piece), bucket, &mut self.led);
            self.present.reset(piece.len() / stride);
            let candidates = Records::new(fresh.options.shape, &self.led);
            let known = pass.mark(candidates, &mut self.present)?;
            fresh.found.earlier += known;
            if known > 0 {
                let mut kept = 0;
                for at in (0..piece.len() / stride).filter(|&at| !self.present.get(at)) {
                    self.led.copy_within(at * (stride + 1)..(at + 1) * (stride + 1), kept);
                    kept += stride + 1;
                }
                self.led.truncate(kept);
            }
            fresh.write(&self.led)?;
        }
        Ok(fresh.layer.end_part()?)
    }

    /// Leaves each of the candidates once, ascending.
    fn make_distinct(&mut self) -> Result<(), Trouble> {
        self.distinct.clear();
        self.table.clear()?;
        match self.table.insert_records(Records::new(self.shape, &self.records)) {
            Ok(()) => {
                self.table.copy_records(0, 0, self.table.len(), &mut self.distinct);
                sort_records(self.shape, &mut self.distinct);
            }
            // The table is a little smaller than it was taken for.
            Err(_) => {
                sort_unique(self.shape, &mut self.records);
                self.distinct.append(&mut self.records);
            }
        }
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
        Fresh { layer, found, disk, options, held: Vec::new(), most_held, run: None, plain: Vec::new() }
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
        offered: u64,
        candidates: RunMerge<'_>,
        pass: &mut ClosedPass<'_>,
    ) -> Result<(), Trouble> {
        let disk = self.disk.clone();
        let done = subtract_closed(&disk, candidates, pass, self).await?;
        self.found.within += offered - done.fresh - done.duplicates_closed;
        self.found.earlier += done.duplicates_closed;
        Ok(self.layer.end_part()?)
    }

    /// What was found, and the new states for the closed set.
    pub(super) fn finish(self) -> Result<(Found, Closing), Trouble> {
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
