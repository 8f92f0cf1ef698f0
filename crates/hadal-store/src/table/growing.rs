//! Growing the index: it gets more room, and the states of the arenas are entered anew, one after the other.

use super::bucket::Bucket;
use super::index::{Lines, prefetch};
use super::insert::{AnyIndex, Entries, WINDOW, on_index};
use super::quotient::Others;
use super::{StateRef, StateTable};
use crate::governor::OverBudget;
use hadal_system::state::hash;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fewer states are entered into a larger index by one thread: starting others costs more.
const SHARED_FROM: u64 = if cfg!(test) { 1 << 10 } else { 1 << 18 };

impl StateTable {
    /// Makes sure that `more` states fit the index.
    pub(super) fn grow_for(&self, more: u64) -> Result<(), OverBudget> {
        let mut index = self.index.write().unwrap_or_else(|e| e.into_inner());
        // Nobody is adding: what was claimed and not used is free again.
        self.rights.iter().for_each(|right| right.store(0, Ordering::Relaxed));
        self.claimed.store(self.len(), Ordering::Relaxed);
        let needed = self.len() + more;
        if needed <= on_index!(&*index, index => index.capacity()) {
            return Ok(());
        }
        on_index!(&mut *index, index => index.grow(needed, &self.governor))?;
        if let (AnyIndex::Narrow(narrow, entries), Some(remainders)) = (&mut *index, self.remainders) {
            *entries = self.entries_for(narrow.buckets());
            if *entries == Entries::Remainders {
                if self.enter_remainders(&narrow.lines(), remainders) {
                    return Ok(());
                }
                self.places_asked.store(true, Ordering::Relaxed);
                *entries = Entries::Places;
                narrow.clear();
            }
        }
        on_index!(&*index, index => self.enter_places(&index.lines()));
        Ok(())
    }

    /// Enters where every state lies into an empty index.
    pub(super) fn enter_places<B: Bucket>(&self, lines: &Lines<B>) {
        self.for_each_arena(|writer, others| {
            let enter = |h, code| match others {
                Others::None => lines.enter(h, code),
                Others::Add => lines.enter_beside_others(h, code),
            };
            match self.words {
                1 => self.enter_arena::<B, 1>((lines, writer), enter),
                2 => self.enter_arena::<B, 2>((lines, writer), enter),
                _ => self.enter_arena::<B, 0>((lines, writer), enter),
            }
            true
        });
    }

    /// Has the states of every arena entered into an empty index; whether that went well everywhere. Where several threads
    /// write and there are many states, as many threads enter them: the writers are waiting.
    pub(super) fn for_each_arena(&self, enter: impl Fn(usize, Others) -> bool + Sync) -> bool {
        let writers = 0..self.arenas.len();
        if writers.len() == 1 || self.len() < SHARED_FROM {
            return writers.into_iter().all(|writer| enter(writer, Others::None));
        }
        let went_well = AtomicBool::new(true);
        std::thread::scope(|scope| {
            for writer in writers {
                let (enter, went_well) = (&enter, &went_well);
                scope.spawn(move || went_well.fetch_and(enter(writer, Others::Add), Ordering::Relaxed));
            }
        });
        went_well.into_inner()
    }

    /// Enters the states of one arena.
    fn enter_arena<B: Bucket, const W: usize>(
        &self,
        (lines, writer): (&Lines<B>, usize),
        enter: impl Fn(u64, u64),
    ) {
        let arena = &self.arenas[writer];
        let mut state = vec![0; self.words];
        let mut hashes = [0; WINDOW];
        let mut n = 0;
        while n < arena.len() {
            let count = (arena.len() - n).min(WINDOW as u64) as usize;
            for (k, h) in hashes[..count].iter_mut().enumerate() {
                // SAFETY: the arena has that many records.
                unsafe { self.form.read::<W>(arena.address(n + k as u64), &mut state) };
                *h = hash(if W == 0 { &state } else { &state[..W] });
                prefetch(lines.at(lines.home(*h)));
            }
            for (k, &h) in hashes[..count].iter().enumerate() {
                enter(h, self.code_of(StateRef::new(writer, n + k as u64)));
            }
            n += count as u64;
        }
    }
}
