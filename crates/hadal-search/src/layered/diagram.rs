//! The closed set as a decision diagram in RAM: candidates are decided as they are offered.
//!
//! Uniting a small layer with a large diagram costs far more than asking it, so the states of small layers wait in a table
//! and join the diagram together: deep graphs have thousands of layers of a few hundred states.

use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::{Trouble, batch_states};
use hadal_store::diagram::{ClosedDiagram, Keep, RankedDiagram, Set};
use hadal_store::run::RunReader;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::{Bitmap, Governor, OverBudget, Reservation};
use hadal_system::state::compare;
use hadal_system::{Ascending, Payload};

pub(crate) struct DiagramDetector {
    closed: ClosedDiagram,
    recent: Recent,
    /// Whether candidates of the layer being found went to the diagram directly: then all of them do.
    direct: bool,
    fresh: Bitmap,
    packed_bytes: f64,
    governor: Governor,
}

/// States that are closed and not in the diagram yet, those of the layer being found last.
struct Recent {
    table: StateTable,
    /// How many lie in finished layers.
    finished: u64,
    /// The most there may be, and the bytes that stand for them.
    most: u64,
    bytes: u64,
    /// What is not in the diagram, of a batch; or what is sorted on its way into it.
    sorted: Vec<u64>,
    /// Bits of a state.
    bits: u32,
    _memory: Reservation,
}

/// Diagrams smaller than this are not judged: small sets have no structure to share yet. Above it, a set that takes more
/// than half of its packed states is left to sorted runs.
const JUDGED_FROM_BYTES: usize = 4 << 20;
/// The part of the budget that states waiting for the diagram take, with their index and the space to sort them: much
/// while the diagram is small, as many states at once join it most cheaply, and less when it needs the memory.
const RECENT_PART_AT_FIRST: u64 = 3;
const RECENT_PART_AT_LAST: u64 = 10;
/// It needs it when its live nodes take more than this part of the budget: collecting the others needs as much again.
const LARGE_PART: u64 = 4;
/// Enough for an empty table.
const TINY_BYTES: u64 = 32 << 10;
const MOST_RECENT_BYTES: u64 = 128 << 20;
/// Batches of more than this part of what may wait go to the diagram directly.
const SMALL_PART: u64 = 4;

/// States that move on together where the diagram is left: at most, and the part of what is available that they take.
const MOST_LEAVING: usize = 1 << 13;
const LEAVING_PART: u64 = 4;

/// Bits a state that numbers take otherwise, by a perfect hash function.
const HASH_BITS: u64 = 3;
/// Numbers may take so many bytes whatever the alternative.
const NEARLY_FREE: u64 = 1 << 20;

impl DiagramDetector {
    pub(crate) fn new(words: usize, bits: u32, threads: usize, governor: &Governor) -> Result<Self, Trouble> {
        let closed = ClosedDiagram::new(words, bits as usize, governor)?;
        Self::over(closed, bits, threads, governor)
    }

    /// Over a diagram of complete layers, whose memory is of `governor`.
    pub(crate) fn over(
        mut closed: ClosedDiagram,
        bits: u32,
        threads: usize,
        governor: &Governor,
    ) -> Result<Self, Trouble> {
        closed.set_threads(threads);
        let bytes = recent_bytes(governor, closed.statistics().live_bytes);
        Ok(DiagramDetector {
            recent: Recent::new((closed.levels().words(), bits), bytes, governor)?,
            closed,
            direct: false,
            fresh: Bitmap::default(),
            packed_bytes: f64::from(bits) / 8.0,
            governor: governor.clone(),
        })
    }

    /// Takes the batch into the waiting table; whether there was room.
    fn offer_small(&mut self, batch: Ascending) -> bool {
        self.closed.filter(batch.flat(), &mut self.fresh);
        self.recent.sorted.clear();
        for (n, state) in batch.iter().enumerate() {
            if !self.fresh.get(n) {
                self.recent.sorted.extend_from_slice(state);
            }
        }
        let Recent { table, sorted, .. } = &mut self.recent;
        table.insert_all(sorted, |_, _| {}, |_, _| {}).is_ok()
    }

    /// Moves what waits into the diagram. When that does not fit, everything waits on.
    fn unite(&mut self) -> Result<(), OverBudget> {
        let all = self.recent.table.len();
        for (from, to, keep) in
            [(0, self.recent.finished, Keep::Closed), (self.recent.finished, all, Keep::ClosedAndNext)]
        {
            if from < to {
                self.recent.sort(from, to);
                self.closed.filter_add(&self.recent.sorted, keep, &mut self.fresh)?;
            }
        }
        self.recent.finished = 0;
        self.recent.table.clear()?;
        let bytes = recent_bytes(&self.governor, self.closed.statistics().live_bytes);
        if bytes < self.recent.bytes {
            self.recent.shrink(bytes, &self.governor)?;
        }
        Ok(())
    }

