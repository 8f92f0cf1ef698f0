//! The whole of planning: prepare the task, search, replay, and say what was proved.

use crate::astar::Figures;
use crate::disk::{OnDisk, Resumed};
use crate::engine::Engine;
use crate::guides::GuideChoice;
use crate::plan::{Plan, ReplayError};
use crate::sitting::Sitting;
use hadal_exec::rows::{RowError, RowSpace};
use hadal_guide::plan::Safe;
use hadal_search::layered::Trouble;
use hadal_search::{Control, StopReason};
use hadal_store::{Governor, OverBudget};
use hadal_system::rows::{Rational, RowTask};
use std::sync::Arc;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The task cannot be run.
    #[error(transparent)]
    Task(#[from] RowError),
    /// A search handed out what is no plan: a defect of hadal.
    #[error("a plan was found that does not replay: {0}")]
    Replay(#[from] ReplayError),
    /// A number has no room in 63 bits, or a cost is negative.
    #[error("a number or a cost of the task leaves what can be counted exactly")]
    Fault,
    /// The disk, or what is on it, is in the way.
    #[error(transparent)]
    Disk(#[from] Trouble),
    /// A search in RAM was written down, and the file is damaged.
    #[error("the run cannot be read: {0}")]
    Snapshot(#[from] std::io::Error),
    /// The rows, made ready to be searched, take more memory than there is.
    #[error("the rows of the task take {} MiB more than there is memory for", .bytes >> 20)]
    TooLarge {
        /// What they take, as far as the task is not there already.
        bytes: u64,
    },
    /// The engine does not suit the task.
    #[error("engine {}: {why}", .engine.info().name)]
    Unsuited {
        /// Which engine.
        engine: Engine,
        /// Why.
        why: &'static str,
    },
}

/// What is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a plan.
    Solved,
    /// There is none.
    Unsolvable,
    /// The search ended before it knew.
    Stopped(StopReason),
}

/// A plan on the way to the best one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// What it costs.
    pub cost: Rational,
    /// When it was found, from the start of the search.
    pub seconds: f64,
    /// The layer of its last state, in breadth-first searches.
    pub level: Option<u64>,
}

/// What planning came to.
#[derive(Debug)]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// The best plan found.
    pub plan: Option<Plan>,
    /// Whether no plan is better, which was proved.
    pub optimal: bool,
    /// Whether numbers were floating point.
    pub floating: bool,
    /// What was done.
    pub figures: Figures,
    /// No plan has a better cost than this, as far as was proved.
    pub lower_bound: Option<Rational>,
    /// Words of a state.
    pub state_words: usize,
    /// Bytes on disk at the end.
    pub disk_bytes: u64,
    /// The task as it was run: its rows are in the order of the plan's numbers.
    pub task: Arc<RowTask>,
    /// Searches done, in order, for people.
    pub searches: Vec<String>,
    /// Costs of plans, as they were found.
    pub costs: Vec<Found>,
    /// States of each layer, where layers were explored whole.
    pub levels: Vec<u64>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Abstraction {
    /// The whole task.
    #[default]
    Whole,
    /// The task without variables that can always be brought to where they are needed, where any plan is asked for; the
    /// steps of those are put back.
    Safe,
}

/// A task to be planned for.
pub struct Planner<'a> {
    /// Limits and interruption.
    pub control: &'a Control,
    /// The memory budget.
    pub governor: &'a Governor,
    /// Where to go on when memory is used up.
    pub disk: OnDisk<'a>,
    /// Whether a best plan is asked for.
    pub optimal: bool,
    /// Begins on disk, as if memory were used up.
    pub external: bool,
    /// Ends with the first plan, where any plan is asked for.
    pub first: bool,
    /// Which search.
    pub engine: Engine,
    /// What guides the search for a best plan.
    pub guide: GuideChoice,
    /// What is searched.
    pub abstraction: Abstraction,
    /// Bytes that the process holds now: what guides take is found out by looking.
    pub resident: fn() -> u64,
    /// Told of every plan that is better than those before, as it is found.
    pub announce: &'a (dyn Fn(&Found) + Sync),
}

