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
mod pages;

use crate::governor::{Governor, OverBudget, Reservation};
use arena::{Arena, Writing};
use hadal_system::state::hash;
use pages::Pages;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a state lies in a [`StateTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateRef(u64);

const WRITER_SHIFT: u32 = 34;
/// The most threads that can write to one table.
pub const MAX_WRITERS: usize = 1 << (40 - WRITER_SHIFT);
/// Entries per bucket: one cache line.
const BUCKET: usize = 8;
/// The index grows when more than this share of its entries is used.
const MAX_LOAD: (u64, u64) = (13, 16);
/// Buckets of a new index.
const FIRST_BUCKETS: u64 = 128;
/// How many look-ups overlap.
const WINDOW: usize = 64;

impl StateRef {
    fn new(writer: usize, n: u64) -> Self {
        StateRef((writer as u64) << WRITER_SHIFT | n)
    }

    /// Whose arena.
    pub fn writer(self) -> usize {
        (self.0 >> WRITER_SHIFT) as usize
    }

    /// The number within the arena, in order of discovery.
    pub fn number(self) -> u64 {
        self.0 & ((1 << WRITER_SHIFT) - 1)
    }

    /// The n-th state of a writer's arena.
    pub fn at(writer: usize, number: u64) -> Self {
        StateRef::new(writer, number)
    }

    /// As a plain word, to be stored in a record.
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// Back from [`StateRef::to_word`].
    pub fn from_word(word: u64) -> Self {
        StateRef(word)
    }
}

/// An exact set of packed states in RAM.
#[derive(Debug)]
pub struct StateTable {
    words: usize,
    extra: usize,
    arenas: Vec<Arena>,
    index: RwLock<Index>,
    len: AtomicU64,
    governor: Governor,
}

#[derive(Debug)]
struct Index {
    pages: Option<Pages>,
    buckets: u64,
    reservation: Reservation,
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
        let mut index = Index { pages: None, buckets: 0, reservation: governor.empty("index of states") };
        index.allocate(FIRST_BUCKETS)?;
        Ok(StateTable {
            words,
            extra,
            arenas,
            index: RwLock::new(index),
            len: AtomicU64::new(0),
            governor: governor.clone(),
        })
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
    pub fn writers(&self) -> usize {
        self.arenas.len()
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

    /// The state behind a reference from the index.
    #[inline]
    fn known(&self, at: StateRef) -> &[u64] {
        &self.arenas[at.writer()].get(at.number())[..self.words]
    }

    /// The caller's words beside a state.
    pub fn extra(&self, at: StateRef) -> &[u64] {
        &self.arenas[at.writer()].record(at.number())[self.words..]
    }

    /// Finds one state.
    pub fn find(&self, state: &[u64]) -> Option<StateRef> {
        let index = self.read_index();
        self.probe(&index, hash(state), state)
    }

    /// Adds the states that are not there yet. `states` holds them one after the other; `extra(n)` fills the caller's
    /// words for the n-th; `added` is told of each state that was new, in order.
    ///
    /// When the budget ends midway, the states reported to `added` stay and the rest is as if never given. A writer
    /// belongs to one thread at a time: a second one that uses it meanwhile panics.
    pub fn insert_all(
        &self,
        writer: usize,
        states: &[u64],
        mut extra: impl FnMut(usize, &mut [u64]),
        mut added: impl FnMut(usize, StateRef),
    ) -> Result<(), OverBudget> {
        let writing = self.arenas[writer].write();
        let mut own = vec![0; self.extra];
        let mut hashes = [0; WINDOW];
        for (w, window) in states.chunks(WINDOW * self.words).enumerate() {
            self.grow_for(WINDOW as u64 * self.writers() as u64)?;
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
                    extra(number, &mut own);
                }
                match self.find_or_add(&index, (&writing, writer), hashes[n], state, &own) {
                    Ok(None) => {}
                    Ok(Some(at)) => {
                        new += 1;
                        added(number, at);
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

    /// Forgets every state. The arenas keep their memory; the index starts small again.
    pub fn clear(&mut self) -> Result<(), OverBudget> {
        self.arenas.iter_mut().for_each(Arena::clear);
        *self.len.get_mut() = 0;
        self.index.get_mut().unwrap_or_else(|e| e.into_inner()).allocate(FIRST_BUCKETS)
    }

    /// Gives up the index, so that only the states themselves are held: they can still be copied out, not found.
    pub fn drop_index(&mut self) {
        let index = self.index.get_mut().unwrap_or_else(|e| e.into_inner());
        index.pages = None;
        index.buckets = 0;
        index.reservation.shrink_to(0);
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
                let held = ref_of(entries[at].load(Ordering::Acquire));
                if same(self.known(held), state) {
                    return Some(held);
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
    #[inline]
    fn find_or_add(
        &self,
        index: &Index,
        (writing, writer): (&Writing, usize),
        h: u64,
        state: &[u64],
        extra: &[u64],
    ) -> Result<Option<StateRef>, OverBudget> {
        let mut own: Option<u64> = None;
        let mut bucket = index.home(h);
        loop {
            let entries = index.bucket(bucket);
            let seen = Seen::of(entries, h);
            for at in seen.candidates() {
                if same(self.known(ref_of(entries[at].load(Ordering::Acquire))), state) {
                    if own.is_some() {
                        writing.pop();
                    }
                    return Ok(None);
                }
            }
            if seen.free == 0 {
                bucket = index.after(bucket);
                continue;
            }
            let n = match own {
                Some(n) => n,
                None => *own.insert(writing.push(state, extra)?),
            };
            let at = StateRef::new(writer, n);
            let wanted = (at.0 + 1) << 24 | tag_of(h);
            let entry = &entries[seen.free.trailing_zeros() as usize];
            if entry.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
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
                    hashes[k as usize] = hash(&arena.get(n + k)[..self.words]);
                    prefetch(index.bucket(index.home(hashes[k as usize])));
                }
                for k in 0..count {
                    let h = hashes[k as usize];
                    let wanted = (StateRef::new(writer, n + k).0 + 1) << 24 | tag_of(h);
                    let mut bucket = index.home(h);
                    loop {
                        let entries = index.bucket(bucket);
                        let seen = Seen::of(entries, h);
                        if seen.free != 0 {
                            entries[seen.free.trailing_zeros() as usize].store(wanted, Ordering::Relaxed);
                            break;
                        }
                        bucket = index.after(bucket);
                    }
                }
                n += count;
            }
        }
        Ok(())
    }
}

#[inline]
fn tag_of(word: u64) -> u64 {
    word & 0xFF_FFFF
}

#[inline]
fn ref_of(entry: u64) -> StateRef {
    StateRef((entry >> 24) - 1)
}

impl Index {
    /// Replaces the index by an empty one. On error the old one is still there, or the system has no memory left.
    fn allocate(&mut self, buckets: u64) -> Result<(), OverBudget> {
        let bytes = buckets * BUCKET as u64 * 8;
        self.reservation.try_resize(bytes)?;
        self.pages = None;
        self.buckets = 0;
        let none = OverBudget { what: "index of states", asked: bytes, available: 0, limit: bytes };
        self.pages = Some(Pages::zeroed(buckets as usize * BUCKET).ok_or(none)?);
        self.buckets = buckets;
        Ok(())
    }

    fn holds(&self, states: u64) -> bool {
        states <= self.buckets * BUCKET as u64 / MAX_LOAD.1 * MAX_LOAD.0
    }

    /// Replaces the index by an empty larger one: twice the size, or what the budget still allows if that is enough
    /// for `needed` states and worth the rebuilding.
    fn grow(&mut self, needed: u64, governor: &Governor) -> Result<(), OverBudget> {
        let free = governor.available() + self.reservation.bytes();
        let affordable = free / (BUCKET as u64 * 8);
        let wanted = self.buckets * 2;
        let least = self.buckets + self.buckets / 4;
        let enough = needed.div_ceil(BUCKET as u64) * MAX_LOAD.1 / MAX_LOAD.0 + 1;
        let buckets = wanted.max(enough).min(affordable.max(least.max(enough)));
        let bytes = buckets * BUCKET as u64 * 8;
        if bytes > free {
            return Err(OverBudget {
                what: "index of states",
                asked: bytes - self.reservation.bytes(),
                available: governor.available(),
                limit: governor.limit(),
            });
        }
        self.allocate(buckets)
    }

    /// Where the search for a hash begins.
    #[inline]
    fn home(&self, h: u64) -> usize {
        ((u128::from(h) * u128::from(self.buckets)) >> 64) as usize
    }

    /// The next bucket, around the end.
    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 < self.buckets as usize { bucket + 1 } else { 0 }
    }

    #[inline]
    fn bucket(&self, bucket: usize) -> &[AtomicU64; BUCKET] {
        static NOTHING: [AtomicU64; BUCKET] = [const { AtomicU64::new(0) }; BUCKET];
        match &self.pages {
            // SAFETY: `bucket < self.buckets` by `home` and `after`; the mapping holds that many buckets of
            // zero-initialised words, which are valid atomics, and lives as long as `self` is borrowed.
            Some(pages) => unsafe { &*pages.start().add(bucket * BUCKET).cast() },
            None => &NOTHING,
        }
    }

    /// The first entry of the home bucket whose tag fits.
    #[inline]
    fn likely(&self, h: u64) -> Option<StateRef> {
        let entries = self.bucket(self.home(h));
        let seen = Seen::of(entries, h);
        seen.candidates().next().map(|at| ref_of(entries[at].load(Ordering::Relaxed)))
    }
}

/// What one look at a bucket shows, a bit per entry. Computed without branches: where a state lies in its bucket cannot
/// be predicted.
struct Seen {
    fits: u32,
    free: u32,
}

impl Seen {
    #[inline]
    fn of(entries: &[AtomicU64; BUCKET], h: u64) -> Self {
        let mut seen = Seen { fits: 0, free: 0 };
        for (at, entry) in entries.iter().enumerate() {
            let held = entry.load(Ordering::Acquire);
            seen.fits |= u32::from(tag_of(held) == tag_of(h)) << at;
            seen.free |= u32::from(held == 0) << at;
        }
        seen
    }

    /// The entries whose tag fits.
    #[inline]
    fn candidates(&self) -> impl Iterator<Item = usize> {
        // A free entry looks like tag 0.
        let mut rest = self.fits & !self.free;
        std::iter::from_fn(move || {
            let at = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                at
            })
        })
    }
}

/// Whether two states are equal. States are a few words: a call would cost more than the comparison.
#[inline]
fn same(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

#[inline]
fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching is a hint and never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;
    use std::collections::HashSet;

    fn pseudo_random(seed: u64, n: usize, words: usize, spread: u64) -> Vec<u64> {
        let mut random = Random::new(seed);
        (0..n * words).map(|_| random.below(spread)).collect()
    }

    #[test]
    fn holds_each_state_once_and_finds_it() {
        for words in [1, 2, 5] {
            let table = StateTable::new(words, 0, 1, &Governor::unlimited()).unwrap();
            let states = pseudo_random(7, 50_000, words, 60);
            let mut new = 0;
            table.insert_all(0, &states, |_, _| {}, |_, _| new += 1).unwrap();
            let expected: HashSet<&[u64]> = states.chunks(words).collect();
            assert_eq!(new, expected.len());
            assert_eq!(table.len(), expected.len() as u64);
            for state in &expected {
                let at = table.find(state).expect("every inserted state is found");
                assert_eq!(table.state(at), *state);
            }
            assert_eq!(table.find(&vec![99; words]), None);
            let mut again = 0;
            table.insert_all(0, &states, |_, _| {}, |_, _| again += 1).unwrap();
            assert_eq!(again, 0);
        }
    }

    #[test]
    fn threads_that_insert_the_same_states_agree_on_the_set() {
        let table = StateTable::new(2, 0, 4, &Governor::unlimited()).unwrap();
        let states = pseudo_random(3, 40_000, 2, 150);
        let new = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (table, states, new) = (&table, &states, &new);
                scope.spawn(move || {
                    table
                        .insert_all(
                            writer,
                            states,
                            |_, _| {},
                            |_, _| {
                                new.fetch_add(1, Ordering::Relaxed);
                            },
                        )
                        .unwrap()
                });
            }
        });
        let expected: HashSet<&[u64]> = states.chunks(2).collect();
        assert_eq!(new.into_inner(), expected.len() as u64);
        assert_eq!((0..4).map(|w| table.added_by(w)).sum::<u64>(), expected.len() as u64);
    }

    #[test]
    fn the_budget_is_an_error_not_a_lost_state() {
        let governor = Governor::new(300_000);
        let table = StateTable::new(1, 0, 1, &governor).unwrap();
        let states: Vec<u64> = (0..1_000_000).collect();
        let mut new = 0u64;
        assert!(table.insert_all(0, &states, |_, _| {}, |_, _| new += 1).is_err());
        assert!(new > 8_000, "{new} states of 8 bytes in 300 kB");
        assert_eq!(table.len(), new);
        assert!(governor.peak() <= 300_000);
        for state in 0..new {
            assert!(table.find(&[state]).is_some());
        }
    }

    #[test]
    fn the_whole_budget_is_used_whatever_the_width_of_a_state() {
        for words in 1..=24 {
            let governor = Governor::new(4 << 20);
            let table = StateTable::new(words, 0, 1, &governor).unwrap();
            let states: Vec<u64> = (0..(5 << 20) / 8).map(|n| n / words as u64).collect();
            assert!(table.insert_all(0, &states, |_, _| {}, |_, _| {}).is_err());
            assert!(governor.peak() > 3 << 20, "{words} words: {} of 4 MiB", governor.peak());
        }
    }

    #[test]
    #[should_panic(expected = "a writer of a table belongs to one thread")]
    fn a_writer_cannot_be_used_twice_at_once() {
        let table = StateTable::new(1, 0, 1, &Governor::unlimited()).unwrap();
        let again = |_, _| table.insert_all(0, &[2], |_, _| {}, |_, _| {}).unwrap();
        table.insert_all(0, &[1], |_, _| {}, again).unwrap();
    }

    #[test]
    #[should_panic(expected = "no such record")]
    fn a_reference_past_the_end_is_refused() {
        let table = StateTable::new(1, 0, 1, &Governor::unlimited()).unwrap();
        table.insert_all(0, &[1], |_, _| {}, |_, _| {}).unwrap();
        table.state(StateRef::at(0, 1));
    }

    #[test]
    fn the_callers_words_stay_beside_the_state() {
        let table = StateTable::new(1, 1, 1, &Governor::unlimited()).unwrap();
        table.insert_all(0, &[5, 6, 5], |n, extra| extra[0] = n as u64 + 100, |_, _| {}).unwrap();
        assert_eq!(table.extra(table.find(&[6]).unwrap()), &[101]);
        assert_eq!(table.extra(table.find(&[5]).unwrap()), &[100]);
    }
}
