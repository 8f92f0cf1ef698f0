//! Closed layers on disk: runs in [`Levels`], probed through their index where candidates are few.
//!
//! Small layers stay in RAM, merged with each other, until they are worth a run: deep graphs would otherwise write
//! thousands of tiny files. Each run knows which depths it holds, so duplicates are counted by how far back they lie.

use super::Trouble;
use super::detector::LayerView;
use crate::report::Distance;
use hadal_store::Bitmap;
use hadal_store::error::ReadError;
use hadal_store::levels::{LevelPolicy, Levels, LevelsFilter};
use hadal_store::merge::ClosedFilter;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::dedupe_sorted;
use hadal_store::vfs::Disk;
use hadal_system::state::compare;
use std::cmp::Ordering::Less;
use std::ops::Range;

/// Takes closed records with the first and last depth that they may be of.
pub(crate) type TakesClosed<'t> = dyn FnMut((u64, u64), &[u64]) -> Result<(), Trouble> + 't;

/// Words of small layers that share a file where each layer should have its own, once there are so many files.
const APART: usize = 256;
const ALONE: usize = 128;

pub(crate) struct ClosedSet {
    levels: Levels,
    /// First and last depth of each addition to the levels.
    additions: Vec<(u64, u64)>,
    /// States of recent small layers, ascending; not in `levels`.
    recent: Vec<u64>,
    recent_depths: (u64, u64),
    /// Words that `recent` may take.
    most_recent: usize,
    most_runs: usize,
    /// Whether runs are merged where there are more than can be open at once; else they are asked in groups.
    merges: bool,
    options: RunOptions,
}

impl ClosedSet {
    /// An empty set; small layers take up to `most_recent` words of RAM (the caller reserves twice as many: they are
    /// copied as they grow).
    pub(crate) fn new(disk: &Disk, options: RunOptions, policy: LevelPolicy, most_recent: usize) -> Self {
        let levels = Levels::new(disk, options, policy);
        let most_recent = match policy {
            LevelPolicy::FilePerLayer => most_recent.min(APART),
            _ => most_recent,
        };
        let (additions, recent) = (Vec::new(), Vec::new());
        // Asking a run takes about two readers' memory.
        let open = disk.governor.limit() / 10 / RunReader::footprint(&options).max(1);
        let most_runs = (open as usize).clamp(4, 512);
        ClosedSet {
            levels,
            additions,
            recent,
            recent_depths: (0, 0),
            most_recent,
            most_runs,
            merges: true,
            options,
        }
    }

    /// The same whose runs stay apart, however many there are: [`ClosedSet::groups`] of them are asked one after the other.
    pub(crate) fn apart(self) -> Self {
        ClosedSet { merges: false, ..self }
    }

    /// The same in which no two layers share a run, however small they are, so that each can be forgotten by itself.
    pub(crate) fn layer_by_layer(self) -> Self {
        ClosedSet { most_recent: 0, ..self.apart() }
    }

    /// Adds a layer, or an ascending part of one, none of whose states is in the set.
    pub(crate) async fn add(&mut self, depth: u64, layer: LayerView<'_>) -> Result<(), Trouble> {
        self.add_between((depth, depth), layer).await
    }

    /// As [`ClosedSet::add`], of states of layers from the first to the last of `depths`.
    pub(crate) async fn add_between(
        &mut self,
        depths: (u64, u64),
        layer: LayerView<'_>,
    ) -> Result<(), Trouble> {
        match layer {
            LayerView::Run(run) => {
                self.flush().await?;
                let run = askable(run, &self.options).await?;
                self.additions.push(depths);
                self.levels.add_run(run).await?;
                self.limit_runs().await
            }
            LayerView::States(states) => {
                let states = states.flat();
                let alone = !self.merges && depths != self.recent_depths;
                if self.recent.len() + states.len() > self.most_recent
                    || (alone && self.levels.runs().count() < ALONE)
                {
                    self.flush().await?;
                }
                let (first, last) = if self.recent.is_empty() { depths } else { self.recent_depths };
                self.recent_depths = (first.min(depths.0), last.max(depths.1));
                merge_into(&mut self.recent, states, self.options.shape.stride());
                Ok(())
            }
        }
    }

