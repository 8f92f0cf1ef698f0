//! Shortest paths through the journal: from the end, layer by layer, look for a state that leads on, near ones first.

use super::Trouble;
use super::journal::Journal;
use crate::exchange::{Mailbox, Said, Stops, Words};
use crate::explore::Progress;
use crate::lane::SearchTask;
use crate::nearest::{Firing, LOOK_WORK, Nearest, Predecessor, distance};
use crate::resting::{Early, Reins};
use hadal_store::Governor;
use hadal_store::vfs::at_once;

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
    let (mut path, mut firing) = (vec![target], Firing::each(task, threads));
    for layer in (0..depth).rev() {
        let found = predecessor(journal, (layer, &path[path.len() - 1]), &mut firing, reins).await?;
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
    let (mut path, mut firing) = (vec![target], Firing::each(task, threads));
    for layer in (0..depth).rev() {
        let target = &path[path.len() - 1];
        let (own, stopped) = match predecessor(journal, (layer, target), &mut firing, reins).await {
            Ok(own) => (own.unwrap_or_default(), None),
            Err(Early::Stopped(reason)) => (Vec::new(), Some(reason)),
            Err(trouble) => return Err(trouble),
        };
        let said = Said::default().stop(stopped.as_ref()).list(&own).into_words();
        let (mut stops, mut nearest) = (Stops::default(), None);
        for words in &mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            stops.add(&mut words);
            let state = words.list();
            if !state.is_empty() {
                let distance = distance(state, target);
                Predecessor::offer(&mut nearest, Predecessor { distance, state: state.to_vec() });
            }
        }
        if let Some(reason) = stops.reason() {
            return Err(Early::Stopped(reason));
        }
        let Some(previous) = nearest else { break };
        path.push(previous.state);
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

/// What is kept beside a state of this layer.
pub(crate) fn payload_of(
    journal: &Journal,
    depth: usize,
    state: &[u64],
) -> Result<Option<Vec<u64>>, Trouble> {
    let shape = journal.shape();
    if shape.payload_words() == 0 {
        return Ok(None);
    }
    let (mut reader, mut block) = (journal.reader(depth)?, Vec::new());
    while reader.next_records(&mut block)? {
        let mut records = block.chunks_exact(shape.stride());
        if let Some(record) = records.find(|record| shape.state(record) == state) {
            return Ok(Some(record[..shape.payload_words()].to_vec()));
        }
    }
    Ok(None)
}

/// The predecessor of `target` in the layer, nearest states first.
async fn predecessor(
    journal: &Journal,
    (layer, target): (usize, &[u64]),
    firing: &mut [Firing<'_>],
    reins: &Reins<'_>,
) -> Result<Option<Vec<u64>>, Early> {
    let words = journal.words();
    let (mut reader, mut block) = (journal.reader(layer)?, Vec::new());
    let mut nearest = Nearest::to(target);
    while reader.next_block(&mut block)? {
        reins.rest().await.map_err(Early::Stopped)?;
        block.chunks_exact(words).for_each(|state| nearest.offer(state));
        reins.count((block.len() / words) as u64 * LOOK_WORK);
    }
    if let Some(found) = nearest.first(|state| firing[0].leads_on(state, target)) {
        reins.count(firing[0].take_fired() * TRANSITION_WORK);
        return Ok(Some(found.state));
    }
    // A step that changes much, as a state and its canonical form differ in much: all are asked.
    let mut reader = journal.reader(layer)?;
    while reader.next_block(&mut block)? {
        for portion in block.chunks(PORTION * firing.len() * words) {
            reins.rest().await.map_err(Early::Stopped)?;
            let share = (portion.len() / words).div_ceil(firing.len()).max(1) * words;
            let mut parts = firing.iter_mut().zip(portion.chunks(share));
            match parts.len() {
                1 => parts.for_each(|(one, part)| one.look(part, target)),
                _ => std::thread::scope(|scope| {
                    for (one, part) in parts.by_ref() {
                        scope.spawn(|| one.look(part, target));
                    }
                }),
            }
            reins.count(firing.iter_mut().map(Firing::take_fired).sum::<u64>() * TRANSITION_WORK);
        }
    }
    Ok(Firing::take_best(firing))
}
