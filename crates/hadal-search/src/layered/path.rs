//! Shortest paths through the journal: from the end, layer by layer, look for a state that leads on.

use super::Trouble;
use super::journal::Journal;
use crate::lane::SearchTask;
use hadal_system::Successors;
use hadal_system::state::compare;
use std::cmp::Ordering::Less;
use std::sync::Mutex;

/// The states from an initial one to `target`, which lies at distance `depth`; where layers are deleted, from the first
/// layer that is there.
pub(crate) fn shortest(
    task: SearchTask,
    journal: &Journal,
    threads: usize,
    depth: usize,
    target: Vec<u64>,
) -> Result<Vec<Vec<u64>>, Trouble> {
    let mut path = vec![target];
    for layer in (0..depth).rev() {
        let found = predecessor(task, journal, threads, layer, &path[path.len() - 1])?;
        // Every state of a layer has a predecessor in the one before, unless that is deleted.
        let Some(previous) = found else { break };
        path.push(previous);
    }
    path.reverse();
    Ok(path)
}

/// The first state of the layer, in packed order, that leads to `target`.
fn predecessor(
    task: SearchTask,
    journal: &Journal,
    threads: usize,
    layer: usize,
    target: &[u64],
) -> Result<Option<Vec<u64>>, Trouble> {
    let words = task.space.words();
    let mut reader = journal.reader(layer)?;
    let mut block = Vec::new();
    let mut workers: Vec<_> =
        (0..threads.max(1)).map(|_| (task.space.worker(), Successors::new(words))).collect();
    while reader.next_block(&mut block)? {
        let best: Mutex<Option<&[u64]>> = Mutex::new(None);
        let share = (block.len() / words).div_ceil(workers.len()).max(1) * words;
        let look = |(worker, out): &mut (Box<dyn hadal_system::Worker + '_>, Successors),
                    part: &[u64]|
         -> Option<usize> {
            part.chunks_exact(words).position(|state| {
                out.clear();
                worker.successors(state, out);
                out.iter().any(|(_, successor)| successor == target)
            })
        };
        std::thread::scope(|scope| {
            for (worker, part) in workers.iter_mut().zip(block.chunks(share)) {
                let (best, look) = (&best, &look);
                scope.spawn(move || {
                    if let Some(at) = look(worker, part) {
                        let state = &part[at * words..(at + 1) * words];
                        let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
                        if best.is_none_or(|held| compare(state, held) == Less) {
                            *best = Some(state);
                        }
                    }
                });
            }
        });
        if let Some(state) = best.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Ok(Some(state.to_vec()));
        }
    }
    Ok(None)
}
