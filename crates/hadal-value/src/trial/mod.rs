//! Solvers that visit only what good policies need: RTDP and LRTDP, LAO*, AO*, LDFS, and FRET where steps cost nothing. All
//! begin with estimates that are never too high and end with the least cost from the initial state, up to a residual.

mod fret;
mod lao;
mod ldfs;
mod rtdp;

pub use fret::fret;
pub use lao::{ao_star, lao_star};
pub use ldfs::ldfs;
pub use rtdp::{lrtdp, rtdp};

use crate::table::StateNumbers;
use crate::task::{Actions, Kind, Task, backup};

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// No value that the policy needs would change by more.
    pub residual: f64,
    /// The value of a state in which nothing can be done.
    pub dead_end: f64,
    /// It gives up after this many updates of values.
    pub most_updates: u64,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { residual: 1e-4, dead_end: f64::INFINITY, most_updates: u64::MAX }
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The value of the initial state.
    pub value: f64,
    /// States that were made.
    pub states: u64,
    /// Updates of values.
    pub updates: u64,
    /// Whether it ended by itself.
    pub converged: bool,
    /// Whether steps that cost no more than the residual lead in a circle: then nothing keeps values from being too low.
    pub idles: bool,
}

/// After so many updates it is looked whether walks can go round for ever.
const LOOK: u64 = 1 << 14;

/// What steps that cost next to nothing and lead in a circle mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idling {
    /// The end: walks would never leave them.
    Ends,
    /// Nothing: every step costs nothing.
    Allowed,
}

/// The states met so far.
pub(super) struct Envelope<'t> {
    task: &'t dyn Task,
    kind: Kind,
    stop: Stop,
    numbers: StateNumbers,
    /// The node that each state stands in: its own, unless several became one.
    place: Vec<u32>,
    pub nodes: Vec<Node>,
    pub updates: u64,
    /// Whether it was seen that steps that cost next to nothing lead in a circle, and that this matters.
    endless: bool,
    pub idling: Idling,
    scratch: Actions,
}

/// A state that was met.
pub(super) struct Node {
    pub value: f64,
    pub solved: bool,
    pub terminal: bool,
    pub actions: Option<Box<[Act]>>,
}

/// An action of a state.
pub(super) struct Act {
    pub cost: f64,
    pub outcomes: Box<[(u32, f64)]>,
}

impl<'t> Envelope<'t> {
    pub fn new(task: &'t dyn Task, stop: Stop) -> Self {
        let mut this = Envelope {
            task,
            kind: task.kind(),
            stop,
            numbers: StateNumbers::new(1),
            place: Vec::new(),
            nodes: Vec::new(),
            updates: 0,
            endless: false,
            idling: Idling::Ends,
            scratch: Actions::default(),
        };
        this.node(task.initial());
        this
    }

    /// The number of a state, made where it is new. States beyond 2^32 share the last number, which nothing reaches in RAM.
    fn node(&mut self, state: u64) -> u32 {
        let number = self.numbers.number(&[state]).unwrap_or(u32::MAX);
        if number as usize == self.nodes.len() {
            let terminal = self.task.terminal(state);
            let value = terminal.unwrap_or_else(|| self.task.estimate(state).min(self.stop.dead_end));
            // What cannot arrive, by an estimate that is never too high, is not looked into.
            let done = terminal.is_some() || value >= self.stop.dead_end;
            self.nodes.push(Node { value, solved: done, terminal: done, actions: None });
            self.place.push(number);
        }
        self.place.get(number as usize).copied().unwrap_or(number)
    }

    /// Makes the actions of a node; whether they were not there yet.
    pub fn expand(&mut self, at: u32) -> bool {
        if self.nodes[at as usize].terminal || self.nodes[at as usize].actions.is_some() {
            return false;
        }
        let state = self.numbers.state(at as usize)[0];
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        self.task.actions(state, &mut scratch);
        let mut list = Vec::with_capacity(scratch.len());
        for n in 0..scratch.len() {
            let outcomes = scratch.outcomes(n).iter().map(|&(to, p)| (self.node(to), p)).collect();
            list.push(Act { cost: scratch.cost(n), outcomes });
        }
        self.scratch = scratch;
        self.nodes[at as usize].actions = Some(list.into_boxed_slice());
        true
    }

    /// The value of an action.
    pub fn value_of(&self, act: &Act) -> f64 {
        let outcomes = act.outcomes.iter().map(|&(to, p)| (self.nodes[to as usize].value, p));
        backup(self.kind, act.cost, outcomes)
    }

    /// The value of the best action of an expanded node, and which that is.
    pub fn greedy(&self, at: u32) -> (f64, Option<usize>) {
        let node = &self.nodes[at as usize];
        if node.terminal {
            return (node.value, None);
        }
        let mut best = (self.stop.dead_end, None);
        for (n, act) in node.actions.iter().flatten().enumerate() {
            let value = self.value_of(act);
            if value < best.0 {
                best = (value, Some(n));
            }
        }
        best
    }

    /// Gives a node the value of its best action; by how much it changes.
    pub fn update(&mut self, at: u32) -> f64 {
        self.expand(at);
        let (value, _) = self.greedy(at);
        let node = &mut self.nodes[at as usize];
        // Infinity less infinity is no change.
        let change = if value == node.value { 0.0 } else { (value - node.value).abs() };
        node.value = value;
        // Values only grow: nothing is left to find out.
        node.solved |= value >= self.stop.dead_end;
        self.updates += 1;
        if self.updates >= LOOK && self.updates.is_power_of_two() && self.idling == Idling::Ends {
            self.endless = self.idles();
        }
        change
    }

    /// Where the greedy action of a node leads.
    pub fn followed(&self, at: u32) -> Vec<u32> {
        match (self.greedy(at).1, &self.nodes[at as usize].actions) {
            (Some(n), Some(actions)) => actions[n].outcomes.iter().map(|o| o.0).collect(),
            _ => Vec::new(),
        }
    }

    pub fn exhausted(&self) -> bool {
        self.endless || self.updates >= self.stop.most_updates || self.task.failed()
    }

    /// Whether steps that cost no more than the residual lead in a circle.
    fn idles(&self) -> bool {
        let free = |at: usize| {
            let acts = self.nodes[at].actions.iter().flatten().filter(|act| act.cost <= self.stop.residual);
            acts.flat_map(|act| act.outcomes.iter().map(|o| o.0)).collect()
        };
        has_circle(self.nodes.len(), free)
    }

    pub fn found(&self, converged: bool) -> Found {
        Found {
            value: self.nodes[self.place[0] as usize].value,
            states: self.nodes.len() as u64,
            updates: self.updates,
            converged,
            idles: self.idles(),
        }
    }
}

/// Whether the graph of nodes `0..count` with these successors has a circle.
pub(crate) fn has_circle(count: usize, next: impl Fn(usize) -> Vec<u32>) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; count];
    let mut path: Vec<(usize, Vec<u32>)> = Vec::new();
    for root in 0..count {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        path.push((root, next(root)));
        while let Some((at, rest)) = path.last_mut() {
            match rest.pop().map(|to| to as usize) {
                Some(to) => match marks[to] {
                    Mark::Open => return true,
                    Mark::Done => {}
                    Mark::New => {
                        marks[to] = Mark::Open;
                        path.push((to, next(to)));
                    }
                },
                None => {
                    marks[*at] = Mark::Done;
                    path.pop();
                }
            }
        }
    }
    false
}
