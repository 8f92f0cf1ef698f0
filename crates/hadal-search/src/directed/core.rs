//! What all orders share: states and what is remembered of them, one lane that expands, the estimator, and the answer.

use super::audit::Audit;
use super::figures::{DirectedFigures, Manner};
use super::freeing::Kept;
use super::nodes::{Flag, NONE, Node, Nodes};
use super::open::{Entry, Open};
use super::order::Order;
use super::{DirectedSearch, Insertion, Trust, aims_at_all};
use crate::finding::Finding;
use crate::lane::{Lane, Parents};
use crate::report::StopReason;
use hadal_store::OverBudget;
use hadal_store::table::StateTable;
use hadal_system::Label;
use hadal_system::guide::{Distance, Estimator, Judge, Placement, Step};
use hadal_system::random::SplitMix;

/// The priority of states that seem hopeless but are not proven to be.
pub(super) const LAST: u64 = u64::MAX;

/// The queue of what the priority layer would leave out where more is asked about than it knows.
const LAST_QUEUE: u32 = 1023;

/// How a search ended.
pub(super) enum End {
    /// This was found, in the state with this number (none where making an initial state failed).
    Found(Finding, u32),
    /// This was found, at the end of this path of this cost.
    Traced(Finding, Vec<Vec<u64>>, u32),
    /// Nothing is left that can matter.
    Exhausted,
    /// Nothing is left, but states were left out without a proof.
    Incomplete,
    /// A limit.
    Stopped(StopReason),
    /// The memory budget.
    Full(OverBudget),
}

/// The part of a search that is an order's own.
pub(super) trait Course {
    /// Goes on until the search ends; `None` where the work of the step is done before.
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget>;
}

/// Whether to go on.
pub(super) type Going = Result<(), OverBudget>;

/// A successor of the state that was expanded last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Successor {
    /// Its number.
    pub(super) at: u32,
    /// By which transition.
    pub(super) label: Label,
    /// At which cost from the start.
    pub(super) g: u32,
    /// Whether it was not known.
    pub(super) fresh: bool,
}

pub(super) struct Core<'a> {
    pub(super) search: DirectedSearch<'a>,
    pub(super) table: StateTable,
    pub(super) nodes: Nodes,
    pub(super) open: Open,
    pub(super) figures: DirectedFigures,
    pub(super) rules: Rules,
    pub(super) lane: Lane<'a>,
    pub(super) guiding: Guiding<'a>,
    pub(super) scratch: Scratch,
    /// The best of what is wrong, and where.
    pub(super) found: Option<(Finding, u32)>,
    pub(super) pace: Pace,
    /// Transitions that were fired again.
    pub(super) regenerated: u64,
    /// States that are not in the table.
    pub(super) kept: Kept,
}

/// What holds throughout a search.
pub(super) struct Rules {
    pub(super) prune: bool,
    /// Whether the priority layer may leave transitions out.
    pub(super) cuts: bool,
    /// The context of the state being expanded is part of it.
    pub(super) keeps_context: bool,
    /// Whether every transition costs 1.
    pub(super) unit_costs: bool,
}

/// Who says what comes first.
pub(super) struct Guiding<'a> {
    pub(super) estimator: Box<dyn Estimator + 'a>,
    pub(super) judge: Box<dyn Judge + 'a>,
    /// The audit of the guide.
    pub(super) audit: Option<Audit>,
}

/// Room for the state being expanded.
#[derive(Default)]
pub(super) struct Scratch {
    /// That state, with its context.
    pub(super) state: Vec<u64>,
    /// A successor, with its context.
    pub(super) key: Vec<u64>,
    /// The successors, in the order in which they are taken.
    pub(super) turn: Vec<u32>,
}

/// How far it is, and how far it may go.
pub(super) struct Pace {
    pub(super) expansions: u64,
    /// What estimates had taken when limits were last looked at between them.
    pub(super) work_at_look: u64,
    /// Why it must stop, seen between estimates.
    pub(super) stopped: Option<StopReason>,
    /// What was done when it was last looked at.
    pub(super) seen: u64,
    /// The step ends when so much is done.
    pub(super) until: u64,
    /// The step ended before the expansion that is next.
    pub(super) is_paused: bool,
}

