//! The closed set as a table in RAM: what workers of a cluster begin with. Threads write what they generate straight into it, and
//! what comes from other workers is decided as it is offered; a layer is sorted once it is whole.

use super::Trouble;
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::sorted::{SortedDetector, Sorting};
use hadal_store::run::{RunOptions, RunReader};
use hadal_store::sort::{scratch_bytes, sort_records_on};
use hadal_store::table::{StateTable, Writer};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use hadal_system::{Ascending, Payload};
use std::ops::Range;

/// What it is called, in reports as well.
pub(crate) const NAME: &str = "table";
/// The part of the budget in which layers are sorted.
const SORTED_PART: u64 = 20;
const LEAST_SORTED: u64 = 64 << 10;

pub(crate) struct TableDetector {
    table: StateTable,
    /// How many of each writer's lie in finished layers; those behind them are new.
    finished: Vec<u64>,
    /// New states that were offered; the others came from the writers of threads.
    offered: u64,
    /// Where a batch begins of which the table had no room for all: batches are the first writer's.
    refused: Option<u64>,
    /// Takes the states of a layer that is too large to be sorted at once.
    aside: SortedDetector,
    options: RunOptions,
    threads: usize,
    sorted: Vec<u64>,
    /// States that are sorted at once.
    most: u64,
    _memory: Reservation,
}

/// What a table is made in.
pub(crate) struct TableRoom<'r> {
    pub(crate) disk: &'r Disk,
    pub(crate) options: RunOptions,
    /// Bits of a state.
    pub(crate) bits: u32,
    /// Memory of the table.
    pub(crate) memory: Governor,
    pub(crate) threads: usize,
}

impl TableDetector {
    /// It knows no layer yet.
    pub(crate) fn new(room: TableRoom) -> Result<Self, Trouble> {
        let TableRoom { disk, options, bits, memory, threads } = room;
        let (governor, shape) = (&disk.governor, options.shape);
        let bytes = (governor.limit() / SORTED_PART).max(LEAST_SORTED);
        let one = shape.bytes() as u64 + scratch_bytes(shape, 1);
        let most = (bytes / one).max(1);
        Ok(TableDetector {
            table: StateTable::keeping((shape.words(), bits), Payload::NONE, threads.max(1), &memory)?,
            finished: vec![0; threads.max(1)],
            offered: 0,
            refused: None,
            aside: SortedDetector::new(disk, options, Sorting::LEVELS)?,
            options,
            threads,
            sorted: Vec::new(),
            most,
            _memory: governor.try_reserve(most * one, "sorting")?,
        })
    }

    /// Which states of each writer are new.
    fn new_states(&self) -> Vec<Range<u64>> {
        let end = |writer| match self.refused {
            Some(refused) if writer == 0 => refused,
            _ => self.table.added_by(writer),
        };
        self.finished.iter().enumerate().map(|(writer, &from)| from..end(writer)).collect()
    }

    /// Sorts some states of each writer.
    fn sort(&mut self, ranges: &[Range<u64>]) -> Ascending<'_> {
        let shape = self.options.shape;
        let states: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        self.sorted.clear();
        self.sorted.reserve_exact(states as usize * shape.stride());
        for (writer, range) in ranges.iter().enumerate() {
            self.table.copy_states(writer, range.start, range.end, &mut self.sorted);
        }
        sort_records_on(self.threads, shape, &mut self.sorted);
        Ascending::new(shape.stride(), &self.sorted)
    }

    /// Gives new states away, in sorted batches.
    fn put_aside(&mut self) -> Result<(), Trouble> {
        let mut left = self.new_states();
        loop {
            let mut room = self.most;
            let mut batch = left.clone();
            for (batch, left) in batch.iter_mut().zip(&mut left) {
                batch.end = left.end.min(left.start + room);
                left.start = batch.end;
                room -= batch.end - batch.start;
            }
            if room == self.most {
                return Ok(());
            }
            self.sort(&batch);
            self.aside.offer(Ascending::new(self.options.shape.stride(), &self.sorted))?;
        }
    }

    async fn write(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        let (besides, new) = (self.besides(), self.new_states());
        if new.iter().map(|range| range.end - range.start).sum::<u64>() <= self.most {
            layer.push_all(self.sort(&new))?;
        } else {
            self.put_aside()?;
            self.aside.finish_layer(layer).await?;
        }
        self.finish();
        Ok(Found { besides, ..Found::default() })
    }

    /// Everything in it lies in finished layers.
    fn finish(&mut self) {
        self.offered = 0;
        for (writer, finished) in self.finished.iter_mut().enumerate() {
            *finished = self.table.added_by(writer);
        }
    }

    async fn add(&mut self, layer: LayerView<'_>) -> Result<(), Trouble> {
        match layer {
            LayerView::States(states) => self.table.insert_all(states.flat(), |_, _| {}, |_, _| {})?,
            LayerView::Run(run) => {
                let (mut reader, mut block) = (RunReader::open(run)?, Vec::new());
                while reader.next_block(&mut block)? {
                    self.table.insert_all(&block, |_, _| {}, |_, _| {})?;
                    run.disk().rest().await?;
                }
            }
        }
        self.finish();
        Ok(())
    }
}

impl Detector for TableDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let before = self.table.added_by(0);
        match self.table.insert_all(batch.flat(), |_, _| {}, |_, _| {}) {
            Ok(()) => {
                self.offered += self.table.added_by(0) - self.refused.take().unwrap_or(before);
                Ok(())
            }
            Err(full) => {
                // What it took of the batch stays new: the batch comes again, here or elsewhere.
                self.refused.get_or_insert(before);
                Err(full.into())
            }
        }
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.write(layer))
    }

    fn adopt<'s>(&'s mut self, _: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(self.add(layer))
    }

    fn writers(&mut self) -> Option<Vec<Writer<'_>>> {
        Some(self.table.share().1)
    }

    fn besides(&self) -> u64 {
        let new = self.new_states().iter().map(|range| range.end - range.start).sum::<u64>();
        new - self.offered
    }

    fn asks_runs(&self) -> bool {
        false
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(async move {
            self.put_aside()?;
            self.aside.hand_over(to).await
        })
    }

    fn leave(mut self: Box<Self>) -> Result<Option<SortedDetector>, Trouble> {
        self.put_aside()?;
        Ok(Some(self.aside))
    }

    fn name(&self) -> &'static str {
        NAME
    }
}
