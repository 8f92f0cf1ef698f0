//! The expansion of one layer of a table, in pieces that threads take until it is used up or the step's work is done.

use super::breadth::TRANSITION_WORK;
use super::merging::MergingWriter;
use crate::control::Control;
use crate::lane::{Lane, Sink, has_found};
use crate::report::{StopReason, Verdict};
use hadal_store::OverBudget;
use hadal_store::table::StateTable;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// States a thread takes at a time, at least and at most, and pieces of a layer between: the last ones are short, so that no
/// thread waits long for another.
const LEAST_PIECE: u64 = 64;
const PIECE: u64 = 512;
const PIECES: u64 = 64;
/// Layers below this size are expanded by one thread: waking others costs more.
const SHARED_FROM: u64 = 2048;
/// A position past the end of any layer.
const NO_MORE: u64 = u64::MAX / 2;

/// The part of one arena that belongs to a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) writer: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// How a walk, or the expansion of one layer, ended.
pub(crate) enum LayerEnd {
    /// Nothing is left to expand.
    Whole,
    /// The answer is known.
    Decided(Verdict),
    /// A limit other than memory.
    Stopped(StopReason),
    /// The table is full. These pieces of the layer are not expanded; batches may wait in the lanes.
    Full(Vec<Range>, OverBudget),
}

/// Where an expansion paused.
pub(super) enum Paused {
    /// There is more of the layer.
    Within,
    /// At its end, or at the end of the search.
    AtEnd(LayerEnd),
}

/// A layer being expanded.
pub(super) struct Expanding {
    layer: Vec<Range>,
    depth: u64,
    /// Where the layer being found begins in each arena.
    found_from: Vec<u64>,
    pub(super) width: u64,
    /// The first position that nobody has taken.
    next: AtomicU64,
    /// Transitions fired and states known before it.
    pub(super) before: (u64, u64),
    /// Seconds spent so far.
    pub(super) seconds: f64,
}

impl Expanding {
    /// None of `layer` yet, which is at this depth; so many transitions are fired and states known.
    pub(super) fn new((layer, depth): (Vec<Range>, u64), found_from: Vec<u64>, before: (u64, u64)) -> Self {
        let width = layer.iter().map(|r| r.to - r.from).sum();
        Expanding { layer, depth, found_from, width, next: AtomicU64::new(0), before, seconds: 0.0 }
    }

    pub(super) fn is_begun(&self) -> bool {
        self.next.load(Ordering::Relaxed) > 0
    }

    /// Expands pieces on all lanes until this much work is done, at least one each.
    pub(super) fn expand(
        &mut self,
        control: &Control,
        table: &mut StateTable,
        lanes: &mut [Lane],
        work: u64,
    ) -> Paused {
        let begun = Instant::now();
        if !self.is_begun() {
            control.gauges.begin_layer(self.depth, self.width);
            control.gauges.expanded.store(0, Ordering::Relaxed);
        }
        let found_from = std::mem::take(&mut self.found_from);
        let paused = if table.payload().words == 0 {
            let (table, writers) = table.share();
            self.expand_into((table, writers), control, lanes, work)
        } else {
            self.expand_into(MergingWriter::share(table, &found_from), control, lanes, work)
        };
        self.found_from = found_from;
        self.seconds += begun.elapsed().as_secs_f64();
        paused
    }