impl<'a> Core<'a> {
    pub(super) fn new(search: DirectedSearch<'a>) -> Result<Self, OverBudget> {
        let keeps_context = search.priority.keeps_context();
        let words = search.task.space.words() + usize::from(keeps_context);
        let options = search.options;
        let tie = options.tie.unwrap_or_else(|| options.order.info().tie);
        let figures = DirectedFigures {
            manner: Manner {
                guide: search.guide.name(),
                order: options.order.to_string(),
                priority: search.priority.name(),
                tie: tie.to_string(),
                admissible: search.guide.promises().admissible,
                prunes: search.may_prune,
            },
            ..DirectedFigures::default()
        };
        Ok(Core {
            search,
            table: StateTable::new(words, 0, 1, search.governor)?,
            nodes: Nodes::new(search.governor),
            open: Open::new(tie, search.priority.selection(), search.governor),
            figures,
            rules: Rules {
                prune: search.may_prune,
                cuts: aims_at_all(search.task, search.goal),
                keeps_context,
                unit_costs: search.task.space.costs().is_steps(),
            },
            lane: Lane::new(search.task, Parents::Forgotten).with_costs(),
            guiding: Guiding {
                estimator: search.guide.estimator(),
                judge: search.priority.judge(),
                audit: (search.options.trust == Trust::Audited).then(Audit::default),
            },
            scratch: Scratch::default(),
            found: None,
            pace: Pace {
                expansions: 0,
                work_at_look: 0,
                stopped: None,
                seen: 0,
                until: u64::MAX,
                is_paused: false,
            },
            regenerated: 0,
            kept: Kept::default(),
        })
    }

    /// States found so far.
    pub(super) fn states(&self) -> u64 {
        // The initial states of a search that frees layers are in the table as well.
        if self.kept.found > 0 { self.kept.found } else { self.table.len() }
    }

    /// What was found so far.
    pub(super) fn take_found(&mut self) -> Option<End> {
        self.found.take().map(|(finding, at)| End::Found(finding, at))
    }

    /// The numbers of the initial states, each once; the nodes are there, with estimates.
    pub(super) fn start(&mut self) -> Result<Vec<u32>, OverBudget> {
        self.lane.generate_initial(0);
        if let Some(finding) = self.lane.finding.take() {
            self.found = Some((finding, NONE));
        }
        let mut roots = Vec::new();
        for n in 0..self.lane.waiting().0.len() {
            let (out, _) = self.lane.waiting();
            let label = out.labels()[n];
            self.scratch.key.clear();
            self.scratch.key.extend_from_slice(out.state(n));
            if self.rules.keeps_context {
                self.scratch.key.push(0);
            }
            let (at, fresh) = self.intern(NONE, label, 0)?;
            if fresh {
                let h = self.estimate(at);
                if h.is_finite() {
                    let best = self.figures.initial_estimate.map_or(h.0, |best| best.min(h.0));
                    self.figures.initial_estimate = Some(best);
                }
                roots.push(at);
            }
        }
        self.lane.settle();
        Ok(roots)
    }

    /// Generates the successors of a state; errors and deadlock are noted.
    pub(super) fn generate(&mut self, at: u32) {
        let words = self.search.task.space.words();
        self.scratch.state.clear();
        self.scratch.state.extend_from_slice(self.table.nth(0, u64::from(at)));
        self.lane.generate(&self.scratch.state[..words], 0);
        self.note_finding(at);
        self.take_turns();
    }

    /// Brings the successors that the priority layer names first to the front.
    pub(super) fn put_first(&mut self) {
        let labels = self.lane.waiting().0.labels();
        let judge = &self.guiding.judge;
        self.scratch.turn.sort_by_key(|&n| !judge.comes_first(labels[n as usize]));
    }

    /// Forgets the successors, which were counted when their state was expanded for the first time.
    pub(super) fn forget(&mut self) {
        self.figures.work.generated -= self.scratch.turn.len() as u64;
        self.regenerated += self.scratch.turn.len() as u64;
        self.lane.forget();
    }

