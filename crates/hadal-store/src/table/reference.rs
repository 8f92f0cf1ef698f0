//! Names of states: where they lie in a table.

/// Where a state lies in a [`StateTable`](super::StateTable). Only the table makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateRef(pub(super) u64);

pub(super) const WRITER_SHIFT: u32 = 34;
/// The most threads that can write to one table.
pub const MAX_WRITERS: usize = 1 << (40 - WRITER_SHIFT);

impl StateRef {
    #[inline]
    pub(super) fn new(writer: usize, n: u64) -> Self {
        StateRef((writer as u64) << WRITER_SHIFT | n)
    }

    /// Whose arena.
    #[inline]
    pub fn writer(self) -> usize {
        (self.0 >> WRITER_SHIFT) as usize
    }

    /// The number within the arena, in order of discovery.
    #[inline]
    pub fn number(self) -> u64 {
        self.0 & ((1 << WRITER_SHIFT) - 1)
    }

    /// The writer and the number that a word names.
    pub fn split_word(word: u64) -> (usize, u64) {
        (StateRef(word).writer(), StateRef(word).number())
    }

    /// The word that names the n-th state of a writer, whether there is one or not.
    pub fn join_word(writer: usize, number: u64) -> u64 {
        StateRef::new(writer, number).0
    }

    /// As a plain word, to be stored in a record; [`StateTable::reference`](super::StateTable::reference) leads back.
    pub fn to_word(self) -> u64 {
        self.0
    }
}
