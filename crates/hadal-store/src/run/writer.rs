//! Writing a sorted run: ascending records in, a finished file out.

use xxhash_rust::xxh3::xxh3_64;

use super::block::BlockEncoder;
use super::file::{self, Layout, RunFile, RunSummary, Trailer};
use super::index::BlockIndex;
use super::slice::RunMark;
use super::{RunKind, RunOptions};
use crate::error::WriteError;
use crate::governor::Reservation;
use crate::shape::Records;
use crate::vfs::{AlignedBuffer, AppendError, AppendStream, Disk};

/// A run being written. Dropped before [`RunWriter::finish`], it leaves no file.
pub struct RunWriter {
    disk: Disk,
    name: String,
    options: RunOptions,
    stream: Option<AppendStream>,
    encoder: BlockEncoder,
    index: BlockIndex,
    pending: Vec<u64>,
    records: u64,
    finished: bool,
    memory: Reservation,
}

impl RunWriter {
    /// Starts a run under a fresh name.
    pub fn create(disk: &Disk, kind: RunKind, options: &RunOptions) -> Result<Self, WriteError> {
        let name = disk.fresh_name(kind.name());
        let disk = &disk.holding(Some(kind));
        let memory = disk.governor.try_reserve(RunWriter::own_bytes(options), "run writer")?;
        let mut stream =
            AppendStream::create(disk, &name, options.chunk_bytes).map_err(|error| match error {
                AppendError::OverBudget(over) => WriteError::OverBudget(over),
                AppendError::Io(error) => WriteError::io(&name, error),
            })?;
        let started = stream.append(&file::header(&name, kind, options));
        started.map_err(|error| WriteError::io(&name, error))?;
        Ok(RunWriter {
            disk: disk.clone(),
            encoder: BlockEncoder::new(options, file::identity(&name)),
            index: BlockIndex::new(options.shape.words()),
            pending: Vec::with_capacity(options.block_records() * options.shape.stride()),
            records: 0,
            finished: false,
            name,
            options: *options,
            stream: Some(stream),
            memory,
        })
    }

    /// Bytes of memory a writer of runs like these takes, with the index of so many records.
    pub fn footprint(options: &RunOptions, records: u64) -> u64 {
        let blocks = records.div_ceil(options.block_records() as u64);
        // At the end the index is there twice.
        let index = 2 * blocks.saturating_mul(BlockIndex::entry_bytes(options.shape.words()));
        RunWriter::own_bytes(options) + 2 * AlignedBuffer::footprint(options.chunk_bytes) + index
    }

