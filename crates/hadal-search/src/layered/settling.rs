//! When candidates are compared with recent layers only and when with all (Lamborn 2014, sec. 3.3.4; periodic detection,
//! Evangelista 2008), and the layers known to be true: what every detector needs whose detection may be partial.
//!
//! A layer that was compared with recent layers only may hold states of older ones. When such layers have grown to a share
//! of all states they are *settled*, many at a time: what an older layer has is taken out again, so that in the end layers,
//! counts and depth are those of full detection. As the share is of all states, the settled layers are read a few times in
//! all, not once for every layer. No state is ever missed, and the first copy of each state lies in its true layer.

use super::Trouble;
use super::closed_set::{ClosedPass, ClosedSet};
use super::detector::LayerView;
use crate::report::Distance;
use hadal_store::Reservation;
use hadal_store::levels::LevelPolicy;
use hadal_store::run::RunOptions;
use hadal_store::vfs::Disk;
use hadal_system::random::Xorshift;
use serde::{Deserialize, Serialize};

/// How far back candidates are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Always this many layers.
    Layers(u64),
    /// As far as almost all duplicates were found so far.
    Auto,
    /// Only layers at distances at which more than a few duplicates were found so far (Evangelista 2008).
    Selected,
    /// A number drawn for each layer, small ones more often (Della Penna et al. 2004).
    Random,
}

/// Layers are settled when they hold one state for so many settled ones: at first and at least so many, and at most where
/// states often come again.
const LEAST_SHARE: u64 = 4;
const MOST_SHARE: u64 = 64;
/// With fewer states than this nothing is worth a pass over the settled ones.
const FEW: u64 = 1 << 10;
/// With the automatic bound, one in this many duplicates may lie farther back.
const RARE: u64 = 1000;
/// Layers as near as this are always looked at.
const NEAR: u64 = 2;
/// Among so many layers, one is compared with all: that shows at which distances duplicates lie.
const SURVEY: u64 = 16;

/// How far back detection looks, and whether that is taken for enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looking {
    pub(crate) bound: Bound,
    pub(crate) trusted: bool,
}

pub(crate) struct Settling {
    /// Settled layers.
    all: ClosedSet,
    /// Layers before this depth are settled.
    settled: u64,
    bound: Bound,
    /// Whether the bound is taken for right, so that nothing is ever settled.
    trusted: bool,
    /// How far back the automatic bound looks now.
    reach: u64,
    /// Layers are settled when there is one state in them for so many settled ones.
    share: u64,
    /// States in layers that are not settled.
    unsettled: u64,
    /// Unsettled layers that were compared with all layers.
    full: Vec<u64>,
    /// Whether the layer being found is compared with all layers.
    is_full: bool,
    /// Whether the layer being found is compared with each layer, so that distances are known.
    is_survey: bool,
    /// Duplicates seen by distance, for the automatic bound.
    histogram: Vec<u64>,
    random: Xorshift,
    /// Depth of the layer being found.
    depth: u64,
    disk: Disk,
    _memory: Reservation,
}

impl Settling {
    pub(crate) fn new(disk: &Disk, options: RunOptions, looking: Looking) -> Result<Self, Trouble> {
        let Looking { bound, trusted } = looking;
        let most = (disk.governor.limit() / 48).clamp(64 << 10, 16 << 20);
        Ok(Settling {
            all: ClosedSet::new(disk, options, LevelPolicy::Merging { ratio: 3 }, most as usize / 8),
            settled: 0,
            bound,
            trusted,
            reach: 2,
            share: LEAST_SHARE,
            unsettled: 0,
            full: Vec::new(),
            is_full: false,
            is_survey: false,
            histogram: Vec::new(),
            random: Xorshift::golden(),
            depth: 0,
            disk: disk.clone(),
            _memory: disk.governor.try_reserve(2 * most, "settled layers")?,
        })
    }

    /// Whether the bound is taken for right.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Layers before this depth hold no state of an earlier one.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Depth of the layer being found.
    pub(super) fn depth(&self) -> u64 {
        self.depth
    }

    /// Whether unsettled layers should be settled: each was compared with all layers, or they have grown beyond their share.
    pub(crate) fn is_due(&self) -> bool {
        let open = self.depth - self.settled;
        open > 0
            && (self.trusted
                || open == self.full.len() as u64
                || self.unsettled * self.share > self.all.states() + FEW)
    }

    /// Threads that may look for states.
    pub(super) fn threads(&self) -> usize {
        self.disk.workers()
    }

    /// Bytes of memory that are free.
    pub(super) fn available(&self) -> u64 {
        self.disk.governor.available()
    }

