//! Asking for many states at once: as when [adding](super::insert), waiting for memory overlaps.

use super::StateTable;
use super::bucket::{Bucket, Narrow};
use super::codes::CutHash;
use super::index::{Lines, prefetch};
use super::insert::{AnyIndex, Entries, WINDOW, on_index};
use super::remainder::{FARTHEST, Remainders, Scattered};
use hadal_system::state::hash;

impl StateTable {
    /// Tells of each state whether it is there, in order. One that another thread is adding may be told either way.
    pub fn ask_all(&self, states: &[u64], mut told: impl FnMut(usize, bool)) {
        if self.folding.is_some() {
            let states = states.chunks_exact(self.words()).enumerate();
            return states.for_each(|(n, state)| told(n, self.find(state).is_some()));
        }
        let index = self.read_index();
        for (n, window) in states.chunks(WINDOW * self.words).enumerate() {
            let known = match (&*index, self.remainders) {
                (AnyIndex::Narrow(index, Entries::Remainders), Some(remainders)) => {
                    known_remainders(&index.lines(), remainders, window)
                }
                (index, _) => on_index!(index, index => {
                    let lines = index.lines();
                    match self.words {
                        1 => self.known_places::<_, 1>(&lines, window),
                        2 => self.known_places::<_, 2>(&lines, window),
                        _ => self.known_places::<_, 0>(&lines, window),
                    }
                }),
            };
            for k in 0..window.len() / self.words {
                told(n * WINDOW + k, known >> k & 1 == 1);
            }
        }
    }

    /// A bit for each state of a window that is there; `W` is 0 or the number of words.
    fn known_places<B: Bucket, const W: usize>(&self, lines: &Lines<B>, window: &[u64]) -> u64 {
        let words = if W == 0 { self.words } else { W };
        let mut hashes = [CutHash::default(); WINDOW];
        let mut likely = [std::ptr::null(); WINDOW];
        for (h, state) in hashes.iter_mut().zip(window.chunks_exact(words)) {
            *h = lines.codes.cut(hash(state));
            prefetch(lines.at(lines.home(*h)));
        }
        let (mut known, mut open) = (0, 0);
        for (n, (&h, likely)) in hashes.iter().zip(&mut likely).enumerate().take(window.len() / words) {
            let bucket = lines.at(lines.home(h));
            let seen = bucket.look(h.byte());
            if seen.fits != 0 {
                let place = lines.codes.place(bucket.code(seen.fits.trailing_zeros() as usize));
                // SAFETY: the place comes from the index.
                *likely = unsafe { self.address(place) };
                prefetch(*likely);
            }
            // It would lie in this bucket, and no entry is like it.
            open |= u64::from(seen.fits != 0 || seen.free == 0) << n;
        }
        while open != 0 {
            let n = open.trailing_zeros() as usize;
            let state = &window[n * words..][..words];
            // SAFETY: where it is not null, it is the address of a record that the index named.
            let is_likely = !likely[n].is_null() && unsafe { self.form.is_same::<W>(likely[n], state) };
            known |= u64::from(is_likely || self.probe(lines, hashes[n], state).is_some()) << n;
            open &= open - 1;
        }
        known
    }
}

/// A bit for each state of a window that is there.
fn known_remainders(lines: &Lines<Narrow>, remainders: Remainders, window: &[u64]) -> u64 {
    let mut scattered = [Scattered::default(); WINDOW];
    for (scattered, &state) in scattered.iter_mut().zip(window) {
        *scattered = remainders.scatter(state);
        prefetch(lines.at(lines.share(remainders.hash(*scattered))));
    }
    let mut known = 0;
    for (n, (&state, &scattered)) in window.iter().zip(&scattered).enumerate() {
        let is_known = remainders.holds(state) && is_entered((lines, remainders), scattered);
        known |= u64::from(is_known) << n;
    }
    known
}

fn is_entered((lines, remainders): (&Lines<Narrow>, Remainders), state: Scattered) -> bool {
    let (byte, code) = (state.byte(), state.code());
    let mut bucket = lines.share(remainders.hash(state));
    for distance in 0..=u64::from(FARTHEST) {
        let line = lines.at(bucket);
        let seen = line.look(byte);
        let mut fits = seen.fits;
        while fits != 0 {
            if line.code(fits.trailing_zeros() as usize) == code + distance {
                return true;
            }
            fits &= fits - 1;
        }
        if seen.free != 0 {
            return false;
        }
        bucket = lines.after(bucket);
    }
    // Nothing is entered farther away.
    false
}
