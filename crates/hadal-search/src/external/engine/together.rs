//! External A* of several workers: each owns a part of every bucket. All expand the same bucket, send what they generated to
//! its owners and then agree on what the expansion came to, so that everything but the states themselves is known to all:
//! which buckets are open, what was counted, found and left out. A worker alone agrees with itself at no cost.

use super::super::expand::Expander;
use super::super::figures::TargetFigures;
use super::super::matrix::{Cell, Matrix, Rank};
use super::super::part::{Range, Shelf};
use super::super::spill::Shared;
use super::Engine;
use super::again::Given;
use super::settle::Expanded;
use crate::exchange::{Mailbox, Said, Stops, Words};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::layered::Trouble;
use crate::report::StopReason;
use crate::run::out_of_memory;
use hadal_store::shape::RecordShape;
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering::Less;

/// Words behind a state on its way: the bucket it belongs to.
pub(super) const TAGS: usize = 2;
/// Words that are sorted out at a time.
const AT_ONCE: usize = 1 << 13;

/// What several workers do not share.
const OTHER_GUIDE: &str = "the workers have different guides; give each of them the same --memory";

/// The shape of records on their way.
pub(super) fn tagged(shape: RecordShape) -> RecordShape {
    RecordShape::keeping(shape.words() + TAGS, shape.payload())
}

/// Where states that arrive belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arriving {
    Open,
    Closed,
}

/// Takes what arrives into the buckets.
pub(super) struct Receiving<'r, 'a> {
    arriving: Arriving,
    matrix: &'r mut Matrix,
    shelf: &'r Shelf,
    expander: &'r mut Expander<'a>,
    now: Rank,
    made_in: u64,
    /// The others wait: what cannot be taken is told when all meet again.
    failed: &'r mut Option<Trouble>,
}

impl Receiving<'_, '_> {
    pub(super) fn take(&mut self, batch: Ascending) -> Result<(), Trouble> {
        if self.failed.is_none() {
            *self.failed = self.deal_out(batch).err();
        }
        Ok(())
    }

    /// Puts tagged records into the buckets they are for.
    fn deal_out(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let shape = self.shelf.shape();
        let stride = shape.stride() + TAGS;
        let shared = Shared::new(self.matrix, self.shelf, self.now, self.made_in, None);
        let tag = |record: &[u64]| -> Rank { (record[stride - 1], record[stride - 2]) };
        let mut left = batch.states().flat();
        while !left.is_empty() {
            let rank = tag(&left[..stride]);
            let records = left.chunks_exact(stride).take_while(|record| tag(record) == rank).count();
            let (group, rest) = left.split_at(records * stride);
            left = rest;
            let mut flat = Vec::with_capacity(records * shape.stride());
            group.chunks_exact(stride).for_each(|record| flat.extend_from_slice(&record[..stride - TAGS]));
            // One look is enough to notice that a guide differs, and costs little.
            if self.expander.estimate(shape.state(&flat[..shape.stride()])).0 != Cell::of_rank(rank).h {
                return Err(Trouble::NotShared(OTHER_GUIDE));
            }
            match self.arriving {
                Arriving::Open => shared.deposit_own(rank, flat)?,
                Arriving::Closed => shared.deposit_closed(rank, flat)?,
            }
        }
        Ok(())
    }
}

impl<'a> Engine<'a> {
    /// The reason to stop that a trouble is. Where others may wait for this worker, more is a reason than where it is alone.
    pub(super) fn as_stop(&self, trouble: Trouble) -> Result<StopReason, Trouble> {
        match trouble {
            trouble if trouble.is_stop() => Ok(self.stop_reason()),
            trouble if self.mailbox.is_alone() => Err(trouble),
            trouble if trouble.is_disk_full() => Ok(StopReason::DiskFull),
            Trouble::OverBudget(full) => Ok(out_of_memory(full)),
            trouble => Err(trouble),
        }
    }

    /// What failed after an expansion was settled is told when workers meet again; alone, it ends the search.
    pub(super) fn unless_shared(&mut self, done: Result<(), Trouble>) -> Result<(), Trouble> {
        match done {
            Err(trouble) if !self.mailbox.is_alone() => {
                self.failed = Some(self.as_stop(trouble)?);
                Ok(())
            }
            done => done,
        }
    }

