//! Wide states in fewer bytes: cut into pieces of equal width, each piece kept once in a table of its own; what remains
//! of a state are the places of its pieces (collapse: Holzmann 1997; tree compression: Blom, Lisser, van de Pol, Weber
//! 2009; here two levels).
//!
//! A step changes few variables, so states share most of their pieces, and a successor most of its pieces with the one
//! before it in its batch: those are compared and not looked up. Two states are equal exactly if all their pieces lie in
//! the same places, so nothing is lost.

use super::arena::Arena;
use super::form::Form;
use super::insert::{AnyIndex, WINDOW, on_index};
use super::taking::Beside;
use super::{StateRef, StateTable};
use crate::governor::{Governor, OverBudget};
use std::collections::HashSet;

/// Words of the narrowest states that are cut.
const LEAST_WORDS: usize = 4;
/// Pieces of a state, at most.
const MOST_PIECES: usize = 16;
/// States that tell whether cutting pays: pieces that the second half brings are what further states will bring.
const SAMPLE: u64 = if cfg!(test) { 512 } else { 4096 };
/// An entry of the index, with what is free beside it.
const ENTRY: usize = 6;
/// Cutting pays where states take at most this share of their bytes.
const PAYS: (usize, usize) = (3, 5);

/// How states are cut, and their pieces.
#[derive(Debug)]
pub(super) struct Folding {
    cut: Cut,
    /// How a whole state would lie in an arena.
    whole: Form,
    pieces: Box<StateTable>,
}

/// So many words in pieces of so many words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    words: usize,
    piece: usize,
}

impl Cut {
    fn pieces(self) -> usize {
        self.words.div_ceil(self.piece)
    }

    /// Words of a folded state: two places each.
    fn folded(self) -> usize {
        self.pieces().div_ceil(2)
    }

    fn form(self) -> Form {
        Form::of_bits(self.folded(), 32 * self.pieces() as u32)
    }
}

/// What folding a batch needs, kept from batch to batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) folded: Vec<u64>,
    /// Pieces to be looked up; of each, which state of the window it is of, and which of its pieces.
    asked: Vec<u64>,
    slots: Vec<(usize, usize)>,
    places: Vec<Option<StateRef>>,
}

impl Folding {
    /// Words of a whole state.
    pub(super) fn words(&self) -> usize {
        self.cut.words
    }

    /// Folds states one after the other into `scratch.folded`, their pieces entered by this writer.
    ///
    /// # Safety
    /// Nobody else writes with this number meanwhile.
    pub(super) unsafe fn fold_all(
        &self,
        writer: usize,
        states: &[u64],
        scratch: &mut Scratch,
    ) -> Result<(), OverBudget> {
        let (words, width) = (self.cut.words, self.cut.folded());
        scratch.folded.clear();
        scratch.folded.resize(states.len() / words * width, 0);
        for (window, states_of_window) in states.chunks(WINDOW * words).enumerate() {
            let first = window * WINDOW;
            scratch.asked.clear();
            scratch.slots.clear();
            for (n, state) in states_of_window.chunks_exact(words).enumerate() {
                assert!(self.whole.holds(state[words - 1]), "a state has more bits than its space says");
                let before = (first + n).checked_sub(1).map(|before| &states[before * words..][..words]);
                for (k, piece) in state.chunks(self.cut.piece).enumerate() {
                    let is_same = before.is_some_and(|before| {
                        let before = &before[k * self.cut.piece..][..piece.len()];
                        piece.iter().zip(before).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
                    });
                    if !is_same {
                        scratch.asked.extend_from_slice(piece);
                        if piece.len() < self.cut.piece {
                            let whole = scratch.asked.len() + self.cut.piece - piece.len();
                            scratch.asked.resize(whole, 0);
                        }
                        scratch.slots.push((n, k));
                    }
                }
            }
            scratch.places.clear();
            scratch.places.resize(scratch.slots.len(), None);
            let mut named = Named { places: &mut scratch.places, writing: 0 };
            // SAFETY: as the caller promises.
            let added = unsafe { self.pieces.add_all(writer, &scratch.asked, Some(&mut named), |_, _| {}) };
            added.map_err(|(_, full)| full)?;
            let mut found = scratch.slots.iter().zip(&scratch.places);
            let mut next = found.next();
            for n in 0..states_of_window.len() / words {
                let row = (first + n) * width;
                if row > 0 {
                    scratch.folded.copy_within(row - width..row, row);
                }
                while let Some((&(_, k), place)) = next.filter(|((of, _), _)| *of == n) {
                    let place = place.map_or(0, |at| self.pieces.place_of(at));
                    if place == 0 || place > u64::from(u32::MAX) {
                        return Err(self.pieces.full());
                    }
                    set_place(&mut scratch.folded[row..row + width], k, place);
                    next = found.next();
                }
            }
        }
        Ok(())
    }

