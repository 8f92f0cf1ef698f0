//! Enforced hill climbing (Hoffmann and Nebel 2001), in RAM and on disk (Jabbar 2008, sec. 9.4.1, Alg. 9.1 and 9.2): from
//! the state at hand, breadth-first until some state has a smaller estimate; from there again, until the goal.
//!
//! In RAM, a segment first follows preferred rows alone. Where these lead nowhere, and on disk, every row counts, and all
//! layers of the segment are subtracted: how far back duplicates lie depends on where a search begins, and each segment
//! begins elsewhere. A segment that ends without a better state proves there is no plan if it began at the initial state;
//! otherwise climbing has failed, and a complete search takes over.

use crate::astar::{End, Figures};
use crate::disk::{Kept, Opening, Stage};
use crate::engine::Engine;
use crate::external::{rows, wants_memory};
use crate::judged::{Judge, Judged};
use crate::planner::PlanError;
use crate::sitting::{Sitting, question};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_guide::plan::{CostKind, Exploration, Relaxation, RelaxedGuide};
use hadal_guide::{Distance, Estimator};
use hadal_search::auto::Auto;
use hadal_search::strategy::Strategy;
use hadal_search::{Report, SearchTask, Setting, StopReason, Verdict, explore};
use hadal_system::StateSpace;
use hadal_system::state::hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The strategy of segments that are on disk from their first state on.
const ON_DISK: &str = "sort";

/// Looks for a state with a smaller estimate.
struct Closer<'g> {
    guide: &'g RelaxedGuide<'g>,
    than: u32,
    evaluated: AtomicU64,
}

impl Judge for Closer<'_> {
    type Eye<'j>
        = Exploration<'j>
    where
        Self: 'j;

    fn eye(&self) -> Exploration<'_> {
        self.guide.exploration()
    }

    fn judge<'j>(&'j self, eye: &mut Exploration<'j>, _: &mut RowWorker<'j>, state: &[u64]) -> bool {
        self.evaluated.fetch_add(1, Ordering::Relaxed);
        eye.estimate(state, None).0 < self.than
    }

    fn digest(&self) -> u64 {
        hash(&[3, u64::from(self.than)])
    }
}

/// What a segment came to.
enum Segment {
    /// A better state, by these rows.
    Better(Vec<u32>),
    /// There is none.
    Nothing,
    Stopped(StopReason),
}

impl Sitting<'_> {
    /// Any plan by hill climbing; a complete search where that fails.
    pub(crate) fn climb(&mut self) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        let on_disk = planner.external || planner.engine == Engine::ExternalClimbing;
        self.say(if on_disk { "external enforced hill climbing" } else { "enforced hill climbing" });
        let made = self.relaxed(CostKind::Unit, Relaxation::Plan);
        let (guide, _held) = match made {
            Ok(made) => made,
            Err(reason) => return self.note(End::Stopped(reason)),
        };
        let mut estimator = guide.exploration();
        if self.resumed.is_some_and(|run| run.stage == Stage::First) {
            let end = self.after_climbing(on_disk)?;
            return self.note(end);
        }
        let mut behind = self.resumed.and_then(|run| run.rows.clone()).unwrap_or_default();
        let mut resumes = self.take_run().is_some();
        self.resumed = None;
        let mut state = follow(space, &behind);
        let mut estimates = Vec::new();
        let end = loop {
            let estimate = estimator.estimate(&state, None);
            self.outcome.figures.evaluated += 1;
            estimates.push(estimate.0.to_string());
            if space.row_worker().is_goal(&state) {
                break Some(End::Plan(behind.clone()));
            }
            if estimate == Distance::INFINITE {
                break (behind.is_empty()).then_some(End::Exhausted);
            }
            let mut segment = Segment::Nothing;
            if !on_disk && !resumes {
                let mut watch = self.watch(u64::MAX);
                let figures = &mut self.outcome.figures;
                segment = by_preferred(space, &mut estimator, (&state, estimate.0), &mut watch, figures);
                if let Segment::Stopped(reason) = &segment
                    && !wants_memory(reason)
                {
                    // The segment begins again; what is behind it stays.
                    self.keep(reason, (Stage::Segment, Some(behind.clone())), |_| Ok(()));
                    break Some(End::Stopped(reason.clone()));
                }
            }
            if !matches!(segment, Segment::Better(_)) {
                let closer = Closer { guide: &guide, than: estimate.0, evaluated: AtomicU64::new(0) };
                segment = self.by_all(&state, closer, &behind, (on_disk, std::mem::take(&mut resumes)))?;
            }
            match segment {
                Segment::Better(steps) => {
                    behind.extend(steps);
                    state = follow(space, &behind);
                }
                Segment::Nothing => break (behind.is_empty()).then_some(End::Exhausted),
                Segment::Stopped(reason) => break Some(End::Stopped(reason)),
            }
        };
        self.say(format!("estimates on the way up: {}", estimates.join(", ")));
        let end = match end {
            Some(end) => end,
            None => {
                self.say("climbing failed at a dead end");
                self.after_climbing(on_disk)?
            }
        };
        self.note(end)
    }

    /// A complete search: the rest of a run that began with climbing.
    fn after_climbing(&mut self, on_disk: bool) -> Result<End, PlanError> {
        if on_disk || self.resumed.is_some_and(|run| !run.in_ram) {
            return self.greedily_on_disk();
        }
        match self.in_turns(Engine::Auto)? {
            End::Stopped(reason) if wants_memory(&reason) => self.greedily_on_disk(),
            end => Ok(end),
        }
    }

    /// A segment with every row: in RAM while it fits and then on disk, or on disk at once.
    fn by_all(
        &mut self,
        state: &[u64],
        closer: Closer,
        behind: &[u32],
        (on_disk, resumes): (bool, bool),
    ) -> Result<Segment, PlanError> {
        let (planner, space) = (self.planner, self.space);
        let overflowed = planner.disk.overflowed;
        let judged = Judged { space, start: state.to_vec(), judge: closer, overflowed };
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let kept = self.kept(judged.fingerprint(), Stage::Segment, opening);
        let kept = Kept { rows: Some(behind.to_vec()), ..kept };
        let (question, ledger) = (question(), || self.open(&kept));
        let task = SearchTask { space: &judged, question: &question, control: planner.control };
        let (governor, threads) = (planner.governor, planner.disk.threads);
        let setting = Setting { task, governor, threads, run: opening.run(&ledger) };
        let report: Report = match Strategy::named(ON_DISK).filter(|_| on_disk) {
            Some(strategy) => explore(&strategy, setting)?.report,
            None => explore(&Auto, setting)?.report,
        };
        self.outcome.figures.evaluated += judged.judge.evaluated.load(Ordering::Relaxed);
        self.count(&report);
        Ok(match report.verdict {
            Verdict::Violated(found) => Segment::Better(rows(space, &found.path)),
            Verdict::Holds => Segment::Nothing,
            Verdict::Stopped(reason) => Segment::Stopped(reason),
        })
    }
}

