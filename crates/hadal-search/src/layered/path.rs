//! Shortest paths through the journal: from the end, layer by layer, look for a state that leads on.

use super::Trouble;
use super::journal::Journal;
use crate::exchange::{Mailbox, Said, Stops, Words};
use crate::explore::Progress;
use crate::lane::SearchTask;
use crate::resting::{Early, Reins};
use hadal_store::Governor;
use hadal_store::vfs::at_once;
use hadal_system::Successors;
use hadal_system::state::compare;
use std::cmp::Ordering::Less;
use std::sync::Mutex;

/// What firing a transition to look at its target counts as: about nanoseconds.
const TRANSITION_WORK: u64 = 80;
/// States that a thread looks at between two moments at which the search may rest.
const PORTION: usize = 1 << 12;

/// The states from an initial one to `target`, which lies at distance `depth`; where layers are deleted, from the first
/// layer that is there.
pub(crate) async fn shortest(
    task: SearchTask<'_>,
    (journal, threads): (&Journal, usize),
    (depth, target): (usize, Vec<u64>),
    reins: &Reins<'_>,
) -> Result<Vec<Vec<u64>>, Early> {
    let mut path = vec![target];
    for layer in (0..depth).rev() {
        let found = predecessor(task, (journal, threads), (layer, &path[path.len() - 1]), reins).await?;
        // Every state of a layer has a predecessor in the one before, unless that is deleted.
        let Some(previous) = found else { break };
        path.push(previous);
    }
    path.reverse();
    Ok(path)
}

/// The same of workers that have a part of every layer each: all look in theirs, and the least state counts.
pub(crate) async fn shortest_of_all(
    task: SearchTask<'_>,
    (journal, mailbox, threads): (&Journal, &mut Mailbox<'_>, usize),
    (depth, target): (usize, Vec<u64>),
    reins: &Reins<'_>,
) -> Result<Vec<Vec<u64>>, Early> {
    let mut path = vec![target];
    for layer in (0..depth).rev() {
        let own = predecessor(task, (journal, threads), (layer, &path[path.len() - 1]), reins).await;
        let (own, stopped) = match own {
            Ok(own) => (own.unwrap_or_default(), None),
            Err(Early::Stopped(reason)) => (Vec::new(), Some(reason)),
            Err(trouble) => return Err(trouble),
        };
        let said = Said::default().stop(stopped.as_ref()).list(&own).into_words();
        let (mut stops, mut least): (_, Option<Vec<u64>>) = (Stops::default(), None);
        for words in &mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            stops.add(&mut words);
            let state = words.list();
            if !state.is_empty() && least.as_ref().is_none_or(|least| compare(state, least) == Less) {
                least = Some(state.to_vec());
            }
        }
        if let Some(reason) = stops.reason() {
            return Err(Early::Stopped(reason));
        }
        let Some(previous) = least else { break };
        path.push(previous);
    }
    path.reverse();
    Ok(path)
}

/// The same for those who do not rest; ends early where the search is asked to.
pub(crate) fn shortest_at_once(
    task: SearchTask<'_>,
    (journal, threads): (&Journal, usize),
    target: (usize, Vec<u64>),
    governor: &Governor,
) -> Result<Vec<Vec<u64>>, Trouble> {
    let reins = Reins::new(task.control, governor, Progress::NOTHING);
    reins.found();
    at_once(shortest(task, (journal, threads), target, &reins)).map_err(Early::trouble)
}

/// The first state of the layer, in packed order, that leads to `target`.
async fn predecessor(
    task: SearchTask<'_>,
    (journal, threads): (&Journal, usize),
    (layer, target): (usize, &[u64]),
    reins: &Reins<'_>,
) -> Result<Option<Vec<u64>>, Early> {
    let words = task.space.words();
    let mut reader = journal.reader(layer)?;
    let mut block = Vec::new();
    let mut workers: Vec<_> =
        (0..threads.max(1)).map(|_| (task.space.worker(), Successors::new(words))).collect();
    while reader.next_block(&mut block)? {
        for portion in block.chunks(PORTION * workers.len() * words) {
            reins.rest().await.map_err(Early::Stopped)?;
            let best: Mutex<Option<&[u64]>> = Mutex::new(None);
            let share = (portion.len() / words).div_ceil(workers.len()).max(1) * words;
            let look = |(worker, out): &mut (Box<dyn hadal_system::Worker + '_>, Successors),
                        part: &[u64]|
             -> Option<usize> {
                let mut fired = 0;
                let found = part.chunks_exact(words).position(|state| {
                    out.clear();
                    worker.successors(state, out);
                    fired += out.len() as u64;
                    out.iter().any(|(_, successor)| successor == target)
                });
                reins.count(fired * TRANSITION_WORK);
                found
            };
            std::thread::scope(|scope| {
                for (worker, part) in workers.iter_mut().zip(portion.chunks(share)) {
                    let (best, look) = (&best, &look);
                    let mut keep = move || {
                        if let Some(at) = look(worker, part) {
                            let state = &part[at * words..(at + 1) * words];
                            let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
                            if best.is_none_or(|held| compare(state, held) == Less) {
                                *best = Some(state);
                            }
                        }
                    };
                    match threads {
                        0 | 1 => keep(),
                        _ => drop(scope.spawn(keep)),
                    }
                }
            });
            if let Some(state) = best.into_inner().unwrap_or_else(|e| e.into_inner()) {
                return Ok(Some(state.to_vec()));
            }
        }
    }
    Ok(None)
}
