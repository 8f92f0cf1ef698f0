//! A search's side of an exchange: states sorted out by owner, an inbox under the memory budget, and rounds in which all
//! agree.

use super::routed::Routed;
use super::{Alone, Exchange, Helping, Standing};
use crate::lane::Sink;
use crate::layered::Trouble;
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_unique};
use hadal_store::table::Writer;
use hadal_store::{Governor, Reservation};
use hadal_system::Ascending;
use std::ops::Range;

/// Most bytes of a block that is sent.
const BLOCK_BYTES: u64 = 64 << 10;
/// Shares of the budget for the inbox with the room to sort it, and for blocks on their way out.
const INBOX_SHARE: u64 = 24;
const OUT_SHARE: u64 = 64;

/// Takes states that arrived: ascending, each once.
pub(crate) type Taking<'t> = &'t mut dyn FnMut(Ascending) -> Result<(), Trouble>;

/// One search's side of an exchange.
pub(crate) struct Mailbox<'a> {
    exchange: &'a dyn Exchange,
    shape: RecordShape,
    /// The words of a state that decide who owns it.
    key: Range<usize>,
    /// Whether the others are left alone for now: every worker does everything itself.
    is_quiet: bool,
    /// Whether blocks that arrive are given on as they are.
    passes_on: bool,
    round: u64,
    /// Blocks for the others, being filled.
    out: Vec<Vec<u64>>,
    most_out: usize,
    inbox: Vec<u64>,
    most_inbox: usize,
    arrived: Vec<u64>,
    /// States taken since they were last asked for, and how many of them came twice.
    taken: Taken,
    standing: Standing,
    _memory: Reservation,
}

/// What came out of an inbox.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) states: u64,
    pub(crate) twice: u64,
}

impl<'a> Mailbox<'a> {
    /// Of a search in one process.
    pub(crate) fn alone(shape: RecordShape, governor: &Governor) -> Self {
        Mailbox {
            exchange: &Alone,
            shape,
            key: 0..shape.words(),
            is_quiet: false,
            passes_on: false,
            round: 0,
            out: vec![Vec::new()],
            most_out: 0,
            inbox: Vec::new(),
            most_inbox: 0,
            arrived: Vec::new(),
            taken: Taken::default(),
            standing: Standing::default(),
            _memory: governor.empty("states on their way"),
        }
    }

    /// Of one worker among others, where there are others.
    pub(crate) fn new(
        exchange: &'a dyn Exchange,
        shape: RecordShape,
        governor: &Governor,
    ) -> Result<Self, Trouble> {
        let workers = exchange.shares().workers();
        if workers == 1 {
            return Ok(Mailbox::alone(shape, governor));
        }
        let record = shape.bytes() as u64;
        let out = (governor.limit() / OUT_SHARE / workers as u64).clamp(record, BLOCK_BYTES) / record;
        let inbox = (governor.limit() / INBOX_SHARE / 2 / record).max(2 * out);
        // One more for a block that another worker lends.
        let bytes =
            (workers as u64 + 1) * out * record + inbox * record + scratch_bytes(shape, inbox as usize);
        Ok(Mailbox {
            exchange,
            round: exchange.round(),
            out: vec![Vec::new(); workers],
            most_out: out as usize * shape.stride(),
            most_inbox: inbox as usize * shape.stride(),
            _memory: governor.try_reserve(bytes, "states on their way")?,
            ..Mailbox::alone(shape, governor)
        })
    }

    /// The same where only these words of a state decide who owns it: the others say what it is for.
    pub(crate) fn owned_by(self, key: Range<usize>) -> Self {
        Mailbox { key, ..self }
    }