    /// Adds up what all workers did in an expansion, once all that was generated is with its owner; or why all stop.
    pub(super) fn meet_expanded(&mut self, own: Expanded) -> Result<Result<Expanded, StopReason>, Trouble> {
        if self.mailbox.is_alone() {
            return Ok(Ok(own));
        }
        let heard = match self.meet(None, own.said())? {
            Ok(heard) => heard,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut whole = Expanded { counts: Counts::zero(self.search.task.space), ..Expanded::default() };
        heard.iter().for_each(|words| whole.add(&mut Words::new(words)));
        Ok(Ok(whole))
    }

    /// The same of buckets that were expanded again.
    pub(super) fn meet_raised(
        &mut self,
        stopped: Option<StopReason>,
        mut given: Vec<Given>,
    ) -> Result<Result<Vec<Given>, StopReason>, Trouble> {
        if self.mailbox.is_alone() {
            return Ok(stopped.map_or(Ok(given), Err));
        }
        let said = given.iter().fold(Said::default(), |said, one| one.said(said));
        let heard = match self.meet(stopped, said)? {
            Ok(heard) => heard,
            Err(reason) => return Ok(Err(reason)),
        };
        for one in &mut given {
            *one = Given { cell: one.cell, targets: Vec::new(), still_beyond: None, states: 0 };
        }
        for words in &heard {
            let mut words = Words::new(words);
            given.iter_mut().for_each(|one| one.add(&mut words));
        }
        Ok(Ok(given))
    }

    /// Tells that this worker must stop; why all do.
    pub(super) fn meet_stopped(&mut self, reason: StopReason) -> Result<StopReason, Trouble> {
        if self.mailbox.is_alone() {
            return Ok(reason);
        }
        Ok(self.meet(Some(reason.clone()), Said::default())?.err().unwrap_or(reason))
    }

    /// The first of the states at which workers ended an expansion, if one did; or why all stop: whoever must says so in this
    /// round instead.
    pub(super) fn first_of_all(
        &mut self,
        own: Option<&[u64]>,
    ) -> Result<Result<Option<Vec<u64>>, StopReason>, Trouble> {
        let said = Said::default().stop(None).list(own.unwrap_or_default()).into_words();
        let heard = self.mailbox.agree_on(&said)?;
        if let Some(reason) = gravest(&heard) {
            return Ok(Err(reason));
        }
        let mut first: Option<Vec<u64>> = None;
        for words in &heard {
            let mut words = Words::new(words);
            words.skip_stop();
            let state = words.list();
            if !state.is_empty() && first.as_ref().is_none_or(|first| compare(state, first) == Less) {
                first = Some(state.to_vec());
            }
        }
        Ok(Ok(first))
    }

    /// Sends what others own, waits until all have, and hears what they say; or why all stop.
    fn meet(
        &mut self,
        mut stopped: Option<StopReason>,
        said: Said,
    ) -> Result<Result<Vec<Vec<u64>>, StopReason>, Trouble> {
        let mut failed = None;
        if stopped.is_none()
            && let Err(trouble) = self.ship(&mut failed)
        {
            stopped = Some(self.as_stop(trouble)?);
        }
        let words = Said::default().stop(stopped.as_ref()).list(&said.into_words()).into_words();
        let heard = self.agree(&words, &mut failed)?;
        if let Some(reason) = gravest(&heard) {
            return Ok(Err(reason));
        }
        // What came may not have fitted; and one clock decides when all commit.
        let failed = failed.map(|trouble| self.as_stop(trouble)).transpose()?;
        let due = Said::default().stop(failed.as_ref()).word(u64::from(self.is_commit_due()));
        let confirmed = self.mailbox.agree_on(&due.into_words())?;
        if let Some(reason) = gravest(&confirmed) {
            return Ok(Err(reason));
        }
        self.commits = confirmed.first().is_some_and(|words| words.last() == Some(&1));
        let rest = |words: Vec<u64>| {
            let mut words = Words::new(&words);
            words.skip_stop();
            words.list().to_vec()
        };
        Ok(Ok(heard.into_iter().map(rest).collect()))
    }

    /// Sends everything that was generated for others.
    fn ship(&mut self, failed: &mut Option<Trouble>) -> Result<(), Trouble> {
        let stride = self.shelf.shape().stride();
        let (mut sorted, mut block) = (Vec::new(), Vec::new());
        while let Some((rank, parts)) = self.matrix.outgoing.pop_first() {
            for (n, part) in parts.into_iter().enumerate() {
                if n > 0 {
                    // It begins before the last one ended.
                    self.send(&mut sorted, failed)?;
                }
                let held = part.resident_words();
                let ready = self.shelf.ready(&part)?;
                let mut source = ready.source(self.shelf.shape(), Range::ALL)?;
                while source.next_block(&mut block)? {
                    for record in block.chunks_exact(stride) {
                        sorted.extend_from_slice(record);
                        sorted.extend_from_slice(&[rank.1, rank.0]);
                        if sorted.len() >= AT_ONCE {
                            self.send(&mut sorted, failed)?;
                        }
                    }
                }
                drop(source);
                drop((ready, part));
                self.matrix.release(held);
            }
        }
        self.send(&mut sorted, failed)
    }

    fn send(&mut self, sorted: &mut Vec<u64>, failed: &mut Option<Trouble>) -> Result<(), Trouble> {
        let (mailbox, mut receiving) = self.receiving(Arriving::Open, failed);
        mailbox.sort_out(sorted, &mut |batch| receiving.take(batch))?;
        sorted.clear();
        Ok(())
    }

    fn agree(&mut self, words: &[u64], failed: &mut Option<Trouble>) -> Result<Vec<Vec<u64>>, Trouble> {
        let (mailbox, mut receiving) = self.receiving(Arriving::Open, failed);
        mailbox.agree(words, &mut |batch| receiving.take(batch))
    }

    pub(super) fn receiving<'r>(
        &'r mut self,
        arriving: Arriving,
        failed: &'r mut Option<Trouble>,
    ) -> (&'r mut Mailbox<'a>, Receiving<'r, 'a>) {
        let receiving = Receiving {
            arriving,
            matrix: &mut self.matrix,
            shelf: &self.shelf,
            expander: &mut self.expanders[0],
            now: (0, 0),
            made_in: self.expansions,
            failed,
        };
        (&mut self.mailbox, receiving)
    }

