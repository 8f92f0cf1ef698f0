//! Breadth-first search with delayed duplicate detection: the closed set is not in a table but in a [detector], and new
//! states are decided in sorted batches.
//!
//! One loop serves every detector (Lamborn 2014, sec. 3.1). The states of a layer are read from the [journal] in sorted
//! order and expanded into a table that works as a cache of what was generated lately (immediate detection, sec. 3.3.2);
//! what the cache did not know is sorted and offered to the detector when the cache is full and at the end of the layer.

pub(crate) mod detector;
pub(crate) mod diagram;
pub(crate) mod journal;
pub mod ledger;
mod path;
pub(crate) mod sorted;

use crate::finding::Finding;
use crate::lane::{Lane, Task, take_finding, total_covers};
use crate::report::{DiskFigures, Layer, Report, Stage, StopReason, Verdict, Violation, ViolationKind};
use detector::Detector;
use hadal_store::diagram::SetupError;
use hadal_store::error::{ReadError, WriteError};
use hadal_store::manifest::{CommitError, OpenError};
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::PropertyKind;
use journal::Journal;
use ledger::{Ledger, Tally};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// States moved at a time between sets.
pub(crate) const BATCH_STATES: usize = 1 << 13;
/// States a thread takes at a time.
const PIECE: usize = 256;
/// Blocks with fewer states are expanded by one thread.
const SHARED_FROM: usize = 2048;

/// What can end a search that uses the disk.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Memory.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// A file cannot be read, or is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Progress cannot be committed.
    #[error(transparent)]
    Commit(CommitError),
    /// A run folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A run folder of something else.
    #[error("the run holds nothing to go on from")]
    NothingToResume,
    /// States that a diagram cannot hold.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl Trouble {
    /// Whether the disk is full: the run pauses and can go on when there is room.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Trouble::Write(WriteError::DiskFull { .. }) | Trouble::Commit(CommitError::DiskFull))
    }
}

/// How many earlier layers candidates are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partial {
    /// All.
    Full,
    /// Only this many most recent ones: states may come again, and are then explored again.
    #[allow(dead_code)]
    Recent(u64),
}

/// Makes the detector that takes over.
pub(crate) type Fallback<'a> = Box<dyn FnOnce(&Journal) -> Result<Box<dyn Detector + 'a>, Trouble> + 'a>;

/// A layered search that is under way.
pub(crate) struct Sweep<'a> {
    pub(crate) task: Task<'a>,
    pub(crate) governor: Governor,
    pub(crate) lanes: Vec<Lane<'a>>,
    pub(crate) detector: Box<dyn Detector + 'a>,
    pub(crate) journal: Journal,
    /// Figures of the expanded layers.
    pub(crate) layers: Vec<Layer>,
    /// Transitions of the layer being expanded that were fired before this search took over.
    pub(crate) transitions_before: u64,
    /// Covers counted in earlier sittings, by property.
    pub(crate) covers_before: Vec<u64>,
    /// Covers when the last layer was complete.
    pub(crate) covers: Vec<u64>,
    /// Seconds spent in earlier sittings.
    pub(crate) seconds_before: f64,
    pub(crate) ledger: Ledger,
    pub(crate) stages: Vec<Stage>,
    /// States of the current layer still to expand, where another search began it.
    pub(crate) rest: Option<Vec<u64>>,
    /// What to turn to when the detector's memory is used up.
    pub(crate) fallback: Option<Fallback<'a>>,
    pub(crate) cache: Cache,
}

/// The table that knows what was generated lately.
pub(crate) struct Cache {
    table: StateTable,
    /// How much of each arena has been offered to the detector.
    offered: Vec<u64>,
    sorted: Vec<u64>,
    sorted_memory: Reservation,
}

impl Cache {
    /// A cache that takes at most `bytes`, besides the space for sorting what is in it.
    pub(crate) fn new(
        words: usize,
        writers: usize,
        bytes: u64,
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        Ok(Cache {
            table: StateTable::new(words, 0, writers, &governor.part(bytes))?,
            offered: vec![0; writers],
            sorted: Vec::new(),
            sorted_memory: governor.empty("sorting"),
        })
    }

