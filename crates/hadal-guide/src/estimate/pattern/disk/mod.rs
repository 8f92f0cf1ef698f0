//! A pattern database on disk: the projection is explored forwards layer by layer with sorted runs, its edges are sorted by
//! where they lead, and distances come from going backwards over them, layer by layer again (delayed duplicate detection,
//! as in Edelkamp's external pattern databases).
//!
//! What is kept is one run of states with their distances (`docs/format.md`), looked up through a bounded cache.

use super::projection::Projection;
use super::{EDGE_WORK, UNREACHED, Unbuilt};
use crate::room::Room;
use crate::task::AbstractTask;
use hadal_store::error::{ReadError, WriteError};
use hadal_store::levels::{LevelPolicy, Levels};
use hadal_store::run::{BlockIndex, Codec, RunFile, RunKind, RunLookup, RunOptions, RunReader, RunWriter};
use hadal_store::shape::RecordShape;
use hadal_store::sort::Sorter;
use hadal_store::vfs::at_once;
use hadal_store::{Disk, Governor, Reservation};
use std::fmt::Write;
use std::sync::Arc;

mod edges;

use edges::Edges;

/// Share of the budget, in percent, for each of the two buffers that are sorted.
const BUFFER_SHARE: u64 = 20;
/// Bytes of a block of the finished table, as it is in RAM.
const TABLE_BLOCK: usize = 8 << 10;
/// From so many states on blocks are larger, so that the index stays small.
const LARGE_TABLE: u64 = 1 << 28;
/// Successors of a state that are held together.
const MANY_SUCCESSORS: usize = 1 << 16;
/// How much larger each run of a set of states is than the next newer one.
const RATIO: u64 = 3;

/// Distances of the reachable states of a projection, on disk.
pub(super) struct DiskTable {
    run: RunFile,
    index: Arc<BlockIndex>,
    /// What the caches of all threads may take, and what one of them takes.
    caches: Governor,
    one_cache: u64,
    _memory: Reservation,
}

impl DiskTable {
    /// The table of a projection: one that is there already, or a new one. `name` tells it from those of other
    /// projections and models.
    pub(super) fn build(
        projection: &Projection,
        starts: &[Vec<u16>],
        most_edges: u64,
        name: u64,
        (room, disk): (&Room, &Disk),
    ) -> Result<RunFile, Unbuilt> {
        if let Some(run) = existing(disk, name) {
            return Ok(run);
        }
        let builder = Builder { projection, room, disk, limit: disk.governor.limit() };
        let (reached, edges) = builder.forwards(starts, most_edges)?;
        let settled = builder.backwards(&reached, edges)?;
        let run = builder.join(&reached, &settled, name)?;
        run.sync().map_err(|source| WriteError::Io { file: run.name().into(), source })?;
        run.keep();
        Ok(run)
    }

    /// Prepares a table to be looked up by so many threads, whose caches take `cache_bytes` together.
    pub(super) fn open(run: RunFile, threads: usize, cache_bytes: u64) -> Result<Self, Unbuilt> {
        let index = Arc::new(BlockIndex::load(&run)?);
        let least = RunLookup::least_bytes(&run) * threads as u64;
        let bytes = cache_bytes.max(least);
        let memory = run.disk().governor.try_reserve(bytes, "the cache of a pattern database")?;
        let (caches, one_cache) = (Governor::new(bytes), bytes / threads as u64);
        Ok(DiskTable { run, index, caches, one_cache, _memory: memory })
    }

    /// One thread's way into it.
    pub(super) fn lookup(&self) -> Result<RunLookup, ReadError> {
        RunLookup::open(&self.run, Arc::clone(&self.index), &self.caches, self.one_cache)
    }
}

/// The distance that a lookup gives for a state. What was never met in the projection is not spoken about.
#[inline]
pub(super) fn distance(lookup: &mut RunLookup, state: u64) -> Result<u16, ReadError> {
    Ok(lookup.find(&[state])?.map_or(0, |payload| payload[0] as u16))
}

/// A number that tells the table of a projection from every other.
pub(super) fn name(model: u64, task: &AbstractTask, projection: &Projection) -> u64 {
    struct Hash(Vec<u64>);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for bytes in text.as_bytes().chunks(8) {
                let word = bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
                self.0[0] = hadal_system::state::hash(&[self.0[0], word]);
            }
            Ok(())
        }
    }
    let mut hash = Hash(vec![model]);
    // Writing to it does not fail.
    let _ = write!(hash, "{:?} {:?}", projection.description(), task.operators);
    hash.0[0]
}

fn options_of(words: usize, payload: usize, limit: u64) -> RunOptions {
    // A small budget cannot spare the usual buffers for each of a dozen open runs.
    let most = (limit / 256).max(4 << 10) as usize;
    let usual = RunOptions::new(RecordShape::with_payload(words, payload), 0);
    RunOptions {
        block_bytes: usual.block_bytes.min(most),
        chunk_bytes: usual.chunk_bytes.min(most),
        codec: Codec::Lz4,
        ..usual
    }
}

fn table_options(limit: u64, name: u64, states: u64) -> RunOptions {
    let block_bytes = if states > LARGE_TABLE { 8 * TABLE_BLOCK } else { TABLE_BLOCK };
    RunOptions { fingerprint: name, block_bytes, ..options_of(1, 1, limit) }
}

