//! A* in RAM (Hart, Nilsson and Raphael 1968). Where most states are expanded anyway, they are estimated late: a state waits
//! with what its parent's estimate says of it, and is estimated when its turn comes (Tolpin et al. 2013). Where there are
//! many more states than expansions, successors are estimated together, from what is known of their parent. Admissible
//! estimates need not be consistent; a state reached at less cost is opened again. Steps may cost nothing.

use crate::open::Open;
use crate::snapshot::{Loader, Saver};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::Distance;
use hadal_guide::plan::{Pruned, Stubborn};
use hadal_search::StopReason;
use hadal_system::StateSpace;
use std::io;

/// The estimate is computed.
const ESTIMATED: u32 = 1;
/// The state is expanded at its cost.
const CLOSED: u32 = 2;

/// Expansions before the two ways are weighed.
const TRIED: u64 = 64;

/// Which rows interfere is kept in at most one part in so many of the memory.
pub(crate) const PRUNING_SHARE: u64 = 16;

/// What making a successor and looking it up counts as, beside estimates.
const STEP: u64 = 150;

/// Estimates for A*.
pub(crate) trait Bounding {
    /// Of a state.
    fn estimate(&mut self, state: &[u64]) -> Distance;

    /// Whether what is known of a state helps to estimate its successors.
    fn shares(&self) -> bool {
        false
    }

    /// Readies what the last estimate found for the successors of its state.
    fn keep(&mut self) {}

    /// Of the state that `row` leads to from the one that was kept.
    fn estimate_after(&mut self, state: &[u64], _row: u32) -> Distance {
        self.estimate(state)
    }

    /// What all estimates took, counted in about nanoseconds.
    fn work(&self) -> u64 {
        0
    }

    /// Bytes that estimates took on the way.
    fn bytes(&self) -> u64 {
        0
    }

    /// How many orders of abstractions were found on the way.
    fn found(&self) -> usize {
        0
    }
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A cheapest plan.
    Plan(Vec<u32>),
    /// There is none.
    Exhausted,
    /// It ended before it knew.
    Stopped(StopReason),
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// States met.
    pub states: u64,
    /// States expanded, again where they were opened again.
    pub expanded: u64,
    /// Estimates computed.
    pub evaluated: u64,
    /// Transitions.
    pub generated: u64,
    /// The best lower bound on the cost of a plan.
    pub lower_bound: u64,
    /// The largest distance in layers at which a search on disk found a duplicate: at least this, where layers are merged.
    pub locality: u64,
    /// Duplicates lie at most so many layers back, where the rows prove it.
    pub locality_bound: Option<u64>,
}

impl Figures {
    /// Adds what another search did.
    pub(crate) fn add(&mut self, other: Figures) {
        self.states = self.states.max(other.states);
        self.expanded += other.expanded;
        self.evaluated += other.evaluated;
        self.generated += other.generated;
        self.lower_bound = self.lower_bound.max(other.lower_bound);
        self.locality = self.locality.max(other.locality);
        self.locality_bound = self.locality_bound.or(other.locality_bound);
    }

    /// Writes them down: how far a search is may decide how it goes on.
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        let all = [self.states, self.expanded, self.evaluated, self.generated, self.lower_bound];
        all.iter().try_for_each(|&figure| to.word(figure))
    }

    /// Reads them again.
    pub(crate) fn load(from: &mut Loader) -> io::Result<Self> {
        Ok(Figures {
            states: from.word()?,
            expanded: from.word()?,
            evaluated: from.word()?,
            generated: from.word()?,
            lower_bound: from.word()?,
            ..Figures::default()
        })
    }
}

/// A search that goes on where it was left.
pub(crate) struct AStar {
    states: States,
    nodes: Chunks<Node>,
    flags: Chunks<u32>,
    open: Open,
    pruned: Pruned,
}

impl AStar {
    pub(crate) fn new(space: &RowSpace) -> Self {
        let mut search = AStar {
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            flags: Chunks::new(1),
            open: Open::default(),
            pruned: Pruned::default(),
        };
        search.states.insert(space.initial());
        search.nodes.push(&[Node::default()]);
        search.flags.push(&[0]);
        search.open.push((0, 0), (0, 0));
        search
    }

