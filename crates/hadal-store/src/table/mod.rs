//! The fastest closed set: every state packed in RAM, found through an open-addressing index.
//!
//! States lie in [arenas](arena) in the order in which they were found, one arena per writing thread, so a layer of
//! a breadth-first search is a range of each arena and needs no queue. The [index](index) holds where each state lies
//! and bits of its hash, which only ever *save* a comparison; equality of whole states decides. Look-ups
//! come in batches: all index lines are requested from memory before the first is needed, then all states, so the waits
//! overlap ([insert]). Where states have one word and the index is large enough, its entries [are](quotient) the states, and
//! a state that is known takes one line.
//!
//! Threads insert at the same time without locks; growing the index stops them for a moment. Its entries [move](splitting)
//! within the memory that it keeps, so growing needs no second one beside the old.

mod arena;
mod asking;
mod bucket;
mod codes;
mod folding;
mod form;
mod growing;
mod index;
mod insert;
mod pages;
mod payloads;
mod quotient;
mod reference;
mod remainder;
mod splitting;
mod taking;
#[cfg(test)]
mod tests;
mod writer;

pub use reference::{MAX_WRITERS, StateRef};
pub use writer::Writer;

use crate::governor::{Governor, OverBudget};
use crate::shape::Records;
use arena::Arena;
use bucket::{Bucket, Narrow};
use codes::CutHash;
use folding::{Folding, arena_chunk};
use form::Form;
use hadal_system::Payload;
use hadal_system::state::hash;
use index::{Index, Lines};
use insert::{AnyIndex, Entries, on_index};
use payloads::Payloads;
use remainder::Remainders;
use std::ops::Range;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// States that a table holds before it considers folding them.
const FOLD_FROM: u64 = if cfg!(test) { 1 << 10 } else { 1 << 13 };

/// An exact set of packed states in RAM.
#[derive(Debug)]
pub struct StateTable {
    /// Words of what lies in the arenas: a state, or a folded one.
    words: usize,
    form: Form,
    /// Where states are folded, and how many there must be before it is considered.
    folding: Option<Folding>,
    fold_from: u64,
    /// The caller's words beside each state.
    extra: usize,
    arenas: Vec<Arena>,
    /// Bits that name a writer in the index.
    writer_bits: u32,
    payloads: Option<Payloads>,
    /// How states are cut where the index may hold them instead of their places, and whether somebody needs the places.
    remainders: Option<Remainders>,
    places_asked: AtomicBool,
    index: RwLock<AnyIndex>,
    /// Entries of the index that writers may use or have used, and of them those that each may still use.
    claimed: AtomicU64,
    rights: Vec<AtomicU64>,
    len: AtomicU64,
    governor: Governor,
}

impl StateTable {
    /// An empty table for states of `words` words, each with `extra` words of the caller's, written by `writers`
    /// threads.
    pub fn new(words: usize, extra: usize, writers: usize, governor: &Governor) -> Result<Self, OverBudget> {
        StateTable::of_form((words, Form::of_words(words)), extra, writers, governor)
    }

    /// An empty table for states of `words` words of which the lowest `bits` are used, each with a payload
    /// ([`Writer::merge_all`]), written by `writers` threads. Its states lie in as few bytes as hold them: they can be copied
    /// out ([`StateTable::copy_states`]), not looked at in place.
    pub fn keeping(
        (words, bits): (usize, u32),
        payload: Payload,
        writers: usize,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        let table = StateTable::of_form((words, Form::of_bits(words, bits)), 0, writers, governor)?;
        let chunk_bytes = (governor.limit() / (64 * writers as u64)).clamp(16 << 10, 32 << 20) as usize;
        let payloads = (payload.words > 0).then(|| Payloads::new(payload, writers, chunk_bytes, governor));
        let remainders = if payloads.is_none() { Remainders::of(words, bits) } else { None };
        let mut table = StateTable { payloads, remainders, ..table };
        table.choose_entries();
        Ok(table)
    }

    /// Bytes that a state of `words` words of which the lowest `bits` are used takes in such a table, beside the index.
    pub fn bytes_of(words: usize, bits: u32) -> usize {
        Form::of_bits(words, bits).bytes()
    }

    fn of_form(
        (words, form): (usize, Form),
        extra: usize,
        writers: usize,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        assert!((1..=MAX_WRITERS).contains(&writers), "1 to {MAX_WRITERS} writers");
        let record = form.bytes() + 8 * extra;
        let chunk_bytes = arena_chunk(record, writers, governor);
        let arenas = (0..writers).map(|_| Arena::new(record, chunk_bytes, governor)).collect();
        // Writers need not find equally many states.
        let most = governor.limit() / (record as u64 + 5) * if writers == 1 { 1 } else { 2 };
        let writer_bits = writers.next_power_of_two().trailing_zeros();
        let index = match most < 1 << Narrow::CODE_BITS {
            true => AnyIndex::Narrow(Index::new(writer_bits, governor)?, Entries::Places),
            false => AnyIndex::Wide(Index::new(writer_bits, governor)?),
        };
        Ok(StateTable {
            words,
            form,
            folding: None,
            fold_from: FOLD_FROM,
            extra,
            arenas,
            writer_bits,
            payloads: None,
            remainders: None,
            places_asked: AtomicBool::new(false),
            index: RwLock::new(index),
            claimed: AtomicU64::new(0),
            rights: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            len: AtomicU64::new(0),
            governor: governor.clone(),
        })
    }