    /// The same, into one sink for each lane.
    fn expand_into(
        &self,
        (table, mut sinks): (&StateTable, Vec<impl Sink>),
        control: &Control,
        lanes: &mut [Lane],
        work: u64,
    ) -> Paused {
        let next = &self.next;
        let fired = AtomicU64::new(0);
        let ended: Mutex<LayerEnd> = Mutex::new(LayerEnd::Whole);
        let found = AtomicBool::new(has_found(lanes));
        let layer = &self.layer;
        let expand = |(lane, sink): (&mut Lane, &mut _)| {
            while let Some(piece) = take_piece(layer, next) {
                control.gauges.states.store(table.len(), Ordering::Relaxed);
                found.fetch_or(lane.finding.is_some(), Ordering::Relaxed);
                // Where something is wrong, the layer is finished rather than a number of states kept.
                let limit = control.must_stop(table.len());
                let waived = limit == Some(StopReason::StateLimit) && found.load(Ordering::Relaxed);
                if let Some(reason) = limit.filter(|_| !waived) {
                    next.store(NO_MORE, Ordering::Relaxed);
                    *ended.lock().unwrap_or_else(|e| e.into_inner()) = LayerEnd::Stopped(reason);
                    return;
                }
                let before = lane.transitions;
                if let Err((done, full)) = expand_piece(lane, table, sink, piece) {
                    // Whoever is first takes all pieces that nobody has begun.
                    let untaken = AtomicU64::new(next.swap(NO_MORE, Ordering::Relaxed));
                    let mut left = vec![Range { from: piece.from + done, ..piece }];
                    left.extend(std::iter::from_fn(|| take_piece(layer, &untaken)));
                    let mut ended = ended.lock().unwrap_or_else(|e| e.into_inner());
                    match &mut *ended {
                        LayerEnd::Full(pieces, _) => pieces.append(&mut left),
                        other => *other = LayerEnd::Full(left, full),
                    }
                    return;
                }
                let here = lane.transitions - before;
                let fired = fired.fetch_add(here, Ordering::Relaxed) + here;
                if fired * TRANSITION_WORK >= work {
                    return;
                }
            }
        };
        let threads = if self.width < SHARED_FROM { 1 } else { lanes.len() };
        let mut each = lanes.iter_mut().zip(&mut sinks).take(threads);
        let own = each.next();
        std::thread::scope(|scope| {
            for lane in each {
                scope.spawn(|| expand(lane));
            }
            // This thread would only wait.
            own.map(&expand);
        });
        match ended.into_inner().unwrap_or_else(|e| e.into_inner()) {
            LayerEnd::Whole if self.has_more() => Paused::Within,
            ended => Paused::AtEnd(ended),
        }
    }

    fn has_more(&self) -> bool {
        let piece = piece_of(&self.layer);
        let pieces = |range: &Range| (range.to - range.from).next_multiple_of(piece);
        self.next.load(Ordering::Relaxed) < self.layer.iter().map(pieces).sum()
    }
}

fn expand_piece(
    lane: &mut Lane,
    table: &StateTable,
    sink: &mut impl Sink,
    piece: Range,
) -> Result<(), (u64, OverBudget)> {
    let (keeps_payloads, words) = (table.payload().words > 0, table.words());
    let mut states = Vec::new();
    table.copy_states(piece.writer, piece.from, piece.to, &mut states);
    if !keeps_payloads && lane.is_plain() {
        return lane.expand_plain(sink, &states);
    }
    lane.expand(sink, piece.to - piece.from, |n, payload| {
        if keeps_payloads {
            table.copy_payload(piece.writer, piece.from + n, payload);
        }
        (&states[n as usize * words..][..words], 0)
    })
}

pub(super) fn ranges(from: &[u64], to: &[u64]) -> Vec<Range> {
    from.iter()
        .zip(to)
        .enumerate()
        .filter(|(_, (from, to))| from < to)
        .map(|(writer, (&from, &to))| Range { writer, from, to })
        .collect()
}

/// States of a piece of this layer.
fn piece_of(layer: &[Range]) -> u64 {
    let width: u64 = layer.iter().map(|range| range.to - range.from).sum();
    (width / PIECES).clamp(LEAST_PIECE, PIECE)
}

/// Takes the next piece of a layer that nobody has taken.
pub(crate) fn take_piece(layer: &[Range], next: &AtomicU64) -> Option<Range> {
    let piece = piece_of(layer);
    let mut at = next.fetch_add(piece, Ordering::Relaxed);
    for range in layer {
        // Pieces are cut per range, each range rounded up to whole pieces.
        let length = (range.to - range.from).next_multiple_of(piece);
        if at < length {
            let from = range.from + at;
            return Some(Range { writer: range.writer, from, to: range.to.min(from + piece) });
        }
        at -= length;
    }
    None
}
