//! Metrics read in the last state of a plan (Jabbar 2008, sec. 9.4.2, Alg. 9.3): such a value may fall and rise along a plan,
//! so no bound prunes, and every reachable state may have to be seen.
//!
//! Where nothing but the last state counts, one breadth-first search sees every state once, in RAM, as a diagram, then on
//! disk, and keeps the best goal state of each layer that improves on the layers before it. It ends when everything is
//! seen, or as soon as a goal state has the least value that the metric can have at all. The initial state is looked at,
//! too, and the plan is rebuilt from the layers when the search ends. A run that goes on looks through its layers again:
//! what was found in them needs no place of its own.

use crate::astar::End;
use crate::bounds::bounds;
use crate::disk::{Opening, Stage};
use crate::external::rows;
use crate::hope::{Hope, HopeEye};
use crate::judged::{Judge, Judged, This};
use crate::planner::{Answer, Found, PlanError};
use crate::sitting::{Sitting, question};
use hadal_exec::rows::{RowSpace, RowWorker};
use hadal_search::auto::Auto;
use hadal_search::layered::kept::KeptLayers;
use hadal_search::{Control, Limits, Run, SearchTask, Setting, Verdict, explore};
use hadal_system::StateSpace;
use hadal_system::rows::{Metric, Rational, Sense};
use hadal_system::state::{compare, hash};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Without a limit of time, so many states are looked at for a better end.
pub(crate) const STATES_FOR_ENDS: u64 = 2_000_000;

/// Rebuilding a plan expands about half of the states before its end again: of a search that only stopped, no more than
/// these.
const REBUILT: u64 = 5_000_000;

/// What is better in the last state: less of a term, or more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtEnd {
    pub(crate) term: u32,
    pub(crate) more: bool,
}

impl AtEnd {
    /// The value of the last state alone, where it decides.
    pub(crate) fn of(space: &RowSpace) -> Option<AtEnd> {
        match space.task().metric {
            Metric::Minimise(term) => Some(AtEnd { term, more: false }),
            Metric::Maximise(term) => Some(AtEnd { term, more: true }),
            Metric::Cost { at_end: Some(term), .. } => {
                let free = (0..space.task().rows.len() as u32).all(|row| space.fixed_cost(row) == Some(0));
                free.then_some(AtEnd { term, more: false })
            }
            Metric::Steps | Metric::Cost { .. } => None,
        }
    }

    fn better(self, value: Rational, than: Rational) -> bool {
        if self.more { value > than } else { value < than }
    }

    /// No value is better than this, whatever the state.
    fn best_possible(self, space: &RowSpace) -> Option<Rational> {
        let (least, most) = bounds(space.task(), self.term);
        if self.more { most } else { least }
    }

    /// The cost of a plan that ends with this value.
    fn cost(self, space: &RowSpace, value: Rational) -> Rational {
        match space.task().metric {
            Metric::Cost { offset, sense: Sense::Minimise, .. } => offset + value,
            Metric::Cost { offset, sense: Sense::Maximise, .. } => offset - value,
            _ => value,
        }
    }
}

/// A goal state that improves on the layers before it.
#[derive(Clone, Debug)]
struct Improvement {
    value: Rational,
    state: Vec<u64>,
}

/// Notes improvements, layer by layer.
struct Tracking<'a> {
    ends: AtEnd,
    /// Nothing is better.
    stop_at: Option<Rational>,
    start: &'a [u64],
    control: &'a Control,
    hope: &'a Hope<'a>,
    found: Mutex<BTreeMap<u64, Improvement>>,
    tell: &'a (dyn Fn(u64, Rational) + Sync),
}

impl Tracking<'_> {
    fn found(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Improvement>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a goal state; of equally good ones of a layer the first in packed order stays, however many threads
    /// there are.
    fn offer(&self, depth: u64, value: Rational, state: &[u64]) {
        let mut found = self.found();
        let before = found.range(..depth).next_back().map(|(_, best)| best.value);
        if before.is_some_and(|best| !self.ends.better(value, best)) {
            return;
        }
        match found.get_mut(&depth) {
            Some(held) if self.ends.better(held.value, value) => return,
            Some(held) if held.value == value => {
                if compare(state, &held.state).is_lt() {
                    held.state = state.to_vec();
                }
                return;
            }
            _ => {}
        }
        found.insert(depth, Improvement { value, state: state.to_vec() });
        drop(found);
        (self.tell)(depth, value);
    }

    fn depth(&self, state: &[u64]) -> u64 {
        if state == self.start { 0 } else { self.control.gauges.depth.load(Ordering::Relaxed) + 1 }
    }
}

