//! Which buckets leave RAM: those that are needed last. The order of expansion says when that is, so nothing is guessed.
//!
//! A large part becomes a run; small ones share a bundle. A commit writes parts too, but leaves them in RAM.

use super::matrix::{Cell, Matrix, Rank, drop_copy};
use super::part::{Part, Place, Shelf, Stored};
use crate::exchange::Shares;
use crate::layered::Trouble;
use hadal_store::OverBudget;
use hadal_store::run::RunKind;
use std::sync::{Mutex, MutexGuard};

/// Parts of at least this many bytes get a run of their own, unless the budget is small.
const OWN_RUN: u64 = 1 << 20;

/// The matrix as the threads of an expansion share it.
pub(super) struct Shared<'a> {
    pub(super) matrix: Mutex<&'a mut Matrix>,
    /// Held by who writes buckets to disk.
    spilling: Mutex<()>,
    pub(super) shelf: &'a Shelf,
    /// The bucket being expanded.
    pub(super) now: Rank,
    /// The number of its expansion.
    pub(super) made_in: u64,
    /// A column that is being read.
    pinned: Option<u32>,
    /// Who owns which states, and who this worker is; none where there is no other.
    owners: Option<(&'a Shares, usize)>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked ends the search anyway.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Bytes from which a part gets a run of its own.
pub(super) fn own_run_bytes(shelf: &Shelf) -> u64 {
    OWN_RUN.min(shelf.disk.governor.limit() / 256).max(16 << 10)
}

/// Parts that leave RAM together.
struct Victim {
    at: Home,
    parts: Vec<Part>,
}

#[derive(Clone, Copy)]
enum Home {
    Open(Rank),
    Outgoing(Rank),
    Row(u32, u64),
    Level(u32, (u64, u64)),
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        matrix: &'a mut Matrix,
        shelf: &'a Shelf,
        now: Rank,
        made_in: u64,
        pinned: Option<u32>,
    ) -> Self {
        let (matrix, spilling) = (Mutex::new(matrix), Mutex::new(()));
        Shared { matrix, spilling, shelf, now, made_in, pinned, owners: None }
    }

    /// The same where other workers own a part of the states.
    pub(super) fn owned_by(self, owners: Option<(&'a Shares, usize)>) -> Self {
        Shared { owners, ..self }
    }

    /// Adds sorted records to an open bucket, making room for them first; what others own waits to be sent.
    pub(super) fn deposit(&self, rank: Rank, mut flat: Vec<u64>) -> Result<(), Trouble> {
        let Some(owners) = self.owners else { return self.deposit_own(rank, flat) };
        let foreign = self.split_off(owners, &mut flat);
        if !flat.is_empty() {
            self.deposit_own(rank, flat)?;
        }
        if !foreign.is_empty() {
            let part = self.resident(foreign)?;
            lock(&self.matrix).outgoing.entry(rank).or_default().push(part);
        }
        Ok(())
    }

    /// The same of states that this worker owns.
    pub(super) fn deposit_own(&self, rank: Rank, flat: Vec<u64>) -> Result<(), Trouble> {
        let part = self.resident(flat)?;
        lock(&self.matrix).put_open(rank, part);
        Ok(())
    }

    /// The same of states that are closed.
    pub(super) fn deposit_closed(&self, rank: Rank, flat: Vec<u64>) -> Result<(), Trouble> {
        let part = self.resident(flat)?;
        let Cell { g, h } = Cell::of_rank(rank);
        lock(&self.matrix).columns.entry(h).or_default().rows.entry(g).or_default().push(part);
        Ok(())
    }

    /// A part in RAM, which is made room for.
    fn resident(&self, flat: Vec<u64>) -> Result<Part, Trouble> {
        self.make_room(flat.len())?;
        lock(&self.matrix).hold(flat.len())?;
        Ok(Part::resident(self.shelf.shape(), flat, self.made_in))
    }

    /// Takes what others own out of sorted records.
    fn split_off(&self, (shares, me): (&Shares, usize), flat: &mut Vec<u64>) -> Vec<u64> {
        let (shape, mut kept, mut foreign) = (self.shelf.shape(), 0, Vec::with_capacity(flat.len()));
        let stride = shape.stride();
        for at in (0..flat.len()).step_by(stride) {
            if shares.owner(shape.state(&flat[at..at + stride])) == me {
                flat.copy_within(at..at + stride, kept);
                kept += stride;
            } else {
                foreign.extend_from_slice(&flat[at..at + stride]);
            }
        }
        flat.truncate(kept);
        flat.shrink_to_fit();
        foreign.shrink_to_fit();
        foreign
    }

    /// Writes buckets to disk until `words` more words fit.
    pub(super) fn make_room(&self, words: usize) -> Result<(), Trouble> {
        if !lock(&self.matrix).is_over(words) {
            return Ok(());
        }
        let _one_at_a_time = lock(&self.spilling);
        while lock(&self.matrix).is_over(words) {
            let (victims, released) = self.take_victims(words);
            if victims.is_empty() && released == 0 {
                let matrix = lock(&self.matrix);
                let (held, most) = (8 * matrix.resident_words() as u64, 8 * matrix.most_words() as u64);
                let over = OverBudget {
                    what: "buckets",
                    asked: 8 * words as u64,
                    available: most.saturating_sub(held),
                    limit: self.shelf.disk.governor.limit(),
                };
                return Err(over.into());
            }
            self.write(victims)?;
        }
        Ok(())
    }

    /// Chooses what leaves: enough to fill RAM to a half only, so that this is not done for every few states.
    /// Those that lie on disk already are dropped at once; the second number is how many words that freed.
    fn take_victims(&self, words: usize) -> (Vec<Victim>, usize) {
        let mut matrix = lock(&self.matrix);
        let mut candidates: Vec<(Rank, Home)> = Vec::new();
        for (&rank, bucket) in &matrix.open {
            if bucket.parts.iter().any(|part| part.resident_words() > 0) {
                candidates.push((rank, Home::Open(rank)));
            }
        }
        for (&rank, parts) in &matrix.outgoing {
            if parts.iter().any(|part| part.resident_words() > 0) {
                // It is sent as soon as the bucket is expanded.
                candidates.push((self.now, Home::Outgoing(rank)));
            }
        }
        for (&h, column) in matrix.columns.iter().filter(|&(&h, _)| self.pinned != Some(h)) {
            // A closed row is next asked two rows on, or has been asked for the last time where detection is local.
            let later = |row: u64| Some((row + u64::from(h) + 2, row)).filter(|&rank| rank >= self.now);
            for (&row, parts) in &column.rows {
                if parts.iter().any(|part| part.resident_words() > 0) {
                    candidates.push((later(row).unwrap_or((u64::MAX, row)), Home::Row(h, row)));
                }
            }
            for level in &column.levels {
                if level.merged.as_ref().is_some_and(|part| part.resident_words() > 0) {
                    candidates.push((later(level.rows.1).unwrap_or(self.now), Home::Level(h, level.rows)));
                }
            }
        }
        candidates.sort_unstable_by_key(|&(rank, _)| std::cmp::Reverse(rank));
        let excess = (matrix.resident_words() + words).saturating_sub(matrix.most_words() / 2);
        let (mut freed, mut victims, mut released) = (0, Vec::new(), 0);
        for (_, at) in candidates {
            if freed >= excess {
                break;
            }
            let home: &mut Vec<Part> = match at {
                Home::Open(rank) => &mut matrix.open.entry(rank).or_default().parts,
                Home::Outgoing(rank) => matrix.outgoing.entry(rank).or_default(),
                Home::Row(h, row) => matrix.columns.entry(h).or_default().rows.entry(row).or_default(),
                Home::Level(h, rows) => {
                    let levels = &mut matrix.columns.entry(h).or_default().levels;
                    let level = levels.iter_mut().find(|level| level.rows == rows && level.merged.is_some());
                    let Some(part) = level.and_then(|level| level.merged.take()) else { continue };
                    freed += part.resident_words();
                    victims.push(Victim { at, parts: vec![part] });
                    continue;
                }
            };
            for part in home.iter_mut() {
                let words = drop_copy(part);
                freed += words;
                released += words;
            }
            let (out, kept): (Vec<Part>, Vec<Part>) =
                std::mem::take(home).into_iter().partition(|part| part.resident_words() > 0);
            *home = kept;
            freed += out.iter().map(Part::resident_words).sum::<usize>();
            if !out.is_empty() {
                victims.push(Victim { at, parts: out });
            }
        }
        matrix.release(released);
        (victims, released)
    }

    fn write(&self, victims: Vec<Victim>) -> Result<(), Trouble> {
        let own_run = own_run_bytes(self.shelf) as usize / 8;
        let mut small = Vec::new();
        let mut failed = Ok(());
        for mut victim in victims {
            if failed.is_err() {
                self.put_back(victim.at, victim.parts, 0);
                continue;
            }
            // What this expansion made may have to be undone, so it does not mix with the rest.
            let (new, old): (Vec<Part>, Vec<Part>) =
                victim.parts.drain(..).partition(|part| part.made_in == self.made_in);
            for parts in [new, old] {
                let words: usize = parts.iter().map(Part::resident_words).sum();
                if words < own_run {
                    small.extend(parts.into_iter().map(|part| (victim.at, part)));
                    continue;
                }
                let made_in = parts[0].made_in;
                let written = match victim.at {
                    Home::Open(_) | Home::Outgoing(_) => {
                        let run = self.shelf.write_run(RunKind::Frontier, &flats(&parts));
                        run.map(|run| vec![Part::run(run, made_in)])
                    }
                    // The parts of a closed row stand one after the other.
                    _ => parts.iter().map(|part| self.write_alone(part)).collect(),
                };
                match written {
                    Ok(written) => self.put_back(victim.at, written, words),
                    Err(trouble) => {
                        self.put_back(victim.at, parts, 0);
                        failed = Err(trouble);
                    }
                }
            }
        }
        let sets: Vec<&[u64]> = small.iter().filter_map(|(_, part)| flat(part)).collect();
        let mut run = None;
        if failed.is_ok() && !sets.is_empty() {
            match self.shelf.write_bundle(&sets) {
                Ok(written) => run = Some(written),
                Err(trouble) => failed = Err(trouble),
            }
        }
        for (id, (at, mut part)) in small.into_iter().enumerate() {
            let mut words = 0;
            if let Some(run) = &run {
                words = part.resident_words();
                part.place = Place::Stored(Stored::Bundle { run: run.clone(), id: id as u64 });
            }
            self.put_back(at, vec![part], words);
        }
        failed
    }

    fn write_alone(&self, part: &Part) -> Result<Part, Trouble> {
        let run = self.shelf.write_run(RunKind::Closed, &[flat(part).unwrap_or_default()])?;
        Ok(Part::run(run, part.made_in))
    }

    fn put_back(&self, at: Home, parts: Vec<Part>, released: usize) {
        let mut matrix = lock(&self.matrix);
        matrix.release(released);
        match at {
            Home::Open(rank) => matrix.open.entry(rank).or_default().parts.extend(parts),
            Home::Outgoing(rank) => matrix.outgoing.entry(rank).or_default().extend(parts),
            Home::Row(h, row) => {
                matrix.columns.entry(h).or_default().rows.entry(row).or_default().extend(parts);
            }
            Home::Level(h, rows) => {
                let levels = &mut matrix.columns.entry(h).or_default().levels;
                let level = levels.iter_mut().find(|level| level.rows == rows && level.merged.is_none());
                if let (Some(level), Some(part)) = (level, parts.into_iter().next()) {
                    level.merged = Some(part);
                }
            }
        }
    }
}

fn flat(part: &Part) -> Option<&[u64]> {
    match &part.place {
        Place::Resident { flat, .. } => Some(flat),
        Place::Stored(_) => None,
    }
}

fn flats(parts: &[Part]) -> Vec<&[u64]> {
    parts.iter().filter_map(flat).collect()
}

/// Gives every part in RAM a copy on disk, for a commit.
pub(super) fn copy_all(matrix: &mut Matrix, shelf: &Shelf) -> Result<(), Trouble> {
    let own_run = own_run_bytes(shelf) as usize / 8;
    let mut small = Vec::new();
    for part in matrix.parts_mut() {
        if let Place::Resident { flat, copy: copy @ None } = &mut part.place {
            if flat.len() >= own_run {
                *copy = Some(Stored::Run(shelf.write_run(RunKind::Frontier, &[flat])?));
            } else {
                small.push((flat, copy));
            }
        }
    }
    if small.is_empty() {
        return Ok(());
    }
    let sets: Vec<&[u64]> = small.iter().map(|(flat, _)| &flat[..]).collect();
    let run = shelf.write_bundle(&sets)?;
    for (id, (_, copy)) in small.into_iter().enumerate() {
        *copy = Some(Stored::Bundle { run: run.clone(), id: id as u64 });
    }
    Ok(())
}
