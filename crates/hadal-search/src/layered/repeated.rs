//! What layers that are settled together have of earlier ones: one pass merges them and asks the settled layers, on all
//! threads.

use super::Trouble;
use super::closed_set::ClosedPass;
use super::journal::{Journal, LayerReader};
use super::settling::Settling;
use crate::report::Distance;
use hadal_store::Bitmap;
use hadal_store::error::ReadError;
use hadal_store::merge::{ClosedFilter, MergeLimits, merge_unique};
use hadal_store::run::RunKind;
use hadal_store::shape::{RecordShape, Records};
use hadal_system::state::compare;
use std::cmp::Ordering::{Equal, Less};
use std::ops::Range;
use std::panic::resume_unwind;

/// States that a thread asks the settled layers for at once.
const BATCH: usize = 4096;

/// What each of these layers has that an earlier layer has as well, in one pass over them and the settled ones; nothing where
/// that is too much to hold.
pub(super) async fn repeated(
    journal: &Journal,
    settling: &mut Settling,
    depths: Range<usize>,
) -> Result<Option<Vec<Vec<u64>>>, Trouble> {
    let disk = journal.disk();
    let most_bytes = disk.governor.limit() / 48;
    let _held = disk.governor.try_reserve(most_bytes, "states that came again")?;
    let mut layers = Together::open(journal, depths.clone(), settling.threads()).await?;
    let mut found = Found::new(depths.len(), most_bytes as usize / 8);
    let mut passes = passes(settling)?;
    let (mut asked, mut next) = (Heads::default(), Heads::default());
    let most = BATCH * passes.len();
    layers.gather(&mut asked, most)?;
    while !asked.flat.is_empty() {
        // The next heads are gathered while the last ones are looked for.
        let gathered = ask(&mut passes, layers.shape, &mut asked, || layers.gather(&mut next, most));
        gathered?;
        if !found.take(layers.shape, &asked) {
            return Ok(None);
        }
        std::mem::swap(&mut asked, &mut next);
        disk.rest().await?;
    }
    let here = found.apart.into_iter().enumerate().filter(|&(_, found)| found > 0);
    let mut distances: Vec<Distance> =
        here.map(|(far, found)| Distance { nearest: far as u64, farthest: far as u64, found }).collect();
    for pass in &passes {
        pass.by_distance(depths.start as u64, &mut distances);
    }
    drop(passes);
    settling.note(&distances);
    Ok(Some(found.repeated))
}

/// A pass over the settled layers for each thread, as far as there is memory.
fn passes(settling: &Settling) -> Result<Vec<ClosedPass<'_>>, Trouble> {
    let first = settling.settled_pass()?;
    let threads = first.threads(settling.threads(), settling.available());
    let mut passes = vec![first];
    for _ in 1..threads {
        passes.push(settling.settled_pass()?);
    }
    Ok(passes)
}

/// Looks for the heads, on a thread for each pass, while this one does something else.
fn ask(
    passes: &mut [ClosedPass<'_>],
    shape: RecordShape,
    heads: &mut Heads,
    meanwhile: impl FnOnce() -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let Heads { flat, present, .. } = heads;
    let records = Records::new(shape, flat);
    let parts = records.len().div_ceil(BATCH);
    present.resize_with(parts.max(present.len()), Bitmap::default);
    let slice = |part: usize| records.slice(part * BATCH..records.len().min((part + 1) * BATCH));
    let look = |(part, (pass, present)): (usize, (&mut ClosedPass<'_>, &mut Bitmap))| {
        present.reset(slice(part).len());
        pass.mark(slice(part), present)
    };
    let mut work = passes.iter_mut().zip(present).take(parts).enumerate();
    if parts == 1 {
        work.try_for_each(|one| look(one).map(|_| ()))?;
        return meanwhile();
    }
    std::thread::scope(|scope| {
        let look = &look;
        let spawned: Vec<_> = work.map(|one| scope.spawn(move || look(one))).collect();
        let done = meanwhile();
        // A thread that panics takes the search with it.
        let joined = spawned.into_iter().map(|thread| thread.join());
        let ended: Result<Vec<u64>, ReadError> =
            joined.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic))).collect();
        ended?;
        done
    })
}

