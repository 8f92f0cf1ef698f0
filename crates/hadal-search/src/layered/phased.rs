//! Phased detection: candidates in sorted order fill a table; closed layers are streamed past it, each as far as the last
//! candidate of the phase (Lamborn 2014, sec. 4.2.4).
//!
//! Closed runs are neither merged with each other nor probed; each has its own cursor. The merge of candidates drops
//! equal ones, so no state lies in two phases, and what survives a phase is sorted already.

use super::Trouble;
use super::candidates::Candidates;
use super::detection::{Detection, Payloads, SMALL_CACHE_SHARE, TABLE_SHARE};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::runs::ClosedRuns;
use super::settling::{Looking, Settling};
use crate::report::Distance;
use hadal_store::merge::BlockSource;
use hadal_store::run::{RunFile, RunOptions, RunReader};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Reservation};
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering::Greater;

/// Closed runs are merged when there are more: each has a reader open during detection.
const MOST_RUNS: usize = 48;

/// In phases.
pub(crate) static PHASED: Detection = Detection {
    cache_share: SMALL_CACHE_SHARE,
    payloads: Payloads::Merged,
    make: |making| {
        let (table, looking) = (making.share(TABLE_SHARE), making.strategy.looking());
        Ok(Box::new(PhasedDetector::new(making.disk, making.options, table, looking)?))
    },
};

pub(crate) struct PhasedDetector {
    candidates: Candidates,
    closed: ClosedRuns,
    table: StateTable,
    /// Candidates in a phase.
    capacity: u64,
    shape: RecordShape,
    depth: u64,
    /// Where recent layers are looked at only.
    settling: Option<Settling>,
    _memory: Reservation,
}

impl PhasedDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        table_bytes: u64,
        looking: Option<Looking>,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 32).clamp(64 << 10, 32 << 20);
        let shape = options.shape;
        let readers = disk.governor.limit() / 6 / RunReader::footprint(&options).max(1);
        let most_runs = (readers as usize).clamp(2, MOST_RUNS);
        Ok(PhasedDetector {
            candidates: Candidates::new(disk, options, most as usize / 8),
            closed: ClosedRuns::new(disk, options, most as usize / 8, most_runs),
            table: StateTable::keeping(
                (shape.words(), shape.words() as u32 * 64),
                shape.payload(),
                1,
                &disk.governor.part(table_bytes),
            )?,
            capacity: super::hash::capacity(table_bytes, shape.stride()),
            shape,
            depth: 0,
            settling: looking.map(|looking| Settling::new(disk, options, looking)).transpose()?,
            _memory: disk.governor.try_reserve(4 * most, "recent layers")?,
        })
    }

    /// Removes from the table what `closed` has, as far as the last candidate; survivors go to the layer.
    async fn end_phase(
        &mut self,
        closed: &mut [Cursor],
        last: &[u64],
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let mut dead = Bitmap::new(self.table.len() as usize);
        let mut strike = |state: &[u64]| match self.table.find(state) {
            Some(at) if !dead.get(at.number() as usize) => {
                dead.set(at.number() as usize);
                1
            }
            _ => 0,
        };
        let mut hits = 0;
        for record in self.closed.resident().chunks_exact(self.shape.stride()) {
            hits += strike(self.shape.state(record));
        }
        found.earlier += hits;
        if hits > 0 {
            found.by_distance.push(Distance::between(self.depth, self.closed.resident_depths(), hits));
        }
        for cursor in closed {
            let hits = cursor.pass(last, self.shape, &mut strike).await?;
            found.earlier += hits;
            cursor.found += hits;
        }
        let mut record = Vec::new();
        for number in (0..self.table.len()).filter(|&number| !dead.get(number as usize)) {
            record.clear();
            self.table.copy_records(0, number, number + 1, &mut record);
            layer.push_all(Ascending::new(self.shape.stride(), &record))?;
        }
        Ok(self.table.clear()?)
    }

    /// Fills the table with candidates and frees it of closed states, phase by phase.
    async fn merge(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.candidates.reduce().await?;
        let mut candidates = std::mem::replace(&mut self.candidates, Candidates::none(&self.closed));
        let since = self.settling.as_mut().and_then(|settling| settling.since(candidates.states()));
        let mut found = Found::default();
        let mut cursors = Vec::new();
        let recent = |&&((_, last), _): &&((u64, u64), RunFile)| last >= since.unwrap_or(0);
        for (depths, run) in self.closed.runs().iter().filter(recent) {
            cursors.push(Cursor::open(run, *depths)?);
        }
        let mut merge = candidates.merge()?;
        let (mut block, mut last) = (Vec::new(), Vec::new());
        while merge.next_block(&mut block)? {
            for record in block.chunks_exact(self.shape.stride()) {
                if self.table.len() >= self.capacity {
                    self.end_phase(&mut cursors, &last, layer, &mut found).await?;
                }
                let one = Records::new(self.shape, record);
                if self.table.insert_records(one).is_err() {
                    // The table is a little smaller than it was taken for.
                    self.end_phase(&mut cursors, &last, layer, &mut found).await?;
                    self.table.insert_records(one)?;
                }
                last.clear();
                last.extend_from_slice(self.shape.state(record));
            }
        }
        if !self.table.is_empty() {
            self.end_phase(&mut cursors, &last, layer, &mut found).await?;
        }
        found.within = merge.duplicates() + candidates.merged_away();
        drop(merge);
        for cursor in cursors.iter().filter(|cursor| cursor.found > 0) {
            found.by_distance.push(Distance::between(self.depth, cursor.depths, cursor.found));
        }
        if let Some(settling) = &mut self.settling {
            settling.checked(since, &found.by_distance);
            found.window = settling.window(since);
        }
        candidates.clear();
        self.candidates = candidates;
        Ok(found)
    }
}

