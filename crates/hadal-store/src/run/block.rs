//! One block: framing, checksum and codec around the columns.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use xxhash_rust::xxh3::xxh3_64_with_seed;
use zstd::bulk::{Compressor, Decompressor};

use super::{Codec, RunOptions, columns};
use crate::error::{Corrupted, checksums_agree};
use crate::shape::{RecordShape, with_width};

/// Bytes of a block before its first key.
pub(super) const FRAME_BYTES: usize = 32;

/// A block's numbers, read but not yet trusted with anything but its own length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    checksum: u64,
    stored: u32,
    raw: u32,
    pub count: u32,
    codec: u8,
    number: u64,
}

impl Frame {
    /// Bytes of the whole block.
    pub fn block_bytes(&self, shape: RecordShape) -> usize {
        FRAME_BYTES + 8 * shape.words() + self.stored as usize
    }

    /// Reads the frame at the start of `bytes`, which holds at least [`FRAME_BYTES`].
    pub fn parse(bytes: &[u8]) -> Frame {
        Frame {
            checksum: u64_at(bytes, 0),
            stored: u32_at(bytes, 8),
            raw: u32_at(bytes, 12),
            count: u32_at(bytes, 16),
            codec: bytes[20],
            number: u64_at(bytes, 24),
        }
    }
}

/// Turns records into blocks.
pub(super) struct BlockEncoder {
    shape: RecordShape,
    identity: u64,
    columns: Vec<u8>,
    block: Vec<u8>,
    squeezer: Squeezer,
}

/// What compresses.
enum Squeezer {
    Nothing,
    Lz4(CompressTable),
    Zstd(Compressor<'static>),
}

/// The fastest level: level 3 takes longer and shrinks blocks of sorted states by a twentieth.
const ZSTD_LEVEL: i32 = 1;
/// What the two sides of Zstandard hold besides buffers, at blocks of at most half a megabyte.
const ZSTD_ENCODER_BYTES: u64 = 900 << 10;
const ZSTD_DECODER_BYTES: u64 = 160 << 10;

impl BlockEncoder {
    pub fn new(options: &RunOptions, identity: u64) -> Self {
        let bound = columns_bound(options.shape, options.block_records());
        let squeezer = match options.codec {
            Codec::Plain => Squeezer::Nothing,
            Codec::Lz4 if bound < 0xFFFF => Squeezer::Lz4(CompressTable::small()),
            Codec::Lz4 => Squeezer::Lz4(CompressTable::large()),
            // Without memory for it blocks are stored as they are.
            Codec::Zstd => Compressor::new(ZSTD_LEVEL).map_or(Squeezer::Nothing, Squeezer::Zstd),
        };
        let head = FRAME_BYTES + 8 * options.shape.words();
        BlockEncoder {
            shape: options.shape,
            identity,
            columns: vec![0; bound],
            block: vec![0; head + get_maximum_output_size(bound).max(zstd_bound(bound))],
            squeezer,
        }
    }

    /// Bytes an encoder holds.
    pub fn footprint(options: &RunOptions) -> u64 {
        let bound = columns_bound(options.shape, options.block_records());
        let codec = if options.codec == Codec::Zstd { ZSTD_ENCODER_BYTES } else { 16 << 10 };
        let output = get_maximum_output_size(bound).max(zstd_bound(bound));
        codec + (bound + output + FRAME_BYTES + 8 * options.shape.words()) as u64
    }