    /// Lets entries of an index without states be what suits its size.
    fn choose_entries(&mut self) {
        let buckets = on_index!(&*self.read_index(), index => index.buckets());
        let chosen = self.entries_for(buckets);
        if let AnyIndex::Narrow(_, entries) = self.index.get_mut().unwrap_or_else(|e| e.into_inner()) {
            *entries = chosen;
        }
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
        self.folding.as_ref().map_or(self.words, Folding::words)
    }

    /// Number of writers.
    pub fn writer_count(&self) -> usize {
        self.arenas.len()
    }

    /// The table to read from, and its writers, one for each thread: as long as they live nobody else can write.
    pub fn share(&mut self) -> (&StateTable, Vec<Writer<'_>>) {
        let table = &*self;
        (table, (0..table.arenas.len()).map(|number| Writer::new(table, number)).collect())
    }

    /// How many states a writer has added.
    pub fn added_by(&self, writer: usize) -> u64 {
        self.arenas[writer].len()
    }

    /// The state behind a reference. Panics where the table has no such state, or states of fewer bytes than words have.
    #[inline]
    pub fn state(&self, at: StateRef) -> &[u64] {
        self.nth(at.writer(), at.number())
    }

    /// The n-th state that a writer has added. Panics where there is none, or states have fewer bytes than words have.
    #[inline]
    pub fn nth(&self, writer: usize, number: u64) -> &[u64] {
        &self.record(writer, number)[..self.words]
    }

    /// Copies the n-th state that a writer has added. Panics where there is none.
    #[inline]
    pub fn copy_nth(&self, writer: usize, number: u64, into: &mut [u64]) {
        let record = self.arenas[writer].record(number);
        // SAFETY: the arena has such a record.
        unsafe {
            match &self.folding {
                None => self.form.read::<0>(record, into),
                Some(folding) => folding.read(self.form, record, into),
            }
        }
    }

