//! How a part of the state that depends on nothing else moves by itself.

use hadal_exec::{Interpreter, Outcome};
use hadal_system::state::{get_bits, set_bits};
use hadal_system::{Label, Layout, System};
use std::collections::{HashMap, VecDeque};

/// Parts with more states than this are left alone.
const MAX_STATES: usize = 4096;

/// The states of a part, and the transitions between them.
#[derive(Clone, Debug)]
pub(super) struct LocalGraph {
    /// Offset and width of each scalar of the part.
    fields: Vec<(u32, u32)>,
    /// The codes of the scalars in each state.
    pub(super) states: Vec<Vec<u64>>,
    numbers: HashMap<Vec<u64>, usize>,
    /// From each state, labels and where they lead.
    edges: Vec<Vec<(Label, usize)>>,
}

impl LocalGraph {
    /// Explores the part of these slots by these labels from the initial states of the system; `None` where it has too
    /// many states or meets anything but a state.
    pub(super) fn explore(
        system: &System,
        layout: &Layout,
        slots: &[usize],
        labels: &[Label],
    ) -> Option<Self> {
        let fields =
            slots.iter().map(|&slot| (layout.slots()[slot].offset, layout.slots()[slot].width)).collect();
        let mut graph = LocalGraph { fields, states: Vec::new(), numbers: HashMap::new(), edges: Vec::new() };
        let interpreter = Interpreter::new(system, layout);
        let starts = system.label_bases(&system.starts).last().copied().unwrap_or(0);
        let mut open = VecDeque::new();
        for label in 0..starts as u32 {
            if let Outcome::Reached(state) = interpreter.start(Label(label)) {
                let known = graph.states.len();
                graph.number(&state);
                if graph.states.len() > known {
                    open.push_back(state);
                }
            }
        }
        while let Some(state) = open.pop_front() {
            let from = graph.number(&state);
            for &label in labels {
                match interpreter.fire(&state, label) {
                    Outcome::Reached(next) => {
                        let known = graph.states.len();
                        let to = graph.number(&next);
                        graph.edges[from].push((label, to));
                        if graph.states.len() > known {
                            open.push_back(next);
                        }
                    }
                    Outcome::Disabled => {}
                    Outcome::Dropped | Outcome::Fault(_) => return None,
                }
            }
            if graph.states.len() > MAX_STATES {
                return None;
            }
        }
        Some(graph)
    }

    /// The number of the part's state within a state.
    fn number(&mut self, state: &[u64]) -> usize {
        let codes = self.codes(state);
        let next = self.states.len();
        let number = *self.numbers.entry(codes.clone()).or_insert(next);
        if number == next {
            self.states.push(codes);
            self.edges.push(Vec::new());
        }
        number
    }

    fn codes(&self, state: &[u64]) -> Vec<u64> {
        self.fields.iter().map(|&(offset, width)| get_bits(state, offset, width)).collect()
    }

    /// The number of the part's state within a state, where it is one of the explored ones.
    pub(super) fn find(&self, state: &[u64]) -> Option<usize> {
        self.numbers.get(&self.codes(state)).copied()
    }

    /// Gives the part of `state` the codes of a state of the part.
    pub(super) fn place(&self, number: usize, state: &mut [u64]) {
        for (&(offset, width), &code) in self.fields.iter().zip(&self.states[number]) {
            set_bits(state, offset, width, code);
        }
    }

    /// Whether every state can be reached from every other.
    pub(super) fn is_strongly_connected(&self) -> bool {
        let mut back = vec![Vec::new(); self.states.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&(_, to)| back[to].push(from));
        }
        let forward: Vec<Vec<usize>> =
            self.edges.iter().map(|edges| edges.iter().map(|&(_, to)| to).collect()).collect();
        reaches_all(&forward) && reaches_all(&back)
    }

    /// The labels of a shortest way from a state to the nearest one that is `wanted`, and that one.
    pub(super) fn way(
        &self,
        from: usize,
        mut wanted: impl FnMut(usize) -> bool,
    ) -> Option<(Vec<Label>, usize)> {
        let mut came: Vec<Option<(usize, Label)>> = vec![None; self.states.len()];
        let mut open = VecDeque::from([from]);
        while let Some(state) = open.pop_front() {
            if wanted(state) {
                let (mut labels, mut at) = (Vec::new(), state);
                while let Some((before, label)) = came[at].filter(|_| at != from) {
                    labels.push(label);
                    at = before;
                }
                labels.reverse();
                return Some((labels, state));
            }
            for &(label, to) in &self.edges[state] {
                if to != from && came[to].is_none() {
                    came[to] = Some((state, label));
                    open.push_back(to);
                }
            }
        }
        None
    }
}

/// Whether all nodes are reached from the first.
fn reaches_all(next: &[Vec<usize>]) -> bool {
    let mut seen = vec![false; next.len()];
    let mut open: Vec<usize> = (!next.is_empty()).then_some(0).into_iter().collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            open.extend(&next[node]);
        }
    }
    seen.into_iter().all(|s| s)
}
