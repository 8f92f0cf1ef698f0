//! [`ClosedDiagram`]: the closed set of a run, for one thread or several.
//!
//! With several threads the set is cut into shards by ranges of states, at medians of what is in them,
//! and cut again where most candidates fall. The cuts decide who works on what; the sets, the order of
//! enumeration and every answer are the same for any number of threads.

use std::sync::Mutex;

use crate::{Bitmap, Governor, OverBudget};

use super::core::Statistics;
use super::enumerate::Enumerator;
use super::levels::{Levels, LevelsError};
use super::shard::{Keep, Set, Shard, first_not_below};

/// Why a closed set could not be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// States of that shape do not fit a diagram.
    #[error(transparent)]
    Levels(#[from] LevelsError),
    /// Not even an empty diagram fits the budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// Bits of the state that a level takes unless told otherwise.
const LEVEL_BITS: usize = 8;
/// Shards with fewer states are not worth splitting.
const MIN_SPLIT_STATES: u64 = 1 << 16;
/// Batches with fewer states are not worth waking threads.
const MIN_PARALLEL_STATES: usize = 1 << 12;
/// The most shards, for each thread.
const SHARDS_PER_THREAD: usize = 4;

/// An exact set of states in RAM, with the frontier and the next layer of a search beside it.
pub struct ClosedDiagram {
    pub(super) levels: Levels,
    governor: Governor,
    threads: usize,
    /// Ascending ranges; `firsts[i]` is the smallest state that belongs to shard `i + 1`.
    pub(super) shards: Vec<Shard>,
    pub(super) firsts: Vec<Vec<u64>>,
}

impl ClosedDiagram {
    /// An empty set of states of `words` words with `bits` used bits. `governor` bounds all its memory.
    pub fn new(words: usize, bits: usize, governor: &Governor) -> Result<Self, SetupError> {
        Ok(Self::with_levels(Self::usual_levels(words, bits)?, governor)?)
    }

    /// How [`ClosedDiagram::new`] cuts such states.
    pub fn usual_levels(words: usize, bits: usize) -> Result<Levels, LevelsError> {
        Levels::even(words, bits, LEVEL_BITS)
    }

    /// An empty set over states cut by `levels`.
    pub fn with_levels(levels: Levels, governor: &Governor) -> Result<Self, OverBudget> {
        let shard = Shard::new(levels.clone(), governor)?;
        Ok(Self::from_shards(levels, governor, vec![shard], Vec::new()))
    }

    pub(super) fn from_shards(
        levels: Levels,
        governor: &Governor,
        shards: Vec<Shard>,
        firsts: Vec<Vec<u64>>,
    ) -> Self {
        ClosedDiagram { levels, governor: governor.clone(), threads: 1, shards, firsts }
    }

    /// Uses up to `threads` threads from now on.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Adds the ascending, distinct states of `batch`; marks in `fresh` those that were not there, and
    /// returns their number.
    ///
    /// On [`OverBudget`] nothing was added, and the set can be streamed out (see
    /// [`ClosedDiagram::release_tables`]).
    pub fn filter_add(&mut self, batch: &[u64], keep: Keep, fresh: &mut Bitmap) -> Result<usize, OverBudget> {
        let words = self.levels.words();
        fresh.reset(batch.len() / words);
        if self.threads > 1 {
            self.split_busiest();
        }
        let cuts = self.cut(batch);
        if let Err(over) = self.stage(batch, &cuts, keep) {
            self.shards.iter_mut().for_each(Shard::unstage);
            if self.shards.len() == 1 {
                return Err(over);
            }
            // One shard may starve on the garbage and spare room of the others.
            self.shards.iter_mut().for_each(|shard| shard.diagram.trim());
            if let Err(over) = self.stage_in_turn(batch, &cuts, keep) {
                self.shards.iter_mut().for_each(Shard::unstage);
                return Err(over);
            }
        }
        let mut added = 0;
        for (shard, range) in self.shards.iter_mut().zip(&cuts) {
            if !range.is_empty() {
                shard.fresh.ones().for_each(|at| fresh.set(range.start + at));
                added += shard.commit();
            }
        }
        Ok(added)
    }

    /// Marks in `present` the states of the ascending `batch` that are in the closed set.
    pub fn filter(&self, batch: &[u64], present: &mut Bitmap) {
        let words = self.levels.words();
        present.reset(batch.len() / words);
        for (shard, range) in self.shards.iter().zip(self.cut(batch)) {
            let states = &batch[range.start * words..range.end * words];
            shard.diagram.each_present(shard.root(Set::Closed), states, |at| present.set(range.start + at));
        }
    }

    /// Whether the state is in the closed set.
    pub fn contains(&self, state: &[u64]) -> bool {
        let shard = &self.shards[self.shard_of(state)];
        shard.diagram.contains(shard.root(Set::Closed), state)
    }

    /// The number of closed states.
    pub fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len).sum()
    }

    /// Whether no state is closed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one of the sets has no states.
    pub fn is_empty_set(&self, set: Set) -> bool {
        self.shards.iter().all(|shard| shard.diagram.is_empty(shard.root(set)))
    }

    /// All bytes held.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.diagram.bytes()).sum()
    }

    /// Bytes of live nodes for each closed state, as the last collections saw them: what decides
    /// whether a diagram pays for this set.
    pub fn live_bytes_per_state(&self) -> f64 {
        self.statistics().live_bytes as f64 / self.len().max(1) as f64
    }

    /// What is held and what was done, over all shards.
    pub fn statistics(&self) -> Statistics {
        let mut sum = Statistics::default();
        self.shards.iter().for_each(|shard| sum += shard.diagram.statistics());
        sum
    }

    /// How many diagrams the set is cut into.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The next layer becomes the frontier; the next layer becomes empty.
    pub fn turn_layer(&mut self) {
        self.shards.iter_mut().for_each(Shard::turn_layer);
    }

    /// Takes the next layer out of the closed set, and forgets it. On [`OverBudget`] the set is of no use any more.
    pub fn forget_next(&mut self) -> Result<(), OverBudget> {
        self.shards.iter_mut().try_for_each(Shard::forget_next)
    }

    /// Takes the ascending states of `batch`, which must be there, out of the closed set. On [`OverBudget`] the set is of no
    /// use any more.
    pub fn remove(&mut self, batch: &[u64]) -> Result<(), OverBudget> {
        let (words, cuts) = (self.levels.words(), self.cut(batch));
        for (shard, range) in self.shards.iter_mut().zip(&cuts).filter(|(_, range)| !range.is_empty()) {
            shard.remove(&batch[range.start * words..range.end * words])?;
        }
        Ok(())
    }

    /// How states are cut.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Drops what no set reaches, and spare capacity.
    pub fn trim(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.diagram.trim());
    }

    /// Gives back the memory that only growing needs, before the set is streamed out and left.
    pub fn release_tables(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.diagram.release_tables());
    }

    /// The states of a set in ascending order.
    pub fn iter(&self, set: Set) -> ClosedIter {
        let shard = &self.shards[0];
        let position = shard.diagram.enumerate(shard.root(set));
        ClosedIter { set, shard: 0, shards: self.shards.len(), last: None, position }
    }

    /// The parts of an ascending batch that belong to each shard, by index of state.
    fn cut(&self, batch: &[u64]) -> Vec<std::ops::Range<usize>> {
        let words = self.levels.words();
        let mut start = 0;
        let mut cuts = Vec::with_capacity(self.shards.len());
        for first in &self.firsts {
            let end = start + first_not_below(&batch[start * words..], words, first);
            cuts.push(start..end);
            start = end;
        }
        cuts.push(start..batch.len() / words);
        cuts
    }

    pub(super) fn shard_of(&self, state: &[u64]) -> usize {
        self.firsts.partition_point(|first| hadal_system::state::compare(first, state).is_le())
    }

    fn stage(
        &mut self,
        batch: &[u64],
        cuts: &[std::ops::Range<usize>],
        keep: Keep,
    ) -> Result<(), OverBudget> {
        let words = self.levels.words();
        if self.threads == 1 || self.shards.len() == 1 || batch.len() / words < MIN_PARALLEL_STATES {
            return self.stage_in_turn(batch, cuts, keep);
        }
        let mut jobs: Vec<(&mut Shard, &[u64])> = self
            .shards
            .iter_mut()
            .zip(cuts)
            .filter(|(_, range)| !range.is_empty())
            .map(|(shard, range)| (shard, &batch[range.start * words..range.end * words]))
            .collect();
        // The largest first, so that no thread starts one when the others are done.
        jobs.sort_by_key(|(_, states)| std::cmp::Reverse(states.len()));
        let workers = self.threads.min(jobs.len());
        let queue = Mutex::new(jobs.into_iter());
        let work = || loop {
            // The lock is only held to take a job, which cannot panic: it is never poisoned.
            let job = queue.lock().ok().and_then(|mut jobs| jobs.next());
            let Some((shard, states)) = job else { return Ok(()) };
            shard.stage(states, keep)?;
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let mut outcome = work();
            for other in others {
                let theirs = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(theirs);
            }
            outcome
        })
    }

    fn stage_in_turn(
        &mut self,
        batch: &[u64],
        cuts: &[std::ops::Range<usize>],
        keep: Keep,
    ) -> Result<(), OverBudget> {
        let words = self.levels.words();
        for (shard, range) in self.shards.iter_mut().zip(cuts).filter(|(_, range)| !range.is_empty()) {
            shard.stage(&batch[range.start * words..range.end * words], keep)?;
        }
        Ok(())
    }

    /// Splits the shard that gets most candidates, if that leaves threads without work. A split that
    /// does not fit the budget is not made.
    fn split_busiest(&mut self) {
        let work: u64 = self.shards.iter().map(|shard| shard.work).sum();
        if work < MIN_SPLIT_STATES {
            return;
        }
        let fair = work / (2 * self.threads as u64);
        while self.shards.len() < SHARDS_PER_THREAD * self.threads {
            let busiest = (0..self.shards.len()).max_by_key(|&at| self.shards[at].work).unwrap_or(0);
            let shard = &self.shards[busiest];
            if shard.work <= fair || shard.len < MIN_SPLIT_STATES {
                break;
            }
            let Ok((lower, upper, first)) = shard.halves(&self.governor) else { break };
            self.shards.splice(busiest..=busiest, [lower, upper]);
            self.firsts.insert(busiest, first);
        }
        self.shards.iter_mut().for_each(|shard| shard.work -= shard.work / 4);
    }
}

