//! Planning on disk: External A* over the task, for cheapest plans and, by estimates alone, for any plan.
//!
//! External A* wants every step to cost something. Where steps may cost nothing, costs and estimates are multiplied by a
//! scale and each step costs one on top, so that less cost comes first and fewer steps break ties. As long as no state
//! lies as many steps deep as the scale is large, a cheapest path in scaled costs is a cheapest path; that is looked at
//! afterwards, and the proof fails where it does not hold.

use crate::astar::End;
use crate::disk::{Opening, Stage};
use crate::sitting::{Sitting, question};
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::{Distance, Estimator, Guide, Mask, Promises, Target};
use hadal_search::external::{External, ExternalFigures, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::{Setting, StopReason, Task, Verdict, explore};
use hadal_system::state::hash;
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, StateField, StateSpace, Successors, Worker,
};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The largest scale.
const LARGEST_SCALE: u32 = 1 << 16;
/// States whose estimates are kept at hand, by hash.
const CACHED: usize = 1 << 15;

/// What steps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// What they cost.
    Costs,
    /// Nothing: estimates alone decide.
    Nothing,
}

/// What a search on disk came to.
pub(crate) struct Ended {
    /// The rows of a plan, that there is none, or why it stopped.
    pub(crate) end: End,
    /// Whether the plan is a cheapest one, which was proved.
    pub(crate) optimal: bool,
}

impl Sitting<'_> {
    /// Searches on disk.
    pub(crate) fn externally(&mut self, guide: &dyn Guide, counting: Counting) -> Result<Ended, Trouble> {
        let (planner, space) = (self.planner, self.space);
        let priced = Priced::new(space, counting, guide, planner.disk.overflowed);
        let scaled = Scaled { guide, scale: priced.scale };
        let question = question();
        let aim = Target { properties: vec![PropertyId(0)], ..Target::default() };
        let resumes = self.take_run().is_some();
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let stage = match counting {
            Counting::Costs => Stage::Best,
            Counting::Nothing => Stage::First,
        };
        let kept = self.kept(priced.fingerprint(), stage, opening);
        let ledger = || self.open(&kept);
        let setting = Setting {
            task: Task { space: &priced, question: &question, control: planner.control },
            governor: planner.governor,
            threads: planner.disk.threads,
            run: opening.run(&ledger),
        };
        let external = External { guide: &scaled, aim: &aim, options: ExternalOptions::default() };
        let report = explore(&external, setting)?.report;
        let none = ExternalFigures::default();
        let counted = report.external().unwrap_or(&none);
        let figures = &mut self.outcome.figures;
        figures.states = figures.states.max(report.states);
        figures.expanded += report.states;
        figures.generated += report.transitions;
        figures.evaluated += report.transitions;
        let scale = u64::from(priced.scale);
        let deepest = counted.buckets.iter().map(|bucket| bucket.g % scale).max().unwrap_or(0);
        let counts_hold = scale == 1 || deepest + 1 < scale;
        if counting == Counting::Costs && counts_hold {
            figures.lower_bound = figures.lower_bound.max(counted.f / scale);
        }
        let disk_bytes = report.disk.map_or(0, |disk| disk.bytes);
        self.outcome.disk_bytes = self.outcome.disk_bytes.max(disk_bytes);
        let end = match &report.verdict {
            Verdict::Violated(found) => End::Plan(rows(space, &found.path)),
            Verdict::Holds => End::Exhausted,
            Verdict::Stopped(reason) => End::Stopped(reason.clone()),
        };
        let optimal = counting == Counting::Costs && counts_hold && counted.optimal;
        if counting == Counting::Costs && !counts_hold && matches!(end, End::Plan(_)) {
            planner
                .control
                .warn("steps that cost nothing lie too deep: the plan may not be a cheapest one".to_owned());
        }
        Ok(Ended { end, optimal })
    }
}

/// The cheapest rows along a path of states.
pub(crate) fn rows(space: &RowSpace, path: &[Vec<u64>]) -> Vec<u32> {
    let mut worker = space.row_worker();
    let mut rows = Vec::with_capacity(path.len());
    for step in path.windows(2) {
        let mut best: Option<(u32, u32)> = None;
        worker.expand(&step[0], |row, firing, next| {
            if let Firing::Reached(cost) = firing
                && next == step[1]
                && best.is_none_or(|(least, _)| cost < least)
            {
                best = Some((cost, row));
            }
        });
        // Replay says so where there is none.
        rows.push(best.map_or(0, |(_, row)| row));
    }
    rows
}

/// A task whose steps all cost something.
struct Priced<'s> {
    space: &'s RowSpace,
    counting: Counting,
    scale: u32,
    /// One where the scale makes room for it.
    step: u32,
    /// Labels of rows whose cost depends on the state, by row and cost; they follow the rows.
    varying: Option<Mutex<Varying>>,
    /// Told before anything is committed that a number had no room.
    overflowed: &'s (dyn Fn() + Sync),
}

#[derive(Default)]
struct Varying {
    labels: HashMap<(u32, u32), u32>,
    costs: Vec<u32>,
}

