//! Storage behind a small trait: the folder of a run, and files that are read and written in whole sectors.
//!
//! [`Folder`] is the real one, with direct I/O where the file system permits. [`LimitedFolder`] puts a limit of bytes on
//! another, [`CachedFolder`] remembers what was written lately, [`MemoryFolder`] keeps everything in RAM. The double for tests, which tears writes, fills up, flips bytes and dies at the operation it is told to, is
//! `hadal_testkit::FaultyFolder`.

mod append;
mod brake;
mod buffer;
mod cached;
mod extent;
mod folder;
mod limited;
mod memory;
mod sequential;
mod speed;
mod threads;
mod traffic;
mod turn;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use brake::{Armed, Brake, InTurns};
pub use buffer::AlignedBuffer;
pub use cached::CachedFolder;
pub use folder::Folder;
pub use limited::LimitedFolder;
pub use memory::MemoryFolder;
pub use speed::{ReadCost, ReadSpeed};
pub use threads::{IoThreads, Pending};
pub use traffic::{Traffic, Transfers, TransfersOfKind};
pub use turn::{Turn, at_once, pause};

pub(crate) use append::{AppendError, AppendStream};
pub(crate) use extent::{Extent, PendingExtent, read_extent, read_range, request_extent};
pub(crate) use sequential::SequentialStream;
pub(crate) use traffic::Position;

use crate::governor::Governor;
use crate::run::RunKind;

/// Offsets, lengths and addresses of direct reads and writes are multiples of this.
pub const SECTOR: usize = 4096;

/// How a file meets the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Bulk data: past the page cache where the file system permits, whole sectors only.
    Direct,
    /// Small files: through the page cache, any offset and length.
    Buffered,
}

/// A flat folder of files.
pub trait Vfs: Send + Sync {
    /// Creates an empty file, replacing one of that name.
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>>;
    /// Opens a file for reading.
    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>>;
    /// Renames, replacing what had the new name. Durable after [`Vfs::sync_folder`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The files there are, in no particular order.
    fn list(&self) -> io::Result<Vec<FileEntry>>;
    /// Makes creations, renames and removals durable.
    fn sync_folder(&self) -> io::Result<()>;
    /// Bytes that can still be written.
    fn free_bytes(&self) -> io::Result<u64>;
    /// Bytes in it, where it counts them.
    fn usage(&self) -> Option<FolderUsage> {
        None
    }
    /// Takes the folder for this process until the guard is dropped; `WouldBlock` if another has it.
    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>>;
}

/// An open file.
pub trait VfsFile: Send + Sync {
    /// Reads up to `into.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to `bytes`.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes the contents durable.
    fn sync(&self) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether it has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Bytes in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderUsage {
    /// In all its files now.
    pub now: u64,
    /// Most at any moment since it was opened.
    pub peak: u64,
}

/// Holds a folder's lock until dropped.
pub trait FolderLock: Send + Sync {}

/// A file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// What everything on disk works with: the folder, the threads for I/O, the budget, names for new files.
#[derive(Clone)]
pub struct Disk {
    /// The run's folder.
    pub vfs: Arc<dyn Vfs>,
    /// Threads that read ahead and write behind.
    pub threads: Arc<IoThreads>,
    /// The memory budget.
    pub governor: Governor,
    /// Bytes moved so far.
    pub traffic: Arc<Traffic>,
    /// Ends long readings, or lets them give way.
    pub brake: Arc<Brake>,
    /// What its streams are counted as.
    kind: Option<RunKind>,
    /// Threads that merge runs.
    workers: usize,
    next_file: Arc<AtomicU64>,
}

impl Disk {
    /// A disk over `vfs`; the first file gets the number `next_file`.
    pub fn new(vfs: Arc<dyn Vfs>, threads: Arc<IoThreads>, governor: Governor, next_file: u64) -> Self {
        let next_file = Arc::new(AtomicU64::new(next_file));
        let (traffic, brake, kind) = (Arc::default(), Arc::default(), None);
        Disk { vfs, threads, governor, traffic, brake, kind, workers: 1, next_file }
    }

    /// The same disk, whose files go through another folder over its own.
    pub fn through(&self, over: impl FnOnce(Arc<dyn Vfs>) -> Arc<dyn Vfs>) -> Self {
        Disk { vfs: over(Arc::clone(&self.vfs)), ..self.clone() }
    }

    /// The same disk, whose runs are merged on so many threads.
    pub fn with_workers(&self, workers: usize) -> Self {
        Disk { workers: workers.max(1), ..self.clone() }
    }

    /// Threads that merge runs.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The same disk for runs of this kind, whose bytes are counted by themselves as well.
    pub(crate) fn holding(&self, kind: Option<RunKind>) -> Self {
        Disk { kind, ..self.clone() }
    }

    /// What its streams are counted as.
    pub(crate) fn kind(&self) -> Option<RunKind> {
        self.kind
    }

    /// A name no file has had yet.
    pub fn fresh_name(&self, kind: &str) -> String {
        format!("{kind}-{:010}.run", self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// The number the next file will get.
    pub fn next_file(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }
}

/// Reads a whole small file.
pub(crate) fn read_small(vfs: &dyn Vfs, name: &str) -> io::Result<Vec<u8>> {
    let file = vfs.open(name, Caching::Buffered)?;
    let length = usize::try_from(file.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    let got = file.read_at(0, &mut bytes)?;
    bytes.truncate(got);
    Ok(bytes)
}
