//! Open states and transitions by priority: ordered buckets, first those that came last for A*, first come first served
//! for greedy search.

use std::collections::{BTreeMap, VecDeque};

/// A priority: first the one, then the other; less is earlier.
pub(crate) type Key = (u32, u32);

/// Two numbers that wait.
pub(crate) type Entry = (u32, u32);

/// Entries by key; of equal keys the last one first.
#[derive(Debug, Default)]
pub(crate) struct Open {
    buckets: BTreeMap<Key, Vec<Entry>>,
    len: u64,
}

impl Open {
    #[inline]
    pub(crate) fn push(&mut self, key: Key, entry: Entry) {
        self.buckets.entry(key).or_default().push(entry);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Key, Entry)> {
        let mut first = self.buckets.first_entry()?;
        let key = *first.key();
        let entry = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        self.len -= 1;
        entry.map(|entry| (key, entry))
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Everything that waits; pushed in this order into an empty one, it comes out as it would here.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, Entry)> {
        self.buckets.iter().flat_map(|(&key, entries)| entries.iter().map(move |&entry| (key, entry)))
    }

    pub(crate) fn bytes(&self) -> u64 {
        // Vectors double: half of what they have may be free.
        self.len * 12 + self.buckets.len() as u64 * 64
    }
}

/// Entries by key; of equal keys the first one first.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    buckets: BTreeMap<u64, VecDeque<Entry>>,
    len: u64,
}

impl Fifo {
    #[inline]
    pub(crate) fn push(&mut self, key: u64, entry: Entry) {
        self.buckets.entry(key).or_default().push_back(entry);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let mut first = self.buckets.first_entry()?;
        let entry = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        self.len -= 1;
        entry
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Everything that waits; pushed in this order into an empty one, it comes out as it would here.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Entry)> {
        self.buckets.iter().flat_map(|(&key, entries)| entries.iter().map(move |&entry| (key, entry)))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.len * 12 + self.buckets.len() as u64 * 64
    }
}
