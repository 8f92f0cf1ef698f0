//! State spaces written directly in Rust, for tests.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateField, StateSpace, Successors, Worker,
};

use std::collections::HashSet;
use std::sync::Mutex;

const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;
/// The inverse of `SCRAMBLE` modulo 2^64.
const UNSCRAMBLE: u64 = 0xf1de83e19937733d;

fn scramble(word: u64) -> u64 {
    let once = word.wrapping_mul(SCRAMBLE);
    let twice = (once ^ once >> 32).wrapping_mul(SCRAMBLE);
    twice ^ twice >> 32
}

fn unscramble(word: u64) -> u64 {
    let once = (word ^ word >> 32).wrapping_mul(UNSCRAMBLE);
    (once ^ once >> 32).wrapping_mul(UNSCRAMBLE)
}

/// A random graph that goes one way: two arcs out of each state. It remembers which states were expanded.
pub struct Wild {
    states: u64,
    seed: u64,
    expanded: Mutex<HashSet<u64>>,
}

impl Wild {
    pub fn new(states: u64, seed: u64) -> Self {
        Wild { states, seed, expanded: Mutex::default() }
    }

    pub fn forget_seen(&self) {
        self.expanded.lock().unwrap().clear();
    }

    /// How many states were expanded since.
    pub fn seen(&self) -> u64 {
        self.expanded.lock().unwrap().len() as u64
    }
}

impl StateSpace for Wild {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        scramble(self.seed) ^ self.states
    }
    fn properties(&self) -> &[PropertyInfo] {
        &[]
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Wanderer(self))
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("n".into(), state[0].to_string())]
    }
}

struct Wanderer<'a>(&'a Wild);

impl Worker for Wanderer<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        self.0.expanded.lock().unwrap().insert(state[0]);
        for arc in 0..2 {
            out.push(
                Label(arc),
                &[scramble(self.0.seed << 32 ^ state[0] << 1 ^ u64::from(arc)) % self.0.states],
            );
        }
    }
    fn check(&mut self, _: &[u64]) -> Check {
        Check::Fine
    }
}

/// Points of a grid; each step moves one coordinate by one.
pub struct Grid {
    dimensions: usize,
    side: u64,
    wraps: bool,
    one_way_round: bool,
    scrambled: bool,
    padding: u64,
    fields: Vec<StateField>,
    properties: Vec<PropertyInfo>,
    predicate: fn(&[u64]) -> bool,
}

impl Grid {
    /// Moves both ways and wraps around.
    pub fn torus(dimensions: usize, side: u64) -> Self {
        Grid {
            dimensions,
            side,
            wraps: true,
            one_way_round: false,
            scrambled: false,
            padding: 0,
            fields: Vec::new(),
            properties: Vec::new(),
            predicate: |_| true,
        }
    }

    /// Moves up only, and stops at the far side.
    pub fn one_way(dimensions: usize, side: u64) -> Self {
        Grid { wraps: false, ..Grid::torus(dimensions, side) }
    }

    /// Moves up only and wraps around: each coordinate is a cycle that goes one way.
    pub fn cycles(dimensions: usize, side: u64) -> Self {
        Grid { one_way_round: true, ..Grid::torus(dimensions, side) }
    }

    /// Whether every step can be taken back by one.
    pub fn is_undirected(&self) -> bool {
        self.wraps && !self.one_way_round
    }

    /// Stores each word mixed by a bijection: the same graph, without any structure in its states.
    pub fn scrambled(mut self) -> Self {
        self.scrambled = true;
        self
    }

    /// Appends so many words to each state, which follow from the others: the same graph with wide states.
    pub fn padded(mut self, words: u64) -> Self {
        self.padding = words;
        self
    }

    /// Names the scalars of its states: the coordinates, or halves of scrambled words.
    pub fn with_fields(mut self) -> Self {
        let field =
            |n: u32| StateField { name: format!("x{n}"), offset: 32 * n, width: 32, group: n, owner: None };
        self.fields = (0..self.dimensions.next_multiple_of(2) as u32).map(field).collect();
        self
    }

    /// Asks one question.
    pub fn with(mut self, kind: PropertyKind, predicate: fn(&[u64]) -> bool) -> Self {
        self.properties.push(PropertyInfo { name: "point".into(), kind, span: Span::default() });
        self.predicate = predicate;
        self
    }