    /// Writes the layer.
    async fn write(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        if self.direct {
            let disk = layer.disk().clone();
            let mut states = self.closed.iter(Set::Next);
            let (mut batch, words) = (Vec::new(), self.recent.table.words());
            while states.next_batch(&self.closed, batch_states(words), &mut batch) > 0 {
                layer.push_all(Ascending::new(words, &batch))?;
                batch.clear();
                disk.rest().await?;
            }
            // The layer is written: the diagram need not keep it as a set of its own, so it is turned away twice.
            self.closed.turn_layer();
            self.closed.turn_layer();
            self.direct = false;
        } else {
            self.recent.sort(self.recent.finished, self.recent.table.len());
            layer.push_all(self.recent.ascending())?;
        }
        self.recent.finished = self.recent.table.len();
        Ok(Found::default())
    }

    /// Closes states of an earlier layer.
    async fn add(&mut self, layer: LayerView<'_>) -> Result<(), Trouble> {
        match layer {
            LayerView::States(states) => {
                let count = states.len();
                if !self.recent.has_room_for(count) {
                    self.unite()?;
                }
                let fits = self.recent.has_room_for(count);
                let taken = fits && self.recent.table.insert_all(states.flat(), |_, _| {}, |_, _| {}).is_ok();
                // Also what was taken of a layer that did not fit: it is not of the layer being found.
                self.recent.finished = self.recent.table.len();
                if !taken {
                    self.closed.filter_add(states.flat(), Keep::Closed, &mut self.fresh)?;
                }
            }
            LayerView::Run(run) => {
                let mut reader = RunReader::open(run)?;
                let mut block = Vec::new();
                while reader.next_block(&mut block)? {
                    self.closed.filter_add(&block, Keep::Closed, &mut self.fresh)?;
                    run.disk().rest().await?;
                }
            }
        }
        Ok(())
    }
}

/// What may wait beside a diagram whose live nodes take so many bytes.
fn recent_bytes(governor: &Governor, live: u64) -> u64 {
    let part = if live > governor.limit() / LARGE_PART { RECENT_PART_AT_LAST } else { RECENT_PART_AT_FIRST };
    (governor.limit() / part).min(MOST_RECENT_BYTES)
}

impl Recent {
    fn new((words, bits): (usize, u32), bytes: u64, governor: &Governor) -> Result<Self, OverBudget> {
        let (state, packed) = (8 * words as u64, StateTable::bytes_of(words, bits) as u64);
        // Of each state: itself and up to 16 bytes of a growing index; itself and as much again for sorting.
        let most = bytes / (packed + 2 * state + 16);
        let _memory = governor.try_reserve(
            most * state + scratch_bytes(RecordShape::states(words), most as usize),
            "sorting",
        )?;
        let table = StateTable::keeping((words, bits), Payload::NONE, 1, &governor.part(bytes))?;
        let sorted = Vec::with_capacity(most as usize * words);
        Ok(Recent { table, finished: 0, most, bytes, sorted, bits, _memory })
    }

    /// Becomes smaller. It must be empty.
    fn shrink(&mut self, bytes: u64, governor: &Governor) -> Result<(), OverBudget> {
        let form = (self.table.words(), self.bits);
        // What is given back first is what the smaller one takes.
        *self = Recent::new(form, TINY_BYTES, governor)?;
        *self = Recent::new(form, bytes, governor)?;
        Ok(())
    }

    /// Copies the states `from..to` and sorts them; those of a layer offered in one batch ascend already.
    fn sort(&mut self, from: u64, to: u64) {
        let words = self.table.words();
        self.sorted.clear();
        self.table.copy_states(0, from, to, &mut self.sorted);
        let flat = &self.sorted;
        if !flat.chunks_exact(words).zip(flat.chunks_exact(words).skip(1)).all(|(a, b)| compare(a, b).is_lt())
        {
            sort_records(RecordShape::states(words), &mut self.sorted);
        }
    }

    /// What was sorted last.
    fn ascending(&self) -> Ascending<'_> {
        Ascending::new(self.table.words(), &self.sorted)
    }

    fn has_room_for(&self, states: usize) -> bool {
        self.table.len() + states as u64 <= self.most
    }
}