    /// Moves the small layers to a run.
    async fn flush(&mut self) -> Result<(), Trouble> {
        let mut recent = std::mem::take(&mut self.recent);
        if !recent.is_empty() {
            // Layers found by partial detection may share states.
            dedupe_sorted(self.options.shape, &mut recent);
            self.additions.push(self.recent_depths);
            self.levels.add_sorted(Records::new(self.options.shape, &recent)).await?;
        }
        self.limit_runs().await
    }

    /// Merges the runs when there are more than can be open at once.
    async fn limit_runs(&mut self) -> Result<(), Trouble> {
        if self.merges && self.levels.runs().count() > self.most_runs {
            self.levels.compact().await?;
        }
        Ok(())
    }

    /// The runs that can be asked at once, the newest first; at least one group, which may be empty.
    pub(crate) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut end = self.levels.runs().count();
        while end > 0 {
            let begin = end.saturating_sub(self.most_runs);
            groups.push(begin..end);
            end = begin;
        }
        if groups.is_empty() {
            groups.push(0..0);
        }
        groups
    }

    /// The runs one by one, the newest first, as [`ClosedSet::groups`]; only those with a layer from depth `since` on.
    pub(crate) fn one_by_one(&self, since: u64) -> Vec<Range<usize>> {
        let runs: Vec<(u64, u64)> = self.levels.layers().map(|layers| self.depths(layers)).collect();
        let asked = (0..runs.len()).rev().filter(|&n| n + 1 == runs.len() || runs[n].1 >= since);
        let mut groups: Vec<Range<usize>> = asked.map(|n| n..n + 1).collect();
        if groups.is_empty() {
            groups.push(0..0);
        }
        groups
    }

    /// First and last depth of what was added from one time to another.
    fn depths(&self, (first, last): (u64, u64)) -> (u64, u64) {
        let added = &self.additions[first as usize..=last as usize];
        let oldest = added.iter().map(|depths| depths.0).min().unwrap_or(0);
        (oldest, added.iter().map(|depths| depths.1).max().unwrap_or(0))
    }

    /// Shows `take` the records from state `from` to state `to`, in pieces with their first and last depth.
    pub(crate) async fn each_between(
        &self,
        (from, to): (&[u64], &[u64]),
        take: &mut TakesClosed<'_>,
    ) -> Result<(), Trouble> {
        let shape = self.options.shape;
        let inside = |flat: &[u64]| {
            let begin = first_not_below(flat, shape, from) * shape.stride();
            let mut end = begin + first_not_below(&flat[begin..], shape, to) * shape.stride();
            if flat.get(end..end + shape.stride()).is_some_and(|record| shape.state(record) == to) {
                end += shape.stride();
            }
            begin..end
        };
        take(self.recent_depths, &self.recent[inside(&self.recent)])?;
        let mut block = Vec::new();
        for (n, (run, layers)) in self.levels.runs().zip(self.levels.layers()).enumerate() {
            let depths = self.depths(layers);
            let mut reader = self.levels.reader_from(n, from)?;
            while reader.next_block(&mut block)? {
                let inside = inside(&block);
                let ends = inside.end < block.len();
                take(depths, &block[inside])?;
                if ends {
                    break;
                }
                run.disk().rest().await?;
            }
        }
        Ok(())
    }

    /// A pass that asks the runs of one of the groups; with the newest, small layers in RAM as well.
    pub(crate) fn filter_group(&self, group: Range<usize>) -> Result<ClosedPass<'_>, Trouble> {
        let next = if group.end == self.levels.runs().count() { 0 } else { self.recent.len() };
        Ok(ClosedPass {
            levels: self.levels.filter_runs(group)?,
            set: self,
            next,
            found_recent: 0,
            compared: 0,
        })
    }

    /// States on disk.
    pub(crate) fn records(&self) -> u64 {
        self.levels.records()
    }

    /// States in the set; those of layers found by partial detection may count twice.
    pub(crate) fn states(&self) -> u64 {
        self.records() + (self.recent.len() / self.options.shape.stride()) as u64
    }

    /// Calls `take` with each state of the set.
    pub(crate) fn each(&self, take: &mut dyn FnMut(&[u64])) -> Result<(), Trouble> {
        let shape = self.options.shape;
        let mut show = |records: &[u64]| {
            records.chunks_exact(shape.stride()).for_each(|record| take(shape.state(record)));
        };
        show(&self.recent);
        let mut block = Vec::new();
        for run in self.levels.runs() {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                show(&block);
            }
        }
        Ok(())
    }

    /// A pass that asks the layers from depth `since` on, and others that share a run with them.
    pub(crate) fn filter(&self, since: u64) -> Result<ClosedPass<'_>, Trouble> {
        self.filter_where(|(_, last)| last >= since)
    }

    /// The same of runs that are asked, by the first and last depth of their layers; recent small layers are always asked.
    pub(crate) fn filter_where(&self, asked: impl Fn((u64, u64)) -> bool) -> Result<ClosedPass<'_>, Trouble> {
        Ok(ClosedPass {
            levels: self.levels.filter_where(|layers| asked(self.depths(layers)))?,
            set: self,
            next: 0,
            found_recent: 0,
            compared: 0,
        })
    }

    /// Forgets what lies only in layers before `depth`.
    pub(crate) fn forget_before(&mut self, depth: u64) {
        self.levels.drop_layers_before(self.additions.partition_point(|&(_, last)| last < depth) as u64);
    }
}

