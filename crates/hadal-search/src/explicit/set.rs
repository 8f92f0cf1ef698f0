//! Sets of records that ascend: in RAM while they are small, in runs on disk beyond.

use super::{HELD_SHARE, Room, SORT_SHARE};
use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunReader, RunWriter};
use hadal_store::sort::{Sorter, sort_unique};
use hadal_store::{RecordShape, Reservation};

/// A set that is there.
pub(super) enum Set {
    Held { words: usize, flat: Vec<u64>, _memory: Reservation },
    Run(RunFile),
}

impl Set {
    pub(super) fn len(&self) -> u64 {
        match self {
            Set::Held { words, flat, .. } => (flat.len() / words) as u64,
            Set::Run(run) => run.records(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From its first record on.
    pub(super) fn walk(&self) -> Result<Walk<'_>, Trouble> {
        match self {
            Set::Held { words, flat, .. } => {
                Ok(Walk { words: *words, at: 0, held: Some(flat), reader: None, block: Vec::new() })
            }
            Set::Run(run) => {
                let words = run.options().shape.words();
                Walk::of_reader(words, RunReader::open(run)?)
            }
        }
    }
}

/// A way through a set.
pub(super) struct Walk<'s> {
    words: usize,
    at: usize,
    held: Option<&'s [u64]>,
    reader: Option<RunReader>,
    block: Vec<u64>,
}

impl Walk<'_> {
    pub(super) fn of_reader(words: usize, reader: RunReader) -> Result<Self, Trouble> {
        let mut walk = Walk { words, at: 0, held: None, reader: Some(reader), block: Vec::new() };
        walk.refill()?;
        Ok(walk)
    }

    /// The next record.
    #[inline]
    pub(super) fn peek(&self) -> Option<&[u64]> {
        self.held.unwrap_or(&self.block).get(self.at..self.at + self.words)
    }

    pub(super) fn step(&mut self) -> Result<(), Trouble> {
        self.at += self.words;
        if self.reader.is_some() && self.at >= self.block.len() { self.refill() } else { Ok(()) }
    }

    fn refill(&mut self) -> Result<(), Trouble> {
        self.at = 0;
        if let Some(reader) = &mut self.reader
            && !reader.next_block(&mut self.block)?
        {
            self.block.clear();
            self.reader = None;
        }
        Ok(())
    }

    /// Passes records whose last word is less.
    pub(super) fn pass(&mut self, last: u64) -> Result<(), Trouble> {
        while self.peek().is_some_and(|record| record[self.words - 1] < last) {
            self.step()?;
        }
        Ok(())
    }

    /// Whether there is a record with this last word, which must not be less than any asked for before.
    pub(super) fn has(&mut self, last: u64) -> Result<bool, Trouble> {
        self.pass(last)?;
        Ok(self.peek().is_some_and(|record| record[self.words - 1] == last))
    }
}

/// Records in any order, of which a set is made.
pub(super) struct Gathering<'d> {
    room: Room<'d>,
    words: usize,
    held: Vec<u64>,
    memory: Reservation,
    sorter: Option<Sorter<'d>>,
}

impl<'d> Gathering<'d> {
    pub(super) fn new(room: Room<'d>, words: usize) -> Self {
        let memory = room.disk.governor.empty("records of a graph");
        Gathering { room, words, held: Vec::new(), memory, sorter: None }
    }

    pub(super) fn push(&mut self, record: &[u64]) -> Result<(), Trouble> {
        if let Some(sorter) = &mut self.sorter {
            return Ok(sorter.push(record)?);
        }
        if !grow(&mut self.held, &mut self.memory, self.room, record)? {
            let options = self.room.options(self.words);
            let mut sorter = Sorter::new(self.room.disk, options, self.room.memory / SORT_SHARE);
            for record in self.held.chunks_exact(self.words) {
                sorter.push(record)?;
            }
            sorter.push(record)?;
            self.held = Vec::new();
            self.memory.shrink_to(0);
            self.sorter = Some(sorter);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Set, Trouble> {
        if let Some(sorter) = self.sorter {
            return Ok(Set::Run(sorter.into_run()?));
        }
        sort_unique(RecordShape::states(self.words), &mut self.held);
        Ok(Set::Held { words: self.words, flat: self.held, _memory: self.memory })
    }
}

/// Records in ascending order, of which a set is made.
pub(super) struct Building<'d> {
    room: Room<'d>,
    words: usize,
    held: Vec<u64>,
    memory: Reservation,
    writer: Option<RunWriter>,
}

impl<'d> Building<'d> {
    pub(super) fn new(room: Room<'d>, words: usize) -> Self {
        let memory = room.disk.governor.empty("records of a graph");
        Building { room, words, held: Vec::new(), memory, writer: None }
    }

    pub(super) fn push(&mut self, record: &[u64]) -> Result<(), Trouble> {
        if let Some(writer) = &mut self.writer {
            return Ok(writer.push(record)?);
        }
        if !grow(&mut self.held, &mut self.memory, self.room, record)? {
            let options = self.room.options(self.words);
            let mut writer = RunWriter::create(self.room.disk, RunKind::Frontier, &options)?;
            for record in self.held.chunks_exact(self.words) {
                writer.push(record)?;
            }
            writer.push(record)?;
            self.held = Vec::new();
            self.memory.shrink_to(0);
            self.writer = Some(writer);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Set, Trouble> {
        match self.writer {
            Some(writer) => Ok(Set::Run(writer.finish()?)),
            None => Ok(Set::Held { words: self.words, flat: self.held, _memory: self.memory }),
        }
    }
}

/// Adds a record to what is held; `false` where it is too much for RAM.
fn grow(held: &mut Vec<u64>, memory: &mut Reservation, room: Room, record: &[u64]) -> Result<bool, Trouble> {
    let wanted = held.len() + record.len();
    if wanted > held.capacity() {
        let capacity = wanted.max(2 * held.capacity()).max(64);
        let bytes = 8 * capacity as u64;
        if bytes > room.memory / HELD_SHARE || memory.try_grow(bytes).is_err() {
            return Ok(false);
        }
        held.reserve_exact(capacity - held.len());
        memory.shrink_to(8 * held.capacity() as u64);
    }
    held.extend_from_slice(record);
    Ok(true)
}
