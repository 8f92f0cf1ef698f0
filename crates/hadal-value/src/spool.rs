//! Records of whole words, written once and read from the beginning, in RAM or in a file: what an answer is shown with may be as
//! large as the graph.

use hadal_store::Disk;
use hadal_store::vfs::{Caching, VfsFile};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Words that are written and read at once.
const BUFFER: usize = 1 << 13;

/// Records that were written.
#[derive(Clone)]
pub struct Spool {
    stride: usize,
    kept: Kept,
}

#[derive(Clone)]
enum Kept {
    Ram(Arc<Vec<u64>>),
    File { file: Arc<dyn VfsFile>, words: u64 },
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records of {} words", self.len(), self.stride)
    }
}

impl Spool {
    /// How many records.
    pub fn len(&self) -> u64 {
        let words = match &self.kept {
            Kept::Ram(list) => list.len() as u64,
            Kept::File { words, .. } => *words,
        };
        words / self.stride as u64
    }

    /// Tells every record, in the order they were written.
    pub fn scan(&self, mut each: impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        match &self.kept {
            Kept::Ram(list) => list.chunks_exact(self.stride).try_for_each(each),
            Kept::File { file, words } => {
                let most = (BUFFER / self.stride).max(1) * self.stride;
                let (mut at, mut bytes, mut flat) = (0, vec![0; most * 8], Vec::with_capacity(most));
                while at < *words {
                    let count = (most as u64).min(words - at) as usize;
                    let mut read = 0;
                    while read < count * 8 {
                        match file.read_at(at * 8 + read as u64, &mut bytes[read..count * 8])? {
                            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                            more => read += more,
                        }
                    }
                    flat.clear();
                    flat.extend(bytes[..count * 8].as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)));
                    flat.chunks_exact(self.stride).try_for_each(&mut each)?;
                    at += count as u64;
                }
                Ok(())
            }
        }
    }
}

/// Records being written.
pub struct Spooling {
    stride: usize,
    held: Vec<u64>,
    file: Option<(Disk, String, Arc<dyn VfsFile>)>,
    written: u64,
}

impl Spooling {
    /// Records of so many words; in a file where there is a disk.
    pub fn new(stride: usize, disk: Option<&Disk>) -> io::Result<Self> {
        let file = disk.map(|disk| {
            let name = disk.fresh_name("spool");
            disk.vfs.create(&name, Caching::Buffered).map(|file| (disk.clone(), name, file))
        });
        Ok(Spooling { stride, held: Vec::new(), file: file.transpose()?, written: 0 })
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u64]) -> io::Result<()> {
        self.held.extend_from_slice(record);
        if self.file.is_some() && self.held.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some((disk, _, file)) = &self.file else { return Ok(()) };
        let bytes: Vec<u8> = self.held.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_at(self.written * 8, &bytes)?;
        disk.traffic.add_written(bytes.len() as u64);
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    /// What was written.
    pub fn finish(mut self) -> io::Result<Spool> {
        self.flush()?;
        let kept = match self.file {
            None => Kept::Ram(Arc::new(self.held)),
            Some((disk, name, file)) => {
                drop(file);
                Kept::File { file: disk.vfs.open(&name, Caching::Buffered)?, words: self.written }
            }
        };
        Ok(Spool { stride: self.stride, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_store::Governor;
    use hadal_store::vfs::{Folder, IoThreads};

    #[test]
    fn records_are_read_as_they_were_written() {
        let place = tempfile::tempdir().expect("a place");
        let folder = Arc::new(Folder::create(place.path()).expect("a folder"));
        let disk = Disk::new(folder, IoThreads::new(1), Governor::new(1 << 20), 0);
        for (disk, count) in [(None, 10u64), (Some(&disk), 10), (Some(&disk), 100_000), (Some(&disk), 0)] {
            let mut spooling = Spooling::new(3, disk).expect("a file");
            (0..count).for_each(|n| spooling.push(&[n, n * n, !n]).expect("written"));
            let spool = spooling.finish().expect("finished");
            let (mut n, same) = (0, spool.clone());
            let read = same.scan(|record| {
                assert_eq!(record, [n, n * n, !n]);
                n += 1;
                Ok(())
            });
            assert!(read.is_ok() && n == count && spool.len() == count);
        }
    }
}