impl Detector for DiagramDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let states = batch.len();
        let small = !self.direct && states as u64 <= self.recent.most / SMALL_PART;
        if small && !self.recent.has_room_for(states) {
            self.unite()?;
            // What was found of this layer is in the diagram now.
            self.direct = !self.closed.is_empty_set(Set::Next);
        }
        if small && !self.direct && self.offer_small(batch) {
            return Ok(());
        }
        self.unite()?;
        self.direct = true;
        self.closed.filter_add(batch.flat(), Keep::ClosedAndNext, &mut self.fresh)?;
        Ok(())
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.write(layer))
    }

    fn adopt<'s>(&'s mut self, _: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(self.add(layer))
    }

    fn adopt_at_hand<'s>(&'s mut self, depth: u64, states: Ascending<'s>, _: LayerView<'s>) -> Rests<'s, ()> {
        self.adopt(depth, LayerView::States(states))
    }

    fn asks_runs(&self) -> bool {
        false
    }

    fn struggles(&self) -> bool {
        self.closed.bytes() > JUDGED_FROM_BYTES
            && self.closed.live_bytes_per_state() > self.packed_bytes / 2.0
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(async move {
            self.closed.release_tables();
            let mut states = self.closed.iter(Set::Next);
            let (mut batch, words) = (Vec::new(), self.recent.table.words());
            // Every batch may become a run, so there should be few.
            let room = self.governor.available() / LEAVING_PART;
            let most = (room as usize / 8 / words).clamp(batch_states(words), MOST_LEAVING);
            let _memory = self.governor.try_reserve((most * words * 8) as u64, "states that move on").ok();
            while states.next_batch(&self.closed, most, &mut batch) > 0 {
                to.offer(Ascending::new(words, &batch))?;
                batch.clear();
            }
            self.recent.sort(self.recent.finished, self.recent.table.len());
            to.offer(self.recent.ascending())
        })
    }

    fn numbered(mut self: Box<Self>) -> Option<RankedDiagram> {
        self.unite().ok()?;
        let DiagramDetector { closed, recent, governor, .. } = *self;
        drop(recent);
        let least = closed.len() * HASH_BITS / 8 + NEARLY_FREE;
        RankedDiagram::new(closed, &governor).ok().filter(|ranked| ranked.bytes() <= least)
    }

    fn complete_layers(&mut self) -> Option<&ClosedDiagram> {
        self.unite().ok()?;
        if !self.closed.is_empty_set(Set::Next) {
            self.closed.forget_next().ok()?;
        }
        Some(&self.closed)
    }

    fn take_back(&mut self, states: Ascending) -> Result<bool, Trouble> {
        self.unite()?;
        self.closed.remove(states.flat())?;
        Ok(true)
    }

    fn name(&self) -> &'static str {
        "diagram"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layered::journal::Journal;
    use hadal_store::run::RunOptions;
    use hadal_store::vfs::{Disk, IoThreads, at_once};
    use hadal_testkit::{Faults, FaultyFolder};
    use std::sync::Arc;

    #[test]
    fn what_was_adopted_is_never_found_again_when_the_table_has_no_room_for_all_of_it() {
        let (words, governor) = (6, Governor::new(8 << 20));
        let mut detector = DiagramDetector::new(words, 64 * words as u32, 1, &governor).unwrap();
        let state = |n: u64| (0..words as u64).map(move |w| if w == 0 { n } else { w });
        let batch = |range: std::ops::Range<u64>| range.flat_map(state).collect::<Vec<u64>>();
        // The diagram has room for more, the table has not, although it holds less than it may.
        at_once(detector.adopt(0, LayerView::States(Ascending::new(words, &batch(0..20_000))))).unwrap();
        at_once(detector.adopt(1, LayerView::States(Ascending::new(words, &batch(20_000..20_010))))).unwrap();
        let others = governor.try_reserve(governor.available(), "others").unwrap();
        let (before, mut adopted) = (detector.closed.len(), 20_010);
        for depth in 2.. {
            let layer = batch(adopted..adopted + 100);
            at_once(detector.adopt(depth, LayerView::States(Ascending::new(words, &layer)))).unwrap();
            adopted += 100;
            if detector.closed.len() > before {
                break;
            }
        }
        assert!(detector.recent.table.len() < detector.recent.most);
        drop(others);
        let folder = Arc::new(FaultyFolder::new(Faults::default()));
        let disk = Disk::new(folder, IoThreads::new(0), Governor::new(8 << 20), 0);
        let options = RunOptions::new(RecordShape::states(words), 1);
        let mut layer = Journal::new(&disk, options).unwrap().writer();
        detector.offer(Ascending::new(words, &batch(adopted - 10..adopted + 10))).unwrap();
        at_once(detector.finish_layer(&mut layer)).unwrap();
        assert_eq!(layer.states(), 10);
    }
}