    /// Whether there is no other worker.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.out.len() == 1 || self.is_quiet
    }

    /// Leaves the others alone, or not any more.
    pub(crate) fn keep_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
        self.round = self.exchange.round();
    }

    /// Gives on what arrives block by block, or collects and sorts it first: who decides with a look into RAM takes it as it
    /// comes.
    pub(crate) fn pass_on(&mut self, passes_on: bool) {
        self.passes_on = passes_on;
    }

    /// Where threads put what they generate: what this worker owns where it is decided at once, the rest into their caches.
    pub(crate) fn routes<'s, S: Sink>(&'s self, own: Vec<Writer<'s>>, others: Vec<S>) -> Vec<Routed<'s, S>> {
        let shares = (!self.is_alone()).then(|| (self.exchange.shares(), self.exchange.me()));
        let each = own.into_iter().zip(others);
        each.map(|(own, others)| Routed::new(own, others, (shares, self.key.clone()))).collect()
    }

    /// This worker's way to the others.
    pub(crate) fn exchange(&self) -> &'a dyn Exchange {
        self.exchange
    }

    /// Whether this is the worker that does what one must do.
    pub(crate) fn is_first(&self) -> bool {
        self.exchange.me() == 0
    }

    /// Sends what others own of sorted records; what is left, in order, is this worker's.
    pub(crate) fn sort_out(&mut self, records: &mut Vec<u64>, take: Taking) -> Result<(), Trouble> {
        let (stride, me) = (self.shape.stride(), self.exchange.me());
        let mut kept = 0;
        for at in (0..records.len()).step_by(stride) {
            let record = &records[at..at + stride];
            let state = self.shape.state(record);
            let owner = self.exchange.shares().owner(&state[self.key.clone()]);
            if owner == me {
                records.copy_within(at..at + stride, kept);
                kept += stride;
                continue;
            }
            self.out[owner].extend_from_slice(record);
            if self.out[owner].len() >= self.most_out {
                self.send(owner, take)?;
            }
        }
        records.truncate(kept);
        // The next batch begins before this one ends.
        (0..self.out.len()).try_for_each(|owner| self.send(owner, take))?;
        self.take_in(take)
    }

    fn send(&mut self, to: usize, take: Taking) -> Result<(), Trouble> {
        if self.out[to].is_empty() {
            return Ok(());
        }
        while !self.exchange.send(self.round, to, Records::new(self.shape, &self.out[to]))? {
            // Whoever waits takes: two that wait for each other would wait for ever.
            self.take_in(take)?;
            self.exchange.wait();
        }
        self.out[to].clear();
        Ok(())
    }

    /// Takes in what arrived.
    pub(crate) fn take_in(&mut self, take: Taking) -> Result<(), Trouble> {
        if self.is_alone() {
            return Ok(());
        }
        while self.exchange.arrived(self.round, &mut self.arrived)? {
            let arrived = std::mem::take(&mut self.arrived);
            self.put_in(&arrived, take)?;
            self.arrived = arrived;
        }
        Ok(())
    }

    /// Puts states of this worker's own beside those that arrived.
    pub(crate) fn put_in(&mut self, mut records: &[u64], take: Taking) -> Result<(), Trouble> {
        if self.is_alone() {
            return take(Ascending::new(self.shape.stride(), records));
        }
        if self.passes_on && self.inbox.is_empty() {
            self.taken.states += (records.len() / self.shape.stride()) as u64;
            return take(Ascending::new(self.shape.stride(), records));
        }
        while !records.is_empty() {
            let fit = records.len().min(self.most_inbox - self.inbox.len());
            self.inbox.extend_from_slice(&records[..fit]);
            records = &records[fit..];
            if self.inbox.len() == self.most_inbox {
                offer(&mut self.inbox, self.shape, &mut self.taken, take)?;
            }
        }
        Ok(())
    }

    /// Lends records of a shape, and expands what others lend, until all have expanded what they own.
    pub(crate) fn helping(&self, shape: RecordShape) -> Helping<'a> {
        Helping::new(self.exchange, self.round, shape, self.most_out / self.shape.stride())
    }

    /// Counts states of another worker that were expanded.
    pub(crate) fn has_helped(&mut self, states: u64) {
        self.standing.helped += states;
        self.exchange.tell(self.standing);
    }

    /// Ends the round: says something, and hears what all said once everything that was sent has been taken.
    pub(crate) fn agree(&mut self, words: &[u64], take: Taking) -> Result<Vec<Vec<u64>>, Trouble> {
        if self.is_alone() {
            return Ok(vec![words.to_vec()]);
        }
        self.exchange.say(self.round, words)?;
        let heard = loop {
            self.take_in(take)?;
            if let Some(heard) = self.exchange.heard(self.round)? {
                break heard;
            }
            self.exchange.wait();
        };
        self.take_in(take)?;
        offer(&mut self.inbox, self.shape, &mut self.taken, take)?;
        self.round += 1;
        Ok(heard)
    }

    /// The same where no states travel.
    pub(crate) fn agree_on(&mut self, words: &[u64]) -> Result<Vec<Vec<u64>>, Trouble> {
        self.agree(words, &mut |_| Ok(()))
    }

    /// What was taken since the last time.
    pub(crate) fn taken(&mut self) -> Taken {
        std::mem::take(&mut self.taken)
    }

    /// Tells whoever watches how this worker stands.
    pub(crate) fn tell(&mut self, own: u64, committed: Option<u64>) {
        if !self.is_alone() {
            let inbox = 8 * self.inbox.len() as u64;
            let committed = committed.or(self.standing.committed);
            self.standing = Standing { own, inbox, committed, ..self.standing };
            self.exchange.tell(self.standing);
        }
    }
}

/// Gives what is in the inbox to `take`.
fn offer(inbox: &mut Vec<u64>, shape: RecordShape, taken: &mut Taken, take: Taking) -> Result<(), Trouble> {
    if inbox.is_empty() {
        return Ok(());
    }
    taken.states += (inbox.len() / shape.stride()) as u64;
    taken.twice += sort_unique(shape, inbox);
    take(Ascending::new(shape.stride(), inbox))?;
    inbox.clear();
    Ok(())
}
