//! Breadth-first search in RAM, layer by layer, on any number of threads.
//!
//! A layer is a range of each thread's arena. Threads take pieces of it until it is used up; the set of states of the
//! next layer is the same for any number of threads. A layer is always finished before a violation found in it is
//! reported, so the reported one is the same too, and its trace is shortest.

use super::Search;
use super::path;
use crate::control::Done;
use crate::finding::Finding;
use crate::firings::Counts;
use crate::fixpoint::{Pass, TableClosed};
use crate::lane::{Lane, Parents, has_found, take_finding, total_counts};
use crate::layered::Trouble;
use crate::report::{Layer, Proviso, Report, Spent, Stage, StopReason, Verdict, Violation, ViolationKind};
use crate::run::{Answer, covered, out_of_memory};
use hadal_store::OverBudget;
use hadal_store::table::{StateRef, StateTable};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// States a thread takes at a time.
const PIECE: u64 = 512;
/// Layers below this size are expanded by one thread: waking others costs more.
const SHARED_FROM: u64 = 2048;
/// What firing a transition and looking its state up counts as, and what a new state adds: about nanoseconds.
const TRANSITION_WORK: u64 = 80;
const STATE_WORK: u64 = 40;
/// A position past the end of any layer.
const NO_MORE: u64 = u64::MAX / 2;

/// The part of one arena that belongs to a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) writer: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Every state in a table.
pub(crate) const TABLE: Stage = Stage { storage: "table", states: 0, depth: 0 };

/// How a walk, or the expansion of one layer, ended.
pub(crate) enum Ended {
    /// Nothing is left to expand.
    Whole,
    /// The answer is known.
    Decided(Verdict),
    /// A limit other than memory.
    Stopped(StopReason),
    /// The table is full. These pieces of the layer are not expanded; batches may wait in the lanes.
    Full(Vec<Range>, OverBudget),
}

/// Explores breadth-first until everything is seen, something is wrong, or a limit is met.
pub fn explore(search: &Search) -> Report {
    let writers = search.threads.max(1);
    let table = match StateTable::new(search.task.space.words(), 0, writers, search.governor) {
        Ok(table) => table,
        Err(full) => return nothing_fits(search, full),
    };
    let mut lanes: Vec<Lane> = (0..writers).map(|n| Lane::new(search.task, n, Parents::Forgotten)).collect();
    let mut walk = Walk::new(search, &table);
    let verdict = match walk.run(&mut lanes) {
        Ended::Whole => Verdict::Holds,
        Ended::Decided(verdict) => verdict,
        Ended::Stopped(reason) => Verdict::Stopped(reason),
        Ended::Full(_, full) => Verdict::Stopped(out_of_memory(full)),
    };
    walk.report(&lanes, verdict)
}

fn nothing_fits(search: &Search, full: OverBudget) -> Report {
    let verdict = Verdict::Stopped(StopReason::Memory { needed: full.limit.saturating_add(full.asked) });
    Report { depth: Some(0), ..Report::of_nothing(search.task, search.governor, verdict, TABLE) }
}

pub(crate) struct Walk<'t, 'a> {
    search: &'t Search<'a>,
    table: &'t StateTable,
    /// For each layer, how long each arena was when it began (one number per writer). The last row begins the layer
    /// being built.
    starts: Vec<u64>,
    pub(crate) layers: Vec<Layer>,
    /// What was counted in the expanded layers.
    pub(crate) counts: Counts,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(crate) fn new(search: &'t Search<'a>, table: &'t StateTable) -> Self {
        let counts = Counts::zero(search.task.space);
        Walk { search, table, starts: vec![0; table.writers()], layers: Vec::new(), counts }
    }

