//! The whole of planning: prepare the task, search, replay, and say what was proved.

use crate::astar::{self, End, Figures};
use crate::external::{self, Counting, OnDisk};
use crate::finish::{self, AtEnd};
use crate::lazy::{Guides, Lazy, Manner};
use crate::plan::{Plan, ReplayError};
use crate::stop::Watch;
use crate::width::Width;
use hadal_exec::rows::{RowError, RowSpace};
use hadal_guide::plan::{CostKind, LandmarkCount, LmCut, Relaxation, Relaxed, RelaxedGuide};
use hadal_search::layered::Trouble;
use hadal_search::{Control, Limits, StopReason};
use hadal_store::Governor;
use hadal_system::rows::{Metric, Rational, RowTask, Sense};

/// Without a limit of time, improving a plan takes this many times the estimates that finding it took.
const IMPROVING: u64 = 4;
/// But at least so many.
const LEAST_IMPROVING: u64 = 20_000;
/// Without a limit of time, so many states are looked at for a better end.
const STATES_FOR_ENDS: u64 = 2_000_000;
/// Estimates that greedy search has before width search has its first turn; each next turn is four times as long.
const FIRST_ESTIMATES: u64 = 4_000;
/// States of the first turn of width search.
const FIRST_STATES: u64 = 100_000;
/// Width search has one part in so many of the memory.
const WIDTH_SHARE: u64 = 4;
/// The weights of the searches that improve a plan.
const WEIGHTS: [u32; 4] = [5, 3, 2, 1];

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
    pub task: RowTask,
    /// Searches done, in order, for people.
    pub searches: Vec<String>,
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
}

