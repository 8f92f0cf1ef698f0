//! A folder that counts its bytes and may hold only so many: writes beyond fail as on a full disk.
//!
//! It counts the files as they grow, shrink and go, so that a limit on a run's folder is as exact as a small disk.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Caching, FileEntry, FolderLock, FolderUsage, Vfs, VfsFile};

/// A folder with a limit of its own, on top of what the disk allows.
pub struct LimitedFolder {
    inner: Arc<dyn Vfs>,
    limit: u64,
    account: Arc<Account>,
}

/// Lengths by name, and their sum; files without a name any more still count until they are closed.
#[derive(Default)]
struct Account {
    used: AtomicU64,
    peak: AtomicU64,
    files: Mutex<HashMap<String, Arc<Length>>>,
}

struct Length {
    bytes: AtomicU64,
    account: std::sync::Weak<Account>,
}

impl Drop for Length {
    fn drop(&mut self) {
        if let Some(account) = self.account.upgrade() {
            account.used.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
        }
    }
}

impl LimitedFolder {
    /// At most `limit` bytes in `inner`; what lies there already counts.
    pub fn new(inner: Arc<dyn Vfs>, limit: u64) -> io::Result<Self> {
        let account = Arc::new(Account::default());
        for FileEntry { name, bytes } in inner.list()? {
            account.register(&name, bytes);
        }
        Ok(LimitedFolder { inner, limit, account })
    }

    fn file(&self, file: Arc<dyn VfsFile>, length: Arc<Length>) -> Arc<dyn VfsFile> {
        Arc::new(LimitedFile { file, length, limit: self.limit, account: Arc::clone(&self.account) })
    }
}

impl Account {
    fn files(&self) -> MutexGuard<'_, HashMap<String, Arc<Length>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(self: &Arc<Self>, name: &str, bytes: u64) -> Arc<Length> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
        let length = Arc::new(Length { bytes: AtomicU64::new(bytes), account: Arc::downgrade(self) });
        self.files().insert(name.to_owned(), Arc::clone(&length));
        length
    }

    /// Grows a file to `end` bytes if that fits; a shorter `end` changes nothing.
    fn grow(&self, length: &Length, end: u64, limit: u64) -> io::Result<()> {
        let more = end.saturating_sub(length.bytes.load(Ordering::Relaxed));
        if more == 0 {
            return Ok(());
        }
        let fits = |used: u64| used.checked_add(more).filter(|&used| used <= limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(used) => {
                self.peak.fetch_max(used + more, Ordering::Relaxed);
                length.bytes.fetch_add(more, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn shrink(&self, length: &Length, end: u64) {
        let less = length.bytes.load(Ordering::Relaxed).saturating_sub(end);
        length.bytes.fetch_sub(less, Ordering::Relaxed);
        self.used.fetch_sub(less, Ordering::Relaxed);
    }
}

impl Vfs for LimitedFolder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let file = self.inner.create(name, caching)?;
        let length = self.account.register(name, 0);
        Ok(self.file(file, length))
    }

    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let file = self.inner.open(name, caching)?;
        let known = self.account.files().get(name).cloned();
        let length = match known {
            Some(length) => length,
            None => self.account.register(name, file.len()?),
        };
        Ok(self.file(file, length))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)?;
        let mut files = self.account.files();
        if let Some(length) = files.remove(from) {
            files.insert(to.to_owned(), length);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)?;
        self.account.files().remove(name);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        self.inner.list()
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.inner.sync_folder()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let left = self.limit.saturating_sub(self.account.used.load(Ordering::Relaxed));
        Ok(left.min(self.inner.free_bytes()?))
    }

    fn usage(&self) -> Option<FolderUsage> {
        let now = self.account.used.load(Ordering::Relaxed);
        Some(FolderUsage { now, peak: self.account.peak.load(Ordering::Relaxed) })
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        self.inner.lock(name)
    }
}

struct LimitedFile {
    file: Arc<dyn VfsFile>,
    length: Arc<Length>,
    limit: u64,
    account: Arc<Account>,
}

impl VfsFile for LimitedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.account.grow(&self.length, offset + bytes.len() as u64, self.limit)?;
        self.file.write_at(offset, bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.account.grow(&self.length, bytes, self.limit)?;
        self.file.set_len(bytes)?;
        self.account.shrink(&self.length, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}