/// A position in one of the sets; additions and collections between batches do not disturb it.
pub struct ClosedIter {
    set: Set,
    shard: usize,
    /// The number of shards the position was made for.
    shards: usize,
    last: Option<Vec<u64>>,
    position: Enumerator,
}

impl ClosedIter {
    /// Appends up to `limit` further states to `batch`; returns how many. Fewer than `limit` means that
    /// these were the last.
    pub fn next_batch(&mut self, closed: &ClosedDiagram, limit: usize, batch: &mut Vec<u64>) -> usize {
        if self.shards != closed.shards.len() {
            self.find_again(closed);
        }
        let words = closed.levels.words();
        let mut given = 0;
        loop {
            let shard = &closed.shards[self.shard];
            given += self.position.next_batch(&shard.diagram, limit - given, batch);
            if given == limit || self.shard + 1 == closed.shards.len() {
                break;
            }
            self.shard += 1;
            let shard = &closed.shards[self.shard];
            self.position = shard.diagram.enumerate(shard.root(self.set));
        }
        if given > 0 {
            self.last = Some(batch[batch.len() - words..].to_vec());
        }
        given
    }

    /// Finds the place again after shards were split.
    fn find_again(&mut self, closed: &ClosedDiagram) {
        self.shards = closed.shards.len();
        self.shard = self.last.as_ref().map_or(0, |last| closed.shard_of(last));
        let shard = &closed.shards[self.shard];
        let root = shard.root(self.set);
        self.position = match &self.last {
            Some(last) => shard.diagram.enumerate_after(root, last),
            None => shard.diagram.enumerate(root),
        };
    }
}
