//! The buckets of External A* by cost so far and estimate (Jabbar 2008, sec. 3.2): open ones in the order in which they
//! are expanded, closed ones by column.
//!
//! The matrix is sparse and holds sorted parts. Parts stay in RAM as long as they fit their share of the budget; which
//! of them leave is decided by [`super::spill`].

use super::part::{Part, Place, Stored};
use hadal_store::run::RunFile;
use hadal_store::{Governor, OverBudget, Reservation};
use std::collections::BTreeMap;

/// Where a bucket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    /// What it cost to get to its states.
    pub(super) g: u64,
    /// The estimate of what it will cost from there.
    pub(super) h: u32,
}

/// The order of expansion: least estimate of the whole path, then least cost so far.
pub(super) type Rank = (u64, u64);

impl Cell {
    pub(super) fn f(self) -> u64 {
        self.g + u64::from(self.h)
    }

    pub(super) fn rank(self) -> Rank {
        (self.f(), self.g)
    }

    pub(super) fn of_rank((f, g): Rank) -> Self {
        Cell { g, h: (f - g) as u32 }
    }
}

/// States generated and not expanded.
#[derive(Default)]
pub(super) struct OpenBucket {
    /// How many were generated.
    pub(super) raw: u64,
    pub(super) parts: Vec<Part>,
}

/// Closed states with one estimate: equal states are always in the same column.
#[derive(Default)]
pub(super) struct Column {
    pub(super) rows: BTreeMap<u64, Vec<Part>>,
    /// What is asked about candidates, oldest first.
    pub(super) levels: Vec<Level>,
}

/// One or more rows of a column.
pub(super) struct Level {
    /// The first and the last.
    pub(super) rows: (u64, u64),
    /// All of them merged; where there is none, it is one row as it stands.
    pub(super) merged: Option<Part>,
}

pub(super) struct Matrix {
    pub(super) open: BTreeMap<Rank, OpenBucket>,
    pub(super) columns: BTreeMap<u32, Column>,
    /// What an expansion generated for other workers, until it is sent.
    pub(super) outgoing: BTreeMap<Rank, Vec<Part>>,
    resident_words: usize,
    most_words: usize,
    memory: Reservation,
}

impl Matrix {
    /// No buckets; at most this many bytes of them are to be in RAM.
    pub(super) fn new(governor: &Governor, most_bytes: u64) -> Self {
        Matrix {
            open: BTreeMap::new(),
            columns: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            resident_words: 0,
            most_words: (most_bytes / 8) as usize,
            memory: governor.empty("buckets"),
        }
    }

    pub(super) fn most_words(&self) -> usize {
        self.most_words
    }

    pub(super) fn resident_words(&self) -> usize {
        self.resident_words
    }

    /// Whether there is no room for another `words` words.
    pub(super) fn is_over(&self, words: usize) -> bool {
        self.resident_words + words > self.most_words
    }

    /// Counts words that are in RAM from now on.
    pub(super) fn hold(&mut self, words: usize) -> Result<(), OverBudget> {
        self.memory.try_resize(8 * (self.resident_words + words) as u64)?;
        self.resident_words += words;
        Ok(())
    }

    /// Counts words that are not in RAM any more.
    pub(super) fn release(&mut self, words: usize) {
        self.resident_words -= words;
        self.memory.shrink_to(8 * self.resident_words as u64);
    }

    /// Adds a part of an open bucket; its words in RAM are counted already.
    pub(super) fn put_open(&mut self, rank: Rank, part: Part) {
        self.open.entry(rank).or_default().parts.push(part);
    }

    /// Forgets what an expansion generated.
    pub(super) fn undo(&mut self, made_in: u64) {
        let mut released = 0;
        self.open.retain(|_, bucket| {
            bucket.parts.retain(|part| {
                let stays = part.made_in != made_in;
                released += if stays { 0 } else { part.resident_words() };
                stays
            });
            // What other workers have states for stays known.
            bucket.raw > 0 || !bucket.parts.is_empty()
        });
        self.release(released);
        self.drop_outgoing();
    }

    /// Forgets what was generated for other workers.
    pub(super) fn drop_outgoing(&mut self) {
        let gone = std::mem::take(&mut self.outgoing);
        self.release(gone.values().flatten().map(Part::resident_words).sum());
    }

    /// Every part.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        let open = self.open.values().flat_map(|bucket| &bucket.parts);
        open.chain(self.columns.values().flat_map(|column| column.rows.values().flatten()))
    }

    /// Every part, to be changed.
    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        let open = self.open.values_mut().flat_map(|bucket| &mut bucket.parts);
        open.chain(self.columns.values_mut().flat_map(|column| column.rows.values_mut().flatten()))
    }

    /// The files that parts lie in, each once.
    pub(super) fn files(&self) -> Vec<&RunFile> {
        let mut files: Vec<&RunFile> = self.parts().filter_map(Part::stored).map(Stored::file).collect();
        files.sort_by_key(|file| file.name());
        files.dedup_by_key(|file| file.name());
        files
    }

    /// Deletes the rows of a column before `row`.
    pub(super) fn delete_before(&mut self, h: u32, row: u64) {
        let Some(column) = self.columns.get_mut(&h) else { return };
        let kept = column.rows.split_off(&row);
        let gone = std::mem::replace(&mut column.rows, kept);
        column.levels.retain(|level| level.rows.0 >= row);
        self.release(gone.values().flatten().map(Part::resident_words).sum());
    }

    /// Generated states that wait, duplicates among them included.
    pub(super) fn raw_open(&self) -> u64 {
        self.open.values().map(|bucket| bucket.raw).sum()
    }
}

/// Takes a part out of RAM that is on disk too; returns the words this freed.
pub(super) fn drop_copy(part: &mut Part) -> usize {
    let words = part.resident_words();
    match &part.place {
        Place::Resident { copy: Some(stored), .. } => {
            part.place = Place::Stored(stored.clone());
            words
        }
        _ => 0,
    }
}