    /// Explores from the initial states.
    pub(crate) fn run(&mut self, lanes: &mut [Lane<'a>]) -> Ended {
        if let Err(full) = lanes[0].start(self.table) {
            return Ended::Full(Vec::new(), full);
        }
        loop {
            let layer = self.close_layer();
            let depth = self.layers.len() as u64;
            if let Some(finding) = take_finding(lanes) {
                return Ended::Decided(self.violated(finding));
            }
            let width: u64 = layer.iter().map(|r| r.to - r.from).sum();
            if width == 0 {
                return Ended::Decided(self.complete(lanes));
            }
            if self.search.task.control.limits.max_depth.is_some_and(|max| depth >= max) {
                return Ended::Stopped(StopReason::DepthLimit);
            }
            let before: u64 = lanes.iter().map(|l| l.transitions).sum();
            let done = self.done(before, width);
            if let Some(reason) = self.search.task.control.await_turn(done) {
                return Ended::Stopped(reason);
            }
            let (known, begun) = (self.table.len(), Instant::now());
            match self.expand(&layer, depth, width, lanes) {
                Ended::Whole => {}
                // What was found so far waits in the lanes: another storage may finish the layer.
                early => return early,
            }
            let after: u64 = lanes.iter().map(|l| l.transitions).sum();
            let unique = self.table.len() - known;
            self.layers.push(Layer {
                states: width,
                transitions: after - before,
                duplicates_cache: after - before - unique,
                candidates: unique,
                unique,
                seconds: Spent { expanding: begun.elapsed().as_secs_f64(), ..Spent::default() },
                ..Layer::default()
            });
            self.counts = total_counts(lanes, self.search.task.space);
        }
    }

    /// What was done so far, before a layer of this width.
    fn done(&self, transitions: u64, width: u64) -> Done {
        let states = self.table.len();
        let work = transitions * TRANSITION_WORK + states * STATE_WORK;
        let ahead = work.saturating_mul(width).checked_div(states - width).unwrap_or(0);
        Done { work, ahead, states, transitions }
    }

    /// The figures, with this verdict.
    pub(crate) fn report(self, lanes: &[Lane], verdict: Verdict) -> Report {
        let depth =
            self.layer_ranges().take_while(|layer| !layer.is_empty()).count().saturating_sub(1) as u64;
        let counts = total_counts(lanes, self.search.task.space);
        let answer = Answer {
            verdict,
            states: self.table.len(),
            transitions: lanes.iter().map(|lane| lane.transitions).sum(),
            counts: &counts,
            stages: vec![TABLE],
        };
        let report = answer.report(self.search.task, self.search.governor);
        let proviso = has_found(lanes).then_some(Proviso::WrongSeen);
        Report { depth: Some(depth), layers: self.layers, proviso, ..report }
    }

    /// The whole space has been seen: what remains are questions about all of it.
    fn complete(&mut self, lanes: &[Lane]) -> Verdict {
        let layers: Vec<Vec<Range>> = self.layer_ranges().collect();
        let closed = TableClosed::new(self.table, &layers);
        let (task, governor, threads) = (self.search.task, self.search.governor, self.search.threads);
        let pass = Pass { task, closed: &closed, governor, threads, keeper: None };
        match pass.verdict(|_, state| Ok(path::shortest(self.search, self.table, &layers, state))) {
            Ok(None) => {}
            Ok(Some(verdict)) => return verdict,
            Err(Trouble::OverBudget(full)) => {
                return Verdict::Stopped(out_of_memory(full));
            }
            // A question about runs that the space does not say how to answer.
            Err(_) => return Verdict::Stopped(StopReason::Unanswered),
        }
        let covers = total_counts(lanes, self.search.task.space).covers;
        covered(self.search.task, &covers)
    }

    /// Ends the layer that was being built and begins the next.
    pub(crate) fn close_layer(&mut self) -> Vec<Range> {
        self.starts.extend((0..self.table.writers()).map(|w| self.table.added_by(w)));
        self.layer_ranges().next_back().unwrap_or_default()
    }

    /// All closed layers, the first first.
    pub(crate) fn layer_ranges(&self) -> impl DoubleEndedIterator<Item = Vec<Range>> {
        let writers = self.table.writers();
        let rows = self.starts.len() / writers;
        (1..rows).map(move |n| {
            ranges(&self.starts[(n - 1) * writers..n * writers], &self.starts[n * writers..(n + 1) * writers])
        })
    }

    fn expand(&self, layer: &[Range], depth: u64, width: u64, lanes: &mut [Lane<'a>]) -> Ended {
        let control = self.search.task.control;
        control.gauges.depth.store(depth, Ordering::Relaxed);
        control.gauges.frontier.store(width, Ordering::Relaxed);
        control.gauges.expanded.store(0, Ordering::Relaxed);
        let next = AtomicU64::new(0);
        let ended: Mutex<Ended> = Mutex::new(Ended::Whole);
        let found = AtomicBool::new(false);
        let work = |lane: &mut Lane<'a>| {
            while let Some(piece) = take_piece(layer, &next) {
                control.gauges.states.store(self.table.len(), Ordering::Relaxed);
                found.fetch_or(lane.finding.is_some(), Ordering::Relaxed);
                // Where something is wrong, the layer is finished rather than a number of states kept.
                let limit = control.must_stop(self.table.len());
                let waived = limit == Some(StopReason::StateLimit) && found.load(Ordering::Relaxed);
                if let Some(reason) = limit.filter(|_| !waived) {
                    next.store(NO_MORE, Ordering::Relaxed);
                    *ended.lock().unwrap_or_else(|e| e.into_inner()) = Ended::Stopped(reason);
                    return;
                }
                if let Err((done, full)) = self.expand_piece(lane, piece) {
                    // Whoever is first takes all pieces that nobody has begun.
                    let untaken = AtomicU64::new(next.swap(NO_MORE, Ordering::Relaxed));
                    let mut left = vec![Range { from: piece.from + done, ..piece }];
                    left.extend(std::iter::from_fn(|| take_piece(layer, &untaken)));
                    let mut ended = ended.lock().unwrap_or_else(|e| e.into_inner());
                    match &mut *ended {
                        Ended::Full(pieces, _) => pieces.append(&mut left),
                        other => *other = Ended::Full(left, full),
                    }
                    return;
                }
            }
        };
        match lanes {
            [only] => work(only),
            [first, ..] if width < SHARED_FROM => work(first),
            many => std::thread::scope(|scope| {
                for lane in many {
                    scope.spawn(|| work(lane));
                }
            }),
        }
        ended.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn expand_piece(&self, lane: &mut Lane<'a>, piece: Range) -> Result<(), (u64, OverBudget)> {
        lane.expand(self.table, piece.to - piece.from, |n| {
            let at = StateRef::at(piece.writer, piece.from + n);
            (self.table.state(at), at.to_word())
        })
    }

    fn violated(&self, finding: Finding) -> Verdict {
        if let ViolationKind::StartFault(_) = finding.kind {
            return Verdict::Violated(Violation { kind: finding.kind, path: Vec::new(), shortest: true });
        }
        let path =
            path::shortest(self.search, self.table, &self.layer_ranges().collect::<Vec<_>>(), finding.state);
        Verdict::Violated(Violation { kind: finding.kind, path, shortest: true })
    }
}

fn ranges(from: &[u64], to: &[u64]) -> Vec<Range> {
    from.iter()
        .zip(to)
        .enumerate()
        .filter(|(_, (from, to))| from < to)
        .map(|(writer, (&from, &to))| Range { writer, from, to })
        .collect()
}

/// Takes the next piece of a layer that nobody has taken.
pub(crate) fn take_piece(layer: &[Range], next: &AtomicU64) -> Option<Range> {
    let mut at = next.fetch_add(PIECE, Ordering::Relaxed);
    for range in layer {
        // Pieces are cut per range, each range rounded up to whole pieces.
        let length = (range.to - range.from).next_multiple_of(PIECE);
        if at < length {
            let from = range.from + at;
            return Some(Range { writer: range.writer, from, to: range.to.min(from + PIECE) });
        }
        at -= length;
    }
    None
}
