//! The cheapest run: branch and bound over priced zones (thesis of Jabbar 2008, ch. 8, with its errata).
//!
//! States whose cost is not below the best known are left out, and states that a stored one dominates pointwise. Orders:
//! best first by infimum, breadth first, depth first, and iterative broadening, which expands a share of each layer first
//! and widens; for each cost a layer then takes all states or none, so that what was found is never lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use hadal_system::Label;

use super::space::{Made, Priced, PricedError, PricedSpace, PricedWorker};
use super::symmetry::Turn;

/// In which order states are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// By least cost.
    Best,
    /// Layer by layer.
    Breadth,
    /// Deepest first.
    Depth,
    /// Layer by layer, a share of each in percent; the last is 100.
    Broadening(Vec<u32>),
}

/// When to give up.
#[derive(Clone, Copy, Debug, Default)]
pub struct PricedLimits {
    /// Bytes of states.
    pub memory: u64,
    /// Seconds.
    pub seconds: Option<f64>,
}

/// One pass of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// The share of each layer in percent.
    pub coverage: u32,
    /// The bound it began with.
    pub bound: Option<i64>,
    /// The best cost known after it.
    pub cost: Option<i64>,
    /// States expanded.
    pub expanded: u64,
    /// States generated.
    pub generated: u64,
}

/// A run that reaches the goal.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its cost.
    pub cost: i64,
    /// Its labels, the start first.
    pub labels: Vec<Label>,
    /// The discrete states it goes through.
    pub states: Vec<Vec<u64>>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The cheapest run, where one was found.
    pub best: Option<Found>,
    /// Whether nothing cheaper exists (or nothing at all).
    pub complete: bool,
    /// Whether it ended because memory was used up.
    pub out_of_memory: bool,
    /// What was done.
    pub passes: Vec<Pass>,
    /// The most states stored at once.
    pub stored: u64,
}

/// Looks for a cheapest run of at most `bound`, where one is given.
pub fn search(
    space: &PricedSpace,
    order: &Order,
    bound: Option<i64>,
    limits: PricedLimits,
) -> Result<Answer, PricedError> {
    let mut search = Search {
        space,
        worker: PricedWorker::new(space),
        limits,
        begun: std::time::Instant::now(),
        best: None,
        // A bound without a run is inclusive.
        below: bound.map(|bound| bound.saturating_add(1)),
        passes: Vec::new(),
        stored: 0,
        out_of_memory: false,
    };
    let complete = match order {
        Order::Broadening(schedule) => {
            let mut admitted = Vec::new();
            let mut complete = false;
            for &coverage in schedule {
                complete = search.layers(coverage, &mut admitted)?;
                if !complete {
                    break;
                }
            }
            complete && schedule.last() == Some(&100)
        }
        Order::Breadth => search.layers(100, &mut Vec::new())?,
        Order::Best | Order::Depth => search.ordered(*order == Order::Depth)?,
    };
    let Search { best, out_of_memory, passes, stored, .. } = search;
    Ok(Answer { best, complete, out_of_memory, passes, stored })
}

struct Search<'s> {
    space: &'s PricedSpace,
    worker: PricedWorker<'s>,
    limits: PricedLimits,
    begun: std::time::Instant,
    best: Option<Found>,
    /// Only costs below this matter.
    below: Option<i64>,
    passes: Vec<Pass>,
    stored: u64,
    out_of_memory: bool,
}

/// A stored state and how it was reached.
struct Node {
    priced: Priced,
    least: i64,
    parent: usize,
    label: Label,
    turn: Turn,
    /// Whether a later state dominates it.
    dominated: bool,
}

const NO_PARENT: usize = usize::MAX;

/// All stored states.
#[derive(Default)]
struct Store {
    nodes: Vec<Node>,
    by_state: HashMap<Vec<u64>, Vec<usize>>,
}

impl Store {
    /// Stores a state unless one that is stored dominates it.
    fn add(&mut self, node: Node) -> Option<usize> {
        let at = self.nodes.len();
        let group = self.by_state.entry(node.priced.state.clone()).or_default();
        if group.iter().any(|&other| node.priced.zone.is_dominated_by(&self.nodes[other].priced.zone)) {
            return None;
        }
        let nodes = &mut self.nodes;
        group.retain(|&other| {
            let dominated = nodes[other].priced.zone.is_dominated_by(&node.priced.zone);
            nodes[other].dominated |= dominated;
            !dominated
        });
        group.push(at);
        self.nodes.push(node);
        Some(at)
    }
}

