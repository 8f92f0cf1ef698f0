//! Asking a sorted run which of many ascending candidates it holds, reading only blocks that may hold one.
//!
//! The index says which blocks those are; neighbours are read together, the next piece while this one is
//! decoded. When nearly every block is wanted this is a scan, when few are it is a handful of reads: the same code,
//! the distance up to which a gap is read through rather than skipped being the only cost estimate. It is as many bytes as
//! the disk was seen to read in the time of another request.

use std::ops::Range;
use std::sync::Arc;

use super::block::BlockDecoder;
use super::file::RunFile;
use super::index::BlockIndex;
use crate::bitmap::Bitmap;
use crate::error::{Corrupted, ReadError};
use crate::governor::Reservation;
use crate::shape::{Dynamic, RecordShape, Records, Width, with_width};
use crate::vfs::{AlignedBuffer, Extent, PendingExtent, Position, VfsFile, request_extent};

/// Reading on through a gap of this many bytes costs about as much as another request, on a disk not known yet.
const USUAL_GAP: u64 = 32 << 10;
/// Larger requests cost no less for each byte.
const MOST_CHUNK: u64 = 64 << 10;
/// One of the two chunks of a probe is larger than usual only where it takes at most one part in so many of what is available: many
/// runs are probed at a time, and others need memory after them.
const CHUNK_PART: u64 = 64;
/// A gap is never worth less: requests cost processor time, too.
const LEAST_GAP: u64 = 8 << 10;

/// Probes one run. Ascending calls go through the file once.
pub struct RunProbe {
    run: RunFile,
    index: Arc<BlockIndex>,
    file: Arc<dyn VfsFile>,
    decoder: BlockDecoder,
    /// The block decoded last, and its number.
    decoded: Vec<u64>,
    decoded_block: Option<usize>,
    spare: Vec<AlignedBuffer>,
    /// Bytes that are read with one request, at most.
    chunk_bytes: usize,
    stats: ProbeStats,
    _memory: Reservation,
}

/// What probing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeStats {
    /// Blocks decoded.
    pub blocks_decoded: u64,
    /// Requests to the disk.
    pub reads: u64,
    /// Candidates found.
    pub found: u64,
    /// Pairs of states compared.
    pub compared: u64,
}

/// Consecutive wanted blocks, and which candidates each is wanted for.
struct Wanted {
    block: usize,
    candidates: Range<usize>,
}

impl RunProbe {
    /// A probe of `run` through its `index`.
    pub fn open(run: &RunFile, index: Arc<BlockIndex>) -> Result<Self, ReadError> {
        let (shape, most_records) = (run.options().shape, run.most_records());
        let governor = &run.disk().governor;
        let decoder = BlockDecoder::footprint(shape, run.options().codec, most_records);
        let chunk_bytes = chunk_bytes(run, governor.available().saturating_sub(decoder));
        let memory =
            governor.try_reserve(decoder + 2 * AlignedBuffer::footprint(chunk_bytes), "run probe")?;
        Ok(RunProbe {
            chunk_bytes,
            file: run.open_file()?,
            decoder: BlockDecoder::new(shape, run.identity(), most_records),
            decoded: Vec::new(),
            decoded_block: None,
            spare: Vec::new(),
            stats: ProbeStats::default(),
            run: run.clone(),
            index,
            _memory: memory,
        })
    }

    /// What it did so far.
    pub fn stats(&self) -> ProbeStats {
        self.stats
    }

