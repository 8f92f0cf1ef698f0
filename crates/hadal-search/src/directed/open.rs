//! The open-list family: numbered queues, each a bucket per priority, all in one pool of memory under the budget.
//!
//! Priorities are small integers or close to it, so a queue is an ordered map of buckets, and a bucket a list of chunks
//! that are taken from both ends. Entries are deleted lazily: whoever pops one looks whether it is still wanted.

use super::order::Tie;
use hadal_store::governor::Reservation;
use hadal_store::{Governor, OverBudget};
use hadal_system::Label;
use hadal_system::guide::Selection;
use hadal_system::random::SplitMix;
use std::collections::{BTreeMap, VecDeque};

/// Entries per chunk.
const CHUNK: usize = 64;

/// An open state, as one transition reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The state's number.
    pub(super) state: u32,
    /// Where it was reached from.
    pub(super) parent: u32,
    /// By which transition.
    pub(super) label: Label,
    /// At which cost.
    pub(super) g: u32,
}

type Chunk = Box<[Entry; CHUNK]>;

/// Entries of one priority.
#[derive(Default)]
struct Bucket {
    chunks: VecDeque<Chunk>,
    /// How many entries of the first chunk are gone.
    gone: usize,
    /// How many entries of the last chunk are there.
    filled: usize,
}

#[derive(Default)]
struct Queue {
    buckets: BTreeMap<(u64, u64), Bucket>,
    len: u64,
    pushes: u64,
    pops: u64,
    /// How often it was chosen, for alternation.
    turns: u64,
}

/// All open entries.
pub(super) struct Open {
    queues: Vec<Queue>,
    free: Vec<Chunk>,
    reservation: Reservation,
    tie: Tie,
    random: SplitMix,
    selection: Selection,
    len: u64,
}

impl Open {
    pub(super) fn new(tie: Tie, selection: Selection, governor: &Governor) -> Self {
        let random = SplitMix::new(if let Tie::Random(seed) = tie { seed } else { 0 });
        let reservation = governor.empty("open states");
        Open { queues: Vec::new(), free: Vec::new(), reservation, tie, random, selection, len: 0 }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Pushes and pops of each queue so far.
    pub(super) fn traffic(&self) -> Vec<(u64, u64)> {
        self.queues.iter().map(|queue| (queue.pushes, queue.pops)).collect()
    }

    /// Forgets every entry; figures stay.
    pub(super) fn clear(&mut self) {
        for queue in &mut self.queues {
            for (_, bucket) in std::mem::take(&mut queue.buckets) {
                self.free.extend(bucket.chunks);
            }
            queue.len = 0;
        }
        self.len = 0;
    }

    pub(super) fn push(&mut self, queue: u32, priority: u64, entry: Entry) -> Result<(), OverBudget> {
        let number = queue as usize;
        if number >= self.queues.len() {
            self.queues.resize_with(number + 1, Queue::default);
        }
        let depth = if self.tie == Tie::Deep { u64::from(u32::MAX - entry.g) } else { 0 };
        let queue = &mut self.queues[number];
        let bucket = queue.buckets.entry((priority, depth)).or_default();
        if bucket.chunks.is_empty() || bucket.filled == CHUNK {
            let chunk = match self.free.pop() {
                Some(chunk) => chunk,
                None => {
                    self.reservation.try_grow(size_of::<[Entry; CHUNK]>() as u64)?;
                    Box::new([entry; CHUNK])
                }
            };
            bucket.chunks.push_back(chunk);
            bucket.filled = 0;
        }
        let last = bucket.chunks.len() - 1;
        bucket.chunks[last][bucket.filled] = entry;
        bucket.filled += 1;
        queue.len += 1;
        queue.pushes += 1;
        self.len += 1;
        Ok(())
    }

    /// The next entry and the queue it was in.
    pub(super) fn pop(&mut self) -> Option<(u32, Entry)> {
        let number = self.choose()?;
        let queue = &mut self.queues[number];
        let mut first = queue.buckets.first_entry()?;
        let entry = first.get_mut().pop(self.tie, &mut self.random, &mut self.free);
        if first.get().is_empty() {
            self.free.extend(first.remove().chunks);
        }
        queue.len -= 1;
        queue.pops += 1;
        queue.turns += 1;
        self.len -= 1;
        Some((number as u32, entry))
    }

    /// The least priority of a queue.
    #[cfg(test)]
    fn least(&self, queue: u32) -> Option<u64> {
        self.queues.get(queue as usize)?.buckets.first_key_value().map(|((priority, _), _)| *priority)
    }

    fn choose(&self) -> Option<usize> {
        let filled = |n: usize| self.queues.get(n).is_some_and(|queue| queue.len > 0);
        let lowest = || (0..self.queues.len()).find(|&n| filled(n));
        match self.selection {
            Selection::Lowest => lowest(),
            // The first two in turns; the others only when both are empty (Wehrle 2011, fig. 3.7).
            Selection::Alternate => match (filled(0), filled(1)) {
                (true, true) => Some(usize::from(self.queues[0].turns > self.queues[1].turns)),
                _ => lowest(),
            },
        }
    }
}

impl Bucket {
    fn is_empty(&self) -> bool {
        self.chunks.is_empty() || self.chunks.len() == 1 && self.gone == self.filled
    }

