//! Breadth-first search that keeps a payload beside every state and merges the payloads that meet in one: how many shortest
//! paths lead there, unless the space keeps something else.
//!
//! Layers are sorted runs on disk. Successors are sorted with their payloads, equal ones merged on the way, and what earlier
//! layers hold is subtracted: Korf, "Delayed duplicate detection" (IJCAI 2003), with payloads. A payload is final when its
//! layer is, because every transition into it comes from the layer before.

use crate::explore::{Explored, Explorer, Method, Progress, Setting};
use crate::finding::Finding;
use crate::lane::{Lane, Parents, SearchTask, total_counts};
use crate::layered::Trouble;
use crate::ram::breadth::TRANSITION_WORK;
use crate::report::{Layer, Report, Stage, StopReason, Verdict, Violation, ViolationKind};
use crate::resting::{Reins, Resting};
use crate::run::{Answer, Buffers, complete, out_of_memory, run_options};
use crate::strategies::Resumes;
use hadal_store::error::{ReadError, WriteError};
use hadal_store::levels::{LevelPolicy, Levels};
use hadal_store::run::{RunFile, RunOptions, RunReader};
use hadal_store::shape::RecordShape;
use hadal_store::sort::Sorter;
use hadal_store::vfs::Disk;
use hadal_system::{Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use std::sync::Arc;

/// The search. What it found of the state that is wrong is in [`Explored::payload`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Paths;

impl Method for Paths {
    fn explorer<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let ledger = setting.run.open()?;
        let reins = Reins::new(setting.task.control, setting.governor, Progress::NOTHING);
        let own = Arc::clone(&reins);
        Ok(Box::new(Resting::new(reins, async move {
            let counted = CountedPaths(setting.task.space);
            let space: &dyn StateSpace = match setting.task.space.payload() {
                Payload::NONE => &counted,
                _ => setting.task.space,
            };
            let task = SearchTask { space, ..setting.task };
            let mut search = Search::new(Setting { task, ..setting }, ledger.disk(), &own);
            let ended = search.run().await;
            search.explored(ended)
        })))
    }
}

/// A space in which every state keeps the number of paths that lead there: as many as lead to the states before.
struct CountedPaths<'s>(&'s dyn StateSpace);

struct CountingWorker<'s>(Box<dyn Worker + 's>);

impl WrapsSpace for CountedPaths<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.0
    }
    fn payload(&self) -> Payload {
        Payload { words: 1, merge: Merge::Sum }
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(CountingWorker(self.0.worker()))
    }
}

impl WrapsWorker for CountingWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.0
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.0
    }
    fn payloads(&mut self, from: Option<(&[u64], &[u64])>, out: &Successors, payloads: &mut Vec<u64>) {
        let paths = from.map_or(1, |(_, payload)| payload[0]);
        payloads.extend(std::iter::repeat_n(paths, out.len()));
    }
}

/// The share of the budget in which successors are sorted.
const SORTED_SHARE: u64 = 4;

struct Search<'s> {
    setting: Setting<'s>,
    reins: &'s Reins<'s>,
    disk: &'s Disk,
    options: RunOptions,
    lane: Lane<'s>,
    /// Every layer that is found, with payloads.
    layers: Vec<RunFile>,
    closed: Levels,
    figures: Vec<Layer>,
    states: u64,
    /// Of the state that is wrong.
    payload: Option<Vec<u64>>,
}

/// A record that was looked for: payload and state.
type Found = (Vec<u64>, Vec<u64>);

/// Why it ended early.
enum Early {
    Stopped(StopReason),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Early {
    fn from(trouble: T) -> Self {
        Early::Trouble(trouble.into())
    }
}

impl<'s> Search<'s> {
    fn new(setting: Setting<'s>, disk: &'s Disk, reins: &'s Reins<'s>) -> Self {
        let space = setting.task.space;
        let Payload { words, merge } = space.payload();
        let shape = RecordShape::with_payload(space.words(), words).merging(merge);
        let options = RunOptions { shape, ..run_options(space, setting.governor, Buffers::Many) };
        Search {
            setting,
            reins,
            disk,
            options,
            lane: Lane::new(setting.task, Parents::Forgotten),
            layers: Vec::new(),
            closed: Levels::new(disk, options, LevelPolicy::Merging { ratio: 4 }),
            figures: Vec::new(),
            states: 0,
            payload: None,
        }
    }

    async fn run(&mut self) -> Result<Verdict, Early> {
        let bytes = self.setting.governor.limit() / SORTED_SHARE;
        let mut sorter = Sorter::new(self.disk, self.options, bytes);
        self.lane.generate_initial(0);
        self.deal_out(None, &mut sorter)?;
        loop {
            let layer = sorter.drain_into_new(&self.closed)?;
            if let Some(row) = self.figures.last_mut() {
                row.unique = layer.records();
                row.duplicates.either = row.candidates - row.unique;
            }
            self.look_at(&layer)?;
            if let Some(finding) = self.lane.finding.take() {
                return self.violated(finding, &layer);
            }
            if layer.records() == 0 {
                let counts = total_counts(std::slice::from_ref(&self.lane), self.setting.task.space);
                return Ok(complete(self.setting.task, &counts.covers));
            }
            let depth = self.layers.len() as u64;
            self.states += layer.records();
            self.closed.add_run(layer.clone())?;
            self.layers.push(layer.clone());
            if self.setting.task.control.limits.max_depth.is_some_and(|most| depth >= most) {
                return Err(Early::Stopped(StopReason::DepthLimit));
            }
            self.expand(&layer, &mut sorter).await?;
        }
    }

