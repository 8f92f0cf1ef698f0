//! The diagram of complete layers beside them in the run's folder: whoever resumes the run reads it instead of building it
//! from every state again.
//!
//! It can be made from the layers, so nothing depends on it. One that is damaged, does not belong to what was committed, or
//! does not fit the memory is left alone, and a disk without room for it goes without.

use super::journal::Journal;
use super::kept::{Appending, Reading};
use hadal_store::diagram::{ClosedDiagram, DiagramReadError};
use hadal_store::manifest::{Manifest, ManifestFile};
use hadal_store::vfs::{Caching, Disk};
use hadal_store::{Governor, OverBudget};
use serde::{Deserialize, Serialize};
use std::io::{self, BufReader, Read};
use std::time::{Duration, Instant};

/// The section of a manifest that describes it.
const SECTION: &str = "diagram";
/// Time between commits, and time that writing takes, from one to the next: what a killed run builds again is little, and
/// what writing costs is less.
const SPACINGS: u32 = 30;
/// The disk must have room for so many of them.
const ROOM: u64 = 4;
/// Bytes of a block on its way.
const BLOCK_BYTES: u64 = 80 << 10;

/// A diagram on disk.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    file: ManifestFile,
    of: Known,
}

/// What a diagram knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// All states of so many layers.
    layers: u64,
    /// How many they are.
    states: u64,
}

impl Known {
    /// The states of the first layers of a journal.
    fn first(journal: &Journal, layers: usize) -> Self {
        Known { layers: layers as u64, states: (0..layers).map(|depth| journal.states(depth)).sum() }
    }
}

/// Why a diagram on disk is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error(transparent)]
    Diagram(#[from] DiagramReadError),
    #[error("it is not what was committed")]
    Other,
}

impl From<OverBudget> for Unread {
    fn from(full: OverBudget) -> Self {
        Unread::Diagram(full.into())
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::Diagram(error.into())
    }
}

impl Snapshot {
    /// The one that a manifest names.
    fn of(manifest: &Manifest) -> Option<Self> {
        let of = serde_json::from_slice(manifest.sections.get(SECTION)?).ok()?;
        let kind = |file: &&ManifestFile| file.name.starts_with(ManifestFile::SPARE_KIND);
        Some(Snapshot { file: manifest.files.iter().find(kind)?.clone(), of })
    }

    /// Writes down a diagram that holds the states of a journal and no others.
    fn write(closed: &ClosedDiagram, journal: &Journal) -> Option<Self> {
        let (disk, of) = (journal.disk(), Known::first(journal, journal.depth()));
        if journal.first_kept() > 0 || closed.len() != of.states {
            return None;
        }
        let room = disk.vfs.free_bytes().ok()?;
        if closed.statistics().live_bytes.saturating_mul(ROOM) > room {
            return None;
        }
        let _memory = disk.governor.try_reserve(BLOCK_BYTES, "writing the diagram").ok()?;
        let name = disk.fresh_name(ManifestFile::SPARE_KIND);
        let written = || -> io::Result<ManifestFile> {
            let mut out = Appending::to(disk.vfs.create(&name, Caching::Buffered)?);
            closed.write_to(&mut out)?;
            out.finish(&name, of.states)
        };
        match written() {
            Ok(file) => {
                disk.traffic.add_written(file.bytes);
                Some(Snapshot { file, of })
            }
            Err(_) => {
                // Should this fail as well, it is a stray, which goes when the run is opened.
                let _ = disk.vfs.remove(&name);
                None
            }
        }
    }

    /// Whether its layers are the first ones of a journal.
    fn suits(&self, journal: &Journal) -> bool {
        let layers = self.of.layers as usize;
        journal.first_kept() == 0 && layers <= journal.depth() && self.of == Known::first(journal, layers)
    }

    /// Reads it, where it holds what it should: states of `words` words, `bits` bits of them used. Says for how many of the
    /// journal's layers it stands.
    pub(crate) fn read(
        &self,
        journal: &Journal,
        (words, bits): (usize, u32),
        governor: &Governor,
    ) -> Result<(ClosedDiagram, u64), Unread> {
        let disk = journal.disk();
        let file = disk.vfs.open(&self.file.name, Caching::Buffered)?;
        if !self.suits(journal) || file.len()? != self.file.bytes {
            return Err(Unread::Other);
        }
        let _memory = governor.try_reserve(BLOCK_BYTES, "reading the diagram")?;
        let mut input = BufReader::with_capacity(BLOCK_BYTES as usize / 2, Reading::of(file));
        let closed = ClosedDiagram::read_from(&mut input, words, governor)?;
        disk.traffic.add_read(self.file.bytes);
        let is_over = input.read(&mut [0])? == 0;
        let usual = ClosedDiagram::usual_levels(words, bits as usize);
        if !is_over || closed.len() != self.of.states || Ok(closed.levels()) != usual.as_ref() {
            return Err(Unread::Other);
        }
        Ok((closed, self.of.layers))
    }
}

/// The diagram that a run's folder has, and when it is time for another.
pub(super) struct Snapshots {
    kept: Option<Snapshot>,
    /// Files that no commit will name any more. The generation before is whole without them.
    gone: Vec<String>,
    /// When the last one was written, or the run begun; how long that took.
    at: Instant,
    took: Duration,
}

impl Snapshots {
    /// Those of a run that was committed so.
    pub(super) fn of(manifest: Option<&Manifest>) -> Self {
        let kept = manifest.and_then(Snapshot::of);
        Snapshots { kept, gone: Vec::new(), at: Instant::now(), took: Duration::ZERO }
    }

    /// The newest.
    pub(super) fn newest(&self) -> Option<&Snapshot> {
        self.kept.as_ref()
    }

    /// Whether enough time has passed for another, where a commit takes place after `spacing`.
    pub(super) fn is_due(&self, spacing: Duration) -> bool {
        self.at.elapsed() >= self.took.max(spacing) * SPACINGS
    }

    /// Writes one in the place of the last, where that works.
    pub(super) fn renew(&mut self, closed: &ClosedDiagram, journal: &Journal) {
        let begun = Instant::now();
        if let Some(newer) = Snapshot::write(closed, journal) {
            self.drop();
            self.kept = Some(newer);
        }
        (self.at, self.took) = (Instant::now(), begun.elapsed());
    }

    /// The next commit does without.
    pub(super) fn drop(&mut self) {
        self.gone.extend(self.kept.take().map(|kept| kept.file.name));
    }

    /// What a commit of the journal keeps: nothing where old layers are gone, which the diagram still knows.
    pub(super) fn beside(&mut self, journal: &Journal) -> Option<(ManifestFile, (String, Vec<u8>))> {
        if self.kept.as_ref().is_some_and(|kept| !kept.suits(journal)) {
            self.drop();
        }
        let Snapshot { file, of } = self.kept.as_ref()?;
        Some((file.clone(), (SECTION.to_owned(), serde_json::to_vec(of).ok()?)))
    }

    /// Removes files that were named before the commit just made, and not by it.
    pub(super) fn remove_gone(&mut self, disk: &Disk) {
        for name in self.gone.drain(..) {
            // What cannot be removed goes with the generation that names it.
            let _ = disk.vfs.remove(&name);
        }
    }
}
