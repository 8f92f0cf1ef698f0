//! A folder in RAM that misbehaves on request: the double every crash, corruption and full-disk test runs on.
//!
//! It keeps apart what was written and what would survive a power cut: contents are durable after `sync`,
//! names after `sync_folder`. After its death, [`FaultyFolder::after_crash`] gives the folder a new process would find.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hadal_store::vfs::{Caching, FileEntry, FolderLock, SECTOR, Vfs, VfsFile};

/// A misbehaving folder. Cloning shares it.
#[derive(Clone, Default)]
pub struct FaultyFolder {
    world: Arc<Mutex<World>>,
}

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The operation (counted from 0) that fails, and after which nothing works any more.
    pub die_at: Option<u64>,
    /// Bytes the folder can hold; writes beyond fail with `StorageFull`.
    pub capacity: Option<u64>,
}

/// How much of what was not synced is there after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Only what was synced.
    Synced,
    /// Everything written.
    Everything,
    /// Everything, but of the very last write only the first half (and not a whole sector).
    TornLastWrite,
}

#[derive(Default)]
struct World {
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    files: Vec<Contents>,
    faults: Faults,
    operations: u64,
    /// The operations that renamed a file: commits.
    renames: Vec<u64>,
    dead: bool,
    locked: bool,
    last_write: Option<LastWrite>,
}

#[derive(Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    durable: Vec<u8>,
}

struct LastWrite {
    file: usize,
    before: Vec<u8>,
    offset: usize,
    bytes: Vec<u8>,
}

impl FaultyFolder {
    /// An empty folder with these faults.
    pub fn new(faults: Faults) -> Self {
        let folder = FaultyFolder::default();
        folder.world().faults = faults;
        folder
    }

    /// Changes what goes wrong from now on; operations are counted from here.
    pub fn set_faults(&self, faults: Faults) {
        let mut world = self.world();
        world.faults = faults;
        world.operations = 0;
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    /// Which of them renamed a file, as a commit does.
    pub fn renames(&self) -> Vec<u64> {
        self.world().renames.clone()
    }

    /// Whether the fatal operation was reached.
    pub fn is_dead(&self) -> bool {
        self.world().dead
    }

    /// The folder that the next process finds, healthy.
    pub fn after_crash(&self, survival: Survival) -> FaultyFolder {
        let world = self.world();
        let mut next = World::default();
        let names = if survival == Survival::Synced { &world.durable_names } else { &world.names };
        for (name, &file) in names {
            let mut bytes = match survival {
                Survival::Synced => world.files[file].durable.clone(),
                _ => world.files[file].bytes.clone(),
            };
            if let (Survival::TornLastWrite, Some(last)) = (survival, &world.last_write)
                && last.file == file
            {
                bytes = last.before.clone();
                let torn = &last.bytes[..last.bytes.len() / 2];
                bytes.resize(bytes.len().max(last.offset + torn.len()), 0);
                bytes[last.offset..last.offset + torn.len()].copy_from_slice(torn);
            }
            next.names.insert(name.clone(), next.files.len());
            next.files.push(Contents { durable: bytes.clone(), bytes });
        }
        next.durable_names = next.names.clone();
        FaultyFolder { world: Arc::new(Mutex::new(next)) }
    }

    /// A healthy copy of the folder as it is.
    pub fn snapshot(&self) -> FaultyFolder {
        self.after_crash(Survival::Everything)
    }

    /// A file's bytes.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let world = self.world();
        world.names.get(name).map(|&file| world.files[file].bytes.clone())
    }

    /// Replaces a file's bytes by `bytes`, durably.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut world = self.world();
        let file = world.files.len();
        world.files.push(Contents { durable: bytes.clone(), bytes });
        world.names.insert(name.to_owned(), file);
        world.durable_names.insert(name.to_owned(), file);
    }

    /// Flips the bits of `mask` in one byte of a file.
    pub fn flip(&self, name: &str, offset: usize, mask: u8) {
        if let Some(mut bytes) = self.bytes(name) {
            bytes[offset] ^= mask;
            self.put(name, bytes);
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one operation; the fatal one and all after it fail.
    fn step(&self) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.world();
        if world.faults.die_at == Some(world.operations) {
            world.dead = true;
        }
        world.operations += 1;
        if world.dead { Err(io::Error::other("the machine died")) } else { Ok(world) }
    }

    fn handle(&self, file: usize, caching: Caching) -> Arc<dyn VfsFile> {
        Arc::new(FaultyFile { folder: self.clone(), file, caching })
    }
}