    /// The block numbered `number` that holds `flat`, or `None` if its states do not strictly ascend.
    pub fn encode(&mut self, flat: &[u64], number: u64) -> Option<&[u8]> {
        let shape = self.shape;
        let raw = with_width!(shape, w => columns::encode(w, flat, &mut self.columns))?;
        let head = FRAME_BYTES + 8 * shape.words();
        let body = &mut self.block[head..];
        // The output has the codec's own maximum size, so it cannot run out.
        let compressed = match &mut self.squeezer {
            Squeezer::Nothing => None,
            Squeezer::Lz4(table) => {
                compress_into_with_table(&self.columns[..raw], body, table).ok().map(|bytes| (1, bytes))
            }
            Squeezer::Zstd(compressor) => {
                compressor.compress_to_buffer(&self.columns[..raw], body).ok().map(|bytes| (2, bytes))
            }
        };
        let (codec, stored) = match compressed {
            Some((codec, smaller)) if smaller < raw => (codec, smaller),
            _ => {
                body[..raw].copy_from_slice(&self.columns[..raw]);
                (0, raw)
            }
        };
        let block = &mut self.block[..head + stored];
        block[8..12].copy_from_slice(&(stored as u32).to_le_bytes());
        block[12..16].copy_from_slice(&(raw as u32).to_le_bytes());
        block[16..20].copy_from_slice(&((flat.len() / shape.stride()) as u32).to_le_bytes());
        block[20..24].copy_from_slice(&[codec, 0, 0, 0]);
        block[24..32].copy_from_slice(&number.to_le_bytes());
        for (bytes, word) in block[32..head].chunks_exact_mut(8).zip(shape.state(&flat[..shape.stride()])) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64_with_seed(&block[8..], self.identity);
        block[..8].copy_from_slice(&checksum.to_le_bytes());
        Some(block)
    }
}

/// Turns blocks back into records.
pub(super) struct BlockDecoder {
    shape: RecordShape,
    identity: u64,
    most_records: usize,
    columns: Vec<u8>,
    first: Vec<u64>,
    /// Made by the first block that needs it.
    zstd: Option<Decompressor<'static>>,
}

impl BlockDecoder {
    pub fn new(shape: RecordShape, identity: u64, most_records: usize) -> Self {
        let columns = vec![0; columns_bound(shape, most_records) + columns::PADDING];
        BlockDecoder { shape, identity, most_records, columns, first: vec![0; shape.words()], zstd: None }
    }

    /// Bytes a decoder holds, together with one decoded block.
    pub fn footprint(shape: RecordShape, codec: Codec, most_records: usize) -> u64 {
        let codec = if codec == Codec::Zstd { ZSTD_DECODER_BYTES } else { 0 };
        codec + (columns_bound(shape, most_records) + columns::PADDING + most_records * shape.bytes()) as u64
    }

    /// Decodes `block`, which must be the one numbered `number` of `file`, replacing the contents of `flat`.
    pub fn decode(
        &mut self,
        file: &str,
        number: u64,
        block: &[u8],
        flat: &mut Vec<u64>,
    ) -> Result<(), Corrupted> {
        let wrong = |what| Corrupted::block(file, number, what);
        let head = FRAME_BYTES + 8 * self.shape.words();
        if block.len() < head {
            return Err(wrong("it is shorter than its header"));
        }
        let frame = Frame::parse(block);
        if !checksums_agree(frame.checksum, xxh3_64_with_seed(&block[8..], self.identity)) {
            return Err(wrong("its checksum does not match"));
        }
        if frame.number != number {
            return Err(wrong("it stands in another block's place"));
        }
        let (raw, count) = (frame.raw as usize, frame.count as usize);
        let body = &block[head..];
        let bound = self.columns.len() - columns::PADDING;
        if raw > bound || count == 0 || count > self.most_records || body.len() != frame.stored as usize {
            return Err(wrong("its lengths are impossible"));
        }
        match frame.codec {
            0 if body.len() == raw => self.columns[..raw].copy_from_slice(body),
            1 => match decompress_into(body, &mut self.columns[..raw]) {
                Ok(length) if length == raw => {}
                _ => return Err(wrong("it does not decompress")),
            },
            2 => {
                let decompressor = match &mut self.zstd {
                    Some(decompressor) => decompressor,
                    none => none.insert(
                        Decompressor::new().map_err(|_| wrong("there is no memory to decompress it"))?,
                    ),
                };
                match decompressor.decompress_to_buffer(body, &mut self.columns[..raw]) {
                    Ok(length) if length == raw => {}
                    _ => return Err(wrong("it does not decompress")),
                }
            }
            _ => return Err(wrong("its codec is unknown")),
        }
        for (word, bytes) in self.first.iter_mut().zip(block[FRAME_BYTES..head].chunks_exact(8)) {
            *word = u64_at(bytes, 0);
        }
        flat.resize(count * self.shape.stride(), 0);
        let decoded = with_width!(self.shape, w => columns::decode(w, &self.first, &self.columns, raw, flat));
        if decoded { Ok(()) } else { Err(wrong("its columns do not add up")) }
    }
}

/// The most that Zstandard makes of so many bytes.
fn zstd_bound(bytes: usize) -> usize {
    zstd::zstd_safe::compress_bound(bytes)
}

fn columns_bound(shape: RecordShape, count: usize) -> usize {
    with_width!(shape, w => columns::bound(w, count))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
