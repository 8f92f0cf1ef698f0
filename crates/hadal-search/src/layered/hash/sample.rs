//! The initial partition: a sampling search that follows only a few successors of each state, and the scalars with the
//! most values in it (Lamborn 2014, sec. 4.2.2.1).

use super::partition::Partition;
use hadal_store::Governor;
use hadal_system::state::hash;
use hadal_system::{StateSpace, Successors};
use std::collections::{HashSet, VecDeque};

/// Successors of a state that the sample follows. Cutting the others drives it deeper than a breadth-first one. (The
/// source takes five rules of each rule set; explorers know successors only.)
pub(super) const FOLLOWED: usize = 5;
/// A scalar that would make more than this many times the wanted buckets is left out: each bucket costs files and buffers.
const MOST_OVERSHOOT: u64 = 4;
/// Most bytes of sampled states.
const MOST_BYTES: u64 = 100 << 20;
/// What a sampled state takes in RAM besides its words: the set's slot, the queue's, and the allocation's.
const OVERHEAD: u64 = 96;

/// How the scalars of the first partition are chosen; the last three are for comparison (Lamborn 2014, sec. 4.4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Those with the most values in a sample that goes deep.
    Deep,
    /// As `Deep`, and one more.
    OneMore,
    /// Those with the most values in the first states of a breadth-first search.
    BreadthFirst,
    /// Any that have several values in the sample, drawn by this seed.
    Random(u64),
}

/// A partition with more than `wanted` potential buckets, where the sample shows that many.
pub(crate) fn initial_partition(
    space: &dyn StateSpace,
    governor: &Governor,
    wanted: u64,
    sampling: Sampling,
) -> Partition {
    let mut partition = Partition::whole(space);
    let followed = if sampling == Sampling::BreadthFirst { usize::MAX } else { FOLLOWED };
    let sample = sample(space, governor, followed);
    let values = |piece: usize| {
        let piece = &partition.pieces()[piece];
        sample.iter().map(|state| piece.value(state)).collect::<HashSet<_>>().len() as u64
    };
    let mut ranked: Vec<(u64, usize)> = (0..partition.pieces().len()).map(|n| (values(n), n)).collect();
    ranked.retain(|&(values, _)| values > 1);
    match sampling {
        Sampling::Random(seed) => ranked.sort_by_key(|&(_, n)| hash(&[seed, n as u64])),
        _ => ranked.sort_by_key(|&(values, n)| (std::cmp::Reverse(values), n)),
    }
    let mut chosen = Vec::new();
    let mut potential = 1u64;
    let mut more = u32::from(sampling == Sampling::OneMore);
    for (values, piece) in ranked {
        if potential > wanted {
            if more == 0 {
                break;
            }
            more -= 1;
        } else if potential.saturating_mul(values) > MOST_OVERSHOOT * wanted {
            continue;
        }
        potential = potential.saturating_mul(values);
        chosen.push(piece);
    }
    partition.split_evenly(&chosen);
    partition
}

/// States of a search that follows a few successors of each, [`FOLLOWED`] where it should go deep.
pub(super) fn sample(space: &dyn StateSpace, governor: &Governor, followed: usize) -> HashSet<Box<[u64]>> {
    let words = space.words();
    let each = OVERHEAD + 16 * words as u64;
    let bytes = MOST_BYTES.min(governor.available() / 4);
    let Ok(_memory) = governor.try_reserve(bytes, "sampling") else { return HashSet::new() };
    let most = (bytes / each / 2) as usize;
    let mut worker = space.worker();
    let mut out = Successors::new(words);
    let mut seen: HashSet<Box<[u64]>> = HashSet::new();
    let mut queue: VecDeque<Box<[u64]>> = VecDeque::new();
    worker.initial(&mut out);
    loop {
        let follow = if seen.is_empty() { usize::MAX } else { followed };
        for (_, state) in out.iter().take(follow) {
            if seen.len() >= most {
                return seen;
            }
            if seen.insert(state.into()) {
                queue.push_back(state.into());
            }
        }
        let Some(state) = queue.pop_front() else { return seen };
        out.clear();
        worker.successors(&state, &mut out);
    }
}
