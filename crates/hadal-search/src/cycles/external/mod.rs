//! Accepted cycles by sorting and scanning alone: for state spaces of which not even some bits a state fit into memory, and
//! to compare with.
//!
//! Barnat, Brim and Simecek, "I/O efficient accepting cycle detection" (CAV 2007), and Barnat, Brim, Simecek and Weber,
//! "Revisiting resistance speeds up I/O-efficient LTL model checking" (TACAS 2008). Sets of states are sorted runs; successors are gathered,
//! sorted and merged with them. What is being worked on is committed about once a second, so a search that is killed goes
//! on from there. The lasso is found in the same way, through an accepting state that is known to lie on a cycle.

mod kept;
mod lasso;
mod map;
mod owcty;
mod runs;
mod together;

pub use together::DistributedCycles;

use super::Unsuited;
use crate::exchange::Alone;
use crate::explore::{Explored, Explorer, Method, Progress, Setting};
use crate::finding::Finding;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::ram::breadth::TRANSITION_WORK;
use crate::report::{Report, Stage, StopReason, Verdict, Violation, ViolationKind};
use crate::resting::{Reins, Resting};
use crate::run::status;
use crate::strategies::Resumes;
use hadal_store::run::RunFile;
use hadal_system::{Acceptance, PropertyId, Successors, Worker};
use kept::{Left, Reached, Step};
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
    /// All workers know that they stop.
    Agreed(StopReason),
    /// Something besides a cycle is wrong, in this state if it is in one.
    Wrong(ViolationKind, Option<Vec<u64>>),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Early {
    fn from(trouble: T) -> Self {
        Early::Trouble(trouble.into())
    }
}

/// Explores everything and looks for accepted cycles.
impl Method for External {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        self.suits(&setting)?;
        let ledger = setting.run.open()?;
        let files = Files::new(&setting, ledger.disk(), &Alone)?;
        let left = match setting.run.is_resumed() {
            true => Left::read(&ledger, &files, *self)?,
            false => None,
        };
        Ok(self.search(setting, (files, ledger), left))
    }
}

impl External {
    /// Refuses what it cannot answer.
    fn suits(self, setting: &Setting) -> Result<Acceptance, Trouble> {
        let acceptance = setting.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
        match acceptance.sets != 1 || !acceptance.on_states || acceptance.pairs > 0 {
            true => Err(Unsuited::SeveralSets.into()),
            false => Ok(acceptance),
        }
    }

    /// Searches, or goes on with what is left of a search.
    fn search<'a>(
        self,
        setting: Setting<'a>,
        (files, ledger): (Files<'a>, Ledger),
        left: Option<Left>,
    ) -> Box<dyn Explorer + 'a> {
        let (states, transitions) = left.as_ref().map_or((0, 0), |left| (left.states, left.transitions));
        let before = Progress { states, transitions, ..Progress::NOTHING };
        let reins = Reins::new(setting.task.control, setting.governor, before);
        let search = Arc::clone(&reins);
        Box::new(Resting::new(reins, async move {
            let mut on = OnDisk {
                search: &setting,
                engine: self,
                reins: &search,
                files: &files,
                ledger,
                worker: setting.task.space.worker(),
                out: Successors::new(setting.task.space.words()),
                states,
                transitions,
                seconds_before: left.as_ref().map_or(0.0, |left| left.seconds),
                fired: 0,
                reached: None,
                point: left.as_ref().map_or(0, |left| left.point),
                own: 0,
            };
            let property = self.suits(&setting)?.property;
            let turns = files.in_turns(search.turn());
            let said = on.answer(property, left).await;
            drop(turns);
            let said = on.stop_together(said)?;
            Ok(Explored::leaving(on.report(said)?, Resumes::ItsOwn))
        }))
    }
}

/// A space and sets of its states on disk.
pub(super) struct OnDisk<'s, 'a> {
    search: &'s Setting<'a>,
    engine: External,
    reins: &'s Reins<'s>,
    files: &'s Files<'a>,
    ledger: Ledger,
    worker: Box<dyn Worker + 's>,
    out: Successors,
    states: u64,
    transitions: u64,
    /// Of earlier sittings.
    seconds_before: f64,
    /// Transitions fired since the last rest, and states expanded.
    fired: u64,
    /// The point from which the search can go on, and how many there were.
    reached: Option<Reached>,
    point: u64,
    /// States that this worker owns.
    own: u64,
}

