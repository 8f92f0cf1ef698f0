//! Adding a batch of states: three passes over a window of them, so that waiting for memory overlaps.
//!
//! The first pass asks for the buckets, the second looks at their bytes of hash and asks for the record that may be the
//! same state, the third compares. Most states of a search are known: for those that is all. Others look at their
//! buckets once more, because a state before them in the window may have come to the same one.

use super::bucket::{Bucket, Narrow, Wide};
use super::codes::CutHash;
use super::index::{Index, Lines, prefetch};
use super::taking::Beside;
use super::{StateRef, StateTable};
use crate::governor::OverBudget;
use hadal_system::state::hash;
use std::sync::RwLockReadGuard;
use std::sync::atomic::Ordering;

/// How many look-ups overlap: a bit each in a word.
pub(super) const WINDOW: usize = 64;
/// How many entries of the index a writer claims at a time, so that writers seldom meet.
const CLAIM: u64 = 512;

/// The index, in the form that the budget asks for.
#[derive(Debug)]
pub(super) enum AnyIndex {
    Narrow(Index<Narrow>, Entries),
    Wide(Index<Wide>),
}

/// What entries say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    /// Where states lie.
    Places,
    /// What their buckets do not say of them.
    Remainders,
}

/// Calls the same for either form.
macro_rules! on_index {
    ($index:expr, $inner:ident => $call:expr) => {
        match $index {
            AnyIndex::Narrow($inner, _) => $call,
            AnyIndex::Wide($inner) => $call,
        }
    };
}
pub(super) use on_index;

/// What became of a window.
#[derive(Default)]
pub(super) struct Taken {
    /// A bit for each state that was new.
    pub(super) new: u64,
    /// How many states are in the table now.
    pub(super) done: usize,
    pub(super) full: Option<OverBudget>,
    /// Whether the next one has no entry in an index of this kind.
    pub(super) crowded: bool,
}

/// What the passes over a window leave each other.
struct Passes<'l, B> {
    hashes: [CutHash; WINDOW],
    buckets: [&'l B; WINDOW],
    /// The record that may be the state; null where the bucket shows none.
    likely: [*const u8; WINDOW],
}

/// States to be added, and the number of the first in its batch.
#[derive(Clone, Copy)]
struct Window<'w> {
    states: &'w [u64],
    first: usize,
}

/// Where to add.
struct Target<'t, B> {
    lines: Lines<'t, B>,
    writer: usize,
}

