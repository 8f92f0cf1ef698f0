//! A finished run on disk: its header and trailer, and a handle that owns the file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::block::{u32_at, u64_at};
use super::{BlockIndex, Codec, RunKind, RunOptions, RunReader};
use crate::error::{Corrupted, ReadError, checksums_agree};
use crate::shape::RecordShape;
use crate::vfs::{Caching, Disk, VfsFile, read_range};

pub(super) const HEADER_BYTES: usize = 64;
pub(super) const TRAILER_BYTES: usize = 64;
const VERSION: u16 = 1;

/// A finished run. The file goes when the last handle does, unless a manifest names it.
#[derive(Clone)]
pub struct RunFile {
    inner: Arc<Inner>,
}

struct Inner {
    disk: Disk,
    name: String,
    summary: RunSummary,
    layout: Layout,
    committed: AtomicBool,
    synced: AtomicBool,
}

/// How the file of a run is laid out.
pub(super) struct Layout {
    pub options: RunOptions,
    /// Most records in a block.
    pub most_records: usize,
    pub trailer: Trailer,
}

/// What a manifest says about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Records in it.
    pub records: u64,
    /// Length of the file.
    pub bytes: u64,
    /// XXH3-64 of its trailer, which holds the checksum of its index.
    pub tail_checksum: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub index_offset: u64,
    pub index_bytes: u64,
    pub blocks: u64,
    pub records: u64,
    pub file_bytes: u64,
    pub index_checksum: u64,
}

impl RunFile {
    /// Opens a run written with options like these (shape and fingerprint must agree) and checks its header and
    /// trailer. The file stays when the handle is dropped.
    pub fn open(disk: &Disk, name: &str, options: &RunOptions) -> Result<Self, ReadError> {
        let failed = |error| ReadError::io(name, error);
        let disk = &disk.holding(RunKind::of_name(name));
        let file = disk.vfs.open(name, Caching::Direct).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        if length < (HEADER_BYTES + TRAILER_BYTES) as u64 {
            return Err(Corrupted::file(name, "it is too short to be a run").into());
        }
        let header = read_range(disk, &*file, 0..HEADER_BYTES as u64).map_err(failed)?;
        let (codec, most_records) = check_header(name, &header, options)?;
        let tail = read_range(disk, &*file, length - TRAILER_BYTES as u64..length).map_err(failed)?;
        let trailer = Trailer::parse(name, &tail, length, identity(name))?;
        let tail_checksum = xxh3_64(&tail);
        let summary = RunSummary { records: trailer.records, bytes: length, tail_checksum };
        let layout = Layout { options: RunOptions { codec, ..*options }, most_records, trailer };
        let run = RunFile::from_parts(disk, name.to_owned(), summary, layout);
        run.keep();
        run.inner.synced.store(true, Ordering::Relaxed);
        Ok(run)
    }

    pub(super) fn from_parts(disk: &Disk, name: String, summary: RunSummary, layout: Layout) -> Self {
        RunFile {
            inner: Arc::new(Inner {
                disk: disk.clone(),
                name,
                summary,
                layout,
                committed: AtomicBool::new(false),
                synced: AtomicBool::new(false),
            }),
        }
    }

    /// Its name in the run folder.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Records in it.
    pub fn records(&self) -> u64 {
        self.inner.summary.records
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.inner.summary.bytes
    }

    /// What a manifest says about it.
    pub fn summary(&self) -> RunSummary {
        self.inner.summary
    }

    /// How it was written.
    pub fn options(&self) -> &RunOptions {
        &self.inner.layout.options
    }

    /// The disk it lies on.
    pub fn disk(&self) -> &Disk {
        &self.inner.disk
    }