impl OnDisk<'_, '_> {
    /// What is wrong, with the way there.
    async fn answer(&mut self, property: PropertyId, left: Option<Left>) -> Result<Option<Violation>, Early> {
        match self.decide(left).await {
            Ok(None) => Ok(None),
            Ok(Some(seed)) => self.lasso(property, seed).await.map(Some),
            Err(Early::Wrong(kind, None)) => Ok(Some(Violation { kind, path: Vec::new(), shortest: true })),
            Err(Early::Wrong(kind, Some(state))) => self.way_to(kind, state).await.map(Some),
            Err(other) => Err(other),
        }
    }

    /// An accepting state on a cycle, if there is one.
    async fn decide(&mut self, left: Option<Left>) -> Result<Option<Vec<u64>>, Early> {
        let (step, mut runs) = match left {
            Some(left) => (Some(left.step), left.runs.into_iter()),
            None => (None, Vec::new().into_iter()),
        };
        let mut next = || runs.next().ok_or(Early::Trouble(Trouble::NothingToResume));
        let fixed = match step {
            Some(Step::Close) => {
                let own = Stream::open(&next()?)?.peek()?.map(<[u64]>::to_vec);
                return self.files.least(own);
            }
            Some(Step::Spread) => {
                let (all, removed) = (next()?, next()?);
                if self.engine == External::Owcty {
                    // It was known before that there is one.
                    self.reins.found();
                }
                return self.map(&all, removed, Some((next()?, next()?))).await;
            }
            Some(Step::Reach) => {
                let kept = next()?;
                self.owcty_from_reach(kept, Some((next()?, next()?))).await?
            }
            Some(Step::Drop { before }) => self.owcty_from_drop(before, (next()?, next()?)).await?,
            Some(Step::Explore) | None => {
                let left = if step.is_some() { Some((next()?, next()?)) } else { None };
                let all = self.everything(left).await?;
                match self.engine {
                    External::Map => {
                        return self.map(&all, self.files.empty(self.files.shape())?, None).await;
                    }
                    External::Owcty => self.owcty_from_reach(all, None).await?,
                }
            }
        };
        let Some(fixed) = fixed else { return Ok(None) };
        // A cycle is left: maximal accepting predecessors say through which state one leads.
        self.reins.found();
        let seed = self.map(&fixed, self.files.empty(self.files.shape())?, None).await?;
        seed.map_or(Err(Early::Trouble(Trouble::Liveness)), |seed| Ok(Some(seed)))
    }

