//! Planning on disk: External A* over the task, for cheapest plans and, by estimates alone, for any plan.

use crate::astar::End;
use crate::disk::{Opening, Stage};
use crate::pruning::Pruning;
use crate::sitting::{Sitting, question};
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::plan::NoOps;
use hadal_guide::{Distance, Estimator, Goal, Guide, Mask, Promises};
use hadal_search::external::{External, ExternalFigures, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::{SearchTask, Setting, StopReason, Verdict, explore};
use hadal_store::{Governor, Reservation};
use hadal_system::state::hash;
use hadal_system::{
    ActionInfo, Check, CostRange, Label, PropertyId, PropertyInfo, StateField, StateSpace, Successors, Worker,
};

/// Rows of the sequences that are looked for to bound where duplicates lie, and how much work that may take.
const LONGEST: u32 = 3;
const NO_OP_WORK: u64 = 20_000_000;

/// What External A* itself may take of the memory, in parts of a hundred: estimates of states met lately have of the rest.
const SEARCH_SHARE: u64 = 94;
/// States whose estimates are kept at hand by each thread, at least and at most.
const AT_HAND: std::ops::RangeInclusive<u64> = 1 << 15..=1 << 21;

/// What steps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// What they cost.
    Costs,
    /// Nothing: estimates alone decide.
    Nothing,
}

/// What a search on disk came to.
pub(crate) struct ExternalEnd {
    /// The rows of a plan, that there is none, or why it stopped.
    pub(crate) end: End,
    /// Whether the plan is a cheapest one, which was proved.
    pub(crate) optimal: bool,
}

impl Sitting<'_> {
    /// Searches on disk.
    pub(crate) fn externally(
        &mut self,
        guide: &dyn Guide,
        counting: Counting,
    ) -> Result<ExternalEnd, Trouble> {
        let (planner, space) = (self.planner, self.space);
        let pruning = match counting {
            Counting::Costs => Pruning::that_pays(space, planner.disk.threads, planner.governor.limit()),
            Counting::Nothing => None,
        };
        let undirected = match &pruning {
            // What is pruned may be the way back.
            Some(_) => {
                self.say("stubborn sets prune transitions");
                None
            }
            None => self.undirected().filter(|_| counting == Counting::Costs),
        };
        let priced = Priced { space, counting, undirected, pruning, overflowed: planner.disk.overflowed };
        let remembering = Remembering::new(guide, space.words(), planner.disk.threads, planner.governor);
        // Tables of guides stay: the search plans with what is left beside them.
        let left = planner.governor.part(planner.governor.available());
        let question = question();
        let goal = Goal { properties: vec![PropertyId(0)], ..Goal::default() };
        let resumes = self.take_run().is_some();
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let stage = match counting {
            Counting::Costs => Stage::Best,
            Counting::Nothing => Stage::First,
        };
        let kept = self.kept(priced.fingerprint(), stage, opening);
        let ledger = || self.open(&kept);
        let setting = Setting {
            task: SearchTask { space: &priced, question: &question, control: planner.control },
            governor: &left,
            threads: planner.disk.threads,
            run: opening.run(&ledger),
        };
        let external = External { guide: &remembering, goal: &goal, options: ExternalOptions::default() };
        let report = explore(&external, setting)?.report;
        let none = ExternalFigures::default();
        let counted = report.external().unwrap_or(&none);
        let figures = &mut self.outcome.figures;
        figures.states = figures.states.max(report.states);
        figures.expanded += report.states;
        figures.generated += report.transitions;
        figures.evaluated += report.transitions;
        figures.locality = figures.locality.max(counted.locality);
        if counting == Counting::Costs {
            figures.lower_bound = figures.lower_bound.max(counted.path.f);
        }
        let disk_bytes = report.disk.map_or(0, |disk| disk.bytes);
        self.outcome.disk_bytes = self.outcome.disk_bytes.max(disk_bytes);
        let end = match &report.verdict {
            Verdict::Violated(found) => End::Plan(rows(space, &found.path)),
            Verdict::Holds => End::Exhausted,
            Verdict::Stopped(reason) => End::Stopped(reason.clone()),
        };
        let optimal = counting == Counting::Costs && counted.path.optimal;
        Ok(ExternalEnd { end, optimal })
    }

    /// The largest cost of a step, where every step is taken back by one of the same cost.
    fn undirected(&mut self) -> Option<u32> {
        let found = NoOps::of(self.space, LONGEST, NO_OP_WORK);
        self.outcome.figures.locality_bound = found.map(|found| u64::from(found.longest));
        if let Some(found) = found {
            self.say(format!("no-op sequences: every step is undone by at most {}", found.longest - 1));
        }
        let most = self.space.costs().most;
        found.filter(|found| found.same_cost).map(|_| most)
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

/// A task whose steps cost what is counted.
struct Priced<'s> {
    space: &'s RowSpace,
    counting: Counting,
    undirected: Option<u32>,
    /// Leaves what suffices for a cheapest plan.
    pruning: Option<Pruning>,
    /// Told before anything is committed that a number had no room.
    overflowed: &'s (dyn Fn() + Sync),
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
        hash(&[self.space.fingerprint(), self.counting as u64 | u64::from(self.pruning.is_some()) << 1])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.space.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let pruning = self.pruning.as_ref().map(Pruning::another);
        Box::new(PricedWorker { priced: self, worker: self.space.row_worker(), pruning })
    }

    fn costs(&self) -> CostRange {
        match self.counting {
            Counting::Costs => self.space.costs(),
            Counting::Nothing => CostRange { least: 0, most: 0 },
        }
    }

    fn undirected(&self) -> Option<u32> {
        self.undirected
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
    pruning: Option<Pruning>,
}

