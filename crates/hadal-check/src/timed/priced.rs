//! Cheapest runs: in RAM while that suffices, then on disk, by branch and bound layer by layer or External A* by least cost.

use crate::error::CheckError;
use crate::memory::default_memory;
use crate::options::Options;
use crate::plan::Plan;
use crate::run::Session;
use hadal_exec::zones::priced::{
    Answer, Order, Pass, PricedError, PricedLimits, PricedSpace, PricedStates, search,
};
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
enum DiskOrder {
    /// By least cost: External A* without estimates.
    Best,
    /// Layer by layer, a share of each in percent, pass by pass; the last is 100.
    Layers(Vec<u32>),
}

/// What a search for a cheapest run came to, wherever its states were.
#[derive(Clone, Debug)]
pub struct Cheapest {
    /// The run, and what was done to find it.
    pub answer: Answer,
    /// Why it ended before that was proved.
    pub stopped: Option<StopReason>,
    /// Bytes in the run's folder, where states were on disk.
    pub disk_bytes: Option<u64>,
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

/// Which cheapest run is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// In which order.
    pub order: &'a Order,
    /// It costs no more than this.
    pub bound: Option<i64>,
    /// Whether to begin in RAM.
    pub in_ram: bool,
}

/// Looks for a cheapest run: in RAM, and on disk from the beginning where that does not suffice; or goes on with a run that
/// was stopped. `begun` is given the reins of a search on disk.
pub fn cheapest(
    space: &PricedSpace,
    sought: Sought,
    options: &Options,
    begun: impl FnOnce(&Arc<Control>),
) -> Result<Cheapest, DiskError> {
    let Sought { order, bound, in_ram } = sought;
    if in_ram && options.place.resumed.is_none() {
        let memory = options.budget.memory.unwrap_or_else(default_memory);
        let seconds = options.budget.limits.time.map(|limit| limit.as_secs_f64());
        let answer = search(space, order, bound, PricedLimits { memory, seconds })?;
        let full = !answer.complete && answer.out_of_memory;
        // Deepest first has no locality on disk.
        if !full || *order == Order::Depth {
            let stopped = match (answer.complete, full) {
                (true, _) => None,
                (false, true) => Some(StopReason::Memory { needed: 2 * memory }),
                (false, false) => Some(StopReason::TimeLimit),
            };
            return Ok(Cheapest { answer, stopped, disk_bytes: None, run: None });
        }
    }
    on_disk(space, (order, bound), options, begun)
}

fn on_disk(
    space: &PricedSpace,
    (order, bound): (&Order, Option<i64>),
    options: &Options,
    begun: impl FnOnce(&Arc<Control>),
) -> Result<Cheapest, DiskError> {
    let order = match order {
        Order::Best => DiskOrder::Best,
        Order::Breadth => DiskOrder::Layers(vec![100]),
        Order::Broadening(coverage) => DiskOrder::Layers(coverage.clone()),
        Order::Depth => {
            let why = "--order depth has no locality on disk: leave out --disk, or choose another order";
            return Err(CheckError::Question(why.into()).into());
        }
    };
    let bound = match bound.map(u64::try_from) {
        Some(Err(_)) => {
            return Err(CheckError::Question("--upper-bound: no cost is negative".into()).into());
        }
        Some(Ok(bound)) => Some(bound),
        None => None,
    };
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
    let pass = |pass: &BranchPass| Pass {
        coverage: pass.coverage,
        bound: pass.below.map(|below| below as i64),
        cost: pass.cost.map(|cost| cost as i64),
        expanded: pass.expanded,
        generated: pass.generated,
    };
    let answer = Answer {
        best,
        complete: found.stopped.is_none(),
        out_of_memory: false,
        passes: found.passes.iter().map(pass).collect(),
        stored: found.passes.iter().map(|pass| pass.stored).max().unwrap_or(0),
    };
    Ok(Cheapest { answer, stopped: found.stopped, disk_bytes: Some(found.disk_bytes), run })
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
