//! The closed set as a table in RAM: what workers of a cluster begin with. Candidates are decided as they are offered, and a
//! layer is sorted once it is whole.

use super::Trouble;
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::sorted::{SortedDetector, Sorting};
use hadal_store::run::{RunOptions, RunReader};
use hadal_store::sort::{scratch_bytes, sort_records_on};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use hadal_system::{Ascending, Payload};

/// What it is called, in reports as well.
pub(crate) const NAME: &str = "table";
/// The part of the budget in which layers are sorted.
const SORTED_PART: u64 = 20;
const LEAST_SORTED: u64 = 64 << 10;

pub(crate) struct TableDetector {
    table: StateTable,
    /// How many lie in finished layers; those behind them are new.
    finished: u64,
    /// Where a batch begins of which the table had no room for all.
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
            table: StateTable::keeping((shape.words(), bits), Payload::NONE, 1, &memory)?,
            finished: 0,
            refused: None,
            aside: SortedDetector::new(disk, options, Sorting::LEVELS)?,
            options,
            threads,
            sorted: Vec::new(),
            most,
            _memory: governor.try_reserve(most * one, "sorting")?,
        })
    }

    /// Sorts some states.
    fn sort(&mut self, from: u64, to: u64) -> Ascending<'_> {
        let shape = self.options.shape;
        self.sorted.clear();
        self.sorted.reserve_exact((to - from) as usize * shape.stride());
        self.table.copy_states(0, from, to, &mut self.sorted);
        sort_records_on(self.threads, shape, &mut self.sorted);
        Ascending::new(shape.stride(), &self.sorted)
    }

    /// Gives some states away, in sorted batches.
    fn put_aside(&mut self, mut from: u64, to: u64) -> Result<(), Trouble> {
        while from < to {
            let until = to.min(from + self.most);
            self.sort(from, until);
            self.aside.offer(Ascending::new(self.options.shape.stride(), &self.sorted))?;
            from = until;
        }
        Ok(())
    }

    async fn write(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        let (from, to) = (self.finished, self.table.len());
        if to - from <= self.most {
            layer.push_all(self.sort(from, to))?;
        } else {
            self.put_aside(from, to)?;
            self.aside.finish_layer(layer).await?;
        }
        self.finished = to;
        Ok(Found::default())
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
        self.finished = self.table.len();
        Ok(())
    }
}

impl Detector for TableDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let before = self.table.len();
        match self.table.insert_all(batch.flat(), |_, _| {}, |_, _| {}) {
            Ok(()) => {
                self.refused = None;
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

    fn asks_runs(&self) -> bool {
        false
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(async move {
            let until = self.refused.unwrap_or(self.table.len());
            self.put_aside(self.finished, until)?;
            self.aside.hand_over(to).await
        })
    }

    fn leave(mut self: Box<Self>) -> Result<Option<SortedDetector>, Trouble> {
        let until = self.refused.unwrap_or(self.table.len());
        self.put_aside(self.finished, until)?;
        Ok(Some(self.aside))
    }

    fn name(&self) -> &'static str {
        NAME
    }
}
