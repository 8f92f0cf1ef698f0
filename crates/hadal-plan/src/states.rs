//! The states that a search in RAM has met, each once, with what the search remembers of them.
//!
//! Everything lies in chunks, so that growing never copies; the index alone is made anew when it is full, from the states.

use hadal_system::state::hash;

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// An array that grows without moving.
#[derive(Debug)]
pub(crate) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
    /// Items that belong together, and never lie in two chunks.
    stride: usize,
}

impl<T: Copy + Default> Chunks<T> {
    pub(crate) fn new(stride: usize) -> Self {
        Chunks { chunks: Vec::new(), stride }
    }

    pub(crate) fn push(&mut self, items: &[T]) {
        debug_assert_eq!(items.len(), self.stride);
        let full = self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK * self.stride);
        if full {
            self.chunks.push(Vec::with_capacity(CHUNK * self.stride));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.extend_from_slice(items);
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> &[T] {
        let from = (at as usize & (CHUNK - 1)) * self.stride;
        &self.chunks[(at >> CHUNK_BITS) as usize][from..from + self.stride]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut [T] {
        let from = (at as usize & (CHUNK - 1)) * self.stride;
        &mut self.chunks[(at >> CHUNK_BITS) as usize][from..from + self.stride]
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK * self.stride * size_of::<T>()) as u64
    }
}

/// Numbered states.
#[derive(Debug)]
pub(crate) struct States {
    words: Chunks<u64>,
    len: u32,
    /// One more than the number of a state, by hash; 0 is free. Its length is a power of two.
    index: Vec<u32>,
}

impl States {
    pub(crate) fn new(words: usize) -> Self {
        States { words: Chunks::new(words), len: 0, index: vec![0; 1 << 10] }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> &[u64] {
        self.words.get(at)
    }

    /// The number of a state, and whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, state: &[u64]) -> (u32, bool) {
        if self.len as usize * 3 >= self.index.len() * 2 {
            self.grow();
        }
        let mask = self.index.len() - 1;
        let mut slot = hash(state) as usize & mask;
        loop {
            match self.index[slot] {
                0 => break,
                held if self.words.get(held - 1) == state => return (held - 1, false),
                _ => slot = (slot + 1) & mask,
            }
        }
        self.words.push(state);
        self.len += 1;
        self.index[slot] = self.len;
        (self.len - 1, true)
    }

    fn grow(&mut self) {
        let size = self.index.len() * 2;
        // The old one goes first: it can be made from the states.
        self.index = Vec::new();
        self.index = vec![0; size];
        for at in 0..self.len {
            let mut slot = hash(self.words.get(at)) as usize & (size - 1);
            while self.index[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.index[slot] = at + 1;
        }
    }

    /// Bytes held, and those that the next growth needs on top.
    pub(crate) fn bytes(&self) -> u64 {
        let near_growth = self.len as usize * 3 + 3 * CHUNK >= self.index.len() * 2;
        self.words.bytes() + self.index.len() as u64 * 4 * if near_growth { 2 } else { 1 }
    }
}

/// How a state was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node {
    /// The state before; itself for the initial one.
    pub(crate) parent: u32,
    /// The row between.
    pub(crate) row: u32,
    /// What the way here costs.
    pub(crate) g: u32,
    /// The estimate, or another figure of the search.
    pub(crate) h: u32,
}

/// The rows from the initial state, which has number 0, to this one.
pub(crate) fn path(nodes: &Chunks<Node>, mut at: u32) -> Vec<u32> {
    let mut rows = Vec::new();
    while at != 0 {
        let node = nodes.get(at)[0];
        rows.push(node.row);
        at = node.parent;
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_have_one_number_through_every_growth() {
        let mut states = States::new(2);
        for round in 0..2 {
            for n in 0..20_000u64 {
                let (at, new) = states.insert(&[n * n, n >> 3]);
                assert_eq!((at, new), (n as u32, round == 0));
            }
        }
        assert_eq!(states.get(777), [777 * 777, 777 >> 3]);
        assert!(states.bytes() >= 20_000 * (16 + 4));
    }
}
