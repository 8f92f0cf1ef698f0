//! What is known in RAM of the states generated lately: immediate duplicate detection before the delayed one
//! (Lamborn 2014, sec. 3.3.2).
//!
//! States that the cache does not know are candidates; they are sorted and offered when it is full and at the end of a
//! layer. A state may be in the cache only if it was offered or lies in a layer, so dropping a known one loses nothing.
//! Where states have payloads that does lose something: then nothing is remembered, and those of equal states are merged when
//! they are sorted.

use crate::lane::{Batch, Sink};
use hadal_store::shape::RecordShape;
use hadal_store::sort::{dedupe_sorted, scratch_bytes, sort_records};
use hadal_store::table::{MAX_WRITERS, StateTable, Writer};
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::{Ascending, States};
use serde::{Deserialize, Serialize};

/// States a thread collects before it writes them where nothing is to be remembered.
const OFF_STATES: u64 = 4096;

/// The least share of the budget that a cache keeps when it gives way, in percent.
const LEAST_SHARE: u64 = 6;

/// What is remembered of generated states, and what is forgotten when memory is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheKind {
    /// Nothing: states are sorted and written in small batches.
    Off,
    /// Nothing either, but batches are as large as memory allows, and a state that comes twice in a batch is written once.
    Buffer,
    /// A table that survives layers and is emptied when it is full.
    Table,
    /// A table that survives layers; when it is full the half that was not seen for longest is forgotten.
    Lru,
}

/// A cache and the memory to sort what it learned.
pub(crate) struct Cache {
    store: Store,
    kind: CacheKind,
    shape: RecordShape,
    writers: usize,
    /// What it may take, besides the space for sorting.
    bytes: u64,
    governor: Governor,
    sorted: Vec<u64>,
    sorted_memory: Reservation,
}

/// The cache proper; lanes write to it.
enum Store {
    /// Nothing is remembered.
    Buffer(Buffer),
    /// One table.
    Table(Table),
    /// Two tables, of which the older is forgotten.
    Lru(Generations),
}

struct Buffer {
    /// One for each lane.
    parts: Vec<Vec<u64>>,
    most_words: usize,
    _memory: Reservation,
}

struct Table {
    table: Box<StateTable>,
    /// How much of each arena has been sorted.
    offered: Vec<u64>,
}

/// Least recently used, by halves: what is found in the older half moves to the younger, and when that is full it
/// becomes the older and the older is forgotten (Lamborn 2014, sec. 3.3.2.2, drops the oldest half as well).
struct Generations {
    /// Twice as many arenas as lanes: the second half holds what moved here from `old`.
    young: Box<StateTable>,
    old: Box<StateTable>,
    offered: Vec<u64>,
}

impl Cache {
    /// A cache of such records that takes at most `bytes`, besides the space for sorting what is in it.
    pub(crate) fn new(
        kind: CacheKind,
        shape: RecordShape,
        writers: usize,
        bytes: u64,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        let kind = match kind {
            CacheKind::Table | CacheKind::Lru if shape.payload_words() > 0 => CacheKind::Buffer,
            kind => kind,
        };
        let store = Store::new(kind, shape.stride(), writers, bytes, governor)?;
        // Set aside at once: a cache that cannot be sorted cannot be emptied.
        let sorted_memory = governor.try_reserve(bytes / 2, "sorting")?;
        let governor = governor.clone();
        Ok(Cache { store, kind, shape, writers, bytes, governor, sorted: Vec::new(), sorted_memory })
    }

    /// Gives half of its memory to others; everything in it was sorted before. Says whether it could: a cache too small
    /// offers the same states again and again.
    pub(crate) fn give_way(&mut self) -> Result<bool, OverBudget> {
        let half = self.bytes / 2;
        if half < self.governor.limit() / 100 * LEAST_SHARE || self.fresh() > 0 {
            return Ok(false);
        }
        self.store = Store::Buffer(Buffer::nothing(&self.governor));
        self.store = Store::new(self.kind, self.shape.stride(), self.writers, half, &self.governor)?;
        self.bytes = half;
        // The batch that was sorted last is still to be offered.
        self.sorted_memory.shrink_to((half / 2).max(self.sorted.len() as u64 * 8));
        Ok(true)
    }

