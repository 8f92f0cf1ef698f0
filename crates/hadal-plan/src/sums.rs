//! Costs of steps plus a term read in the last state: states are taken by ascending cost, each once, in RAM.

use crate::astar::{End, Figures};
use crate::disk::Stage;
use crate::open::Open;
use crate::planner::{Answer, PlanError};
use crate::sitting::Sitting;
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_search::StopReason;
use hadal_system::StateSpace;
use hadal_system::rows::Rational;

impl Sitting<'_> {
    /// Better sums of cost and last state, by ascending cost.
    pub(crate) fn better_sums(&mut self, term: u32, optimal: bool) -> Result<(), PlanError> {
        let mut watch = self.watch(u64::MAX);
        self.say("by ascending cost, all states");
        let mut best = None;
        let end = cheapest_with_end(self.space, term, &mut watch, &mut best, &mut self.outcome.figures);
        if let Some((_, rows)) = best {
            self.take(rows, None)?;
        }
        match end {
            End::Exhausted => self.outcome.optimal = self.outcome.plan.is_some(),
            End::Stopped(reason) if optimal => {
                let rows = self.outcome.plan.as_ref().map(|plan| plan.rows.clone());
                // It begins anew.
                self.keep(&reason, (Stage::Best, rows), |_| Ok(()));
                self.outcome.answer = Answer::Stopped(reason);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Takes states by ascending cost and keeps the goal state with the least sum of its cost and a term read there. Exhausted
/// or not, `best` holds the best plan met.
fn cheapest_with_end(
    space: &RowSpace,
    term: u32,
    watch: &mut Watch,
    best: &mut Option<(Rational, Vec<u32>)>,
    figures: &mut Figures,
) -> End {
    let mut states = States::new(space.words());
    let mut nodes: Chunks<Node> = Chunks::new(1);
    let mut open = Open::default();
    let mut worker = space.row_worker();
    let mut state = space.initial().to_vec();
    states.insert(&state);
    nodes.push(&[Node::default()]);
    open.push((0, 0), (0, 0));
    while let Some(((g, depth), (at, _))) = open.pop() {
        let node = &mut nodes.get_mut(at)[0];
        // The flag says that it was expanded; the first time is the cheapest.
        if node.h == 1 || node.g != g {
            continue;
        }
        node.h = 1;
        state.copy_from_slice(states.get(at));
        if worker.is_goal(&state)
            && let Some(end) = worker.value(&state, term)
        {
            let value = space.cost_unit() * Rational::from_integer(i128::from(g)) + end;
            if best.as_ref().is_none_or(|(least, _)| value < *least) {
                *best = Some((value, path(&nodes, at)));
            }
        }
        figures.expanded += 1;
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
