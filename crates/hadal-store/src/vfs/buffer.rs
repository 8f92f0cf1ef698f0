//! Buffers that start on a sector boundary in memory, as direct I/O wants them.

use super::SECTOR;

/// A zeroed byte buffer of whole sectors at an aligned address.
///
/// Safe code only: one sector more than needed is allocated, and the aligned part of it is used.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// At least `bytes`, rounded up to whole sectors.
    pub fn new(bytes: usize) -> Self {
        let len = bytes.next_multiple_of(SECTOR).max(SECTOR);
        let memory = vec![0; len + SECTOR];
        let start = memory.as_ptr().align_offset(SECTOR).min(SECTOR);
        AlignedBuffer { memory, start, len }
    }

    /// Bytes of memory a buffer of `bytes` takes.
    pub fn footprint(bytes: usize) -> u64 {
        (bytes.next_multiple_of(SECTOR).max(SECTOR) + SECTOR) as u64
    }

    /// Usable bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: there is always a sector.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl std::ops::Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl std::ops::DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_starts_on_a_sector() {
        for bytes in [0, 1, SECTOR, SECTOR + 1, 100_000] {
            let buffer = AlignedBuffer::new(bytes);
            assert_eq!(buffer.as_ptr() as usize % SECTOR, 0);
            assert!(buffer.len() >= bytes && buffer.len().is_multiple_of(SECTOR));
        }
    }
}