    /// What it takes besides its index and the buffers of its stream.
    pub fn own_bytes(options: &RunOptions) -> u64 {
        BlockEncoder::footprint(options) + (options.block_records() * options.shape.bytes()) as u64
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Appends one record; states must strictly ascend.
    #[inline]
    pub fn push(&mut self, record: &[u64]) -> Result<(), WriteError> {
        debug_assert_eq!(record.len(), self.options.shape.stride());
        if self.pending.len() >= self.options.block_records() * self.options.shape.stride() {
            self.write_pending()?;
        }
        self.records += 1;
        self.pending.extend_from_slice(record);
        Ok(())
    }

    /// Appends many records; states must strictly ascend, also from one call to the next.
    pub fn push_all(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        debug_assert_eq!(records.shape(), self.options.shape);
        let full = self.options.block_records() * self.options.shape.stride();
        let mut flat = records.flat();
        self.records += records.len() as u64;
        while !flat.is_empty() {
            if self.pending.len() >= full {
                self.write_pending()?;
            }
            if self.pending.is_empty() && flat.len() >= full {
                self.write_block(&flat[..full])?;
                flat = &flat[full..];
                continue;
            }
            let now = flat.len().min(full - self.pending.len());
            self.pending.extend_from_slice(&flat[..now]);
            flat = &flat[now..];
        }
        Ok(())
    }

    /// Ends the block, so that a slice may end or begin here.
    pub fn mark(&mut self) -> Result<RunMark, WriteError> {
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        // Present until `finish`, which consumes the writer.
        let offset = self.stream.as_ref().map_or(0, AppendStream::position);
        Ok(RunMark { offset, block: self.index.blocks() as u64, records: self.records })
    }

    /// Writes index and trailer. The file becomes durable with the commit that names it.
    pub fn finish(mut self) -> Result<RunFile, WriteError> {
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        // Taken only here, and `finish` consumes the writer.
        let Some(mut stream) = self.stream.take() else { unreachable!() };
        let identity = file::identity(&self.name);
        self.memory
            .try_grow(self.index.blocks() as u64 * BlockIndex::entry_bytes(self.options.shape.words()))?;
        let index_offset = stream.position();
        let (index, index_checksum) = self.index.encode(identity);
        let trailer = Trailer {
            index_offset,
            index_bytes: index.len() as u64,
            blocks: self.index.blocks() as u64,
            records: self.records,
            file_bytes: index_offset + (index.len() + file::TRAILER_BYTES) as u64,
            index_checksum,
        };
        let tail = trailer.encode(identity);
        let tail_checksum = xxh3_64(&tail);
        let written =
            stream.append(&index).and_then(|()| stream.append(&tail)).and_then(|()| stream.finish());
        let bytes = written.map_err(|error| WriteError::io(&self.name, error))?;
        self.finished = true;
        self.disk.traffic.count_records_written(self.records);
        let summary = RunSummary { records: self.records, bytes, tail_checksum };
        let name = std::mem::take(&mut self.name);
        let layout = Layout { options: self.options, most_records: self.options.block_records(), trailer };
        Ok(RunFile::from_parts(&self.disk, name, summary, layout))
    }

    fn write_pending(&mut self) -> Result<(), WriteError> {
        let pending = std::mem::take(&mut self.pending);
        let written = self.write_block(&pending);
        self.pending = pending;
        self.pending.clear();
        written
    }

    fn write_block(&mut self, flat: &[u64]) -> Result<(), WriteError> {
        let shape = self.options.shape;
        let first = shape.state(&flat[..shape.stride()]);
        let last = shape.state(&flat[flat.len() - shape.stride()..]);
        let follows = self.index.blocks() == 0
            || hadal_system::state::compare(self.index.last_key(), first) == std::cmp::Ordering::Less;
        let number = self.index.blocks() as u64;
        let block = if follows { self.encoder.encode(flat, number) } else { None };
        let Some(block) = block else { return Err(WriteError::NotAscending { file: self.name.clone() }) };
        self.memory.try_grow(BlockIndex::entry_bytes(shape.words()))?;
        // Present until `finish`, which consumes the writer.
        let Some(stream) = &mut self.stream else { unreachable!() };
        let offset = stream.position();
        stream.append(block).map_err(|error| WriteError::io(&self.name, error))?;
        self.index.push(offset..offset + block.len() as u64, flat.len() / shape.stride(), first, last);
        Ok(())
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if !self.finished {
            self.stream = None;
            let _ = self.disk.vfs.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::Governor;
    use crate::run::Codec;
    use crate::shape::RecordShape;
    use crate::vfs::{IoThreads, MemoryFolder};
    use std::sync::Arc;

    #[test]
    fn a_writer_needs_no_more_than_is_said_and_not_much_less() {
        for (words, records) in [(1, 40_000), (2, 1000), (40, 5000)] {
            for codec in [Codec::Plain, Codec::Lz4, Codec::Zstd] {
                let shape = RecordShape::states(words);
                let options = RunOptions { codec, block_bytes: 8 << 10, ..RunOptions::new(shape, 7) };
                let write = |memory| -> Result<RunFile, WriteError> {
                    let folder = Arc::new(MemoryFolder::new(&Governor::unlimited()));
                    let disk = Disk::new(folder, IoThreads::new(0), Governor::new(memory), 0);
                    let mut writer = RunWriter::create(&disk, RunKind::Frontier, &options)?;
                    for n in 0..records {
                        writer.push(&vec![n; words])?;
                    }
                    writer.finish()
                };
                let said = RunWriter::footprint(&options, records);
                assert_eq!(write(said).unwrap().records(), records);
                assert!(matches!(write(said - said / 8), Err(WriteError::OverBudget(_))));
            }
        }
    }
}
