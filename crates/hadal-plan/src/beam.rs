//! Beam search that widens (Jabbar 2008, sec. 9.7 and 8.4): breadth-first by the best states of each layer, again and again
//! with a wider beam.
//!
//! A layer keeps its best states by cost so far plus estimate, all that are as good as the last of them, and all below what
//! the narrower beam kept in that layer, so that widening never loses a state that was seen. States that cost as much as
//! the best plan are left out, states reached at less cost are opened again. Where nothing but those was left out,
//! everything was seen, and the plan is a cheapest one.

use crate::astar::{End, Figures};
use crate::disk::Stage;
use crate::external::wants_memory;
use crate::planner::{Answer, PlanError};
use crate::satisficing::units;
use crate::sitting::Sitting;
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::plan::{CostKind, Exploration, Relaxation};
use hadal_guide::{Distance, Estimator};
use hadal_search::StopReason;
use hadal_system::StateSpace;

/// States of a layer that the first beam keeps.
const FIRST_WIDTH: usize = 16;
/// Each beam is so many times as wide as the one before.
const WIDER: usize = 4;
/// Estimates after which no wider beam begins, without a limit of time and once there is a plan.
const ENOUGH: u64 = 200_000;

/// Costs of plans are below this.
const LARGEST: u32 = u32::MAX / 2;

/// One beam.
struct Beam<'b, 'g> {
    space: &'b RowSpace,
    estimator: Exploration<'g>,
    width: usize,
    /// Plans must cost less.
    bound: u32,
    /// What the narrower beam kept of each layer lay below this.
    kept_before: &'b [u64],
}

/// What a beam came to.
struct Beamed {
    plan: Option<Vec<u32>>,
    /// The values that were kept, by layer.
    kept: Vec<u64>,
    /// Whether a state was left out that might lead to a better plan.
    cut: bool,
    stopped: Option<StopReason>,
}

impl Beam<'_, '_> {
    fn search(&mut self, watch: &mut Watch, figures: &mut Figures) -> Beamed {
        let space = self.space;
        let mut states = States::new(space.words());
        let mut nodes: Chunks<Node> = Chunks::new(1);
        let mut worker = space.row_worker();
        let mut state = space.initial().to_vec();
        states.insert(&state);
        nodes.push(&[Node { h: u32::MAX, ..Node::default() }]);
        let mut beamed = Beamed { plan: None, kept: Vec::new(), cut: false, stopped: None };
        let mut layer: Vec<u32> = vec![0];
        let mut next: Vec<(u64, u32)> = Vec::new();
        if worker.is_goal(&state) {
            beamed.plan = Some(Vec::new());
            return beamed;
        }
        while !layer.is_empty() {
            next.clear();
            for &at in &layer {
                state.copy_from_slice(states.get(at));
                let from = nodes.get(at)[0].g;
                figures.expanded += 1;
                let mut too_large = false;
                worker.expand(&state, |row, firing, to| {
                    let Firing::Reached(cost) = firing else { return };
                    figures.generated += 1;
                    let Some(g) = from.checked_add(cost).filter(|&g| g < self.bound) else {
                        too_large |= self.bound == LARGEST;
                        return;
                    };
                    let (to, new) = states.insert(to);
                    if new {
                        nodes.push(&[Node { parent: at, row, g, h: u32::MAX }]);
                    } else {
                        let known = &mut nodes.get_mut(to)[0];
                        if known.g <= g {
                            return;
                        }
                        (known.parent, known.row, known.g) = (at, row, g);
                    }
                    next.push((0, to));
                });
                if too_large {
                    beamed.stopped = Some(StopReason::CostBound);
                    return beamed;
                }
                let count = u64::from(states.len());
                let bytes = || states.bytes() + nodes.bytes() + next.len() as u64 * 32;
                if let Some(reason) = watch.must_stop(0, count, bytes) {
                    figures.states = figures.states.max(count);
                    beamed.stopped = Some(reason);
                    return beamed;
                }
            }
            next.sort_unstable();
            next.dedup();
            beamed.stopped = self.estimate(&mut next, (&states, &mut nodes), watch, figures);
            if beamed.stopped.is_some() {
                return beamed;
            }
            // Goals end here; the others are expanded.
            next.retain(|&(_, at)| {
                let node = nodes.get(at)[0];
                if node.h != 0 || !worker.is_goal(states.get(at)) {
                    return true;
                }
                if node.g < self.bound {
                    self.bound = node.g;
                    beamed.plan = Some(path(&nodes, at));
                }
                false
            });
            let before = self.kept_before.get(beamed.kept.len()).copied().unwrap_or(0);
            beamed.kept.push(self.keep(&mut next, before, &mut beamed.cut));
            layer.clear();
            layer.extend(next.iter().map(|&(_, at)| at));
        }
        figures.states = figures.states.max(u64::from(states.len()));
        beamed
    }

