//! Partial duplicate detection by sorting: candidates are compared with recent layers only (Lamborn 2014, sec. 3.3.4), and
//! with all of them when [`Settling`] says so.

use super::Trouble;
use super::candidates::Candidates;
use super::closed_set::{ClosedPass, ClosedSet};
use super::detection::{CACHE_SHARE, Detection, Payloads};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::settling::Settling;
use super::sorted::Sink;
use crate::report::DetectionWork;
use hadal_store::error::ReadError;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::{ClosedFilter, subtract_together};
use hadal_store::run::RunOptions;
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Reservation};
use hadal_system::Ascending;

pub use super::settling::Bound;
pub(crate) use super::settling::Looking;

/// Against recent layers, with full checks now and then.
pub(crate) static PARTIAL: Detection = Detection {
    cache_share: CACHE_SHARE,
    payloads: Payloads::Merged,
    make: |making| {
        let looking = making.strategy.looking().unwrap_or(Looking { bound: Bound::Auto, trusted: false });
        Ok(Box::new(PartialDetector::new(making.disk, making.options, looking)?))
    },
};

pub(crate) struct PartialDetector {
    candidates: Candidates,
    /// Layers one by one, as found.
    window: ClosedSet,
    settling: Settling,
    disk: Disk,
    options: RunOptions,
    _memory: Reservation,
}

impl PartialDetector {
    pub(crate) fn new(disk: &Disk, options: RunOptions, looking: Looking) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 48).clamp(64 << 10, 16 << 20);
        let words = most as usize / 8;
        Ok(PartialDetector {
            candidates: Candidates::new(disk, options, words),
            window: ClosedSet::new(disk, options, LevelPolicy::FilePerLayer, words),
            settling: Settling::new(disk, options, looking)?,
            disk: disk.clone(),
            options,
            _memory: disk.governor.try_reserve(3 * most, "recent layers")?,
        })
    }

    /// Merges the candidates, frees them of the states of recent layers, or of all, and writes the rest.
    async fn merge(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.candidates.reduce().await?;
        let since = self.settling.since(self.candidates.states());
        // Settled layers are among all others.
        let (from, seen) = (since.unwrap_or_else(|| self.settling.settled()), self.settling.seen());
        let asked =
            |depths: (u64, u64)| depths.1 >= from && (since.is_none() || self.settling.selects(depths, seen));
        let make = || -> Result<Passes<'_>, Trouble> {
            let all = since.is_none().then(|| self.settling.settled_pass()).transpose()?;
            Ok(Passes { window: self.window.filter_where(asked)?, all })
        };
        let first = make()?;
        let (threads, beside) =
            (first.threads(self.disk.workers(), self.disk.governor.available()), first.footprint());
        let mut passes = vec![first];
        for _ in 1..threads {
            passes.push(make()?);
        }
        let inputs = self.candidates.inputs();
        let shape = self.options.shape;
        let done =
            subtract_together(&self.disk, (&inputs, shape), (&mut passes, beside), &mut Sink(layer)).await?;
        let mut found = Found {
            within: done.duplicates_within + self.candidates.merged_away(),
            earlier: done.duplicates_closed,
            window: self.settling.window(since),
            work: DetectionWork { comparisons: done.comparisons, ..self.candidates.work() },
            ..Found::default()
        };
        let depth = self.settling.depth();
        for pass in &passes {
            pass.window.by_distance(depth, &mut found.by_distance);
            if let Some(all) = &pass.all {
                all.by_distance(depth, &mut found.by_distance);
            }
        }
        drop(passes);
        self.settling.checked(since, &found.by_distance);
        self.candidates.clear();
        Ok(found)
    }
}

impl Detector for PartialDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        self.candidates.add(batch)
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.merge(layer))
    }

    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.settling.closed(depth, layer.states());
        self.window.forget_before(self.settling.needed_from());
        Box::pin(self.window.add(depth, layer))
    }

    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(async move {
            self.settling.adopt(depth, layer).await?;
            self.window.add(depth, layer).await
        })
    }

    fn settling(&mut self) -> Option<&mut Settling> {
        Some(&mut self.settling)
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(self.candidates.hand_over(to))
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

impl Passes<'_> {
    fn threads(&self, most: usize, available: u64) -> usize {
        let all = self.all.as_ref().map_or(most, |all| all.threads(most, available));
        self.window.threads(most, available).min(all)
    }

    fn footprint(&self) -> u64 {
        self.window.footprint() + self.all.as_ref().map_or(0, ClosedPass::footprint)
    }
}

impl ClosedFilter for Passes<'_> {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let found = self.window.mark(candidates, present)?;
        match &mut self.all {
            Some(all) => Ok(found + all.mark(candidates, present)?),
            None => Ok(found),
        }
    }

    fn comparisons(&self) -> u64 {
        self.window.comparisons() + self.all.as_ref().map_or(0, ClosedPass::comparisons)
    }
}