/// A finished table of this name that is whole. Those that are damaged go.
fn existing(disk: &Disk, name: u64) -> Option<RunFile> {
    let files = disk.vfs.list().ok()?;
    for file in files.iter().filter(|file| file.name.starts_with("distances-")) {
        let options = table_options(disk.governor.limit(), name, 0);
        let whole = RunFile::open(disk, &file.name, &options).and_then(|run| {
            let (mut reader, mut block) = (RunReader::open(&run)?, Vec::new());
            while reader.next_block(&mut block)? {}
            Ok(run)
        });
        match whole {
            Ok(run) => return Some(run),
            Err(ReadError::Corrupted(_)) => {
                let _ = disk.vfs.remove(&file.name);
            }
            Err(_) => {}
        }
    }
    None
}

struct Builder<'a> {
    projection: &'a Projection,
    room: &'a Room<'a>,
    disk: &'a Disk,
    limit: u64,
}

impl Builder<'_> {
    fn sorter(&self, options: RunOptions) -> Sorter<'_> {
        Sorter::new(self.disk, options, self.limit / 100 * BUFFER_SHARE)
    }

    /// The reachable states, and the edges between them sorted by where they lead.
    fn forwards(&self, starts: &[Vec<u16>], most_edges: u64) -> Result<(RunFile, RunFile), Unbuilt> {
        let options = options_of(1, 0, self.limit);
        let mut first: Vec<u64> = starts.iter().map(|start| self.projection.number(start)).collect();
        first.sort_unstable();
        first.dedup();
        let mut writer = RunWriter::create(self.disk, RunKind::Frontier, &options)?;
        first.iter().try_for_each(|state| writer.push(&[*state]))?;
        let mut layer = writer.finish()?;
        let mut reached = Levels::new(self.disk, options, LevelPolicy::Merging { ratio: RATIO });
        let mut edges = self.sorter(options_of(2, 0, self.limit));
        let mut found = self.sorter(options);
        let (mut walk, mut block, mut count) = (self.projection.walk(), Vec::new(), 0);
        let (mut next, mut told) = (Vec::new(), 0);
        while layer.records() > 0 {
            at_once(reached.add_run(layer.clone()))?;
            let mut reader = RunReader::open(&layer)?;
            while reader.next_block(&mut block)? {
                self.room.spend((count - std::mem::replace(&mut told, count)) * EDGE_WORK)?;
                for &state in &block {
                    next.clear();
                    self.projection.successors(&mut walk, state, &mut |_, to| {
                        count += 1;
                        next.push(to);
                        if next.len() >= MANY_SUCCESSORS {
                            put(state, &mut next, &mut found, &mut edges)?;
                        }
                        if count > most_edges { Err(Unbuilt::ManyEdges) } else { Ok(()) }
                    })?;
                    put(state, &mut next, &mut found, &mut edges)?;
                }
            }
            drop(reader);
            layer = found.drain_into_new(&reached)?;
        }
        at_once(reached.compact())?;
        let reached = reached.runs().next().cloned().unwrap_or(layer);
        Ok((reached, edges.into_run()?))
    }

    /// The reachable states from which one that is looked for can be reached, with their distances.
    fn backwards(&self, reached: &RunFile, edges: RunFile) -> Result<RunFile, Unbuilt> {
        let options = options_of(1, 1, self.limit);
        let mut writer = RunWriter::create(self.disk, RunKind::Frontier, &options)?;
        let (mut reader, mut block) = (RunReader::open(reached)?, Vec::new());
        while reader.next_block(&mut block)? {
            for &state in block.iter().filter(|&&state| self.projection.is_goal(state)) {
                writer.push(&[0, state])?;
            }
        }
        drop(reader);
        let mut layer = writer.finish()?;
        let mut settled = Levels::new(self.disk, options, LevelPolicy::Merging { ratio: RATIO });
        let mut found = self.sorter(options);
        let edges = Edges::open(edges)?;
        let mut distance = 0;
        while layer.records() > 0 {
            at_once(settled.add_run(layer.clone()))?;
            distance = (distance + 1).min(u64::from(UNREACHED) - 1);
            let mut cursor = edges.cursor();
            let mut reader = RunReader::open(&layer)?;
            while reader.next_block(&mut block)? {
                self.room.spend(block.len() as u64 * EDGE_WORK)?;
                for record in block.chunks_exact(2) {
                    cursor.each_into(record[1], |from| found.push(&[distance, from]))?;
                }
            }
            drop((reader, cursor));
            layer = found.drain_into_new(&settled)?;
        }
        at_once(settled.compact())?;
        Ok(settled.runs().next().cloned().unwrap_or(layer))
    }

    /// Every reachable state with its distance.
    fn join(&self, reached: &RunFile, settled: &RunFile, name: u64) -> Result<RunFile, Unbuilt> {
        let options = table_options(self.limit, name, reached.records());
        let mut writer = RunWriter::create(self.disk, RunKind::Distances, &options)?;
        let (mut all, mut near) = (RunReader::open(reached)?, RunReader::open(settled)?);
        let (mut states, mut known, mut at) = (Vec::new(), Vec::new(), 0);
        near.next_block(&mut known)?;
        while all.next_block(&mut states)? {
            for &state in &states {
                if at == known.len() && !known.is_empty() {
                    near.next_block(&mut known)?;
                    at = 0;
                }
                let mut distance = u64::from(UNREACHED);
                if known.get(at + 1) == Some(&state) {
                    distance = known[at];
                    at += 2;
                }
                writer.push(&[distance, state])?;
            }
        }
        Ok(writer.finish()?)
    }
}

/// Puts away successors of a state: several operators often lead to the same ones.
fn put(state: u64, next: &mut Vec<u64>, found: &mut Sorter, edges: &mut Sorter) -> Result<(), WriteError> {
    next.sort_unstable();
    next.dedup();
    for to in next.drain(..) {
        found.push(&[to])?;
        edges.push(&[state, to])?;
    }
    Ok(())
}