    /// The sum of a few figures of all workers.
    pub(super) fn sum_of_all<const N: usize>(&mut self, own: [u64; N]) -> Result<[u64; N], Trouble> {
        let mut sum = [0; N];
        for words in &self.mailbox.agree_on(&own)? {
            sum.iter_mut().zip(words).for_each(|(sum, own)| *sum += own);
        }
        Ok(sum)
    }

    /// Tells whoever watches how this worker stands.
    pub(super) fn tell_others(&mut self) {
        self.mailbox.tell(self.own_states, self.committed.map(|_| self.expansions));
    }
}

/// Why all stop, where one must.
fn gravest(heard: &[Vec<u64>]) -> Option<StopReason> {
    let mut stops = Stops::default();
    heard.iter().for_each(|words| stops.add(&mut Words::new(words)));
    stops.reason()
}

/// A number that may be missing, as a word.
fn some(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number + 1)
}

fn targets(targets: &[TargetFigures]) -> Vec<u64> {
    targets.iter().flat_map(|target| [target.g, u64::from(target.h), target.states]).collect()
}

fn target(words: &[u64]) -> TargetFigures {
    TargetFigures { g: words[0], h: words[1] as u32, states: words[2] }
}

impl Expanded {
    fn said(&self) -> Said {
        let numbers = [
            self.unique,
            self.expanded,
            self.pruned,
            self.beyond,
            some(self.least_beyond),
            self.fired,
            self.bytes,
            self.locality,
        ];
        let ahead = self.ahead.as_ref();
        Said::default()
            .list(&numbers)
            .list(&targets(&self.targets))
            .counts(&self.counts)
            .finding(self.here.as_ref())
            .word(ahead.map_or(0, |ahead| ahead.0))
            .finding(ahead.map(|ahead| &ahead.1))
    }

    /// Adds what another worker said.
    fn add(&mut self, words: &mut Words) {
        if let &[unique, expanded, pruned, beyond, least_beyond, fired, bytes, locality] = words.list() {
            self.unique += unique;
            self.expanded += expanded;
            self.pruned += pruned;
            self.beyond += beyond;
            self.least_beyond = self.least_beyond.into_iter().chain(least_beyond.checked_sub(1)).min();
            self.fired += fired;
            self.bytes += bytes;
            self.locality = self.locality.max(locality);
        }
        words.list().chunks_exact(3).for_each(|words| self.add_target(target(words)));
        self.counts.add(&words.counts());
        words.finding().into_iter().for_each(|finding| Finding::offer(&mut self.here, finding));
        let cost = words.word();
        words.finding().into_iter().for_each(|finding| self.offer_ahead((cost, finding)));
    }
}

impl Given {
    fn said(&self, said: Said) -> Said {
        said.word(self.states).word(some(self.still_beyond)).list(&targets(&self.targets))
    }

    fn add(&mut self, words: &mut Words) {
        self.states += words.word();
        self.still_beyond = self.still_beyond.into_iter().chain(words.word().checked_sub(1)).min();
        for target in words.list().chunks_exact(3).map(target) {
            match self.targets.iter_mut().find(|known| (known.g, known.h) == (target.g, target.h)) {
                Some(known) => known.states += target.states,
                None => self.targets.push(target),
            }
        }
    }
}