    /// Writes it down.
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        self.states.save(to)?;
        self.nodes.save(self.states.len(), to)?;
        self.flags.save(self.states.len(), to)?;
        self.open.save(to)?;
        let Pruned { seen, left, expanded } = self.pruned;
        [seen, left, expanded].iter().try_for_each(|&figure| to.word(figure))
    }

    /// Reads it again.
    pub(crate) fn load(space: &RowSpace, from: &mut Loader) -> io::Result<Self> {
        let states = States::load(space.words(), from)?;
        let nodes = Chunks::load(1, states.len(), from)?;
        let flags = Chunks::load(1, states.len(), from)?;
        let open = Open::load(from)?;
        let pruned = Pruned { seen: from.word()?, left: from.word()?, expanded: from.word()? };
        Ok(AStar { states, nodes, flags, open, pruned })
    }

    /// Searches for a cheapest plan.
    pub(crate) fn go_on(
        &mut self,
        space: &RowSpace,
        estimator: &mut dyn Bounding,
        watch: &mut Watch,
        figures: &mut Figures,
    ) -> End {
        let AStar { states, nodes, flags, open, pruned } = self;
        let mut worker = space.row_worker();
        let mut stubborn = Stubborn::new(space, watch.limit() / PRUNING_SHARE);
        let (mut rows, mut next) = (Vec::new(), space.initial().to_vec());
        let mut state = space.initial().to_vec();
        // Successors that wait to be estimated, and the state that was estimated last.
        let (mut fresh, mut at_hand): (Vec<u32>, Option<u32>) = (Vec::new(), None);
        loop {
            let count = u64::from(states.len());
            let held = || states.bytes() + nodes.bytes() + flags.bytes() + open.bytes();
            let bytes = || held() + estimator.bytes() + stubborn.as_ref().map_or(0, Stubborn::bytes);
            if let Some(reason) = watch.must_stop(estimator.work() + figures.generated * STEP, count, bytes) {
                figures.states = count;
                return End::Stopped(reason);
            }
            let Some(((f, _), (at, g))) = open.pop() else { break };
            let node = nodes.get(at)[0];
            if node.g != g || flags.get(at)[0] & CLOSED != 0 {
                continue;
            }
            figures.lower_bound = figures.lower_bound.max(u64::from(f));
            state.copy_from_slice(states.get(at));
            let mut h = node.h;
            if flags.get(at)[0] & ESTIMATED == 0 {
                figures.evaluated += 1;
                let estimate = estimator.estimate(&state);
                at_hand = Some(at);
                flags.get_mut(at)[0] |= ESTIMATED;
                if estimate == Distance::INFINITE {
                    flags.get_mut(at)[0] |= CLOSED;
                    nodes.get_mut(at)[0].h = u32::MAX;
                    continue;
                }
                h = h.max(estimate.0);
                nodes.get_mut(at)[0].h = h;
                let total = g.saturating_add(h);
                if total == u32::MAX {
                    continue;
                }
                if total > f {
                    open.push((total, h), (at, g));
                    continue;
                }
            }
            if h == 0 && worker.is_goal(&state) {
                figures.states = u64::from(states.len());
                return End::Plan(path(nodes, at));
            }
            flags.get_mut(at)[0] |= CLOSED;
            figures.expanded += 1;
            let mut overflow = false;
            // Estimating a state for its successors' sake is worth it where it has enough of them.
            let together = estimator.shares()
                && figures.expanded > TRIED
                && u64::from(states.len()) > figures.expanded * 3 / 2;
            worker.applicable(&state, &mut rows);
            if let Some(stubborn) = &mut stubborn {
                stubborn.prune(&state, &mut rows, pruned);
            }
            for &row in &rows {
                let Firing::Reached(cost) = worker.fire(&state, row, &mut next) else { continue };
                figures.generated += 1;
                let Some(g) = g.checked_add(cost).filter(|&g| g < u32::MAX / 2) else {
                    overflow = true;
                    continue;
                };
                let inherited = h.saturating_sub(cost);
                let (to, new) = states.insert(&next);
                if new {
                    nodes.push(&[Node { parent: at, row, g, h: inherited }]);
                    flags.push(&[0]);
                    if together {
                        fresh.push(to);
                        continue;
                    }
                } else {
                    let known = &mut nodes.get_mut(to)[0];
                    if known.g <= g {
                        continue;
                    }
                    // What the way says of a state holds for every way to it.
                    *known = Node { parent: at, row, g, h: known.h.max(inherited) };
                    let flag = &mut flags.get_mut(to)[0];
                    if known.h == u32::MAX {
                        continue;
                    }
                    *flag &= !CLOSED;
                }
                let h = nodes.get(to)[0].h;
                let total = g.saturating_add(h);
                if total < u32::MAX {
                    open.push((total, h), (to, g));
                }
            }
            if overflow {
                return End::Stopped(StopReason::CostBound);
            }
            if !fresh.is_empty() {
                if at_hand != Some(at) {
                    estimator.estimate(&state);
                    figures.evaluated += 1;
                }
                estimator.keep();
                at_hand = None;
                let mut late = false;
                for to in fresh.drain(..) {
                    let node = nodes.get(to)[0];
                    late = late || watch.is_late().is_some();
                    if late {
                        // Left to be estimated when its turn comes.
                        let total = node.g.saturating_add(node.h);
                        if total < u32::MAX {
                            open.push((total, node.h), (to, node.g));
                        }
                        continue;
                    }
                    figures.evaluated += 1;
                    let estimate = estimator.estimate_after(states.get(to), node.row);
                    flags.get_mut(to)[0] |= ESTIMATED;
                    if estimate == Distance::INFINITE {
                        flags.get_mut(to)[0] |= CLOSED;
                        nodes.get_mut(to)[0].h = u32::MAX;
                        continue;
                    }
                    let h = node.h.max(estimate.0);
                    nodes.get_mut(to)[0].h = h;
                    let total = node.g.saturating_add(h);
                    if total < u32::MAX {
                        open.push((total, h), (to, node.g));
                    }
                }
            }
        }
        figures.states = u64::from(states.len());
        End::Exhausted
    }
}
