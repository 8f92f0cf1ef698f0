//! Drawn graphs whose distances are known, and guides that say what they are told to about them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A graph given edge by edge; a label is the number of an edge.
pub struct Graph {
    words: usize,
    edges: Vec<Vec<(usize, Label)>>,
    costs: Vec<u32>,
    starts: Vec<usize>,
    goals: Vec<bool>,
    /// The state of each vertex, and the way back.
    packed: Vec<Vec<u64>>,
    vertices: HashMap<Vec<u64>, usize>,
    /// The largest cost, where every step can be taken back at the same one.
    pub both_ways: Option<u32>,
    properties: Vec<PropertyInfo>,
}

impl Graph {
    pub fn new(vertices: usize, words: usize, starts: Vec<usize>, goals: &[usize]) -> Self {
        let goal = PropertyInfo { name: "goal".into(), kind: PropertyKind::Goal, span: Span::default() };
        let pack = |vertex: usize| {
            let word = |word: u64| (vertex as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ word << 1);
            (0..words as u64).map(word).collect::<Vec<u64>>()
        };
        let packed: Vec<Vec<u64>> = (0..vertices).map(pack).collect();
        Graph {
            words,
            edges: vec![Vec::new(); vertices],
            costs: Vec::new(),
            starts,
            goals: (0..vertices).map(|vertex| goals.contains(&vertex)).collect(),
            vertices: packed.iter().cloned().zip(0..).collect(),
            packed,
            both_ways: None,
            properties: vec![goal],
        }
    }

    /// Edges between any two vertices, with some initial states and goals.
    pub fn wide(noise: &mut Random, both_ways: bool) -> Self {
        let vertices = 20 + noise.below(150) as usize;
        let starts = (0..1 + noise.below(3)).map(|_| noise.below(vertices as u64) as usize).collect();
        let goals: Vec<usize> = (0..noise.below(3)).map(|_| noise.below(vertices as u64) as usize).collect();
        let mut graph = Graph::new(vertices, 1 + noise.below(3) as usize, starts, &goals);
        let most = 1 + noise.below(8) as u32;
        for _ in 0..vertices * 2 {
            let (from, to) = (noise.below(vertices as u64) as usize, noise.below(vertices as u64) as usize);
            let cost = 1 + noise.below(u64::from(most)) as u32;
            graph.edge(from, to, cost);
            if both_ways {
                graph.edge(to, from, cost);
            }
        }
        graph.both_ways = both_ways.then_some(most);
        graph
    }

    /// Edges mostly to near vertices, so that paths are long; it begins at vertex 0.
    pub fn long(seed: u64, vertices: u64, costs: u64) -> Self {
        let mut noise = Random::new(seed);
        let goals: Vec<usize> = (0..noise.below(3)).map(|_| noise.below(vertices) as usize).collect();
        let mut graph = Graph::new(vertices as usize, 1, vec![0], &goals);
        for from in 0..vertices {
            for _ in 0..noise.below(4) {
                let to = (from + vertices - 3 + noise.below(9)) % vertices;
                graph.edge(from as usize, to as usize, 1 + noise.below(costs) as u32);
            }
        }
        graph
    }

    pub fn edge(&mut self, from: usize, to: usize, cost: u32) {
        self.edges[from].push((to, Label(self.costs.len() as u32)));
        self.costs.push(cost);
    }

    pub fn vertices(&self) -> usize {
        self.edges.len()
    }

    pub fn is_goal(&self, state: &[u64]) -> bool {
        self.goals[self.vertices[state]]
    }

    pub fn has_unit_costs(&self) -> bool {
        self.costs.iter().all(|&cost| cost == 1)
    }

    /// Least costs from some vertices, along or against the edges.
    fn distances(&self, from: impl Iterator<Item = usize>, backwards: bool) -> Vec<Option<u64>> {
        let mut graph = vec![Vec::new(); self.edges.len()];
        for (a, edges) in self.edges.iter().enumerate() {
            for &(b, label) in edges {
                let (a, b) = if backwards { (b, a) } else { (a, b) };
                graph[a].push((b, u64::from(self.costs[label.0 as usize])));
            }
        }
        let mut best = vec![None; self.edges.len()];
        let mut queue: BinaryHeap<_> = from.map(|vertex| Reverse((0, vertex))).collect();
        while let Some(Reverse((cost, vertex))) = queue.pop() {
            if best[vertex].is_none() {
                best[vertex] = Some(cost);
                queue.extend(graph[vertex].iter().map(|&(next, step)| Reverse((cost + step, next))));
            }
        }
        best
    }

