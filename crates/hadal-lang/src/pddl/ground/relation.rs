//! Sets of tuples of objects with indices by any choice of columns, made when first asked for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys are mixed already.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0, u32::from(byte));
        }
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// One more column of a key.
pub(crate) fn mix(key: u64, column: u32) -> u64 {
    let mixed = (key ^ u64::from(column).wrapping_add(0x9e37_79b9)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 32)
}

/// Tuples with equal keys, in order of their numbers. Different tuples may share a key: who asks compares.
#[derive(Clone, Debug, Default)]
struct Chains {
    ends: HashMap<u64, (u32, u32, u32), BuildHasherDefault<Mixed>>,
    next: Vec<u32>,
}

/// No further tuple.
pub(crate) const NONE: u32 = u32::MAX;

impl Chains {
    fn push(&mut self, key: u64, tuple: u32) {
        self.next.push(NONE);
        match self.ends.entry(key) {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert((tuple, tuple, 1));
            }
            std::collections::hash_map::Entry::Occupied(mut held) => {
                let (_, last, count) = held.get_mut();
                self.next[*last as usize] = tuple;
                *last = tuple;
                *count += 1;
            }
        }
    }

    /// First tuple and how many there are.
    fn find(&self, key: u64) -> (u32, u32) {
        self.ends.get(&key).map_or((NONE, 0), |&(first, _, count)| (first, count))
    }
}

/// A set of tuples. Joins see those made visible; the others wait in the queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relation {
    arity: usize,
    columns: Vec<u32>,
    count: u32,
    visible: u32,
    known: Chains,
    by_columns: Vec<(u64, Chains)>,
}

impl Relation {
    pub(crate) fn new(arity: usize) -> Self {
        Relation { arity, ..Relation::default() }
    }

    pub(crate) fn arity(&self) -> usize {
        self.arity
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    pub(crate) fn tuple(&self, number: u32) -> &[u32] {
        let start = number as usize * self.arity;
        &self.columns[start..start + self.arity]
    }

    /// How many tuples joins see.
    pub(crate) fn visible(&self) -> u32 {
        self.visible
    }

    /// Number of a tuple that was added, visible or not.
    pub(crate) fn find(&self, tuple: &[u32]) -> Option<u32> {
        let key = tuple.iter().fold(0, |key, &column| mix(key, column));
        self.find_with(key, tuple)
    }

    fn find_with(&self, key: u64, tuple: &[u32]) -> Option<u32> {
        let (mut at, _) = self.known.find(key);
        while at != NONE {
            if self.tuple(at) == tuple {
                return Some(at);
            }
            at = self.known.next[at as usize];
        }
        None
    }

    /// Adds a tuple; its number, where it is new.
    pub(crate) fn insert(&mut self, tuple: &[u32]) -> Option<u32> {
        let key = tuple.iter().fold(0, |key, &column| mix(key, column));
        if self.find_with(key, tuple).is_some() {
            return None;
        }
        let number = self.count;
        self.known.push(key, number);
        self.columns.extend_from_slice(tuple);
        self.count += 1;
        Some(number)
    }

    /// Lets joins see the next tuple.
    pub(crate) fn show_next(&mut self) {
        let number = self.visible;
        self.visible += 1;
        let start = number as usize * self.arity;
        let tuple = &self.columns[start..start + self.arity];
        for (mask, chains) in &mut self.by_columns {
            chains.push(key_of(tuple, *mask), number);
        }
    }

    /// Makes the index on the columns of `mask`, unless it is there; its place.
    pub(crate) fn index(&mut self, mask: u64) -> usize {
        if let Some(place) = self.by_columns.iter().position(|(known, _)| *known == mask) {
            return place;
        }
        let mut chains = Chains::default();
        for number in 0..self.visible {
            chains.push(key_of(self.tuple(number), mask), number);
        }
        self.by_columns.push((mask, chains));
        self.by_columns.len() - 1
    }

    /// First tuple with this key, and how many there are, in the index at `place`.
    pub(crate) fn candidates(&self, place: usize, key: u64) -> (u32, u32) {
        self.by_columns[place].1.find(key)
    }

    /// The tuple that follows in the index at `place`.
    pub(crate) fn next(&self, place: usize, tuple: u32) -> u32 {
        self.by_columns[place].1.next[tuple as usize]
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let chains = |chains: &Chains| chains.ends.capacity() * 24 + chains.next.capacity() * 4;
        let indices: usize = self.by_columns.iter().map(|(_, index)| chains(index)).sum();
        self.columns.capacity() * 4 + chains(&self.known) + indices
    }
}

/// The key of a tuple over the columns of `mask`.
fn key_of(tuple: &[u32], mask: u64) -> u64 {
    let mut key = 0;
    for (column, &object) in tuple.iter().enumerate() {
        if mask & (1 << column) != 0 {
            key = mix(key, object);
        }
    }
    key
}
