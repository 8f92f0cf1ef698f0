//! What a run committed, for whoever looks at it afterwards: the layers of a search on disk, or a search in RAM that was
//! written down as a file of its own.

use super::Trouble;
use super::journal::Journal;
use super::ledger::{Ledger, Standing};
use super::path;
use crate::lane::SearchTask;
use crate::run::{Buffers, run_options};
use hadal_store::Governor;
use hadal_store::error::{ReadError, WriteError};
use hadal_store::manifest::ManifestFile;
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_store::vfs::{Caching, VfsFile};
use hadal_system::StateSpace;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

/// The section that names a search in RAM.
const IN_RAM: &str = "in-ram";

/// The layers that a run committed.
pub struct KeptLayers {
    journal: Journal,
    ledger: Ledger,
}

impl KeptLayers {
    /// Those of the run behind `ledger`; `None` where it committed none.
    pub fn open(
        ledger: Ledger,
        space: &dyn StateSpace,
        governor: &Governor,
    ) -> Result<Option<KeptLayers>, Trouble> {
        let Some(record) = ledger.record() else { return Ok(None) };
        let usual = run_options(space, governor, Buffers::Few);
        let shape = RecordShape::with_payload(space.words(), record.journal.payload_words());
        let options = RunOptions { shape, ..usual };
        let journal = ledger.open_journal(options, &record)?;
        Ok((journal.depth() > 0).then_some(KeptLayers { journal, ledger }))
    }

    /// How many layers there are.
    pub fn depth(&self) -> usize {
        self.journal.depth()
    }

    /// How many states a layer has.
    pub fn states(&self, depth: usize) -> u64 {
        self.journal.states(depth)
    }

    /// Shows the states of a layer, many at a time, one after the other.
    pub fn visit(&self, depth: usize, mut show: impl FnMut(&[u64])) -> Result<(), Trouble> {
        let mut reader = self.journal.reader(depth)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            show(&block);
        }
        Ok(())
    }

    /// The states of a shortest path to `target`, which lies in the layer `depth`.
    pub fn path_to(
        &self,
        task: SearchTask,
        threads: usize,
        depth: usize,
        target: Vec<u64>,
    ) -> Result<Vec<Vec<u64>>, Trouble> {
        let governor = &self.ledger.disk().governor;
        path::shortest_at_once(task, (&self.journal, threads), (depth, target), governor)
    }
}

impl Ledger {
    /// Commits a search in RAM that `write` writes down; of so many states, by now `seconds` old.
    pub fn keep_search(
        &mut self,
        (states, seconds): (u64, f64),
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let disk = self.disk().clone();
        let name = disk.fresh_name("search");
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                WriteError::DiskFull { file: name.clone() }
            }
            _ => WriteError::Io { file: name.clone(), source },
        };
        let file = disk.vfs.create(&name, Caching::Buffered).map_err(failed)?;
        let mut out = Appending::to(file);
        write(&mut out).map_err(failed)?;
        let kept = out.finish(&name, states).map_err(failed)?;
        let standing = Standing {
            status: "stopped, resumable",
            states,
            transitions: 0,
            covers: &[],
            actions: Vec::new(),
            seconds,
        };
        self.commit_file((IN_RAM, name.into_bytes()), kept, standing)
    }

    /// What [`Ledger::keep_search`] wrote, and how many bytes it has.
    pub fn kept_search(&self) -> Result<Option<(impl Read, u64)>, Trouble> {
        let Some(name) = self.section(IN_RAM).and_then(|name| std::str::from_utf8(name).ok()) else {
            return Ok(None);
        };
        let failed = |source| ReadError::Io { file: name.to_owned(), source };
        let file = self.disk().vfs.open(name, Caching::Buffered).map_err(failed)?;
        let bytes = file.len().map_err(failed)?;
        Ok(Some((BufReader::with_capacity(1 << 18, Reading::of(file)), bytes)))
    }
}

/// A file that is written from front to back.
pub(super) struct Appending {
    file: Arc<dyn VfsFile>,
    bytes: u64,
    /// The last bytes written.
    tail: Vec<u8>,
}

impl Appending {
    /// To an empty file.
    pub(super) fn to(file: Arc<dyn VfsFile>) -> Self {
        Appending { file, bytes: 0, tail: Vec::new() }
    }

    /// Makes it durable; it has so many records, for a manifest.
    pub(super) fn finish(self, name: &str, records: u64) -> io::Result<ManifestFile> {
        self.file.sync()?;
        Ok(ManifestFile::other(name.to_owned(), self.bytes, records, &self.tail))
    }
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.bytes, bytes)?;
        self.bytes += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(ManifestFile::TAIL_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(ManifestFile::TAIL_BYTES));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is read from front to back.
pub(super) struct Reading {
    file: Arc<dyn VfsFile>,
    at: u64,
}

impl Reading {
    /// From its beginning.
    pub(super) fn of(file: Arc<dyn VfsFile>) -> Self {
        Reading { file, at: 0 }
    }
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(self.at, into)?;
        self.at += got as u64;
        Ok(got)
    }
}
