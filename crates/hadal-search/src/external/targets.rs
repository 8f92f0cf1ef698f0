//! What one thread generated and has not sorted yet, by the bucket it belongs to.

use super::matrix::Cell;
use super::order::sort_chunks;
use super::spill::Shared;
use crate::layered::Trouble;
use hadal_store::Reservation;
use hadal_store::shape::RecordShape;

/// Entries of the table that finds a bucket's slot.
const PLACES: usize = 64;
/// Bytes for each word: eight in a chunk, eight in what it is sorted into, two for sorting by digits.
const SORTING: u64 = 18;
/// And eight more where what other workers own is taken out of it.
const SPLITTING: u64 = 8;

/// Who gets what is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dealing {
    /// Whoever generated it.
    ToItself,
    /// Its owner, who may be another worker.
    ToOwners,
}

pub(super) struct Targets {
    shape: RecordShape,
    /// Bits of a state that are used.
    bits: u32,
    slots: Vec<Slot>,
    /// Slots by a few bits of their cell; checked before use.
    places: [u32; PLACES],
    /// Words of a chunk.
    chunk_words: usize,
    /// Chunks in use and spare ones.
    chunks: usize,
    spare: Vec<Vec<u64>>,
    /// Most chunks before some are sorted.
    most_chunks: usize,
    scratch: Vec<u64>,
    /// Bytes for each word.
    word_bytes: u64,
    /// Chunks, and what they are sorted into.
    memory: Reservation,
}

struct Slot {
    cell: Cell,
    full: Vec<Vec<u64>>,
    last: Vec<u64>,
    records: u64,
}

impl Targets {
    /// At most `most_bytes` of memory, sorting and splitting included.
    pub(super) fn new(
        (shape, bits): (RecordShape, u32),
        dealing: Dealing,
        most_bytes: u64,
        memory: Reservation,
    ) -> Self {
        let word_bytes = match dealing {
            Dealing::ToItself => SORTING,
            Dealing::ToOwners => SORTING + SPLITTING,
        };
        let words = (most_bytes / word_bytes) as usize;
        let chunk_words = (words / 64).clamp(4 * shape.stride(), 1 << 16) / shape.stride() * shape.stride();
        Targets {
            shape,
            bits,
            slots: Vec::new(),
            places: [u32::MAX; PLACES],
            chunk_words,
            chunks: 0,
            spare: Vec::new(),
            most_chunks: (words / chunk_words).max(2),
            scratch: Vec::new(),
            word_bytes,
            memory,
        }
    }

    /// Adds a record to a bucket.
    #[inline]
    pub(super) fn push(&mut self, cell: Cell, payload: &[u64], state: &[u64]) -> Result<(), Trouble> {
        let slot = self.slot(cell);
        if self.slots[slot].last.len() + self.shape.stride() > self.slots[slot].last.capacity() {
            self.next_chunk(slot)?;
        }
        let slot = &mut self.slots[slot];
        slot.records += 1;
        if let ([word], []) = (state, payload) {
            slot.last.push(*word);
        } else {
            slot.last.extend_from_slice(payload);
            slot.last.extend_from_slice(state);
        }
        Ok(())
    }

    #[inline]
    fn slot(&mut self, cell: Cell) -> usize {
        let place = (cell.h as usize ^ (cell.g as usize) << 3) % PLACES;
        let slot = self.places[place] as usize;
        if self.slots.get(slot).is_some_and(|slot| slot.cell == cell) {
            return slot;
        }
        self.find_slot(cell, place)
    }

    #[cold]
    fn find_slot(&mut self, cell: Cell, place: usize) -> usize {
        let slot = self.slots.iter().position(|slot| slot.cell == cell).unwrap_or_else(|| {
            self.slots.push(Slot { cell, full: Vec::new(), last: Vec::new(), records: 0 });
            self.slots.len() - 1
        });
        self.places[place] = slot as u32;
        slot
    }

    #[cold]
    fn next_chunk(&mut self, slot: usize) -> Result<(), Trouble> {
        let next = match self.spare.pop() {
            Some(chunk) => chunk,
            None => {
                self.memory.try_grow(self.word_bytes * self.chunk_words as u64)?;
                Vec::with_capacity(self.chunk_words)
            }
        };
        self.chunks += 1;
        let slot = &mut self.slots[slot];
        let full = std::mem::replace(&mut slot.last, next);
        if full.capacity() > 0 {
            slot.full.push(full);
        }
        Ok(())
    }

    /// Whether some must be sorted before much more is generated.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.chunks >= self.most_chunks
    }

    /// Sorts the buckets with the most until a half of the memory is free, and puts them into the matrix.
    pub(super) fn relieve(&mut self, shared: &Shared) -> Result<(), Trouble> {
        while self.chunks > self.most_chunks / 2 {
            // Where costs are many, buckets have hardly more than one chunk, and one that has none frees nothing.
            let chunks = |slot: &Slot| slot.full.len() + usize::from(slot.last.capacity() > 0);
            let most = (0..self.slots.len()).max_by_key(|&slot| chunks(&self.slots[slot]));
            let Some(slot) = most else { break };
            self.deliver(slot, shared)?;
        }
        Ok(())
    }

    /// Puts everything into the matrix. Calls `told` with each bucket and how many states were generated for it.
    pub(super) fn finish(&mut self, shared: &Shared, mut told: impl FnMut(Cell, u64)) -> Result<(), Trouble> {
        for slot in 0..self.slots.len() {
            self.deliver(slot, shared)?;
            told(self.slots[slot].cell, self.slots[slot].records);
        }
        self.forget();
        Ok(())
    }

    /// Drops everything, after trouble.
    pub(super) fn forget(&mut self) {
        for mut slot in self.slots.drain(..) {
            self.spare.append(&mut slot.full);
            if slot.last.capacity() > 0 {
                self.spare.push(slot.last);
            }
        }
        self.spare.iter_mut().for_each(Vec::clear);
        self.chunks = 0;
        self.places = [u32::MAX; PLACES];
    }

    fn deliver(&mut self, slot: usize, shared: &Shared) -> Result<(), Trouble> {
        let slot = &mut self.slots[slot];
        let mut chunks = std::mem::take(&mut slot.full);
        if slot.last.capacity() > 0 {
            chunks.push(std::mem::take(&mut slot.last));
        }
        let most_scratch = self.most_chunks * self.chunk_words / 8;
        let flat = sort_chunks((self.shape, self.bits), &chunks, &mut self.scratch, most_scratch);
        self.chunks -= chunks.len();
        chunks.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut chunks);
        if flat.is_empty() { Ok(()) } else { shared.deposit(slot.cell.rank(), flat) }
    }
}
