//! What is known in RAM of the states generated lately: immediate duplicate detection before the delayed one
//! (Lamborn 2014, sec. 3.3.2).
//!
//! States that the cache does not know are candidates; they are sorted and offered when it is full and at the end of a
//! layer. A state may be in the cache only if it was offered or lies in a layer, so dropping a known one loses nothing.
//! Where states have payloads that does lose something: then nothing is remembered, and those of equal states are merged when
//! they are sorted.

mod sink;

pub(crate) use sink::MeasuredSink;

use super::distances::CacheDistances;
use crate::report::CacheDistanceFigures;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{dedupe_sorted, scratch_bytes, sort_records_on};
use hadal_store::table::{MAX_WRITERS, StateTable, Writer};
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::{Ascending, Payload};
use serde::{Deserialize, Serialize};
use sink::{CacheSink, Younger};
use std::sync::{Mutex, PoisonError};

/// States a thread collects before it writes them where nothing is to be remembered.
const OFF_STATES: u64 = 4096;

/// The share of the budget in which distances are measured, in percent.
const DISTANCES_SHARE: u64 = 16;

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
    /// Bits of a state.
    bits: u32,
    writers: usize,
    /// What it may take, besides the space for sorting.
    bytes: u64,
    governor: Governor,
    taking: Taking,
    /// How far apart generations of one state are, where that is asked.
    distances: Option<Mutex<CacheDistances>>,
    /// Whether its memory is somebody else's while a layer is found.
    leaves: bool,
    /// Most states it had when it was full.
    most_states: u64,
    sorted: Vec<u64>,
    sorted_memory: Reservation,
}

/// When a cache takes its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// As it needs it, and only what others leave.
    AsItGrows,
    /// When it is made.
    AtOnce,
}

/// Memory for a cache.
#[derive(Clone, Copy)]
struct Room<'g> {
    bytes: u64,
    /// Bits of a state.
    bits: u32,
    governor: &'g Governor,
    taking: Taking,
}

impl Room<'_> {
    /// A budget of its own, and what of the whole budget it stands for.
    fn take(self) -> (Governor, Option<Reservation>) {
        match self.governor.try_reserve(self.bytes, "cache") {
            Ok(memory) if self.taking == Taking::AtOnce => (Governor::new(self.bytes), Some(memory)),
            _ => (self.governor.part(self.bytes), None),
        }
    }
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
    _memory: Option<Reservation>,
}

/// Least recently used, by halves: what is found in the older half moves to the younger, and when that is full it
/// becomes the older and the older is forgotten (Lamborn 2014, sec. 3.3.2.2, drops the oldest half as well).
struct Generations {
    /// Twice as many arenas as lanes: the second half holds what moved here from `old`.
    young: Box<StateTable>,
    old: Box<StateTable>,
    offered: Vec<u64>,
    _memory: Option<Reservation>,
}

impl Cache {
    /// A cache of such records that takes at most `bytes`, besides the space for sorting what is in it.
    pub(crate) fn new(
        kind: CacheKind,
        (shape, bits): (RecordShape, u32),
        writers: usize,
        bytes: u64,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        let kind = match kind {
            CacheKind::Table | CacheKind::Lru if shape.payload_words() > 0 => CacheKind::Buffer,
            kind => kind,
        };
        let room = Room { bytes, bits, governor, taking: Taking::AsItGrows };
        let store = Store::new(kind, shape.stride(), writers, room)?;
        // Set aside at once: a cache that cannot be sorted cannot be emptied.
        let sorted_memory = governor.try_reserve(bytes / 2, "sorting")?;
        let governor = governor.clone();
        Ok(Cache {
            store,
            kind,
            shape,
            bits,
            writers,
            bytes,
            governor,
            taking: Taking::AsItGrows,
            distances: None,
            leaves: false,
            most_states: 0,
            sorted: Vec::new(),
            sorted_memory,
        })
    }

    /// The same that takes all of its memory at once, where there is as much: then what it remembers does not depend on what
    /// others hold at some moment.
    pub(crate) fn at_once(mut self) -> Result<Self, OverBudget> {
        self.taking = Taking::AtOnce;
        self.store = Store::Buffer(Buffer::nothing(&self.governor));
        self.store = Store::new(self.kind, self.shape.stride(), self.writers, self.room())?;
        Ok(self)
    }

