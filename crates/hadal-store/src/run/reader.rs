//! Reading a sorted run front to back, one decoded block at a time.

use super::RunOptions;
use super::block::{BlockDecoder, FRAME_BYTES, Frame};
use super::file::{HEADER_BYTES, RunFile};
use super::index::BlockIndex;
use super::slice::SlicePlace;
use crate::error::{Corrupted, ReadError};
use crate::governor::Reservation;
use crate::shape::RecordShape;
use crate::vfs::{AlignedBuffer, SequentialStream};

/// A sequential scan with read-ahead.
pub struct RunReader {
    run: RunFile,
    stream: SequentialStream,
    decoder: BlockDecoder,
    block: Vec<u8>,
    number: u64,
    /// The number after the last block.
    end: u64,
    /// Records still to come.
    left: u64,
    _memory: Reservation,
}

impl RunReader {
    /// Starts at the first record.
    pub fn open(run: &RunFile) -> Result<Self, ReadError> {
        RunReader::of_slice(run, whole(run))
    }

    /// Starts at the first record of a block; `index` must be this run's.
    pub fn open_at(run: &RunFile, index: &BlockIndex, block: usize) -> Result<Self, ReadError> {
        let block = block.min(index.blocks());
        let end = run.trailer().index_offset;
        let offset = if block < index.blocks() { index.range(block).start } else { end };
        let before: u64 = (0..block).map(|block| index.records(block) as u64).sum();
        let (blocks, records) = (run.trailer().blocks - block as u64, run.records().saturating_sub(before));
        let block = block as u64;
        RunReader::of_slice(run, SlicePlace { offset, bytes: end - offset, block, blocks, records })
    }

    /// Reads these blocks of a run.
    pub(super) fn of_slice(run: &RunFile, place: SlicePlace) -> Result<Self, ReadError> {
        let options = run.options();
        let (shape, most_records) = (options.shape, run.most_records());
        let bytes = 2 * BlockDecoder::footprint(shape, options.codec, most_records);
        let memory = run.disk().governor.try_reserve(bytes, "run reader")?;
        let range = place.offset..place.offset + place.bytes;
        // What is small needs no large buffers.
        let chunk = (options.chunk_bytes as u64).min(place.bytes) as usize;
        let stream = SequentialStream::new(run.disk(), run.open_file()?, range, chunk)?;
        Ok(RunReader {
            stream,
            decoder: BlockDecoder::new(shape, run.identity(), most_records),
            block: Vec::new(),
            number: place.block,
            end: place.block + place.blocks,
            left: place.records,
            run: run.clone(),
            _memory: memory,
        })
    }

    /// Bytes of memory a reader of runs like these takes, with one block decoded.
    pub fn footprint(options: &RunOptions) -> u64 {
        2 * BlockDecoder::footprint(options.shape, options.codec, options.block_records())
            + 2 * AlignedBuffer::footprint(options.chunk_bytes)
    }

    /// Memory that a reader of `run` asks for, at most.
    pub fn footprint_of(run: &RunFile) -> u64 {
        let options = run.options();
        let block_bytes = run.most_records() * options.shape.bytes();
        RunReader::footprint(&RunOptions { block_bytes, ..*options })
    }

    /// The shape of the records.
    pub fn shape(&self) -> RecordShape {
        self.run.options().shape
    }

    /// Replaces the contents of `flat` by the records of the next block; `false` at the end.
    pub fn next_block(&mut self, flat: &mut Vec<u64>) -> Result<bool, ReadError> {
        if self.run.disk().brake.is_pulled() {
            return Err(ReadError::Stopped);
        }
        let name = self.run.name();
        if self.number == self.end {
            flat.clear();
            if self.left != 0 {
                return Err(Corrupted::file(name, "its blocks hold another number of records").into());
            }
            return Ok(false);
        }
        let cut = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Corrupted::block(name, self.number, "it reaches into the index").into()
            }
            _ => ReadError::io(name, error),
        };
        self.stream.read(FRAME_BYTES, &mut self.block).map_err(cut)?;
        let frame = Frame::parse(&self.block);
        let bytes = frame.block_bytes(self.run.options().shape);
        if bytes as u64 > self.run.bytes() {
            return Err(Corrupted::block(name, self.number, "its lengths are impossible").into());
        }
        self.stream.read_more(bytes - FRAME_BYTES, &mut self.block).map_err(cut)?;
        self.decoder.decode(name, self.number, &self.block, flat)?;
        self.number += 1;
        self.run.disk().traffic.count_records_read(u64::from(frame.count));
        let too_many = || Corrupted::file(name, "its blocks hold another number of records");
        self.left = self.left.checked_sub(u64::from(frame.count)).ok_or_else(too_many)?;
        Ok(true)
    }
}

/// All blocks of a run.
fn whole(run: &RunFile) -> SlicePlace {
    let (offset, trailer) = (HEADER_BYTES as u64, run.trailer());
    let bytes = trailer.index_offset - offset;
    SlicePlace { offset, bytes, block: 0, blocks: trailer.blocks, records: run.records() }
}