    /// Where lanes write, one for each.
    pub(crate) fn sinks(&mut self) -> Vec<CacheSink<'_>> {
        match &mut self.store {
            Store::Buffer(Buffer { parts, most_words, .. }) => {
                let most_words = *most_words;
                parts.iter_mut().map(|part| CacheSink::Buffer { part, most_words }).collect()
            }
            Store::Table(Table { table, .. }) => table.share().1.into_iter().map(CacheSink::Table).collect(),
            Store::Lru(Generations { young, old, offered }) => {
                let mut writers = young.share().1.into_iter();
                let lanes: Vec<Writer> = writers.by_ref().take(offered.len()).collect();
                let keepers = writers.map(Some).chain(std::iter::repeat_with(|| None));
                let each = lanes.into_iter().zip(keepers);
                each.map(|(young, keeper)| CacheSink::Lru(Younger { young, keeper, old })).collect()
            }
        }
    }

    /// What was sorted last.
    pub(crate) fn sorted(&self) -> Ascending<'_> {
        Ascending::new(self.shape.stride(), &self.sorted)
    }

    /// Moves what was sorted last out; [`Cache::put_sorted`] brings back what of it is to be offered.
    pub(crate) fn take_sorted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sorted)
    }

    pub(crate) fn put_sorted(&mut self, sorted: Vec<u64>) {
        self.sorted = sorted;
    }

    /// How many states were not sorted yet.
    fn fresh(&self) -> usize {
        match &self.store {
            Store::Buffer(buffer) => buffer.held() / self.shape.stride(),
            Store::Table(Table { table, offered }) => fresh(table, offered),
            Store::Lru(Generations { young, offered, .. }) => fresh(young, offered),
        }
    }

    /// Sorts what was not sorted yet, or as much of it as there is memory for: none are left when it comes back empty.
    pub(crate) fn sort_new(&mut self) -> Result<Ascending<'_>, OverBudget> {
        let (shape, words) = (self.shape, self.shape.stride());
        let mut states = self.fresh();
        let need = |states: usize| (states * words * 8) as u64 + scratch_bytes(shape, states);
        if need(states) > self.sorted_memory.bytes() {
            self.sorted = Vec::new();
            if self.sorted_memory.try_resize(need(states)).is_err() {
                if let Store::Buffer(_) = self.store {
                    self.sorted_memory.try_resize(need(states))?;
                }
                while states > 1 && need(states) > self.sorted_memory.bytes() {
                    states = states / 4 * 3;
                }
                states = states.max(1);
            }
        }
        self.sorted.clear();
        self.sorted.reserve_exact(states * words);
        match &mut self.store {
            Store::Buffer(buffer) => buffer.move_to(&mut self.sorted),
            Store::Table(Table { table, offered }) => copy_fresh(table, offered, states, &mut self.sorted),
            Store::Lru(Generations { young, offered, .. }) => {
                copy_fresh(young, offered, states, &mut self.sorted);
            }
        }
        sort_records(shape, &mut self.sorted);
        if let Store::Buffer(_) = self.store {
            dedupe_sorted(shape, &mut self.sorted);
        }
        Ok(self.sorted())
    }

    /// Forgets enough to go on; everything in it was sorted before.
    pub(crate) fn make_room(&mut self) -> Result<(), OverBudget> {
        match &mut self.store {
            Store::Buffer(_) => Ok(()),
            Store::Table(Table { table, offered }) => {
                offered.fill(0);
                table.clear()
            }
            Store::Lru(Generations { young, old, offered }) => {
                offered.fill(0);
                std::mem::swap(young, old);
                young.clear()
            }
        }
    }
}

impl Store {
    fn new(
        kind: CacheKind,
        words: usize,
        writers: usize,
        bytes: u64,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        Ok(match kind {
            CacheKind::Off | CacheKind::Buffer => {
                let state = 8 * words as u64;
                let off = OFF_STATES * writers as u64 * state;
                let bytes = if kind == CacheKind::Off { off.min(bytes) } else { bytes };
                let most_states = (bytes / writers as u64 / state).max(1);
                let _memory = governor.try_reserve(most_states * state * writers as u64, "candidates")?;
                let most_words = most_states as usize * words;
                let part = || Vec::with_capacity(most_words);
                let parts = (0..writers).map(|_| part()).collect();
                Store::Buffer(Buffer { parts, most_words, _memory })
            }
            CacheKind::Table => Store::Table(Table {
                table: Box::new(StateTable::new(words, 0, writers, &governor.part(bytes))?),
                offered: vec![0; writers],
            }),
            CacheKind::Lru => {
                let arenas = (2 * writers).min(MAX_WRITERS);
                let half = || StateTable::new(words, 0, arenas, &governor.part(bytes / 2)).map(Box::new);
                Store::Lru(Generations { young: half()?, old: half()?, offered: vec![0; writers] })
            }
        })
    }
}

