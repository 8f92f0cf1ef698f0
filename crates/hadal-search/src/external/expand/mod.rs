//! One thread's part in the expansion of a bucket: merge, make unique, subtract, note as closed, expand, deal out.
//!
//! All of this is one pass: nothing is written between (Jabbar 2008, sec. 3.5.2).

mod again;
mod apart;
mod covered;

pub(super) use again::Again;

use super::Steps;
use super::figures::TargetFigures;
use super::matrix::Cell;
use super::part::{Part, Range, Ready};
use super::scope::{ClosedPart, Keeper, Probe};
use super::spill::Shared;
use super::targets::Targets;
use super::trail::{Mode, Step};
use crate::finding::Finding;
use crate::lane::{Lane, SearchTask};
use crate::layered::Trouble;
use crate::report::StopReason;
use hadal_store::Bitmap;
use hadal_store::merge::{BlockSource, RunMerge};
use hadal_store::run::RunKind;
use hadal_store::shape::RecordShape;
use hadal_system::guide::{Distance, Estimator};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Successors that are dealt out together.
const BATCH: usize = 512;
/// After so many successors it is asked whether their estimates took long,
const LOOK_EVERY: usize = 8;
/// and after this much work limits are looked at.
const LOOK_WORK: u64 = 20_000_000;

/// What holds for a whole search.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Drop what the guide calls infinitely far.
    pub(super) prune: bool,
    /// Look at a successor as soon as it is generated where nothing can be cheaper.
    pub(super) look_ahead: bool,
    pub(super) mode: Mode,
    pub(super) steps: Steps,
}

/// The expansion of a bucket, as its threads share it.
pub(super) struct Pass<'a> {
    pub(super) cell: Cell,
    pub(super) sources: &'a [Ready],
    pub(super) closed: &'a [ClosedPart],
    /// Where pieces begin; the first begins at the first state.
    pub(super) splitters: &'a [Vec<u64>],
    /// The first state that is not expanded any more, where there is one.
    pub(super) up_to: Option<&'a [u64]>,
    pub(super) strips: Strips<'a>,
    /// After this many transitions threads stop between two pieces.
    pub(super) most_fired: u64,
    pub(super) fired: AtomicU64,
    /// Whether the expansion ends with the first successor that is looked for: one thread does it, in the order of states,
    /// so the numbers are still the same every time.
    pub(super) ends_early: bool,
    /// Successors with a larger f are left out.
    pub(super) reach: Option<u64>,
    /// Where closed states are expanded again.
    pub(super) again: Option<Again>,
    pub(super) shared: Shared<'a>,
    pub(super) stopped: Mutex<Option<StopReason>>,
}

/// The strips of a pass, for threads to take.
pub(super) struct Strips<'a> {
    all: &'a [Mutex<Strip>],
    next: AtomicUsize,
}

impl<'a> Strips<'a> {
    pub(super) fn new(all: &'a [Mutex<Strip>]) -> Self {
        Strips { all, next: AtomicUsize::new(0) }
    }

    /// One that nobody has taken.
    fn next(&self) -> Option<&'a Mutex<Strip>> {
        self.all.get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Pieces that follow each other, one thread's at a time: what is new in them becomes one closed part.
pub(super) struct Strip {
    /// The next piece, and the one behind the last.
    pieces: std::ops::Range<usize>,
    closed: Option<Keeper>,
}

impl Strip {
    /// Cuts so many pieces into strips.
    pub(super) fn cut(pieces: usize, strips: usize) -> Vec<Mutex<Strip>> {
        let strips = strips.clamp(1, pieces);
        let at = |strip: usize| pieces * strip / strips;
        (0..strips).map(|n| Mutex::new(Strip { pieces: at(n)..at(n + 1), closed: None })).collect()
    }

    pub(super) fn is_done(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// What a thread did in a pass.
#[derive(Default)]
pub(super) struct Done {
    pub(super) unique: u64,
    pub(super) expanded: u64,
    pub(super) pruned: u64,
    pub(super) beyond: u64,
    pub(super) least_beyond: Option<u64>,
    pub(super) targets: Vec<TargetFigures>,
    /// Closed states, with the number of their strip.
    pub(super) closed: Vec<(usize, Part)>,
    /// Something found in a successor, and what it costs to get there.
    pub(super) ahead: Option<(u64, Finding)>,
    /// The state whose successors ended the expansion early.
    pub(super) ended_at: Option<Vec<u64>>,
}

pub(super) struct Expander<'a> {
    pub(super) lane: Lane<'a>,
    task: SearchTask<'a>,
    rules: Rules,
    shape: RecordShape,
    estimator: Box<dyn Estimator + 'a>,
    /// What estimates had taken when limits were last looked at between them.
    work_at_look: u64,
    pub(super) targets: Targets,
    present: Bitmap,
    batch: Vec<u64>,
    payload: Vec<u64>,
    promising: Vec<usize>,
    pub(super) done: Done,
}

impl Pass<'_> {
    fn range(&self, piece: usize) -> Range<'_> {
        Range {
            from: piece.checked_sub(1).map(|before| &self.splitters[before][..]),
            to: self.splitters.get(piece).map(|state| &state[..]).or(self.up_to),
        }
    }

