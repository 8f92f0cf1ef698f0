//! Breadth-first search in RAM, layer by layer, on any number of threads.
//!
//! A layer is a range of each thread's arena. Threads take pieces of it until it is used up; the set of states of the
//! next layer is the same for any number of threads. A layer is always finished before a violation found in it is
//! reported, so the reported one is the same too, and its trace is shortest.

use super::Search;
use super::{liveness, path};
use crate::finding::Finding;
use crate::lane::{Lane, Parents, take_finding, total_covers};
use crate::report::{Layer, Report, StopReason, Verdict, Violation, ViolationKind};
use hadal_store::OverBudget;
use hadal_store::table::{StateRef, StateTable};
use hadal_system::PropertyKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// States a thread takes at a time.
const PIECE: u64 = 512;
/// Layers below this size are expanded by one thread: waking others costs more.
const SHARED_FROM: u64 = 2048;

/// The part of one arena that belongs to a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) writer: usize,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// How the expansion of a layer ended.
enum Expanded {
    Whole,
    Stopped(StopReason),
}

/// Explores breadth-first until everything is seen, something is wrong, or a limit is met.
pub fn explore(search: &Search) -> Report {
    let writers = search.threads.max(1);
    let table = match StateTable::new(search.task.space.words(), 0, writers, search.governor) {
        Ok(table) => table,
        Err(full) => return nothing_fits(search, full),
    };
    let mut lanes: Vec<Lane> = (0..writers).map(|n| Lane::new(search.task, n, Parents::Forgotten)).collect();
    let mut walk = Walk { search, table: &table, starts: vec![0; writers], layers: Vec::new() };
    let verdict = walk.run(&mut lanes);
    let transitions = lanes.iter().map(|lane| lane.transitions).sum();
    let depth = walk.layer_ranges().take_while(|layer| !layer.is_empty()).count().saturating_sub(1) as u64;
    Report {
        verdict,
        states: table.len(),
        transitions,
        depth: Some(depth),
        covers: total_covers(&lanes, search.task.space.properties().len()),
        layers: walk.layers,
        peak_memory: search.governor.peak(),
    }
}

fn nothing_fits(search: &Search, full: OverBudget) -> Report {
    Report {
        verdict: Verdict::Stopped(StopReason::Memory { needed: full.limit.saturating_add(full.asked) }),
        states: 0,
        transitions: 0,
        depth: Some(0),
        layers: Vec::new(),
        covers: vec![0; search.task.space.properties().len()],
        peak_memory: search.governor.peak(),
    }
}

struct Walk<'a> {
    search: &'a Search<'a>,
    table: &'a StateTable,
    /// For each layer, how long each arena was when it began (one number per writer). The last row begins the layer
    /// being built.
    starts: Vec<u64>,
    layers: Vec<Layer>,
}

impl<'a> Walk<'a> {
    fn run(&mut self, lanes: &mut [Lane<'a>]) -> Verdict {
        if let Err(full) = lanes[0].start(self.table) {
            return self.out_of_memory(full);
        }
        loop {
            let layer = self.close_layer();
            let depth = self.layers.len() as u64;
            if let Some(finding) = take_finding(lanes) {
                return self.violated(finding);
            }
            let width: u64 = layer.iter().map(|r| r.to - r.from).sum();
            if width == 0 {
                break;
            }
            if self.search.task.control.limits.max_depth.is_some_and(|max| depth >= max) {
                return Verdict::Stopped(StopReason::DepthLimit);
            }
            let before: u64 = lanes.iter().map(|l| l.transitions).sum();
            match self.expand(&layer, depth, width, lanes) {
                Expanded::Whole => {}
                Expanded::Stopped(reason) => {
                    // What was found so far is real, even if the layer is not complete.
                    return match take_finding(lanes) {
                        Some(finding) => self.violated(finding),
                        None => Verdict::Stopped(reason),
                    };
                }
            }
            let after: u64 = lanes.iter().map(|l| l.transitions).sum();
            self.layers.push(Layer { states: width, transitions: after - before });
        }
        self.complete(lanes)
    }

    /// The whole space has been seen: what remains are questions about all of it.
    fn complete(&mut self, lanes: &[Lane]) -> Verdict {
        let properties = self.search.task.space.properties();
        for liveness in self.search.task.question.of_kind(properties, PropertyKind::Liveness) {
            match liveness::find_trap(
                self.search,
                self.table,
                &self.layer_ranges().collect::<Vec<_>>(),
                liveness,
            ) {
                liveness::Answer::Holds => {}
                liveness::Answer::Trap(state) => {
                    return self.violated(Finding { kind: ViolationKind::Liveness(liveness), state });
                }
                liveness::Answer::Fault(state) => {
                    return self.violated(Finding { kind: ViolationKind::PropertyFault(liveness), state });
                }
                liveness::Answer::Stopped(reason) => return Verdict::Stopped(reason),
            }
        }
        let covers = total_covers(lanes, properties.len());
        for cover in self.search.task.question.of_kind(properties, PropertyKind::Cover) {
            if covers[cover.0 as usize] == 0 {
                let kind = ViolationKind::Uncovered(cover);
                return Verdict::Violated(Violation { kind, path: Vec::new(), shortest: true });
            }
        }
        Verdict::Holds
    }

    /// Ends the layer that was being built and begins the next.
    fn close_layer(&mut self) -> Vec<Range> {
        self.starts.extend((0..self.table.writers()).map(|w| self.table.added_by(w)));
        self.layer_ranges().next_back().unwrap_or_default()
    }

    /// All closed layers, the first first.
    fn layer_ranges(&self) -> impl DoubleEndedIterator<Item = Vec<Range>> {
        let writers = self.table.writers();
        let rows = self.starts.len() / writers;
        (1..rows).map(move |n| {
            ranges(&self.starts[(n - 1) * writers..n * writers], &self.starts[n * writers..(n + 1) * writers])
        })
    }

    fn expand(&self, layer: &[Range], depth: u64, width: u64, lanes: &mut [Lane<'a>]) -> Expanded {
        let control = self.search.task.control;
        control.gauges.depth.store(depth, Ordering::Relaxed);
        control.gauges.frontier.store(width, Ordering::Relaxed);
        control.gauges.expanded.store(0, Ordering::Relaxed);
        let next = AtomicU64::new(0);
        let stop: Mutex<Option<StopReason>> = Mutex::new(None);
        let work = |lane: &mut Lane<'a>| {
            while let Some(piece) = take_piece(layer, &next) {
                control.gauges.states.store(self.table.len(), Ordering::Relaxed);
                let ended = match control.must_stop(self.table.len()) {
                    Some(reason) => Some(reason),
                    None => match self.expand_piece(lane, piece) {
                        Ok(()) => None,
                        Err((_, full)) => Some(StopReason::Memory { needed: needed(full) }),
                    },
                };
                if let Some(reason) = ended {
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    stop.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(reason);
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
        match stop.into_inner().unwrap_or_else(|e| e.into_inner()) {
            None => Expanded::Whole,
            Some(reason) => Expanded::Stopped(reason),
        }
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

    fn out_of_memory(&self, full: OverBudget) -> Verdict {
        Verdict::Stopped(StopReason::Memory { needed: needed(full) })
    }
}

fn needed(full: OverBudget) -> u64 {
    full.limit.saturating_add(full.asked.max(full.limit / 2))
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
pub(super) fn take_piece(layer: &[Range], next: &AtomicU64) -> Option<Range> {
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
