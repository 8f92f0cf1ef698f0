//! Reading a byte range of a file as the whole sectors around it.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::{AlignedBuffer, Disk, Pending, Position, SECTOR, VfsFile};

/// Reading or writing so few bytes takes no longer than waking another thread.
pub(super) const FEW_BYTES: u64 = 16 << 10;

/// Bytes of a file in memory.
pub(crate) struct Extent {
    buffer: AlignedBuffer,
    inside: Range<usize>,
    start: u64,
}

/// An extent on its way.
pub(crate) struct PendingExtent {
    pending: Pending<io::Result<Extent>>,
}

impl Extent {
    /// The bytes asked for.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.inside.clone()]
    }

    /// Those of the file's bytes in `range`, if they are all here.
    pub fn range(&self, range: Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        self.bytes().get(from..to)
    }

    /// The memory, for another read.
    pub fn into_buffer(self) -> AlignedBuffer {
        self.buffer
    }
}

impl PendingExtent {
    pub fn wait(self) -> io::Result<Extent> {
        self.pending.wait().unwrap_or_else(|| Err(io::Error::other("an I/O thread died")))
    }
}

/// Starts reading `range`; `buffer` is enlarged if it is too small.
pub(crate) fn request_extent(
    disk: &Disk,
    file: &Arc<dyn VfsFile>,
    (range, position): (Range<u64>, Position),
    buffer: AlignedBuffer,
) -> PendingExtent {
    let few = range.end - range.start <= FEW_BYTES;
    let (file, traffic, kind) = (Arc::clone(file), Arc::clone(&disk.traffic), disk.kind());
    let read = move || {
        let begun = Instant::now();
        let extent = read_extent(&*file, range, buffer)?;
        traffic.count_read(kind, extent.inside.end as u64, position);
        traffic.count_reading(kind, begun);
        traffic.speed.note(extent.inside.end as u64, begun.elapsed());
        Ok(extent)
    };
    PendingExtent { pending: if few { Pending::Ready(read()) } else { disk.threads.submit(read) } }
}

/// Reads `range` now; a file that ends inside it is an `UnexpectedEof`.
pub(crate) fn read_extent(
    file: &dyn VfsFile,
    range: Range<u64>,
    mut buffer: AlignedBuffer,
) -> io::Result<Extent> {
    let aligned = range.start - range.start % SECTOR as u64;
    let span = usize::try_from(range.end - aligned).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let whole = span.next_multiple_of(SECTOR);
    if buffer.len() < whole {
        buffer = AlignedBuffer::new(whole);
    }
    let got = file.read_at(aligned, &mut buffer[..whole])?;
    if got < span {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let inside = (range.start - aligned) as usize..span;
    Ok(Extent { buffer, inside, start: range.start })
}

/// Reads `range` into memory of its own, now.
pub(crate) fn read_range(disk: &Disk, file: &dyn VfsFile, range: Range<u64>) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let extent = read_extent(file, range, AlignedBuffer::new(0))?;
    disk.traffic.count_read(disk.kind(), extent.inside.end as u64, Position::Jump);
    disk.traffic.count_reading(disk.kind(), begun);
    Ok(extent.bytes().to_vec())
}
