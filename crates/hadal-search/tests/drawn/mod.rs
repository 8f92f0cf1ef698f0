//! Drawn graphs whose distances are known, and guides that say what they are told to about them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::{
    Check, CostRange, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// How edges are labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Each has its own, so a label has one cost.
    Distinct,
    /// By their number among those of their vertex, so the cost of a label depends on the state.
    Shared,
}

/// Ways to draw costs: many that are nothing, some in the millions, and both.
pub const PRICES: [fn(&mut Random) -> u32; 3] = [
    |noise| noise.below(3) as u32,
    |noise| noise.below(1_000_001) as u32,
    |noise| if noise.below(4) > 0 { 0 } else { 1 + noise.below(1_000_000) as u32 },
];

/// A graph given edge by edge.
pub struct Graph {
    words: usize,
    edges: Vec<Vec<Edge>>,
    labels: Labels,
    count: u32,
    starts: Vec<usize>,
    goals: Vec<bool>,
    /// The state of each vertex, and the way back.
    packed: Vec<Vec<u64>>,
    vertices: HashMap<Vec<u64>, usize>,
    /// The largest cost, where every step can be taken back at the same one.
    pub both_ways: Option<u32>,
    properties: Vec<PropertyInfo>,
}

#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    label: Label,
    cost: u32,
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
            labels: Labels::Distinct,
            count: 0,
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
        let most = 1 + noise.below(8);
        let price = move |noise: &mut Random| 1 + noise.below(most) as u32;
        let mut graph = Graph::priced(noise, both_ways, Labels::Distinct, price);
        graph.both_ways = both_ways.then_some(most as u32);
        graph
    }

    /// The same with costs as drawn by `price`.
    pub fn priced(
        noise: &mut Random,
        both_ways: bool,
        labels: Labels,
        price: impl Fn(&mut Random) -> u32,
    ) -> Self {
        let vertices = 20 + noise.below(150) as usize;
        let starts = (0..1 + noise.below(3)).map(|_| noise.below(vertices as u64) as usize).collect();
        let goals: Vec<usize> = (0..noise.below(3)).map(|_| noise.below(vertices as u64) as usize).collect();
        let mut graph = Graph::new(vertices, 1 + noise.below(3) as usize, starts, &goals);
        graph.labels = labels;
        let mut most = 0;
        for _ in 0..vertices * 2 {
            let (from, to) = (noise.below(vertices as u64) as usize, noise.below(vertices as u64) as usize);
            let cost = price(noise);
            most = cost.max(most);
            graph.edge(from, to, cost);
            if both_ways {
                graph.edge(to, from, cost);
            }
        }
        graph.both_ways = both_ways.then_some(most);
        graph
    }

    /// A square of vertices with edges to the neighbours, from the first corner to the last.
    pub fn square(side: usize, noise: &mut Random, price: impl Fn(&mut Random) -> u32) -> Self {
        let mut graph = Graph::new(side * side, 1, vec![0], &[side * side - 1]);
        graph.labels = Labels::Shared;
        for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
            let near = [(x + 1, y), (x, y + 1), (x.wrapping_sub(1), y), (x, y.wrapping_sub(1))];
            for (to_x, to_y) in near.into_iter().filter(|&(x, y)| x < side && y < side) {
                graph.edge(x * side + y, to_x * side + to_y, price(noise));
            }
        }
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
        let label = match self.labels {
            Labels::Distinct => self.count,
            Labels::Shared => self.edges[from].len() as u32,
        };
        self.count += 1;
        self.edges[from].push(Edge { to, label: Label(label), cost });
    }

    fn costs_of_edges(&self) -> impl Iterator<Item = u32> {
        self.edges.iter().flatten().map(|edge| edge.cost)
    }

    pub fn vertices(&self) -> usize {
        self.edges.len()
    }

    pub fn is_goal(&self, state: &[u64]) -> bool {
        self.goals[self.vertices[state]]
    }

    pub fn has_unit_costs(&self) -> bool {
        self.costs_of_edges().all(|cost| cost == 1)
    }

    /// Least costs from some vertices, along or against the edges.
    fn distances(&self, from: impl Iterator<Item = usize>, backwards: bool) -> Vec<Option<u64>> {
        let mut graph = vec![Vec::new(); self.edges.len()];
        for (a, edges) in self.edges.iter().enumerate() {
            for edge in edges {
                let (a, b) = if backwards { (edge.to, a) } else { (a, edge.to) };
                graph[a].push((b, u64::from(edge.cost)));
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
            let between = self.edges[from].iter().filter(|edge| edge.to == to);
            let costs = between.map(|edge| u64::from(edge.cost));
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
    fn costs(&self) -> CostRange {
        let (least, most) = (self.costs_of_edges().min(), self.costs_of_edges().max());
        CostRange { least: least.unwrap_or(1), most: most.unwrap_or(1) }
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
        for edge in &self.0.edges[self.0.vertices[state]] {
            out.push(edge.label, &self.0.packed[edge.to]);
        }
    }
    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        let edges = &self.0.edges[self.0.vertices[state]];
        // Trails guess at labels that a state does not have.
        let cost = |label: &Label| edges.iter().find(|edge| edge.label == *label).map_or(7, |edge| edge.cost);
        costs.extend(labels.iter().map(cost));
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
