//! Best-first search: take the best entry, close its state, put its successors where they belong (Wehrle 2011, fig. 2.1,
//! 3.5 and 4.3, which differ in the queues only).
//!
//! With [`Order::BreadthHeuristic`] states beyond a bound on cost plus estimate are left out, and the bound is raised to
//! the least that was beyond it until something is found (Zhou and Hansen's breadth-first heuristic search; the layers
//! are all kept, so directed graphs need no bound on their back edges).

use super::core::{Core, Course, End, Successor};
use super::limits::Halt;
use super::nodes::{Flag, NONE};
use super::open::Entry;
use super::order::Order;
use super::{Expansion, Insertion};
use crate::report::StopReason;
use hadal_store::OverBudget;
use hadal_system::PropertyKind;
use hadal_system::guide::{Distance, Placement};

/// Best-first search as the course of an order.
pub(super) struct BestFirst {
    walk: BestFirstWalk,
    /// Whether the initial states of this round are open.
    is_begun: bool,
}

impl BestFirst {
    pub(super) fn new(core: &Core) -> Self {
        BestFirst { walk: BestFirstWalk::new(core), is_begun: false }
    }
}

impl Course for BestFirst {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        loop {
            if !std::mem::replace(&mut self.is_begun, true) {
                core.figures.rounds += 1;
                self.walk.least_beyond = None;
                let roots = core.start()?;
                self.walk.open(core, &roots)?;
                if let Some(end) = core.take_found() {
                    return Ok(Some(end));
                }
            }
            match (self.walk.drain(core)?, self.walk.least_beyond) {
                (Some(End::Exhausted), Some(_)) if core.search.options.bound.is_some() => {
                    return Ok(Some(End::Stopped(StopReason::CostBound)));
                }
                (Some(End::Exhausted), Some(bound)) => {
                    self.walk.bound = bound;
                    core.begin_again()?;
                    self.is_begun = false;
                }
                (end, _) => return Ok(end),
            }
        }
    }
}

/// What one step of a walk came to.
pub(super) enum Step {
    /// An entry was dealt with.
    Went,
    /// The work of the step is done.
    Paused,
    /// The search is over.
    Ended(End),
}

/// An entry whose state is to be expanded once the search goes on.
#[derive(Clone, Copy)]
struct Pending {
    entry: Entry,
    queue: u32,
    /// Whether some of its successors were looked at before.
    resumed: bool,
}

/// A best-first search that goes on.
pub(super) struct BestFirstWalk {
    /// States with more cost and estimate than this are left out.
    bound: u64,
    /// The least that was left out.
    least_beyond: Option<u64>,
    always_insert: bool,
    by_cost: bool,
    /// States that seemed hopeless were left out without a proof, as the published rules do.
    left_unproven: bool,
    /// Not all successors of a state are looked at where one is better.
    partial: bool,
    pending: Option<Pending>,
}

impl BestFirstWalk {
    pub(super) fn new(core: &Core) -> Self {
        let options = core.search.options;
        let always_insert = options.insertion == Insertion::UnlessClosed;
        // Where switches of context are bounded, fewer of them count more than a lower cost.
        let by_cost = options.order.follows_cost() && !core.keeps_context();
        let bound = match options.order {
            Order::BreadthHeuristic => options.bound.unwrap_or(0),
            _ => u64::MAX,
        };
        let counts_expansions = || {
            let properties = core.search.task.space.properties();
            properties.iter().any(|property| property.kind == PropertyKind::Cover)
        };
        let partial = options.expansion == Expansion::Partial && !counts_expansions();
        let (least_beyond, left_unproven, pending) = (None, false, None);
        BestFirstWalk { bound, least_beyond, always_insert, by_cost, left_unproven, partial, pending }
    }

    /// Takes entries until there are none or the search ends; `None` where it pauses.
    pub(super) fn drain(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        loop {
            match self.step(core)? {
                Some(Step::Went) => {}
                Some(Step::Paused) => return Ok(None),
                Some(Step::Ended(end)) => return Ok(Some(end)),
                None if self.left_unproven => return Ok(Some(End::Incomplete)),
                None => return Ok(Some(End::Exhausted)),
            }
        }
    }

    /// Opens these initial states.
    pub(super) fn open(&mut self, core: &mut Core, roots: &[u32]) -> Result<(), OverBudget> {
        for &at in roots {
            let (h, label) = (core.nodes.get(at).h, core.nodes.get(at).label);
            let entry = Entry { state: at, parent: NONE, label, g: 0 };
            if !self.is_left_out(core, h) {
                self.insert(core, entry, h, Placement::queue(0))?;
            }
        }
        Ok(())
    }

    /// Whether a state with this estimate is left out.
    fn is_left_out(&mut self, core: &Core, h: Distance) -> bool {
        if h.is_finite() {
            return false;
        }
        self.left_unproven |= self.always_insert && !core.rules.prune;
        core.rules.prune || self.always_insert
    }

