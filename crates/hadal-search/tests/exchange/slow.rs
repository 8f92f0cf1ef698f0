//! A disk that takes its time over every write.

use hadal_store::vfs::{Caching, FileEntry, Folder, FolderLock, Vfs, VfsFile};
use std::io;
use std::sync::Arc;

/// How often a write lets every other thread go first.
const TURNS: usize = 500;

pub struct SlowFolder(pub Folder);

struct SlowFile(Arc<dyn VfsFile>);

fn wait() {
    (0..TURNS).for_each(|_| std::thread::yield_now());
}

impl Vfs for SlowFolder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        Ok(Arc::new(SlowFile(self.0.create(name, caching)?)))
    }
    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        self.0.open(name, caching)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        wait();
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn list(&self) -> io::Result<Vec<FileEntry>> {
        self.0.list()
    }
    fn sync_folder(&self) -> io::Result<()> {
        wait();
        self.0.sync_folder()
    }
    fn free_bytes(&self) -> io::Result<u64> {
        self.0.free_bytes()
    }
    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        self.0.lock(name)
    }
}

impl VfsFile for SlowFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, into)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        wait();
        self.0.write_at(offset, bytes)
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
    fn sync(&self) -> io::Result<()> {
        wait();
        self.0.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}