impl Worker for PricedWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.worker.initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let priced = self.priced;
        let mut overflowed = false;
        let mut found = |row, firing, next: &[u64]| match firing {
            Firing::Reached(_) => out.push(Label(row), next),
            // The space notes it as well, and whoever planned begins again.
            _ => overflowed = true,
        };
        match &mut self.pruning {
            Some(pruning) => pruning.expand(&mut self.worker, state, found),
            None => self.worker.expand(state, &mut found),
        }
        if overflowed {
            (priced.overflowed)();
        }
    }

    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        match self.priced.counting {
            Counting::Costs => self.worker.costs(state, labels, costs),
            Counting::Nothing => costs.extend(labels.iter().map(|_| 0)),
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        self.worker.check(state)
    }
}

/// A guide that remembers what it said of states met lately: External A* asks for every successor, and most states are
/// met several times.
struct Remembering<'g> {
    guide: &'g dyn Guide,
    /// States of each estimator, a power of two.
    slots: usize,
    _held: Option<Reservation>,
}

impl<'g> Remembering<'g> {
    fn new(guide: &'g dyn Guide, words: usize, threads: usize, governor: &Governor) -> Self {
        let slot = (words * size_of::<u64>() + size_of::<Option<Distance>>()) as u64;
        let threads = threads.max(1) as u64;
        let free = governor.available().saturating_sub(governor.limit() / 100 * SEARCH_SHARE);
        let wanted = (free / threads / slot).clamp(*AT_HAND.start(), *AT_HAND.end());
        let slots = 1u64 << wanted.ilog2();
        let held = governor.try_reserve(slots * slot * threads, "estimates of states met lately").ok();
        let held = held.filter(|_| slots > *AT_HAND.start());
        let slots = if held.is_some() { slots } else { *AT_HAND.start() };
        Remembering { guide, slots: slots as usize, _held: held }
    }
}

impl Guide for Remembering<'_> {
    fn name(&self) -> String {
        self.guide.name()
    }

    fn promises(&self) -> Promises {
        self.guide.promises()
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Remembered {
            estimator: self.guide.estimator(),
            states: Vec::new(),
            estimates: vec![None; self.slots],
        })
    }
}

struct Remembered<'g> {
    estimator: Box<dyn Estimator + 'g>,
    states: Vec<u64>,
    estimates: Vec<Option<Distance>>,
}

impl Estimator for Remembered<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        if off.is_some() {
            return self.estimator.estimate(state, off);
        }
        let slots = self.estimates.len();
        self.states.resize(slots * state.len(), 0);
        let slot = hash(state) as usize % slots;
        let held = &mut self.states[slot * state.len()..(slot + 1) * state.len()];
        if let Some(estimate) = self.estimates[slot]
            && held == state
        {
            return estimate;
        }
        let estimate = self.estimator.estimate(state, None);
        held.copy_from_slice(state);
        self.estimates[slot] = Some(estimate);
        estimate
    }

    fn work(&self) -> u64 {
        self.estimator.work()
    }
}

/// Whether a search ended for want of memory.
pub(crate) fn wants_memory(reason: &StopReason) -> bool {
    matches!(reason, StopReason::Memory { .. })
}
