//! Workers that solve a question together: each has the choices of its own range of states and the equations of its own ranges
//! of nodes, and all have the sets and values of all. What one finds in a scan or a sweep it tells the others, in rounds that end
//! for all at the same time, so all decide alike.

use super::DiskError;
use super::rows::Rows;
use hadal_search::exchange::{Alone, Exchange, Shares, Standing};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_unique;
use hadal_store::{Governor, Reservation};
use std::rc::Rc;

/// Share of the budget for records on their way out, and the most of them that are sent at once.
const OUT_SHARE: u64 = 32;
const BLOCK_BYTES: u64 = 64 << 10;

/// Takes a record.
pub(super) type Take<'t> = &'t mut dyn FnMut(&[u64]) -> Result<(), DiskError>;

/// The workers, as one of them sees them.
#[derive(Clone)]
pub struct Company {
    exchange: Rc<dyn Exchange>,
    /// Bytes of records for each worker, on their way.
    out_bytes: u64,
    _memory: Rc<Option<Reservation>>,
}

impl std::fmt::Debug for Company {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "worker {} of {}", self.me(), self.shares().workers())
    }
}

impl Company {
    /// Nobody else.
    pub fn alone() -> Self {
        Company { exchange: Rc::new(Alone), out_bytes: 0, _memory: Rc::new(None) }
    }

    /// This worker and those that it reaches.
    pub fn of(exchange: Rc<dyn Exchange>, governor: &Governor) -> Result<Self, DiskError> {
        let workers = exchange.shares().workers() as u64;
        if workers == 1 {
            return Ok(Company { exchange, out_bytes: 0, _memory: Rc::new(None) });
        }
        let out_bytes = (governor.limit() / OUT_SHARE / workers).clamp(1 << 10, BLOCK_BYTES);
        let memory = governor.try_reserve(out_bytes * workers, "records on their way");
        let memory = memory.map_err(|over| DiskError::Folder(over.to_string()))?;
        Ok(Company { exchange, out_bytes, _memory: Rc::new(Some(memory)) })
    }

    /// Whether there is nobody else.
    pub(super) fn is_alone(&self) -> bool {
        self.shares().workers() == 1
    }

    /// Which worker this is.
    pub(super) fn me(&self) -> usize {
        self.exchange.me()
    }

    /// How much is whose.
    pub(super) fn shares(&self) -> &Shares {
        self.exchange.shares()
    }

    /// Whose a state is before states are numbered.
    pub(super) fn owner(&self, state: &[u64]) -> usize {
        if self.is_alone() { 0 } else { self.shares().owner(state) }
    }

    /// A round in which records of a shape travel.
    pub(super) fn post(&self, shape: RecordShape) -> Post<'_> {
        let most = (self.out_bytes / shape.bytes() as u64).max(1) as usize * shape.stride();
        let out = vec![Vec::new(); self.shares().workers()];
        Post { company: self, shape, round: self.exchange.round(), out, most, arrived: Vec::new() }
    }

    /// What all say, by worker.
    pub(super) fn agree(&self, words: &[u64]) -> Result<Vec<Vec<u64>>, DiskError> {
        self.post(RecordShape::states(1)).end(words, &mut |_| Ok(()))
    }

    /// The sum of what all say.
    pub(super) fn sum(&self, own: u64) -> Result<u64, DiskError> {
        Ok(self.agree(&[own])?.iter().filter_map(|words| words.first()).sum())
    }

    /// Whether it is so for any.
    pub(super) fn any(&self, own: bool) -> Result<bool, DiskError> {
        Ok(self.sum(own.into())? > 0)
    }

    /// Tells whoever watches how many states are this worker's, and how many commits there were.
    pub(super) fn stands(&self, own: u64, commits: u64) {
        if !self.is_alone() {
            let committed = commits.checked_sub(1);
            self.exchange.tell(Standing { own, committed, ..Standing::default() });
        }
    }
}

/// Records on their way in one round.
pub(super) struct Post<'c> {
    company: &'c Company,
    shape: RecordShape,
    round: u64,
    /// By worker.
    out: Vec<Vec<u64>>,
    /// Words of a block.
    most: usize,
    arrived: Vec<u64>,
}