    /// The words of a record, where records are whole words.
    #[inline]
    fn record(&self, writer: usize, number: u64) -> &[u64] {
        let is_whole = self.form.bytes() == self.words * 8 && self.folding.is_none();
        assert!(is_whole, "states of fewer bytes are copied");
        // SAFETY: the record was fully written before its number could be known, is as long, and never changes; chunks are
        // aligned, and so are records of whole words within.
        unsafe {
            std::slice::from_raw_parts(self.arenas[writer].record(number).cast(), self.words + self.extra)
        }
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

    /// A reference in the fewest bits: never 0.
    #[inline]
    fn place_of(&self, at: StateRef) -> u64 {
        ((at.number() << self.writer_bits) | at.writer() as u64) + 1
    }

    #[inline]
    fn ref_of(&self, place: u64) -> StateRef {
        let (writer, number) = self.split_place(place);
        StateRef::new(writer, number)
    }

    /// The writer and the number in a place.
    #[inline]
    fn split_place(&self, place: u64) -> (usize, u64) {
        let place = place - 1;
        ((place & ((1 << self.writer_bits) - 1)) as usize, place >> self.writer_bits)
    }

    /// Where the state of a place lies in memory.
    ///
    /// # Safety
    /// The place comes from the index.
    #[inline]
    unsafe fn address(&self, place: u64) -> *const u8 {
        let (writer, number) = self.split_place(place);
        // SAFETY: the index names records of the table's own arenas.
        unsafe { self.arenas.get_unchecked(writer).address(number) }
    }

    /// The hash of the state of a place.
    ///
    /// # Safety
    /// The place comes from the index.
    #[cold]
    unsafe fn hash_of(&self, place: u64) -> u64 {
        let mut state = vec![0; self.words];
        // SAFETY: as the caller promises.
        unsafe { self.form.read::<0>(self.address(place), &mut state) };
        hash(&state)
    }

    /// No place is left for another state.
    #[cold]
    fn full(&self) -> OverBudget {
        let (available, limit) = (self.governor.available(), self.governor.limit());
        OverBudget { what: "index of states", asked: available.saturating_add(1), available, limit }
    }

    /// The caller's words beside a state.
    pub fn extra(&self, at: StateRef) -> &[u64] {
        &self.record(at.writer(), at.number())[self.words..]
    }

    /// Finds one state.
    pub fn find(&self, state: &[u64]) -> Option<StateRef> {
        assert_eq!(state.len(), self.words(), "every state has the same width");
        let folded = match &self.folding {
            None => None,
            Some(folding) => Some(folding.fold_known(state)?),
        };
        let state = folded.as_deref().unwrap_or(state);
        let mut index = self.read_index();
        if let AnyIndex::Narrow(_, Entries::Remainders) = &*index {
            drop(index);
            self.name_places();
            index = self.read_index();
        }
        let at = on_index!(&*index, index => {
            let lines = index.lines();
            self.probe(&lines, lines.codes.cut(hash(state)), state)
        })?;
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
        Writer::new(self, 0).insert_all(states, extra, added)
    }

    /// Adds the states of records, their payloads merged with those that are there, for one who has the table to himself.
    pub fn insert_records(&mut self, records: Records<'_>) -> Result<(), OverBudget> {
        let shape = records.shape();
        if shape.payload_words() == 0 {
            return self.insert_all(records.flat(), |_, _| {}, |_, _| {});
        }
        let since = [0; MAX_WRITERS];
        let mut writer = Writer::new(self, 0);
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

    /// Makes the index large enough for `more` further states at once, which saves growing step by step.
    pub fn expect(&self, more: u64) -> Result<(), OverBudget> {
        self.grow_for(more)
    }

    /// Appends the states `from..to` of a writer's arena to `flat`, one after the other.
    pub fn copy_states(&self, writer: usize, from: u64, to: u64, flat: &mut Vec<u64>) {
        let start = flat.len();
        let words = self.words();
        flat.resize(start + (to - from) as usize * words, 0);
        let states = &mut flat[start..];
        match words {
            _ if self.folding.is_some() => {
                for (number, state) in (from..to).zip(states.chunks_exact_mut(words)) {
                    self.copy_nth(writer, number, state);
                }
            }
            1 => self.copy_whole::<1>(writer, from..to, states),
            2 => self.copy_whole::<2>(writer, from..to, states),
            _ => self.copy_whole::<0>(writer, from..to, states),
        }
    }

    /// Copies states that are not folded; `W` is 0 or the number of words.
    fn copy_whole<const W: usize>(&self, writer: usize, numbers: Range<u64>, states: &mut [u64]) {
        let arena = &self.arenas[writer];
        assert!(numbers.end <= arena.len(), "no such record");
        for (number, state) in numbers.zip(states.chunks_exact_mut(if W == 0 { self.words } else { W })) {
            // SAFETY: the arena has such a record; `W` is 0 or the number of words.
            unsafe { self.form.read::<W>(arena.address(number), state) };
        }
    }

    /// Appends the states `from..to` of a writer's arena to `flat`, each after its payload.
    pub fn copy_records(&self, writer: usize, from: u64, to: u64, flat: &mut Vec<u64>) {
        if self.payloads.is_none() {
            return self.copy_states(writer, from, to, flat);
        }
        for number in from..to {
            self.copy_payload(writer, number, flat);
            self.copy_states(writer, number, number + 1, flat);
        }
    }

    /// Forgets every state. The arenas keep their memory; the index starts small again.
    pub fn clear(&mut self) -> Result<(), OverBudget> {
        self.arenas.iter_mut().for_each(Arena::clear);
        if let Some(payloads) = &mut self.payloads {
            payloads.clear();
        }
        if let Some(folding) = &mut self.folding {
            folding.clear()?;
        }
        *self.len.get_mut() = 0;
        *self.claimed.get_mut() = 0;
        self.rights.iter_mut().for_each(|right| *right.get_mut() = 0);
        let index = self.index.get_mut().unwrap_or_else(|e| e.into_inner());
        on_index!(index, index => index.start_again(&self.governor))?;
        self.choose_entries();
        Ok(())
    }

    /// Gives up the index, so that only the states themselves are held: they can still be copied out, not found.
    pub fn drop_index(&mut self) {
        let index = self.index.get_mut().unwrap_or_else(|e| e.into_inner());
        on_index!(index, index => index.give_up());
        if let Some(folding) = &mut self.folding {
            folding.drop_index();
        }
        if let AnyIndex::Narrow(_, entries) = index {
            *entries = Entries::Places;
        }
    }

    fn read_index(&self) -> std::sync::RwLockReadGuard<'_, AnyIndex> {
        // A thread that dies while growing leaves an index of fewer states at worst, and no further use of it.
        self.index.read().unwrap_or_else(|e| e.into_inner())
    }

    fn probe<B: Bucket>(&self, lines: &Lines<B>, h: CutHash, state: &[u64]) -> Option<StateRef> {
        let mut bucket = lines.home(h);
        loop {
            let line = lines.at(bucket);
            let seen = line.look(h.byte());
            let mut fits = seen.fits;
            while fits != 0 {
                let place = lines.codes.place(line.code(fits.trailing_zeros() as usize));
                // SAFETY: the place comes from the index.
                if unsafe { self.form.is_same::<0>(self.address(place), state) } {
                    return Some(self.ref_of(place));
                }
                fits &= fits - 1;
            }
            if seen.free != 0 {
                return None;
            }
            bucket = lines.after(bucket);
        }
    }
}
