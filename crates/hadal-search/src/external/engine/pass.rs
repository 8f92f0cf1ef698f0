//! Expanding one bucket on all threads: what is in RAM is made to fit, the bucket is cut into pieces, and whatever stops it
//! half-way is undone.

use super::super::Steps;
use super::super::expand::{Done, Expander, Pass, Strip, Strips};
use super::super::matrix::{Cell, OpenBucket};
use super::super::order;
use super::super::part::{Part, Place, Ready, Stored};
use super::super::scope::ClosedPart;
use super::super::spill::{Shared, lock};
use super::{Engine, Found, TRANSITION_WORK, owners};
use crate::firings::Counts;
use crate::layered::Trouble;
use crate::report::StopReason;
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunReader};
use hadal_store::vfs::at_once;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Generated states from which on a bucket is worth several threads.
const SHARED_FROM: u64 = 1 << 14;
/// Most parts in RAM that are merged at once.
const MOST_RESIDENT: usize = 32;
/// Records of a piece, about; a step ends between two of them.
const PIECE: u64 = 1 << 16;
/// Strips for each of several threads, so that none waits long for the last.
const STRIPS: usize = 4;
/// Pieces for each of several threads in a step at least: the threads end it together.
const LEAST_PIECES: u64 = 4;

/// A bucket whose expansion has begun.
pub(super) struct Begun {
    pub(super) cell: Cell,
    pub(super) bucket: OpenBucket,
    /// Transitions fired before.
    pub(super) before: u64,
    pub(super) ahead: Ahead,
    /// Where the expansion ends early: the first state that is not expanded any more, once all workers know it.
    up_to: Option<Vec<u64>>,
}

/// What an expansion reads, and how far it is.
pub(super) struct Ahead {
    sources: Vec<Ready>,
    pub(super) closed: Vec<ClosedPart>,
    splitters: Vec<Vec<u64>>,
    strips: Vec<Mutex<Strip>>,
    threads: usize,
    ends_early: bool,
    /// What was counted before, where some of it may be taken back.
    counted: Counts,
}