    fn report(&self, said: Result<Option<Violation>, Early>) -> Result<Report, Trouble> {
        let verdict = match said {
            Ok(Some(violation)) => Verdict::Violated(violation),
            Ok(None) => Verdict::Holds,
            Err(Early::Wrong(kind, _)) => {
                Verdict::Violated(Violation { kind, path: Vec::new(), shortest: false })
            }
            Err(Early::Stopped(reason) | Early::Agreed(reason)) => Verdict::Stopped(reason),
            Err(Early::Trouble(Trouble::OverBudget(full))) => {
                Verdict::Stopped(crate::run::out_of_memory(full))
            }
            Err(Early::Trouble(trouble)) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull),
            Err(Early::Trouble(trouble)) => return Err(trouble),
        };
        let stage = Stage { storage: "sorted runs", states: 0, depth: 0 };
        let proviso = self.reins.proviso(&verdict);
        let report = Report::of_nothing(self.search.task, self.search.governor, verdict, stage);
        let (states, transitions, disk) = (self.states, self.transitions, Some(self.files.figures()));
        Ok(Report { states, transitions, disk, proviso, ..report })
    }

    /// Lets the next step come, if the work of this one is done.
    async fn rest(&mut self) -> Result<(), Early> {
        self.reins.count(std::mem::take(&mut self.fired) * TRANSITION_WORK);
        self.reins.note(self.states, self.transitions);
        self.reins.rest().await.map_err(Early::Stopped)
    }

    /// Rests within a pass, where a block of the stream is used up. Where the search is interrupted, what it reached last is
    /// committed.
    async fn rest_within(&mut self, states: &Stream) -> Result<(), Early> {
        if !states.is_between() {
            return Ok(());
        }
        self.reins.count(std::mem::take(&mut self.fired) * TRANSITION_WORK);
        self.reins.note(self.states, self.transitions);
        self.files.rest().await?;
        if self.reins.turn().ends() || self.search.task.control.is_interrupted() {
            let reason = StopReason::Interrupted;
            if !self.files.is_alone() {
                return Err(Early::Stopped(reason));
            }
            self.keep(&status(&Verdict::Stopped(reason.clone())))?;
            return Err(Early::Stopped(reason));
        }
        Ok(())
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

    /// The initial states.
    async fn initial(&mut self) -> Result<RunFile, Early> {
        let mut gather = self.files.gather(self.files.shape())?;
        self.out.clear();
        self.worker.initial(&mut self.out);
        if let Some(&label) = self.out.faults().first() {
            return Err(Early::Wrong(ViolationKind::StartFault(label), None));
        }
        for (_, state) in self.out.iter().filter(|(_, state)| self.files.owns(state)) {
            gather.push(state)?;
        }
        gather.finish().await
    }

    /// Every state that can be reached: layer by layer, each freed of what is known by a scan of it. Begins with all states
    /// that are known, and those of them that are to be expanded.
    async fn everything(&mut self, left: Option<(RunFile, RunFile)>) -> Result<RunFile, Early> {
        let files = self.files;
        let (mut all, mut layer) = match left {
            Some(left) => left,
            None => {
                let layer = self.initial().await?;
                self.states = files.count(&layer)?;
                (layer.clone(), layer)
            }
        };
        while files.count(&layer)? > 0 {
            let mut gather = files.gather(files.shape())?;
            let mut states = Stream::open(&layer)?;
            let (before, mut wrong) = (self.transitions, None);
            while let (None, Some(state)) = (&wrong, states.peek()?) {
                let state = state.to_vec();
                states.step();
                wrong = self.wrong_in(&state);
                if wrong.is_none() {
                    self.transitions += self.out.len() as u64;
                    for (_, to) in self.out.iter() {
                        gather.push(to)?;
                    }
                }
                self.rest_within(&states).await?;
            }
            drop(states);
            if let Some((kind, state)) = self.first_wrong(wrong, (&layer, before))? {
                return Err(Early::Wrong(kind, Some(state)));
            }
            self.transitions = before + files.total(self.transitions - before)?;
            layer = files.without(&gather.finish().await?, &all).await?;
            self.states += files.count(&layer)?;
            all = files.union(all, layer.clone()).await?;
            self.own = all.records();
            self.reach(Step::Explore, &[&all, &layer]).await?;
        }
        Ok(all)
    }

    /// What is wrong in a state or on the way out of it; its successors are in `out` where nothing is.
    fn wrong_in(&mut self, state: &[u64]) -> Option<(ViolationKind, Vec<u64>)> {
        if let Some(found) = self.check(state) {
            return Some((found.kind, found.state));
        }
        self.expand(state);
        let label = self.out.faults().first();
        label.map(|&label| (ViolationKind::Fault(label), state.to_vec()))
    }

    fn check(&mut self, state: &[u64]) -> Option<Finding> {
        let task = self.search.task;
        let check = self.worker.check(state);
        Finding::from_check(check, state, task.space.properties(), task.question)
    }

    /// The accepting states of a set that are not in another.
    async fn accepting(&mut self, set: &RunFile, removed: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        let mut writer = files.writer(files.shape())?;
        let (mut states, mut removed) = (Stream::open(set)?, Stream::open(removed)?);
        while let Some(state) = states.peek()? {
            let state = state.to_vec();
            states.step();
            if !removed.has(&state)? && self.is_accepting(&state) {
                writer.push(&state)?;
            }
            self.rest_within(&states).await?;
        }
        Ok(writer.finish()?)
    }
}

impl Gather<'_, '_> {
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