/// The run, or a copy where its blocks are made to be streamed only.
pub(super) async fn askable(run: &RunFile, options: &RunOptions) -> Result<RunFile, Trouble> {
    if run.options().codec == options.codec {
        return Ok(run.clone());
    }
    let mut reader = RunReader::open(run)?;
    let mut copy = RunWriter::create(run.disk(), RunKind::Closed, options)?;
    let mut block = Vec::new();
    while reader.next_block(&mut block)? {
        copy.push_all(Records::new(options.shape, &block))?;
        run.disk().rest().await?;
    }
    Ok(copy.finish()?)
}

/// One pass over the set for ascending candidates.
pub(crate) struct ClosedPass<'a> {
    levels: LevelsFilter,
    set: &'a ClosedSet,
    /// First word of `recent` not passed yet.
    next: usize,
    found_recent: u64,
    compared: u64,
}

impl ClosedPass<'_> {
    /// How many of `most` threads can ask at once with a pass each: one where a run has to be read from its beginning, else as
    /// many as `available` bytes have room for.
    pub(crate) fn threads(&self, most: usize, available: u64) -> usize {
        match self.levels.is_indexed() {
            true => (available / 2 / self.footprint().max(1)).clamp(1, most.max(1) as u64) as usize,
            false => 1,
        }
    }

    /// Bytes of memory that it takes, at most.
    pub(crate) fn footprint(&self) -> u64 {
        self.levels.footprint()
    }

    /// What was found, by how far before the layer at `depth`.
    pub(crate) fn by_distance(&self, depth: u64, into: &mut Vec<Distance>) {
        let mut note = |depths, found| {
            if found > 0 {
                Distance::between(depth, depths, found).add_to(into);
            }
        };
        note(self.set.recent_depths, self.found_recent);
        for count in self.levels.found_by_level() {
            note(self.set.depths(count.layers), count.found);
        }
    }
}

impl ClosedFilter for ClosedPass<'_> {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let (recent, shape) = (&self.set.recent, self.set.options.shape);
        let mut found = 0;
        for at in 0..candidates.len() {
            let state = candidates.state(at);
            self.compared += 1;
            self.next += shape.stride() * first_not_below(&recent[self.next..], shape, state);
            let found_here =
                recent.get(self.next..self.next + shape.stride()).map(|record| shape.state(record));
            if !present.get(at) && found_here == Some(state) {
                present.set(at);
                found += 1;
            }
        }
        self.found_recent += found;
        Ok(found + self.levels.mark(candidates, present)?)
    }

    /// Without those that find the place among the small layers in RAM.
    fn comparisons(&self) -> u64 {
        self.compared + self.levels.comparisons()
    }
}

/// How many records of the ascending `flat` lie before `state`: doubling steps, then halving, as it is usually near.
fn first_not_below(flat: &[u64], shape: RecordShape, state: &[u64]) -> usize {
    let stride = shape.stride();
    let count = flat.len() / stride;
    let at = |n: usize| compare(shape.state(&flat[n * stride..(n + 1) * stride]), state);
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

/// Merges two ascending lists of records of so many words.
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
            assert_eq!(first_not_below(&flat, RecordShape::states(1), &[state]), expected, "{state}");
        }
        assert_eq!(first_not_below(&[], RecordShape::states(1), &[3]), 0);
    }
}