impl<'s> Priced<'s> {
    fn new(
        space: &'s RowSpace,
        counting: Counting,
        guide: &dyn Guide,
        overflowed: &'s (dyn Fn() + Sync),
    ) -> Self {
        let count = space.task().rows.len() as u32;
        let costs = (0..count).map(|row| space.fixed_cost(row).unwrap_or(0));
        let free = counting == Counting::Nothing || costs.clone().any(|cost| cost == 0);
        let mut scale = 1;
        if free {
            let start = match guide.estimator().estimate(space.initial(), None) {
                Distance::INFINITE => 0,
                Distance(estimate) => estimate,
            };
            let largest = match counting {
                Counting::Costs => costs.max().unwrap_or(0),
                Counting::Nothing => 0,
            };
            // Estimates may grow beyond the first; those that do not fit are cut off, which keeps them admissible.
            let largest = u64::from(largest.max(start).max(1)) * 16;
            scale = LARGEST_SCALE;
            while scale > 2 && u64::from(scale) * largest > u64::from(u32::MAX) {
                scale /= 2;
            }
        }
        let varies = counting == Counting::Costs && space.costs_vary();
        let varying = varies.then(Mutex::default);
        Priced { space, counting, scale, step: u32::from(free), varying, overflowed }
    }

    fn price(&self, cost: u32) -> u32 {
        let cost = if self.counting == Counting::Costs { cost } else { 0 };
        cost.saturating_mul(self.scale).saturating_add(self.step)
    }

    fn label(&self, row: u32, cost: u32) -> Label {
        match &self.varying {
            Some(varying) if self.space.fixed_cost(row).is_none() => {
                let mut varying = varying.lock().unwrap_or_else(PoisonError::into_inner);
                let Varying { labels, costs } = &mut *varying;
                let next = self.space.task().rows.len() as u32 + costs.len() as u32;
                Label(*labels.entry((row, cost)).or_insert_with(|| {
                    costs.push(cost);
                    next
                }))
            }
            _ => Label(row),
        }
    }
}

impl StateSpace for Priced<'_> {
    fn words(&self) -> usize {
        self.space.words()
    }

    fn bits(&self) -> u32 {
        self.space.bits()
    }

    fn fields(&self) -> &[StateField] {
        self.space.fields()
    }

    fn fingerprint(&self) -> u64 {
        hash(&[self.space.fingerprint(), u64::from(self.scale), u64::from(self.step)])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        // Labels of varying costs lie beyond those of the actions, so firings are not counted by action there.
        if self.varying.is_some() { &[] } else { self.space.actions() }
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(PricedWorker { priced: self, worker: self.space.row_worker() })
    }

    fn cost(&self, label: Label) -> u32 {
        let is_row = (label.0 as usize) < self.space.task().rows.len();
        let fixed = if is_row { self.space.fixed_cost(label.0) } else { None };
        match (fixed, &self.varying) {
            (Some(cost), _) => self.price(cost),
            (None, Some(varying)) => {
                let varying = varying.lock().unwrap_or_else(PoisonError::into_inner);
                let at = (label.0 as usize).checked_sub(self.space.task().rows.len());
                self.price(at.and_then(|at| varying.costs.get(at)).copied().unwrap_or(0))
            }
            (None, None) => self.price(0),
        }
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(state)
    }
}

struct PricedWorker<'p> {
    priced: &'p Priced<'p>,
    worker: hadal_exec::rows::RowWorker<'p>,
}

impl Worker for PricedWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.worker.initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let priced = self.priced;
        let mut overflowed = false;
        self.worker.expand(state, |row, firing, next| match firing {
            Firing::Reached(cost) => out.push(priced.label(row, cost), next),
            // The space notes it as well, and whoever planned begins again.
            _ => overflowed = true,
        });
        if overflowed {
            (priced.overflowed)();
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        self.worker.check(state)
    }
}

/// A guide in scaled costs, which remembers what it said of states met lately: External A* asks for every successor.
struct Scaled<'g> {
    guide: &'g dyn Guide,
    scale: u32,
}

impl Guide for Scaled<'_> {
    fn name(&self) -> String {
        self.guide.name()
    }

    fn promises(&self) -> Promises {
        self.guide.promises()
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Remembering {
            estimator: self.guide.estimator(),
            scale: self.scale,
            states: Vec::new(),
            estimates: vec![None; CACHED],
        })
    }
}

struct Remembering<'g> {
    estimator: Box<dyn Estimator + 'g>,
    scale: u32,
    states: Vec<u64>,
    estimates: Vec<Option<Distance>>,
}

impl Estimator for Remembering<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        if off.is_some() {
            return scaled(self.estimator.estimate(state, off), self.scale);
        }
        self.states.resize(CACHED * state.len(), 0);
        let slot = hash(state) as usize % CACHED;
        let held = &mut self.states[slot * state.len()..(slot + 1) * state.len()];
        if let Some(estimate) = self.estimates[slot]
            && held == state
        {
            return estimate;
        }
        let estimate = scaled(self.estimator.estimate(state, None), self.scale);
        held.copy_from_slice(state);
        self.estimates[slot] = Some(estimate);
        estimate
    }
}

fn scaled(estimate: Distance, scale: u32) -> Distance {
    match estimate {
        Distance::INFINITE => Distance::INFINITE,
        Distance(estimate) => Distance(estimate.saturating_mul(scale).min(u32::MAX - scale)),
    }
}

/// Whether a search ended for want of memory.
pub(crate) fn wants_memory(reason: &StopReason) -> bool {
    matches!(reason, StopReason::Memory { .. })
}
