//! Large components are swept in chunks, several at a time: inside a chunk new values are used at once, those of other chunks
//! are the ones from before the sweep. Where chunks begin depends on the component alone, so values have the same bits for any
//! number of threads.
//!
//! Upper bounds that no sweep raises are proved here as well: every value that a node saw was between the old and the new one,
//! and what choices give grows with it, so one more sweep over the new bounds raises none of them either.

use super::{Backup, Bounds, Seen};
use std::ops::Range;

/// Fewer nodes are not worth a thread.
const LEAST: usize = 8192;
/// Into so many chunks a component is cut at most: more would share new values later, and need more sweeps than threads save.
const MOST: usize = 2;

/// Chunks of one thread: the first node and the room of each.
type Share<'c> = Vec<(usize, &'c mut [(f64, f64)])>;

/// The chunks of a component, with room for their next values.
pub(super) struct Chunks {
    range: Range<usize>,
    size: usize,
    threads: usize,
    next: Vec<(f64, f64)>,
}

impl Chunks {
    /// `None` where the component is small.
    pub fn new(range: &Range<usize>, threads: usize) -> Option<Self> {
        let count = (range.len() / LEAST).min(MOST);
        if count < 2 {
            return None;
        }
        let next = vec![(0.0, 0.0); range.len()];
        Some(Chunks { range: range.clone(), size: range.len().div_ceil(count), threads, next })
    }

    /// As [`Backup::climb`].
    pub fn climb(&mut self, backup: &Backup, bounds: &mut Bounds) -> f64 {
        let old = &*bounds;
        let growth = self.each(|first, next| {
            let mut growth = 0.0f64;
            for (at, node) in (first..first + next.len()).enumerate() {
                next[at].0 = old.lower[node];
            }
            for (at, node) in (first..first + next.len()).enumerate() {
                let of = |n: usize| next.get(n.wrapping_sub(first)).map_or_else(|| old.lower[n], |own| own.0);
                let (before, new) = (next[at].0, backup.down(node, of));
                if new > before {
                    next[at].0 = new;
                    growth = growth.max((new - before) / new);
                }
            }
            growth
        });
        for (lower, next) in bounds.lower[self.range.clone()].iter_mut().zip(&self.next) {
            *lower = next.0;
        }
        growth.into_iter().fold(0.0, f64::max)
    }

    /// As [`Backup::prove`].
    pub fn prove(&mut self, backup: &Backup, bounds: &mut Bounds) -> Seen {
        let old = &*bounds;
        let seen = self.each(|first, next| {
            let mut seen = Seen::default();
            for (at, node) in (first..first + next.len()).enumerate() {
                next[at] = (old.lower[node], old.upper[node]);
            }
            for (at, node) in (first..first + next.len()).enumerate() {
                let own = |n: usize| next.get(n.wrapping_sub(first)).copied();
                let low = backup.down(node, |n| own(n).map_or_else(|| old.lower[n], |b| b.0));
                let high = backup.up(node, |n| own(n).map_or_else(|| old.upper[n], |b| b.1));
                next[at] = seen.moved(next[at], (low, high));
            }
            seen
        });
        for (node, next) in self.range.clone().zip(&self.next) {
            (bounds.lower[node], bounds.upper[node]) = *next;
        }
        seen.into_iter().fold(Seen::default(), |all, one| Seen {
            falls: all.falls && one.falls,
            rests: all.rests && one.rests,
            refuted: all.refuted || one.refuted,
        })
    }

    /// What `sweep` says of every chunk, given its first node and its room.
    fn each<S: Send>(&mut self, sweep: impl Fn(usize, &mut [(f64, f64)]) -> S + Sync) -> Vec<S> {
        let (begin, size) = (self.range.start, self.size);
        let chunks = self.next.chunks_mut(size).enumerate();
        if self.threads <= 1 {
            return chunks.map(|(n, next)| sweep(begin + n * size, next)).collect();
        }
        let mut shares: Vec<Share> = Vec::new();
        shares.resize_with(self.threads.min(MOST), Vec::new);
        let threads = shares.len();
        chunks.for_each(|(n, next)| shares[n % threads].push((begin + n * size, next)));
        let sweep = &sweep;
        let work = move |share: Share| -> Vec<S> {
            share.into_iter().map(|(first, next)| sweep(first, next)).collect()
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || work(share))).collect();
            let ended = running.into_iter().map(|thread| thread.join());
            ended.flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }
}