impl Planner<'_> {
    /// Plans.
    pub fn solve(&self, task: RowTask) -> Result<Outcome, PlanError> {
        let mut space = RowSpace::new(task)?;
        loop {
            let outcome = self.search(&space)?;
            let claims = outcome.optimal || outcome.answer == Answer::Unsolvable;
            if space.faulted() && claims {
                return Err(PlanError::Fault);
            }
            // A number without room cuts off what lies behind it: begin again with more.
            match space.widths().widened() {
                Some(wider) if space.overflowed() && claims => {
                    space = RowSpace::with_widths(outcome.task, wider)?;
                }
                None if space.overflowed() && claims => return Err(PlanError::Fault),
                _ => return Ok(outcome),
            }
        }
    }

    fn search(&self, space: &RowSpace) -> Result<Outcome, PlanError> {
        let mut outcome = Outcome {
            answer: Answer::Unsolvable,
            plan: None,
            optimal: false,
            floating: !space.is_exact(),
            figures: Figures::default(),
            lower_bound: None,
            state_words: space.layout().words,
            disk_bytes: 0,
            task: space.task().clone(),
            searches: Vec::new(),
        };
        let ends = AtEnd::of(&space.task().metric);
        let mixed = match space.task().metric {
            Metric::Cost { at_end, .. } => at_end,
            _ => None,
        };
        if ends.is_none() && mixed.is_none() && self.optimal {
            self.cheapest(space, &mut outcome)?;
            return Ok(outcome);
        }
        if ends.is_some() && (self.optimal || self.disk.resumed) {
            // A plan at hand would only be looked for again.
            self.better_ends(space, ends, &mut outcome)?;
            return Ok(outcome);
        }
        self.first(space, &mut outcome)?;
        if outcome.answer == Answer::Solved {
            match (ends, mixed) {
                (Some(_), _) => self.better_ends(space, ends, &mut outcome)?,
                (None, Some(term)) => self.better_sums(space, term, &mut outcome)?,
                (None, None) => self.improve(space, &mut outcome)?,
            }
        }
        Ok(outcome)
    }

    /// A cheapest plan, by A* with LM-cut, in RAM and then on disk.
    fn cheapest(&self, space: &RowSpace, outcome: &mut Outcome) -> Result<(), PlanError> {
        let guide = LmCut::new(Relaxed::new(space, CostKind::Real));
        let mut end = End::Stopped(StopReason::Memory { needed: 0 });
        if !self.disk.resumed && !self.external {
            let mut watch = Watch::new(self.control, self.governor, u64::MAX);
            end = astar::search(space, &mut guide.cuts(), &mut watch, u32::MAX, &mut outcome.figures);
            outcome.searches.push("A* with LM-cut".to_owned());
        }
        let mut optimal = true;
        if matches!(&end, End::Stopped(reason) if external::wants_memory(reason)) {
            outcome.searches.push("External A* with LM-cut".to_owned());
            let around = (&self.disk, self.control, self.governor);
            let ended = external::search(space, &guide, Counting::Costs, around, &mut outcome.figures)?;
            outcome.disk_bytes = ended.disk_bytes;
            (end, optimal) = (ended.end, ended.optimal);
        }
        self.note(space, outcome, end)?;
        outcome.optimal = outcome.plan.is_some() && optimal;
        if additive(space.task()) {
            let bound = i128::from(outcome.figures.lower_bound);
            outcome.lower_bound = Some(space.cost_unit() * Rational::from_integer(bound));
        }
        Ok(())
    }

    /// Takes over what a search found.
    fn note(&self, space: &RowSpace, outcome: &mut Outcome, end: End) -> Result<(), PlanError> {
        outcome.answer = match end {
            End::Plan(rows) => {
                outcome.plan = Some(Plan::replay(space.task(), rows)?);
                Answer::Solved
            }
            End::Exhausted => Answer::Unsolvable,
            End::Stopped(reason) => Answer::Stopped(reason),
        };
        Ok(())
    }

    /// Any plan, greedily, in RAM and then on disk.
    fn first(&self, space: &RowSpace, outcome: &mut Outcome) -> Result<(), PlanError> {
        let mut end = End::Stopped(StopReason::Memory { needed: 0 });
        if !self.disk.resumed && !self.external {
            end = self.in_turns(space, outcome);
        }
        if matches!(&end, End::Stopped(reason) if external::wants_memory(reason)) {
            outcome.searches.push("External A* by h^FF alone".to_owned());
            let guide = RelaxedGuide::new(Relaxed::new(space, CostKind::Unit), Relaxation::Plan);
            let around = (&self.disk, self.control, self.governor);
            let ended = external::search(space, &guide, Counting::Nothing, around, &mut outcome.figures)?;
            outcome.disk_bytes = ended.disk_bytes;
            end = ended.end;
        }
        self.note(space, outcome, end)
    }

    /// Greedy search by estimates and width search, in turns of counted work; the first goes on alone in the end.
    fn in_turns(&self, space: &RowSpace, outcome: &mut Outcome) -> End {
        let relaxed = RelaxedGuide::new(Relaxed::new(space, CostKind::Unit), Relaxation::Plan);
        let landmarks = LandmarkCount::new(space, CostKind::Unit);
        let guides = Guides { relaxed: relaxed.exploration(), landmarks: &landmarks };
        let manner = Manner { weight: None, plus_one: false, bound: u32::MAX };
        let mut lazy = Lazy::new(space, guides, manner);
        let share = self.governor.part(self.governor.limit() / WIDTH_SHARE);
        let mut width =
            Some((Width::new(space, relaxed.exploration()), Watch::new(self.control, &share, u64::MAX)));
        outcome.searches.push("lazy greedy with h^FF and landmarks, steps".to_owned());
        let (mut estimates, mut states) = (FIRST_ESTIMATES, FIRST_STATES);
        let mut figures = Figures::default();
        let end = loop {
            let most = if width.is_some() { estimates } else { u64::MAX };
            let mut watch = Watch::new(self.control, self.governor, most);
            match lazy.go_on(&mut watch, &mut figures) {
                End::Stopped(StopReason::Incomplete) if width.is_some() => {}
                end => break end,
            }
            if estimates == FIRST_ESTIMATES {
                outcome.searches.push("width search, in turns".to_owned());
            }
            if let Some((search, watch)) = &mut width {
                match search.go_on(states, watch, &mut outcome.figures) {
                    End::Stopped(StopReason::Incomplete) => {}
                    // Estimates may know more; this one had its share.
                    End::Stopped(StopReason::Memory { .. } | StopReason::CostBound) => width = None,
                    end => break end,
                }
            }
            estimates *= 4;
            states *= 4;
        };
        outcome.figures.add(figures);
        end
    }

    /// Searches for better plans until the limit, or for as long as it took to find the first a few times over.
    fn improve(&self, space: &RowSpace, outcome: &mut Outcome) -> Result<(), PlanError> {
        let mut left = match self.control.limits.time {
            Some(_) => u64::MAX,
            None => (outcome.figures.evaluated * IMPROVING).max(LEAST_IMPROVING),
        };
        let steps_only = (0..space.task().rows.len() as u32).all(|row| space.fixed_cost(row) == Some(1));
        let kind = if steps_only { CostKind::Unit } else { CostKind::PlusOne };
        let greedy = if steps_only { None } else { Some(None) };
        let mut manners: Vec<Option<u32>> = greedy.into_iter().chain(WEIGHTS.into_iter().map(Some)).collect();
        manners.reverse();
        while let Some(weight) = manners.pop() {
            let Some(plan) = &outcome.plan else { return Ok(()) };
            let bound = units(space, &plan.rows);
            if bound == 0 {
                // Nothing costs less than nothing.
                outcome.optimal = true;
                return Ok(());
            }
            let manner = Manner { weight, plus_one: !steps_only, bound };
            let mut figures = Figures::default();
            let end = self.lazily(space, kind, manner, left, &mut figures);
            left = left.saturating_sub(figures.evaluated);
            outcome.figures.add(figures);
            outcome.searches.push(match weight {
                None => "lazy greedy, costs".to_owned(),
                Some(weight) => format!("lazy weighted A*, weight {weight}"),
            });
            match end {
                End::Plan(rows) => {
                    outcome.plan = Some(Plan::replay(space.task(), rows)?);
                    // The last search goes on until there is nothing better.
                    if manners.is_empty() {
                        manners.push(weight);
                    }
                }
                // Everything that costs less was looked at, cheaper ways to states included.
                End::Exhausted if weight.is_some() => {
                    outcome.optimal = true;
                    return Ok(());
                }
                End::Exhausted => {}
                End::Stopped(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Better last states, until there is none.
    fn better_ends(
        &self,
        space: &RowSpace,
        ends: Option<AtEnd>,
        outcome: &mut Outcome,
    ) -> Result<(), PlanError> {
        let Some(ends) = ends else { return Ok(()) };
        let bounded = Control::new(Limits { max_states: Some(STATES_FOR_ENDS), ..Limits::default() });
        let unlimited = self.optimal || self.control.limits.time.is_some() || self.disk.resumed;
        let control = if unlimited { self.control } else { &bounded };
        let mut resumed = self.disk.resumed;
        if let Some(rows) = self.disk.best.clone().filter(|_| resumed) {
            outcome.plan = Some(Plan::replay(space.task(), rows)?);
            outcome.answer = Answer::Solved;
        }
        loop {
            let (disk, around) = ((&self.disk, resumed), (control, self.governor));
            outcome.searches.push("breadth-first for a better last state".to_owned());
            let best = (ends, outcome.plan.as_ref());
            let (end, bytes) = finish::improve(space, best, disk, around, &mut outcome.figures)?;
            resumed = false;
            outcome.disk_bytes = outcome.disk_bytes.max(bytes);
            match end {
                End::Plan(rows) => {
                    outcome.plan = Some(Plan::replay(space.task(), rows)?);
                    outcome.answer = Answer::Solved;
                }
                End::Exhausted => {
                    outcome.optimal = outcome.plan.is_some();
                    return Ok(());
                }
                End::Stopped(reason) => {
                    // A plan that is not the best was asked for, unless the best was.
                    if self.optimal || outcome.plan.is_none() {
                        outcome.answer = Answer::Stopped(reason);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Better sums of cost and last state, by ascending cost.
    fn better_sums(&self, space: &RowSpace, term: u32, outcome: &mut Outcome) -> Result<(), PlanError> {
        let mut watch = Watch::new(self.control, self.governor, u64::MAX);
        outcome.searches.push("by ascending cost, all states".to_owned());
        let mut best = None;
        let end = finish::cheapest_with_end(space, term, &mut watch, &mut best, &mut outcome.figures);
        if let Some((_, rows)) = best {
            let plan = Plan::replay(space.task(), rows)?;
            let better = outcome.plan.as_ref().is_none_or(|held| match space.task().metric {
                Metric::Cost { sense: Sense::Maximise, .. } => plan.cost > held.cost,
                _ => plan.cost < held.cost,
            });
            if better {
                outcome.plan = Some(plan);
            }
        }
        match end {
            End::Exhausted => outcome.optimal = outcome.plan.is_some(),
            End::Stopped(reason) if self.optimal => outcome.answer = Answer::Stopped(reason),
            _ => {}
        }
        Ok(())
    }

    fn lazily(
        &self,
        space: &RowSpace,
        kind: CostKind,
        manner: Manner,
        most: u64,
        figures: &mut Figures,
    ) -> End {
        let relaxed = RelaxedGuide::new(Relaxed::new(space, kind), Relaxation::Plan);
        let landmarks = LandmarkCount::new(space, kind);
        let guides = Guides { relaxed: relaxed.exploration(), landmarks: &landmarks };
        let mut watch = Watch::new(self.control, self.governor, most);
        Lazy::new(space, guides, manner).go_on(&mut watch, figures)
    }
}

/// Whether the metric is the plain sum of costs.
fn additive(task: &RowTask) -> bool {
    match task.metric {
        Metric::Steps => true,
        Metric::Cost { at_end, offset, sense } => {
            at_end.is_none() && sense == Sense::Minimise && offset == Rational::from_integer(0)
        }
        Metric::Minimise(_) | Metric::Maximise(_) => false,
    }
}

/// What rows cost together, in the space's units.
fn units(space: &RowSpace, rows: &[u32]) -> u32 {
    let mut worker = space.row_worker();
    let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
    let mut sum = 0u32;
    for &row in rows {
        if let hadal_exec::rows::Firing::Reached(cost) = worker.fire(&state, row, &mut next) {
            sum = sum.saturating_add(cost);
            std::mem::swap(&mut state, &mut next);
        }
    }
    sum
}
