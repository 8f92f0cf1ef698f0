//! One attempt at a task: which searches, in which order, and what they come to.

use crate::astar::End;
use crate::disk::{Kept, Opening, Resumed, Stage};
use crate::ends::AtEnd;
use crate::engine::Engine;
use crate::guides::GuideChoice;
use crate::plan::{Plan, ReplayError};
use crate::planner::{Answer, Found, Outcome, PlanError, Planner};
use crate::snapshot::{Loader, Saver};
use crate::stop::Watch;
use crate::sums::Sums;
use crate::trim::trim;
use hadal_exec::rows::RowSpace;
use hadal_guide::plan::{CostKind, Relaxation, Relaxed, RelaxedGuide};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{DeadlockNotion, Question, StopReason};
use hadal_store::Reservation;
use hadal_system::StateSpace;
use hadal_system::rows::{Metric, Rational, RowTask, Sense};
use std::io;

/// A task with as many bits as its numbers have in this attempt.
pub(crate) struct Sitting<'a> {
    pub(crate) planner: &'a Planner<'a>,
    pub(crate) space: &'a RowSpace,
    /// How often numbers got more bits before.
    pub(crate) widened: u32,
    /// The run that goes on, until a search has taken it up.
    pub(crate) resumed: Option<&'a Resumed>,
    /// What guides the search for a best plan.
    pub(crate) guide: GuideChoice,
    pub(crate) outcome: Outcome,
}

impl<'a> Sitting<'a> {
    /// Searches.
    pub(crate) fn search(&mut self) -> Result<(), PlanError> {
        let planner = self.planner;
        let ends = AtEnd::of(self.space);
        let mixed = match self.space.task().metric {
            Metric::Cost { at_end, .. } if ends.is_none() => at_end,
            _ => None,
        };
        let sums = ends.is_none() && mixed.is_none();
        let unsuited = |why| Err(PlanError::Unsuited { engine: planner.engine, why });
        match planner.engine {
            Engine::Auto if !sums => self.best_end(ends, mixed),
            Engine::CostBreadth if !sums => self.best_end(ends, mixed),
            Engine::CostBreadth => unsuited(
                "the metric is a sum of costs and not read in the last state; branch-and-bound suits it",
            ),
            engine if engine.proves() && !sums => unsuited(
                "the metric is read in the last state, which may lie behind dearer ones; cost-bfs suits it",
            ),
            Engine::Auto if planner.optimal => self.cheapest(planner.external),
            Engine::AStar => self.cheapest(planner.external),
            Engine::ExternalAStar => self.cheapest(true),
            Engine::Blind => self.blindly(),
            Engine::BranchAndBound => self.branch_and_bound(Sums::of(self.space, None)),
            Engine::Auto | Engine::Lazy => {
                self.first(planner.engine)?;
                if self.outcome.answer == Answer::Solved && sums && !planner.first {
                    self.improve()?;
                }
                Ok(())
            }
            Engine::Width
            | Engine::ExternalGreedy
            | Engine::Greedy
            | Engine::GreedyHelpful
            | Engine::GreedyUseless
            | Engine::GreedyHelpfulUseless => self.first(planner.engine),
            Engine::Climbing | Engine::ExternalClimbing => self.climb(),
            Engine::Beam => self.beam(),
        }
    }

    /// Metrics that are read in the last state, alone or besides costs.
    fn best_end(&mut self, ends: Option<AtEnd>, mixed: Option<u32>) -> Result<(), PlanError> {
        let optimal = self.planner.optimal || self.planner.engine.proves();
        let goes_on = self.resumed.is_some_and(|run| !run.in_ram && run.stage == Stage::Best);
        match (ends, mixed) {
            // A plan at hand would only be looked for again.
            (Some(ends), _) if optimal || goes_on => self.best_last_state(ends),
            (Some(ends), _) => {
                self.first_with_a_metric()?;
                match self.outcome.answer {
                    Answer::Solved if self.wants_better() => self.best_last_state(ends),
                    _ => Ok(()),
                }
            }
            (None, Some(term)) => {
                match self.resumed.filter(|run| run.stage == Stage::Best) {
                    Some(run) => {
                        self.outcome.answer = Answer::Solved;
                        if let Some(rows) = &run.rows {
                            self.take(rows.clone(), None)?;
                        }
                    }
                    None => self.first_with_a_metric()?,
                }
                match self.outcome.answer {
                    Answer::Solved if optimal || self.wants_better() => self.better_sums(term, optimal),
                    _ => Ok(()),
                }
            }
            (None, None) => Ok(()),
        }
    }

