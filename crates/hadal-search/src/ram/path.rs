//! Shortest paths without parent pointers: from the end, layer by layer, look for a state that leads on.

use super::breadth::TRANSITION_WORK;
use super::layer::{Range, take_piece};
use crate::lane::SearchTask;
use crate::report::StopReason;
use crate::resting::Reins;
use hadal_store::table::{StateRef, StateTable};
use hadal_system::state::compare;
use hadal_system::{Successors, Worker};
use std::cmp::Ordering::Less;
use std::sync::atomic::{AtomicU64, Ordering};

/// States that a thread looks at between two moments at which the search may rest.
const PORTION: u64 = 1 << 12;
/// Layers below this size are looked at by one thread.
const SHARED_FROM: u64 = 2048;

/// What one thread looks for predecessors with.
struct Looking<'a> {
    worker: Box<dyn Worker + 'a>,
    out: Successors,
    /// Those of a piece of a layer.
    states: Vec<u64>,
    /// The least one it has met in a layer.
    least: Option<Vec<u64>>,
}

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
    let looking = |_| Looking {
        worker: task.space.worker(),
        out: Successors::new(table.words()),
        states: Vec::new(),
        least: None,
    };
    let mut looking: Vec<Looking> = (0..threads.max(1)).map(looking).collect();
    for layer in layers[..depth.unwrap_or(0)].iter().rev() {
        // Every state of a layer has a predecessor in the one before, so the search cannot come back empty.
        let found = predecessor((table, layer), &path[path.len() - 1], &mut looking, reins).await?;
        let Some(previous) = found else { break };
        path.push(previous);
    }
    path.reverse();
    Ok(path)
}

fn contains(layer: &[Range], at: StateRef) -> bool {
    layer.iter().any(|r| r.writer == at.writer() && (r.from..r.to).contains(&at.number()))
}

/// The least state of `layer`, in packed order, that leads to `target`: the same for any number of threads.
async fn predecessor(
    (table, layer): (&StateTable, &[Range]),
    target: &[u64],
    looking: &mut [Looking<'_>],
    reins: &Reins<'_>,
) -> Result<Option<Vec<u64>>, StopReason> {
    let next = AtomicU64::new(0);
    let width: u64 = layer.iter().map(|range| range.to - range.from).sum();
    let threads = if width < SHARED_FROM { 1 } else { looking.len() };
    looking.iter_mut().for_each(|one| one.least = None);
    let seen = AtomicU64::new(0);
    loop {
        reins.rest().await?;
        let until = seen.load(Ordering::Relaxed) + reins.allows(TRANSITION_WORK, PORTION * threads as u64);
        let look = |one: &mut Looking| {
            let mut fired = 0;
            while seen.load(Ordering::Relaxed) < until
                && let Some(piece) = take_piece(layer, &next)
            {
                seen.fetch_add(piece.to - piece.from, Ordering::Relaxed);
                one.states.clear();
                table.copy_states(piece.writer, piece.from, piece.to, &mut one.states);
                for state in one.states.chunks_exact(table.words()) {
                    if one.least.as_ref().is_some_and(|held| compare(held, state) == Less) {
                        continue;
                    }
                    one.out.clear();
                    one.worker.successors(state, &mut one.out);
                    fired += one.out.len() as u64;
                    if one.out.iter().any(|(_, successor)| successor == target) {
                        one.least = Some(state.to_vec());
                    }
                }
            }
            reins.count(fired * TRANSITION_WORK);
        };
        match &mut looking[..threads] {
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
    Ok(looking.iter_mut().filter_map(|one| one.least.take()).min_by(|a, b| compare(a, b)))
}