    /// Folds one state whose pieces are all known.
    pub(super) fn fold_known(&self, state: &[u64]) -> Option<Vec<u64>> {
        let mut folded = vec![0; self.cut.folded()];
        let mut whole = vec![0; self.cut.piece];
        for (k, piece) in state.chunks(self.cut.piece).enumerate() {
            whole.fill(0);
            whole[..piece.len()].copy_from_slice(piece);
            let place = self.pieces.place_of(self.pieces.find(&whole)?);
            folded[k / 2] |= place << (k % 2 * 32);
        }
        Some(folded)
    }

    /// Puts the pieces of a folded state together.
    ///
    /// # Safety
    /// `folded` comes from an arena of the table that this folding belongs to.
    #[inline]
    unsafe fn unfold(&self, folded: &[u64], state: &mut [u64]) {
        for (k, piece) in state[..self.cut.words].chunks_mut(self.cut.piece).enumerate() {
            // SAFETY: a place in a folded state comes from the table of pieces, which keeps whole words and so many of them.
            unsafe {
                let at = self.pieces.address(place_of(folded, k));
                std::ptr::copy_nonoverlapping(at.cast::<u64>(), piece.as_mut_ptr(), piece.len());
            }
        }
    }

    /// Reads the record at `at` and puts it together.
    ///
    /// # Safety
    /// The record is one of the table that this folding belongs to.
    pub(super) unsafe fn read(&self, form: Form, at: *const u8, state: &mut [u64]) {
        let mut folded = [0; MOST_PIECES.div_ceil(2)];
        let folded = &mut folded[..self.cut.folded()];
        // SAFETY: as the caller promises.
        unsafe {
            form.read::<0>(at, folded);
            self.unfold(folded, state);
        }
    }

    /// Gives up finding pieces; states can still be put together.
    pub(super) fn drop_index(&mut self) {
        self.pieces.drop_index();
    }

    /// Forgets all pieces.
    pub(super) fn clear(&mut self) -> Result<(), OverBudget> {
        self.pieces.clear()
    }
}

#[inline]
fn place_of(folded: &[u64], k: usize) -> u64 {
    folded[k / 2] >> (k % 2 * 32) & u64::from(u32::MAX)
}

#[inline]
fn set_place(folded: &mut [u64], k: usize, place: u64) {
    let shift = k % 2 * 32;
    folded[k / 2] = folded[k / 2] & !(u64::from(u32::MAX) << shift) | place << shift;
}

/// Notes where the pieces of a batch lie.
struct Named<'p> {
    places: &'p mut [Option<StateRef>],
    writing: usize,
}

impl Beside for Named<'_> {
    unsafe fn known(&mut self, number: usize, at: StateRef) {
        self.places[number] = Some(at);
    }

    unsafe fn write(&mut self, number: usize, _: usize) -> Result<(), OverBudget> {
        self.writing = number;
        Ok(())
    }

    fn publish(&mut self, at: StateRef) {
        self.places[self.writing] = Some(at);
    }
}

impl StateTable {
    /// Keeps wide states as the places of their pieces from now on, where that takes much less memory, for one who has the
    /// table to himself; says whether it began to. States keep their numbers; they can be copied out and found as before.
    pub fn fold_where_it_pays(&mut self) -> bool {
        if self.is_folded() || self.extra > 0 || self.words < LEAST_WORDS || self.len() < self.fold_from {
            return false;
        }
        // Where it does not pay yet, or there is no room for both, later states may say otherwise.
        self.fold_from = self.len().saturating_mul(4);
        self.best_cut().is_some_and(|cut| self.fold(cut).is_ok())
    }

    /// Whether states are kept as the places of their pieces.
    pub fn is_folded(&self) -> bool {
        self.folding.is_some()
    }

    /// The cut after which further states will take the fewest bytes, where it pays.
    fn best_cut(&self) -> Option<Cut> {
        let writer = (0..self.arenas.len()).max_by_key(|&writer| self.added_by(writer))?;
        let known = self.added_by(writer);
        let mut states = Vec::new();
        self.copy_states(writer, known.saturating_sub(SAMPLE), known, &mut states);
        let mut best = (self.form.bytes() + ENTRY) * PAYS.0 / PAYS.1;
        let mut chosen = None;
        let narrowest = self.words.div_ceil(MOST_PIECES).max(2);
        for piece in (narrowest..=self.words.div_ceil(2)).take(MOST_PIECES) {
            let cut = Cut { words: self.words, piece };
            let bytes = cut.form().bytes() + ENTRY + new_pieces(cut, &states) * (8 * piece + ENTRY) / 100;
            if bytes < best {
                (best, chosen) = (bytes, Some(cut));
            }
        }
        chosen
    }