impl Detector for PhasedDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        self.candidates.add(batch)
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.merge(layer))
    }

    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.depth = depth + 1;
        if let Some(settling) = &mut self.settling {
            settling.closed(depth, layer.states());
        }
        Box::pin(self.closed.add(depth, layer))
    }

    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.depth = depth + 1;
        Box::pin(async move {
            if let Some(settling) = &mut self.settling {
                settling.adopt(depth, layer).await?;
            }
            self.closed.add(depth, layer).await
        })
    }

    fn settling(&mut self) -> Option<&mut Settling> {
        self.settling.as_mut()
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(self.candidates.hand_over(to))
    }

    fn name(&self) -> &'static str {
        "sorted runs, in phases"
    }
}

/// A closed run, read as far as the last phase went.
struct Cursor {
    reader: RunReader,
    block: Vec<u64>,
    /// First word of `block` not passed yet.
    next: usize,
    depths: (u64, u64),
    found: u64,
    disk: Disk,
}

impl Cursor {
    fn open(run: &RunFile, depths: (u64, u64)) -> Result<Self, Trouble> {
        let (reader, disk) = (RunReader::open(run)?, run.disk().clone());
        Ok(Cursor { reader, block: Vec::new(), next: 0, depths, found: 0, disk })
    }

    /// Shows every state up to `last` to `strike`; adds up what it returns.
    async fn pass(
        &mut self,
        last: &[u64],
        shape: RecordShape,
        strike: &mut impl FnMut(&[u64]) -> u64,
    ) -> Result<u64, Trouble> {
        let mut hits = 0;
        loop {
            let rest = &self.block[self.next..];
            let end = first_beyond(rest, shape, last);
            for record in rest[..end].chunks_exact(shape.stride()) {
                hits += strike(shape.state(record));
            }
            self.next += end;
            if self.next < self.block.len() {
                return Ok(hits);
            }
            self.next = 0;
            if !self.reader.next_block(&mut self.block)? {
                self.block.clear();
                return Ok(hits);
            }
            self.disk.rest().await?;
        }
    }
}

/// Words of the ascending `flat` before the first record beyond `last`; only the last buffer of a phase needs a search.
fn first_beyond(flat: &[u64], shape: RecordShape, last: &[u64]) -> usize {
    let words = shape.stride();
    let state = |end: usize| shape.state(&flat[end - words..end]);
    if flat.len() < words || compare(state(flat.len()), last) != Greater {
        return flat.len();
    }
    let (mut low, mut high) = (0, flat.len() / words);
    while low < high {
        let middle = low + (high - low) / 2;
        if compare(state((middle + 1) * words), last) == Greater {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low * words
}
