//! Phased detection: candidates in sorted order fill the memory of a phase; then closed runs are gone through one at a time,
//! each as far as the last candidate (Lamborn 2014, sec. 4.2.4).
//!
//! One closed run is open at a time, however many there are. The merge of candidates drops equal ones, so no state lies in
//! two phases, and what survives a phase is sorted already. (The source puts the candidates of a phase into a hash table and
//! looks every closed state up. Here they stay in the ascending list that they come in, and a closed block is walked beside
//! it where its run's index says that it may hold one of them.)

use super::Trouble;
use super::candidates::Candidates;
use super::closed_set::ClosedSet;
use super::detection::{CACHE_SHARE, Detection, PHASE_SHARE, Payloads};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::settling::{Looking, Settling};
use crate::report::Distance;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::{BlockSource, ClosedFilter};
use hadal_store::run::RunOptions;
use hadal_store::shape::{RecordShape, Records};
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Reservation};
use hadal_system::Ascending;
use std::ops::Range;
use std::panic::resume_unwind;

/// Candidates from which on several threads look them up.
const WORTH_THREADS: usize = 1 << 12;

/// What asking a run for candidates came to.
struct Looked {
    earlier: u64,
    comparisons: u64,
    by_distance: Vec<Distance>,
}

/// In phases.
pub(crate) static PHASED: Detection = Detection {
    cache_share: CACHE_SHARE,
    payloads: Payloads::Merged,
    make: |making| {
        let (bytes, looking) = (making.share(PHASE_SHARE), making.strategy.looking());
        let detector = PhasedDetector::new(making.disk, making.options, bytes, looking)?;
        Ok(Box::new(PhasedDetector { threads: making.threads.max(1), ..detector }))
    },
};

pub(crate) struct PhasedDetector {
    candidates: Candidates,
    closed: ClosedSet,
    /// Candidates of a phase, ascending.
    phase: Vec<u64>,
    /// Words that they may take.
    most: usize,
    shape: RecordShape,
    disk: Disk,
    /// Threads that look candidates up.
    threads: usize,
    depth: u64,
    /// Where recent layers are looked at only.
    settling: Option<Settling>,
    _memory: Reservation,
}

impl PhasedDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        phase_bytes: u64,
        looking: Option<Looking>,
    ) -> Result<Self, Trouble> {
        let held = (disk.governor.limit() / 64).clamp(32 << 10, 32 << 20);
        let held_words = held as usize / 8;
        let shape = options.shape;
        let most = (phase_bytes as usize / 8 / shape.stride()).max(1) * shape.stride();
        Ok(PhasedDetector {
            candidates: Candidates::new(disk, options, held_words),
            closed: ClosedSet::new(disk, options, LevelPolicy::Merging { ratio: 3 }, held_words),
            phase: Vec::new(),
            most,
            shape,
            disk: disk.clone(),
            threads: 1,
            depth: 0,
            settling: looking.map(|looking| Settling::new(disk, options, looking)).transpose()?,
            // Small closed layers, the copy made when they grow, a batch of candidates, and a phase.
            _memory: disk.governor.try_reserve(3 * held + 8 * most as u64, "phases")?,
        })
    }

    /// Takes from the candidates of the phase what is closed in a layer from depth `since` on; the others go to the layer.
    async fn end_phase(
        &mut self,
        since: u64,
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let stride = self.shape.stride();
        let mut phase = std::mem::take(&mut self.phase);
        let candidates = Records::new(self.shape, &phase);
        let parts = if candidates.len() < WORTH_THREADS { 1 } else { self.threads };
        let each = candidates.len().div_ceil(parts).max(1);
        let mut present: Vec<Bitmap> = (0..candidates.len())
            .step_by(each)
            .map(|from| Bitmap::new(each.min(candidates.len() - from)))
            .collect();
        for run in self.closed.one_by_one(since) {
            for looked in self.look_up(run, candidates, each, &mut present) {
                let Looked { earlier, comparisons, by_distance } = looked?;
                found.earlier += earlier;
                found.work.comparisons += comparisons;
                for distance in by_distance {
                    distance.add_to(&mut found.by_distance);
                }
            }
            self.disk.rest().await?;
        }
        found.work.phases += 1;
        let mut kept = 0;
        for at in (0..phase.len() / stride).filter(|&at| !present[at / each].get(at % each)) {
            phase.copy_within(at * stride..(at + 1) * stride, kept);
            kept += stride;
        }
        layer.push_all(Ascending::new(stride, &phase[..kept]))?;
        phase.clear();
        self.phase = phase;
        Ok(())
    }

    /// Asks one run for the candidates, `each` of which so many are a thread's.
    fn look_up(
        &self,
        run: Range<usize>,
        candidates: Records<'_>,
        each: usize,
        present: &mut [Bitmap],
    ) -> Vec<Result<Looked, Trouble>> {
        let look = |(part, present): (usize, &mut Bitmap)| {
            let from = part * each;
            let candidates = candidates.slice(from..candidates.len().min(from + each));
            let mut pass = self.closed.filter_group(run.clone())?;
            let earlier = pass.mark(candidates, present)?;
            let mut by_distance = Vec::new();
            pass.by_distance(self.depth, &mut by_distance);
            Ok(Looked { earlier, comparisons: pass.comparisons(), by_distance })
        };
        if let [only] = present {
            return vec![look((0, only))];
        }
        std::thread::scope(|scope| {
            let look = &look;
            let parts = present.iter_mut().enumerate();
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
            // A thread that panics takes the search with it.
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }

    /// Goes through the candidates, phase by phase.
    async fn merge(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.candidates.reduce().await?;
        let none = Candidates::none(&self.candidates);
        let mut candidates = std::mem::replace(&mut self.candidates, none);
        let since = self.settling.as_mut().and_then(|settling| settling.since(candidates.states()));
        let mut found = Found { work: candidates.work(), ..Found::default() };
        let mut merge = candidates.merge()?;
        let mut block = Vec::new();
        self.phase.reserve_exact(self.most.min(candidates.states() as usize * self.shape.stride()));
        while merge.next_block(&mut block)? {
            let mut rest = &block[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(self.most - self.phase.len()));
                self.phase.extend_from_slice(now);
                rest = later;
                if self.phase.len() == self.most {
                    self.end_phase(since.unwrap_or(0), layer, &mut found).await?;
                }
            }
        }
        if !self.phase.is_empty() {
            self.end_phase(since.unwrap_or(0), layer, &mut found).await?;
        }
        found.within = merge.duplicates() + candidates.merged_away();
        found.work.comparisons += merge.comparisons();
        drop(merge);
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
