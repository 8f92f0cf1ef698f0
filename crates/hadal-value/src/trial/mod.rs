//! Solvers that visit only what good policies need: RTDP and LRTDP, LAO*, AO*, LDFS. All begin with estimates that are
//! never too high and end with the least cost from the initial state, up to a residual.

mod lao;
mod ldfs;
mod rtdp;

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
        Stop { residual: 1e-4, dead_end: 1e9, most_updates: u64::MAX }
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
}

/// The states met so far.
pub(super) struct Envelope<'t> {
    task: &'t dyn Task,
    kind: Kind,
    stop: Stop,
    numbers: StateNumbers,
    pub nodes: Vec<Node>,
    pub updates: u64,
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
            nodes: Vec::new(),
            updates: 0,
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
            self.nodes.push(Node {
                value: terminal.unwrap_or_else(|| self.task.estimate(state)),
                solved: terminal.is_some(),
                terminal: terminal.is_some(),
                actions: None,
            });
        }
        number
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
        let change = (value - self.nodes[at as usize].value).abs();
        self.nodes[at as usize].value = value;
        self.updates += 1;
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
        self.updates >= self.stop.most_updates
    }

    pub fn found(&self, converged: bool) -> Found {
        Found {
            value: self.nodes[0].value,
            states: self.nodes.len() as u64,
            updates: self.updates,
            converged,
        }
    }
}
