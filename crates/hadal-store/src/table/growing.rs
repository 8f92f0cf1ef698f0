//! Growing the index: it gets more room, and its entries move to their places in it. Only where entries do not say enough
//! for that, the states of the arenas are entered anew, one after the other.

use super::bucket::{Bucket, Narrow};
use super::codes::{Codes, CutHash};
use super::index::{Index, Lines, prefetch};
use super::insert::{AnyIndex, Entries, WINDOW, on_index};
use super::pages::Before;
use super::quotient::Others;
use super::remainder::{Remainders, Scattered};
use super::splitting::{Meaning, split};
use super::{StateRef, StateTable};
use crate::governor::OverBudget;
use hadal_system::state::hash;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fewer states are entered into a larger index by one thread: starting others costs more.
const SHARED_FROM: u64 = if cfg!(test) { 1 << 10 } else { 1 << 18 };

/// Entries of an index that say where states lie.
struct Places<'g, B> {
    table: &'g StateTable,
    smaller: Codes,
    lines: &'g Lines<'g, B>,
}

impl<B: Bucket> Meaning for Places<'_, B> {
    type Entered = (CutHash, u64);

    #[inline]
    fn least(&self, bucket: usize) -> u64 {
        self.smaller.least(bucket as u64)
    }

    #[inline]
    fn read(&self, (bucket, least): (usize, u64), byte: u8, code: u64) -> (CutHash, u64) {
        let place = self.smaller.place(code);
        let said = self.smaller.hash((bucket as u64, least), byte, code);
        // SAFETY: the place comes from the index.
        (said.unwrap_or_else(|| self.lines.codes.cut(unsafe { self.table.hash_of(place) })), place)
    }

    #[inline]
    fn home(&self, (h, _): (CutHash, u64)) -> usize {
        self.lines.home(h)
    }

    #[inline]
    fn write(&self, (h, place): (CutHash, u64), distance: usize) -> Option<(u8, u64)> {
        Some((h.byte(), self.lines.codes.code(h, place, distance as u64)))
    }
}

/// Entries of an index that are states.
struct States<'g> {
    remainders: Remainders,
    smaller: u64,
    lines: &'g Lines<'g, Narrow>,
}

impl Meaning for States<'_> {
    type Entered = Scattered;

    #[inline]
    fn least(&self, bucket: usize) -> u64 {
        self.remainders.least((bucket as u64, self.smaller))
    }

    #[inline]
    fn read(&self, (bucket, least): (usize, u64), byte: u8, code: u64) -> Scattered {
        self.remainders.entered((bucket as u64, self.smaller), least, byte, code)
    }

    #[inline]
    fn home(&self, state: Scattered) -> usize {
        self.lines.share(self.remainders.hash(state))
    }

    #[inline]
    fn write(&self, state: Scattered, distance: usize) -> Option<(u8, u64)> {
        state.code_behind(distance as u64).map(|code| (state.byte(), code))
    }
}

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
        match &mut *index {
            AnyIndex::Wide(wide) => {
                let moved = self.grow_places(wide, needed)?;
                if !moved {
                    self.enter_places(&wide.lines());
                }
            }
            AnyIndex::Narrow(narrow, entries) => {
                let before = *entries;
                let (moved, now) = match (before, self.remainders) {
                    (Entries::Remainders, Some(remainders)) => {
                        let smaller = narrow.buckets();
                        let kept = narrow.grow(needed, &self.governor)? == Before::Kept;
                        let states = States { remainders, smaller, lines: &narrow.lines() };
                        (kept && self.move_entries(&narrow.lines(), smaller, &states), before)
                    }
                    _ => {
                        let moved = self.grow_places(narrow, needed)?;
                        (moved, self.entries_for(narrow.buckets()))
                    }
                };
                if !moved || before != now {
                    *entries = self.enter_anew(narrow, now);
                }
            }
        }
        Ok(())
    }

    /// Makes an index larger whose entries say where states lie; whether they were moved. Otherwise there are none now.
    fn grow_places<B: Bucket>(&self, index: &mut Index<B>, needed: u64) -> Result<bool, OverBudget> {
        let (buckets, smaller) = (index.buckets(), index.codes());
        let before = index.grow(needed, &self.governor)?;
        let lines = index.lines();
        let places = Places { table: self, smaller, lines: &lines };
        let can_move = before == Before::Kept && buckets > 0 && smaller.continues_in(lines.codes);
        if can_move && self.move_entries(&lines, buckets, &places) {
            return Ok(true);
        }
        index.clear();
        Ok(false)
    }

    /// Moves what stands in the first buckets to where it belongs; whether all went well.
    fn move_entries<B: Bucket>(&self, lines: &Lines<B>, before: u64, meaning: &impl Meaning) -> bool {
        split(lines, before as usize, meaning, self.arenas.len())
    }

    /// Enters every state of the arenas; what entries are then.
    fn enter_anew(&self, index: &mut Index<Narrow>, entries: Entries) -> Entries {
        index.clear();
        if let (Entries::Remainders, Some(remainders)) = (entries, self.remainders) {
            if self.enter_remainders(&index.lines(), remainders) {
                return entries;
            }
            self.places_asked.store(true, Ordering::Relaxed);
            index.clear();
        }
        self.enter_places(&index.lines());
        Entries::Places
    }

    /// Enters where every state lies into an empty index.
    pub(super) fn enter_places<B: Bucket>(&self, lines: &Lines<B>) {
        self.for_each_arena(|writer, others| {
            let enter = |h, place| match others {
                Others::None => lines.enter(h, place),
                Others::Add => lines.enter_beside_others(h, place),
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
        enter: impl Fn(CutHash, u64),
    ) {
        let arena = &self.arenas[writer];
        let mut state = vec![0; self.words];
        let mut hashes = [CutHash::default(); WINDOW];
        let mut n = 0;
        while n < arena.len() {
            let count = (arena.len() - n).min(WINDOW as u64) as usize;
            for (k, h) in hashes[..count].iter_mut().enumerate() {
                // SAFETY: the arena has that many records.
                unsafe { self.form.read::<W>(arena.address(n + k as u64), &mut state) };
                *h = lines.codes.cut(hash(if W == 0 { &state } else { &state[..W] }));
                prefetch(lines.at(lines.home(*h)));
            }
            for (k, &h) in hashes[..count].iter().enumerate() {
                enter(h, self.place_of(StateRef::new(writer, n + k as u64)));
            }
            n += count as u64;
        }
    }
}
