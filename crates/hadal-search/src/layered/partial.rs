//! Partial duplicate detection: candidates are compared with recent layers only (Lamborn 2014, sec. 3.3.4), and with all of
//! them now and then (periodic detection, Evangelista 2008), so that the search ends and its counts are exact.
//!
//! A layer that was compared with recent layers only may hold states of older ones. After each full check such layers
//! are *settled*: what an older layer has is taken out again, so that in the end layers, counts and depth are those of
//! full detection. No state is ever missed, and the first copy of each state lies in its true layer.

use super::Trouble;
use super::candidates::Candidates;
use super::closed_set::{ClosedPass, ClosedSet};
use super::detector::{Detector, Found, LayerView};
use super::journal::LayerWriter;
use super::sorted::Sink;
use crate::report::Distance;
use hadal_store::error::ReadError;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::{BlockSource, ClosedFilter, subtract_closed};
use hadal_store::run::RunOptions;
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Reservation};
use serde::{Deserialize, Serialize};

/// How far back candidates are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Always this many layers.
    Layers(u64),
    /// As far as almost all duplicates were found so far.
    Auto,
    /// A number drawn for each layer, small ones more often (Della Penna et al. 2004).
    Random,
}

/// Layers between full checks at first, and at most.
const FIRST_PERIOD: u64 = 4;
const LONGEST_PERIOD: u64 = 64;
/// With the automatic bound, one in this many duplicates may lie farther back.
const RARE: u64 = 1000;

pub(crate) struct PartialDetector {
    candidates: Candidates,
    /// Layers one by one, as found.
    window: ClosedSet,
    /// Settled layers.
    all: ClosedSet,
    /// Layers before this depth are settled.
    settled: u64,
    bound: Bound,
    /// How far back the automatic bound looks now.
    reach: u64,
    /// Layers between full checks now, and since the last one.
    period: u64,
    since_full: u64,
    last_full: Option<u64>,
    /// Duplicates seen by distance, for the automatic bound.
    histogram: Vec<u64>,
    random: u64,
    /// Depth of the layer being found.
    depth: u64,
    _memory: Reservation,
}

impl PartialDetector {
    pub(crate) fn new(disk: &Disk, options: RunOptions, bound: Bound) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 48).clamp(64 << 10, 16 << 20);
        let words = most as usize / 8;
        Ok(PartialDetector {
            candidates: Candidates::new(disk, options, words),
            window: ClosedSet::new(disk, options, LevelPolicy::FilePerLayer, words),
            all: ClosedSet::new(disk, options, LevelPolicy::Merging { ratio: 3 }, words),
            settled: 0,
            bound,
            reach: 2,
            period: FIRST_PERIOD,
            since_full: 0,
            last_full: None,
            histogram: Vec::new(),
            random: 0x9E37_79B9_7F4A_7C15,
            depth: 0,
            _memory: disk.governor.try_reserve(5 * most, "recent layers")?,
        })
    }

    /// Layers before this depth hold no state of an earlier one.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Whether a full check was just made, so that what came before should be settled.
    pub(crate) fn is_due(&self) -> bool {
        self.since_full == 0 && self.settled < self.depth
    }

    /// A pass over the settled layers.
    pub(super) fn settled_pass(&self) -> Result<ClosedPass<'_>, Trouble> {
        self.all.filter(0)
    }

    /// Takes the settled layer at this depth, or a part of it.
    pub(super) fn settle(&mut self, depth: u64, layer: LayerView) -> Result<(), Trouble> {
        self.all.add(depth, layer)
    }

    /// Whether the layer at this depth was compared with all layers, so that there is nothing to take out.
    pub(super) fn was_full(&self, depth: u64) -> bool {
        self.last_full == Some(depth)
    }

    /// Layers before `depth` are settled; of `states` in those looked at, `again` came again.
    pub(super) fn settled_before(&mut self, depth: u64, states: u64, again: u64) {
        self.settled = depth;
        let often = again * 100 > states;
        self.period =
            if again > 0 { (self.period / 2).max(2) } else { (self.period * 2).min(LONGEST_PERIOD) };
        if self.bound == Bound::Auto {
            let total: u64 = self.histogram.iter().sum();
            let mut beyond = total;
            let enough = self.histogram.iter().position(|&found| {
                beyond -= found;
                beyond * RARE <= total
            });
            self.reach = enough.map_or(self.reach, |distance| (distance as u64).max(1));
            if often {
                self.reach = (self.reach * 2).max(self.depth / 8);
            }
        }
        let needed = self.settled.min(self.depth.saturating_sub(self.reach_now()));
        self.window.forget_before(needed);
    }

    fn reach_now(&self) -> u64 {
        match self.bound {
            Bound::Layers(layers) => layers,
            Bound::Auto => self.reach,
            Bound::Random => u64::MAX,
        }
    }

    /// The first depth to compare with, or none for a full check.
    fn since(&mut self) -> Option<u64> {
        self.since_full += 1;
        // Few candidates are cheaper to look up everywhere than to carry along wrongly.
        let few = self.candidates.states() * 64 < self.all.records();
        if few || self.since_full >= self.period {
            return None;
        }
        let reach = match self.bound {
            Bound::Random => {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                1 + u64::from(self.random.trailing_zeros())
            }
            _ => self.reach_now(),
        };
        self.depth.checked_sub(reach.max(1)).filter(|&since| since > 0)
    }

    fn note(&mut self, distances: &[Distance]) {
        for distance in distances {
            let at = distance.farthest as usize;
            if self.histogram.len() <= at {
                self.histogram.resize(at + 1, 0);
            }
            self.histogram[at] += distance.found;
        }
    }
}

impl Detector for PartialDetector {
    fn offer(&mut self, batch: &[u64]) -> Result<(), Trouble> {
        self.candidates.add(batch)
    }

    fn finish_layer(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.candidates.reduce()?;
        let since = self.since();
        let all = match since {
            Some(_) => None,
            None => Some(self.all.filter(0)?),
        };
        let mut passes = Passes { window: self.window.filter(since.unwrap_or(0))?, all };
        let done = subtract_closed(self.candidates.merge()?, &mut passes, &mut Sink(layer))?;
        let mut found = Found {
            within: done.duplicates_within + self.candidates.merged_away(),
            earlier: done.duplicates_closed,
            by_distance: Vec::new(),
        };
        passes.window.by_distance(self.depth, &mut found.by_distance);
        if let Some(all) = &passes.all {
            all.by_distance(self.depth, &mut found.by_distance);
        }
        drop(passes);
        if since.is_none() {
            self.since_full = 0;
            self.last_full = Some(self.depth);
        }
        self.note(&found.by_distance);
        self.candidates.clear();
        Ok(found)
    }

    fn closed(&mut self, depth: u64, layer: LayerView) -> Result<(), Trouble> {
        self.depth = depth + 1;
        self.window.add(depth, layer)
    }

    fn adopt(&mut self, depth: u64, layer: LayerView) -> Result<(), Trouble> {
        self.depth = depth + 1;
        self.settled = self.depth;
        self.settle(depth, layer)?;
        self.window.add(depth, layer)
    }

    fn partial(&mut self) -> Option<&mut PartialDetector> {
        Some(self)
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
        "sorted runs, recent layers"
    }
}

/// The recent layers, then all others where the check is full.
struct Passes<'a> {
    window: ClosedPass<'a>,
    all: Option<ClosedPass<'a>>,
}

impl ClosedFilter for Passes<'_> {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let found = self.window.mark(candidates, present)?;
        match &mut self.all {
            Some(all) => Ok(found + all.mark(candidates, present)?),
            None => Ok(found),
        }
    }
}
