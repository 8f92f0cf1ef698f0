//! Cheapest runs on disk: branch and bound layer by layer, or External A* by least cost.

use crate::error::CheckError;
use crate::options::Options;
use crate::plan::Plan;
use crate::run::Session;
use hadal_exec::zones::priced::{Found, PricedError, PricedSpace, PricedStates};
use hadal_exec::zones::{MOST_WORDS, ZoneError};
use hadal_search::branch::{BranchOptions, BranchPass, Branched, Costs, branch};
use hadal_search::external::{External, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::{
    Control, DeadlockNotion, Question, Run, SearchTask, Setting, StopReason, Verdict, explore,
};
use hadal_system::guide::{Blind, Goal};
use hadal_system::{PropertyId, StateSpace};
use std::path::PathBuf;
use std::sync::Arc;

/// In which order states on disk are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskOrder {
    /// By least cost: External A* without estimates.
    Best,
    /// Layer by layer, a share of each in percent, pass by pass; the last is 100.
    Layers(Vec<u32>),
}

/// What a search on disk came to.
#[derive(Clone, Debug)]
pub struct DiskAnswer {
    /// The cheapest run that was found.
    pub best: Option<Found>,
    /// Why it ended before that was proved.
    pub stopped: Option<StopReason>,
    /// What was done.
    pub passes: Vec<BranchPass>,
    /// Bytes in the run's folder.
    pub disk_bytes: u64,
    /// The run's folder, where it is kept.
    pub run: Option<PathBuf>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The model has no priced zone graph.
    #[error(transparent)]
    Priced(#[from] PricedError),
    /// The options make no sense, or the search failed.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl From<Trouble> for DiskError {
    fn from(trouble: Trouble) -> Self {
        DiskError::Check(trouble.into())
    }
}

/// Looks for a cheapest run of at most `bound`, where one is given, or goes on with a run that was stopped. `begun` is given
/// the reins.
pub fn cheapest_on_disk(
    space: &PricedSpace,
    (order, bound): (&DiskOrder, Option<u64>),
    options: &Options,
    begun: impl FnOnce(&Arc<Control>),
) -> Result<DiskAnswer, DiskError> {
    let plan = Plan::new(options, false)?;
    let session = Session::open(options, plan.memory, &space.zones().timed().system.name)?;
    begun(&session.control);
    let states = PricedStates::new(space);
    if states.words() > MOST_WORDS {
        let clocks = space.zones().timed().clocks.len();
        return Err(PricedError::from(ZoneError::TooWide { clocks, words: states.words() }).into());
    }
    let question = Question::everything(states.properties(), DeadlockNotion::Off);
    let (fingerprint, about) = (states.fingerprint(), &options.place.about);
    let resumes = options.place.resumed.is_some();
    let open = || match resumes {
        true => session.place.open(&session.governor, fingerprint, about),
        false => session.place.create(&session.governor, fingerprint, about),
    };
    let setting = Setting {
        task: SearchTask { space: &states, question: &question, control: &session.control },
        governor: &session.governor,
        threads: plan.threads,
        run: if resumes { Run::Resumed(&open) } else { Run::New(&open) },
    };
    let found = match order {
        DiskOrder::Layers(coverage) => {
            let costs = Costs { least: PricedStates::least_cost, is_goal: PricedStates::is_goal };
            branch(setting, costs, &BranchOptions { coverage: coverage.clone(), bound })?
        }
        DiskOrder::Best => by_cost(setting, bound)?,
    };
    if let Some(error) = states.take_error() {
        session.place.discard(&session.control);
        return Err(error.into());
    }
    if found.faulty {
        return Err(CheckError::Internal("a step failed without a reason".into()).into());
    }
    let best = found.best.map(|(_, path)| states.found(&path)).transpose()?;
    let kept = found.stopped.is_some() || options.place.disk.is_some() || resumes;
    let run = (kept && session.place.is_used()).then(|| session.place.path.clone());
    if run.is_none() {
        session.place.discard(&session.control);
    }
    Ok(DiskAnswer { best, stopped: found.stopped, passes: found.passes, disk_bytes: found.disk_bytes, run })
}

/// External A* with the estimate 0: buckets by least cost.
fn by_cost(setting: Setting, bound: Option<u64>) -> Result<Branched, Trouble> {
    let goal = Goal { properties: vec![PropertyId(0)], ..Goal::default() };
    let options = ExternalOptions { bound, ..ExternalOptions::default() };
    let report = explore(&External { guide: &Blind, goal: &goal, options }, setting)?.report;
    let least = |path: &[Vec<u64>]| path.last().map_or(0, |state| PricedStates::least_cost(state));
    let (best, stopped) = match report.verdict {
        Verdict::Violated(found) => (Some((least(&found.path), found.path)), None),
        // Nothing within the bound.
        Verdict::Holds | Verdict::Stopped(StopReason::CostBound) => (None, None),
        Verdict::Stopped(reason) => (None, Some(reason)),
    };
    let pass = BranchPass {
        coverage: 100,
        below: bound.map(|bound| bound.saturating_add(1)),
        cost: best.as_ref().map(|(cost, _)| *cost),
        expanded: report.states,
        generated: report.transitions,
        stored: report.states,
        depth: 0,
    };
    let faulty =
        best.as_ref().is_some_and(|(_, path)| !path.last().is_some_and(|it| PricedStates::is_goal(it)));
    let disk_bytes = report.disk.map_or(0, |disk| disk.bytes);
    Ok(Branched { best, stopped, faulty, passes: vec![pass], disk_bytes })
}
