//! Duplicate detection by sorting: candidates are sorted into runs, and at the end of the layer merged, made unique and
//! freed of closed states in one pass (Lamborn 2014, sec. 3.1 and 3.3.3).

use super::Trouble;
use super::candidates::Candidates;
use super::closed_set::ClosedSet;
use super::detector::{Detector, Found, LayerView};
use super::journal::LayerWriter;
use hadal_store::Reservation;
use hadal_store::error::WriteError;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::{BlockSource, RecordSink, subtract_closed};
use hadal_store::run::RunOptions;
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;

/// Whether intra- and interlayer detection share one merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    /// One pass does both.
    Combined,
    /// The first pass writes distinct candidates, the second compares them with the closed set.
    Separate,
}

pub(crate) struct SortedDetector {
    closed: ClosedSet,
    candidates: Candidates,
    merging: Merging,
    /// Depth of the layer being found.
    depth: u64,
    _memory: Reservation,
}

impl SortedDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        policy: LevelPolicy,
        merging: Merging,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 32).clamp(128 << 10, 32 << 20);
        let most_words = most as usize / 8;
        Ok(SortedDetector {
            closed: ClosedSet::new(disk, options, policy, most_words),
            candidates: Candidates::new(disk, options, most_words),
            merging,
            depth: 0,
            // Small closed layers, the copy made when they grow, and one batch of candidates.
            _memory: disk.governor.try_reserve(3 * most, "recent layers")?,
        })
    }
}

impl Detector for SortedDetector {
    fn offer(&mut self, batch: &[u64]) -> Result<(), Trouble> {
        self.candidates.add(batch)
    }

    fn finish_layer(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        match self.merging {
            Merging::Combined => self.candidates.reduce()?,
            Merging::Separate => self.candidates.unite()?,
        }
        let mut pass = self.closed.filter(0)?;
        let merge = self.candidates.merge()?;
        let done = subtract_closed(merge, &mut pass, &mut Sink(layer))?;
        let mut found = Found {
            within: done.duplicates_within + self.candidates.merged_away(),
            earlier: done.duplicates_closed,
            by_distance: Vec::new(),
        };
        pass.by_distance(self.depth, &mut found.by_distance);
        self.candidates.clear();
        Ok(found)
    }

    fn closed(&mut self, depth: u64, layer: LayerView) -> Result<(), Trouble> {
        self.adopt(depth, layer)
    }

    fn adopt(&mut self, depth: u64, layer: LayerView) -> Result<(), Trouble> {
        self.depth = depth + 1;
        self.closed.add(depth, layer)
    }

    fn hand_over(self: Box<Self>, to: &mut dyn Detector) -> Result<(), Trouble> {
        let mut merge = self.candidates.merge()?;
        let mut block = Vec::new();
        while merge.next_block(&mut block)? {
            to.offer(&block)?;
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "sorted runs"
    }
}

/// New states go to the layer.
pub(super) struct Sink<'a>(pub(super) &'a mut LayerWriter);

impl RecordSink for Sink<'_> {
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        self.0.write(records.flat())
    }
}
