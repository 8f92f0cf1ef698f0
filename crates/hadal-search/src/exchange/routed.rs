//! Where a thread puts what it generates when its worker decides at once about the states it owns: those go straight into the
//! table, what others own into a cache, so that it is not sent again and again.

use super::Shares;
use crate::lane::{Batch, Sink};
use hadal_store::OverBudget;
use hadal_store::table::Writer;
use hadal_system::States;
use std::ops::Range;

/// One thread's way to the table and the cache.
pub(crate) struct Routed<'s, S> {
    own: Writer<'s>,
    others: S,
    /// Who owns which states, and who this worker is; none where there is no other.
    shares: Option<(&'s Shares, usize)>,
    /// The words of a state that decide.
    key: Range<usize>,
    kept: Parted,
    sent: Parted,
    fresh: Vec<usize>,
}

/// A part of a batch: states, and which of the batch they are.
#[derive(Default)]
struct Parted {
    states: Vec<u64>,
    numbers: Vec<usize>,
}

impl Parted {
    fn clear(&mut self) {
        self.states.clear();
        self.numbers.clear();
    }

    #[inline]
    fn push(&mut self, number: usize, state: &[u64]) {
        self.numbers.push(number);
        match state {
            [word] => self.states.push(*word),
            words => self.states.extend_from_slice(words),
        }
    }
}

impl<'s, S> Routed<'s, S> {
    pub(super) fn new(
        own: Writer<'s>,
        others: S,
        (shares, key): (Option<(&'s Shares, usize)>, Range<usize>),
    ) -> Self {
        let (kept, sent) = (Parted::default(), Parted::default());
        Routed { own, others, shares, key, kept, sent, fresh: Vec::new() }
    }
}

impl<S: Sink> Sink for Routed<'_, S> {
    fn take(&mut self, batch: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        let Some((shares, me)) = self.shares else { return self.own.take(batch, told) };
        let Routed { kept, sent, fresh, .. } = self;
        kept.clear();
        sent.clear();
        fresh.clear();
        for (n, state) in batch.states.iter().enumerate() {
            match shares.owner(&state[self.key.clone()]) == me {
                true => kept.push(n, state),
                false => sent.push(n, state),
            }
        }
        let words = batch.states.words();
        let own = self.own.insert_all(&kept.states, |_, _| {}, |n, _| fresh.push(kept.numbers[n]));
        let states = States::new(words, &sent.states);
        let others =
            self.others.take(Batch { states, parents: &[], payloads: &[] }, |n| fresh.push(sent.numbers[n]));
        fresh.sort_unstable();
        fresh.iter().for_each(|&n| told(n));
        own.and(others)
    }

    /// Where there is no more room all of a batch comes again: what was taken of it is known then.
    fn taken(&self) -> Option<usize> {
        self.shares.map(|_| 0)
    }
}
