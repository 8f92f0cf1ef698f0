//! The states met since the last decision: those that are certainly new, and those still to be decided.

use crate::exchange::Shares;
use crate::lane::{Batch, Sink};
use hadal_store::filter::NewnessFilter;
use hadal_store::table::{StateTable, Writer};
use hadal_store::{Governor, OverBudget};
use hadal_system::state::hash;

pub(super) struct Pool<'x> {
    table: StateTable,
    filter: NewnessFilter,
    /// Whether nothing is closed outside the pool: then whatever it does not know is new.
    alone: bool,
    /// One for each lane.
    parts: Vec<Part>,
    /// Who owns which states, and who this worker is; none where there is no other.
    owners: Option<(&'x Shares, usize)>,
}

/// What is known of the states a lane added, in the order of the lane's arena.
#[derive(Default)]
struct Part {
    /// One bit for each: whether it is certainly new.
    certain: Vec<u64>,
    /// One bit for each: whether another worker owns it. Empty where there is no other.
    foreign: Vec<u64>,
    added: u64,
    /// How many of them were handed out to be expanded, or passed over.
    taken: u64,
    /// How many of them were looked at for what others own, and how many others own.
    sorted_out: u64,
    others: u64,
    /// How many are to be decided.
    undecided: u64,
}

/// What becomes of states in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// New and expanded.
    Expanded,
    /// New and not expanded.
    Waiting,
    /// To be decided.
    Undecided,
    /// Another worker's, and not sent to it yet.
    Foreign,
    /// Another worker's, and sent.
    Sent,
}

impl Part {
    fn push(&mut self, certain: bool) {
        if self.added.is_multiple_of(64) {
            self.certain.push(0);
        }
        self.certain[(self.added / 64) as usize] |= u64::from(certain) << (self.added % 64);
        self.added += 1;
    }

    fn push_foreign(&mut self) {
        self.foreign.resize((self.added / 64 + 1) as usize, 0);
        self.foreign[(self.added / 64) as usize] |= 1 << (self.added % 64);
        self.others += 1;
        self.push(false);
    }

    fn is_foreign(&self, n: u64) -> bool {
        self.foreign.get((n / 64) as usize).is_some_and(|bits| bits >> (n % 64) & 1 == 1)
    }

    fn is_certain(&self, n: u64) -> bool {
        self.certain[(n / 64) as usize] >> (n % 64) & 1 == 1
    }

    fn class(&self, n: u64) -> Class {
        if self.is_foreign(n) {
            return if n < self.sorted_out { Class::Sent } else { Class::Foreign };
        }
        match (self.is_certain(n), n < self.taken) {
            (true, true) => Class::Expanded,
            (true, false) => Class::Waiting,
            (false, _) => Class::Undecided,
        }
    }
}

impl<'x> Pool<'x> {
    pub(super) fn new(
        words: usize,
        writers: usize,
        (table_bytes, filter_bytes): (u64, u64),
        governor: &Governor,
        owners: Option<(&'x Shares, usize)>,
    ) -> Result<Self, OverBudget> {
        Ok(Pool {
            owners,
            table: StateTable::new(words, 0, writers, &governor.part(table_bytes))?,
            filter: NewnessFilter::new(filter_bytes, governor)?,
            alone: true,
            parts: (0..writers).map(|_| Part::default()).collect(),
        })
    }

    /// Tells that a state is closed.
    pub(super) fn note_closed(&mut self, state: &[u64]) {
        self.alone = false;
        self.filter.add(hash(state));
    }

    /// How many states of this worker it holds.
    pub(super) fn len(&self) -> u64 {
        self.table.len() - self.parts.iter().map(|part| part.others).sum::<u64>()
    }

    /// Whether some of its states are certainly new and not expanded.
    pub(super) fn has_certain(&self) -> bool {
        let waits = |part: &Part| (part.taken..part.added).any(|n| part.class(n) == Class::Waiting);
        self.parts.iter().any(waits)
    }

    /// Whether some of its states are yet to be decided.
    pub(super) fn has_undecided(&self) -> bool {
        self.parts.iter().any(|part| part.undecided > 0)
    }

    /// Takes note that everything others own is sent.
    pub(super) fn sorted_out(&mut self) {
        self.parts.iter_mut().for_each(|part| part.sorted_out = part.added);
    }

    /// Replaces `block` by up to `most` states that are certainly new, which count as expanded from now on; `false` where
    /// there are none.
    pub(super) fn take_certain(&mut self, most: usize, block: &mut Vec<u64>) -> bool {
        block.clear();
        let mut left = most;
        for (writer, part) in self.parts.iter_mut().enumerate() {
            while left > 0 && part.taken < part.added {
                if part.is_certain(part.taken) {
                    block.extend_from_slice(self.table.nth(writer, part.taken));
                    left -= 1;
                }
                part.taken += 1;
            }
        }
        left < most
    }

    /// Gives the states of one class to `take`, at most `most` at a time, in no order; each piece is handed over in `flat`.
    pub(super) async fn each<E>(
        &mut self,
        class: Class,
        most: usize,
        flat: &mut Vec<u64>,
        mut take: impl AsyncFnMut(&mut Vec<u64>) -> Result<(), E>,
    ) -> Result<(), E> {
        flat.clear();
        let words = self.table.words();
        for (writer, part) in self.parts.iter_mut().enumerate() {
            for n in (0..part.added).filter(|&n| part.class(n) == class) {
                if flat.len() == most * words {
                    take(flat).await?;
                    flat.clear();
                }
                flat.extend_from_slice(self.table.nth(writer, n));
            }
        }
        if flat.is_empty() { Ok(()) } else { take(flat).await }
    }

    /// Forgets the states; they are decided, and closed elsewhere.
    pub(super) fn clear(&mut self) -> Result<(), OverBudget> {
        self.alone = false;
        for part in &mut self.parts {
            part.certain.clear();
            part.foreign.clear();
            (part.added, part.taken, part.sorted_out) = (0, 0, 0);
            (part.others, part.undecided) = (0, 0);
        }
        self.table.clear()
    }

    /// Where lanes write, one for each.
    pub(super) fn sinks(&mut self) -> Vec<PoolSink<'_>> {
        let (filter, alone, owners) = (&self.filter, self.alone, self.owners);
        let (_, writers) = self.table.share();
        let each = writers.into_iter().zip(&mut self.parts);
        each.map(|(writer, part)| PoolSink { writer, part, filter, alone, owners }).collect()
    }
}

/// One lane's way into the pool.
pub(super) struct PoolSink<'p> {
    writer: Writer<'p>,
    part: &'p mut Part,
    filter: &'p NewnessFilter,
    alone: bool,
    owners: Option<(&'p Shares, usize)>,
}

impl Sink for PoolSink<'_> {
    fn take(&mut self, Batch { states, .. }: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        self.writer.insert_all(
            states.flat(),
            |_, _| {},
            |n, at| {
                debug_assert_eq!(at.number(), self.part.added);
                if self.owners.is_some_and(|(shares, me)| shares.owner(states.state(n)) != me) {
                    self.part.push_foreign();
                    return told(n);
                }
                let unseen = self.filter.add(hash(states.state(n)));
                self.part.undecided += u64::from(!unseen && !self.alone);
                self.part.push(unseen || self.alone);
                told(n);
            },
        )
    }
}
