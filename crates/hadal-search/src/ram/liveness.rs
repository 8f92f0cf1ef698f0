//! Liveness as Rumur means it (AG EF): from every reachable state, a state with the property can be reached.
//!
//! After a complete exploration the states are marked from which the property can be reached: first those that have
//! it, then, sweeping from the deepest layer to the first until nothing changes, those with a marked successor.

use super::Search;
use super::breadth::{Range, take_piece};
use crate::report::StopReason;
use hadal_store::table::{StateRef, StateTable};
use hadal_system::state::compare;
use hadal_system::{PropertyId, Successors};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) enum Answer {
    Holds,
    /// From this state the property cannot be reached.
    Trap(Vec<u64>),
    /// Evaluating the property in this state meets an error.
    Fault(Vec<u64>),
    Stopped(StopReason),
}

struct Marks {
    by_writer: Vec<Vec<AtomicU64>>,
}

impl Marks {
    fn get(&self, at: StateRef) -> bool {
        let bits = self.by_writer[at.writer()][(at.number() / 64) as usize].load(Ordering::Relaxed);
        bits >> (at.number() % 64) & 1 == 1
    }

    fn set(&self, at: StateRef) {
        self.by_writer[at.writer()][(at.number() / 64) as usize]
            .fetch_or(1 << (at.number() % 64), Ordering::Relaxed);
    }
}

pub(super) fn find_trap(
    search: &Search,
    table: &StateTable,
    layers: &[Vec<Range>],
    property: PropertyId,
) -> Answer {
    let bytes: u64 = (0..table.writers()).map(|w| table.added_by(w) / 8 + 8).sum();
    let Ok(_reserved) = search.governor.try_reserve(bytes, "liveness marks") else {
        return Answer::Stopped(StopReason::Memory { needed: search.governor.limit().saturating_add(bytes) });
    };
    let by_writer = (0..table.writers())
        .map(|w| (0..table.added_by(w) / 64 + 1).map(|_| AtomicU64::new(0)).collect())
        .collect();
    let marks = Marks { by_writer };
    let faults: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());
    for layer in layers {
        in_parallel(search, layer, |pieces| {
            let mut worker = search.task.space.worker();
            for at in pieces {
                match worker.satisfies(table.state(at), property) {
                    Some(true) => marks.set(at),
                    Some(false) => {}
                    None => faults.lock().unwrap_or_else(|e| e.into_inner()).push(table.state(at).to_vec()),
                }
            }
        });
        let faults = std::mem::take(&mut *faults.lock().unwrap_or_else(|e| e.into_inner()));
        if let Some(least) = faults.into_iter().min_by(|a, b| compare(a, b)) {
            return Answer::Fault(least);
        }
    }
    loop {
        let changed = AtomicBool::new(false);
        for layer in layers.iter().rev() {
            if let Some(reason) = search.task.control.must_stop(0) {
                return Answer::Stopped(reason);
            }
            in_parallel(search, layer, |pieces| {
                let mut worker = search.task.space.worker();
                let mut out = Successors::new(table.words());
                for at in pieces.filter(|&at| !marks.get(at)) {
                    out.clear();
                    worker.successors(table.state(at), &mut out);
                    if out.iter().any(|(_, s)| table.find(s).is_some_and(|to| marks.get(to))) {
                        marks.set(at);
                        changed.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        if !changed.into_inner() {
            break;
        }
    }
    for layer in layers {
        let traps = layer
            .iter()
            .flat_map(|r| (r.from..r.to).map(|n| StateRef::at(r.writer, n)))
            .filter(|&at| !marks.get(at))
            .map(|at| table.state(at));
        if let Some(least) = traps.min_by(|a, b| compare(a, b)) {
            return Answer::Trap(least.to_vec());
        }
    }
    Answer::Holds
}

/// Runs `work` over the states of a layer, shared out over the threads.
fn in_parallel(search: &Search, layer: &[Range], work: impl Fn(&mut dyn Iterator<Item = StateRef>) + Sync) {
    let next = AtomicU64::new(0);
    let run = || {
        let mut states = std::iter::from_fn(|| take_piece(layer, &next))
            .flat_map(|piece| (piece.from..piece.to).map(move |n| StateRef::at(piece.writer, n)));
        work(&mut states);
    };
    std::thread::scope(|scope| {
        for _ in 1..search.threads.max(1) {
            scope.spawn(run);
        }
        run();
    });
}
