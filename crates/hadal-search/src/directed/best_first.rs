//! Best-first search: take the best entry, close its state, put its successors where they belong (Wehrle 2011, fig. 2.1,
//! 3.5 and 4.3, which differ in the queues only).
//!
//! With [`Order::BreadthHeuristic`] states beyond a bound on cost plus estimate are left out, and the bound is raised to
//! the least that was beyond it until something is found (Zhou and Hansen's breadth-first heuristic search; the layers
//! are all kept, so directed graphs need no bound on their back edges).

use super::core::{Core, End, Successor};
use super::nodes::{Flag, NONE};
use super::open::Entry;
use super::order::Order;
use super::{Expansion, Insertion};
use hadal_store::OverBudget;
use hadal_system::PropertyKind;
use hadal_system::guide::{Distance, Placement};

/// Explores from the initial states.
pub(super) fn run(core: &mut Core) -> Result<End, OverBudget> {
    let mut walk = Walk::new(core);
    loop {
        walk.core.figures.rounds += 1;
        walk.least_beyond = None;
        let roots = walk.core.start()?;
        walk.open(&roots)?;
        if let Some(end) = walk.core.take_found() {
            return Ok(end);
        }
        match (drain(&mut walk)?, walk.least_beyond) {
            (End::Exhausted, Some(bound)) => {
                walk.bound = bound;
                walk.core.begin_again()?;
            }
            (end, _) => return Ok(end),
        }
    }
}

/// Takes entries until there are none, or the search ends.
pub(super) fn drain(walk: &mut Walk) -> Result<End, OverBudget> {
    loop {
        match walk.step()? {
            Some(Step::Went) => {}
            Some(Step::Ended(end)) => return Ok(end),
            None if walk.left_unproven => return Ok(End::Incomplete),
            None => return Ok(End::Exhausted),
        }
    }
}

/// What one step of a walk came to.
pub(super) enum Step {
    /// An entry was dealt with.
    Went,
    /// The search is over.
    Ended(End),
}

/// A best-first search that goes on.
pub(super) struct Walk<'w, 'a> {
    pub(super) core: &'w mut Core<'a>,
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
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(core: &'w mut Core<'a>) -> Self {
        let options = &core.search.options;
        let always_insert = options.insertion == Insertion::UnlessClosed;
        // Where switches of context are bounded, fewer of them count more than a lower cost.
        let by_cost = options.order.follows_cost() && !core.keeps_context();
        let bound = if options.order == Order::BreadthHeuristic { 0 } else { u64::MAX };
        let counts_expansions = || {
            let properties = core.search.task.space.properties();
            properties.iter().any(|property| property.kind == PropertyKind::Cover)
        };
        let partial = options.expansion == Expansion::Partial && !counts_expansions();
        Walk { core, bound, least_beyond: None, always_insert, by_cost, left_unproven: false, partial }
    }

    /// Opens these initial states.
    pub(super) fn open(&mut self, roots: &[u32]) -> Result<(), OverBudget> {
        for &at in roots {
            let (h, label) = (self.core.nodes.get(at).h, self.core.nodes.get(at).label);
            let entry = Entry { state: at, parent: NONE, label, g: 0 };
            if !self.is_left_out(h) {
                self.insert(entry, h, Placement::queue(0))?;
            }
        }
        Ok(())
    }

    /// Whether a state with this estimate is left out.
    fn is_left_out(&mut self, h: Distance) -> bool {
        if h.is_finite() {
            return false;
        }
        self.left_unproven |= self.always_insert && !self.core.prune;
        self.core.prune || self.always_insert
    }

    /// Deals with the next entry; `None` where there is none.
    pub(super) fn step(&mut self) -> Result<Option<Step>, OverBudget> {
        let Some((queue, entry)) = self.core.open.pop() else { return Ok(None) };
        self.core.figures.pops += 1;
        let node = self.core.nodes.get_mut(entry.state);
        let resumed = node.is(Flag::Closed);
        if resumed && !node.is(Flag::Unfinished) || self.by_cost && entry.g > node.g {
            return Ok(Some(Step::Went));
        }
        if resumed {
            return self.go_on_with(entry, queue).map(Some);
        }
        node.set(Flag::Closed);
        node.parent = entry.parent;
        node.label = entry.label;
        node.g = entry.g;
        node.queue = queue;
        if node.is(Flag::Hit) {
            self.core.look_again(entry.state);
            if let Some(end) = self.core.take_found() {
                return Ok(Some(Step::Ended(end)));
            }
        }
        if let Some(reason) = self.core.must_stop() {
            return Ok(Some(Step::Ended(End::Stopped(reason))));
        }
        self.core.figures.distinct += 1;
        let expanded = self.expand(entry, queue, 0);
        self.core.settle();
        expanded?;
        Ok(Some(self.core.take_found().map_or(Step::Went, Step::Ended)))
    }