    /// Sorts what was not offered yet.
    fn sort_new(&mut self) -> Result<&[u64], OverBudget> {
        let words = self.table.words();
        let counts = (0..self.offered.len()).map(|w| self.table.added_by(w) - self.offered[w]);
        let states = counts.sum::<u64>() as usize;
        let shape = RecordShape::states(words);
        let bytes = (states * words * 8) as u64 + scratch_bytes(shape, states);
        if bytes > self.sorted_memory.bytes() {
            self.sorted = Vec::new();
            self.sorted_memory.try_resize(bytes)?;
        }
        self.sorted.clear();
        self.sorted.reserve_exact(states * words);
        for (writer, offered) in self.offered.iter_mut().enumerate() {
            let now = self.table.added_by(writer);
            self.table.copy_states(writer, *offered, now, &mut self.sorted);
            *offered = now;
        }
        sort_records(shape, &mut self.sorted);
        Ok(&self.sorted)
    }

    fn clear(&mut self) -> Result<(), OverBudget> {
        self.offered.fill(0);
        self.table.clear()
    }
}

impl<'a> Sweep<'a> {
    /// Goes on until everything is seen, something is wrong, or a limit is met; a full disk is such a limit.
    pub(crate) fn run(&mut self) -> Result<Verdict, Trouble> {
        let verdict = match self.expand_all() {
            Err(trouble) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull),
            other => other?,
        };
        let status = match &verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Violated(_) => "violated".to_owned(),
            Verdict::Stopped(reason) => format!("stopped: {reason}"),
        };
        match self.commit(&status) {
            // What was committed before stands, and the reason is the same.
            Err(trouble) if trouble.is_disk_full() => {}
            other => other?,
        }
        Ok(verdict)
    }

    fn expand_all(&mut self) -> Result<Verdict, Trouble> {
        loop {
            let depth = self.journal.depth() - 1;
            let limits = &self.task.control.limits;
            if limits.max_depth.is_some_and(|max| depth as u64 >= max) && self.rest.is_none() {
                return Ok(Verdict::Stopped(StopReason::DepthLimit));
            }
            let before = self.fired() - std::mem::take(&mut self.transitions_before);
            let stopped = self.expand_layer(depth)?;
            if stopped.is_none() {
                self.drain()?;
            }
            if let Some(finding) = take_finding(&mut self.lanes) {
                return self.violated(finding, depth);
            }
            if let Some(reason) = stopped {
                return Ok(Verdict::Stopped(reason));
            }
            let mut layer = self.journal.writer();
            self.detector.finish_layer(&mut layer)?;
            self.layers
                .push(Layer { states: self.journal.states(depth), transitions: self.fired() - before });
            self.covers = self.covers_now();
            if layer.states() == 0 {
                return Ok(self.complete());
            }
            self.task.control.gauges.states.fetch_add(layer.states(), Ordering::Relaxed);
            self.journal.push(layer)?;
            let detector = &mut self.detector;
            self.journal.view_last(&mut |layer| detector.closed(layer))?;
            if self.detector.struggles() {
                self.fall_back()?;
            }
            if self.ledger.is_due() {
                self.commit("running")?;
            }
        }
    }

    fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        let seconds = self.seconds_before + self.task.control.elapsed().as_secs_f64();
        let tally = Tally { layers: &self.layers, covers: &self.covers, seconds };
        self.ledger.commit(&mut self.journal, tally, status)
    }

    fn covers_now(&self) -> Vec<u64> {
        let mut covers = total_covers(&self.lanes, self.task.space.properties().len());
        for (sum, before) in covers.iter_mut().zip(&self.covers_before) {
            *sum += before;
        }
        covers
    }

    /// Exchanges the detector for the next one, if there is one; says whether.
    fn fall_back(&mut self) -> Result<bool, Trouble> {
        let Some(make) = self.fallback.take() else { return Ok(false) };
        let mut next = make(&self.journal)?;
        let idle: Box<dyn Detector + 'a> = Box::new(detector::Nothing);
        let states = (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum();
        self.stages.push(Stage { storage: next.name(), states, depth: self.journal.depth() as u64 - 1 });
        std::mem::replace(&mut self.detector, idle).hand_over(&mut *next)?;
        self.detector = next;
        Ok(true)
    }

    /// The figures, with this verdict.
    pub(crate) fn report(&self, verdict: Verdict) -> Report {
        let traffic = &self.ledger.disk().traffic;
        Report {
            verdict,
            states: (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum(),
            transitions: self.layers.iter().map(|layer| layer.transitions).sum(),
            depth: Some(self.journal.depth() as u64 - 1),
            layers: self.layers.clone(),
            covers: self.covers.clone(),
            peak_memory: self.governor.peak(),
            stages: self.stages.clone(),
            disk: Some(DiskFigures {
                bytes: self.journal.bytes(),
                read: traffic.bytes_read(),
                written: traffic.bytes_written(),
            }),
        }
    }

    /// Transitions fired in this sitting.
    fn fired(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.transitions).sum()
    }

    /// Expands what is left of a layer; says why, if it stopped before the end.
    fn expand_layer(&mut self, depth: usize) -> Result<Option<StopReason>, Trouble> {
        let gauges = &self.task.control.gauges;
        gauges.depth.store(depth as u64, Ordering::Relaxed);
        gauges.frontier.store(self.journal.states(depth), Ordering::Relaxed);
        if self.rest.is_none() {
            gauges.expanded.store(0, Ordering::Relaxed);
        }
        let mut block = Vec::new();
        if let Some(rest) = self.rest.take() {
            if let Some(reason) = self.expand_block(&rest)? {
                return Ok(Some(reason));
            }
        } else {
            let mut reader = self.journal.reader(depth)?;
            while reader.next_block(&mut block)? {
                if let Some(reason) = self.expand_block(&block)? {
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    /// Expands a block of states, draining the cache whenever it is full.
    fn expand_block(&mut self, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        let words = self.task.space.words();
        let states = block.len() / words;
        let next = AtomicUsize::new(0);
        let leftover: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
        loop {
            if let Some(reason) =
                self.task.control.must_stop(self.task.control.gauges.states.load(Ordering::Relaxed))
            {
                return Ok(Some(reason));
            }
            let table = &self.cache.table;
            let state = |n: usize| (&block[n * words..(n + 1) * words], 0);
            let full = Mutex::new(false);
            let work = |lane: &mut Lane| {
                let ran_full = || *full.lock().unwrap_or_else(|e| e.into_inner()) = true;
                if lane.finish_batch(table).is_err() {
                    return ran_full();
                }
                loop {
                    let piece = leftover.lock().unwrap_or_else(|e| e.into_inner()).pop().or_else(|| {
                        let from = next.fetch_add(PIECE, Ordering::Relaxed);
                        (from < states).then(|| (from, states.min(from + PIECE)))
                    });
                    let Some((from, to)) = piece else { return };
                    if let Err((done, _)) =
                        lane.expand(table, (to - from) as u64, |n| state(from + n as usize))
                    {
                        if from + (done as usize) < to {
                            leftover
                                .lock()
                                .unwrap_or_else(|e| e.into_inner())
                                .push((from + done as usize, to));
                        }
                        return ran_full();
                    }
                }
            };
            match &mut self.lanes[..] {
                // The first takes all pieces; the others may have a batch waiting.
                few if few.len() == 1 || states < SHARED_FROM => few.iter_mut().for_each(work),
                many => std::thread::scope(|scope| {
                    for lane in many {
                        scope.spawn(|| work(lane));
                    }
                }),
            }
            if !full.into_inner().unwrap_or_else(|e| e.into_inner()) {
                return Ok(None);
            }
            self.drain()?;
            self.cache.clear()?;
        }
    }

    /// Offers what the cache learned to the detector.
    fn drain(&mut self) -> Result<(), Trouble> {
        let batch = self.cache.sort_new()?;
        if batch.is_empty() {
            return Ok(());
        }
        match self.detector.offer(batch) {
            Err(Trouble::OverBudget(over)) => match self.fall_back()? {
                true => self.detector.offer(&self.cache.sorted),
                false => Err(over.into()),
            },
            other => other,
        }
    }

    /// The whole space has been seen.
    fn complete(&self) -> Verdict {
        let properties = self.task.space.properties();
        let covers = &self.covers;
        for cover in self.task.question.of_kind(properties, PropertyKind::Cover) {
            if covers[cover.0 as usize] == 0 {
                let kind = ViolationKind::Uncovered(cover);
                return Verdict::Violated(Violation { kind, path: Vec::new(), shortest: true });
            }
        }
        Verdict::Holds
    }

    /// Turns what was found while expanding layer `depth` into a violation with its path.
    fn violated(&self, finding: Finding, depth: usize) -> Result<Verdict, Trouble> {
        let at = match finding.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(_) => depth,
            _ => depth + 1,
        };
        let path = path::shortest(self.task, &self.journal, self.lanes.len(), at, finding.state)?;
        Ok(Verdict::Violated(Violation { kind: finding.kind, path, shortest: true }))
    }
}