impl Planner<'_> {
    /// Plans.
    pub fn solve(&self, mut task: RowTask) -> Result<Outcome, PlanError> {
        // As rows stand where they are searched: what is left out keeps the order of the others.
        task.rows.sort_by_key(|row| row.schema);
        if self.abstraction == Abstraction::Safe
            && !self.optimal
            && let Some(safe) = Safe::of(&task)
        {
            return self.solve_smaller(task, &safe);
        }
        self.solve_whole(task)
    }

    /// Finds a plan of a smaller task and puts back what was left out of it.
    fn solve_smaller(&self, task: RowTask, safe: &Safe) -> Result<Outcome, PlanError> {
        let quiet = |_: &Found| {};
        let disk = OnDisk { resumed: self.disk.resumed.clone(), ..self.disk };
        let inner = Planner { first: true, announce: &quiet, disk, ..*self };
        let mut outcome = inner.solve_whole(safe.task.clone())?;
        let removed: Vec<&str> = safe.removed().collect();
        let said = format!("safe abstraction: {} variables left out ({})", removed.len(), removed.join(", "));
        outcome.searches.insert(0, said);
        outcome.optimal = false;
        outcome.lower_bound = None;
        outcome.costs.clear();
        if let Some(plan) = outcome.plan.take() {
            let plan = Plan::replay(&task, safe.lift(&task, &plan.rows))?;
            let seconds = self.control.elapsed().as_secs_f64();
            let found = Found { cost: plan.cost, seconds, level: None };
            (self.announce)(&found);
            outcome.costs.push(found);
            outcome.plan = Some(plan);
        }
        outcome.task = Arc::new(task);
        Ok(outcome)
    }

    fn solve_whole(&self, task: RowTask) -> Result<Outcome, PlanError> {
        let bytes = RowSpace::foreseen_bytes(&task);
        let too_large = |_: OverBudget| PlanError::TooLarge { bytes };
        let mut held = self.governor.try_reserve(bytes, "rows").map_err(too_large)?;
        let mut space = RowSpace::new(task)?;
        held.shrink_to(space.table_bytes() as u64);
        let mut widened = 0;
        let mut resumed = self.disk.resumed.as_ref();
        let wanted = resumed.map_or(0, |run| run.widened + u32::from(run.overflowed));
        while widened < wanted {
            let wider = space.widths().widened().ok_or(PlanError::Fault)?;
            space = space.with_widths(wider)?;
            widened += 1;
        }
        // States without room are missing from such a run: it begins again.
        resumed = resumed.filter(|run| !run.overflowed);
        loop {
            let outcome = self.sit(&space, widened, resumed)?;
            resumed = None;
            let claims = outcome.optimal || outcome.answer == Answer::Unsolvable;
            if space.faulted() && claims {
                return Err(PlanError::Fault);
            }
            // A number without room cuts off what lies behind it: begin again with more.
            match space.widths().widened() {
                Some(wider) if space.overflowed() && claims => {
                    space = space.with_widths(wider)?;
                    widened += 1;
                }
                None if space.overflowed() && claims => return Err(PlanError::Fault),
                _ => return Ok(outcome),
            }
        }
    }

    fn sit(&self, space: &RowSpace, widened: u32, resumed: Option<&Resumed>) -> Result<Outcome, PlanError> {
        let outcome = Outcome {
            answer: Answer::Unsolvable,
            plan: None,
            optimal: false,
            floating: !space.is_exact(),
            figures: Figures::default(),
            lower_bound: None,
            state_words: space.layout().words,
            disk_bytes: 0,
            task: space.shared_task(),
            searches: Vec::new(),
            costs: Vec::new(),
            levels: Vec::new(),
        };
        let guide = resumed.and_then(|run| GuideChoice::named(&run.guide)).unwrap_or(self.guide);
        let mut sitting = Sitting { planner: self, space, widened, resumed, guide, outcome };
        sitting.search()?;
        Ok(sitting.outcome)
    }
}