    /// Makes the contents durable; a commit does this for the runs it names.
    pub fn sync(&self) -> std::io::Result<()> {
        if !self.inner.synced.load(Ordering::Relaxed) {
            self.inner.disk.vfs.open(&self.inner.name, Caching::Direct)?.sync()?;
            self.inner.synced.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Leaves the file in place when the last handle is dropped: a manifest names it, and the commit that stops
    /// naming it removes it.
    pub fn keep(&self) {
        self.inner.committed.store(true, Ordering::Relaxed);
    }

    /// Gives the file up: it is removed with the last handle even if it was opened from a folder.
    pub fn discard(self) {
        self.inner.committed.store(false, Ordering::Relaxed);
    }

    /// How many blocks it has.
    pub(crate) fn blocks(&self) -> u64 {
        self.trailer().blocks
    }

    pub(super) fn trailer(&self) -> &Trailer {
        &self.inner.layout.trailer
    }

    pub(super) fn most_records(&self) -> usize {
        self.inner.layout.most_records
    }

    pub(super) fn identity(&self) -> u64 {
        identity(&self.inner.name)
    }

    pub(super) fn open_file(&self) -> Result<Arc<dyn VfsFile>, ReadError> {
        let open = self.inner.disk.vfs.open(&self.inner.name, Caching::Direct);
        open.map_err(|error| ReadError::io(&self.inner.name, error))
    }
}

/// Reads every block of a run, whatever its shape, and checks it.
pub(crate) fn verify_run(disk: &Disk, name: &str, fingerprint: u64) -> Result<(), ReadError> {
    let failed = |error| ReadError::io(name, error);
    let file = disk.vfs.open(name, Caching::Direct).map_err(failed)?;
    let header = read_range(disk, &*file, 0..HEADER_BYTES as u64).map_err(failed)?;
    let (words, payload_words) = header_widths(&header);
    if words == 0 || words > 8191 || payload_words > 8191 {
        return Err(Corrupted::file(name, "its header is damaged").into());
    }
    let options = RunOptions::new(RecordShape::with_payload(words, payload_words), fingerprint);
    let run = RunFile::open(disk, name, &options)?;
    BlockIndex::load(&run)?;
    let mut reader = RunReader::open(&run)?;
    let mut flat = Vec::new();
    while reader.next_block(&mut flat)? {}
    Ok(())
}

fn header_widths(bytes: &[u8]) -> (usize, usize) {
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    (half(12), half(14))
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !*self.committed.get_mut() {
            // A file that cannot be removed now is nobody's, and goes when the folder is next opened.
            let _ = self.disk.vfs.remove(&self.name);
        }
    }
}

impl std::fmt::Debug for RunFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunFile").field("name", &self.name()).field("records", &self.records()).finish()
    }
}

/// Seeds the checksums of a file.
pub(super) fn identity(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

pub(super) fn header(name: &str, kind: RunKind, options: &RunOptions) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(b"HADALRUN");
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[10] = kind.code();
    bytes[11] = options.codec as u8;
    bytes[12..14].copy_from_slice(&(options.shape.words() as u16).to_le_bytes());
    bytes[14..16].copy_from_slice(&(options.shape.payload_words() as u16).to_le_bytes());
    bytes[16..24].copy_from_slice(&options.fingerprint.to_le_bytes());
    bytes[32..40].copy_from_slice(&identity(name).to_le_bytes());
    bytes[40..44].copy_from_slice(&(options.block_records() as u32).to_le_bytes());
    let checksum = xxh3_64(&bytes[..56]);
    bytes[56..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Returns the most records a block may hold.
fn check_header(name: &str, bytes: &[u8], options: &RunOptions) -> Result<(Codec, usize), ReadError> {
    let foreign = |what| ReadError::Foreign { file: name.to_owned(), what };
    if bytes[..8] != *b"HADALRUN" || u64_at(bytes, 56) != xxh3_64(&bytes[..56]) {
        return Err(Corrupted::file(name, "its header is damaged").into());
    }
    if bytes[8..10] != VERSION.to_le_bytes() {
        return Err(foreign("it was written by another version of hadal"));
    }
    if u64_at(bytes, 32) != identity(name) {
        return Err(Corrupted::file(name, "it is another file under this name").into());
    }
    if u64_at(bytes, 16) != options.fingerprint {
        return Err(foreign("it was written for another model"));
    }
    if header_widths(bytes) != (options.shape.words(), options.shape.payload_words()) {
        return Err(foreign("its records have another width"));
    }
    let codec = [Codec::Plain, Codec::Lz4, Codec::Zstd].into_iter().find(|&codec| codec as u8 == bytes[11]);
    let codec = codec.ok_or_else(|| foreign("its codec is not known"))?;
    Ok((codec, (u32_at(bytes, 40) as usize).clamp(1, 1 << 16)))
}

impl Trailer {
    /// The trailer's bytes.
    pub fn encode(&self, identity: u64) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(b"HADALEND");
        let fields = [
            self.index_offset,
            self.index_bytes,
            self.blocks,
            self.records,
            self.file_bytes,
            self.index_checksum,
        ];
        for (place, field) in bytes[8..56].chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&bytes[..56], identity);
        bytes[56..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn parse(name: &str, bytes: &[u8], length: u64, identity: u64) -> Result<Self, Corrupted> {
        let checksum = u64_at(bytes, 56);
        let intact = checksums_agree(xxh3_64_with_seed(&bytes[..56], identity), checksum);
        if bytes[..8] != *b"HADALEND" || !intact {
            return Err(Corrupted::file(name, "its trailer is damaged or was never written"));
        }
        let trailer = Trailer {
            index_offset: u64_at(bytes, 8),
            index_bytes: u64_at(bytes, 16),
            blocks: u64_at(bytes, 24),
            records: u64_at(bytes, 32),
            file_bytes: u64_at(bytes, 40),
            index_checksum: u64_at(bytes, 48),
        };
        let index_end = trailer.index_offset.checked_add(trailer.index_bytes);
        let fits = trailer.file_bytes == length
            && trailer.index_offset >= HEADER_BYTES as u64
            && index_end == Some(length - TRAILER_BYTES as u64);
        if fits { Ok(trailer) } else { Err(Corrupted::file(name, "it has the wrong length")) }
    }
}