/// Where rows lead.
fn follow(space: &RowSpace, rows: &[u32]) -> Vec<u64> {
    let mut worker = space.row_worker();
    let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
    for &row in rows {
        if let Firing::Reached(_) = worker.fire(&state, row, &mut next) {
            std::mem::swap(&mut state, &mut next);
        }
    }
    state
}

/// A segment by the rows that estimates prefer.
fn by_preferred(
    space: &RowSpace,
    estimator: &mut Exploration,
    (start, than): (&[u64], u32),
    watch: &mut Watch,
    figures: &mut Figures,
) -> Segment {
    let mut states = States::new(space.words());
    let mut nodes: Chunks<Node> = Chunks::new(1);
    let mut worker = space.row_worker();
    let (mut state, mut next) = (start.to_vec(), start.to_vec());
    states.insert(start);
    nodes.push(&[Node::default()]);
    // What each state prefers, in the order of the states.
    let mut preferred: Vec<Vec<u32>> = vec![of(estimator)];
    let mut at = 0;
    while at < states.len() {
        state.copy_from_slice(states.get(at));
        for row in std::mem::take(&mut preferred[at as usize]) {
            if !worker.can_fire(&state, row) {
                continue;
            }
            let Firing::Reached(_) = worker.fire(&state, row, &mut next) else { continue };
            figures.generated += 1;
            let (to, new) = states.insert(&next);
            if !new {
                continue;
            }
            if let Some(reason) = watch.is_late() {
                return Segment::Stopped(reason);
            }
            nodes.push(&[Node { parent: at, row, g: 0, h: 0 }]);
            figures.evaluated += 1;
            let estimate = estimator.estimate(&next, None);
            if estimate.0 < than {
                return Segment::Better(path(&nodes, to));
            }
            // Nothing is done from where no way leads to the goal.
            preferred.push(if estimate == Distance::INFINITE { Vec::new() } else { of(estimator) });
        }
        figures.expanded += 1;
        let count = u64::from(states.len());
        figures.states = figures.states.max(count);
        let bytes = || states.bytes() + nodes.bytes() + count * 48;
        if let Some(reason) = watch.must_stop(0, count, bytes) {
            return Segment::Stopped(reason);
        }
        at += 1;
    }
    Segment::Nothing
}

fn of(estimator: &Exploration) -> Vec<u32> {
    let mut rows: Vec<u32> = estimator.preferred().iter().map(|label| label.0).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}
