//! A folder in RAM, under the memory budget: what a search writes there is gone when it ends.

use super::{Caching, FileEntry, FolderLock, FolderUsage, Vfs, VfsFile};
use crate::governor::{Governor, Reservation};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files grow by so much.
const CHUNK: usize = 4 << 10;

/// A folder whose files are memory. Where the budget has no room for more, it is a full disk.
pub struct MemoryFolder {
    governor: Governor,
    files: Mutex<HashMap<String, Arc<MemoryFile>>>,
    account: Arc<Account>,
}

/// Bytes reserved now, and at most.
#[derive(Default)]
struct Account {
    now: AtomicU64,
    peak: AtomicU64,
}

struct MemoryFile {
    contents: Mutex<Contents>,
    account: Arc<Account>,
}

struct Contents {
    chunks: Vec<Box<[u8]>>,
    length: u64,
    memory: Reservation,
}

impl MemoryFolder {
    /// An empty folder.
    pub fn new(governor: &Governor) -> Self {
        MemoryFolder { governor: governor.clone(), files: Mutex::default(), account: Arc::default() }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Arc<MemoryFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vfs for MemoryFolder {
    fn create(&self, name: &str, _: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let memory = self.governor.empty("layers in RAM");
        let contents = Mutex::new(Contents { chunks: Vec::new(), length: 0, memory });
        let file = Arc::new(MemoryFile { contents, account: Arc::clone(&self.account) });
        self.files().insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str, _: Caching) -> io::Result<Arc<dyn VfsFile>> {
        match self.files().get(name) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn VfsFile>),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        // Whoever has it open reads on.
        self.files().remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let files = self.files();
        let entry = |(name, file): (&String, &Arc<MemoryFile>)| FileEntry {
            name: name.clone(),
            bytes: file.contents().length,
        };
        Ok(files.iter().map(entry).collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.governor.available())
    }

    fn usage(&self) -> Option<FolderUsage> {
        let Account { now, peak } = &*self.account;
        Some(FolderUsage { now: now.load(Ordering::Relaxed), peak: peak.load(Ordering::Relaxed) })
    }

    fn lock(&self, _: &str) -> io::Result<Box<dyn FolderLock>> {
        Ok(Box::new(Owned))
    }
}

/// Nobody else can reach it.
struct Owned;

impl FolderLock for Owned {}

impl MemoryFile {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let bytes = self.contents().memory.bytes();
        self.account.now.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl VfsFile for MemoryFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let contents = self.contents();
        let end = contents.length.min(offset.saturating_add(into.len() as u64));
        let mut at = offset;
        while at < end {
            let (chunk, from) = ((at / CHUNK as u64) as usize, (at % CHUNK as u64) as usize);
            let bytes = (CHUNK - from).min((end - at) as usize);
            let to = (at - offset) as usize;
            into[to..to + bytes].copy_from_slice(&contents.chunks[chunk][from..from + bytes]);
            at += bytes as u64;
        }
        Ok((at - offset) as usize)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut contents = self.contents();
        let end = offset + bytes.len() as u64;
        let missing = (end.div_ceil(CHUNK as u64) as usize).saturating_sub(contents.chunks.len());
        let more = (missing * CHUNK) as u64;
        contents.memory.try_grow(more).map_err(|_| io::ErrorKind::StorageFull)?;
        let now = self.account.now.fetch_add(more, Ordering::Relaxed) + more;
        self.account.peak.fetch_max(now, Ordering::Relaxed);
        contents.chunks.extend((0..missing).map(|_| vec![0; CHUNK].into_boxed_slice()));
        contents.length = contents.length.max(end);
        let mut at = offset;
        let mut left = bytes;
        while !left.is_empty() {
            let (chunk, from) = ((at / CHUNK as u64) as usize, (at % CHUNK as u64) as usize);
            let (here, rest) = left.split_at(left.len().min(CHUNK - from));
            contents.chunks[chunk][from..from + here.len()].copy_from_slice(here);
            at += here.len() as u64;
            left = rest;
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut contents = self.contents();
        let chunks = bytes.div_ceil(CHUNK as u64) as usize;
        if bytes > contents.length {
            drop(contents);
            return self.write_at(bytes - 1, &[0]);
        }
        let before = contents.memory.bytes();
        contents.chunks.truncate(chunks);
        contents.length = bytes;
        if let Some(last) = contents.chunks.last_mut().filter(|_| !bytes.is_multiple_of(CHUNK as u64)) {
            // What is written behind the end later reads as zeros in between.
            last[(bytes % CHUNK as u64) as usize..].fill(0);
        }
        contents.memory.shrink_to((chunks * CHUNK) as u64);
        self.account.now.fetch_sub(before - contents.memory.bytes(), Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.contents().length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_read_back_what_was_written_anywhere_and_count_against_the_budget() {
        let governor = Governor::new(10 * CHUNK as u64);
        let folder = MemoryFolder::new(&governor);
        let file = folder.create("a", Caching::Direct).unwrap();
        let written: Vec<u8> = (0..3 * CHUNK + 5).map(|n| (n * 31 % 251) as u8).collect();
        file.write_at(7, &written).unwrap();
        let mut read = vec![1; written.len() + 20];
        assert_eq!(file.read_at(0, &mut read).unwrap(), written.len() + 7);
        assert_eq!((&read[..7], &read[7..7 + written.len()]), (&[0; 7][..], &written[..]));
        assert_eq!(governor.current(), 4 * CHUNK as u64);
        file.set_len(10).unwrap();
        assert_eq!((file.len().unwrap(), governor.current()), (10, CHUNK as u64));
        file.set_len(20).unwrap();
        assert_eq!(file.read_at(8, &mut read).unwrap(), 12);
        assert_eq!(read[..12], [written[1], written[2], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let full = file.write_at(0, &vec![0; 11 * CHUNK]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        folder.rename("a", "b").unwrap();
        folder.remove("b").unwrap();
        assert!(folder.open("b", Caching::Direct).is_err() && folder.list().unwrap().is_empty());
        drop(file);
        assert_eq!(governor.current(), 0);
        assert_eq!(folder.usage(), Some(FolderUsage { now: 0, peak: 4 * CHUNK as u64 }));
    }
}