    /// Counts what was generated and decides in which order it is taken.
    pub(super) fn take_turns(&mut self) {
        let count = self.lane.waiting().0.len();
        self.figures.work.generated += count as u64;
        self.scratch.turn.clear();
        self.scratch.turn.extend(0..count as u32);
        let labels = self.lane.waiting().0.labels();
        if let Some(ranks) = &self.search.options.ranks {
            let rank = |n: &u32| ranks.get(labels[*n as usize].0 as usize).copied().unwrap_or(u32::MAX);
            self.scratch.turn.sort_by_key(rank);
        }
        if let Some(seed) = self.search.options.seed {
            let draw = |n: &u32| SplitMix::new(seed ^ u64::from(labels[*n as usize].0) << 32).bits();
            self.scratch.turn.sort_by_cached_key(draw);
        }
    }

    /// How many successors [`Core::generate`] found.
    pub(super) fn successors(&self) -> usize {
        self.scratch.turn.len()
    }

    /// Counts the successors and forgets them.
    pub(super) fn settle(&mut self) {
        self.lane.settle();
    }

    /// The n-th successor of the state `from`, which was generated last and has cost `g`: put into the table if it is new, and
    /// then looked at.
    pub(super) fn successor(
        &mut self,
        n: usize,
        from: u32,
        g: u32,
        context: u64,
    ) -> Result<Successor, OverBudget> {
        let (out, _) = self.lane.waiting();
        let number = self.scratch.turn[n] as usize;
        let label = out.labels()[number];
        self.scratch.key.clear();
        self.scratch.key.extend_from_slice(out.state(number));
        if self.rules.keeps_context {
            self.scratch.key.push(context);
        }
        let g = self.reach(g, number);
        let (at, fresh) = self.intern(from, label, g)?;
        let successor = Successor { at, label, g, fresh };
        self.audit_step(from, successor);
        Ok(successor)
    }

    /// The label of the n-th successor.
    pub(super) fn label(&self, n: usize) -> Label {
        self.lane.waiting().0.labels()[self.scratch.turn[n] as usize]
    }

    /// The words of the n-th successor.
    pub(super) fn words_of(&self, n: usize) -> &[u64] {
        self.lane.waiting().0.state(self.scratch.turn[n] as usize)
    }

    /// The cost of the n-th successor, in turn, of a state of cost `g`.
    pub(super) fn cost_after(&mut self, g: u32, n: usize) -> u32 {
        self.reach(g, self.scratch.turn[n] as usize)
    }

    /// The cost after a waiting transition: its own is added, or 1 in orders that count steps. A sum that does not fit ends
    /// the search.
    fn reach(&mut self, g: u32, number: usize) -> u32 {
        let cost = self.lane.cost(number);
        let cost = if self.search.options.order.follows_cost() { cost } else { 1 };
        g.checked_add(cost).unwrap_or_else(|| {
            self.pace.stopped = Some(StopReason::CostBound);
            u32::MAX
        })
    }

    /// Tells the priority layer which state is expanded.
    pub(super) fn begin_judging(&mut self, at: u32) {
        let words = self.search.task.space.words();
        self.guiding.judge.begin(
            &self.scratch.state[..words],
            self.nodes.get(at).h,
            &mut *self.guiding.estimator,
        );
    }

    /// Where the priority layer puts a successor of the state being expanded.
    pub(super) fn place(
        &mut self,
        entry: Entry,
        queue: u32,
        label: Label,
        there: Distance,
    ) -> Option<Placement> {
        let words = self.search.task.space.words();
        let step = Step {
            state: &self.scratch.state[..words],
            here: self.nodes.get(entry.state).h,
            incoming: (entry.parent != NONE).then_some(entry.label),
            queue,
            context: if self.rules.keeps_context { self.scratch.state[words] } else { 0 },
            label,
            there,
        };
        let placement = self.guiding.judge.place(&step, &mut *self.guiding.estimator);
        if placement.is_none() && !self.rules.cuts {
            return Some(Placement::queue(LAST_QUEUE));
        }
        self.figures.work.cut += u64::from(placement.is_none());
        placement
    }

    /// Whether the context is part of a state.
    pub(super) fn keeps_context(&self) -> bool {
        self.rules.keeps_context
    }

