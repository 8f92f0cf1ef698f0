//! Closed states on disk: sorted runs, few of them, merged to antichains as they grow.

use super::super::Trouble;
use super::antichain::Antichain;
use super::large::{Maximal, most_of_key};
use super::stream::Stream;
use crate::report::CoverFigures;
use hadal_store::Reservation;
use hadal_store::merge::{BlockSource, MemorySource, RunMerge};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;
use hadal_system::Cover;
use hadal_system::state::compare;
use std::cmp::Ordering;

/// A run is merged with the one before it where that is less than so many times as long.
const RATIO: u64 = 3;
/// Closed states of one key that are compared at a time.
const BLOCK_STATES: usize = 4096;

pub(super) struct ClosedRuns<'a> {
    cover: &'a dyn Cover,
    disk: Disk,
    options: RunOptions,
    /// From long to short.
    runs: Vec<RunFile>,
    /// States of small layers.
    recent: Vec<u64>,
    most_recent: usize,
    /// Words of states of one key in RAM.
    most_of_key: usize,
    _memory: Reservation,
}

impl<'a> ClosedRuns<'a> {
    pub(super) fn new(cover: &'a dyn Cover, disk: &Disk, options: RunOptions) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 64).clamp(32 << 10, 16 << 20);
        Ok(ClosedRuns {
            cover,
            disk: disk.clone(),
            options,
            runs: Vec::new(),
            recent: Vec::new(),
            most_recent: most as usize / 8,
            most_of_key: most_of_key(disk),
            _memory: disk.governor.try_reserve(2 * most, "recent layers")?,
        })
    }

    fn words(&self) -> usize {
        self.options.shape.words()
    }

    pub(super) async fn add_states(&mut self, states: &[u64]) -> Result<(), Trouble> {
        for part in states.chunks(self.most_recent.max(self.words()) / self.words() * self.words()) {
            if self.recent.len() + part.len() > self.most_recent {
                self.flush().await?;
            }
            self.recent.extend_from_slice(part);
            sort_records(self.options.shape, &mut self.recent);
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Trouble> {
        if self.recent.is_empty() {
            return Ok(());
        }
        let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        run.push_all(Records::new(self.options.shape, &self.recent))?;
        self.recent.clear();
        self.add_run(run.finish()?).await
    }

    pub(super) async fn add_run(&mut self, run: RunFile) -> Result<(), Trouble> {
        self.runs.push(run);
        while let [.., long, short] = self.runs.as_slice()
            && long.records() < RATIO * short.records()
        {
            let run = self.merge(&[long.clone(), short.clone()]).await?;
            self.runs.truncate(self.runs.len() - 2);
            self.runs.push(run);
        }
        Ok(())
    }

    /// One run of the maximal states of several.
    async fn merge(&self, runs: &[RunFile]) -> Result<RunFile, Trouble> {
        let mut stream = self.stream(runs, &[])?;
        let mut maximal = Maximal::new(self.cover, &self.disk, self.options, self.most_of_key);
        let mut run = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        let mut take = |states: &[u64]| Ok(run.push_all(Records::new(self.options.shape, states))?);
        while maximal.next(&mut stream, None, &mut take).await?.is_some() {}
        Ok(run.finish()?)
    }

    fn stream<'s>(&self, runs: &[RunFile], recent: &'s [u64]) -> Result<Stream<'s>, Trouble> {
        let mut sources: Vec<Box<dyn BlockSource + 's>> = Vec::new();
        for run in runs {
            sources.push(Box::new(RunReader::open(run)?));
        }
        if !recent.is_empty() {
            sources.push(Box::new(MemorySource::new(Records::new(self.options.shape, recent))));
        }
        Ok(Stream::new(RunMerge::new(self.options.shape, sources), self.words()))
    }

    /// One pass over all closed states for ascending groups of candidates.
    pub(super) fn pass(&self, _candidates: u64) -> Result<Pass<'_>, Trouble> {
        Ok(Pass {
            stream: self.stream(&self.runs, &self.recent)?,
            antichain: Antichain::new(self.cover, self.words()),
            key_words: self.cover.key_words(),
            words: self.words(),
            closed: Vec::new(),
        })
    }

    pub(super) async fn figures(&self) -> Result<CoverFigures, Trouble> {
        let mut stream = self.stream(&self.runs, &self.recent)?;
        let mut maximal = Maximal::new(self.cover, &self.disk, self.options, self.most_of_key);
        let mut figures = CoverFigures::default();
        while let Some(thinned) = maximal.next(&mut stream, None, &mut |_| Ok(())).await? {
            figures.discrete += 1;
            figures.maximal += thinned.maximal;
        }
        Ok(figures)
    }
}

/// Closed states being passed.
pub(super) struct Pass<'s> {
    stream: Stream<'s>,
    antichain: Antichain<'s>,
    key_words: usize,
    words: usize,
    closed: Vec<u64>,
}

impl Pass<'_> {
    /// Removes from a group of candidates of one key what closed states cover. Keys ascend from call to call. However
    /// many closed states a key has, few are in RAM at a time.
    pub(super) fn subtract(&mut self, group: &mut Vec<u64>) -> Result<(), Trouble> {
        let first = self.words - self.key_words;
        let Some(key) = group.get(first..self.words).map(<[u64]>::to_vec) else { return Ok(()) };
        let mut closed = std::mem::take(&mut self.closed);
        while self.closed_of(&key, &mut closed, BLOCK_STATES * self.words)? {
            self.antichain.subtract(group, &closed);
        }
        self.closed = closed;
        Ok(())
    }

    /// Replaces `block` by at most about `most` words of closed states of this key; false where there are none (left).
    pub(super) fn closed_of(
        &mut self,
        key: &[u64],
        block: &mut Vec<u64>,
        most: usize,
    ) -> Result<bool, Trouble> {
        let first = self.words - self.key_words;
        while self.stream.peek()?.is_some_and(|state| compare(&state[first..], key) == Ordering::Less) {
            self.stream.step();
        }
        self.stream.more_of(key, block, most)
    }
}