/// States that were added since the last time.
fn fresh(table: &StateTable, offered: &[u64]) -> usize {
    let counts = offered.iter().enumerate().map(|(writer, offered)| table.added_by(writer) - offered);
    counts.sum::<u64>() as usize
}

/// Copies at most `most` of them.
fn copy_fresh(table: &StateTable, offered: &mut [u64], most: usize, into: &mut Vec<u64>) {
    let mut room = most as u64;
    for (writer, offered) in offered.iter_mut().enumerate() {
        let to = table.added_by(writer).min(*offered + room);
        table.copy_states(writer, *offered, to, into);
        room -= to - *offered;
        *offered = to;
    }
}

impl Buffer {
    /// A buffer without room.
    fn nothing(governor: &Governor) -> Self {
        Buffer { parts: Vec::new(), most_words: 0, _memory: governor.empty("candidates") }
    }

    fn held(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    fn move_to(&mut self, into: &mut Vec<u64>) {
        for part in &mut self.parts {
            into.extend_from_slice(part);
            part.clear();
        }
    }
}

/// One lane's way into the cache.
pub(crate) enum CacheSink<'c> {
    /// Its part of the buffer.
    Buffer { part: &'c mut Vec<u64>, most_words: usize },
    /// Its arena of the table.
    Table(Writer<'c>),
    /// Its arenas of the younger table.
    Lru(Younger<'c>),
}

/// One lane's arenas of the younger of two tables.
pub(crate) struct Younger<'c> {
    young: Writer<'c>,
    /// For what is found in the older one.
    keeper: Option<Writer<'c>>,
    old: &'c StateTable,
}

impl Sink for CacheSink<'_> {
    fn take(&mut self, batch: Batch, told: impl FnMut(usize)) -> Result<(), OverBudget> {
        match self {
            CacheSink::Buffer { part, most_words } => take_into(part, *most_words, batch, told),
            CacheSink::Table(writer) => writer.take(batch, told),
            CacheSink::Lru(younger) => younger.take(batch.states, told),
        }
    }
}

/// Appends as many records as there is room for.
fn take_into(
    part: &mut Vec<u64>,
    most_words: usize,
    Batch { states, payloads, .. }: Batch,
    told: impl FnMut(usize),
) -> Result<(), OverBudget> {
    let payload = payloads.len().checked_div(states.len()).unwrap_or(0);
    let fit = states.len().min((most_words - part.len()) / (payload + states.words()));
    match payload {
        0 => part.extend_from_slice(states.slice(0..fit).flat()),
        _ => {
            for (payload, state) in payloads.chunks_exact(payload).zip(states.iter()).take(fit) {
                part.extend_from_slice(payload);
                part.extend_from_slice(state);
            }
        }
    }
    (0..fit).for_each(told);
    if fit < states.len() {
        let (asked, limit) = (8 * (payloads.len() + states.flat().len()) as u64, 8 * most_words as u64);
        return Err(OverBudget { what: "candidates", asked, available: 0, limit });
    }
    Ok(())
}

impl Younger<'_> {
    fn take(&mut self, states: States, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        if self.old.is_empty() {
            return self.young.insert_all(states.flat(), |_, _| {}, |n, _| told(n));
        }
        let (mut unknown, mut numbers, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for (n, state) in states.iter().enumerate() {
            if self.old.find(state).is_some() {
                known.extend_from_slice(state);
            } else {
                unknown.extend_from_slice(state);
                numbers.push(n);
            }
        }
        self.young.insert_all(&unknown, |_, _| {}, |n, _| told(numbers[n]))?;
        if let Some(keeper) = &mut self.keeper {
            // Without room they are not kept for longer, which is all that happens.
            let _ = keeper.insert_all(&known, |_, _| {}, |_, _| {});
        }
        Ok(())
    }
}
