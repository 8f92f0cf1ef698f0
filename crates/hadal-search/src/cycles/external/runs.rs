//! Sorted runs as sets: gathering, merging, and streams that are joined.

use super::Early;
use crate::exchange::{Exchange, Mailbox, Said, Stops, Words, agree};
use crate::explore::Setting;
use crate::layered::Trouble;
use crate::report::DiskFigures;
use crate::run::{Buffers, run_options};
use hadal_store::merge::{MergeLimits, merge_unique};
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_unique};
use hadal_store::vfs::{InTurns, Turn};
use hadal_store::{Disk, Reservation};
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering;
use std::sync::Arc;

/// Where runs are written.
pub(super) struct Files<'x> {
    pub(super) exchange: &'x dyn Exchange,
    disk: Disk,
    options: RunOptions,
    /// Most words gathered before they are sorted.
    most: usize,
}

impl<'x> Files<'x> {
    pub(super) fn new(search: &Setting, disk: &Disk, exchange: &'x dyn Exchange) -> Result<Self, Trouble> {
        let options = run_options(search.task.space, search.governor, Buffers::Many);
        let most = (search.governor.limit() / 6 / 8).clamp(4096, 16 << 20) as usize;
        Ok(Files { exchange, disk: disk.clone(), options, most })
    }

    /// Whether there is no other worker.
    pub(super) fn is_alone(&self) -> bool {
        self.exchange.shares().workers() == 1
    }

    /// Whether a state is this worker's.
    pub(super) fn owns(&self, state: &[u64]) -> bool {
        self.exchange.shares().owner(state) == self.exchange.me()
    }

    /// Hears what all workers say; where one of them must stop, all do.
    pub(super) fn hear(&self, words: &[u64]) -> Result<Vec<Vec<u64>>, Early> {
        if self.is_alone() {
            return Ok(vec![words.to_vec()]);
        }
        without_stops(&agree(self.exchange, &Said::default().stop(None).list(words).into_words())?)
    }

    /// The sum of a number of all workers.
    pub(super) fn total(&self, own: u64) -> Result<u64, Early> {
        Ok(self.hear(&[own])?.iter().filter_map(|words| words.first()).sum())
    }

    /// How many states a set has that every worker has a part of.
    pub(super) fn count(&self, set: &RunFile) -> Result<u64, Early> {
        self.total(set.records())
    }

    /// The least of the states that workers say, if one says any.
    pub(super) fn least(&self, own: Option<Vec<u64>>) -> Result<Option<Vec<u64>>, Early> {
        let said = self.hear(&own.unwrap_or_default())?;
        Ok(said.into_iter().filter(|state| !state.is_empty()).min_by(|a, b| compare(a, b)))
    }

    /// Sends the records of a run to the workers that own their first states.
    async fn exchanged(&self, shape: RecordShape, run: RunFile) -> Result<RunFile, Early> {
        let words = self.shape().words();
        let mailbox = Mailbox::new(self.exchange, shape, &self.disk.governor)?;
        let mut mailbox = mailbox.owned_by(shape.words() - words..shape.words());
        let (mut kept, mut arrived) = (self.writer(shape)?, self.gather(shape)?);
        // The others wait: what cannot be taken is told when all meet again.
        let mut failed = None;
        let mut take = |batch: Ascending| {
            let mut records = batch.states().flat().chunks_exact(shape.stride());
            if failed.is_none() {
                failed = records.try_for_each(|record| arrived.push(record)).err();
            }
            Ok(())
        };
        let (mut reader, mut block) = (RunReader::open(&run)?, Vec::new());
        while reader.next_block(&mut block)? {
            mailbox.sort_out(&mut block, &mut take)?;
            kept.push_all(Records::new(shape, &block))?;
            self.disk.rest().await?;
        }
        let said = Said::default().stop(None).into_words();
        without_stops(&mailbox.agree(&said, &mut take)?)?;
        drop((reader, mailbox));
        failed.map_or(Ok(()), Err)?;
        self.hear(&[])?;
        let (mut runs, Gather { runs: others, .. }) = (vec![kept.finish()?], arrived.spilled()?);
        runs.extend(others);
        self.merged(shape, runs).await
    }

    /// The shape of states.
    pub(super) fn shape(&self) -> RecordShape {
        self.options.shape
    }

    /// The shape of pairs of states.
    pub(super) fn pairs(&self) -> RecordShape {
        RecordShape::states(2 * self.options.shape.words())
    }

    /// The shape of states with a count.
    pub(super) fn counted(&self) -> RecordShape {
        RecordShape::with_payload(self.shape().words(), 1)
    }

    /// A run that an earlier sitting wrote.
    pub(super) fn open(&self, name: &str, shape: RecordShape) -> Result<RunFile, Trouble> {
        Ok(RunFile::open(&self.disk, name, &RunOptions { shape, ..self.options })?)
    }

    /// What the disk holds and what was moved.
    pub(super) fn figures(&self) -> DiskFigures {
        let files = self.disk.vfs.list().unwrap_or_default();
        let held = files.iter().map(|file| file.bytes).sum();
        DiskFigures { read_cost: self.disk.traffic.speed.cost(), ..DiskFigures::of(&self.disk, held) }
    }

    pub(super) fn writer(&self, shape: RecordShape) -> Result<RunWriter, Early> {
        let options = RunOptions { shape, ..self.options };
        Ok(RunWriter::create(&self.disk, RunKind::Candidates, &options)?)
    }

    pub(super) fn empty(&self, shape: RecordShape) -> Result<RunFile, Early> {
        Ok(self.writer(shape)?.finish()?)
    }