    /// Deals with the next entry; `None` where there is none.
    pub(super) fn step(&mut self, core: &mut Core) -> Result<Option<Step>, OverBudget> {
        if let Some(pending) = self.pending.take() {
            return self.deal_with(core, pending).map(Some);
        }
        let Some((queue, entry)) = core.open.pop() else { return Ok(None) };
        core.figures.work.pops += 1;
        let node = core.nodes.get_mut(entry.state);
        let resumed = node.is(Flag::Closed);
        if resumed && !node.is(Flag::Unfinished) || self.by_cost && entry.g > node.g {
            return Ok(Some(Step::Went));
        }
        if !resumed {
            node.set(Flag::Closed);
            node.parent = entry.parent;
            node.label = entry.label;
            node.g = entry.g;
            node.queue = queue;
            if node.is(Flag::Hit) {
                core.look_again(entry.state);
                if let Some(end) = core.take_found() {
                    return Ok(Some(Step::Ended(end)));
                }
            }
        }
        self.deal_with(core, Pending { entry, queue, resumed }).map(Some)
    }

    /// Expands a state, or goes on with the successors of one that was left unfinished.
    fn deal_with(&mut self, core: &mut Core, pending: Pending) -> Result<Step, OverBudget> {
        match core.halts() {
            Some(Halt::Pause) => {
                self.pending = Some(pending);
                return Ok(Step::Paused);
            }
            Some(Halt::Stop(reason)) => return Ok(Step::Ended(End::Stopped(reason))),
            None => {}
        }
        let Pending { entry, queue, resumed } = pending;
        if resumed {
            let from = core.nodes.get(entry.state).looked_at();
            let expanded = self.expand(core, entry, queue, from);
            core.forget();
            expanded?;
        } else {
            core.figures.work.distinct += 1;
            let expanded = self.expand(core, entry, queue, 0);
            core.settle();
            expanded?;
        }
        Ok(core.take_found().map_or(Step::Went, Step::Ended))
    }

    /// Looks at the successors of a state, from this one on; where one is better than the state and not all need be looked
    /// at now, the state waits with the others.
    fn expand(&mut self, core: &mut Core, entry: Entry, queue: u32, from: usize) -> Result<(), OverBudget> {
        core.generate(entry.state);
        core.begin_judging(entry.state);
        if self.partial {
            core.put_first();
        }
        let here = core.nodes.get(entry.state).h;
        let place = core.priority(entry.g, here);
        core.nodes.get_mut(entry.state).finish();
        for n in from..core.successors() {
            let reached = self.follow(core, n, entry, queue)?;
            let is_better = self.partial && reached.is_some_and(|priority| priority < place);
            if is_better
                && n + 1 < core.successors()
                && core.nodes.get_mut(entry.state).leave_unfinished(n + 1)
            {
                return core.open.push(queue, place, entry);
            }
        }
        Ok(())
    }

    /// Opens the n-th successor where that is called for; its place in the order where it is opened.
    fn follow(
        &mut self,
        core: &mut Core,
        n: usize,
        entry: Entry,
        queue: u32,
    ) -> Result<Option<u64>, OverBudget> {
        let (mut early, mut context) = (None, 0);
        if core.keeps_context() {
            // The context is part of the successor: it must be known first.
            let label = core.label(n);
            let Some(placement) = core.place(entry, queue, label, Distance::ZERO) else {
                return Ok(None);
            };
            context = placement.context;
            early = Some(placement);
        }
        let successor = core.successor(n, entry.state, entry.g, context)?;
        let Successor { at, label, g, .. } = successor;
        let node = core.nodes.get(at);
        let cheaper = self.by_cost && g < node.g;
        if node.is(Flag::Closed) {
            if !cheaper {
                return Ok(None);
            }
            core.figures.work.reopened += 1;
            core.figures.work.distinct -= 1;
            core.nodes.get_mut(at).clear(Flag::Closed);
            core.nodes.get_mut(at).finish();
            core.nodes.get_mut(at).queue = u32::MAX;
        }
        let h = core.estimate(at);
        if self.is_left_out(core, h) {
            return Ok(None);
        }
        let placement = match early {
            Some(placement) => placement,
            None => match core.place(entry, queue, label, h) {
                Some(placement) => placement,
                None => return Ok(None),
            },
        };
        let node = core.nodes.get(at);
        if !self.always_insert && !cheaper && node.queue <= placement.queue {
            return Ok(None);
        }
        self.insert(core, Entry { state: at, parent: entry.state, label, g }, h, placement)?;
        Ok(Some(core.priority(g, h)))
    }

    fn insert(
        &mut self,
        core: &mut Core,
        entry: Entry,
        h: Distance,
        placement: Placement,
    ) -> Result<(), OverBudget> {
        if self.bound < u64::MAX {
            // What seems hopeless without proof comes in the last round.
            let total = if h.is_finite() { u64::from(entry.g) + u64::from(h.0) } else { u64::MAX };
            if total > self.bound {
                self.least_beyond = Some(self.least_beyond.map_or(total, |least| least.min(total)));
                return Ok(());
            }
        }
        let node = core.nodes.get_mut(entry.state);
        node.queue = node.queue.min(placement.queue);
        if self.by_cost {
            node.g = node.g.min(entry.g);
        }
        let priority = core.priority(entry.g, h);
        core.open.push(placement.queue, priority, entry)?;
        if let Some(also) = placement.also {
            core.open.push(also, priority, entry)?;
        }
        Ok(())
    }
}
