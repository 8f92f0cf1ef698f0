//! A folder that keeps what was written to it lately in memory, within a budget. Small files that are read again soon, or
//! removed soon, need no visit to the disk, which direct I/O would make of every read and write.
//!
//! A file reaches the folder below when it is synced, or when what was written later needs its room: first in, first out.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AlignedBuffer, Caching, FileEntry, FolderLock, FolderUsage, SECTOR, Vfs, VfsFile};
use crate::governor::{Governor, Reservation};

/// A file that would take more than one part in so many of the budget is not kept.
const LARGEST_PART: u64 = 4;
/// Bytes that are written at a time.
const PIECE: usize = 64 << 10;

/// A folder with a memory.
pub struct CachedFolder {
    memory: Arc<Memory>,
}

struct Memory {
    inner: Arc<dyn Vfs>,
    governor: Governor,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    files: HashMap<String, Recent>,
    /// Names in the order of creation; some may be gone.
    order: VecDeque<String>,
}

/// A file in memory.
struct Recent {
    bytes: Vec<u8>,
    caching: Caching,
    /// Whether the folder below has it, too.
    is_written: bool,
    reserved: Reservation,
}

impl CachedFolder {
    /// Keeps what is written to `inner` from now on, within the budget of `governor`.
    pub fn new(inner: Arc<dyn Vfs>, governor: Governor) -> Self {
        CachedFolder { memory: Arc::new(Memory { inner, governor, held: Mutex::default() }) }
    }

    fn file(&self, name: &str, caching: Caching) -> Arc<dyn VfsFile> {
        let below = Mutex::new(None);
        Arc::new(CachedFile { name: name.to_owned(), caching, memory: Arc::clone(&self.memory), below })
    }
}

impl Memory {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file to the folder below.
    fn write(&self, name: &str, file: &Recent) -> io::Result<Arc<dyn VfsFile>> {
        let below = self.inner.create(name, file.caching)?;
        let mut piece = AlignedBuffer::new(PIECE.min(file.bytes.len().next_multiple_of(SECTOR)));
        for (n, bytes) in file.bytes.chunks(PIECE).enumerate() {
            let padded = bytes.len().next_multiple_of(SECTOR);
            piece[..bytes.len()].copy_from_slice(bytes);
            piece[bytes.len()..padded].fill(0);
            below.write_at((n * PIECE) as u64, &piece[..padded])?;
        }
        below.set_len(file.bytes.len() as u64)?;
        Ok(below)
    }

