//! Writing a file front to back, in large aligned pieces, while the next piece is being filled.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::extent::FEW_BYTES;
use super::{AlignedBuffer, Caching, Disk, Pending, Position, VfsFile};
use crate::governor::{OverBudget, Reservation};

/// Bytes appended to a new file. Two buffers: one is filled while the other is on its way to the disk.
pub(crate) struct AppendStream {
    disk: Disk,
    file: Arc<dyn VfsFile>,
    filling: AlignedBuffer,
    filled: usize,
    /// The other buffer, when it is not on its way.
    spare: Option<AlignedBuffer>,
    writing: Option<Pending<(AlignedBuffer, io::Result<()>)>>,
    /// Bytes handed to the file so far.
    offset: u64,
    _memory: Reservation,
}

/// Why a stream could not be started.
pub(crate) enum AppendError {
    OverBudget(OverBudget),
    Io(io::Error),
}

impl AppendStream {
    pub fn create(disk: &Disk, name: &str, chunk_bytes: usize) -> Result<Self, AppendError> {
        let bytes = 2 * AlignedBuffer::footprint(chunk_bytes);
        let memory = disk.governor.try_reserve(bytes, "write buffers").map_err(AppendError::OverBudget)?;
        let file = disk.vfs.create(name, Caching::Direct).map_err(AppendError::Io)?;
        Ok(AppendStream {
            disk: disk.clone(),
            file,
            filling: AlignedBuffer::new(chunk_bytes),
            filled: 0,
            spare: Some(AlignedBuffer::new(chunk_bytes)),
            writing: None,
            offset: 0,
            _memory: memory,
        })
    }

    /// Bytes appended so far.
    pub fn position(&self) -> u64 {
        self.offset + self.filled as u64
    }

    pub fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.filling.len() - self.filled;
            let now = room.min(bytes.len());
            self.filling[self.filled..self.filled + now].copy_from_slice(&bytes[..now]);
            self.filled += now;
            bytes = &bytes[now..];
            if self.filled == self.filling.len() {
                self.write_behind(self.filled)?;
            }
        }
        Ok(())
    }

    /// Writes what is left and cuts the padding off. Returns the length.
    pub fn finish(mut self) -> io::Result<u64> {
        let length = self.position();
        self.settle()?;
        if self.filled > 0 {
            let padded = self.filled.next_multiple_of(super::SECTOR);
            self.filling[self.filled..padded].fill(0);
            // Nothing is left to do meanwhile, so another thread would only be waited for.
            let (traffic, begun) = (&self.disk.traffic, Instant::now());
            traffic.count_written(self.disk.kind(), padded as u64, self.place());
            self.file.write_at(self.offset, &self.filling[..padded])?;
            traffic.count_writing(self.disk.kind(), begun);
        }
        self.file.set_len(length)?;
        Ok(length)
    }

    /// Whether the next write is the file's first.
    fn place(&self) -> Position {
        if self.offset == 0 { Position::Jump } else { Position::Next }
    }

    fn write_behind(&mut self, bytes: usize) -> io::Result<()> {
        let free = self.settle()?;
        let full = std::mem::replace(&mut self.filling, free);
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        self.disk.traffic.count_written(self.disk.kind(), bytes as u64, self.place());
        self.offset += self.filled as u64;
        self.filled = 0;
        let (traffic, kind) = (Arc::clone(&self.disk.traffic), self.disk.kind());
        let write = move || {
            let begun = Instant::now();
            let result = file.write_at(offset, &full[..bytes]);
            traffic.count_writing(kind, begun);
            (full, result)
        };
        self.writing = Some(match bytes as u64 <= FEW_BYTES {
            true => Pending::Ready(write()),
            false => self.disk.threads.submit(write),
        });
        Ok(())
    }

    /// Waits for the write on its way; returns a buffer that is free.
    fn settle(&mut self) -> io::Result<AlignedBuffer> {
        if let Some(writing) = self.writing.take() {
            let (buffer, result) = writing.wait().ok_or_else(|| io::Error::other("an I/O thread died"))?;
            result?;
            return Ok(buffer);
        }
        // Either the other buffer is on its way (handled above) or it is the spare one, except after a
        // failed write, when a fresh one keeps the stream in order until it is dropped.
        Ok(self.spare.take().unwrap_or_else(|| AlignedBuffer::new(self.filling.len())))
    }
}
