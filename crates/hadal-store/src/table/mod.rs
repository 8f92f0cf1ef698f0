//! The fastest closed set: every state packed in RAM, found through an open-addressing index.
//!
//! States lie in [arenas](arena) in the order in which they were found, one arena per writing thread, so a layer of
//! a breadth-first search is a range of each arena and needs no queue. The index holds one 64-bit entry per state:
//! where the state lies, and 24 bits of its hash, which only ever *save* a comparison; equality of whole states
//! decides. Look-ups come in batches: all index lines are requested from memory before the first is needed, then all
//! states, so the waits overlap.
//!
//! Threads insert at the same time without locks; growing the index stops them for a moment. Because the index can be
//! rebuilt from the arenas, growing frees the old one first.

mod arena;
mod index;
mod pages;
mod payloads;
mod reference;
mod taking;
#[cfg(test)]
mod tests;
mod writer;

pub use reference::{MAX_WRITERS, StateRef};
pub use writer::Writer;

use crate::governor::{Governor, OverBudget};
use crate::shape::Records;
use arena::Arena;
use hadal_system::Payload;
use hadal_system::state::hash;
use index::{FIRST_BUCKETS, Index, Seen, entry_of, prefetch, ref_of};
use payloads::Payloads;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use taking::Taking;

/// How many look-ups overlap.
const WINDOW: usize = 64;

/// A state of a batch with the caller's words beside it.
#[derive(Clone, Copy)]
struct Record<'r> {
    state: &'r [u64],
    hash: u64,
    extra: &'r [u64],
    /// Its number in the batch.
    number: usize,
}

/// An exact set of packed states in RAM.
#[derive(Debug)]
pub struct StateTable {
    words: usize,
    extra: usize,
    arenas: Vec<Arena>,
    payloads: Option<Payloads>,
    index: RwLock<Index>,
    len: AtomicU64,
    governor: Governor,
}

impl StateTable {
    /// An empty table for states of `words` words, each with `extra` words of the caller's, written by `writers`
    /// threads.
    pub fn new(words: usize, extra: usize, writers: usize, governor: &Governor) -> Result<Self, OverBudget> {
        assert!((1..=MAX_WRITERS).contains(&writers), "1 to {MAX_WRITERS} writers");
        let record = words + extra;
        let share = governor.limit() / (64 * writers as u64);
        let chunk_bytes = share.clamp(16 << 10, 32 << 20).max(record as u64 * 8);
        let arenas = (0..writers).map(|_| Arena::new(record, chunk_bytes as usize, governor)).collect();
        Ok(StateTable {
            words,
            extra,
            arenas,
            payloads: None,
            index: RwLock::new(Index::new(governor)?),
            len: AtomicU64::new(0),
            governor: governor.clone(),
        })
    }

    /// An empty table for states of `words` words, each with a payload ([`Writer::merge_all`]), written by `writers` threads.
    pub fn keeping(
        words: usize,
        payload: Payload,
        writers: usize,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        let table = StateTable::new(words, 0, writers, governor)?;
        let chunk_bytes = (governor.limit() / (64 * writers as u64)).clamp(16 << 10, 32 << 20) as usize;
        let payloads = (payload.words > 0).then(|| Payloads::new(payload, writers, chunk_bytes, governor));
        Ok(StateTable { payloads, ..table })
    }

    /// What is beside each state.
    pub fn payload(&self) -> Payload {
        self.payloads.as_ref().map_or(Payload::NONE, |payloads| payloads.shape)
    }

    /// Appends the payload of the n-th state that a writer has added. Panics where there is none.
    pub fn copy_payload(&self, writer: usize, number: u64, into: &mut Vec<u64>) {
        assert!(number < self.added_by(writer), "no such state");
        if let Some(payloads) = &self.payloads {
            // SAFETY: the writer has added such a state.
            unsafe { payloads.copy(StateRef::new(writer, number), into) };
        }
    }

    /// Number of distinct states.
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words of a state.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of writers.
    pub fn writer_count(&self) -> usize {
        self.arenas.len()
    }

    /// The table to read from, and its writers, one for each thread: as long as they live nobody else can write.
    pub fn share(&mut self) -> (&StateTable, Vec<Writer<'_>>) {
        let table = &*self;
        (table, (0..table.arenas.len()).map(|number| Writer { table, number }).collect())
    }

    /// How many states a writer has added.
    pub fn added_by(&self, writer: usize) -> u64 {
        self.arenas[writer].len()
    }

    /// The state behind a reference. Panics where the table has no such state.
    #[inline]
    pub fn state(&self, at: StateRef) -> &[u64] {
        &self.arenas[at.writer()].record(at.number())[..self.words]
    }

