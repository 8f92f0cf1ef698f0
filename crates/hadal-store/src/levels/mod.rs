//! The closed set on disk: sorted runs that merge as they grow, asked in batches.
//!
//! The levels policy is a log-structured merge with one run per level: a run is merged with the larger one before
//! it as soon as that is less than `ratio` times its size, so there are logarithmically many runs and every state is
//! rewritten logarithmically often. The two layouts of Lamborn 2014, sec. 3.2.1 (one file; one file per layer) are
//! policies too. What merges runs rests between two blocks ([`crate::vfs::at_once`] where nobody takes turns).

mod filter;

use std::sync::Arc;

pub use filter::{LevelCount, LevelsFilter};

use crate::bitmap::Bitmap;
use crate::error::{MergeError, ReadError};
use crate::merge::{BlockSource, ClosedFilter, MergeLimits, RunMerge, merge_unique};
use crate::run::{BlockIndex, RunFile, RunKind, RunOptions, RunReader, RunWriter};
use crate::shape::Records;
use crate::vfs::Disk;

/// When runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPolicy {
    /// Each run stays at least `ratio` (2 or more) times as large as the next newer one.
    Merging {
        /// How much larger.
        ratio: u64,
    },
    /// Everything is always in one run.
    SingleFile,
    /// Every addition stays a run of its own.
    FilePerLayer,
}

/// A run of the set, newest additions last.
struct Level {
    run: RunFile,
    /// Additions (layers) it holds, first and last, counted from 0.
    layers: (u64, u64),
    /// Loaded when first needed; `None` also when it did not fit the budget.
    index: Option<Arc<BlockIndex>>,
}

/// What a manifest must keep of a level to open it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelEntry {
    /// Name of the run.
    pub name: String,
    /// First and last layer in it.
    pub layers: (u64, u64),
}

/// An exact set of states on disk.
pub struct Levels {
    disk: Disk,
    options: RunOptions,
    policy: LevelPolicy,
    levels: Vec<Level>,
    next_layer: u64,
}

impl Levels {
    /// An empty set.
    pub fn new(disk: &Disk, options: RunOptions, policy: LevelPolicy) -> Self {
        Levels { disk: disk.clone(), options, policy, levels: Vec::new(), next_layer: 0 }
    }

    /// The set that `entries` (of [`Levels::entries`]) describe.
    pub fn open(
        disk: &Disk,
        options: RunOptions,
        policy: LevelPolicy,
        entries: &[LevelEntry],
    ) -> Result<Self, ReadError> {
        let mut set = Levels::new(disk, options, policy);
        for entry in entries {
            let run = RunFile::open(disk, &entry.name, &options)?;
            set.levels.push(Level { run, layers: entry.layers, index: None });
            set.next_layer = entry.layers.1 + 1;
        }
        set.load_indexes()?;
        Ok(set)
    }

    /// What to keep in a manifest.
    pub fn entries(&self) -> Vec<LevelEntry> {
        let entry = |level: &Level| LevelEntry { name: level.run.name().to_owned(), layers: level.layers };
        self.levels.iter().map(entry).collect()
    }

    /// The runs, oldest additions first.
    pub fn runs(&self) -> impl Iterator<Item = &RunFile> {
        self.levels.iter().map(|level| &level.run)
    }

    /// First and last layer of each run, oldest additions first.
    pub fn layers(&self) -> impl Iterator<Item = (u64, u64)> {
        self.levels.iter().map(|level| level.layers)
    }

    /// A reader of a run, counted from the oldest, from the block on that may hold `state`.
    pub fn reader_from(&self, run: usize, state: &[u64]) -> Result<RunReader, ReadError> {
        let level = &self.levels[run];
        match &level.index {
            Some(index) => RunReader::open_at(&level.run, index, index.block_before(state)),
            None => RunReader::open(&level.run),
        }
    }

    /// States in the set.
    pub fn records(&self) -> u64 {
        self.runs().map(RunFile::records).sum()
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.runs().map(RunFile::bytes).sum()
    }

    /// Adds strictly ascending records, none of whose states is in the set.
    pub async fn add_sorted(&mut self, records: Records<'_>) -> Result<(), MergeError> {
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        writer.push_all(records)?;
        self.add_run(writer.finish()?).await
    }