    /// Values of new states; those from which no way leads to the goal go.
    fn estimate(
        &mut self,
        next: &mut Vec<(u64, u32)>,
        (states, nodes): (&States, &mut Chunks<Node>),
        watch: &mut Watch,
        figures: &mut Figures,
    ) -> Option<StopReason> {
        let mut late = None;
        next.retain_mut(|(value, at)| {
            late = late.take().or_else(|| watch.is_late());
            if late.is_some() {
                return false;
            }
            let node = &mut nodes.get_mut(*at)[0];
            if node.h == u32::MAX {
                figures.evaluated += 1;
                let estimate = self.estimator.estimate(states.get(*at), None);
                if estimate == Distance::INFINITE {
                    return false;
                }
                node.h = estimate.0;
            }
            *value = u64::from(node.g) + u64::from(node.h);
            true
        });
        late
    }

    /// Keeps the best of a layer; returns the value up to which it did.
    fn keep(&self, next: &mut Vec<(u64, u32)>, before: u64, cut: &mut bool) -> u64 {
        next.sort_unstable();
        let Some(&(last, _)) = next.get(self.width.min(next.len()).saturating_sub(1)) else { return before };
        let threshold = last.max(before);
        let kept = next.partition_point(|&(value, _)| value <= threshold);
        *cut |= kept < next.len();
        next.truncate(kept);
        threshold
    }
}

impl Sitting<'_> {
    /// Plans by beams, each wider than the one before.
    pub(crate) fn beam(&mut self) -> Result<(), PlanError> {
        let space = self.space;
        if self.resumed.is_some_and(|run| !run.in_ram) {
            // Memory was used up, and the search on disk goes on.
            let end = self.greedily_on_disk()?;
            return self.note(end);
        }
        self.resumed = None;
        let made = self.relaxed(CostKind::Real, Relaxation::Plan);
        let (guide, _held) = match made {
            Ok(made) => made,
            Err(reason) => return self.note(End::Stopped(reason)),
        };
        let mut kept_before = Vec::new();
        let mut width = FIRST_WIDTH;
        loop {
            self.say(format!("beam of {width}"));
            let plan = self.outcome.plan.as_ref();
            let bound = plan.map_or(LARGEST, |plan| units(space, &plan.rows));
            let estimator = guide.exploration();
            let mut beam = Beam { space, estimator, width, bound, kept_before: &kept_before };
            let mut watch = self.watch(u64::MAX);
            let beamed = beam.search(&mut watch, &mut self.outcome.figures);
            if let Some(rows) = beamed.plan {
                self.take(rows, None)?;
                self.outcome.answer = Answer::Solved;
            }
            if let Some(reason) = beamed.stopped {
                return self.beam_stopped(reason);
            }
            if !beamed.cut {
                self.outcome.optimal = self.outcome.plan.is_some();
                let solved = self.outcome.plan.is_some();
                self.outcome.answer = if solved { Answer::Solved } else { Answer::Unsolvable };
                return Ok(());
            }
            let unlimited = self.planner.control.limits.time.is_some();
            let enough = self.planner.first || !unlimited && self.outcome.figures.evaluated > ENOUGH;
            if enough && self.outcome.plan.is_some() {
                return Ok(());
            }
            kept_before = beamed.kept;
            width = width.saturating_mul(WIDER);
        }
    }

    /// A plan at hand is the answer; without one, a search on disk goes on where memory is used up.
    fn beam_stopped(&mut self, reason: StopReason) -> Result<(), PlanError> {
        if self.outcome.plan.is_some() {
            self.outcome.answer = Answer::Solved;
            return Ok(());
        }
        if wants_memory(&reason) {
            let end = self.greedily_on_disk()?;
            return self.note(end);
        }
        self.keep(&reason, (Stage::First, None), |_| Ok(()));
        self.note(End::Stopped(reason))
    }
}