    /// A pass over the settled layers.
    pub(super) fn settled_pass(&self) -> Result<ClosedPass<'_>, Trouble> {
        self.all.filter(0)
    }

    /// Takes the settled layer at this depth, or a part of it.
    pub(super) async fn settle(&mut self, depth: u64, layer: LayerView<'_>) -> Result<(), Trouble> {
        self.all.add(depth, layer).await
    }

    /// Whether the layer at this depth was compared with all layers, so that there is nothing to take out.
    pub(super) fn was_full(&self, depth: u64) -> bool {
        self.full.contains(&depth)
    }

    /// Layers before `depth` are settled; of `states` in those looked at, `again` came again.
    pub(super) fn settled_before(&mut self, depth: u64, states: u64, again: u64) {
        self.settled = depth;
        self.unsettled = 0;
        self.full.clear();
        let often = again * 100 > states;
        self.share = match again * 50 > states {
            true => (self.share * 2).min(MOST_SHARE),
            false => (self.share / 2).max(LEAST_SHARE),
        };
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
    }

    /// The first depth whose layer may still be looked at one by one; those before are settled.
    pub(super) fn needed_from(&self) -> u64 {
        self.settled.min(self.depth.saturating_sub(self.reach_now()))
    }

    fn reach_now(&self) -> u64 {
        match self.bound {
            Bound::Layers(layers) => layers,
            Bound::Auto => self.reach,
            Bound::Random | Bound::Selected => u64::MAX,
        }
    }

    /// How many layers are compared with from depth `since` on; 0 for all.
    pub(super) fn window(&self, since: Option<u64>) -> u64 {
        let selected = |since: u64| {
            let seen = self.seen();
            (since..self.depth).filter(|&depth| self.selects((depth, depth), seen)).count() as u64
        };
        match (since, self.bound) {
            (None, _) => 0,
            (Some(_), Bound::Selected) if self.is_survey => 0,
            (Some(since), Bound::Selected) => selected(since),
            (Some(since), _) => self.depth - since,
        }
    }

    /// The first depth to compare so many candidates with, or none for a full check.
    pub(super) fn since(&mut self, candidates: u64) -> Option<u64> {
        if self.bound == Bound::Selected {
            self.is_survey = self.depth.is_multiple_of(SURVEY);
            return Some(0);
        }
        // Few candidates are cheaper to look up everywhere than to carry along wrongly.
        if !self.trusted && candidates * 64 < self.all.records() {
            return None;
        }
        let reach = match self.bound {
            Bound::Random => 1 + u64::from(self.random.bits().trailing_zeros()),
            Bound::Layers(_) | Bound::Auto | Bound::Selected => self.reach_now(),
        };
        self.depth.checked_sub(reach.max(1)).filter(|&since| since > 0)
    }

    /// Whether candidates are compared with layers from one depth to another, if they are not compared with all.
    pub(super) fn selects(&self, (first, last): (u64, u64), total: u64) -> bool {
        let (near, far) = (self.depth - last.min(self.depth), self.depth - first.min(self.depth));
        self.bound != Bound::Selected
            || self.is_survey
            || near <= NEAR
            || (near..=far).any(|distance| {
                self.histogram.get(distance as usize).is_some_and(|found| found * RARE > total)
            })
    }

    /// Duplicates seen so far.
    pub(super) fn seen(&self) -> u64 {
        self.histogram.iter().sum()
    }

    /// Takes note of a check that [`Settling::since`] asked for and of the duplicates it found.
    pub(super) fn checked(&mut self, since: Option<u64>, by_distance: &[Distance]) {
        self.is_full = since.is_none() || std::mem::take(&mut self.is_survey);
        self.count(by_distance);
    }

    /// Takes note of duplicates that settling found. Settled layers share runs: how far back a duplicate lies is not certain.
    pub(super) fn note(&mut self, by_distance: &[Distance]) {
        if self.bound != Bound::Selected {
            self.count(by_distance);
        }
    }

    fn count(&mut self, by_distance: &[Distance]) {
        for distance in by_distance {
            let at = distance.farthest as usize;
            if self.histogram.len() <= at {
                self.histogram.resize(at + 1, 0);
            }
            self.histogram[at] += distance.found;
        }
    }

    /// The layer just found, of so many states, stands in the journal at this depth.
    pub(super) fn closed(&mut self, depth: u64, states: u64) {
        self.depth = depth + 1;
        self.unsettled += states;
        if std::mem::take(&mut self.is_full) {
            self.full.push(depth);
        }
    }

    /// Takes a layer, or a part of it, that is settled already.
    pub(super) async fn adopt(&mut self, depth: u64, layer: LayerView<'_>) -> Result<(), Trouble> {
        self.depth = depth + 1;
        self.settled = self.depth;
        if self.trusted { Ok(()) } else { self.settle(depth, layer).await }
    }
}
