//! Whose which states are, once they are numbered: every worker has a range of them.

use super::company::Company;
use super::{DiskError, Journal};
use hadal_store::sort::Sorter;
use hadal_store::{RecordShape, RunFile, RunOptions, RunReader};
use hadal_system::state::compare;
use std::ops::Range;

/// States of each worker that decide where ranges begin.
const SAMPLES: u64 = 1024;
/// Where each worker's range begins, and the end.
pub(super) const RANGES: &str = "ranges";
/// Where this worker's begins.
pub(super) const FIRST: &str = "first";

/// The ranges of all workers.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    begins: Vec<u64>,
    /// The first state of each range that is not empty, and whose it is.
    firsts: Vec<(Vec<u64>, usize)>,
}

impl Ranges {
    /// That of one worker.
    pub fn whole(states: u64) -> Self {
        Ranges { begins: vec![0, states], firsts: Vec::new() }
    }

    /// Those that were agreed on; `ranks` are the states of this worker's.
    pub fn recall(company: &Company, ranks: &RunFile, journal: &Journal) -> Result<Self, DiskError> {
        if company.is_alone() {
            return Ok(Ranges::whole(ranks.records()));
        }
        let lost = || DiskError::Damaged("the states on disk are not whole".into());
        let begins = journal.words(RANGES).ok_or_else(lost)?.to_vec();
        let stride = ranks.options().shape.stride();
        let mut block = Vec::new();
        let any = RunReader::open(ranks)?.next_block(&mut block)?;
        let own = if any { &block[..stride] } else { &[][..] };
        let heard = company.agree(own)?;
        let there = heard.into_iter().enumerate().filter(|(_, state)| !state.is_empty());
        Ok(Ranges { begins, firsts: there.map(|(worker, state)| (state, worker)).collect() })
    }

    /// How many states there are.
    pub fn states(&self) -> u64 {
        self.begins.last().copied().unwrap_or(0)
    }

    /// Those of a worker.
    pub fn of(&self, worker: usize) -> Range<u64> {
        self.begins[worker]..self.begins[worker + 1]
    }

    /// Whose a number is.
    #[inline]
    pub fn owner(&self, rank: u64) -> usize {
        match self.begins.len() {
            2 => 0,
            _ => self.begins.partition_point(|&begin| begin <= rank) - 1,
        }
    }

    /// Whose a state is.
    #[inline]
    pub fn owner_of_state(&self, state: &[u64]) -> usize {
        let behind = self.firsts.partition_point(|(first, _)| compare(first, state).is_le());
        behind.checked_sub(1).map_or(0, |at| self.firsts[at].1)
    }
}

/// Sorts states, of which every worker has some, into ranges about as large as the workers' shares.
pub(super) fn in_ranges(
    share: &RunFile,
    options: RunOptions,
    company: &Company,
    journal: &Journal,
) -> Result<RunFile, DiskError> {
    let disk = journal.disk().clone();
    let stride = options.shape.stride();
    let step = share.records().div_ceil(SAMPLES).max(1);
    let (mut samples, mut block, mut at) = (vec![step], Vec::new(), 0u64);
    let mut reader = RunReader::open(share)?;
    while reader.next_block(&mut block)? {
        for state in block.chunks_exact(stride) {
            if at.is_multiple_of(step) {
                samples.extend_from_slice(state);
            }
            at += 1;
        }
    }
    let cuts = cuts(&company.agree(&samples)?, stride, company);
    let mut sorter = Sorter::new(&disk, options, disk.governor.limit() / 4);
    let mut post = company.post(RecordShape::states(stride));
    let mut reader = RunReader::open(share)?;
    while reader.next_block(&mut block)? {
        for state in block.chunks_exact(stride) {
            let owner = cuts.partition_point(|cut| compare(cut, state).is_le());
            post.push(owner, state, &mut |state| sorter.push(state).map_err(DiskError::from))?;
        }
    }
    post.end(&[], &mut |state| sorter.push(state).map_err(DiskError::from))?;
    Ok(sorter.into_run()?)
}

/// Writes down where ranges begin whose states are `ranks`.
pub(super) fn agree_on_ranges(
    ranks: &RunFile,
    company: &Company,
    journal: &mut Journal,
) -> Result<(), DiskError> {
    let mut begins = vec![0];
    for words in company.agree(&[ranks.records()])? {
        begins.push(begins[begins.len() - 1] + words.first().copied().unwrap_or(0));
    }
    journal.put_words(FIRST, vec![begins[company.me()]]);
    journal.put_words(RANGES, begins);
    Ok(())
}

/// Where the ranges of all workers but the first begin: what workers said is how many states each of their samples stands for, and
/// the samples.
fn cuts(heard: &[Vec<u64>], stride: usize, company: &Company) -> Vec<Vec<u64>> {
    let mut samples: Vec<(&[u64], u64)> = Vec::new();
    for words in heard {
        let Some((&step, states)) = words.split_first() else { continue };
        samples.extend(states.chunks_exact(stride).map(|state| (state, step)));
    }
    samples.sort_unstable_by(|l, r| compare(l.0, r.0));
    let total: u64 = samples.iter().map(|sample| sample.1).sum();
    let (mut cuts, mut before) = (Vec::new(), 0);
    let shares = company.shares();
    for (state, step) in samples {
        // Whoever owns the place of the sample begins there at the latest.
        while cuts.len() < shares.part_of(before, total) {
            cuts.push(state.to_vec());
        }
        before += step;
    }
    cuts
}
