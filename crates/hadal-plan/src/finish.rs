//! Metrics read in the last state of a plan (Jabbar 2008, sec. 9.5): such a value may fall and rise along a plan, so no
//! bound prunes, and every reachable state may have to be seen.
//!
//! Where nothing but the last state counts, breadth-first searches look for a goal state that is better than the best so
//! far, in RAM and then on disk, until there is none. Where steps cost something besides, states are taken by ascending
//! cost, each once, in RAM.

use crate::astar::{End, Figures};
use crate::external::{Kept, OnDisk, rows};
use crate::open::Open;
use crate::plan::Plan;
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_search::auto::{self, AutoSearch};
use hadal_search::layered::Trouble;
use hadal_search::{Control, DeadlockNotion, Question, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::rows::{Metric, Rational};
use hadal_system::state::hash;
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, StateField, StateSpace, Successors, Worker,
};

/// What is better in the last state: less of a term, or more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtEnd {
    pub(crate) term: u32,
    pub(crate) more: bool,
}

impl AtEnd {
    /// The value of the last state alone, where it decides.
    pub(crate) fn of(metric: &Metric) -> Option<AtEnd> {
        match *metric {
            Metric::Minimise(term) => Some(AtEnd { term, more: false }),
            Metric::Maximise(term) => Some(AtEnd { term, more: true }),
            Metric::Steps | Metric::Cost { .. } => None,
        }
    }

    fn better(self, value: Rational, than: Rational) -> bool {
        if self.more { value > than } else { value < than }
    }
}

/// Looks for a goal state that is better than `best`, the nearest first.
pub(crate) fn improve(
    space: &RowSpace,
    (end, best): (AtEnd, Option<&Plan>),
    (disk, resumed): (&OnDisk, bool),
    (control, governor): (&Control, &Governor),
    figures: &mut Figures,
) -> Result<(End, u64), Trouble> {
    let below = Below { space, end, best: best.map(|plan| plan.cost) };
    let rows_of_best = best.map(|plan| plan.rows.clone());
    let kept = Kept { fingerprint: below.fingerprint(), best: rows_of_best, resumed };
    let ledger = || (disk.open)(&kept);
    let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
    let task = Task { space: &below, question: &question, control };
    let search = AutoSearch { task, ledger: &ledger, governor, threads: disk.threads };
    let report = if resumed { auto::resume(&search)? } else { auto::explore(&search)? };
    figures.states = figures.states.max(report.states);
    figures.expanded += report.states;
    figures.generated += report.transitions;
    let bytes = report.disk.map_or(0, |disk| disk.bytes);
    Ok((
        match report.verdict {
            Verdict::Violated(found) => End::Plan(rows(space, &found.path)),
            Verdict::Holds => End::Exhausted,
            Verdict::Stopped(reason) => End::Stopped(reason),
        },
        bytes,
    ))
}

/// A task in which only goal states better than a bound are goals.
struct Below<'s> {
    space: &'s RowSpace,
    end: AtEnd,
    best: Option<Rational>,
}

impl StateSpace for Below<'_> {
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
        // Runs with another bound see the same states and look for others.
        let (known, n, d) = self.best.map_or((0, 0, 1), |best| (1, *best.numer(), *best.denom()));
        hash(&[self.space.fingerprint(), known, n as u64, d as u64])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.space.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(BelowWorker { below: self, worker: self.space.row_worker() })
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(state)
    }
}

struct BelowWorker<'b> {
    below: &'b Below<'b>,
    worker: RowWorker<'b>,
}

impl Worker for BelowWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.worker.initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        // What does not fit is noted by the space, and whoever planned begins again.
        self.worker.expand(state, |row, firing, next| {
            if let Firing::Reached(_) = firing {
                out.push(Label(row), next);
            }
        });
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let AtEnd { term, .. } = self.below.end;
        let is_better = self.worker.is_goal(state)
            && self
                .worker
                .value(state, term)
                .is_some_and(|value| self.below.best.is_none_or(|best| self.below.end.better(value, best)));
        if is_better { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
}

/// Takes states by ascending cost and keeps the goal state with the least sum of its cost and a term read there. `units`
/// is what a unit of cost stands for. Exhausted or not, `best` holds the best plan met.
pub(crate) fn cheapest_with_end(
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
