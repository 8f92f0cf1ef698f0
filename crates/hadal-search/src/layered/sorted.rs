//! The closed set on disk: candidates are sorted into runs, and at the end of the layer merged, made unique and freed of
//! closed states in one pass (delayed duplicate detection by sorting; Lamborn 2014, sec. 3.1 and 3.3.3).
//!
//! Closed states lie in [`Levels`], probed through their index where candidates are few. Small layers stay in RAM, merged
//! with each other, until they are worth a run: deep graphs would otherwise write thousands of tiny files.

use super::detector::{Detector, LayerView};
use super::journal::LayerWriter;
use super::{Partial, Trouble};
use hadal_store::error::{MergeError, ReadError, WriteError};
use hadal_store::levels::{LevelPolicy, Levels, LevelsFilter};
use hadal_store::merge::{
    BlockSource, ClosedFilter, MemorySource, MergeLimits, RecordSink, RunMerge, Subtracted, merge_unique,
    subtract_closed,
};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;
use hadal_store::{Bitmap, Reservation};
use hadal_system::state::compare;
use std::cmp::Ordering::Less;

pub(crate) struct SortedDetector {
    disk: Disk,
    options: RunOptions,
    levels: Levels,
    partial: Partial,
    /// States of recent small layers, ascending; not in `levels`.
    recent: Vec<u64>,
    /// One batch of candidates that needs no run.
    held: Vec<u64>,
    candidates: Vec<RunFile>,
    /// Words that `recent` and `held` may each take.
    most_held: usize,
    depth: u64,
    /// What became of the candidates of the last layer.
    pub(crate) last: Subtracted,
    _memory: Reservation,
}

impl SortedDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        policy: LevelPolicy,
        partial: Partial,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 32).clamp(128 << 10, 32 << 20);
        Ok(SortedDetector {
            disk: disk.clone(),
            options,
            levels: Levels::new(disk, options, policy),
            partial,
            recent: Vec::new(),
            held: Vec::new(),
            candidates: Vec::new(),
            most_held: (most / 8) as usize,
            depth: 0,
            last: Subtracted::default(),
            // `recent`, `held`, and the copy made when `recent` grows.
            _memory: disk.governor.try_reserve(3 * most, "recent layers")?,
        })
    }

    fn spill(&mut self, batch: &[u64]) -> Result<(), Trouble> {
        let mut run = RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?;
        run.push_all(Records::new(self.options.shape, batch))?;
        self.candidates.push(run.finish()?);
        Ok(())
    }

    /// Adds states to `recent`, or to the levels where they are too many.
    fn close_resident(&mut self, states: &[u64]) -> Result<(), Trouble> {
        if self.recent.len() + states.len() > self.most_held {
            let recent = std::mem::take(&mut self.recent);
            if !recent.is_empty() {
                self.levels.add_sorted(Records::new(self.options.shape, &recent))?;
            }
        }
        merge_into(&mut self.recent, states, self.options.shape.words());
        Ok(())
    }
}

impl Detector for SortedDetector {
    fn offer(&mut self, batch: &[u64]) -> Result<(), Trouble> {
        if self.held.is_empty() && batch.len() <= self.most_held {
            self.held.extend_from_slice(batch);
            return Ok(());
        }
        self.spill(batch)
    }

    fn finish_layer(&mut self, layer: &mut LayerWriter) -> Result<(), Trouble> {
        self.depth += 1;
        let shape = self.options.shape;
        let limits = MergeLimits::for_memory(&self.disk, &self.options);
        let mut runs = std::mem::take(&mut self.candidates);
        if runs.len() >= limits.fan_in {
            runs = vec![merge_unique(&self.disk, runs, RunKind::Candidates, &self.options, limits)?.0];
        }
        let mut sources: Vec<Box<dyn BlockSource + '_>> = Vec::new();
        for run in &runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        if !self.held.is_empty() {
            sources.push(Box::new(MemorySource::new(Records::new(shape, &self.held))));
        }
        let levels = match self.partial {
            Partial::Full => self.levels.filter()?,
            Partial::Recent(layers) => self.levels.filter_since(self.depth.saturating_sub(layers))?,
        };
        let mut closed = Closed { levels, recent: &self.recent, next: 0, words: shape.words() };
        self.last = subtract_closed(RunMerge::new(shape, sources), &mut closed, &mut Sink(layer))
            .map_err(Trouble::from)?;
        self.held.clear();
        Ok(())
    }

