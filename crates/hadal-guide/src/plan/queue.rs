//! A queue of facts by distance: buckets for small distances, a heap for the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Distances below this have a bucket each.
const BUCKETS: usize = 1 << 12;

/// Facts by ascending distance; entries may be stale, the caller knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    buckets: Vec<Vec<u32>>,
    /// No bucket before this one holds anything.
    at: usize,
    held: usize,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Queue {
    /// Forgets everything and begins at distance 0.
    pub(super) fn clear(&mut self) {
        if self.held > 0 {
            self.buckets.iter_mut().for_each(Vec::clear);
        }
        self.heap.clear();
        (self.at, self.held) = (0, 0);
    }

    #[inline]
    pub(super) fn push(&mut self, distance: u32, fact: u32) {
        let at = distance as usize;
        if at < BUCKETS {
            if at >= self.buckets.len() {
                self.buckets.resize_with(at + 1, Vec::new);
            }
            self.buckets[at].push(fact);
            self.held += 1;
            // An incremental search may begin before where the last one ended.
            self.at = self.at.min(at);
        } else {
            self.heap.push(Reverse((distance, fact)));
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u32, u32)> {
        if self.held == 0 {
            return self.heap.pop().map(|Reverse(entry)| entry);
        }
        loop {
            if let Some(fact) = self.buckets[self.at].pop() {
                self.held -= 1;
                return Some((self.at as u32, fact));
            }
            self.at += 1;
        }
    }
}