    /// Goes on with the successors of a state that was left unfinished.
    fn go_on_with(&mut self, entry: Entry, queue: u32) -> Result<Step, OverBudget> {
        if let Some(reason) = self.core.must_stop() {
            return Ok(Step::Ended(End::Stopped(reason)));
        }
        let from = self.core.nodes.get(entry.state).looked_at();
        let expanded = self.expand(entry, queue, from);
        self.core.forget();
        expanded?;
        Ok(self.core.take_found().map_or(Step::Went, Step::Ended))
    }

    /// Looks at the successors of a state, from this one on; where one is better than the state and not all need be looked
    /// at now, the state waits with the others.
    fn expand(&mut self, entry: Entry, queue: u32, from: usize) -> Result<(), OverBudget> {
        self.core.generate(entry.state);
        self.core.begin_judging(entry.state);
        if self.partial {
            self.core.put_first();
        }
        let here = self.core.nodes.get(entry.state).h;
        let place = self.core.priority(entry.g, here);
        self.core.nodes.get_mut(entry.state).finish();
        for n in from..self.core.successors() {
            let reached = self.follow(n, entry, queue)?;
            let is_better = self.partial && reached.is_some_and(|priority| priority < place);
            if is_better
                && n + 1 < self.core.successors()
                && self.core.nodes.get_mut(entry.state).leave_unfinished(n + 1)
            {
                return self.core.open.push(queue, place, entry);
            }
        }
        Ok(())
    }

    /// Opens the n-th successor where that is called for; its place in the order where it is opened.
    fn follow(&mut self, n: usize, entry: Entry, queue: u32) -> Result<Option<u64>, OverBudget> {
        let (mut early, mut context) = (None, 0);
        if self.core.keeps_context() {
            // The context is part of the successor: it must be known first.
            let label = self.core.label(n);
            let Some(placement) = self.core.place(entry, queue, label, Distance::ZERO) else {
                return Ok(None);
            };
            context = placement.context;
            early = Some(placement);
        }
        let successor = self.core.successor(n, entry.state, entry.g, context)?;
        let Successor { at, label, g, .. } = successor;
        let node = self.core.nodes.get(at);
        let cheaper = self.by_cost && g < node.g;
        if node.is(Flag::Closed) {
            if !cheaper {
                return Ok(None);
            }
            self.core.figures.reopened += 1;
            self.core.figures.distinct -= 1;
            self.core.nodes.get_mut(at).clear(Flag::Closed);
            self.core.nodes.get_mut(at).finish();
            self.core.nodes.get_mut(at).queue = u32::MAX;
        }
        let h = self.core.estimate(at);
        if self.is_left_out(h) {
            return Ok(None);
        }
        let placement = match early {
            Some(placement) => placement,
            None => match self.core.place(entry, queue, label, h) {
                Some(placement) => placement,
                None => return Ok(None),
            },
        };
        let node = self.core.nodes.get(at);
        if !self.always_insert && !cheaper && node.queue <= placement.queue {
            return Ok(None);
        }
        self.insert(Entry { state: at, parent: entry.state, label, g }, h, placement)?;
        Ok(Some(self.core.priority(g, h)))
    }

    fn insert(&mut self, entry: Entry, h: Distance, placement: Placement) -> Result<(), OverBudget> {
        if self.bound < u64::MAX {
            // What seems hopeless without proof comes in the last round.
            let total = if h.is_finite() { u64::from(entry.g) + u64::from(h.0) } else { u64::MAX };
            if total > self.bound {
                self.least_beyond = Some(self.least_beyond.map_or(total, |least| least.min(total)));
                return Ok(());
            }
        }
        let node = self.core.nodes.get_mut(entry.state);
        node.queue = node.queue.min(placement.queue);
        if self.by_cost {
            node.g = node.g.min(entry.g);
        }
        let priority = self.core.priority(entry.g, h);
        self.core.open.push(placement.queue, priority, entry)?;
        if let Some(also) = placement.also {
            self.core.open.push(also, priority, entry)?;
        }
        Ok(())
    }
}