    /// Folds every state; where memory for both forms is short, all stays as it is.
    fn fold(&mut self, cut: Cut) -> Result<(), OverBudget> {
        let (form, writers) = (cut.form(), self.arenas.len());
        let pieces = StateTable::of_form((cut.piece, Form::of_words(cut.piece)), 0, writers, &self.governor)?;
        let folding = Folding { cut, whole: self.form, pieces: Box::new(pieces) };
        let mut arenas = Vec::with_capacity(writers);
        let (mut states, mut scratch) = (Vec::new(), Scratch::default());
        for writer in 0..writers {
            let arena =
                Arena::new(form.bytes(), arena_chunk(form.bytes(), writers, &self.governor), &self.governor);
            let known = self.added_by(writer);
            for from in (0..known).step_by(WINDOW) {
                states.clear();
                self.copy_states(writer, from, known.min(from + WINDOW as u64), &mut states);
                // SAFETY: the pieces and the arena are nobody else's yet; the room is a record's.
                unsafe {
                    folding.fold_all(writer, &states, &mut scratch)?;
                    for folded in scratch.folded.chunks_exact(cut.folded()) {
                        let (n, at) = arena.next()?;
                        form.write::<0>(at, folded);
                        arena.publish(n);
                    }
                }
            }
            arenas.push(arena);
        }
        self.arenas = arenas;
        (self.words, self.form, self.folding) = (cut.folded(), form, Some(folding));
        // Hashes are those of the folded states now.
        let index = self.index.get_mut().unwrap_or_else(|e| e.into_inner());
        on_index!(index, index => index.clear());
        on_index!(&*self.read_index(), index => self.enter_places(&index.lines()));
        Ok(())
    }
}

/// How many new pieces a hundred further states bring: as many as the second half of these did.
fn new_pieces(cut: Cut, states: &[u64]) -> usize {
    let half = (states.len() / cut.words / 2).max(1);
    let mut known = HashSet::new();
    let mut new = 0;
    for (n, state) in states.chunks_exact(cut.words).enumerate() {
        let fresh = state.chunks(cut.piece).filter(|&piece| known.insert(piece)).count();
        new += if n < half { 0 } else { fresh };
    }
    new * 100 / half
}