impl Vfs for FaultyFolder {
    fn create(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let mut world = self.step()?;
        let file = world.files.len();
        world.files.push(Contents::default());
        world.names.insert(name.to_owned(), file);
        Ok(self.handle(file, caching))
    }

    fn open(&self, name: &str, caching: Caching) -> io::Result<Arc<dyn VfsFile>> {
        let world = self.step()?;
        let file = *world.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.handle(file, caching))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.step()?;
        let now = world.operations - 1;
        world.renames.push(now);
        let file = world.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        world.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step()?.names.remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let world = self.step()?;
        let entry = |(name, &file): (&String, &usize)| FileEntry {
            name: name.clone(),
            bytes: world.files[file].bytes.len() as u64,
        };
        Ok(world.names.iter().map(entry).collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut world = self.step()?;
        world.durable_names = world.names.clone();
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let world = self.step()?;
        Ok(world.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(world.used())))
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        let mut world = self.step()?;
        if std::mem::replace(&mut world.locked, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let file = world.files.len();
        world.files.push(Contents::default());
        world.names.insert(name.to_owned(), file);
        Ok(Box::new(FaultyLock { folder: self.clone() }))
    }
}

impl World {
    fn used(&self) -> u64 {
        self.names.values().map(|&file| self.files[file].bytes.len() as u64).sum()
    }
}

struct FaultyLock {
    folder: FaultyFolder,
}

impl FolderLock for FaultyLock {}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        self.folder.world().locked = false;
    }
}

struct FaultyFile {
    folder: FaultyFolder,
    file: usize,
    caching: Caching,
}

impl FaultyFile {
    /// Direct I/O is refused here exactly where a strict file system refuses it.
    fn check_aligned(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let aligned = offset.is_multiple_of(SECTOR as u64)
            && bytes.len().is_multiple_of(SECTOR)
            && (bytes.as_ptr() as usize).is_multiple_of(SECTOR);
        if self.caching == Caching::Direct && !aligned {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(())
    }
}

impl VfsFile for FaultyFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.check_aligned(offset, into)?;
        let world = self.folder.step()?;
        let bytes = &world.files[self.file].bytes;
        let start = usize::try_from(offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
        let got = into.len().min(bytes.len() - start);
        into[..got].copy_from_slice(&bytes[start..start + got]);
        Ok(got)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_aligned(offset, bytes)?;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut world = match self.folder.step() {
            Ok(world) => world,
            Err(error) => {
                // The fatal write may have reached the disk in part; what a dead machine tries later has not.
                let mut world = self.folder.world();
                if world.faults.die_at.is_some_and(|fatal| world.operations == fatal + 1) {
                    world.remember(self.file, start, bytes);
                }
                return Err(error);
            }
        };
        let end = start + bytes.len();
        let growth = end.saturating_sub(world.files[self.file].bytes.len()) as u64;
        if world.faults.capacity.is_some_and(|capacity| world.used() + growth > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        world.remember(self.file, start, bytes);
        let contents = &mut world.files[self.file].bytes;
        contents.resize(contents.len().max(end), 0);
        contents[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut world = self.folder.step()?;
        world.files[self.file].bytes.resize(length, 0);
        world.last_write = None;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.folder.step()?;
        let contents = &mut world.files[self.file];
        contents.durable.clone_from(&contents.bytes);
        world.last_write = None;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.folder.step()?.files[self.file].bytes.len() as u64)
    }
}

impl World {
    fn remember(&mut self, file: usize, offset: usize, bytes: &[u8]) {
        self.last_write =
            Some(LastWrite { file, before: self.files[file].bytes.clone(), offset, bytes: bytes.to_vec() });
    }
}
