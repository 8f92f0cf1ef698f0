//! A folder that remembers what was written to it lately, within a budget: small files that are read again soon need no
//! visit to the disk, which direct I/O would make of every read.
//!
//! Every write goes through to the folder below; only reads are saved. What was written first is forgotten first.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Caching, FileEntry, FolderLock, Vfs, VfsFile};
use crate::governor::{Governor, Reservation};

/// A file that would take more than one part in so many of the budget is not remembered.
const LARGEST_PART: u64 = 4;

/// A folder with a memory.
pub struct CachedFolder {
    inner: Arc<dyn Vfs>,
    memory: Arc<Memory>,
}

struct Memory {
    governor: Governor,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    files: HashMap<String, Copy>,
    /// Names in the order of creation; some may be gone.
    order: VecDeque<String>,
}

/// What a file holds.
struct Copy {
    bytes: Vec<u8>,
    reserved: Reservation,
}

impl CachedFolder {
    /// Remembers what is written to `inner` from now on, within the budget of `governor`.
    pub fn new(inner: Arc<dyn Vfs>, governor: Governor) -> Self {
        CachedFolder { inner, memory: Arc::new(Memory { governor, held: Mutex::default() }) }
    }

    fn file(&self, name: &str, file: Arc<dyn VfsFile>) -> Arc<dyn VfsFile> {
        Arc::new(CachedFile { file, name: name.to_owned(), memory: Arc::clone(&self.memory) })
    }
}

impl Memory {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, name: &str) {
        self.held().files.remove(name);
    }

    /// Follows a write; a file that has gaps or no room is forgotten.
    fn note(&self, name: &str, offset: u64, bytes: &[u8]) {
        let mut held = self.held();
        let Some(mut copy) = held.files.remove(name) else { return };
        let Ok(offset) = usize::try_from(offset) else { return };
        let end = offset + bytes.len();
        if offset > copy.bytes.len() || end as u64 > self.governor.limit() / LARGEST_PART {
            return;
        }
        let more = end.saturating_sub(copy.bytes.capacity());
        let mut is_listed = true;
        while more > 0 && copy.reserved.try_grow(more as u64).is_err() {
            let Some(oldest) = held.order.pop_front() else { return };
            is_listed &= oldest != name;
            held.files.remove(&oldest);
        }
        if !is_listed {
            held.order.push_back(name.to_owned());
        }
        copy.bytes.reserve_exact(end.saturating_sub(copy.bytes.len()));
        if end > copy.bytes.len() {
            copy.bytes.resize(end, 0);
        }
        copy.bytes[offset..end].copy_from_slice(bytes);
        held.files.insert(name.to_owned(), copy);
    }
}

impl Vfs for CachedFolder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let file = self.inner.create(name, caching)?;
        let mut held = self.memory.held();
        let copy = Copy { bytes: Vec::new(), reserved: self.memory.governor.empty("recent files") };
        held.files.insert(name.to_owned(), copy);
        held.order.push_back(name.to_owned());
        if held.order.len() > 2 * held.files.len() + 64 {
            let Held { files, order } = &mut *held;
            order.retain(|name| files.contains_key(name));
        }
        drop(held);
        Ok(self.file(name, file))
    }

    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        Ok(self.file(name, self.inner.open(name, caching)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.memory.forget(from);
        self.memory.forget(to);
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.memory.forget(name);
        self.inner.remove(name)
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        self.inner.list()
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.inner.sync_folder()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        self.inner.lock(name)
    }
}

struct CachedFile {
    file: Arc<dyn VfsFile>,
    name: String,
    memory: Arc<Memory>,
}

impl VfsFile for CachedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if let Some(copy) = self.memory.held().files.get(&self.name) {
            let from = copy.bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
            let got = into.len().min(copy.bytes.len() - from);
            into[..got].copy_from_slice(&copy.bytes[from..from + got]);
            return Ok(got);
        }
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_at(offset, bytes);
        match &written {
            Ok(()) => self.memory.note(&self.name, offset, bytes),
            Err(_) => self.memory.forget(&self.name),
        }
        written
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        let mut held = self.memory.held();
        match held.files.get_mut(&self.name) {
            Some(copy) if bytes <= copy.bytes.len() as u64 => copy.bytes.truncate(bytes as usize),
            // It grew without being written.
            Some(_) => drop(held.files.remove(&self.name)),
            None => {}
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}