/// Bytes of the chunks of an arena: a part of the budget, but at least a record.
pub(super) fn arena_chunk(record: usize, writers: usize, governor: &Governor) -> usize {
    let share = governor.limit() / (64 * writers as u64);
    share.clamp(16 << 10, 32 << 20).max(record as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;
    use hadal_system::{Merge, Payload};
    use hadal_testkit::Random;
    use std::collections::HashMap;

    /// States of 11 words and 650 bits, each unlike the one before in a word or two.
    fn steps(seed: u64, n: usize) -> Vec<u64> {
        let mut random = Random::new(seed);
        let mut states = vec![0; 11];
        for _ in 1..n {
            let before = states.len() - 11;
            states.extend_from_within(before..);
            for _ in 0..=random.below(2) {
                states[before + 11 + random.below(11) as usize] = random.below(6);
            }
        }
        states
    }

    fn table_of(writers: usize, payload: Payload) -> StateTable {
        StateTable::keeping((11, 650), payload, writers, &Governor::new(1 << 26)).unwrap()
    }

    #[test]
    fn folding_keeps_every_state_and_its_number_and_takes_less() {
        let (mut table, mut plain) = (table_of(1, Payload::NONE), table_of(1, Payload::NONE));
        let n = if cfg!(miri) { 1500 } else { 60_000 };
        for batch in steps(5, n).chunks(11 * 700) {
            let (mut new, mut expected) = (Vec::new(), Vec::new());
            table.insert_all(batch, |_, _| {}, |n, at| new.push((n, at))).unwrap();
            plain.insert_all(batch, |_, _| {}, |n, at| expected.push((n, at))).unwrap();
            assert_eq!(new, expected);
            table.fold_where_it_pays();
        }
        assert!(table.folding.is_some() && plain.folding.is_none());
        assert_eq!(table.words(), 11);
        let (mut here, mut there) = (Vec::new(), Vec::new());
        table.copy_states(0, 0, table.len(), &mut here);
        plain.copy_states(0, 0, plain.len(), &mut there);
        assert_eq!(here, there);
        for state in here.chunks_exact(11).step_by(97) {
            assert_eq!(table.find(state), plain.find(state));
            let mut other = state.to_vec();
            other[3] ^= 1 << 40;
            assert_eq!(table.find(&other), None);
        }
        let mut known = 0;
        table.ask_all(&here, |_, is_known| known += u64::from(is_known));
        assert_eq!(known, table.len());
        if !cfg!(miri) {
            let bytes = |table: &StateTable| table.governor.current();
            assert!(bytes(&table) * 2 < bytes(&plain), "{} of {}", bytes(&table), bytes(&plain));
        }
        table.clear().unwrap();
        assert!(table.is_empty() && table.find(&here[..11]).is_none());
        table.insert_all(&here[..11 * 300], |_, _| {}, |_, _| {}).unwrap();
        assert_eq!(table.len(), 300);
    }

    #[test]
    fn states_without_common_pieces_stay_whole() {
        let mut table = table_of(1, Payload::NONE);
        let mut random = Random::new(8);
        let states: Vec<u64> =
            (0..11 * 3000).map(|n| if n % 11 == 10 { random.below(1024) } else { random.bits() }).collect();
        table.insert_all(&states, |_, _| {}, |_, _| {}).unwrap();
        table.fold_where_it_pays();
        assert!(table.folding.is_none());
        assert!(states.chunks_exact(11).all(|state| table.find(state).is_some()));
    }

    #[test]
    fn a_table_without_room_for_both_forms_stays_as_it_is() {
        let states = steps(9, 6000);
        let mut table = table_of(1, Payload::NONE);
        table.insert_all(&states, |_, _| {}, |_, _| {}).unwrap();
        table.governor.set_limit(table.governor.current());
        table.fold_where_it_pays();
        assert!(table.folding.is_none());
        assert!(states.chunks_exact(11).all(|state| table.find(state).is_some()));
    }

    #[test]
    fn threads_that_write_folded_states_at_the_same_time_write_each_once() {
        let mut table = table_of(4, Payload::NONE);
        let n = if cfg!(miri) { 1200 } else { 20_000 };
        let first = steps(1, n);
        table.insert_all(&first, |_, _| {}, |_, _| {}).unwrap();
        table.fold_where_it_pays();
        assert!(table.folding.is_some());
        // The same walks for all, in other orders.
        let walks: Vec<Vec<u64>> = (0..4).map(|seed| steps(20 + seed, n / 2)).collect();
        let (shared, writers) = table.share();
        std::thread::scope(|scope| {
            for (turn, mut writer) in writers.into_iter().enumerate() {
                let walks = &walks;
                scope.spawn(move || {
                    for walk in walks.iter().cycle().skip(turn).take(4) {
                        for batch in walk.chunks(11 * 300) {
                            writer.insert_all(batch, |_, _| {}, |_, _| {}).unwrap();
                            let mut copy = vec![0; 11];
                            let mine = shared.added_by(turn);
                            (mine.saturating_sub(3)..mine).for_each(|n| shared.copy_nth(turn, n, &mut copy));
                        }
                    }
                });
            }
        });
        let all = walks.iter().flatten().copied().chain(first);
        let all: Vec<u64> = all.collect();
        let distinct: HashSet<&[u64]> = all.chunks_exact(11).collect();
        assert_eq!(table.len(), distinct.len() as u64);
        let mut held = Vec::new();
        (0..4).for_each(|writer| table.copy_states(writer, 0, table.added_by(writer), &mut held));
        assert_eq!(held.chunks_exact(11).collect::<HashSet<_>>(), distinct);
    }

    #[test]
    fn payloads_are_merged_beside_folded_states() {
        let mut table = table_of(1, Payload { words: 1, merge: Merge::Least });
        let mut least: HashMap<Vec<u64>, u64> = HashMap::new();
        let mut random = Random::new(12);
        for batch in steps(3, 5000).chunks(11 * 250) {
            let payloads: Vec<u64> = (0..batch.len() / 11).map(|_| random.below(1000)).collect();
            for (state, &payload) in batch.chunks_exact(11).zip(&payloads) {
                let kept = least.entry(state.to_vec()).or_insert(payload);
                *kept = payload.min(*kept);
            }
            Writer::new(&table, 0).merge_all(batch, &payloads, &[0], |_| {}).unwrap();
            table.fold_where_it_pays();
        }
        assert!(table.folding.is_some());
        let mut records = Vec::new();
        table.copy_records(0, 0, table.len(), &mut records);
        let held: HashMap<Vec<u64>, u64> =
            records.chunks_exact(12).map(|record| (record[1..].to_vec(), record[0])).collect();
        assert_eq!(held, least);
    }
}
