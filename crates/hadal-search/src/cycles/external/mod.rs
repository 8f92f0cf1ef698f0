//! Accepted cycles by sorting and scanning alone: for state spaces of which not even some bits a state fit into memory, and
//! to compare with.
//!
//! Barnat, Brim and Simecek, "I/O efficient accepting cycle detection" (CAV 2007), and Barnat, Brim, Simecek and Weber,
//! "Revisiting resistance speeds up I/O-efficient LTL model checking" (TACAS 2008). Sets of states are sorted runs; successors are gathered,
//! sorted and merged with them. An answer says whether there is an accepted cycle; its lasso is another search's work.

mod map;
mod owcty;
mod runs;

use super::Unsuited;
use crate::explore::{Explored, Explorer, Method, Progress, Setting};
use crate::finding::Finding;
use crate::layered::Trouble;
use crate::ram::breadth::TRANSITION_WORK;
use crate::report::{Report, Stage, StopReason, Verdict, Violation, ViolationKind};
use crate::resting::{Reins, Resting};
use crate::strategies::Resumes;
use hadal_store::run::RunFile;
use hadal_system::{Successors, Worker};
use runs::{Files, Gather, Stream, precedes};
use std::cmp::Ordering;
use std::sync::Arc;

/// Which search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    /// One way catch them young.
    Owcty,
    /// Maximal accepting predecessors.
    Map,
}

/// Why it ended early.
pub(crate) enum Early {
    Stopped(StopReason),
    Wrong(ViolationKind),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Early {
    fn from(trouble: T) -> Self {
        Early::Trouble(trouble.into())
    }
}

/// Explores everything and looks for accepted cycles. A violation has no path: the way there is another search's work.
impl Method for External {
    fn explorer<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let acceptance = setting.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
        if acceptance.sets != 1 || !acceptance.on_states || acceptance.pairs > 0 {
            return Err(Unsuited::SeveralSets.into());
        }
        let ledger = setting.run.open()?;
        let files = Files::new(&setting, ledger.disk())?;
        let reins = Reins::new(setting.task.control, setting.governor, Progress::NOTHING);
        let (engine, search) = (*self, Arc::clone(&reins));
        Ok(Box::new(Resting::new(reins, async move {
            let mut on = OnDisk::new(&setting, &search, &files);
            let said = on.decide(engine).await;
            // The run's folder is open until here.
            drop(ledger);
            let cycle = ViolationKind::Cycle { property: acceptance.property, loop_from: 0 };
            Ok(Explored::leaving(on.report(said, cycle)?, Resumes::Nothing))
        })))
    }
}

/// A space and sets of its states on disk.
pub(super) struct OnDisk<'s, 'a> {
    search: &'s Setting<'a>,
    reins: &'s Reins<'s>,
    files: &'s Files,
    worker: Box<dyn Worker + 's>,
    out: Successors,
    states: u64,
    transitions: u64,
    /// Transitions fired since the last rest, and states expanded.
    fired: u64,
}

impl<'s, 'a> OnDisk<'s, 'a> {
    fn new(search: &'s Setting<'a>, reins: &'s Reins<'s>, files: &'s Files) -> Self {
        let (worker, out) = (search.task.space.worker(), Successors::new(search.task.space.words()));
        OnDisk { search, reins, files, worker, out, states: 0, transitions: 0, fired: 0 }
    }

    /// Whether there is an accepted cycle.
    async fn decide(&mut self, engine: External) -> Result<bool, Early> {
        let all = self.everything().await?;
        match engine {
            External::Owcty => self.owcty(all).await,
            External::Map => self.map(&all).await,
        }
    }

