//! Reading a part of a file front to back, the next piece being fetched while this one is used.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::extent::{Extent, PendingExtent, request_extent};
use super::{AlignedBuffer, Disk, Position, SECTOR, VfsFile};
use crate::governor::{OverBudget, Reservation};

/// A byte range of a file as a stream.
pub(crate) struct SequentialStream {
    disk: Disk,
    file: Arc<dyn VfsFile>,
    /// What has not been asked for yet.
    rest: Range<u64>,
    chunk_bytes: usize,
    current: Option<Extent>,
    used: usize,
    ahead: Option<PendingExtent>,
    spare: Vec<AlignedBuffer>,
    /// Whether something was asked for.
    is_begun: bool,
    _memory: Reservation,
}

impl SequentialStream {
    /// Streams `range` in pieces of about `chunk_bytes`, holding two of them.
    pub fn new(
        disk: &Disk,
        file: Arc<dyn VfsFile>,
        range: Range<u64>,
        chunk_bytes: usize,
    ) -> Result<Self, OverBudget> {
        let chunk_bytes = chunk_bytes.next_multiple_of(SECTOR).max(SECTOR);
        let memory = disk.governor.try_reserve(2 * AlignedBuffer::footprint(chunk_bytes), "read buffers")?;
        let spare = vec![AlignedBuffer::new(chunk_bytes), AlignedBuffer::new(chunk_bytes)];
        let mut stream = SequentialStream {
            disk: disk.clone(),
            file,
            rest: range,
            chunk_bytes,
            current: None,
            used: 0,
            ahead: None,
            spare,
            is_begun: false,
            _memory: memory,
        };
        stream.request();
        Ok(stream)
    }

    /// Replaces the contents of `into` by the next `bytes` bytes.
    pub fn read(&mut self, bytes: usize, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        self.read_more(bytes, into)
    }

    /// Appends the next `bytes` bytes to `into`.
    pub fn read_more(&mut self, bytes: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let mut missing = bytes;
        while missing > 0 {
            let left = match &self.current {
                Some(extent) => &extent.bytes()[self.used..],
                None => &[],
            };
            if left.is_empty() {
                self.advance()?;
                continue;
            }
            let now = left.len().min(missing);
            into.extend_from_slice(&left[..now]);
            self.used += now;
            missing -= now;
        }
        Ok(())
    }

    fn advance(&mut self) -> io::Result<()> {
        if let Some(done) = self.current.take() {
            self.spare.push(done.into_buffer());
        }
        let Some(ahead) = self.ahead.take() else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let extent = ahead.wait()?;
        self.used = 0;
        self.current = Some(extent);
        self.request();
        Ok(())
    }

    fn request(&mut self) {
        if self.rest.is_empty() {
            return;
        }
        // Pieces end on sector boundaries, so only the first and the last are not whole.
        let start = self.rest.start;
        let end = (start - start % SECTOR as u64 + self.chunk_bytes as u64).min(self.rest.end);
        let buffer = self.spare.pop().unwrap_or_else(|| AlignedBuffer::new(self.chunk_bytes));
        let position =
            if std::mem::replace(&mut self.is_begun, true) { Position::Next } else { Position::Jump };
        self.ahead = Some(request_extent(&self.disk, &self.file, (start..end, position), buffer));
        self.rest.start = end;
    }
}