    /// Two coordinates to a word.
    pub fn pack(&self, point: &[u64]) -> Vec<u64> {
        let words = point.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 32);
        let mut state: Vec<u64> =
            words.map(|word| if self.scrambled { scramble(word) } else { word }).collect();
        let all = state.iter().fold(0, |mixed: u64, word| mixed.rotate_left(7) ^ word);
        state.extend((1..=self.padding).map(|n| scramble(all ^ n << 56) % 1000));
        state
    }

    fn unpack(&self, state: &[u64]) -> Vec<u64> {
        let word = |n: usize| if self.scrambled { unscramble(state[n]) } else { state[n] };
        (0..self.dimensions).map(|d| word(d / 2) >> (32 * (d % 2)) & 0xFFFF_FFFF).collect()
    }

    pub fn assert_connected(&self, path: &[Vec<u64>]) {
        assert_eq!(path[0], self.pack(&vec![0; self.dimensions]));
        for pair in path.windows(2) {
            let mut out = Successors::new(self.words());
            self.worker().successors(&pair[0], &mut out);
            assert!(out.iter().any(|(_, state)| state == pair[1]), "a step of the path is not a transition");
        }
    }
}

impl StateSpace for Grid {
    fn words(&self) -> usize {
        self.dimensions.div_ceil(2) + self.padding as usize
    }
    fn fields(&self) -> &[StateField] {
        &self.fields
    }
    fn fingerprint(&self) -> u64 {
        self.padding << 32 | self.side << 8 | self.dimensions as u64
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(GridWorker { grid: self })
    }
    fn may_fault(&self) -> bool {
        false
    }
    fn render_label(&self, label: Label) -> String {
        format!("move {}", label.0)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.unpack(state).iter().enumerate().map(|(n, x)| (format!("x{n}"), x.to_string())).collect()
    }
}

struct GridWorker<'a> {
    grid: &'a Grid,
}

impl Worker for GridWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &self.grid.pack(&vec![0; self.grid.dimensions]));
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let side = self.grid.side;
        let point = self.grid.unpack(state);
        for d in 0..point.len() {
            let mut next = point.clone();
            if self.grid.wraps {
                let ways = if self.grid.one_way_round { 1 } else { 2 };
                for (direction, step) in [1, side - 1].into_iter().take(ways).enumerate() {
                    next[d] = (point[d] + step) % side;
                    out.push(Label((2 * d + direction) as u32), &self.grid.pack(&next));
                }
            } else if point[d] + 1 < side {
                next[d] = point[d] + 1;
                out.push(Label(d as u32), &self.grid.pack(&next));
            }
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match self.grid.properties.first() {
            Some(p)
                if p.kind == PropertyKind::Invariant && !(self.grid.predicate)(&self.grid.unpack(state)) =>
            {
                Check::Hit(PropertyId(0))
            }
            _ => Check::Fine,
        }
    }

    fn satisfies(&mut self, state: &[u64], _: PropertyId) -> Option<bool> {
        Some((self.grid.predicate)(&self.grid.unpack(state)))
    }
}

/// A graph drawn from a seed: from each vertex a step to the next, and some to anywhere.
pub struct RandomGraph {
    seed: u64,
    vertices: u64,
}

impl RandomGraph {
    pub fn new(seed: u64, vertices: u64) -> Self {
        RandomGraph { seed, vertices }
    }

    fn targets(&self, vertex: u64) -> Vec<u64> {
        let draw = |n: u64| scramble(vertex ^ self.seed << 40 ^ n << 56);
        let jumps = draw(0) % 3;
        let near = (vertex + 1) % self.vertices;
        // Mostly short jumps back and forth, sometimes far ones.
        let jump = |n: u64| match draw(2 * n + 1) % 8 {
            0 => draw(2 * n + 2) % self.vertices,
            _ => (vertex + self.vertices - 20 + draw(2 * n + 2) % 41) % self.vertices,
        };
        let stuck = self.seed.is_multiple_of(3) && vertex == self.vertices / 2;
        if stuck { Vec::new() } else { (0..jumps).map(jump).chain([near]).collect() }
    }
}

impl StateSpace for RandomGraph {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        self.seed << 32 | self.vertices
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(RandomWorker { graph: self })
    }
    fn may_fault(&self) -> bool {
        false
    }
    fn render_label(&self, label: Label) -> String {
        format!("edge {}", label.0)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("vertex".into(), unscramble(state[0]).to_string())]
    }
}

struct RandomWorker<'a> {
    graph: &'a RandomGraph,
}

impl Worker for RandomWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[scramble(0)]);
        out.push(Label(1), &[scramble(self.graph.vertices / 3)]);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for (n, target) in self.graph.targets(unscramble(state[0])).into_iter().enumerate() {
            out.push(Label(n as u32), &[scramble(target)]);
        }
    }
}