    fn report(&self, said: Result<bool, Early>, cycle: ViolationKind) -> Result<Report, Trouble> {
        let wrong = |kind| Verdict::Violated(Violation { kind, path: Vec::new(), shortest: false });
        let verdict = match said {
            Ok(true) => wrong(cycle),
            Ok(false) => Verdict::Holds,
            Err(Early::Wrong(kind)) => wrong(kind),
            Err(Early::Stopped(reason)) => Verdict::Stopped(reason),
            Err(Early::Trouble(Trouble::OverBudget(full))) => {
                Verdict::Stopped(crate::run::out_of_memory(full))
            }
            Err(Early::Trouble(trouble)) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull),
            Err(Early::Trouble(trouble)) => return Err(trouble),
        };
        let stage = Stage { storage: "sorted runs", states: 0, depth: 0 };
        let report = Report::of_nothing(self.search.task, self.search.governor, verdict, stage);
        Ok(Report { states: self.states, transitions: self.transitions, ..report })
    }

    /// Lets the next step come, if the work of this one is done.
    async fn rest(&mut self) -> Result<(), Early> {
        self.reins.count(std::mem::take(&mut self.fired) * TRANSITION_WORK);
        self.reins.note(self.states, self.transitions);
        self.reins.rest().await.map_err(Early::Stopped)
    }

    fn is_accepting(&mut self, state: &[u64]) -> bool {
        self.worker.component(state).is_some() && self.worker.state_marks(state) & 1 == 1
    }

    /// Generates the successors of a state into `out`.
    fn expand(&mut self, state: &[u64]) {
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.fired += 1 + self.out.len() as u64;
    }

    /// Calls `take` for each successor on a cycle that `state` may lie on.
    fn along_cycles(
        &mut self,
        state: &[u64],
        mut take: impl FnMut(&[u64]) -> Result<(), Early>,
    ) -> Result<(), Early> {
        let Some(own) = self.worker.component(state) else { return Ok(()) };
        self.expand(state);
        for (_, to) in self.out.iter() {
            if self.worker.component(to) == Some(own) {
                take(to)?;
            }
        }
        Ok(())
    }

    /// Every state that can be reached: layer by layer, each freed of what is known by a scan of it.
    async fn everything(&mut self) -> Result<RunFile, Early> {
        let files = self.files;
        let mut gather = files.gather(files.shape())?;
        self.out.clear();
        self.worker.initial(&mut self.out);
        if let Some(&label) = self.out.faults().first() {
            return Err(Early::Wrong(ViolationKind::StartFault(label)));
        }
        for (_, state) in self.out.iter() {
            gather.push(state)?;
        }
        let mut all = files.empty(files.shape())?;
        loop {
            let layer = files.without(&gather.finish()?, &all)?;
            if layer.records() == 0 {
                return Ok(all);
            }
            self.states += layer.records();
            all = files.union(all, layer.clone())?;
            gather = files.gather(files.shape())?;
            let mut states = Stream::open(&layer)?;
            while let Some(state) = states.peek()? {
                let state = state.to_vec();
                states.step();
                self.check(&state)?;
                self.expand(&state);
                if let Some(&label) = self.out.faults().first() {
                    return Err(Early::Wrong(ViolationKind::Fault(label)));
                }
                self.transitions += self.out.len() as u64;
                for (_, to) in self.out.iter() {
                    gather.push(to)?;
                }
            }
            self.rest().await?;
        }
    }

    fn check(&mut self, state: &[u64]) -> Result<(), Early> {
        let task = self.search.task;
        let check = self.worker.check(state);
        match Finding::from_check(check, state, task.space.properties(), task.question) {
            Some(found) => Err(Early::Wrong(found.kind)),
            None => Ok(()),
        }
    }

    /// The accepting states of a set that are not in another.
    fn accepting(&mut self, set: &RunFile, removed: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        let mut writer = files.writer(files.shape())?;
        let (mut states, mut removed) = (Stream::open(set)?, Stream::open(removed)?);
        while let Some(state) = states.peek()? {
            let state = state.to_vec();
            states.step();
            if !removed.has(&state)? && self.is_accepting(&state) {
                writer.push(&state)?;
            }
        }
        Ok(writer.finish()?)
    }
}

impl Gather<'_> {
    /// Adds `second` beside `first`, which decides the order.
    fn push_pair(&mut self, first: &[u64], second: &[u64]) -> Result<(), Early> {
        // The last words are the most significant ones.
        let record: Vec<u64> = second.iter().chain(first).copied().collect();
        self.push(&record)
    }
}

/// The two states of a pair: the one that decides the order, and the other.
fn halves(pair: &[u64]) -> (&[u64], &[u64]) {
    let (second, first) = pair.split_at(pair.len() / 2);
    (first, second)
}

/// Whether `a` is larger than `b` in the order of states.
fn is_larger(a: &[u64], b: &[u64]) -> bool {
    precedes(b, a) == Ordering::Less
}