/// Distinct states of the layers, ascending, and who has each.
#[derive(Default)]
struct Heads {
    flat: Vec<u64>,
    /// The number of a state and of a layer that has it.
    copies: Vec<(usize, usize)>,
    /// Which of them are settled, [`BATCH`] after [`BATCH`].
    present: Vec<Bitmap>,
}

impl Heads {
    fn is_present(&self, number: usize) -> bool {
        self.present[number / BATCH].get(number % BATCH)
    }
}

/// What was found so far.
struct Found {
    /// States of each layer that an earlier one has.
    repeated: Vec<Vec<u64>>,
    /// How often two of the layers had a state, by how far they are apart.
    apart: Vec<u64>,
    /// Words that there is still room for.
    room: usize,
}

impl Found {
    fn new(layers: usize, room: usize) -> Self {
        Found { repeated: vec![Vec::new(); layers], apart: vec![0; layers], room }
    }

    /// Takes what was asked; whether there was room for it.
    fn take(&mut self, shape: RecordShape, asked: &Heads) -> bool {
        let records = Records::new(shape, &asked.flat);
        let mut keeper: Option<(usize, usize)> = None;
        for &(number, layer) in &asked.copies {
            let first = keeper.is_none_or(|(before, _)| before != number);
            if first {
                keeper = Some((number, layer));
            }
            let settled = asked.is_present(number);
            if first && !settled {
                continue;
            }
            if let Some((_, kept)) = keeper.filter(|_| !first && !settled) {
                self.apart[layer - kept] += 1;
            }
            let Some(left) = self.room.checked_sub(shape.words()) else { return false };
            self.room = left;
            self.repeated[layer].extend_from_slice(records.state(number));
        }
        true
    }
}

/// The layers that are settled together.
struct Together {
    streams: Vec<Stream>,
    shape: RecordShape,
}

/// One of them.
struct Stream {
    reader: LayerReader,
    block: Vec<u64>,
    at: usize,
}

impl Together {
    async fn open(journal: &Journal, depths: Range<usize>, threads: usize) -> Result<Self, Trouble> {
        let (shape, mut streams) = (journal.shape(), Vec::new());
        for depth in depths {
            let reader = match journal.parts(depth) {
                // Parts of buckets, each ascending, become one.
                Some(parts) => {
                    let (disk, options) = (&journal.disk().with_workers(threads), journal.options());
                    let limits = MergeLimits::for_memory(disk, options);
                    let (one, _) =
                        merge_unique(disk, parts.to_vec(), RunKind::Frontier, options, limits).await?;
                    LayerReader::of_run(&one)?
                }
                None => journal.reader(depth)?,
            };
            let mut stream = Stream { reader, block: Vec::new(), at: 0 };
            stream.reader.next_records(&mut stream.block)?;
            streams.push(stream);
        }
        Ok(Together { streams, shape })
    }

    /// Replaces `heads` by the next states, at most so many.
    fn gather(&mut self, heads: &mut Heads, most: usize) -> Result<(), Trouble> {
        let shape = self.shape;
        let Heads { flat, copies, .. } = heads;
        flat.clear();
        copies.clear();
        while flat.len() < most * shape.stride() {
            // The least state, in the first layer that has it.
            let mut least: Option<(usize, &[u64])> = None;
            for (n, stream) in self.streams.iter().enumerate() {
                if let Some(head) = stream.head(shape)
                    && least.is_none_or(|(_, least)| compare(head, least) == Less)
                {
                    least = Some((n, head));
                }
            }
            let Some((first, state)) = least else { break };
            let number = flat.len() / shape.stride();
            flat.resize(flat.len() + shape.payload_words(), 0);
            flat.extend_from_slice(state);
            let from = flat.len() - shape.words();
            for (n, stream) in self.streams.iter_mut().enumerate().skip(first) {
                if stream.head(shape).is_some_and(|head| compare(head, &flat[from..]) == Equal) {
                    copies.push((number, n));
                    stream.step(shape)?;
                }
            }
        }
        Ok(())
    }
}

impl Stream {
    fn head(&self, shape: RecordShape) -> Option<&[u64]> {
        self.block.get(self.at..self.at + shape.stride()).map(|record| shape.state(record))
    }

    fn step(&mut self, shape: RecordShape) -> Result<(), Trouble> {
        self.at += shape.stride();
        if self.at >= self.block.len() {
            self.at = 0;
            if !self.reader.next_records(&mut self.block)? {
                self.block.clear();
            }
        }
        Ok(())
    }
}