    /// The n-th state that a writer has added. Panics where there is none.
    #[inline]
    pub fn nth(&self, writer: usize, number: u64) -> &[u64] {
        &self.arenas[writer].record(number)[..self.words]
    }

    /// The reference behind [`StateRef::to_word`], where the table has such a state.
    pub fn reference(&self, word: u64) -> Option<StateRef> {
        let at = StateRef(word);
        (at.number() < self.arenas.get(at.writer())?.len()).then_some(at)
    }

    /// References to the states that a writer has added from number `from` on.
    pub fn added_since(&self, writer: usize, from: u64) -> impl DoubleEndedIterator<Item = StateRef> {
        (from..self.added_by(writer)).map(move |number| StateRef::new(writer, number))
    }

    /// The state behind an entry of the index.
    #[inline]
    fn known(&self, entry: u64) -> &[u64] {
        let at = ref_of(entry);
        // SAFETY: the number comes from the index.
        let record = unsafe { self.arenas[at.writer()].get(at.number()) };
        &record[..self.words]
    }

    /// The caller's words beside a state.
    pub fn extra(&self, at: StateRef) -> &[u64] {
        &self.arenas[at.writer()].record(at.number())[self.words..]
    }

    /// Finds one state.
    pub fn find(&self, state: &[u64]) -> Option<StateRef> {
        let index = self.read_index();
        let at = self.probe(&index, hash(state), state)?;
        self.arenas[at.writer()].reach(at.number());
        Some(at)
    }

    /// As [`Writer::insert_all`], for one who has the table to himself.
    pub fn insert_all(
        &mut self,
        states: &[u64],
        extra: impl FnMut(usize, &mut [u64]),
        added: impl FnMut(usize, StateRef),
    ) -> Result<(), OverBudget> {
        Writer { table: self, number: 0 }.insert_all(states, extra, added)
    }

    /// Adds the states of records, their payloads merged with those that are there, for one who has the table to himself.
    pub fn insert_records(&mut self, records: Records<'_>) -> Result<(), OverBudget> {
        let shape = records.shape();
        if shape.payload_words() == 0 {
            return self.insert_all(records.flat(), |_, _| {}, |_, _| {});
        }
        let since = [0; MAX_WRITERS];
        let mut writer = Writer { table: self, number: 0 };
        let mut merge = |states: &[u64], payloads: &[u64]| {
            writer.merge_all(states, payloads, &since, |_| {}).map_err(|(_, full)| full)
        };
        if records.len() == 1 {
            let (payload, state) = records.flat().split_at(shape.payload_words());
            return merge(state, payload);
        }
        let mut payloads = Vec::with_capacity(records.len() * shape.payload_words());
        for record in records.flat().chunks_exact(shape.stride()) {
            payloads.extend_from_slice(&record[..shape.payload_words()]);
        }
        let mut states = records.flat().to_vec();
        shape.strip_payloads(&mut states);
        merge(&states, &payloads)
    }