/// What a thread knows.
struct Eye<'j> {
    /// The best value it met, and its layer.
    best: Option<(Rational, u64)>,
    hope: HopeEye<'j>,
}

impl Judge for Tracking<'_> {
    type Eye<'j>
        = Eye<'j>
    where
        Self: 'j;

    fn eye(&self) -> Self::Eye<'_> {
        Eye { best: None, hope: self.hope.eye() }
    }

    fn is_lost<'j>(&'j self, eye: &mut Self::Eye<'j>, state: &[u64]) -> bool {
        eye.hope.is_lost(state)
    }

    fn judge<'j>(&'j self, eye: &mut Self::Eye<'j>, worker: &mut RowWorker<'j>, state: &[u64]) -> bool {
        if !worker.is_goal(state) {
            return false;
        }
        let Some(value) = worker.value(state, self.ends.term) else { return false };
        let worse = eye.best.is_some_and(|(best, _)| self.ends.better(best, value));
        if !worse {
            let depth = self.depth(state);
            if eye.best.is_none_or(|(best, at)| at == depth || self.ends.better(value, best)) {
                self.offer(depth, value, state);
                eye.best = Some((value, depth));
            }
        }
        self.stop_at == Some(value)
    }

    fn digest(&self) -> u64 {
        let (n, d) = self.stop_at.map_or((0, 0), |at| (*at.numer(), *at.denom()));
        hash(&[2, u64::from(self.ends.term), u64::from(self.ends.more), n as u64, d as u64])
    }
}