    /// Any plan. One whose last state leaves the metric without a value is none, though there may be others.
    fn first_with_a_metric(&mut self) -> Result<(), PlanError> {
        match self.first(Engine::Auto) {
            Err(PlanError::Replay(ReplayError::NoMetric)) => {
                self.outcome.answer = Answer::Solved;
                Ok(())
            }
            done => done,
        }
    }

    /// Whether the plan at hand does not end the search.
    fn wants_better(&self) -> bool {
        !self.planner.first || self.outcome.plan.is_none()
    }

    /// Takes over what a search came to.
    pub(crate) fn note(&mut self, end: End) -> Result<(), PlanError> {
        self.outcome.answer = match end {
            End::Plan(rows) => {
                self.take(rows, None)?;
                Answer::Solved
            }
            End::Exhausted => Answer::Unsolvable,
            End::Stopped(reason) => Answer::Stopped(reason),
        };
        Ok(())
    }

    /// Takes over a plan where it is better than the one at hand; whether it is.
    pub(crate) fn take(&mut self, rows: Vec<u32>, level: Option<u64>) -> Result<bool, PlanError> {
        let task = self.space.task();
        let mut plan = Plan::replay(task, rows)?;
        if !self.planner.optimal && !self.planner.engine.proves() {
            let shorter = Plan::replay(task, trim(self.space, plan.rows.clone()))?;
            // Fewer steps may lead to a last state that a metric likes less.
            if !is_better(task, plan.cost, shorter.cost) {
                plan = shorter;
            }
        }
        if self.outcome.plan.as_ref().is_some_and(|held| !is_better(self.space.task(), plan.cost, held.cost))
        {
            return Ok(false);
        }
        self.announce(plan.cost, level);
        self.outcome.plan = Some(plan);
        Ok(true)
    }

    /// Tells of a better plan, unless one as good was told already.
    fn announce(&mut self, cost: Rational, level: Option<u64>) {
        let task = self.space.task();
        if self.outcome.costs.last().is_some_and(|last| !is_better(task, cost, last.cost)) {
            return;
        }
        let found = Found { cost, seconds: self.planner.control.elapsed().as_secs_f64(), level };
        (self.planner.announce)(&found);
        self.outcome.costs.push(found);
    }

    pub(crate) fn say(&mut self, search: impl Into<String>) {
        self.outcome.searches.push(search.into());
    }