    pub(super) fn gather(&self, shape: RecordShape) -> Result<Gather<'_, 'x>, Early> {
        let records = self.most / shape.stride();
        let bytes = 8 * (records * shape.stride()) as u64 + scratch_bytes(shape, records);
        let memory = self.disk.governor.try_reserve(bytes, "states to be sorted")?;
        Ok(Gather { files: self, shape, held: Vec::new(), runs: Vec::new(), _memory: memory })
    }

    async fn merged(&self, shape: RecordShape, runs: Vec<RunFile>) -> Result<RunFile, Early> {
        let options = RunOptions { shape, ..self.options };
        let limits = MergeLimits::for_memory(&self.disk, &options);
        Ok(merge_unique(&self.disk, runs, RunKind::Candidates, &options, limits).await?.0)
    }

    /// Both.
    pub(super) async fn union(&self, a: RunFile, b: RunFile) -> Result<RunFile, Early> {
        self.merged(self.shape(), vec![a, b]).await
    }

    /// The first without the second.
    pub(super) async fn without(&self, set: &RunFile, other: &RunFile) -> Result<RunFile, Early> {
        self.selected(set, |state, other| Ok(!other.has(state)?), other).await
    }

    /// What is in both.
    pub(super) async fn common(&self, set: &RunFile, other: &RunFile) -> Result<RunFile, Early> {
        self.selected(set, |state, other| other.has(state), other).await
    }

    async fn selected(
        &self,
        set: &RunFile,
        wanted: impl Fn(&[u64], &mut Stream) -> Result<bool, Early>,
        other: &RunFile,
    ) -> Result<RunFile, Early> {
        let (mut states, mut other) = (Stream::open(set)?, Stream::open(other)?);
        let mut writer = self.writer(self.shape())?;
        while let Some(state) = states.peek()? {
            if wanted(state, &mut other)? {
                writer.push(state)?;
            }
            states.step();
            if states.is_between() {
                self.disk.rest().await?;
            }
        }
        Ok(writer.finish()?)
    }

    /// What was moved on the disk counts as work.
    pub(super) fn in_turns(&self, turn: &Arc<Turn>) -> InTurns {
        self.disk.brake.take_turns(turn, self.disk.traffic.bytes_moved())
    }

    /// Rests between two blocks.
    pub(super) async fn rest(&self) -> Result<(), Early> {
        Ok(self.disk.rest().await?)
    }
}

/// Records in any order, sorted as they add up.
pub(super) struct Gather<'f, 'x> {
    files: &'f Files<'x>,
    shape: RecordShape,
    held: Vec<u64>,
    runs: Vec<RunFile>,
    _memory: Reservation,
}

impl Gather<'_, '_> {
    pub(super) fn push(&mut self, record: &[u64]) -> Result<(), Early> {
        if self.held.len() + record.len() > self.files.most {
            self.spill()?;
        }
        self.held.extend_from_slice(record);
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Early> {
        sort_unique(self.shape, &mut self.held);
        let mut writer = self.files.writer(self.shape)?;
        writer.push_all(Records::new(self.shape, &self.held))?;
        self.runs.push(writer.finish()?);
        self.held.clear();
        Ok(())
    }

    /// The same with all of them in runs.
    fn spilled(mut self) -> Result<Self, Early> {
        self.spill()?;
        Ok(self)
    }

    /// All of them, each once, ascending; where there are several workers, those of all that this one owns.
    pub(super) async fn finish(self) -> Result<RunFile, Early> {
        let Gather { files, shape, held, mut runs, _memory } = self.spilled()?;
        drop((held, _memory));
        let all = match runs.len() {
            1 => runs.remove(0),
            _ => files.merged(shape, runs).await?,
        };
        match files.is_alone() {
            true => Ok(all),
            false => files.exchanged(shape, all).await,
        }
    }
}

/// What workers say behind their reasons to stop, where none has one.
fn without_stops(heard: &[Vec<u64>]) -> Result<Vec<Vec<u64>>, Early> {
    let (mut stops, mut lists) = (Stops::default(), Vec::new());
    for words in heard {
        let mut words = Words::new(words);
        stops.add(&mut words);
        lists.push(words.list().to_vec());
    }
    match stops.reason() {
        Some(reason) => Err(Early::Agreed(reason)),
        None => Ok(lists),
    }
}

/// The order of states.
pub(super) fn precedes(a: &[u64], b: &[u64]) -> Ordering {
    compare(a, b)
}

/// A run being read, record by record.
pub(super) struct Stream {
    reader: RunReader,
    shape: RecordShape,
    block: Vec<u64>,
    at: usize,
}

impl Stream {
    pub(super) fn open(run: &RunFile) -> Result<Self, Early> {
        let reader = RunReader::open(run)?;
        let shape = reader.shape();
        Ok(Stream { reader, shape, block: Vec::new(), at: 0 })
    }

    /// The record that comes next.
    pub(super) fn peek(&mut self) -> Result<Option<&[u64]>, Early> {
        while self.at >= self.block.len() {
            self.at = 0;
            self.block.clear();
            if !self.reader.next_block(&mut self.block)? {
                self.block.clear();
                return Ok(None);
            }
        }
        Ok(Some(&self.block[self.at..self.at + self.shape.stride()]))
    }

    pub(super) fn step(&mut self) {
        self.at += self.shape.stride();
    }

    /// Whether the next record is the first of a block, or there is none: a place to rest.
    pub(super) fn is_between(&self) -> bool {
        self.at >= self.block.len()
    }

    /// Whether it has this state; asked for states that ascend.
    pub(super) fn has(&mut self, state: &[u64]) -> Result<bool, Early> {
        loop {
            let Some(next) = self.peek()? else { return Ok(false) };
            match precedes(next, state) {
                Ordering::Less => self.step(),
                order => return Ok(order == Ordering::Equal),
            }
        }
    }
}
