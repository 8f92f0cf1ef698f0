//! Duplicate detection by sorting: candidates merged, deduplicated and freed of closed states in one pass
//! (Lamborn 2014, sec. 3.3.3: intra- and interlayer detection share a single merge).

use super::inputs::MergeInputs;
use super::ranges::merge_ranges;
use super::{BlockSource, RunMerge};
use crate::bitmap::Bitmap;
use crate::error::{MergeError, ReadError, WriteError};
use crate::run::{RunProbe, RunWriter};
use crate::shape::{RecordShape, Records};
use crate::vfs::Disk;

/// A set of closed states that can be asked about many ascending candidates at once.
pub trait ClosedFilter {
    /// Sets the bit of each candidate (strictly ascending) that is closed, skipping bits already set; returns how
    /// many it set.
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError>;

    /// Pairs of states compared so far.
    fn comparisons(&self) -> u64;
}

/// Where fresh states go.
pub trait RecordSink {
    /// Takes strictly ascending records.
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError>;
}

/// What became of the candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subtracted {
    /// Candidates that equalled another candidate.
    pub duplicates_within: u64,
    /// Distinct candidates that were closed already.
    pub duplicates_closed: u64,
    /// Distinct candidates that were new.
    pub fresh: u64,
    /// Pairs of states that were compared.
    pub comparisons: u64,
}

/// Removes from `candidates` every state already in `closed`, in one pass over both, and gives the others, once
/// each and ascending, to `fresh`. Rests between two blocks ([`crate::vfs::at_once`] where nobody takes turns).
pub async fn subtract_closed(
    disk: &Disk,
    mut candidates: RunMerge<'_>,
    closed: &mut dyn ClosedFilter,
    fresh: &mut dyn RecordSink,
) -> Result<Subtracted, MergeError> {
    let shape = candidates.shape();
    let mut batch = Vec::new();
    let mut present = Bitmap::default();
    let mut subtracted = Subtracted::default();
    let before = closed.comparisons();
    while candidates.next_block(&mut batch)? {
        let records = Records::new(shape, &batch);
        present.reset(records.len());
        let known = closed.mark(records, &mut present)?;
        subtracted.duplicates_closed += known;
        subtracted.fresh += records.len() as u64 - known;
        if known > 0 {
            drop_marked(shape, &mut batch, &present);
        }
        fresh.accept(Records::new(shape, &batch))?;
        disk.rest().await?;
    }
    subtracted.duplicates_within = candidates.duplicates();
    subtracted.comparisons = candidates.comparisons() + closed.comparisons() - before;
    Ok(subtracted)
}

/// Removes the records that are marked.
fn drop_marked(shape: RecordShape, batch: &mut Vec<u64>, present: &Bitmap) {
    let stride = shape.stride();
    let mut kept = 0;
    for at in 0..batch.len() / stride {
        if !present.get(at) {
            batch.copy_within(at * stride..(at + 1) * stride, kept);
            kept += stride;
        }
    }
    batch.truncate(kept);
}

/// One thread's way through the closed states, and what it found there.
struct Helper<'f, F> {
    closed: &'f mut F,
    present: Bitmap,
    known: u64,
    fresh: u64,
}

impl<F: ClosedFilter> Helper<'_, F> {
    /// Leaves the candidates that are new.
    fn free(&mut self, shape: RecordShape, batch: &mut Vec<u64>) -> Result<(), ReadError> {
        let records = Records::new(shape, batch);
        self.present.reset(records.len());
        let known = self.closed.mark(records, &mut self.present)?;
        self.known += known;
        self.fresh += records.len() as u64 - known;
        if known > 0 {
            drop_marked(shape, batch, &self.present);
        }
        Ok(())
    }
}

/// As [`subtract_closed`], on as many threads as there are passes over the closed states, of `beside` bytes each, if the
/// candidates and the memory are worth it.
pub async fn subtract_together<F: ClosedFilter + Send>(
    disk: &Disk,
    (candidates, shape): (&MergeInputs<'_>, RecordShape),
    (closed, beside): (&mut [F], u64),
    fresh: &mut dyn RecordSink,
) -> Result<Subtracted, MergeError> {
    let ranges = if closed.len() < 2 { None } else { candidates.ranges(disk, shape, beside)? };
    let Some(ranges) = ranges else {
        return subtract_closed(disk, candidates.merge(shape)?, &mut closed[0], fresh).await;
    };
    let before: u64 = closed.iter().map(F::comparisons).sum();
    let helper = |closed| Helper { closed, present: Bitmap::default(), known: 0, fresh: 0 };
    let mut helpers: Vec<Helper<'_, F>> = closed.iter_mut().map(helper).collect();
    let take = &mut |records: Records<'_>| fresh.accept(records);
    let met = merge_ranges(disk, (candidates, &ranges), &mut helpers, Helper::free, take).await?;
    let compared = helpers.iter().map(|helper| helper.closed.comparisons()).sum::<u64>() - before;
    Ok(Subtracted {
        duplicates_within: met.duplicates,
        duplicates_closed: helpers.iter().map(|helper| helper.known).sum(),
        fresh: helpers.iter().map(|helper| helper.fresh).sum(),
        comparisons: met.comparisons + compared,
    })
}

impl ClosedFilter for RunProbe {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        RunProbe::mark(self, candidates, present)
    }

    fn comparisons(&self) -> u64 {
        self.stats().compared
    }
}

/// Several parts of one closed set, their states distinct.
impl<F: ClosedFilter> ClosedFilter for [F] {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let mut found = 0;
        for part in self {
            found += part.mark(candidates, present)?;
        }
        Ok(found)
    }

    fn comparisons(&self) -> u64 {
        self.iter().map(F::comparisons).sum()
    }
}

impl RecordSink for RunWriter {
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        self.push_all(records)
    }
}

impl RecordSink for Vec<u64> {
    fn accept(&mut self, records: Records<'_>) -> Result<(), WriteError> {
        self.extend_from_slice(records.flat());
        Ok(())
    }
}
