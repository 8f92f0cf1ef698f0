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
use crate::explore::Setting;
use crate::finding::Finding;
use crate::layered::Trouble;
use crate::report::{Report, Stage, StopReason, Verdict};
use hadal_store::run::RunFile;
use hadal_system::{Successors, Worker};
use runs::{Files, Gather, Stream, precedes};
use std::cmp::Ordering;

/// Which search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    /// One way catch them young.
    Owcty,
    /// Maximal accepting predecessors.
    Map,
}

/// What such a search says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// There is no accepted cycle, and nothing else is wrong.
    Nothing,
    /// There is one.
    Cycle,
    /// A state, or a step from one, is wrong by itself.
    Wrong,
}

/// Why it ended early.
pub(crate) enum Early {
    Stopped(StopReason),
    Wrong,
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Early {
    fn from(trouble: T) -> Self {
        Early::Trouble(trouble.into())
    }
}

/// Explores everything and looks for accepted cycles. The report's verdict is `Holds` whatever is found, or says why it
/// stopped.
pub fn explore(search: &Setting, engine: External) -> Result<(Report, Says), ExploreError> {
    let acceptance = search.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
    if acceptance.sets != 1 || !acceptance.on_states || acceptance.pairs > 0 {
        return Err(Unsuited::SeveralSets.into());
    }
    let ledger = search.run.open().map_err(ExploreError::Trouble)?;
    let files = Files::new(search, ledger.disk()).map_err(ExploreError::Trouble)?;
    let words = search.task.space.words();
    let mut on = OnDisk {
        search,
        files: &files,
        worker: search.task.space.worker(),
        out: Successors::new(words),
        states: 0,
        transitions: 0,
    };
    let said = on.everything().and_then(|all| match engine {
        External::Owcty => on.owcty(all),
        External::Map => on.map(&all),
    });
    let (verdict, says) = match said {
        Ok(true) => (Verdict::Holds, Says::Cycle),
        Ok(false) => (Verdict::Holds, Says::Nothing),
        Err(Early::Wrong) => (Verdict::Holds, Says::Wrong),
        Err(Early::Stopped(reason)) => (Verdict::Stopped(reason), Says::Nothing),
        Err(Early::Trouble(Trouble::OverBudget(full))) => {
            (Verdict::Stopped(crate::run::out_of_memory(full)), Says::Nothing)
        }
        Err(Early::Trouble(trouble)) if trouble.is_disk_full() => {
            (Verdict::Stopped(StopReason::DiskFull), Says::Nothing)
        }
        Err(Early::Trouble(trouble)) => return Err(ExploreError::Trouble(trouble)),
    };
    let stage = Stage { storage: "sorted runs", states: 0, depth: 0 };
    let (states, transitions) = (on.states, on.transitions);
    let report = Report::of_nothing(search.task, search.governor, verdict, stage);
    Ok((Report { states, transitions, ..report }, says))
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The question does not suit the search.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// Memory or disk.
    #[error(transparent)]
    Trouble(Trouble),
}

/// A space and sets of its states on disk.
pub(super) struct OnDisk<'s, 'a> {
    search: &'s Setting<'a>,
    files: &'s Files,
    worker: Box<dyn Worker + 's>,
    out: Successors,
    states: u64,
    transitions: u64,
}

impl<'s> OnDisk<'s, '_> {
    fn must_go_on(&self) -> Result<(), Early> {
        let reason = self.search.task.control.must_stop(self.states);
        reason.map_or(Ok(()), |reason| Err(Early::Stopped(reason)))
    }

    fn is_accepting(&mut self, state: &[u64]) -> bool {
        self.worker.component(state).is_some() && self.worker.state_marks(state) & 1 == 1
    }

    /// Generates the successors of a state into `out`.
    fn expand(&mut self, state: &[u64]) {
        self.out.clear();
        self.worker.successors(state, &mut self.out);
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
    fn everything(&mut self) -> Result<RunFile, Early> {
        let files = self.files;
        let mut gather = files.gather(files.shape())?;
        self.out.clear();
        self.worker.initial(&mut self.out);
        if !self.out.faults().is_empty() {
            return Err(Early::Wrong);
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
                if !self.out.faults().is_empty() {
                    return Err(Early::Wrong);
                }
                self.transitions += self.out.len() as u64;
                for (_, to) in self.out.iter() {
                    gather.push(to)?;
                }
            }
            self.must_go_on()?;
        }
    }

    fn check(&mut self, state: &[u64]) -> Result<(), Early> {
        let task = self.search.task;
        let check = self.worker.check(state);
        match Finding::from_check(check, state, task.space.properties(), task.question) {
            Some(_) => Err(Early::Wrong),
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