    fn room(&self) -> Room<'_> {
        Room { bytes: self.bytes, bits: self.bits, governor: &self.governor, taking: self.taking }
    }

    /// The same that also measures how far apart generations of one state are, in memory of its own.
    pub(crate) fn measuring(self) -> Result<Self, OverBudget> {
        let memory = self.governor.part(self.governor.limit() / 100 * DISTANCES_SHARE);
        let distances = CacheDistances::new(self.shape.words(), memory)?;
        Ok(Cache { distances: Some(Mutex::new(distances)), ..self })
    }

    /// What was measured.
    pub(crate) fn distances(&self) -> Option<CacheDistanceFigures> {
        Some(self.distances.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).figures())
    }

    /// The same whose memory is somebody else's while a layer is found, where it `leaves`.
    pub(crate) fn leaving(self, leaves: bool) -> Self {
        Cache { leaves, ..self }
    }

    /// Gives its memory away until [`Cache::come_back`], where it leaves; everything in it was sorted and offered.
    pub(crate) fn leave(&mut self) {
        if self.leaves {
            self.most_states = self.most_states();
            self.store = Store::Buffer(Buffer::nothing(&self.governor));
        }
    }

    /// Takes its memory again, with nothing in it.
    pub(crate) fn come_back(&mut self) -> Result<(), OverBudget> {
        if self.leaves {
            self.store = Store::new(self.kind, self.shape.stride(), self.writers, self.room())?;
        }
        Ok(())
    }

    /// Gives half of its memory to others; everything in it was sorted before. Says whether it could: a cache too small
    /// offers the same states again and again.
    pub(crate) fn give_way(&mut self) -> Result<bool, OverBudget> {
        let half = self.bytes / 2;
        if half < self.governor.limit() / 100 * LEAST_SHARE || self.fresh() > 0 {
            return Ok(false);
        }
        self.store = Store::Buffer(Buffer::nothing(&self.governor));
        self.bytes = half;
        self.store = Store::new(self.kind, self.shape.stride(), self.writers, self.room())?;
        // The batch that was sorted last is still to be offered.
        self.sorted_memory.shrink_to((half / 2).max(self.sorted.len() as u64 * 8));
        Ok(true)
    }

    /// Where lanes write, one for each.
    pub(crate) fn sinks(&mut self) -> Vec<MeasuredSink<'_>> {
        let distances = self.distances.as_ref();
        let sinks: Vec<CacheSink<'_>> = match &mut self.store {
            Store::Buffer(Buffer { parts, most_words, .. }) => {
                let most_words = *most_words;
                parts.iter_mut().map(|part| CacheSink::Buffer { part, most_words }).collect()
            }
            Store::Table(Table { table, .. }) => table.share().1.into_iter().map(CacheSink::Table).collect(),
            Store::Lru(Generations { young, old, offered, .. }) => {
                let mut writers = young.share().1.into_iter();
                let lanes: Vec<Writer> = writers.by_ref().take(offered.len()).collect();
                let keepers = writers.map(Some).chain(std::iter::repeat_with(|| None));
                let each = lanes.into_iter().zip(keepers);
                each.map(|(young, keeper)| CacheSink::Lru(Younger { young, keeper, old })).collect()
            }
        };
        sinks.into_iter().map(|sink| MeasuredSink { sink, distances }).collect()
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
            Store::Table(Table { table, offered, .. }) => fresh(table, offered),
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
        self.most_states = self.most_states();
        self.sorted.clear();
        self.sorted.reserve_exact(states * words);
        match &mut self.store {
            Store::Buffer(buffer) => buffer.move_to(&mut self.sorted),
            Store::Table(Table { table, offered, .. }) => {
                copy_fresh(table, offered, states, &mut self.sorted)
            }
            Store::Lru(Generations { young, offered, .. }) => {
                copy_fresh(young, offered, states, &mut self.sorted);
            }
        }
        sort_records_on(self.writers, shape, &mut self.sorted);
        if let Store::Buffer(_) = self.store {
            dedupe_sorted(shape, &mut self.sorted);
        }
        Ok(self.sorted())
    }

    /// States in it.
    fn states(&self) -> u64 {
        match &self.store {
            Store::Buffer(buffer) => (buffer.held() / self.shape.stride()) as u64,
            Store::Table(Table { table, .. }) => table.len(),
            Store::Lru(Generations { young, old, .. }) => young.len() + old.len(),
        }
    }

    /// Most states it ever had: as many as it holds, once it was full.
    pub(crate) fn most_states(&self) -> u64 {
        self.most_states.max(self.states())
    }

    /// Forgets enough to go on; everything in it was sorted before.
    pub(crate) fn make_room(&mut self) -> Result<(), OverBudget> {
        self.most_states = self.most_states();
        match &mut self.store {
            Store::Buffer(_) => Ok(()),
            Store::Table(Table { table, offered, .. }) => {
                offered.fill(0);
                table.clear()
            }
            Store::Lru(Generations { young, old, offered, .. }) => {
                offered.fill(0);
                std::mem::swap(young, old);
                young.clear()
            }
        }
    }
}

impl Store {
    fn new(kind: CacheKind, words: usize, writers: usize, room: Room) -> Result<Self, OverBudget> {
        let Room { bytes, bits, governor, .. } = room;
        let table = |writers, own: &Governor| {
            StateTable::keeping((words, bits), Payload::NONE, writers, own).map(Box::new)
        };
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
            CacheKind::Table => {
                let (own, memory) = room.take();
                Store::Table(Table {
                    table: table(writers, &own)?,
                    offered: vec![0; writers],
                    _memory: memory,
                })
            }
            CacheKind::Lru => {
                let arenas = (2 * writers).min(MAX_WRITERS);
                let (own, memory) = room.take();
                let half = || table(arenas, &own.part(bytes / 2));
                let (young, old) = (half()?, half()?);
                Store::Lru(Generations { young, old, offered: vec![0; writers], _memory: memory })
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