    /// Sets the bit of each candidate (strictly ascending) that the run holds. Bits that are set already are
    /// not looked for. Returns how many it found.
    pub fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let before = self.stats.found;
        let all = with_width!(candidates.shape(), w => self.wanted(w, candidates.flat(), present));
        let mut wanted = &all[..];
        if let Some(first) = wanted.first()
            && self.decoded_block == Some(first.block)
        {
            self.mark_decoded(candidates, first, present);
            wanted = &wanted[1..];
        }
        let mut ahead: Option<(Range<usize>, PendingExtent)> = None;
        let mut groups = self.groups(wanted).into_iter();
        loop {
            let next = groups.next().map(|group| (group.clone(), self.request(&wanted[group])));
            let last = next.is_none();
            if let Some((group, pending)) = std::mem::replace(&mut ahead, next) {
                let extent = pending.wait().map_err(|error| ReadError::io(self.run.name(), error))?;
                for wanted in &wanted[group] {
                    self.decode(&extent, wanted.block)?;
                    self.mark_decoded(candidates, wanted, present);
                }
                self.spare.push(extent.into_buffer());
            }
            if last {
                return Ok(self.stats.found - before);
            }
        }
    }

    /// Whether the run holds `state`.
    pub fn contains(&mut self, state: &[u64]) -> Result<bool, ReadError> {
        let mut present = Bitmap::new(1);
        let shape = RecordShape::states(self.run.options().shape.words());
        Ok(self.mark(Records::new(shape, state), &mut present)? == 1)
    }

    fn wanted<W: Width>(&mut self, w: W, flat: &[u64], present: &Bitmap) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let blocks = self.index.blocks();
        if blocks == 0 {
            return wanted;
        }
        let count = flat.len() / w.stride();
        let keys = Dynamic(RecordShape::states(w.words()));
        let first_keys = self.index.first_keys();
        // The first block that begins after the candidate; the one before it is the only one to hold it.
        let (mut after, mut compared) = (0, 0);
        for at in 0..count {
            if present.get(at) {
                continue;
            }
            let state = w.state(flat, at);
            compared += 1;
            if after < blocks && !w.less(state, keys.state(first_keys, after)) {
                after = gallop(after, blocks, |block| {
                    compared += 1;
                    !w.less(state, keys.state(first_keys, block))
                });
            }
            if after == 0 {
                continue;
            }
            if after == blocks && w.less(self.index.last_key(), state) {
                break;
            }
            match wanted.last_mut() {
                Some(last) if last.block == after - 1 => last.candidates.end = at + 1,
                _ => wanted.push(Wanted { block: after - 1, candidates: at..at + 1 }),
            }
        }
        self.stats.compared += compared;
        wanted
    }

    /// Groups of wanted blocks that are read with one request each.
    fn groups(&self, wanted: &[Wanted]) -> Vec<Range<usize>> {
        let most = self.chunk_bytes as u64;
        let speed = &self.run.disk().traffic.speed;
        let gap = speed.cost().map_or(USUAL_GAP, |cost| cost.bytes_per_request().max(LEAST_GAP));
        let mut groups: Vec<Range<usize>> = Vec::new();
        // Where the current group begins and ends in the file.
        let mut extent = 0..0;
        for (at, block) in wanted.iter().enumerate() {
            let range = self.index.range(block.block);
            let near = range.start.saturating_sub(extent.end) <= gap && range.end - extent.start <= most;
            match groups.last_mut() {
                Some(group) if near => {
                    group.end = at + 1;
                    extent.end = range.end;
                }
                _ => {
                    groups.push(at..at + 1);
                    extent = range;
                }
            }
        }
        groups
    }

    fn request(&mut self, wanted: &[Wanted]) -> PendingExtent {
        let buffer = self.spare.pop();
        let buffer = buffer.unwrap_or_else(|| AlignedBuffer::new(self.chunk_bytes));
        let (first, last) = (&wanted[0], &wanted[wanted.len() - 1]);
        let range = self.index.range(first.block).start..self.index.range(last.block).end;
        self.stats.reads += 1;
        request_extent(self.run.disk(), &self.file, (range, Position::Jump), buffer)
    }

    fn decode(&mut self, extent: &Extent, block: usize) -> Result<(), ReadError> {
        let name = self.run.name();
        let bytes = extent
            .range(self.index.range(block))
            .ok_or_else(|| Corrupted::block(name, block as u64, "the index misplaces it"))?;
        // Should decoding fail half-way, there is no decoded block.
        self.decoded_block = None;
        self.decoder.decode(name, block as u64, bytes, &mut self.decoded)?;
        self.decoded_block = Some(block);
        self.stats.blocks_decoded += 1;
        self.run.disk().traffic.count_records_read(self.index.records(block) as u64);
        Ok(())
    }

    fn mark_decoded(&mut self, candidates: Records<'_>, wanted: &Wanted, present: &mut Bitmap) {
        let held = Records::new(self.run.options().shape, &self.decoded);
        let walk = mark_present(candidates, wanted.candidates.clone(), held, present);
        self.stats.found += walk.found;
        self.stats.compared += walk.compared;
    }
}

/// Bytes to read with one request of a run, where this much memory is available: a large run that is asked for much is read in
/// few requests, as each costs time of its own.
fn chunk_bytes(run: &RunFile, available: u64) -> usize {
    let usual = run.options().chunk_bytes as u64;
    let most = (available / CHUNK_PART).min(run.bytes()).min(MOST_CHUNK);
    let mut chunk = usual;
    while 2 * chunk <= most {
        chunk *= 2;
    }
    chunk as usize
}

/// The first of `from..to` for which `below` does not hold; it holds for all before that one.
#[inline]
fn gallop(from: usize, to: usize, mut below: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= to && below(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step).min(to);
    while low < high {
        let middle = (low + high) / 2;
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Marks those of the candidates numbered `range` that are among `held`; both strictly ascend.
pub(crate) fn mark_present(
    candidates: Records<'_>,
    range: Range<usize>,
    held: Records<'_>,
    present: &mut Bitmap,
) -> Walk {
    if candidates.shape() == held.shape() {
        return with_width!(held.shape(), w => {
            mark_walk(Strided(w, candidates.flat()), range, Strided(w, held.flat()), present)
        });
    }
    let wide = |records: Records<'_>| Dynamic(records.shape());
    mark_walk(Strided(wide(candidates), candidates.flat()), range, Strided(wide(held), held.flat()), present)
}

/// What a walk along candidates and a block came to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Walk {
    /// Candidates that were marked and were not before.
    pub found: u64,
    /// Pairs of states compared.
    pub compared: u64,
}

/// Records whose width is known while compiling, and how wide they are.
#[derive(Clone, Copy)]
struct Strided<'a, W>(W, &'a [u64]);

impl<'a, W: Width> Strided<'a, W> {
    #[inline(always)]
    fn len(self) -> usize {
        self.1.len() / self.0.stride()
    }

    #[inline(always)]
    fn state(self, at: usize) -> &'a [u64] {
        self.0.state(self.1, at)
    }
}

fn mark_walk<C: Width, H: Width>(
    candidates: Strided<'_, C>,
    range: Range<usize>,
    held: Strided<'_, H>,
    present: &mut Bitmap,
) -> Walk {
    let (h, count) = (held.0, held.len());
    let dense = range.len() * 8 > count;
    let mut at = 0;
    let mut walk = Walk::default();
    for candidate in range {
        let state = candidates.state(candidate);
        if dense {
            let from = at;
            while at < count && h.less(held.state(at), state) {
                at += 1;
            }
            walk.compared += (at - from) as u64 + 1;
        } else {
            at = gallop(at, count, |place| {
                walk.compared += 1;
                h.less(held.state(place), state)
            });
        }
        if at == count {
            break;
        }
        if h.equal(held.state(at), state) && !present.get(candidate) {
            present.set(candidate);
            walk.found += 1;
        }
        walk.compared += 1;
    }
    walk
}