impl Search<'_> {
    fn is_cheap(&self, cost: i64) -> bool {
        self.below.is_none_or(|below| cost < below)
    }

    /// Whether memory or time is used up.
    fn must_stop(&mut self, store: &Store) -> bool {
        let size = self.space.zones.zones.size;
        let words = self.space.zones.model.system().slot_count() / 8 + 8;
        let bytes = (store.nodes.len() * (4 * size * size + 8 * size + 16 * words + 160)) as u64;
        let late = |seconds: f64| self.begun.elapsed().as_secs_f64() > seconds;
        self.out_of_memory = self.limits.memory > 0 && bytes > self.limits.memory;
        self.out_of_memory || self.limits.seconds.is_some_and(late)
    }

    /// Notes a state that meets the goal more cheaply than what is known.
    fn look_at(&mut self, store: &Store, at: usize) {
        let Some(cost) = self.worker.goal_cost(&store.nodes[at].priced) else { return };
        if !self.is_cheap(cost) {
            return;
        }
        let (mut labels, mut states, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = at;
        while next != NO_PARENT {
            labels.push(store.nodes[next].label);
            states.push(store.nodes[next].priced.state.clone());
            turns.push(store.nodes[next].turn.clone());
            next = store.nodes[next].parent;
        }
        labels.reverse();
        states.reverse();
        turns.reverse();
        if let Some(symmetry) = &self.space.symmetry {
            symmetry.turn_back(&self.space.zones, &mut labels, &mut states, &turns);
        }
        self.below = Some(cost);
        self.best = Some(Found { cost, labels, states });
    }

    /// Stores what is cheap and not dominated, and looks for the goal; the numbers of what is new.
    fn take(&mut self, store: &mut Store, made: Vec<Made>, parent: usize) -> Result<Vec<usize>, PricedError> {
        let mut new = Vec::new();
        for Made { label, priced, turn } in made {
            let least = priced.zone.infimum().ok_or(PricedError::Negative)?;
            if !self.is_cheap(least) {
                continue;
            }
            if let Some(at) = store.add(Node { priced, least, parent, label, turn, dominated: false }) {
                self.look_at(store, at);
                new.push(at);
            }
        }
        self.stored = self.stored.max(store.nodes.len() as u64);
        Ok(new)
    }

    /// The new successors of a state that still matters; `None` where the search must stop.
    fn expand(
        &mut self,
        pass: &mut Pass,
        store: &mut Store,
        at: usize,
    ) -> Result<Option<Vec<usize>>, PricedError> {
        if store.nodes[at].dominated || !self.is_cheap(store.nodes[at].least) {
            return Ok(Some(Vec::new()));
        }
        if pass.expanded.is_multiple_of(256) && self.must_stop(store) {
            return Ok(None);
        }
        let from = store.nodes[at].priced.clone();
        let made = self.worker.successors(&from)?;
        pass.expanded += 1;
        pass.generated += made.len() as u64;
        self.take(store, made, at).map(Some)
    }

    fn pass(&self, coverage: u32) -> Pass {
        Pass { coverage, bound: self.below, cost: None, expanded: 0, generated: 0 }
    }

    fn end_pass(&mut self, mut pass: Pass) {
        pass.cost = self.best.as_ref().map(|best| best.cost);
        self.passes.push(pass);
    }

    /// One pass layer by layer, in which each layer keeps a share; whether it was not stopped.
    fn layers(&mut self, coverage: u32, admitted: &mut Vec<i64>) -> Result<bool, PricedError> {
        let mut pass = self.pass(coverage);
        let mut store = Store::default();
        let initial = self.worker.initial()?;
        let mut layer = self.take(&mut store, initial, NO_PARENT)?;
        let mut depth = 0;
        while !layer.is_empty() {
            layer.retain(|&at| !store.nodes[at].dominated && self.is_cheap(store.nodes[at].least));
            if layer.is_empty() {
                break;
            }
            // The best states, all of the same cost as the last of them, and all as cheap as were admitted before.
            let mut costs: Vec<i64> = layer.iter().map(|&at| store.nodes[at].least).collect();
            costs.sort_unstable();
            let share = (costs.len() * coverage as usize / 100).clamp(1, costs.len());
            if admitted.len() <= depth {
                admitted.push(i64::MIN);
            }
            admitted[depth] = admitted[depth].max(costs[share - 1]);
            layer.retain(|&at| store.nodes[at].least <= admitted[depth]);
            layer.sort_by_key(|&at| store.nodes[at].least);
            let mut next = Vec::new();
            for at in layer {
                let Some(new) = self.expand(&mut pass, &mut store, at)? else {
                    self.end_pass(pass);
                    return Ok(false);
                };
                next.extend(new);
            }
            layer = next;
            depth += 1;
        }
        self.end_pass(pass);
        Ok(true)
    }

    /// Best or depth first; whether it was not stopped.
    fn ordered(&mut self, deepest: bool) -> Result<bool, PricedError> {
        let mut pass = self.pass(100);
        let mut store = Store::default();
        let mut open: BinaryHeap<Reverse<(i64, i64, usize)>> = BinaryHeap::new();
        let rank = |store: &Store, depth: i64, at: usize| match deepest {
            true => Reverse((-depth, store.nodes[at].least, at)),
            false => Reverse((store.nodes[at].least, -depth, at)),
        };
        let initial = self.worker.initial()?;
        for at in self.take(&mut store, initial, NO_PARENT)? {
            open.push(rank(&store, 0, at));
        }
        while let Some(Reverse((first, second, at))) = open.pop() {
            let depth = if deepest { -first } else { -second };
            let Some(new) = self.expand(&mut pass, &mut store, at)? else {
                self.end_pass(pass);
                return Ok(false);
            };
            for new in new {
                open.push(rank(&store, depth + 1, new));
            }
        }
        self.end_pass(pass);
        Ok(true)
    }
}