    /// Takes an entry; there is one.
    fn pop(&mut self, tie: Tie, random: &mut SplitMix, free: &mut Vec<Chunk>) -> Entry {
        if tie == Tie::Fifo {
            let entry = self.chunks[0][self.gone];
            self.gone += 1;
            if self.gone == CHUNK {
                self.gone = 0;
                free.extend(self.chunks.pop_front());
            }
            return entry;
        }
        if let Tie::Random(_) = tie {
            let len = (self.chunks.len() - 1) * CHUNK + self.filled;
            let chosen = (random.bits() % len as u64) as usize;
            let last = self.chunks[(len - 1) / CHUNK][(len - 1) % CHUNK];
            let slot = &mut self.chunks[chosen / CHUNK][chosen % CHUNK];
            let entry = std::mem::replace(slot, last);
            self.drop_last(free);
            return entry;
        }
        let entry = self.chunks[self.chunks.len() - 1][self.filled - 1];
        self.drop_last(free);
        entry
    }

    fn drop_last(&mut self, free: &mut Vec<Chunk>) {
        self.filled -= 1;
        if self.filled == 0 {
            free.extend(self.chunks.pop_back());
            self.filled = if self.chunks.is_empty() { 0 } else { CHUNK };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn entry(state: u32, g: u32) -> Entry {
        Entry { state, parent: 0, label: Label(0), g }
    }

    fn drain(open: &mut Open) -> Vec<u32> {
        std::iter::from_fn(|| open.pop().map(|(_, entry)| entry.state)).collect()
    }

    #[test]
    fn ties_are_broken_as_asked_across_chunks() {
        let governor = Governor::unlimited();
        let n = 5 * CHUNK as u32 + 3;
        let filled = |tie| {
            let mut open = Open::new(tie, Selection::Lowest, &governor);
            (0..n).for_each(|state| open.push(0, u64::from(state % 2), entry(state, state / 2 % 3)).unwrap());
            open
        };
        let (even, odd): (Vec<u32>, Vec<u32>) = (0..n).partition(|state| state % 2 == 0);
        assert_eq!(drain(&mut filled(Tie::Fifo)), [even.clone(), odd.clone()].concat());
        let reversed = |of: &[u32]| of.iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(drain(&mut filled(Tie::Lifo)), [reversed(&even), reversed(&odd)].concat());
        let deep = drain(&mut filled(Tie::Deep));
        let first = even.iter().filter(|&state| state / 2 % 3 == 2).rev().copied();
        assert!(first.eq(deep.iter().copied().take_while(|state| state / 2 % 3 == 2)));
        let random = drain(&mut filled(Tie::Random(7)));
        assert_eq!(random, drain(&mut filled(Tie::Random(7))), "a seed gives one order");
        assert_ne!(random, drain(&mut filled(Tie::Random(8))));
        assert_eq!(random.iter().collect::<BTreeSet<_>>().len(), n as usize);
        assert_eq!(random[..even.len()].iter().copied().collect::<BTreeSet<_>>(), even.into_iter().collect());
    }

    #[test]
    fn a_lower_queue_is_always_served_first() {
        let governor = Governor::unlimited();
        let mut open = Open::new(Tie::Lifo, Selection::Lowest, &governor);
        open.push(3, 0, entry(30, 0)).unwrap();
        open.push(1, 9, entry(10, 0)).unwrap();
        assert_eq!(open.least(1), Some(9));
        assert_eq!(open.pop(), Some((1, entry(10, 0))));
        open.push(0, 50, entry(1, 0)).unwrap();
        assert_eq!(drain(&mut open), [1, 30]);
        assert_eq!(open.traffic(), [(1, 1), (1, 1), (0, 0), (1, 1)]);
    }

    #[test]
    fn alternation_serves_the_third_queue_only_when_the_others_are_empty() {
        let governor = Governor::unlimited();
        let mut open = Open::new(Tie::Fifo, Selection::Alternate, &governor);
        for state in 0..3 {
            open.push(0, 0, entry(state, 0)).unwrap();
            open.push(2, 0, entry(20 + state, 0)).unwrap();
        }
        open.push(1, 0, entry(10, 0)).unwrap();
        assert_eq!(drain(&mut open), [0, 10, 1, 2, 20, 21, 22]);
    }

    #[test]
    fn memory_is_reused_and_the_budget_is_kept() {
        let governor = Governor::new(64 << 10);
        let mut open = Open::new(Tie::Fifo, Selection::Lowest, &governor);
        for round in 0..100 {
            for state in 0..1000 {
                open.push(0, round, entry(state, 0)).unwrap();
            }
            assert_eq!(drain(&mut open).len(), 1000);
        }
        assert!((0..100_000).any(|state| open.push(0, 0, entry(state, 0)).is_err()));
        assert!(governor.peak() <= 64 << 10);
    }
}