    pub(crate) fn watch(&self, most_evaluations: u64) -> Watch<'a> {
        Watch::new(self.planner.control, self.planner.governor, most_evaluations)
    }

    /// Makes a guide; what it takes counts against the memory budget for as long as the reservation is held: what was
    /// foreseen, or more where it turns out so. Where that is too much, there is nothing to search with.
    pub(crate) fn reserved<T>(
        &self,
        foreseen: u64,
        make: impl FnOnce() -> T,
    ) -> Result<(T, Reservation), StopReason> {
        let governor = self.planner.governor;
        let reserve = |bytes: u64| {
            let without = |_| StopReason::Memory { needed: governor.limit().saturating_add(bytes) };
            governor.try_reserve(bytes, "guides").map_err(without)
        };
        let held = reserve(foreseen)?;
        let before = (self.planner.resident)();
        let made = make();
        let bytes = (self.planner.resident)().saturating_sub(before).max(foreseen);
        drop(held);
        Ok((made, reserve(bytes)?))
    }

    /// Makes the relaxation of the task that estimates by `kind`.
    pub(crate) fn relaxed(
        &self,
        costs: CostKind,
        kind: Relaxation,
    ) -> Result<(RelaxedGuide<'a>, Reservation), StopReason> {
        let space = self.space;
        let foreseen = Relaxed::foreseen_bytes(space.task());
        self.reserved(foreseen, || RelaxedGuide::new(Relaxed::new(space, costs), kind))
    }

    /// What is kept with a run on disk.
    pub(crate) fn kept(&self, fingerprint: u64, stage: Stage, opening: Opening) -> Kept {
        let guide = self.guide.written();
        Kept { fingerprint, rows: None, opening, stage, in_ram: false, widened: self.widened, guide }
    }

    /// The run on disk that goes on here; once.
    pub(crate) fn take_run(&mut self) -> Option<&'a Resumed> {
        let run = self.resumed.filter(|run| !run.in_ram)?;
        self.resumed = None;
        Some(run)
    }

    /// Keeps a search in RAM that stopped, so that it can be resumed: what for, the rows of the best plan or of the way so far,
    /// and what `write` writes. Where that is impossible, the search ends without it.
    pub(crate) fn keep(
        &mut self,
        reason: &StopReason,
        (stage, rows): (Stage, Option<Vec<u32>>),
        write: impl FnOnce(&mut Saver) -> io::Result<()>,
    ) {
        if matches!(reason, StopReason::CostBound | StopReason::Incomplete) {
            // More of the same leads nowhere.
            return;
        }
        let planner = self.planner;
        if self.space.overflowed() {
            (planner.disk.overflowed)();
        }
        // The folder of the run that was resumed holds states of the same widths, or another is made.
        let same = |run: &Resumed| run.in_ram && !run.overflowed && run.widened == self.widened;
        let resumes = planner.disk.resumed.as_ref().is_some_and(same);
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let kept = Kept { in_ram: true, rows, ..self.kept(self.space.fingerprint(), stage, opening) };
        let states = self.outcome.figures.states;
        let seconds = planner.control.elapsed().as_secs_f64();
        let done = (planner.disk.open)(&kept).and_then(|mut ledger| {
            ledger.keep_search((states, seconds), |out| {
                let mut saver = Saver::new(out);
                write(&mut saver)?;
                saver.finish()
            })
        });
        if let Err(trouble) = done {
            planner.control.warn(format!("the search cannot be kept for later: {trouble}"));
        }
    }

    /// Takes up a search in RAM that was kept. `Ok(None)` where there is none, or no room for it.
    pub(crate) fn take_up<T>(
        &mut self,
        read: impl FnOnce(&mut Loader) -> io::Result<T>,
    ) -> Result<Option<T>, PlanError> {
        let Some(run) = self.resumed.filter(|run| run.in_ram) else { return Ok(None) };
        self.resumed = None;
        let opened = self.kept(self.space.fingerprint(), run.stage, Opening::Resumed);
        let kept = Kept { in_ram: true, rows: run.rows.clone(), ..opened };
        let ledger = (self.planner.disk.open)(&kept)?;
        let Some((mut file, bytes)) = ledger.kept_search()? else { return Ok(None) };
        // A file that holds nothing but its checksum is a search that begins anew, with what is known.
        if bytes <= 8 || bytes > self.planner.governor.limit() / 4 * 3 {
            return Ok(None);
        }
        let mut loader = Loader::new(&mut file);
        let read = read(&mut loader)?;
        loader.finish()?;
        Ok(Some(read))
    }

    /// Opens the folder of a search on disk.
    pub(crate) fn open(&self, kept: &Kept) -> Result<Ledger, Trouble> {
        (self.planner.disk.open)(kept)
    }
}

/// Whether one cost is better than another, as the metric wants it.
pub(crate) fn is_better(task: &RowTask, cost: Rational, than: Rational) -> bool {
    match task.metric {
        Metric::Maximise(_) | Metric::Cost { sense: Sense::Maximise, .. } => cost > than,
        _ => cost < than,
    }
}

/// What searches over a task's states are asked.
pub(crate) fn question() -> Question {
    Question { deadlock: DeadlockNotion::Off, asked: vec![true] }
}