    /// The least cost from each vertex to a goal.
    pub fn distances_to_goals(&self) -> Vec<Option<u64>> {
        let goals = (0..self.vertices()).filter(|&vertex| self.goals[vertex]);
        self.distances(goals, true)
    }

    /// The least cost of a path from a start to a goal.
    pub fn least_cost(&self) -> Option<u64> {
        let distances = self.distances_to_goals();
        self.starts.iter().filter_map(|&start| distances[start]).min()
    }

    /// The cheapest way from state to state along the path, which must begin at a start.
    pub fn cost_of(&self, path: &[Vec<u64>]) -> u64 {
        assert!(self.starts.contains(&self.vertices[&path[0]]), "the path begins at an initial state");
        let step = |pair: &[Vec<u64>]| {
            let (from, to) = (self.vertices[&pair[0]], self.vertices[&pair[1]]);
            let between = self.edges[from].iter().filter(|edge| edge.0 == to);
            let costs = between.map(|edge| u64::from(self.costs[edge.1.0 as usize]));
            costs.min().expect("the path follows edges")
        };
        path.windows(2).map(step).sum()
    }
}

impl StateSpace for Graph {
    fn words(&self) -> usize {
        self.words
    }
    fn fingerprint(&self) -> u64 {
        self.edges.len() as u64
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Walker(self))
    }
    fn cost(&self, label: Label) -> u32 {
        self.costs[label.0 as usize]
    }
    fn undirected(&self) -> Option<u32> {
        self.both_ways
    }
    fn may_fault(&self) -> bool {
        false
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("vertex".into(), self.vertices[state].to_string())]
    }
}

struct Walker<'a>(&'a Graph);

impl Worker for Walker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        for (n, &start) in self.0.starts.iter().enumerate() {
            out.push(Label(n as u32), &self.0.packed[start]);
        }
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for &(to, label) in &self.0.edges[self.0.vertices[state]] {
            out.push(label, &self.0.packed[to]);
        }
    }
    fn check(&mut self, state: &[u64]) -> Check {
        if self.0.is_goal(state) { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
}

/// Estimates vertex by vertex.
pub struct Estimates<'g> {
    graph: &'g Graph,
    estimates: Vec<Distance>,
    promises: Promises,
}

/// What is known of estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Consistent,
    /// Safe too, and as inconsistent as that allows.
    Admissible,
    /// 0 at goals, otherwise anything.
    Wrong,
    /// Anything, infinity included.
    Wild,
}

impl<'g> Estimates<'g> {
    pub fn new(graph: &'g Graph, kind: Kind, noise: &mut Random) -> Self {
        Estimates::of(graph, &graph.distances_to_goals(), kind, noise)
    }

    /// Estimates of other distances than the true ones.
    pub fn of(graph: &'g Graph, distances: &[Option<u64>], kind: Kind, noise: &mut Random) -> Self {
        let estimate = |&distance: &Option<u64>| match (distance, kind) {
            (_, Kind::Wild) if noise.below(3) == 0 => Distance::INFINITE,
            (None, Kind::Wrong) | (_, Kind::Wild) => Distance(noise.below(20) as u32),
            (None, Kind::Admissible) if noise.below(2) == 0 => Distance(noise.below(50) as u32),
            (None, _) => Distance::INFINITE,
            (Some(distance), Kind::Consistent) => Distance(distance as u32 / 2),
            (Some(distance), Kind::Admissible) => Distance(noise.below(distance + 1) as u32),
            (Some(0), Kind::Wrong) => Distance(0),
            (Some(distance), Kind::Wrong) => Distance(noise.below(3 * distance + 5) as u32),
        };
        let proves = matches!(kind, Kind::Consistent | Kind::Admissible);
        let promises = Promises {
            admissible: proves,
            consistent: kind == Kind::Consistent,
            safe: proves,
            monotone: proves,
        };
        Estimates { graph, estimates: distances.iter().map(estimate).collect(), promises }
    }
}

impl Guide for Estimates<'_> {
    fn name(&self) -> String {
        "table".into()
    }
    fn promises(&self) -> Promises {
        self.promises
    }
    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Lookup(self))
    }
}

struct Lookup<'a>(&'a Estimates<'a>);

impl Estimator for Lookup<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        self.0.estimates[self.0.graph.vertices[state]]
    }
}
