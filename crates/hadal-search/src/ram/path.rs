//! Shortest paths without parent pointers: from the end, layer by layer, look for a state that leads on.

use super::layer::{Range, take_piece};
use hadal_store::table::{StateRef, StateTable};
use hadal_system::state::compare;
use hadal_system::{StateSpace, Successors};
use std::cmp::Ordering::Less;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// The states from an initial one to `target`, which lies in one of the `layers`.
pub(super) fn shortest(
    space: &dyn StateSpace,
    threads: usize,
    (table, layers): (&StateTable, &[Vec<Range>]),
    target: Vec<u64>,
) -> Vec<Vec<u64>> {
    let depth = table.find(&target).and_then(|at| layers.iter().position(|layer| contains(layer, at)));
    let mut path = vec![target];
    for layer in layers[..depth.unwrap_or(0)].iter().rev() {
        // Every state of a layer has a predecessor in the one before, so the search cannot come back empty.
        let Some(previous) = predecessor(space, threads, (table, layer), &path[path.len() - 1]) else {
            break;
        };
        path.push(previous);
    }
    path.reverse();
    path
}

fn contains(layer: &[Range], at: StateRef) -> bool {
    layer.iter().any(|r| r.writer == at.writer() && (r.from..r.to).contains(&at.number()))
}

/// The least state of `layer`, in packed order, that leads to `target`: the same for any number of threads.
fn predecessor(
    space: &dyn StateSpace,
    threads: usize,
    (table, layer): (&StateTable, &[Range]),
    target: &[u64],
) -> Option<Vec<u64>> {
    let best: Mutex<Option<Vec<u64>>> = Mutex::new(None);
    let next = AtomicU64::new(0);
    let work = || {
        let mut worker = space.worker();
        let mut out = Successors::new(table.words());
        let mut own: Option<&[u64]> = None;
        while let Some(piece) = take_piece(layer, &next) {
            for number in piece.from..piece.to {
                let state = table.nth(piece.writer, number);
                if own.is_some_and(|held| compare(held, state) == Less) {
                    continue;
                }
                out.clear();
                worker.successors(state, &mut out);
                if out.iter().any(|(_, successor)| successor == target) {
                    own = Some(state);
                }
            }
        }
        if let Some(state) = own {
            let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
            if best.as_ref().is_none_or(|held| compare(state, held) == Less) {
                *best = Some(state.to_vec());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
    best.into_inner().unwrap_or_else(|e| e.into_inner())
}