    /// Whether threads are to stop before the next piece.
    fn is_enough(&self) -> bool {
        self.is_stopped() || self.fired.load(Ordering::Relaxed) >= self.most_fired
    }

    fn is_stopped(&self) -> bool {
        super::spill::lock(&self.stopped).is_some()
    }
}

impl<'a> Expander<'a> {
    pub(super) fn new(
        (task, rules): (SearchTask<'a>, Rules),
        lane: Lane<'a>,
        shape: RecordShape,
        estimator: Box<dyn Estimator + 'a>,
        targets: Targets,
    ) -> Self {
        Expander {
            lane,
            task,
            rules,
            shape,
            estimator,
            work_at_look: 0,
            targets,
            present: Bitmap::default(),
            batch: Vec::new(),
            payload: Vec::new(),
            promising: Vec::new(),
            done: Done::default(),
        }
    }

    /// Expands pieces of the bucket until none is left, or enough was done.
    pub(super) fn work(&mut self, pass: &Pass) -> Result<(), Trouble> {
        while let Some(strip) = pass.strips.next() {
            let mut strip = super::spill::lock(strip);
            while let Some(piece) = strip.pieces.clone().next() {
                if pass.is_enough() {
                    return Ok(());
                }
                let before = self.lane.transitions;
                match &pass.again {
                    None => self.expand_piece(pass, piece, &mut strip.closed)?,
                    Some(again) => self.expand_piece_again(pass, again, piece)?,
                }
                pass.fired.fetch_add(self.lane.transitions - before, Ordering::Relaxed);
                strip.pieces.start += 1;
            }
            if let Some(closed) = strip.closed.take() {
                self.done.closed.push((strip.pieces.end, closed.finish(pass.shared.made_in)?));
            }
        }
        Ok(())
    }

    /// Puts what was dealt out where the other threads' successors are, once the bucket is expanded.
    pub(super) fn deliver(&mut self, pass: &Pass) -> Result<(), Trouble> {
        let done = &mut self.done;
        self.targets.finish(&pass.shared, |cell, states| {
            done.targets.push(TargetFigures { g: cell.g, h: cell.h, states });
        })
    }

    fn expand_piece(
        &mut self,
        pass: &Pass,
        piece: usize,
        closed: &mut Option<Keeper>,
    ) -> Result<(), Trouble> {
        let (shape, range) = (self.shape, pass.range(piece));
        let sources = pass.sources.iter().map(|part| part.source(shape, range)).collect::<Result<_, _>>()?;
        let mut merge = RunMerge::new(shape, sources);
        if let Some(cover) = self.task.space.cover() {
            return self.expand_covered(pass, (piece, merge), cover);
        }
        if self.rules.steps == Steps::Apart {
            return self.expand_apart(pass, piece, merge);
        }
        let mut probes: Vec<Option<Probe>> = pass.closed.iter().map(|_| None).collect();
        let closed = closed.get_or_insert_with(|| Keeper::new(pass.shared.shelf, RunKind::Closed));
        let mut batch = std::mem::take(&mut self.batch);
        let gauges = &self.task.control.gauges;
        while merge.next_block(&mut batch)? {
            let distinct = batch.len() / shape.stride();
            self.done.unique += distinct as u64;
            self.subtract(pass.closed, &mut probes, &mut batch)?;
            let fresh = (batch.len() / shape.stride()) as u64;
            self.done.expanded += fresh;
            let states = gauges.states.fetch_add(fresh, Ordering::Relaxed) + fresh;
            closed.push(&batch)?;
            self.expand(pass, &batch)?;
            if let Some(reason) = self.task.control.must_stop(states) {
                *super::spill::lock(&pass.stopped) = Some(reason);
            }
            if pass.is_stopped() || self.is_over(pass) {
                break;
            }
        }
        self.batch = batch;
        Ok(())
    }

    /// Leaves those states of `batch` that are not closed.
    fn subtract<'p>(
        &mut self,
        closed: &'p [ClosedPart],
        probes: &mut [Option<Probe<'p>>],
        batch: &mut Vec<u64>,
    ) -> Result<(), Trouble> {
        let stride = self.shape.stride();
        self.present.reset(batch.len() / stride);
        let mut known = 0;
        for (part, probe) in closed.iter().zip(probes) {
            if !part.overlaps(self.shape, batch) {
                continue;
            }
            let probe = match probe {
                Some(probe) => probe,
                None => probe.insert(part.probe()?),
            };
            let found = probe.mark(self.shape, batch, &mut self.present)?;
            part.found.fetch_add(found, Ordering::Relaxed);
            known += found;
        }
        if known > 0 {
            let mut kept = 0;
            for at in 0..batch.len() / stride {
                if !self.present.get(at) {
                    batch.copy_within(at * stride..(at + 1) * stride, kept);
                    kept += stride;
                }
            }
            batch.truncate(kept);
        }
        Ok(())
    }

    fn expand(&mut self, pass: &Pass, batch: &[u64]) -> Result<(), Trouble> {
        for (n, record) in batch.chunks_exact(self.shape.stride()).enumerate() {
            let state = self.shape.state(record);
            self.lane.look_at(state);
            self.lane.generate(state, n as u64);
            if pass.ends_early || self.lane.waiting().0.len() >= BATCH {
                self.deal(pass, batch)?;
                // What a pass that stopped has expanded is undone: its figures do not count.
                if self.is_over(pass) || pass.is_stopped() {
                    self.done.ended_at = Some(state.to_vec());
                    self.done.expanded -= (batch.len() / self.shape.stride() - n - 1) as u64;
                    break;
                }
            }
        }
        self.deal(pass, batch)
    }

    /// What the guide says of a state.
    pub(super) fn estimate(&mut self, state: &[u64]) -> Distance {
        self.estimator.estimate(state, None)
    }

    /// Whether a limit was met between estimates that take long; the pass is stopped then.
    fn is_late(work_at_look: &mut u64, work: u64, task: SearchTask, pass: &Pass) -> bool {
        if work.saturating_sub(*work_at_look) <= LOOK_WORK {
            return false;
        }
        *work_at_look = work;
        let states = task.control.gauges.states.load(Ordering::Relaxed);
        if let Some(reason) = task.control.must_stop(states) {
            *super::spill::lock(&pass.stopped) = Some(reason);
        }
        pass.is_stopped()
    }

    /// Whether what is left of the bucket cannot matter any more.
    fn is_over(&self, pass: &Pass) -> bool {
        pass.ends_early && self.done.ahead.is_some()
    }

    /// Appends the initial states to their buckets.
    pub(super) fn start(&mut self) -> Result<(), Trouble> {
        self.lane.generate_initial(u64::MAX);
        let (out, _) = self.lane.waiting();
        for state in out.states().chunks_exact(self.task.space.words()) {
            let estimate = self.estimator.estimate(state, None);
            if self.rules.prune && estimate == Distance::INFINITE {
                self.done.pruned += 1;
                continue;
            }
            let cell = Cell { g: 0, h: estimate.0 };
            self.rules.mode.root(state, &mut self.payload);
            self.targets.push(cell, &self.payload, state)?;
        }
        self.lane.settle();
        Ok(())
    }

    /// Puts the waiting successors where they belong.
    fn deal(&mut self, pass: &Pass, batch: &[u64]) -> Result<(), Trouble> {
        let cell = pass.cell;
        let f = cell.f();
        let (stride, words) = (self.shape.stride(), self.shape.words());
        let (out, parents) = self.lane.waiting();
        let labels = out.labels();
        for (n, state) in out.states().chunks_exact(words).enumerate() {
            let estimate = self.estimator.estimate(state, None);
            if n % LOOK_EVERY == 0
                && Self::is_late(&mut self.work_at_look, self.estimator.work(), self.task, pass)
            {
                // What was dealt so far is undone.
                break;
            }
            if self.rules.prune && estimate == Distance::INFINITE {
                self.done.pruned += 1;
                continue;
            }
            let label = labels[n];
            let to = Cell { g: cell.g + u64::from(self.lane.cost(n)), h: estimate.0 };
            if pass.reach.is_some_and(|reach| to.f() > reach) {
                self.done.beyond += 1;
                let least = self.done.least_beyond.get_or_insert(u64::MAX);
                *least = to.f().min(*least);
                continue;
            }
            if estimate.0 == 0 && to.g <= f && self.rules.look_ahead {
                self.promising.push(n);
            }
            if stride > words {
                let parent = &batch[parents[n] as usize * stride..][..stride];
                let step = Step { from: cell, to, label, parent, state };
                self.rules.mode.carry(self.shape, step, &mut self.payload);
            }
            // One state may have successors for more buckets than there is memory for at once.
            if self.targets.is_full() {
                self.targets.relieve(&pass.shared)?;
            }
            self.targets.push(to, &self.payload, state)?;
        }
        if !self.promising.is_empty() {
            self.look_ahead(cell);
        }
        self.lane.settle();
        Ok(())
    }

    /// Looks at successors beyond which nothing cheaper can lie.
    #[cold]
    fn look_ahead(&mut self, cell: Cell) {
        for n in std::mem::take(&mut self.promising) {
            let (out, _) = self.lane.waiting();
            let state = out.state(n).to_vec();
            let cost = cell.g + u64::from(self.lane.cost(n));
            let held = self.lane.finding.take();
            self.lane.look_at(&state);
            let found = std::mem::replace(&mut self.lane.finding, held);
            if let Some(found) = found {
                self.done.offer_ahead(cost, found);
            }
        }
    }
}

impl Done {
    /// Keeps the cheaper of what was found in successors.
    pub(super) fn offer_ahead(&mut self, cost: u64, found: Finding) {
        let held = self.ahead.take();
        let (least, mut best) = held.map_or((cost, None), |(least, held)| (least, Some(held)));
        match cost.cmp(&least) {
            std::cmp::Ordering::Less => best = Some(found),
            std::cmp::Ordering::Equal => Finding::offer(&mut best, found),
            std::cmp::Ordering::Greater => {}
        }
        self.ahead = best.map(|best| (cost.min(least), best));
    }
}
