//! The states met since the last decision: those that are certainly new, and those still to be decided.

use crate::lane::{Batch, Sink};
use hadal_store::filter::NewnessFilter;
use hadal_store::table::{StateTable, Writer};
use hadal_store::{Governor, OverBudget};
use hadal_system::state::hash;

pub(super) struct Pool {
    table: StateTable,
    filter: NewnessFilter,
    /// Whether nothing is closed outside the pool: then whatever it does not know is new.
    alone: bool,
    /// One for each lane.
    parts: Vec<Part>,
}

/// What is known of the states a lane added, in the order of the lane's arena.
#[derive(Default)]
struct Part {
    /// One bit for each: whether it is certainly new.
    certain: Vec<u64>,
    added: u64,
    /// How many of them were handed out to be expanded, or passed over.
    taken: u64,
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
}

impl Part {
    fn push(&mut self, certain: bool) {
        if self.added.is_multiple_of(64) {
            self.certain.push(0);
        }
        self.certain[(self.added / 64) as usize] |= u64::from(certain) << (self.added % 64);
        self.added += 1;
    }

    fn is_certain(&self, n: u64) -> bool {
        self.certain[(n / 64) as usize] >> (n % 64) & 1 == 1
    }

    fn class(&self, n: u64) -> Class {
        match (self.is_certain(n), n < self.taken) {
            (true, true) => Class::Expanded,
            (true, false) => Class::Waiting,
            (false, _) => Class::Undecided,
        }
    }
}

impl Pool {
    pub(super) fn new(
        words: usize,
        writers: usize,
        (table_bytes, filter_bytes): (u64, u64),
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        Ok(Pool {
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

    /// How many states it holds.
    pub(super) fn len(&self) -> u64 {
        self.table.len()
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
            (part.added, part.taken) = (0, 0);
        }
        self.table.clear()
    }

    /// Where lanes write, one for each.
    pub(super) fn sinks(&mut self) -> Vec<PoolSink<'_>> {
        let (filter, alone) = (&self.filter, self.alone);
        let (_, writers) = self.table.share();
        let each = writers.into_iter().zip(&mut self.parts);
        each.map(|(writer, part)| PoolSink { writer, part, filter, alone }).collect()
    }
}

/// One lane's way into the pool.
pub(super) struct PoolSink<'p> {
    writer: Writer<'p>,
    part: &'p mut Part,
    filter: &'p NewnessFilter,
    alone: bool,
}

impl Sink for PoolSink<'_> {
    fn take(&mut self, Batch { states, .. }: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        self.writer.insert_all(
            states.flat(),
            |_, _| {},
            |n, at| {
                debug_assert_eq!(at.number(), self.part.added);
                let unseen = self.filter.add(hash(states.state(n)));
                self.part.push(unseen || self.alone);
                told(n);
            },
        )
    }
}