    /// Looks at the states of a layer that was just found.
    fn look_at(&mut self, layer: &RunFile) -> Result<(), ReadError> {
        let (mut reader, mut block) = (RunReader::open(layer)?, Vec::new());
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(self.options.shape.stride()) {
                self.lane.look_at(self.options.shape.state(record));
            }
        }
        Ok(())
    }

    /// Generates the successors of a layer with their payloads.
    async fn expand(&mut self, layer: &RunFile, sorter: &mut Sorter<'_>) -> Result<(), Early> {
        let shape = self.options.shape;
        let fired = self.lane.transitions;
        let (mut reader, mut block) = (RunReader::open(layer)?, Vec::new());
        while reader.next_block(&mut block)? {
            let before = self.lane.transitions;
            for record in block.chunks_exact(shape.stride()) {
                let state = shape.state(record);
                self.lane.generate(state, 0);
                self.deal_out(Some((state, &record[..shape.payload_words()])), sorter)?;
            }
            self.reins.count((self.lane.transitions - before) * TRANSITION_WORK);
            self.reins.note(self.states, self.lane.transitions);
            self.reins.rest().await.map_err(Early::Stopped)?;
        }
        let (states, transitions) = (layer.records(), self.lane.transitions - fired);
        self.figures.push(Layer { states, transitions, candidates: transitions, ..Layer::default() });
        Ok(())
    }

    /// Gives what waits in the lane to be sorted.
    fn deal_out(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        sorter: &mut Sorter<'_>,
    ) -> Result<(), WriteError> {
        let words = self.options.shape.payload_words();
        let payloads = self.lane.payloads(from);
        let mut record = Vec::with_capacity(self.options.shape.stride());
        for (payload, (_, state)) in payloads.chunks_exact(words).zip(self.lane.waiting().0.iter()) {
            record.clear();
            record.extend_from_slice(payload);
            record.extend_from_slice(state);
            sorter.push(&record)?;
        }
        self.lane.settle();
        Ok(())
    }

    /// What was found, with its path and payload; `found` is the layer being found.
    fn violated(&mut self, finding: Finding, found: &RunFile) -> Result<Verdict, Early> {
        if let ViolationKind::StartFault(_) = finding.kind {
            let violation = Violation { kind: finding.kind, path: Vec::new(), shortest: true };
            return Ok(Verdict::Violated(violation));
        }
        let before = match finding.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(_) => self.layers.len() - 1,
            _ => self.layers.len(),
        };
        let layer = self.layers.get(before).unwrap_or(found).clone();
        let mut path = vec![finding.state];
        self.payload = self.first(&layer, |_, state| state == path[0])?.map(|(payload, _)| payload);
        for layer in self.layers[..before].iter().rev() {
            let target = &path[path.len() - 1];
            let (mut worker, mut out) =
                (self.setting.task.space.worker(), Successors::new(self.setting.task.space.words()));
            let leads = |_: &[u64], state: &[u64]| {
                out.clear();
                worker.successors(state, &mut out);
                out.iter().any(|(_, to)| to == target.as_slice())
            };
            // Every state has a predecessor in the layer before.
            path.extend(self.first(layer, leads)?.map(|(_, state)| state));
        }
        path.reverse();
        self.states += found.records();
        if found.records() > 0 {
            self.layers.push(found.clone());
        }
        Ok(Verdict::Violated(Violation { kind: finding.kind, path, shortest: true }))
    }

    /// The first record of a layer that is wanted.
    fn first(
        &self,
        layer: &RunFile,
        mut wanted: impl FnMut(&[u64], &[u64]) -> bool,
    ) -> Result<Option<Found>, ReadError> {
        let shape = self.options.shape;
        let (mut reader, mut block) = (RunReader::open(layer)?, Vec::new());
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(shape.stride()) {
                let (payload, state) = record.split_at(shape.payload_words());
                if wanted(payload, state) {
                    return Ok(Some((payload.to_vec(), state.to_vec())));
                }
            }
        }
        Ok(None)
    }

    fn explored(self, ended: Result<Verdict, Early>) -> Result<Explored, Trouble> {
        let verdict = match ended {
            Ok(verdict) => verdict,
            Err(Early::Stopped(reason)) => Verdict::Stopped(reason),
            Err(Early::Trouble(
                Trouble::OverBudget(full)
                | Trouble::Write(WriteError::OverBudget(full))
                | Trouble::Read(ReadError::OverBudget(full)),
            )) => Verdict::Stopped(out_of_memory(full)),
            Err(Early::Trouble(trouble)) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull),
            Err(Early::Trouble(trouble)) => return Err(trouble),
        };
        let Setting { task, governor, .. } = self.setting;
        let counts = total_counts(std::slice::from_ref(&self.lane), task.space);
        let stages = vec![Stage { storage: "sorted runs", states: 0, depth: 0 }];
        let (states, transitions) = (self.states, self.lane.transitions);
        let answer = Answer { verdict, states, transitions, counts: &counts, stages };
        let depth = Some((self.layers.len() as u64).saturating_sub(1));
        let report = Report { depth, layers: self.figures, ..answer.report(task, governor) };
        Ok(Explored { payload: self.payload, ..Explored::leaving(report, Resumes::Nothing) })
    }
}