    /// Puts `key` into the table; a new state is looked at.
    pub(super) fn intern(&mut self, parent: u32, label: Label, g: u32) -> Result<(u32, bool), OverBudget> {
        if self.table.len() >= u64::from(NONE) {
            let what = "numbers of states (32 bits)";
            return Err(OverBudget { what, asked: 0, available: 0, limit: self.search.governor.limit() });
        }
        self.nodes.reserve(1)?;
        let mut added = None;
        self.table.insert_all(&self.scratch.key, |_, _| {}, |_, at| added = Some(at))?;
        let Some(at) = added else {
            // It was not added, so it is there.
            let at = self.table.find(&self.scratch.key).map_or(NONE, |at| at.number() as u32);
            return Ok((at, false));
        };
        let at = at.number() as u32;
        debug_assert_eq!(at as usize, self.nodes.len());
        self.nodes.push(Node::new(parent, label, g));
        let words = self.search.task.space.words();
        self.lane.look_at(&self.scratch.key[..words]);
        if self.lane.finding.is_some() {
            self.nodes.get_mut(at).set(Flag::Hit);
            if self.notices_at_once() {
                self.note_finding(at);
            } else {
                self.lane.finding = None;
            }
        }
        Ok((at, true))
    }

    /// Whether what is wrong with a state is noticed when it is found, not only when it is taken out.
    fn notices_at_once(&self) -> bool {
        let options = &self.search.options;
        let bounds_cost = match options.order {
            // Without an admissible guide the weight bounds nothing.
            Order::Weighted(_) => self.figures.manner.admissible,
            // A deadlock or an error may be one step nearer, in a state of the layer that is being expanded.
            Order::Breadth => true,
            order => order.follows_cost(),
        };
        // An entry with fewer switches of context may be waiting still; breadth-first turns do not count them.
        let bounds_switches = self.rules.keeps_context && options.order != Order::Alternating;
        options.insertion == Insertion::WhenBetter && !bounds_cost && !bounds_switches
    }

    /// Looks at a state that was marked when it was found.
    pub(super) fn look_again(&mut self, at: u32) {
        let words = self.search.task.space.words();
        self.lane.look_at(&self.table.nth(0, u64::from(at))[..words]);
        self.note_finding(at);
    }

    fn note_finding(&mut self, at: u32) {
        let Some(new) = self.lane.finding.take() else { return };
        self.audit_finding(new.kind, at);
        let mut best =
            self.found.take().map(|(held, where_held)| (Some(held), where_held)).unwrap_or((None, at));
        let before = best.0.clone();
        Finding::offer(&mut best.0, new);
        let place = if best.0 == before { best.1 } else { at };
        self.found = best.0.map(|finding| (finding, place));
    }

    /// The estimate of a state, made once.
    pub(super) fn estimate(&mut self, at: u32) -> Distance {
        let node = self.nodes.get(at);
        if node.is(Flag::Estimated) {
            return node.h;
        }
        if self.pace.stopped.is_some() {
            return Distance::ZERO;
        }
        let words = self.search.task.space.words();
        let state = &self.table.nth(0, u64::from(at))[..words];
        let h = self.guiding.estimator.estimate(state, None);
        self.look_between_estimates();
        self.figures.work.evaluated += 1;
        let node = self.nodes.get_mut(at);
        node.h = h;
        node.set(Flag::Estimated);
        if !h.is_finite() && self.rules.prune {
            self.figures.work.hopeless += 1;
        }
        h
    }

    /// The place in the order of a state with this cost and estimate.
    pub(super) fn priority(&self, g: u32, h: Distance) -> u64 {
        let order = self.search.options.order;
        let (g, h) = match (h.is_finite(), order) {
            (true, _) => (u64::from(g), u64::from(h.0)),
            (false, Order::UniformCost | Order::BreadthHeuristic) => (u64::from(g), 0),
            (false, Order::Breadth | Order::Depth) => return 0,
            (false, _) => return LAST,
        };
        match order {
            Order::Greedy | Order::HillClimbing | Order::Beam(_) | Order::Alternating => h,
            Order::AStar | Order::IterativeDeepening => g + h,
            Order::Weighted(weight) => g * 1000 + h * u64::from(weight),
            Order::UniformCost | Order::BreadthHeuristic => g,
            Order::Breadth | Order::Depth => 0,
        }
    }

    /// Forgets all states, for another round with a higher bound.
    pub(super) fn begin_again(&mut self) -> Going {
        self.table.clear()?;
        self.nodes.forget();
        self.open.clear();
        Ok(())
    }
}
