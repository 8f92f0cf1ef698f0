//! Duplicate detection by sorting: candidates are sorted into runs, and at the end of the layer merged, made unique and
//! freed of closed states in one pass (Lamborn 2014, sec. 3.1 and 3.3.3).

use super::Trouble;
use super::candidates::Candidates;
use super::closed_set::ClosedSet;
use super::detection::{CACHE_SHARE, Detection, Payloads};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::screen::Screen;
use crate::report::DetectionWork;
use hadal_store::Reservation;
use hadal_store::error::WriteError;
use hadal_store::levels::LevelPolicy;
use hadal_store::merge::{
    MemorySource, MergeInputs, RecordSink, RunMerge, subtract_closed, subtract_together,
};
use hadal_store::run::{RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::vfs::{Disk, at_once};
use hadal_system::Ascending;
use std::future::ready;
use std::ops::Range;

/// Whether intra- and interlayer detection share one merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    /// One pass does both.
    Combined,
    /// The first pass writes distinct candidates, the second compares them with the closed set.
    Separate,
}

/// When candidates are compared with the closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    /// Once, at the end of a layer.
    PerLayer,
    /// Whenever memory is full (Stern and Dill 1998).
    PerBatch,
}

/// How candidates and closed states are laid out and merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sorting {
    pub(crate) closed: LevelPolicy,
    pub(crate) merging: Merging,
    pub(crate) passes: Passes,
    /// Whether even the smallest layers have a file each, so that each can be deleted.
    pub(crate) layers_apart: bool,
}

impl Sorting {
    /// Levels that merge as they grow, one pass a layer.
    pub(crate) const LEVELS: Sorting = Sorting {
        closed: LevelPolicy::Merging { ratio: 3 },
        merging: Merging::Combined,
        passes: Passes::PerLayer,
        layers_apart: false,
    };
}