    /// Adds a whole run, none of whose states is in the set.
    ///
    /// On failure the run is in the set but not merged yet: the set is complete and the merge is tried again with
    /// the next addition.
    pub async fn add_run(&mut self, run: RunFile) -> Result<(), MergeError> {
        let layer = self.next_layer;
        self.next_layer += 1;
        if run.records() > 0 || self.policy == LevelPolicy::FilePerLayer {
            self.levels.push(Level { run, layers: (layer, layer), index: None });
        }
        self.merge_from(self.first_to_merge()).await?;
        Ok(self.load_indexes()?)
    }

    /// Merges everything into one run.
    pub async fn compact(&mut self) -> Result<(), MergeError> {
        self.merge_from(0).await?;
        Ok(self.load_indexes()?)
    }

    /// Forgets the layers before `layer`, as far as they are in runs of their own. Returns the states forgotten.
    pub fn drop_layers_before(&mut self, layer: u64) -> u64 {
        let before = self.records();
        self.levels.retain(|level| level.layers.1 >= layer);
        before - self.records()
    }

    /// A pass over ascending candidates, batch after batch.
    pub fn filter(&self) -> Result<LevelsFilter, ReadError> {
        LevelsFilter::open(&self.levels, |_| true)
    }

    /// A pass that asks only some runs, by their first and last layer (partial duplicate detection).
    pub fn filter_where(&self, asked: impl Fn((u64, u64)) -> bool) -> Result<LevelsFilter, ReadError> {
        LevelsFilter::open(&self.levels, asked)
    }

    /// A pass that asks only these runs, counted from the oldest.
    pub fn filter_runs(&self, runs: std::ops::Range<usize>) -> Result<LevelsFilter, ReadError> {
        LevelsFilter::open(&self.levels[runs], |_| true)
    }

    /// Sets the bit of each of the strictly ascending candidates that is in the set; returns how many are.
    pub fn filter_sorted(&self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        self.filter()?.mark(candidates, present)
    }

    /// Whether `state` is in the set.
    pub fn contains(&self, state: &[u64]) -> Result<bool, ReadError> {
        let shape = crate::shape::RecordShape::states(self.options.shape.words());
        Ok(self.filter_sorted(Records::new(shape, state), &mut Bitmap::new(1))? == 1)
    }

    /// All records, ascending.
    pub fn scan(&self) -> Result<impl BlockSource + use<>, ReadError> {
        let runs: Vec<RunFile> = self.runs().cloned().collect();
        RunMerge::of_runs(self.options.shape, &runs)
    }

    /// The levels from the returned one on are to become one.
    fn first_to_merge(&self) -> usize {
        let newest = self.levels.len().saturating_sub(1);
        match self.policy {
            LevelPolicy::FilePerLayer => newest,
            LevelPolicy::SingleFile => 0,
            LevelPolicy::Merging { ratio } => {
                let mut first = newest;
                let mut total = self.levels.last().map_or(0, |level| level.run.records());
                while first > 0 && self.levels[first - 1].run.records() < total.saturating_mul(ratio.max(2)) {
                    first -= 1;
                    total += self.levels[first].run.records();
                }
                first
            }
        }
    }

    async fn merge_from(&mut self, first: usize) -> Result<(), MergeError> {
        if self.levels.len() < first + 2 {
            return Ok(());
        }
        // Indexes of runs about to go would only take memory from the merge.
        for level in &mut self.levels[first..] {
            level.index = None;
        }
        let runs: Vec<RunFile> = self.runs().skip(first).cloned().collect();
        let limits = MergeLimits::for_memory(&self.disk, &self.options);
        let (run, _) = merge_unique(&self.disk, runs, RunKind::Closed, &self.options, limits).await?;
        let layers = (self.levels[first].layers.0, self.levels[self.levels.len() - 1].layers.1);
        self.levels.truncate(first);
        self.levels.push(Level { run, layers, index: None });
        Ok(())
    }

    /// Loads the indexes that are missing; one that does not fit the budget is left out and its run scanned.
    fn load_indexes(&mut self) -> Result<(), ReadError> {
        for level in self.levels.iter_mut().filter(|level| level.index.is_none()) {
            match BlockIndex::load(&level.run) {
                Ok(index) => level.index = Some(Arc::new(index)),
                Err(ReadError::OverBudget(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