impl Post<'_> {
    /// Gives a record to a worker, which may be this one.
    pub fn push(&mut self, to: usize, record: &[u64], take: Take) -> Result<(), DiskError> {
        if to == self.company.me() {
            return take(record);
        }
        self.out[to].extend_from_slice(record);
        match self.out[to].len() >= self.most {
            true => self.send(to, take),
            false => Ok(()),
        }
    }

    /// Gives a record to all others.
    pub fn push_to_others(&mut self, record: &[u64], take: Take) -> Result<(), DiskError> {
        let me = self.company.me();
        (0..self.out.len()).filter(|&to| to != me).try_for_each(|to| self.push(to, record, take))
    }

    fn send(&mut self, to: usize, take: Take) -> Result<(), DiskError> {
        if self.out[to].is_empty() {
            return Ok(());
        }
        // Neighbours differ little; records are equal only where one says nothing new.
        sort_unique(RecordShape::states(self.shape.stride()), &mut self.out[to]);
        let exchange = &self.company.exchange;
        while !exchange.send(self.round, to, Records::new(self.shape, &self.out[to]))? {
            // Whoever waits takes: two that wait for each other would wait for ever.
            self.take_in(take)?;
            exchange.wait();
        }
        self.out[to].clear();
        self.take_in(take)
    }

    fn take_in(&mut self, take: Take) -> Result<(), DiskError> {
        while self.company.exchange.arrived(self.round, &mut self.arrived)? {
            self.arrived.chunks_exact(self.shape.stride()).try_for_each(&mut *take)?;
        }
        Ok(())
    }

    /// Ends the round: says something, and hears what all said once everything that was sent has been taken.
    pub fn end(mut self, words: &[u64], take: Take) -> Result<Vec<Vec<u64>>, DiskError> {
        if self.company.is_alone() {
            return Ok(vec![words.to_vec()]);
        }
        (0..self.out.len()).try_for_each(|to| self.send(to, take))?;
        self.company.exchange.say(self.round, words)?;
        let heard = loop {
            self.take_in(take)?;
            if let Some(heard) = self.company.exchange.heard(self.round)? {
                break heard;
            }
            self.company.exchange.wait();
        };
        self.take_in(take)?;
        Ok(heard)
    }
}

/// What a list holds, as words.
pub(super) trait Told: Copy {
    const WORDS: usize;
    fn words(self) -> [u64; 2];
    fn of(words: &[u64]) -> Self;
}

impl Told for bool {
    const WORDS: usize = 1;

    fn words(self) -> [u64; 2] {
        [self.into(), 0]
    }

    fn of(words: &[u64]) -> Self {
        words[0] != 0
    }
}

impl Told for u32 {
    const WORDS: usize = 1;

    fn words(self) -> [u64; 2] {
        [self.into(), 0]
    }

    fn of(words: &[u64]) -> Self {
        words[0] as u32
    }
}

impl Told for (u32, u32) {
    const WORDS: usize = 2;

    fn words(self) -> [u64; 2] {
        [self.0.into(), self.1.into()]
    }

    fn of(words: &[u64]) -> Self {
        (words[0] as u32, words[1] as u32)
    }
}

impl Told for (f64, f64) {
    const WORDS: usize = 2;

    fn words(self) -> [u64; 2] {
        [self.0.to_bits(), self.1.to_bits()]
    }

    fn of(words: &[u64]) -> Self {
        (f64::from_bits(words[0]), f64::from_bits(words[1]))
    }
}

/// The places of a list that this worker changed and the others have not heard of.
pub(super) struct Changes<'c> {
    company: Option<&'c Company>,
    /// A bit for each place, where there are others.
    bits: Vec<u64>,
    any: bool,
}

impl<'c> Changes<'c> {
    /// None so far, of a list by the states of `rows`.
    pub fn of(rows: &'c impl Rows) -> Self {
        Changes::among(rows.company(), rows.states())
    }

    /// None so far, of a list of this length.
    pub fn among(company: Option<&'c Company>, length: u64) -> Self {
        let company = company.filter(|company| !company.is_alone());
        let bits = if company.is_some() { vec![0; length.div_ceil(64) as usize] } else { Vec::new() };
        Changes { company, bits, any: false }
    }

    /// Takes note of a place.
    #[inline]
    pub fn note(&mut self, at: u64) {
        self.any = true;
        if let Some(word) = self.bits.get_mut(at as usize / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Tells the others what is there, and puts what they tell beside what is here by `join`. Whether anything changed anywhere.
    pub fn meet<T: Told>(&mut self, list: &mut [T], join: impl Fn(T, T) -> T) -> Result<bool, DiskError> {
        let any = u64::from(std::mem::take(&mut self.any));
        Ok(self.meet_saying(list, join, &[any])?.iter().any(|words| words.first() == Some(&1)))
    }

    /// The same, with what all say.
    pub fn meet_saying<T: Told>(
        &mut self,
        list: &mut [T],
        join: impl Fn(T, T) -> T,
        words: &[u64],
    ) -> Result<Vec<Vec<u64>>, DiskError> {
        let Some(company) = self.company else { return Ok(vec![words.to_vec()]) };
        let mut post = company.post(RecordShape::with_payload(1, T::WORDS));
        for (n, word) in self.bits.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let at = 64 * n + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mut record = [0; 3];
                record[..T::WORDS].copy_from_slice(&list[at].words()[..T::WORDS]);
                record[T::WORDS] = at as u64;
                post.push_to_others(&record[..=T::WORDS], &mut |record| take(list, &join, record))?;
            }
        }
        post.end(words, &mut |record| take(list, &join, record))
    }
}

fn take<T: Told>(list: &mut [T], join: impl Fn(T, T) -> T, record: &[u64]) -> Result<(), DiskError> {
    let there = list.get_mut(record[T::WORDS] as usize);
    let place = there.ok_or_else(|| DiskError::Damaged("a worker tells of what is not there".into()))?;
    *place = join(*place, T::of(record));
    Ok(())
}

/// Replaces a set by the union of the sets of all.
pub(super) fn union(company: Option<&Company>, set: &mut [bool]) -> Result<(), DiskError> {
    let mut changes = Changes::among(company, set.len() as u64);
    (0..set.len()).filter(|&at| set[at]).for_each(|at| changes.note(at as u64));
    changes.meet(set, |_, new| new).map(drop)
}