    /// Puts bytes into a file that is kept. It is kept no more where it leaves gaps or has no room; then it is below, and
    /// returned without these bytes.
    fn put(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<Put> {
        let mut held = self.held();
        let Some(mut file) = held.files.remove(name) else { return Ok(Put::Below(None)) };
        let end = offset + bytes.len() as u64;
        let fits = offset <= file.bytes.len() as u64 && end <= self.governor.limit() / LARGEST_PART;
        let more = end.saturating_sub(file.bytes.capacity() as u64);
        let mut is_listed = true;
        while !fits || more > 0 && file.reserved.try_grow(more).is_err() {
            let oldest = if fits { held.order.pop_front() } else { None };
            let Some(oldest) = oldest else {
                return Ok(Put::Below(Some(self.write(name, &file)?)));
            };
            is_listed &= oldest != name;
            if let Some(left) = held.files.get(&oldest).filter(|file| !file.is_written)
                && let Err(error) = self.write(&oldest, left)
            {
                held.order.push_front(oldest);
                held.files.insert(name.to_owned(), file);
                return Err(error);
            }
            held.files.remove(&oldest);
        }
        if !is_listed {
            held.order.push_back(name.to_owned());
        }
        // Both are at most a part of the budget, which fits memory.
        let (offset, end) = (offset as usize, end as usize);
        file.bytes.reserve_exact(end.saturating_sub(file.bytes.len()));
        file.bytes.resize(end.max(file.bytes.len()), 0);
        file.bytes[offset..end].copy_from_slice(bytes);
        file.is_written = false;
        held.files.insert(name.to_owned(), file);
        Ok(Put::Kept)
    }
}

/// What became of a write.
enum Put {
    Kept,
    /// The file is below, where these bytes still have to go.
    Below(Option<Arc<dyn VfsFile>>),
}

impl Vfs for CachedFolder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let reserved = self.memory.governor.empty("recent files");
        let file = Recent { bytes: Vec::new(), caching, is_written: false, reserved };
        let mut held = self.memory.held();
        if held.files.insert(name.to_owned(), file).is_none() {
            held.order.push_back(name.to_owned());
        }
        if held.order.len() > 2 * held.files.len() + 64 {
            let Held { files, order } = &mut *held;
            order.retain(|name| files.contains_key(name));
        }
        drop(held);
        Ok(self.file(name, caching))
    }

    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        if self.memory.held().files.contains_key(name) {
            return Ok(self.file(name, caching));
        }
        self.memory.inner.open(name, caching)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let file = self.memory.held().files.remove(from).filter(|file| !file.is_written);
        if let Some(file) = file {
            self.memory.write(from, &file)?;
        }
        self.memory.held().files.remove(to);
        self.memory.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match self.memory.held().files.remove(name) {
            Some(file) if !file.is_written => Ok(()),
            _ => self.memory.inner.remove(name),
        }
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let mut entries = self.memory.inner.list()?;
        for (name, file) in self.memory.held().files.iter().filter(|(_, file)| !file.is_written) {
            entries.retain(|entry| entry.name != *name);
            entries.push(FileEntry { name: name.clone(), bytes: file.bytes.len() as u64 });
        }
        Ok(entries)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.memory.inner.sync_folder()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.memory.inner.free_bytes()
    }

    fn usage(&self) -> Option<FolderUsage> {
        self.memory.inner.usage()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        self.memory.inner.lock(name)
    }
}

struct CachedFile {
    name: String,
    caching: Caching,
    memory: Arc<Memory>,
    /// The file below, once it is needed.
    below: Mutex<Option<Arc<dyn VfsFile>>>,
}

impl CachedFile {
    /// The file below, which must be there.
    fn below(&self) -> io::Result<Arc<dyn VfsFile>> {
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*below {
            return Ok(Arc::clone(file));
        }
        let file = self.memory.inner.open(&self.name, self.caching)?;
        *below = Some(Arc::clone(&file));
        Ok(file)
    }

    fn keep_below(&self, file: Arc<dyn VfsFile>) {
        *self.below.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}

impl VfsFile for CachedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if let Some(file) = self.memory.held().files.get(&self.name) {
            let from = file.bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
            let got = into.len().min(file.bytes.len() - from);
            into[..got].copy_from_slice(&file.bytes[from..from + got]);
            return Ok(got);
        }
        self.below()?.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Put::Below(file) = self.memory.put(&self.name, offset, bytes)? {
            if let Some(file) = file {
                self.keep_below(file);
            }
            self.below()?.write_at(offset, bytes)?;
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut held = self.memory.held();
        if let Some(file) = held.files.get_mut(&self.name) {
            if bytes <= file.bytes.len() as u64 {
                file.bytes.truncate(bytes as usize);
                file.is_written = false;
                return Ok(());
            }
            let below = self.memory.write(&self.name, file)?;
            held.files.remove(&self.name);
            self.keep_below(below);
        }
        drop(held);
        self.below()?.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let mut held = self.memory.held();
        if let Some(file) = held.files.get_mut(&self.name).filter(|file| !file.is_written) {
            let below = self.memory.write(&self.name, file)?;
            file.is_written = true;
            drop(held);
            below.sync()?;
            self.keep_below(below);
            return Ok(());
        }
        drop(held);
        self.below()?.sync()
    }

    fn len(&self) -> io::Result<u64> {
        if let Some(file) = self.memory.held().files.get(&self.name) {
            return Ok(file.bytes.len() as u64);
        }
        self.below()?.len()
    }
}