/// By sorting, laid out and merged in this way.
macro_rules! by_sorting {
    ($(#[$doc:meta])* $name:ident, $sorting:expr) => {
        $(#[$doc])*
        pub(crate) static $name: Detection = Detection {
            cache_share: CACHE_SHARE,
            payloads: Payloads::Merged,
            make: |making| Ok(Box::new(SortedDetector::new(making.disk, making.options, $sorting)?)),
        };
    };
}

by_sorting! {
    /// Closed states in levels that merge as they grow.
    SORT, Sorting::LEVELS
}
by_sorting! {
    /// Closed states in one file that is rewritten with each layer.
    SORT_SINGLE_FILE, Sorting { closed: LevelPolicy::SingleFile, ..Sorting::LEVELS }
}
by_sorting! {
    /// Closed states in one file per layer.
    SORT_FILE_PER_LAYER, Sorting { closed: LevelPolicy::FilePerLayer, ..Sorting::LEVELS }
}
by_sorting! {
    /// Closed states in one file per layer, also of the smallest, which go with their layer.
    LAYERED, Sorting { closed: LevelPolicy::FilePerLayer, layers_apart: true, ..Sorting::LEVELS }
}
by_sorting! {
    /// In a first pass the candidates alone, in a second against the closed states.
    SORT_SEPARATE, Sorting { merging: Merging::Separate, ..Sorting::LEVELS }
}
by_sorting! {
    /// Against all closed states whenever memory is full.
    SORT_PER_BATCH, Sorting { passes: Passes::PerBatch, ..Sorting::LEVELS }
}

pub(crate) struct SortedDetector {
    closed: ClosedSet,
    candidates: Candidates,
    sorting: Sorting,
    disk: Disk,
    options: RunOptions,
    /// Depth of the layer being found.
    depth: u64,
    /// What earlier passes found.
    found: Found,
    /// In front of the closed set, of at most so many bytes.
    screen: Option<Screen>,
    screen_bytes: u64,
    _memory: Reservation,
}

impl SortedDetector {
    pub(crate) fn new(disk: &Disk, options: RunOptions, sorting: Sorting) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 64).clamp(32 << 10, 32 << 20);
        let most_words = most as usize / 8;
        let closed = ClosedSet::new(disk, options, sorting.closed, most_words);
        let closed = match sorting {
            Sorting { layers_apart: true, .. } => closed.layer_by_layer(),
            Sorting { closed: LevelPolicy::FilePerLayer, passes: Passes::PerLayer, .. } => closed.apart(),
            _ => closed,
        };
        Ok(SortedDetector {
            closed,
            candidates: Candidates::new(disk, options, most_words),
            sorting,
            disk: disk.clone(),
            options,
            depth: 0,
            found: Found::default(),
            screen: None,
            screen_bytes: 0,
            // Small closed layers, the copy made when they grow, and one batch of candidates.
            _memory: disk.governor.try_reserve(3 * most, "recent layers")?,
        })
    }

    /// The same with a filter of at most `bytes` in front of the closed set, where one pass a layer is made.
    pub(crate) fn screened(self, bytes: u64) -> Self {
        SortedDetector { screen_bytes: bytes, ..self }
    }

    /// Frees a batch of closed states.
    async fn compare(&mut self, batch: Ascending<'_>) -> Result<(), Trouble> {
        let shape = self.options.shape;
        let merge =
            RunMerge::new(shape, vec![Box::new(MemorySource::new(Records::new(shape, batch.flat())))]);
        let mut run = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
        let mut pass = self.closed.filter(0)?;
        let done = subtract_closed(&self.disk, merge, &mut pass, &mut run).await?;
        self.found.earlier += done.duplicates_closed;
        self.found.work.comparisons += done.comparisons;
        pass.by_distance(self.depth, &mut self.found.by_distance);
        self.candidates.add_run(run.finish()?);
        Ok(())
    }

    /// Merges the candidates, frees them of closed states and writes the rest.
    async fn merge(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        match self.sorting.merging {
            Merging::Combined => self.candidates.reduce().await?,
            Merging::Separate => self.candidates.unite().await?,
        }
        self.see_to_screen()?;
        let mut found = std::mem::take(&mut self.found);
        found.work = DetectionWork { comparisons: found.work.comparisons, ..self.candidates.work() };
        let mut groups = match self.sorting.passes {
            Passes::PerLayer => self.closed.groups(),
            // All was asked before.
            Passes::PerBatch => Vec::new(),
        };
        let last = groups.pop();
        let mut inputs = self.candidates.inputs();
        for group in groups {
            // More runs than can be open at once: what these do not have is compared with the next.
            let mut left = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
            self.subtract(&inputs, (Some(group), None), &mut left, &mut found).await?;
            found.work.passes += 1;
            inputs = MergeInputs::of_runs(vec![left.finish()?]);
        }
        self.subtract(&inputs, (last, self.screen.as_ref()), &mut Sink(layer), &mut found).await?;
        found.within += self.candidates.merged_away();
        self.candidates.clear();
        Ok(found)
    }

    /// Frees candidates of the states in one of the groups of closed runs, or of small layers only, on all threads. Those that
    /// the filter, where one is given, calls new are not looked for.
    async fn subtract(
        &self,
        inputs: &MergeInputs<'_>,
        (group, screen): (Option<Range<usize>>, Option<&Screen>),
        fresh: &mut dyn RecordSink,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let (disk, shape) = (&self.disk, self.options.shape);
        let make = || match &group {
            Some(group) => self.closed.filter_group(group.clone()),
            None => self.closed.filter(u64::MAX),
        };
        let first = make()?;
        let (threads, beside) = (first.threads(disk.workers(), disk.governor.available()), first.footprint());
        let mut passes = vec![first];
        for _ in 1..threads {
            passes.push(make()?);
        }
        let done = match screen {
            Some(screen) => {
                let mut screened: Vec<_> = passes.iter_mut().map(|pass| screen.over(pass)).collect();
                subtract_together(disk, (inputs, shape), (&mut screened, beside), fresh).await?
            }
            None => subtract_together(disk, (inputs, shape), (&mut passes, beside), fresh).await?,
        };
        found.within += done.duplicates_within;
        found.earlier += done.duplicates_closed;
        found.work.comparisons += done.comparisons;
        passes.iter().for_each(|pass| pass.by_distance(self.depth, &mut found.by_distance));
        Ok(())
    }

    /// Makes the filter, or gives it up.
    fn see_to_screen(&mut self) -> Result<(), Trouble> {
        if self.screen_bytes == 0 || self.sorting.passes == Passes::PerBatch {
            return Ok(());
        }
        match &self.screen {
            Some(screen) if screen.is_worn() || self.is_short() => {
                (self.screen, self.screen_bytes) = (None, 0)
            }
            Some(_) => {}
            None => {
                let most = self.disk.governor.available().saturating_sub(self.merging_bytes());
                let bytes = self.screen_bytes.min(most);
                self.screen = Screen::of(&self.closed, bytes, &self.disk.governor)?;
            }
        }
        Ok(())
    }

    /// Whether merging lacks memory, or may soon.
    fn is_short(&self) -> bool {
        let governor = &self.disk.governor;
        governor.available() < self.merging_bytes().max(governor.limit() / 8)
    }

    /// What merging the candidates, asking the closed set and writing a layer take.
    fn merging_bytes(&self) -> u64 {
        let asked = self.closed.groups().iter().map(Range::len).max().unwrap_or(0);
        // A writer takes a little more than a reader.
        let open = self.candidates.runs() + asked + 2;
        open as u64 * RunReader::footprint(&self.options)
    }
}

impl Detector for SortedDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        at_once(self.take(batch))
    }

    fn take<'s>(&'s mut self, batch: Ascending<'s>) -> Rests<'s, ()> {
        match self.sorting.passes {
            Passes::PerLayer => Box::pin(ready(self.candidates.add(batch))),
            Passes::PerBatch => Box::pin(self.compare(batch)),
        }
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.merge(layer))
    }

    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.depth = depth + 1;
        Box::pin(self.closed.add(depth, layer))
    }

    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        // A filter made before does not know these states, and would call them new.
        self.screen = None;
        self.depth = depth + 1;
        Box::pin(self.closed.add(depth, layer))
    }

    fn forget_before(&mut self, depth: u64) {
        self.closed.forget_before(depth);
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(self.candidates.hand_over(to))
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
