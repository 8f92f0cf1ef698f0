//! Costs of steps plus a term read in the last state: states are taken by ascending cost, each once, in RAM; when memory runs
//! out, branch and bound continues on disk.

use crate::astar::{End, Figures};
use crate::bounds::bounds;
use crate::disk::Stage;
use crate::ends::STATES_FOR_ENDS;
use crate::external;
use crate::hope::HopeEye;
use crate::open::Open;
use crate::planner::{Answer, PlanError};
use crate::sitting::Sitting;
use crate::snapshot::{Loader, Saver};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_search::StopReason;
use hadal_system::StateSpace;
use hadal_system::rows::{Metric, Rational, Sense};
use std::io;

/// What a plan counts: its costs, and a term of its last state where the metric has one. Less is better.
#[derive(Clone, Copy)]
pub(crate) struct Sums<'s> {
    space: &'s RowSpace,
    pub(crate) term: Option<u32>,
    /// The term is never less.
    least: Option<Rational>,
}

impl<'s> Sums<'s> {
    pub(crate) fn of(space: &'s RowSpace, term: Option<u32>) -> Self {
        let least = match term {
            Some(term) => bounds(space.task(), term).0,
            None => Some(Rational::from_integer(0)),
        };
        Sums { space, term, least }
    }

    /// What a plan counts that ends here and costs so many units; `None` where the term is undefined.
    pub(crate) fn at(&self, worker: &mut RowWorker, units: u64, state: &[u64]) -> Option<Rational> {
        let cost = self.space.cost_unit() * Rational::from_integer(i128::from(units));
        match self.term {
            Some(term) => Some(cost + worker.value(state, term)?),
            None => Some(cost),
        }
    }

    /// Nothing behind a way that costs so many units, or more, counts less than `sum`.
    pub(crate) fn below(&self, sum: Rational) -> u64 {
        let (Some(least), unit) = (self.least, self.space.cost_unit()) else { return u64::MAX };
        if unit <= Rational::from_integer(0) {
            return u64::MAX;
        }
        let units = ((sum - least) / unit).ceil().to_integer();
        u64::try_from(units.max(0)).unwrap_or(u64::MAX)
    }

    /// The metric of a plan that counts so much.
    pub(crate) fn cost(&self, sum: Rational) -> Rational {
        match self.space.task().metric {
            Metric::Cost { offset, sense: Sense::Minimise, .. } => offset + sum,
            Metric::Cost { offset, sense: Sense::Maximise, .. } => offset - sum,
            _ => sum,
        }
    }

    /// What a plan counts whose metric is so much.
    pub(crate) fn sum(&self, cost: Rational) -> Rational {
        match self.space.task().metric {
            Metric::Cost { offset, sense: Sense::Minimise, .. } => cost - offset,
            Metric::Cost { offset, sense: Sense::Maximise, .. } => offset - cost,
            _ => cost,
        }
    }
}

impl Sitting<'_> {
    /// Better sums of cost and last state than that of the plan at hand, by ascending cost, in RAM and then on disk.
    pub(crate) fn better_sums(&mut self, term: u32, optimal: bool) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        let sums = Sums::of(space, Some(term));
        let mut end = End::Stopped(StopReason::Memory { needed: 0 });
        if self.resumed.is_none_or(|run| run.in_ram) && !planner.external {
            end = self.sums_in_ram(sums, optimal)?;
        }
        match end {
            End::Stopped(reason) if external::wants_memory(&reason) => {
                self.branch_and_bound(sums)?;
                // A plan that is not the best was asked for, unless the best was.
                if !optimal && self.outcome.plan.is_some() {
                    self.outcome.answer = Answer::Solved;
                }
            }
            End::Stopped(reason) if optimal || self.outcome.plan.is_none() => {
                self.outcome.answer = Answer::Stopped(reason);
            }
            End::Stopped(_) => {}
            End::Plan(_) | End::Exhausted => {
                self.outcome.optimal = self.outcome.plan.is_some();
                self.outcome.answer = if self.outcome.optimal { Answer::Solved } else { Answer::Unsolvable };
            }
        }
        Ok(())
    }

    fn sums_in_ram(&mut self, sums: Sums, optimal: bool) -> Result<End, PlanError> {
        let (planner, space) = (self.planner, self.space);
        self.say("by ascending cost, all states");
        let (hope, _held) = match self.hope() {
            Ok(made) => made,
            Err(reason) => return Ok(End::Stopped(reason)),
        };
        let taken_up = self.take_up(|from| ByCost::load(space, from))?;
        let mut search = taken_up.unwrap_or_else(|| ByCost::new(space));
        let unlimited = optimal || planner.control.limits.time.is_some();
        let states = if unlimited { u64::MAX } else { STATES_FOR_ENDS };
        let mut watch = Watch::trial(planner.control, planner.governor, u64::MAX, states);
        let known = self.outcome.plan.as_ref().map(|plan| sums.sum(plan.cost));
        let end = search.go_on((sums, known), &mut hope.eye(), &mut watch, &mut self.outcome.figures);
        if let Some((_, at)) = search.best {
            self.take(path(&search.nodes, at), None)?;
        }
        if let End::Stopped(reason) = &end
            && optimal
            && !external::wants_memory(reason)
        {
            let rows = self.outcome.plan.as_ref().map(|plan| plan.rows.clone());
            self.keep(reason, (Stage::Best, rows), |to| search.save(to));
        }
        Ok(end)
    }
}

