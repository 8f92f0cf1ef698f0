//! Where every state came from: traces under an order that is not breadth-first (left open by Evangelista and Kristensen
//! 2011, sec. 7).
//!
//! States are numbered as they are found. The trail keeps, by number, the number of the state before and which of its
//! successors this one is: a word per state, written front to back. Numbers descend along the way back, so one pass
//! through the trail resolves a path; the states themselves come from firing along it.

use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::RecordShape;
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};
use hadal_system::{StateSpace, Successors};

const INDEX_BITS: u32 = 24;
/// The number that stands for what comes before an initial state.
pub(super) const ROOT: u64 = u64::MAX >> INDEX_BITS;
/// Small runs are merged when there are this many.
const MANY_SMALL: usize = 8;

/// The n-th successor of the state `parent`, or the n-th initial state where that is [`ROOT`].
pub(super) fn step(parent: u64, n: usize) -> u64 {
    parent << INDEX_BITS | n as u64
}

/// The trail so far.
pub(super) struct Trail {
    disk: Disk,
    options: RunOptions,
    /// Steps whose number follows those in the runs.
    recent: Vec<u64>,
    most: usize,
    /// Each holds the numbers after those of the one before.
    runs: Vec<RunFile>,
    /// States in `runs`.
    written: u64,
    _memory: Reservation,
}

impl Trail {
    pub(super) fn new(disk: &Disk, options: RunOptions, bytes: u64) -> Result<Self, OverBudget> {
        let most = (bytes / 8).max(64);
        let memory = disk.governor.try_reserve(most * 8, "trail")?;
        let options = RunOptions { shape: RecordShape::with_payload(1, 1), ..options };
        let recent = Vec::with_capacity(most as usize);
        let disk = disk.clone();
        Ok(Trail {
            disk,
            options,
            recent,
            most: most as usize,
            runs: Vec::new(),
            written: 0,
            _memory: memory,
        })
    }

    /// How many states it knows: the number of the next.
    pub(super) fn len(&self) -> u64 {
        self.written + self.recent.len() as u64
    }

    /// Adds the next state.
    pub(super) fn push(&mut self, step: u64) -> Result<(), Trouble> {
        if self.recent.len() == self.most {
            self.flush()?;
        }
        self.recent.push(step);
        Ok(())
    }

    /// Writes everything to disk.
    pub(super) fn flush(&mut self) -> Result<(), Trouble> {
        if self.recent.is_empty() {
            return Ok(());
        }
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        for (n, &step) in self.recent.iter().enumerate() {
            writer.push(&[step, self.written + n as u64])?;
        }
        self.runs.push(writer.finish()?);
        self.written += self.recent.len() as u64;
        self.recent.clear();
        let small = self.runs.iter().rev().take_while(|run| run.records() <= self.most as u64).count();
        if small >= MANY_SMALL { self.join_last(small) } else { Ok(()) }
    }

    fn join_last(&mut self, count: usize) -> Result<(), Trouble> {
        let from = self.runs.len() - count;
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &self.options)?;
        let mut block = Vec::new();
        for run in &self.runs[from..] {
            let mut reader = RunReader::open(run)?;
            while reader.next_block(&mut block)? {
                for record in block.chunks_exact(2) {
                    writer.push(record)?;
                }
            }
        }
        self.runs.truncate(from);
        self.runs.push(writer.finish()?);
        Ok(())
    }

    /// Its files, after [`Trail::flush`].
    pub(super) fn files(&self) -> &[RunFile] {
        &self.runs
    }

    /// Takes over the files of a run that is resumed.
    pub(super) fn open(&mut self, names: &[String]) -> Result<(), Trouble> {
        for name in names {
            let run = RunFile::open(&self.disk, name, &self.options)?;
            self.written += run.records();
            self.runs.push(run);
        }
        Ok(())
    }

    /// The states from an initial one to the one numbered `number`.
    pub(super) fn path(&self, space: &dyn StateSpace, number: u64) -> Result<Vec<Vec<u64>>, Trouble> {
        let mut steps = Vec::new();
        let mut at = number;
        let (mut held, mut first, mut memory) = (Vec::new(), u64::MAX, self.disk.governor.empty("trace"));
        while at != ROOT {
            let step = if at >= self.written {
                self.recent[(at - self.written) as usize]
            } else {
                if at < first || at - first >= held.len() as u64 {
                    held = Vec::new();
                    memory.shrink_to(0);
                    first = self.load(at, &mut held, &mut memory)?;
                }
                held[(at - first) as usize]
            };
            steps.push((step & ((1 << INDEX_BITS) - 1)) as usize);
            at = step >> INDEX_BITS;
        }
        let mut worker = space.worker();
        let mut out = Successors::new(space.words());
        let mut path: Vec<Vec<u64>> = Vec::with_capacity(steps.len());
        for step in steps.into_iter().rev() {
            out.clear();
            match path.last() {
                None => worker.initial(&mut out),
                Some(state) => worker.successors(state, &mut out),
            }
            path.push(out.state(step).to_vec());
        }
        Ok(path)
    }

    /// Reads the run that knows the state numbered `at`; returns its first number.
    fn load(&self, at: u64, held: &mut Vec<u64>, memory: &mut Reservation) -> Result<u64, Trouble> {
        let mut first = 0;
        for run in &self.runs {
            if at < first + run.records() {
                memory.try_grow(run.records() * 8)?;
                held.reserve_exact(run.records() as usize);
                let (mut reader, mut block) = (RunReader::open(run)?, Vec::new());
                while reader.next_block(&mut block)? {
                    held.extend(block.chunks_exact(2).map(|record| record[0]));
                }
                return Ok(first);
            }
            first += run.records();
        }
        unreachable!("every number below `written` is in a run")
    }
}