impl StateTable {
    /// Adds the states that are not there yet and tells of each that is new, in order. Where the budget ends midway, says how
    /// many were taken.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    pub(super) unsafe fn add_all(
        &self,
        writer: usize,
        states: &[u64],
        mut beside: Option<&mut dyn Beside>,
        mut added: impl FnMut(usize, StateRef),
    ) -> Result<(), (usize, OverBudget)> {
        let (total, arena) = (states.len() / self.words, &self.arenas[writer]);
        let mut done = 0;
        while done < total {
            let (index, room) = self.index_with_room(writer, total - done).map_err(|full| (done, full))?;
            let before = arena.len();
            let (mut outcome, mut crowded) = (Ok(()), false);
            for states in states[done * self.words..][..room * self.words].chunks(WINDOW * self.words) {
                let mut number = arena.len();
                let window = Window { states, first: done };
                // SAFETY: the caller is the only one who writes with this number; there is room for a window.
                let taken = unsafe { self.add_window(&index, writer, window, &mut beside) };
                let mut new = taken.new;
                while new != 0 {
                    added(done + new.trailing_zeros() as usize, StateRef::new(writer, number));
                    number += 1;
                    new &= new - 1;
                }
                done += taken.done;
                if let Some(full) = taken.full {
                    outcome = Err((done, full));
                }
                crowded = taken.crowded;
                if outcome.is_err() || crowded {
                    break;
                }
            }
            // Counted before the index is let go: whoever grows it next must see every entry.
            let new = arena.len() - before;
            self.rights[writer].fetch_sub(new, Ordering::Relaxed);
            self.len.fetch_add(new, Ordering::Relaxed);
            outcome?;
            if crowded {
                drop(index);
                self.name_places();
            }
        }
        Ok(())
    }

    /// The index, and how many of `wanted` states a writer may add to it before it asks again.
    fn index_with_room(
        &self,
        writer: usize,
        wanted: usize,
    ) -> Result<(RwLockReadGuard<'_, AnyIndex>, usize), OverBudget> {
        let least = wanted.min(WINDOW) as u64;
        loop {
            let index = self.read_index();
            let right = self.rights[writer].load(Ordering::Relaxed);
            if right >= least {
                return Ok((index, wanted.min(right as usize)));
            }
            let capacity = on_index!(&*index, index => index.capacity());
            for sum in [CLAIM, least] {
                let more = sum - right;
                let fits = |claimed: u64| claimed.checked_add(more).filter(|&claimed| claimed <= capacity);
                if self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
                    self.rights[writer].store(sum, Ordering::Relaxed);
                    return Ok((index, wanted.min(sum as usize)));
                }
            }
            drop(index);
            self.grow_for(least * self.writer_count() as u64)?;
        }
    }

    /// # Safety
    /// Nobody else writes with this number meanwhile, and it may add as many states.
    unsafe fn add_window(
        &self,
        index: &AnyIndex,
        writer: usize,
        window: Window,
        beside: &mut Option<&mut dyn Beside>,
    ) -> Taken {
        if let (AnyIndex::Narrow(index, Entries::Remainders), Some(remainders)) = (index, self.remainders) {
            // SAFETY: as the caller promises.
            return unsafe { self.add_remainders((&index.lines(), remainders), writer, window.states) };
        }
        // SAFETY: as the caller promises; the width is that of the table.
        on_index!(index, index => unsafe {
            let target = Target { lines: index.lines(), writer };
            match self.words {
                1 => self.add_states::<_, 1>(&target, window, beside),
                2 => self.add_states::<_, 2>(&target, window, beside),
                3 => self.add_states::<_, 3>(&target, window, beside),
                4 => self.add_states::<_, 4>(&target, window, beside),
                _ => self.add_states::<_, 0>(&target, window, beside),
            }
        })
    }

    /// # Safety
    /// As for [`StateTable::add_window`]; `W` is 0 or the number of words.
    unsafe fn add_states<B: Bucket, const W: usize>(
        &self,
        target: &Target<B>,
        window: Window,
        beside: &mut Option<&mut dyn Beside>,
    ) -> Taken {
        let words = if W == 0 { self.words } else { W };
        let lines = &target.lines;
        let mut passes = Passes {
            hashes: [CutHash::default(); WINDOW],
            buckets: [lines.at(0); WINDOW],
            likely: [std::ptr::null(); WINDOW],
        };
        let count = (window.states.len() / words).min(WINDOW);
        // SAFETY: it is asked for numbers below the count only.
        let state = |n: usize| unsafe { window.states.get_unchecked(n * words..(n + 1) * words) };
        let mut used = 0;
        for n in 0..count {
            passes.hashes[n] = lines.codes.cut(hash(state(n)));
            used |= state(n)[words - 1];
            passes.buckets[n] = lines.at(lines.home(passes.hashes[n]));
            prefetch(passes.buckets[n]);
        }
        // Bits that are lost would make two states one.
        assert!(self.form.holds(used), "a state has more bits than its space says");
        if beside.is_none() {
            for n in 0..count {
                let bucket = passes.buckets[n];
                let fits = bucket.look(passes.hashes[n].byte()).fits;
                if fits != 0 {
                    let place = lines.codes.place(bucket.code(fits.trailing_zeros() as usize));
                    // SAFETY: the place comes from the index.
                    passes.likely[n] = unsafe { self.address(place) };
                    prefetch(passes.likely[n]);
                }
            }
        }
        let mut taken = Taken { done: count, ..Taken::default() };
        for n in 0..count {
            let (likely, state) = (passes.likely[n], state(n));
            // SAFETY: where it is not null, it is the address of a record that the index named.
            if !likely.is_null() && unsafe { self.form.is_same::<W>(likely, state) } {
                continue;
            }
            let record = (passes.hashes[n], state, window.first + n);
            // SAFETY: the caller is the only one who writes with this number.
            match unsafe { self.find_or_add::<B, W>(target, record, beside) } {
                Ok(new) => taken.new |= u64::from(new) << n,
                Err(full) => {
                    (taken.full, taken.done) = (Some(full), n);
                    break;
                }
            }
        }
        taken
    }

    /// Adds a state of this hash and number unless it is there; says whether it was added.
    ///
    /// All entries that may hold the state lie before the first free one of its bucket and those behind; and writers
    /// claim entries before they add, so there is a free one.
    ///
    /// # Safety
    /// As for [`StateTable::add_states`].
    #[inline]
    unsafe fn find_or_add<B: Bucket, const W: usize>(
        &self,
        Target { lines, writer }: &Target<B>,
        (h, state, number): (CutHash, &[u64], usize),
        beside: &mut Option<&mut dyn Beside>,
    ) -> Result<bool, OverBudget> {
        let byte = h.byte();
        let mut own: Option<StateRef> = None;
        let (mut bucket, mut distance) = (lines.home(h), 0);
        loop {
            let line = lines.at(bucket);
            let seen = line.look(byte);
            let mut fits = seen.fits;
            while fits != 0 {
                let place = lines.codes.place(line.code(fits.trailing_zeros() as usize));
                // SAFETY: the place comes from the index.
                unsafe {
                    if self.form.is_same::<W>(self.address(place), state) {
                        if let Some(beside) = beside {
                            beside.known(number, self.ref_of(place));
                        }
                        return Ok(false);
                    }
                }
                fits &= fits - 1;
            }
            if seen.free == 0 {
                (bucket, distance) = (lines.after(bucket), distance + 1);
                continue;
            }
            let at = match own {
                Some(at) => at,
                // SAFETY: this is the only one who writes with this number.
                None => *own.insert(unsafe { self.write::<W>(*writer, (state, number), beside)? }),
            };
            let place = self.place_of(at);
            if place > lines.codes.most() {
                return Err(self.full());
            }
            let code = lines.codes.code(h, place, distance);
            let entry = seen.free.trailing_zeros() as usize;
            if self.arenas.len() == 1 {
                line.enter(entry, code, byte);
            } else {
                if let Err(others) = line.claim(entry, code) {
                    // Another thread was first, perhaps with the same state: look at the bucket again.
                    // SAFETY: the place comes from the index.
                    let others = lines.codes.cut(unsafe { self.hash_of(lines.codes.place(others)) });
                    line.reveal(entry, others.byte());
                    continue;
                }
                line.reveal(entry, byte);
            }
            self.arenas[*writer].publish(at.number());
            if let Some(beside) = beside {
                beside.publish(at);
            }
            return Ok(true);
        }
    }

    /// Writes a state, and what is beside it, behind the last one of a writer.
    ///
    /// # Safety
    /// As for [`StateTable::add_states`].
    #[inline]
    unsafe fn write<const W: usize>(
        &self,
        writer: usize,
        (state, number): (&[u64], usize),
        beside: &mut Option<&mut dyn Beside>,
    ) -> Result<StateRef, OverBudget> {
        // SAFETY: the room is a record's, of the state and then the caller's words, which are whole words where there are
        // any.
        unsafe {
            let (n, at) = self.arenas[writer].next()?;
            self.form.write::<W>(at, state);
            if let Some(beside) = beside {
                if self.extra > 0 {
                    let extra = std::slice::from_raw_parts_mut(at.add(self.form.bytes()).cast(), self.extra);
                    beside.fill(number, extra);
                }
                beside.write(number, writer)?;
            }
            Ok(StateRef::new(writer, n))
        }
    }
}
