//! Looking single states up in a sorted run, in any order, through a bounded cache of decoded blocks.
//!
//! The index says which block can hold a state; the cache is small sets of blocks, the one used longest ago leaves. Each
//! thread has a lookup of its own, so nothing is locked.

use std::cmp::Ordering;
use std::sync::Arc;

use hadal_system::state::compare;

use super::block::BlockDecoder;
use super::file::RunFile;
use super::index::BlockIndex;
use crate::error::ReadError;
use crate::governor::{Governor, Reservation};
use crate::vfs::{AlignedBuffer, Position, VfsFile, read_extent};

/// Blocks among which the one that leaves is chosen.
const WAYS: usize = 4;
const NO_BLOCK: u32 = u32::MAX;

/// One thread's way into a run.
pub struct RunLookup {
    run: RunFile,
    index: Arc<BlockIndex>,
    file: Arc<dyn VfsFile>,
    decoder: BlockDecoder,
    slots: Vec<Slot>,
    clock: u32,
    buffer: Option<AlignedBuffer>,
    stats: LookupStats,
    _memory: Option<Reservation>,
}

struct Slot {
    block: u32,
    used: u32,
    flat: Vec<u64>,
}

/// What looking up did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupStats {
    /// States looked up.
    pub asked: u64,
    /// Blocks read for that.
    pub blocks_read: u64,
}

impl RunLookup {
    /// A lookup in `run` whose cache takes about `cache_bytes` of `budget`: less if that is not left, never less than a
    /// handful of blocks.
    pub fn open(
        run: &RunFile,
        index: Arc<BlockIndex>,
        budget: &Governor,
        cache_bytes: u64,
    ) -> Result<Self, ReadError> {
        let (shape, most_records) = (run.options().shape, run.most_records());
        let block_bytes = (most_records * shape.bytes()) as u64;
        let overhead = RunLookup::overhead(run);
        let most_sets = index.blocks().div_ceil(WAYS).next_power_of_two();
        let mut sets = (cache_bytes.saturating_sub(overhead) / (WAYS as u64 * block_bytes)).max(1) as usize;
        sets = (1 << sets.ilog2()).min(most_sets);
        let mut memory = None;
        while memory.is_none() {
            let bytes = overhead + (sets * WAYS) as u64 * block_bytes;
            memory = budget.try_reserve(bytes, "lookup cache").ok();
            if sets == 1 {
                break;
            }
            sets = if memory.is_none() { sets / 2 } else { sets };
        }
        let slot = || Slot { block: NO_BLOCK, used: 0, flat: Vec::new() };
        Ok(RunLookup {
            file: run.open_file()?,
            decoder: BlockDecoder::new(shape, run.identity(), most_records),
            slots: (0..sets * WAYS).map(|_| slot()).collect(),
            clock: 0,
            buffer: None,
            stats: LookupStats::default(),
            run: run.clone(),
            index,
            _memory: memory,
        })
    }

    /// Bytes that a lookup takes besides its cache.
    fn overhead(run: &RunFile) -> u64 {
        let options = run.options();
        BlockDecoder::footprint(options.shape, options.codec, run.most_records())
            + AlignedBuffer::footprint(2 * run.most_records() * options.shape.bytes())
    }

    /// Bytes of the least cache that a lookup in `run` works with.
    pub fn least_bytes(run: &RunFile) -> u64 {
        RunLookup::overhead(run) + (WAYS * run.most_records() * run.options().shape.bytes()) as u64
    }

    /// What it did so far.
    pub fn stats(&self) -> LookupStats {
        self.stats
    }

    /// The payload of `state`, if the run holds it.
    pub fn find(&mut self, state: &[u64]) -> Result<Option<&[u64]>, ReadError> {
        self.stats.asked += 1;
        let Some(block) = self.block_of(state) else { return Ok(None) };
        let slot = self.slot_of(block)?;
        let shape = self.run.options().shape;
        let (stride, flat) = (shape.stride(), &self.slots[slot].flat);
        let (mut low, mut high) = (0, flat.len() / stride);
        while low < high {
            let middle = (low + high) / 2;
            let record = &flat[middle * stride..(middle + 1) * stride];
            match compare(shape.state(record), state) {
                Ordering::Equal => return Ok(Some(&record[..shape.payload_words()])),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// The only block that can hold `state`.
    #[inline]
    fn block_of(&self, state: &[u64]) -> Option<u32> {
        let first = self.index.blocks() > 0 && compare(self.index.first_key(0), state) != Ordering::Greater;
        first.then(|| self.index.block_before(state) as u32)
    }

    /// The slot that holds a block, which is read if none does.
    fn slot_of(&mut self, block: u32) -> Result<usize, ReadError> {
        self.clock = self.clock.wrapping_add(1);
        let first = block as usize % (self.slots.len() / WAYS) * WAYS;
        let set = &self.slots[first..first + WAYS];
        if let Some(way) = set.iter().position(|slot| slot.block == block) {
            self.slots[first + way].used = self.clock;
            return Ok(first + way);
        }
        let age = |way: &usize| match set[*way].block {
            NO_BLOCK => u32::MAX,
            _ => self.clock.wrapping_sub(set[*way].used),
        };
        let way = first + (0..WAYS).max_by_key(age).unwrap_or(0);
        self.read(block, way)?;
        Ok(way)
    }

    #[cold]
    fn read(&mut self, block: u32, into: usize) -> Result<(), ReadError> {
        let name = self.run.name();
        let range = self.index.range(block as usize);
        let buffer = self.buffer.take().unwrap_or_else(|| AlignedBuffer::new(1));
        let extent = read_extent(&*self.file, range, buffer).map_err(|error| ReadError::io(name, error))?;
        let disk = self.run.disk();
        disk.traffic.count_read(disk.kind(), extent.bytes().len() as u64, Position::Jump);
        let slot = &mut self.slots[into];
        // Should decoding fail half-way, there is no block in the slot.
        slot.block = NO_BLOCK;
        self.decoder.decode(name, u64::from(block), extent.bytes(), &mut slot.flat)?;
        *slot = Slot { block, used: self.clock, flat: std::mem::take(&mut slot.flat) };
        self.buffer = Some(extent.into_buffer());
        self.stats.blocks_read += 1;
        Ok(())
    }
}