impl Sitting<'_> {
    /// The best last state, by seeing every state once.
    pub(crate) fn best_last_state(&mut self, ends: AtEnd) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        let optimal = planner.optimal || planner.engine.proves();
        let resumes = self.take_run().is_some();
        let bounded = planner.control.part(Limits { max_states: Some(STATES_FOR_ENDS), ..Limits::default() });
        let unlimited = optimal || resumes || planner.control.limits.time.is_some();
        let control = if unlimited { planner.control } else { &bounded };
        self.say("breadth-first for the best last state");
        let held = self.outcome.plan.as_ref().map(|plan| plan.cost);
        let told = Mutex::new(Vec::new());
        let tell = |level: u64, value: Rational| {
            let cost = ends.cost(space, value);
            if held.is_some_and(|held| !crate::sitting::is_better(space.task(), cost, held)) {
                return;
            }
            let found = Found { cost, seconds: planner.control.elapsed().as_secs_f64(), level: Some(level) };
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            // A better state of the same layer takes the place of the one before it.
            told.retain(|before: &Found| before.level != Some(level));
            told.push(found);
            (planner.announce)(&found);
        };
        let (hope, _held) = match self.hope() {
            Ok(made) => made,
            Err(reason) => return self.note(End::Stopped(reason)),
        };
        let tracking = Tracking {
            ends,
            stop_at: ends.best_possible(space),
            start: space.initial(),
            control,
            hope: &hope,
            found: Mutex::default(),
            tell: &tell,
        };
        let start = space.initial().to_vec();
        let tracked = Judged { space, start, judge: tracking, overflowed: planner.disk.overflowed };
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let kept = self.kept(tracked.fingerprint(), Stage::Best, opening);
        if resumes {
            self.look_through(&tracked, &kept)?;
        }
        let (question, ledger) = (question(), || self.open(&kept));
        let task = SearchTask { space: &tracked, question: &question, control };
        let (governor, threads) = (planner.governor, planner.disk.threads);
        let report = explore(&Auto, Setting { task, governor, threads, run: opening.run(&ledger) })?.report;
        self.count(&report);
        self.outcome.levels = report.layers.iter().map(|layer| layer.states).collect();
        let on_disk = report.disk.is_some().then_some(&tracked);
        let end = match report.verdict {
            Verdict::Violated(found) => End::Plan(rows(space, &found.path)),
            Verdict::Holds => End::Exhausted,
            Verdict::Stopped(reason) => End::Stopped(reason),
        };
        let improvements = std::mem::take(&mut *tracked.judge.found());
        let mut costs = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        costs.sort_by_key(|found| found.level);
        self.outcome.costs.extend(costs);
        let stopped = match end {
            End::Plan(rows) => {
                self.take(rows, None)?;
                None
            }
            End::Exhausted => {
                self.path_to_best(improvements, on_disk, u64::MAX)?;
                None
            }
            End::Stopped(reason) => {
                self.path_to_best(improvements, on_disk, REBUILT)?;
                Some(reason)
            }
        };
        match stopped {
            None => {
                self.outcome.optimal = self.outcome.plan.is_some();
                let solved = self.outcome.plan.is_some();
                self.outcome.answer = if solved { Answer::Solved } else { Answer::Unsolvable };
            }
            // A plan that is not the best was asked for, unless the best was.
            Some(reason) if optimal || self.outcome.plan.is_none() => {
                self.outcome.answer = Answer::Stopped(reason);
            }
            Some(_) => self.outcome.answer = Answer::Solved,
        }
        Ok(())
    }

    /// Looks through the layers that a run committed, for what was found in them.
    fn look_through(&self, tracked: &Judged<Tracking>, kept: &crate::disk::Kept) -> Result<(), PlanError> {
        let ledger = self.open(kept)?;
        let Some(layers) = KeptLayers::open(ledger, tracked, self.planner.governor)? else { return Ok(()) };
        let mut worker = self.space.row_worker();
        let words = self.space.words();
        for depth in 0..layers.depth() {
            layers.visit(depth, |states| {
                for state in states.chunks_exact(words) {
                    if worker.is_goal(state)
                        && let Some(value) = worker.value(state, tracked.judge.ends.term)
                    {
                        tracked.judge.offer(depth as u64, value, state);
                    }
                }
            })?;
        }
        Ok(())
    }

    /// The plan to the best state found, as far as there are layers to rebuild it from: those of the run `on_disk`, or none,
    /// where everything was in RAM; not where more than `most_states` lie before it.
    fn path_to_best(
        &mut self,
        improvements: BTreeMap<u64, Improvement>,
        on_disk: Option<&Judged<Tracking>>,
        most_states: u64,
    ) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        let Some(deepest) = improvements.keys().next_back().copied() else { return Ok(()) };
        let question = question();
        let Some(tracked) = on_disk else {
            let Some(best) = improvements.get(&deepest) else { return Ok(()) };
            let (start, overflowed) = (space.initial().to_vec(), planner.disk.overflowed);
            let this = Judged { space, start, judge: This(best.state.clone()), overflowed };
            let control = planner.control.part(Limits::default());
            let kept = self.kept(this.fingerprint(), Stage::Best, Opening::New);
            let ledger = || self.open(&kept);
            let setting = Setting {
                task: SearchTask { space: &this, question: &question, control: &control },
                governor: planner.governor,
                threads: planner.disk.threads,
                run: Run::New(&ledger),
            };
            if let Verdict::Violated(found) = explore(&Auto, setting)?.report.verdict {
                self.take(rows(space, &found.path), Some(deepest))?;
            }
            return Ok(());
        };
        let kept = self.kept(tracked.fingerprint(), Stage::Best, Opening::Again);
        let Some(layers) = KeptLayers::open(self.open(&kept)?, tracked, planner.governor)? else {
            return Ok(());
        };
        // What was found in the layer that was not completed is found again when the run goes on.
        let Some((&depth, best)) = improvements.range(..layers.depth() as u64).next_back() else {
            return Ok(());
        };
        let before: u64 = (0..depth as usize).map(|depth| layers.states(depth)).sum();
        if before > most_states {
            let cost = crate::plan::decimal(tracked.judge.ends.cost(space, best.value));
            planner.control.warn(format!("the plan of cost {cost} is rebuilt when the search has ended"));
            return Ok(());
        }
        let task = SearchTask { space: tracked, question: &question, control: planner.control };
        let path = layers.path_to(task, planner.disk.threads, depth as usize, best.state.clone())?;
        self.take(rows(space, &path), Some(depth))?;
        Ok(())
    }
}
