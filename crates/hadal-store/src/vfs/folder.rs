//! The real folder: direct I/O where the file system permits, the page cache where it does not.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
#[cfg(target_os = "linux")]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Caching, FileEntry, FolderLock, Vfs, VfsFile};

/// A folder of the operating system.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, created if it is not there.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        Ok(Folder { path })
    }

    /// The folder at `path`, which must be there.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if !fs::metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a process holds the lock of this name.
    pub fn is_locked(&self, name: &str) -> io::Result<bool> {
        let file = match File::open(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open_with(
        &self,
        name: &str,
        options: &mut OpenOptions,
        caching: Caching,
    ) -> io::Result<Arc<dyn VfsFile>> {
        let path = self.path.join(name);
        // Elsewhere files go through the page cache.
        #[cfg(target_os = "linux")]
        if caching == Caching::Direct {
            let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
            match options.clone().custom_flags(direct).open(&path) {
                Ok(file) => return Ok(Arc::new(FolderFile { file })),
                // How file systems without direct I/O (tmpfs, some network ones) refuse it.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Arc::new(FolderFile { file: options.open(&path)? }))
    }
}

impl Vfs for Folder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        self.open_with(name, options.read(true).write(true).create(true).truncate(true), caching)
    }

    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        self.open_with(name, OpenOptions::new().read(true), caching)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            // hadal names its files in ASCII; a name that is not even text is somebody else's.
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                entries.push(FileEntry { name, bytes: metadata.len() });
            }
        }
        Ok(entries)
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.path.join(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(LockFile { _file: file })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

struct FolderFile {
    file: File,
}

impl VfsFile for FolderFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(got) => {
                    done += got;
                    // A short direct read is the end of the file; asking again would not be aligned.
                    if got % super::SECTOR != 0 {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

struct LockFile {
    _file: File,
}

impl FolderLock for LockFile {}

#[cfg(test)]
mod tests {
    use super::super::{AlignedBuffer, SECTOR};
    use super::*;

    #[test]
    fn a_direct_file_cut_to_length_reads_back() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(place.path()).unwrap();
        let mut buffer = AlignedBuffer::new(2 * SECTOR);
        buffer.fill(7);
        let file = folder.create("a", Caching::Direct).unwrap();
        file.write_at(0, &buffer).unwrap();
        file.set_len(SECTOR as u64 + 10).unwrap();
        file.sync().unwrap();
        let file = folder.open("a", Caching::Direct).unwrap();
        buffer.fill(0);
        assert_eq!(file.read_at(0, &mut buffer).unwrap(), SECTOR + 10);
        assert!(buffer[..SECTOR + 10].iter().all(|&byte| byte == 7));
    }

    #[test]
    fn a_locked_folder_cannot_be_locked_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(place.path()).unwrap();
        assert!(!folder.is_locked("lock").unwrap());
        let held = folder.lock("lock").unwrap();
        assert!(folder.is_locked("lock").unwrap());
        assert_eq!(folder.lock("lock").err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        assert!(!folder.is_locked("lock").unwrap());
        folder.lock("lock").unwrap();
    }
}
