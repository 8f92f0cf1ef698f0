//! An index whose entries are the states themselves, as far as their buckets do not [say them](super::remainder).
//!
//! It takes the room of one whose entries say where states lie, and does not say that: whoever [asks](StateTable::find)
//! has the index written anew, once for all. The same happens when a state is too far from its first bucket for an entry.

use super::StateTable;
use super::bucket::{Bucket, Narrow};
use super::index::{Lines, prefetch};
use super::insert::{AnyIndex, Entries, Taken, WINDOW};
use super::remainder::{FARTHEST, Remainders, Scattered};
use crate::governor::OverBudget;
use std::sync::atomic::Ordering;

/// Who else uses the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    None,
    Add,
}

/// What became of a state.
#[derive(PartialEq, Eq)]
enum Met {
    Known,
    New,
    /// No entry near enough is free.
    Crowded,
}

/// Looks for a state, and enters it where it is not there: then `write` is called first, perhaps more than once.
#[inline]
fn meet(
    (lines, remainders): (&Lines<Narrow>, Remainders),
    state: Scattered,
    others: Others,
    mut write: impl FnMut() -> Result<(), OverBudget>,
) -> Result<Met, OverBudget> {
    let (byte, code) = (state.byte(), state.code());
    let mut bucket = lines.share(remainders.hash(state));
    for distance in 0..=u64::from(FARTHEST) {
        let (line, code) = (lines.at(bucket), code + distance);
        loop {
            let seen = line.look(byte);
            let mut fits = seen.fits;
            while fits != 0 {
                if line.code(fits.trailing_zeros() as usize) == code {
                    return Ok(Met::Known);
                }
                fits &= fits - 1;
            }
            if seen.free == 0 {
                break;
            }
            let entry = seen.free.trailing_zeros() as usize;
            write()?;
            if others == Others::None {
                line.enter(entry, code, byte);
                return Ok(Met::New);
            }
            if line.claim(entry, code).is_ok() {
                line.reveal(entry, byte);
                return Ok(Met::New);
            }
            // Another thread was first, perhaps with the same state, and is about to reveal its byte.
            while line.look(byte).free & 1 << entry != 0 {
                std::thread::yield_now();
            }
        }
        bucket = lines.after(bucket);
    }
    Ok(Met::Crowded)
}

impl StateTable {
    /// What entries of an index of so many buckets are.
    pub(super) fn entries_for(&self, buckets: u64) -> Entries {
        match self.remainders {
            Some(remainders) if buckets >= remainders.least_buckets() => {
                if self.places_asked.load(Ordering::Relaxed) { Entries::Places } else { Entries::Remainders }
            }
            _ => Entries::Places,
        }
    }

    /// Adds states to an index of remainders.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile, and it may add as many states.
    pub(super) unsafe fn add_remainders(
        &self,
        (lines, remainders): (&Lines<Narrow>, Remainders),
        writer: usize,
        states: &[u64],
    ) -> Taken {
        let others = if self.arenas.len() == 1 { Others::None } else { Others::Add };
        let arena = &self.arenas[writer];
        let mut scattered = [Scattered::default(); WINDOW];
        let mut taken = Taken::default();
        let mut held = 0;
        for (scattered, &state) in scattered.iter_mut().zip(states) {
            if !remainders.holds(state) {
                taken.crowded = true;
                break;
            }
            *scattered = remainders.scatter(state);
            prefetch(lines.at(lines.share(remainders.hash(*scattered))));
            held += 1;
        }
        for (n, (&scattered, state)) in scattered[..held].iter().zip(states.chunks_exact(1)).enumerate() {
            let mut at = 0;
            let met = meet((lines, remainders), scattered, others, || {
                // SAFETY: as the caller promises; the room is a record's.
                unsafe {
                    let (number, room) = arena.next()?;
                    self.form.write::<1>(room, state);
                    at = number;
                }
                Ok(())
            });
            match met {
                Ok(Met::Known) => {}
                Ok(Met::New) => {
                    arena.publish(at);
                    taken.new |= 1 << n;
                }
                Ok(Met::Crowded) => {
                    taken.crowded = true;
                    break;
                }
                Err(full) => {
                    taken.full = Some(full);
                    break;
                }
            }
            taken.done = n + 1;
        }
        taken
    }

    /// Enters every state into an empty index; false where one finds no entry.
    pub(super) fn enter_remainders(&self, lines: &Lines<Narrow>, remainders: Remainders) -> bool {
        self.for_each_arena(|writer, others| {
            let arena = &self.arenas[writer];
            let mut scattered = [Scattered::default(); WINDOW];
            let mut state = [0];
            let mut n = 0;
            while n < arena.len() {
                let count = (arena.len() - n).min(WINDOW as u64) as usize;
                for (k, scattered) in scattered[..count].iter_mut().enumerate() {
                    // SAFETY: the arena has that many records.
                    unsafe { self.form.read::<1>(arena.address(n + k as u64), &mut state) };
                    if !remainders.holds(state[0]) {
                        return false;
                    }
                    *scattered = remainders.scatter(state[0]);
                    prefetch(lines.at(lines.share(remainders.hash(*scattered))));
                }
                for &state in &scattered[..count] {
                    if !matches!(meet((lines, remainders), state, others, || Ok(())), Ok(Met::New)) {
                        return false;
                    }
                }
                n += count as u64;
            }
            true
        })
    }

    /// Lets the index say where states lie from now on.
    #[cold]
    pub(super) fn name_places(&self) {
        self.places_asked.store(true, Ordering::Relaxed);
        let mut index = self.index.write().unwrap_or_else(|e| e.into_inner());
        if let AnyIndex::Narrow(narrow, entries @ Entries::Remainders) = &mut *index {
            *entries = Entries::Places;
            narrow.clear();
            self.enter_places(&narrow.lines());
        }
    }
}
