//! Remembers results of set operations between nodes: direct-mapped, lossy, never wrong.

use crate::{Governor, Reservation};

use super::node::{EMPTY, Ref};
use super::operation::{Cursor, Operation};

/// One remembered result; `left` is `EMPTY` where nothing is remembered.
#[derive(Clone, Copy)]
struct Entry {
    left: Ref,
    right: Ref,
    /// 15 bits of each cursor's skip, and the operation.
    detail: u32,
    result: Ref,
}

const VACANT: Entry = Entry { left: EMPTY, right: EMPTY, detail: 0, result: EMPTY };
const MIN_ENTRIES: usize = 1 << 8;
const MAX_ENTRIES: usize = 1 << 18;

pub(super) struct Cache {
    entries: Vec<Entry>,
    lease: Reservation,
    /// Entries written since the cache last changed its size.
    written: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

impl Cache {
    pub(super) fn new(governor: &Governor) -> Self {
        let lease = governor.empty("operation cache of the diagram");
        Cache { entries: Vec::new(), lease, written: 0, hits: 0, misses: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lease.bytes() as usize
    }

    /// Forgets everything: node references have changed.
    pub(super) fn clear(&mut self) {
        self.entries.fill(VACANT);
        self.written = 0;
    }

    /// Forgets everything and gives the memory back.
    pub(super) fn release(&mut self) {
        self.entries = Vec::new();
        self.lease.shrink_to(0);
        self.written = 0;
    }

    /// Doubles the cache if it was overwritten a lot, as long as it stays below `limit_bytes`.
    pub(super) fn adapt(&mut self, limit_bytes: usize) {
        let len = self.entries.len();
        if len > 0 && (self.written < len || len >= MAX_ENTRIES) {
            return;
        }
        let wanted = (len * 4).clamp(MIN_ENTRIES, MAX_ENTRIES);
        let bytes = wanted * size_of::<Entry>();
        if bytes <= limit_bytes && self.lease.try_resize(bytes as u64).is_ok() {
            self.entries = Vec::new();
            self.entries = vec![VACANT; wanted];
            self.written = 0;
        }
    }

    #[inline]
    fn place(&self, left: Ref, right: Ref, detail: u32) -> usize {
        let key = u64::from(left) << 32 | u64::from(right);
        let mixed = (key ^ u64::from(detail) << 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The length is a power of two; the high bits of a product are the mixed ones.
        (mixed >> 40) as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn detail(operation: Operation, left: Cursor, right: Cursor) -> u32 {
        u32::from(left.skip) << 17 | u32::from(right.skip) << 2 | operation as u32
    }

    #[inline]
    pub(super) fn get(&mut self, operation: Operation, left: Cursor, right: Cursor) -> Option<Ref> {
        if self.entries.is_empty() {
            return None;
        }
        let detail = Self::detail(operation, left, right);
        let entry = self.entries[self.place(left.node, right.node, detail)];
        let hit = entry.left == left.node && entry.right == right.node && entry.detail == detail;
        if hit {
            self.hits += 1;
            Some(entry.result)
        } else {
            self.misses += 1;
            None
        }
    }

    #[inline]
    pub(super) fn put(&mut self, operation: Operation, left: Cursor, right: Cursor, result: Ref) {
        if self.entries.is_empty() {
            return;
        }
        let detail = Self::detail(operation, left, right);
        let place = self.place(left.node, right.node, detail);
        self.entries[place] = Entry { left: left.node, right: right.node, detail, result };
        self.written += 1;
    }
}
