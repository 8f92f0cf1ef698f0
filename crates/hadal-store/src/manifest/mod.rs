//! What a run has committed (`docs/format.md`, section 2), and the folder that keeps it.

mod folder;
mod words;

pub use folder::{Commit, CommitError, Committed, Medium, OpenError, RunFolder, Verify};
pub use words::{read_words, write_words};

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Corrupted, checksums_agree};
use crate::run::RunFile;

const MAGIC: &[u8; 8] = b"HADALMAN";
const VERSION: u16 = 1;

/// One committed generation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Counts commits, from 1.
    pub generation: u64,
    /// Fingerprint of the model and its layout.
    pub fingerprint: u64,
    /// Every file named so far has a smaller number.
    pub next_file: u64,
    /// The files that belong to the run.
    pub files: Vec<ManifestFile>,
    /// What explorers and closed sets keep here, by name.
    pub sections: BTreeMap<String, Vec<u8>>,
}

/// A file as a manifest knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// Its name in the run folder, as [`crate::Disk::fresh_name`] makes them.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Records in it, for people.
    pub records: u64,
    /// XXH3-64 of its last 64 bytes (of all, if it is shorter).
    pub tail_checksum: u64,
}

impl ManifestFile {
    /// How many of a file's last bytes have a checksum.
    pub const TAIL_BYTES: usize = 64;

    /// Files that can be made again from the others are of this kind: a run is whole without them.
    pub const SPARE_KIND: &str = "diagram";

    /// Whether the run is whole without it.
    pub(crate) fn is_spare(&self) -> bool {
        self.name.strip_prefix(Self::SPARE_KIND).is_some_and(|rest| rest.starts_with('-'))
    }

    /// A file that is no sorted run; `tail` is its last bytes, [`Self::TAIL_BYTES`] unless it is shorter.
    pub fn other(name: String, bytes: u64, records: u64, tail: &[u8]) -> Self {
        ManifestFile { name, bytes, records, tail_checksum: xxh3_64(tail) }
    }
}

impl From<&RunFile> for ManifestFile {
    fn from(run: &RunFile) -> Self {
        let summary = run.summary();
        ManifestFile {
            name: run.name().to_owned(),
            bytes: summary.bytes,
            records: summary.records,
            tail_checksum: summary.tail_checksum,
        }
    }
}

impl Manifest {
    /// Its name in the run folder.
    pub fn file_name(generation: u64) -> String {
        format!("manifest-{generation:010}")
    }

    /// The generation in a file's name, if it is a manifest's.
    pub fn generation_of(name: &str) -> Option<u64> {
        name.strip_prefix("manifest-").filter(|digits| digits.len() == 10)?.parse().ok()
    }

    /// Bytes of all files it names.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 6]);
        for word in [self.generation, self.fingerprint, 0, self.next_file] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(self.files.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        for file in &self.files {
            put_name(&mut bytes, &file.name);
            for word in [file.bytes, file.records, file.tail_checksum] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
        for (name, section) in &self.sections {
            put_name(&mut bytes, name);
            bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
            bytes.extend_from_slice(section);
        }
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the manifest that stands in the file `name`.
    pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Self, Corrupted> {
        let wrong = |what| Corrupted::file(name, what);
        let Some((body, checksum)) = bytes.split_last_chunk::<8>() else {
            return Err(wrong("it is too short"));
        };
        if !checksums_agree(xxh3_64(body), u64::from_le_bytes(*checksum)) {
            return Err(wrong("its checksum does not match"));
        }
        let mut fields = Fields { rest: body };
        let manifest = fields.manifest().ok_or_else(|| wrong("it is not a manifest of this version"))?;
        if Self::generation_of(name) != Some(manifest.generation) {
            return Err(wrong("it is another generation under this name"));
        }
        Ok(manifest)
    }
}

fn put_name(bytes: &mut Vec<u8>, name: &str) {
    // Names are hadal's own and short; a longer one would not read back and the checksum test would say so.
    debug_assert!(name.len() <= usize::from(u16::MAX));
    bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
    bytes.extend_from_slice(name.as_bytes());
}

struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn manifest(&mut self) -> Option<Manifest> {
        if self.take(8)? != MAGIC || self.take(2)? != VERSION.to_le_bytes() {
            return None;
        }
        self.take(6)?;
        let (generation, fingerprint, _, next_file) = (self.u64()?, self.u64()?, self.u64()?, self.u64()?);
        let (files, sections) = (self.u32()?, self.u32()?);
        let mut manifest =
            Manifest { generation, fingerprint, next_file, files: Vec::new(), sections: BTreeMap::new() };
        for _ in 0..files {
            let name = self.name()?;
            let (bytes, records, tail_checksum) = (self.u64()?, self.u64()?, self.u64()?);
            manifest.files.push(ManifestFile { name, bytes, records, tail_checksum });
        }
        for _ in 0..sections {
            let name = self.name()?;
            let length = usize::try_from(self.u64()?).ok()?;
            manifest.sections.insert(name, self.take(length)?.to_vec());
        }
        self.rest.is_empty().then_some(manifest)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn name(&mut self) -> Option<String> {
        let length = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        String::from_utf8(self.take(usize::from(length))?.to_vec()).ok()
    }
}