    fn closed(&mut self, layer: LayerView) -> Result<(), Trouble> {
        self.adopt(layer)
    }

    fn adopt(&mut self, layer: LayerView) -> Result<(), Trouble> {
        match layer {
            LayerView::Run(run) => Ok(self.levels.add_run(run.clone())?),
            LayerView::States(states) => self.close_resident(states),
        }
    }

    fn hand_over(self: Box<Self>, to: &mut dyn Detector) -> Result<(), Trouble> {
        if !self.held.is_empty() {
            to.offer(&self.held)?;
        }
        let mut block = Vec::new();
        for run in &self.candidates {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                to.offer(&block)?;
            }
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        "sorted runs"
    }
}

/// Closed states in the levels and in RAM.
struct Closed<'a> {
    levels: LevelsFilter,
    recent: &'a [u64],
    /// First word of `recent` not passed yet: candidates ascend.
    next: usize,
    words: usize,
}

impl ClosedFilter for Closed<'_> {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let mut found = 0;
        for at in 0..candidates.len() {
            let state = candidates.state(at);
            self.next += self.words * first_not_below(&self.recent[self.next..], self.words, state);
            if self.recent.get(self.next..self.next + self.words) == Some(state) {
                present.set(at);
                found += 1;
            }
        }
        Ok(found + self.levels.mark(candidates, present)?)
    }
}

/// How many states of the ascending `flat` lie before `state`: doubling steps, then halving, as it is usually near.
fn first_not_below(flat: &[u64], words: usize, state: &[u64]) -> usize {
    let count = flat.len() / words;
    let at = |n: usize| compare(&flat[n * words..(n + 1) * words], state);
    let mut high = 1;
    while high < count && at(high) == Less {
        high *= 2;
    }
    let (mut low, mut high) = (high / 2, high.min(count));
    while low < high {
        let middle = low + (high - low) / 2;
        match at(middle) {
            Less => low = middle + 1,
            _ => high = middle,
        }
    }
    low
}

/// Merges two ascending lists of states without common members.
fn merge_into(into: &mut Vec<u64>, other: &[u64], words: usize) {
    let mut a = into.len();
    let mut b = other.len();
    into.resize(a + b, 0);
    let mut end = a + b;
    // From the back, so that nothing is overwritten before it is moved.
    while b > 0 {
        let take_other = a == 0 || compare(&into[a - words..a], &other[b - words..b]) == Less;
        end -= words;
        if take_other {
            into[end..end + words].copy_from_slice(&other[b - words..b]);
            b -= words;
        } else {
            into.copy_within(a - words..a, end);
            a -= words;
        }
    }
}

struct Sink<'a>(&'a mut LayerWriter);

impl RecordSink for Sink<'_> {
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        self.0.write(records.flat())
    }
}

impl From<MergeError> for Trouble {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Read(error) => error.into(),
            MergeError::Write(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_every_state_in_order() {
        let mut into = vec![2, 5, 9];
        merge_into(&mut into, &[1, 6, 10, 11], 1);
        assert_eq!(into, [1, 2, 5, 6, 9, 10, 11]);
        let mut wide = vec![7, 1, 0, 3];
        merge_into(&mut wide, &[1, 2], 2);
        assert_eq!(wide, [7, 1, 1, 2, 0, 3]);
        let mut empty = Vec::new();
        merge_into(&mut empty, &[4, 8], 1);
        assert_eq!(empty, [4, 8]);
    }

    #[test]
    fn the_first_not_below_is_found_at_every_place() {
        let flat: Vec<u64> = (0..40).map(|n| 2 * n + 1).collect();
        for state in 0..90 {
            let expected = flat.iter().filter(|&&x| x < state).count();
            assert_eq!(first_not_below(&flat, 1, &[state]), expected, "{state}");
        }
        assert_eq!(first_not_below(&[], 1, &[3]), 0);
    }
}