    /// Adds the states that are not there yet.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    unsafe fn add_all(
        &self,
        writer: usize,
        states: &[u64],
        taking: &mut impl Taking,
    ) -> Result<(), OverBudget> {
        let mut own = vec![0; self.extra];
        let mut hashes = [0; WINDOW];
        for (w, window) in states.chunks(WINDOW * self.words).enumerate() {
            self.grow_for(WINDOW as u64 * self.writer_count() as u64)?;
            let index = self.read_index();
            let count = window.len() / self.words;
            for (n, state) in window.chunks_exact(self.words).enumerate() {
                hashes[n] = hash(state);
                prefetch(index.bucket(index.home(hashes[n])));
            }
            for &h in &hashes[..count] {
                if let Some(at) = index.likely(h) {
                    prefetch(self.arenas[at.writer()].address(at.number()));
                }
            }
            let mut new = 0;
            let mut outcome = Ok(());
            for (n, state) in window.chunks_exact(self.words).enumerate() {
                let number = w * WINDOW + n;
                if self.extra > 0 {
                    taking.fill(number, &mut own);
                }
                let record = Record { state, hash: hashes[n], extra: &own, number };
                // SAFETY: the caller is the only one who writes with this number.
                match unsafe { self.find_or_add(&index, writer, record, taking) } {
                    Ok(None) => {}
                    Ok(Some(at)) => {
                        new += 1;
                        taking.added(number, at);
                    }
                    Err(full) => {
                        outcome = Err(full);
                        break;
                    }
                }
            }
            // Counted before the index is let go: whoever grows it next must see every entry.
            self.len.fetch_add(new, Ordering::Relaxed);
            outcome?;
        }
        Ok(())
    }

    /// Makes the index large enough for `more` further states at once, which saves growing step by step.
    pub fn expect(&self, more: u64) -> Result<(), OverBudget> {
        self.grow_for(more)
    }

    /// Appends the states `from..to` of a writer's arena to `flat`, one after the other.
    pub fn copy_states(&self, writer: usize, from: u64, to: u64, flat: &mut Vec<u64>) {
        for number in from..to {
            flat.extend_from_slice(&self.arenas[writer].record(number)[..self.words]);
        }
    }

    /// Appends the states `from..to` of a writer's arena to `flat`, each after its payload.
    pub fn copy_records(&self, writer: usize, from: u64, to: u64, flat: &mut Vec<u64>) {
        for number in from..to {
            self.copy_payload(writer, number, flat);
            flat.extend_from_slice(self.nth(writer, number));
        }
    }

    /// Forgets every state. The arenas keep their memory; the index starts small again.
    pub fn clear(&mut self) -> Result<(), OverBudget> {
        self.arenas.iter_mut().for_each(Arena::clear);
        if let Some(payloads) = &mut self.payloads {
            payloads.clear();
        }
        *self.len.get_mut() = 0;
        self.index.get_mut().unwrap_or_else(|e| e.into_inner()).allocate(FIRST_BUCKETS)
    }

    /// Gives up the index, so that only the states themselves are held: they can still be copied out, not found.
    pub fn drop_index(&mut self) {
        self.index.get_mut().unwrap_or_else(|e| e.into_inner()).give_up();
    }

    fn read_index(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        // A thread that dies while growing leaves an index without pages at worst, which is checked on use.
        self.index.read().unwrap_or_else(|e| e.into_inner())
    }

    fn probe(&self, index: &Index, h: u64, state: &[u64]) -> Option<StateRef> {
        let mut bucket = index.home(h);
        loop {
            let entries = index.bucket(bucket);
            let seen = Seen::of(entries, h);
            for at in seen.candidates() {
                let held = entries[at].load(Ordering::Acquire);
                if same(self.known(held), state) {
                    return Some(ref_of(held));
                }
            }
            if seen.free != 0 || index.buckets == 0 {
                return None;
            }
            bucket = index.after(bucket);
        }
    }

    /// Adds `state` unless it is there; says where it was added.
    ///
    /// Entries of a bucket are taken from the first on and never given back, so all that may hold the state lie before
    /// the first free one; and `grow_for` keeps free entries for every writer's window, so there is one.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    #[inline]
    unsafe fn find_or_add(
        &self,
        index: &Index,
        writer: usize,
        Record { state, hash: h, extra, number }: Record,
        taking: &mut impl Taking,
    ) -> Result<Option<StateRef>, OverBudget> {
        let arena = &self.arenas[writer];
        let mut own: Option<u64> = None;
        let mut bucket = index.home(h);
        loop {
            let entries = index.bucket(bucket);
            let seen = Seen::of(entries, h);
            for at in seen.candidates() {
                let held = entries[at].load(Ordering::Acquire);
                if same(self.known(held), state) {
                    // SAFETY: the reference comes from the index.
                    unsafe { taking.known(number, ref_of(held)) };
                    return Ok(None);
                }
            }
            if seen.free == 0 {
                bucket = index.after(bucket);
                continue;
            }
            let n = match own {
                Some(n) => n,
                // SAFETY: this is the only one who writes with this number.
                None => *own.insert(unsafe {
                    let n = arena.write(state, extra)?;
                    taking.write_beside(number, writer)?;
                    n
                }),
            };
            let at = StateRef::new(writer, n);
            let wanted = entry_of(at, h);
            let entry = &entries[seen.free.trailing_zeros() as usize];
            if entry.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                arena.publish(n);
                taking.publish(at);
                return Ok(Some(at));
            }
            // Another thread was first, perhaps with the same state: look at the bucket again.
        }
    }

    /// Makes sure that `more` states fit the index.
    fn grow_for(&self, more: u64) -> Result<(), OverBudget> {
        let needed = self.len() + more;
        if self.read_index().holds(needed) {
            return Ok(());
        }
        let mut index = self.index.write().unwrap_or_else(|e| e.into_inner());
        if index.holds(needed) {
            return Ok(());
        }
        index.grow(needed, &self.governor)?;
        for (writer, arena) in self.arenas.iter().enumerate() {
            let mut hashes = [0; WINDOW];
            let mut n = 0;
            while n < arena.len() {
                let count = (arena.len() - n).min(WINDOW as u64);
                for k in 0..count {
                    hashes[k as usize] = hash(&arena.record(n + k)[..self.words]);
                    prefetch(index.bucket(index.home(hashes[k as usize])));
                }
                for k in 0..count {
                    index.enter(hashes[k as usize], StateRef::new(writer, n + k));
                }
                n += count;
            }
        }
        Ok(())
    }
}

/// Whether two states are equal. States are a few words: a call would cost more than the comparison.
#[inline]
fn same(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}