impl Engine<'_> {
    /// Begins to expand a bucket, and does that much work.
    pub(super) fn expand_bucket(&mut self, cell: Cell, work: u64) -> Result<Option<Found>, Trouble> {
        let Some(mut bucket) = self.matrix.open.remove(&cell.rank()) else { return Ok(None) };
        self.expansions += 1;
        if let Some(reason) = self.failed.take() {
            return self.give_up(cell, bucket, reason);
        }
        let before = self.fired();
        let (control, disk) = (self.search.task.control, self.disk());
        let armed = control.brake(&disk);
        let ahead = self.look_ahead(cell, &mut bucket);
        drop(armed);
        match ahead {
            Ok(ahead) => self.expand_on(Begun { cell, bucket, before, ahead, up_to: None }, work),
            Err(trouble) => self.give_up_for(cell, bucket, trouble),
        }
    }

    /// Goes on with the expansion of a bucket.
    pub(super) fn expand_on(&mut self, begun: Begun, work: u64) -> Result<Option<Found>, Trouble> {
        let (control, disk) = (self.search.task.control, self.disk());
        let armed = control.brake(&disk);
        let passed = self.pass(&begun, work);
        drop(armed);
        match passed {
            Ok(Passed::Part) => {
                self.begun = Some(begun);
                Ok(None)
            }
            Ok(Passed::Whole) => match begun.ahead.ends_early && begun.up_to.is_none() {
                true => self.end_together(begun, work),
                false => self.settle(begun),
            },
            Ok(Passed::Stopped(reason)) => self.give_up(begun.cell, begun.bucket, reason),
            Err(trouble) => self.give_up_for(begun.cell, begun.bucket, trouble),
        }
    }

    /// Settles an expansion that ends with the first successor that is looked for: of all workers, the first counts. What
    /// others expanded behind it is taken back.
    fn end_together(&mut self, mut begun: Begun, work: u64) -> Result<Option<Found>, Trouble> {
        let own = self.expanders[0].done.ended_at.clone();
        let first = match self.mailbox.is_alone() {
            true => None,
            false => match self.first_of_all(own.as_deref())? {
                Ok(first) => first,
                Err(reason) => {
                    self.undo(begun.cell, begun.bucket);
                    return Ok(Some(Found::Stopped(reason)));
                }
            },
        };
        if first.is_none() || first == own {
            return self.settle(begun);
        }
        let mut wasted = self.counted();
        wasted.take_off(&begun.ahead.counted);
        self.in_vain.add(&wasted);
        self.take_back();
        begun.before = self.fired();
        begun.ahead.strips = Strip::cut(begun.ahead.splitters.len() + 1, 1);
        begun.ahead.closed.iter().for_each(|part| part.found.store(0, Ordering::Relaxed));
        begun.up_to = first;
        self.expand_on(begun, work)
    }

    /// Stops with a bucket that is not expanded, and so do all workers.
    fn give_up(
        &mut self,
        cell: Cell,
        bucket: OpenBucket,
        reason: StopReason,
    ) -> Result<Option<Found>, Trouble> {
        let reason = self.meet_stopped(reason)?;
        self.undo(cell, bucket);
        Ok(Some(Found::Stopped(reason)))
    }

    fn give_up_for(
        &mut self,
        cell: Cell,
        bucket: OpenBucket,
        trouble: Trouble,
    ) -> Result<Option<Found>, Trouble> {
        match self.as_stop(trouble) {
            Ok(reason) => self.give_up(cell, bucket, reason),
            Err(trouble) => {
                self.undo(cell, bucket);
                Err(trouble)
            }
        }
    }

    /// Forgets what was expanded of a bucket that is not done.
    pub(super) fn undo_begun(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.undo(begun.cell, begun.bucket);
        }
    }

    pub(super) fn undo(&mut self, cell: Cell, bucket: OpenBucket) {
        self.take_back();
        self.expansions -= 1;
        self.matrix.open.insert(cell.rank(), bucket);
        self.search.task.control.gauges.states.store(self.figures.states.expanded, Ordering::Relaxed);
    }

    /// Forgets what the expansion under way generated.
    pub(super) fn take_back(&mut self) {
        self.matrix.undo(self.expansions);
        for expander in &mut self.expanders {
            expander.targets.forget();
            expander.done = Done::default();
            expander.lane.finding = None;
        }
    }

    /// Transitions that were fired since the search began or was resumed.
    pub(super) fn fired(&self) -> u64 {
        self.expanders.iter().map(|expander| expander.lane.transitions).sum()
    }

    /// Transitions of the bucket whose expansion has begun.
    pub(super) fn fired_in_begun(&self) -> u64 {
        self.begun.as_ref().map_or(0, |begun| self.fired() - begun.before)
    }

    /// Why reading was ended.
    pub(super) fn stop_reason(&self) -> StopReason {
        let states = self.figures.states.expanded;
        self.search.task.control.must_stop(states).unwrap_or(StopReason::Interrupted)
    }

    /// Makes a bucket ready to be expanded.
    fn look_ahead(&mut self, cell: Cell, bucket: &mut OpenBucket) -> Result<Ahead, Trouble> {
        self.unpin(cell, bucket)?;
        self.join_small(bucket);
        let closed = self.scope.closed(&self.matrix, cell, &self.shelf)?;
        let threads = self.affordable_threads(bucket, &closed)?;
        let sources =
            bucket.parts.iter().map(|part| self.shelf.ready(part)).collect::<Result<Vec<_>, _>>()?;
        let records: u64 = bucket.parts.iter().map(|part| part.records).sum();
        let gauges = &self.search.task.control.gauges;
        gauges.depth.store(cell.g, Ordering::Relaxed);
        gauges.frontier.store(records, Ordering::Relaxed);
        gauges.expanded.store(0, Ordering::Relaxed);
        // Neither depends on the budget or on how many threads there are.
        let small = bucket.raw < SHARED_FROM;
        let goal_is_near = u64::from(cell.h) <= self.costs.last().copied().unwrap_or(1);
        // What covers what is decided key by key, and a key is not to be cut.
        let covers = self.search.task.space.cover().is_some();
        let threads = if small || covers { 1 } else { threads };
        let strips = if threads == 1 { 1 } else { STRIPS * threads };
        let cuts = !small && !covers && self.search.options.steps == Steps::Fused;
        let pieces = if cuts { strips.max((records / PIECE) as usize) } else { strips };
        let splitters = self.splitters(&sources, pieces);
        let strips = Strip::cut(splitters.len() + 1, strips);
        let ends_early = small && goal_is_near;
        // Only several workers may have to take something back.
        let counted = match ends_early && !self.mailbox.is_alone() {
            true => self.counted(),
            false => Counts::default(),
        };
        Ok(Ahead { sources, closed, splitters, strips, threads, ends_early, counted })
    }

    /// Expands a bucket on all threads for this much work.
    fn pass(&mut self, begun: &Begun, work: u64) -> Result<Passed, Trouble> {
        let Begun { cell, ahead, up_to, .. } = begun;
        let Ahead { sources, closed, splitters, strips, threads, ends_early, .. } = ahead;
        let least = if *threads == 1 { 0 } else { LEAST_PIECES * *threads as u64 * PIECE };
        let pass = Pass {
            cell: *cell,
            sources,
            closed,
            splitters,
            up_to: up_to.as_deref(),
            strips: Strips::new(strips),
            most_fired: (work / TRANSITION_WORK).max(least).max(1),
            fired: AtomicU64::new(0),
            ends_early: *ends_early,
            reach: self.horizon.reach(),
            again: None,
            shared: Shared::new(&mut self.matrix, &self.shelf, cell.rank(), self.expansions, Some(cell.h))
                .owned_by(owners(&self.mailbox)),
            stopped: Mutex::new(None),
        };
        let expanders = &mut self.expanders[..*threads];
        on_all(expanders, &|expander| expander.work(&pass))?;
        if let Some(reason) = lock(&pass.stopped).take() {
            return Ok(Passed::Stopped(reason));
        }
        if !strips.iter().all(|strip| lock(strip).is_done()) {
            return Ok(Passed::Part);
        }
        on_all(expanders, &|expander| expander.deliver(&pass))?;
        Ok(match lock(&pass.stopped).take() {
            Some(reason) => Passed::Stopped(reason),
            None => Passed::Whole,
        })
    }

    /// Sees to it that what is about to be read, and so cannot leave RAM, takes a half of its share at most.
    fn unpin(&mut self, cell: Cell, bucket: &mut OpenBucket) -> Result<(), Trouble> {
        let column = self.matrix.columns.get(&cell.h);
        let rows = column.into_iter().flat_map(|column| column.rows.values().flatten());
        let pinned: usize = rows.chain(&bucket.parts).map(Part::resident_words).sum();
        if pinned <= self.matrix.most_words() / 2 {
            return Ok(());
        }
        let most = self.matrix.most_words();
        // Everything that can leave does: the bucket's own parts go back for a moment.
        let parts = std::mem::take(&mut bucket.parts);
        self.matrix.open.entry(cell.rank()).or_default().parts = parts;
        let shared = Shared::new(&mut self.matrix, &self.shelf, cell.rank(), u64::MAX, None);
        let made = shared.make_room(most);
        let back = self.matrix.open.remove(&cell.rank());
        bucket.parts = back.map(|bucket| bucket.parts).unwrap_or_default();
        made
    }

    /// Merges the smallest parts in RAM until they are few.
    fn join_small(&mut self, bucket: &mut OpenBucket) {
        let shape = self.shelf.shape();
        loop {
            let (mut held, rest): (Vec<Part>, Vec<Part>) =
                std::mem::take(&mut bucket.parts).into_iter().partition(|part| part.resident_words() > 0);
            bucket.parts = rest;
            if held.len() <= MOST_RESIDENT {
                bucket.parts.append(&mut held);
                return;
            }
            held.sort_by_key(|part| std::cmp::Reverse(part.records));
            let small = held.split_off(held.len() - MOST_RESIDENT);
            bucket.parts.append(&mut held);
            let words: usize = small.iter().map(Part::resident_words).sum();
            let flats: Vec<Vec<u64>> = small
                .into_iter()
                .filter_map(|part| match part.place {
                    Place::Resident { flat, .. } => {
                        Some(std::sync::Arc::try_unwrap(flat).unwrap_or_else(|flat| flat.to_vec()))
                    }
                    Place::Stored(_) => None,
                })
                .collect();
            let joined =
                order::sort_chunks((shape, self.search.task.space.bits()), &flats, &mut Vec::new(), 0);
            self.matrix.release(words - joined.len());
            bucket.parts.push(Part::resident(shape, joined, 0));
        }
    }

    /// How many threads can have the buffers they need; merges runs where one cannot.
    fn affordable_threads(
        &mut self,
        bucket: &mut OpenBucket,
        closed: &[ClosedPart],
    ) -> Result<usize, Trouble> {
        let footprint = RunReader::footprint(&self.shelf.options);
        let asked: u64 = closed.iter().map(ClosedPart::footprint).sum();
        let runs = |bucket: &OpenBucket| {
            let stored = bucket.parts.iter().filter_map(|part| match &part.place {
                Place::Stored(Stored::Run(run)) => Some(run.clone()),
                _ => None,
            });
            stored.collect::<Vec<RunFile>>()
        };
        // Besides the streams of a thread there are those of whoever writes buckets.
        let free = self.streams;
        let need = |bucket: &OpenBucket| asked + footprint * (runs(bucket).len() as u64 + 3);
        if need(bucket) > free && runs(bucket).len() > 1 {
            let limits = MergeLimits::for_memory(&self.shelf.disk, &self.shelf.options);
            let (disk, options) = (&self.shelf.disk, &self.shelf.options);
            let merged = merge_unique(disk, runs(bucket), RunKind::Frontier, options, limits);
            let merged = at_once(merged)?.0;
            bucket.parts.retain(|part| !matches!(part.place, Place::Stored(Stored::Run(_))));
            bucket.parts.push(Part::run(merged, 0));
        }
        Ok((free / need(bucket).max(1)).clamp(1, self.expanders.len() as u64) as usize)
    }

    /// States that cut the bucket into about equal pieces.
    pub(super) fn splitters(&self, sources: &[Ready], pieces: usize) -> Vec<Vec<u64>> {
        if pieces < 2 {
            return Vec::new();
        }
        let mut sample = Vec::new();
        sources.iter().for_each(|source| source.sample(self.shelf.shape(), 8 * pieces, &mut sample));
        sample.sort_by(|a, b| hadal_system::state::compare(&a.0, &b.0));
        let total: u64 = sample.iter().map(|(_, weight)| weight).sum();
        let (mut passed, mut splitters): (u64, Vec<Vec<u64>>) = (0, Vec::new());
        for (state, weight) in sample {
            if passed * pieces as u64 >= total * (splitters.len() as u64 + 1)
                && splitters.last().is_none_or(|last| *last != state)
            {
                splitters.push(state);
            }
            passed += weight;
        }
        splitters
    }
}

/// How an expansion stands.
enum Passed {
    Whole,
    Part,
    Stopped(StopReason),
}

/// All threads take part in an expansion.
pub(super) fn on_all<'e>(
    expanders: &mut [Expander<'e>],
    work: &(impl Fn(&mut Expander<'e>) -> Result<(), Trouble> + Sync),
) -> Result<(), Trouble> {
    if let [only] = expanders {
        return work(only);
    }
    let results: Vec<Result<(), Trouble>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            expanders.iter_mut().map(|expander| scope.spawn(move || work(expander))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.into_iter().collect()
}