/// A search by ascending cost that goes on where it was left.
struct ByCost {
    states: States,
    /// How each state is reached; `h` is 1 where it was expanded, the first time at the least cost.
    nodes: Chunks<Node>,
    open: Open,
    /// The goal state with the least sum.
    best: Option<(Rational, u32)>,
}

impl ByCost {
    fn new(space: &RowSpace) -> Self {
        let mut search = ByCost {
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            open: Open::default(),
            best: None,
        };
        search.states.insert(space.initial());
        search.nodes.push(&[Node::default()]);
        search.open.push((0, 0), (0, 0));
        search
    }

    /// Writes it down. The best plan is kept beside it.
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        self.states.save(to)?;
        self.nodes.save(self.states.len(), to)?;
        self.open.save(to)
    }

    /// Reads it again.
    fn load(space: &RowSpace, from: &mut Loader) -> io::Result<Self> {
        let states = States::load(space.words(), from)?;
        let nodes = Chunks::load(1, states.len(), from)?;
        Ok(ByCost { states, nodes, open: Open::load(from)?, best: None })
    }

    /// Takes states until none can lead to less than `best`, or than what is `known`.
    fn go_on(
        &mut self,
        (sums, known): (Sums, Option<Rational>),
        hope: &mut HopeEye,
        watch: &mut Watch,
        figures: &mut Figures,
    ) -> End {
        let ByCost { states, nodes, open, best } = self;
        let space = sums.space;
        let mut worker = space.row_worker();
        let mut state = space.initial().to_vec();
        let mut below = known.map_or(u64::MAX, |known| sums.below(known));
        while let Some(((g, depth), (at, _))) = open.pop() {
            if u64::from(g) >= below {
                return End::Exhausted;
            }
            let node = &mut nodes.get_mut(at)[0];
            if node.h == 1 || node.g != g {
                continue;
            }
            node.h = 1;
            state.copy_from_slice(states.get(at));
            if worker.is_goal(&state)
                && let Some(sum) = sums.at(&mut worker, u64::from(g), &state)
            {
                let least = best.map(|(sum, _)| sum).or(known);
                if least.is_none_or(|least| sum < least) {
                    *best = Some((sum, at));
                    below = sums.below(sum);
                }
            }
            figures.expanded += 1;
            if hope.is_lost(&state) {
                continue;
            }
            let mut overflow = false;
            worker.expand(&state, |row, firing, next| {
                let Firing::Reached(cost) = firing else { return };
                figures.generated += 1;
                let Some(g) = g.checked_add(cost).filter(|&g| g < u32::MAX / 2) else {
                    overflow = true;
                    return;
                };
                let (to, new) = states.insert(next);
                let node = Node { parent: at, row, g, h: 0 };
                if new {
                    nodes.push(&[node]);
                } else if nodes.get(to)[0].g > g {
                    nodes.get_mut(to)[0] = node;
                } else {
                    return;
                }
                open.push((g, depth + 1), (to, 0));
            });
            if overflow {
                return End::Stopped(StopReason::CostBound);
            }
            let count = u64::from(states.len());
            figures.states = figures.states.max(count);
            let bytes = || states.bytes() + nodes.bytes() + open.bytes();
            if let Some(reason) = watch.must_stop(0, count, bytes) {
                return End::Stopped(reason);
            }
        }
        End::Exhausted
    }
}
