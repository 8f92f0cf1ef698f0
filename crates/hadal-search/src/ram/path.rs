//! Shortest paths without parent pointers: from the end, layer by layer, look for a state that leads on.

use super::breadth::TRANSITION_WORK;
use super::layer::{Range, take_piece};
use crate::lane::SearchTask;
use crate::nearest::{Firing, LOOK_WORK, Nearest};
use crate::report::StopReason;
use crate::resting::Reins;
use hadal_store::table::{StateRef, StateTable};
use std::sync::atomic::{AtomicU64, Ordering};

/// States that a thread looks at between two moments at which the search may rest.
const PORTION: u64 = 1 << 12;
/// Layers below this size are looked at by one thread.
const SHARED_FROM: u64 = 2048;

/// The states from an initial one to `target`, which lies in one of the `layers`.
pub(super) async fn shortest(
    task: SearchTask<'_>,
    threads: usize,
    (table, layers): (&StateTable, &[Vec<Range>]),
    target: Vec<u64>,
    reins: &Reins<'_>,
) -> Result<Vec<Vec<u64>>, StopReason> {
    let depth = table.find(&target).and_then(|at| layers.iter().position(|layer| contains(layer, at)));
    let mut path = vec![target];
    let mut firing = Firing::each(task, threads);
    for layer in layers[..depth.unwrap_or(0)].iter().rev() {
        // Every state of a layer has a predecessor in the one before, so the search cannot come back empty.
        let target = &path[path.len() - 1];
        let found = predecessor((table, layer), target, &mut firing, reins).await?;
        let Some(previous) = found else { break };
        path.push(previous);
    }
    path.reverse();
    Ok(path)
}

fn contains(layer: &[Range], at: StateRef) -> bool {
    layer.iter().any(|r| r.writer == at.writer() && (r.from..r.to).contains(&at.number()))
}

/// The predecessor of `target` in the layer, nearest states first.
async fn predecessor(
    (table, layer): (&StateTable, &[Range]),
    target: &[u64],
    firing: &mut [Firing<'_>],
    reins: &Reins<'_>,
) -> Result<Option<Vec<u64>>, StopReason> {
    let width: u64 = layer.iter().map(|range| range.to - range.from).sum();
    let threads = if width < SHARED_FROM { 1 } else { firing.len() };
    let (next, mut states, mut nearest) = (AtomicU64::new(0), Vec::new(), Nearest::to(target));
    while let Some(piece) = take_piece(layer, &next) {
        reins.rest().await?;
        states.clear();
        table.copy_states(piece.writer, piece.from, piece.to, &mut states);
        states.chunks_exact(table.words()).for_each(|state| nearest.offer(state));
        reins.count((piece.to - piece.from) * LOOK_WORK);
    }
    if let Some(found) = nearest.first(|state| firing[0].leads_on(state, target)) {
        reins.count(firing[0].take_fired() * TRANSITION_WORK);
        return Ok(Some(found.state));
    }
    // A step that changes much, as a state and its canonical form differ in much: all are asked.
    let (next, seen) = (AtomicU64::new(0), AtomicU64::new(0));
    loop {
        reins.rest().await?;
        let until = seen.load(Ordering::Relaxed) + reins.allows(TRANSITION_WORK, PORTION * threads as u64);
        let look = |one: &mut Firing| {
            let mut states = Vec::new();
            while seen.load(Ordering::Relaxed) < until
                && let Some(piece) = take_piece(layer, &next)
            {
                seen.fetch_add(piece.to - piece.from, Ordering::Relaxed);
                states.clear();
                table.copy_states(piece.writer, piece.from, piece.to, &mut states);
                one.look(&states, target);
            }
            reins.count(one.take_fired() * TRANSITION_WORK);
        };
        match &mut firing[..threads] {
            [only] => look(only),
            several => std::thread::scope(|scope| {
                for one in several {
                    scope.spawn(|| look(one));
                }
            }),
        }
        if seen.load(Ordering::Relaxed) >= width {
            break;
        }
    }
    Ok(Firing::take_best(firing))
}
