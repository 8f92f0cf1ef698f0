//! A search in RAM, written down: what a later sitting needs to go on exactly where this one stopped.
//!
//! Everything is words of 64 bits in one file. The last word is a checksum over all others, so a file that was cut or
//! changed is refused, never believed.

use crate::open::{Entry, Fifo, Key, Open};
use crate::states::{Chunks, Node, States};
use hadal_system::state::hash;
use std::io::{self, Read, Write};

/// Words that go to the file together.
const BUFFER: usize = 1 << 13;

/// Writes words.
pub(crate) struct Saver<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    digest: u64,
    pub(crate) bytes: u64,
}

impl<'w> Saver<'w> {
    pub(crate) fn new(out: &'w mut dyn Write) -> Self {
        Saver { out, buffer: Vec::with_capacity(BUFFER * 8), digest: 0, bytes: 0 }
    }

    #[inline]
    pub(crate) fn word(&mut self, word: u64) -> io::Result<()> {
        self.digest = hash(&[self.digest, word]);
        self.buffer.extend_from_slice(&word.to_le_bytes());
        self.bytes += 8;
        if self.buffer.len() >= BUFFER * 8 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the checksum.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let digest = self.digest;
        self.word(digest)?;
        self.flush()
    }
}

/// Reads words.
pub(crate) struct Loader<'r> {
    from: &'r mut dyn Read,
    digest: u64,
}

impl<'r> Loader<'r> {
    pub(crate) fn new(from: &'r mut dyn Read) -> Self {
        Loader { from, digest: 0 }
    }

    #[inline]
    pub(crate) fn word(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.from.read_exact(&mut bytes)?;
        let word = u64::from_le_bytes(bytes);
        self.digest = hash(&[self.digest, word]);
        Ok(word)
    }

    pub(crate) fn half(&mut self) -> io::Result<u32> {
        u32::try_from(self.word()?).map_err(|_| damaged())
    }

    /// Whether the checksum is that of what was read.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let digest = self.digest;
        if self.word()? == digest { Ok(()) } else { Err(damaged()) }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a search that was written down is damaged")
}

/// Something that fits a few words.
pub(crate) trait Plain: Copy + Default {
    fn save(&self, to: &mut Saver) -> io::Result<()>;
    fn load(from: &mut Loader) -> io::Result<Self>;
}

impl Plain for u64 {
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(*self)
    }

    fn load(from: &mut Loader) -> io::Result<Self> {
        from.word()
    }
}

impl Plain for u32 {
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(*self))
    }

    fn load(from: &mut Loader) -> io::Result<Self> {
        from.half()
    }
}

/// Two halves of a word.
impl Plain for Entry {
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(self.0) << 32 | u64::from(self.1))
    }

    fn load(from: &mut Loader) -> io::Result<Self> {
        let word = from.word()?;
        Ok(((word >> 32) as u32, word as u32))
    }
}

impl Plain for Node {
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        (self.parent, self.row).save(to)?;
        (self.g, self.h).save(to)
    }

    fn load(from: &mut Loader) -> io::Result<Self> {
        let ((parent, row), (g, h)) = (Entry::load(from)?, Entry::load(from)?);
        Ok(Node { parent, row, g, h })
    }
}

impl<T: Plain> Chunks<T> {
    pub(crate) fn save(&self, len: u32, to: &mut Saver) -> io::Result<()> {
        (0..len).try_for_each(|at| self.get(at).iter().try_for_each(|item| item.save(to)))
    }

    pub(crate) fn load(stride: usize, len: u32, from: &mut Loader) -> io::Result<Self> {
        let mut chunks = Chunks::new(stride);
        let mut items = vec![T::default(); stride];
        for _ in 0..len {
            for item in &mut items {
                *item = T::load(from)?;
            }
            chunks.push(&items);
        }
        Ok(chunks)
    }
}

impl States {
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(self.len()))?;
        (0..self.len()).try_for_each(|at| self.get(at).iter().try_for_each(|&word| to.word(word)))
    }

    pub(crate) fn load(words: usize, from: &mut Loader) -> io::Result<Self> {
        let len = from.half()?;
        let mut states = States::new(words);
        let mut state = vec![0; words];
        for _ in 0..len {
            for word in &mut state {
                *word = from.word()?;
            }
            if !states.insert(&state).1 {
                return Err(damaged());
            }
        }
        Ok(states)
    }
}

impl Open {
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(self.len())?;
        self.iter().try_for_each(|(key, entry)| {
            key.save(to)?;
            entry.save(to)
        })
    }

    pub(crate) fn load(from: &mut Loader) -> io::Result<Self> {
        let mut open = Open::default();
        for _ in 0..from.word()? {
            let (key, entry) = (Key::load(from)?, Entry::load(from)?);
            open.push(key, entry);
        }
        Ok(open)
    }
}

impl Fifo {
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(self.len())?;
        self.iter().try_for_each(|(key, entry)| {
            to.word(key)?;
            entry.save(to)
        })
    }

    pub(crate) fn load(from: &mut Loader) -> io::Result<Self> {
        let mut fifo = Fifo::default();
        for _ in 0..from.word()? {
            let (key, entry) = (from.word()?, Entry::load(from)?);
            fifo.push(key, entry);
        }
        Ok(fifo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again_and_a_changed_byte_is_noticed() {
        let mut states = States::new(2);
        let mut open = Open::default();
        let mut fifo = Fifo::default();
        for n in 0..5000u32 {
            states.insert(&[u64::from(n) * 7, 3]);
            open.push((n % 5, n % 3), (n, n + 1));
            fifo.push(u64::from(n % 7), (n, 1));
        }
        let mut file = Vec::new();
        let mut saver = Saver::new(&mut file);
        states.save(&mut saver).unwrap();
        open.save(&mut saver).unwrap();
        fifo.save(&mut saver).unwrap();
        saver.finish().unwrap();
        let read = |file: &[u8]| -> io::Result<(States, Open, Fifo)> {
            let mut from = file;
            let mut loader = Loader::new(&mut from);
            let read = (States::load(2, &mut loader)?, Open::load(&mut loader)?, Fifo::load(&mut loader)?);
            loader.finish()?;
            Ok(read)
        };
        let (again, mut open_again, mut fifo_again) = read(&file).unwrap();
        assert_eq!((again.len(), again.get(4321)), (5000, states.get(4321)));
        for _ in 0..5000 {
            assert_eq!(open_again.pop(), open.pop());
            assert_eq!(fifo_again.pop(), fifo.pop());
        }
        assert!(read(&file[..file.len() - 1]).is_err());
        file[12_345] ^= 4;
        assert!(read(&file).is_err());
    }
}
