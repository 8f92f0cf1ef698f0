//! Random weighted graphs: External A* finds what Dijkstra's algorithm finds, under every guide, budget and way back.

use crate::harness::{Blind, Run, replayed_cost};
use hadal_guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_search::Verdict;
use hadal_search::external::{ExternalOptions, StopAt, TraceBy};
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub struct Noise(pub u64);

impl Noise {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(0x9E37_79B9);
        (self.0 >> 33) % bound
    }
}

/// A graph given edge by edge; a label is the number of an edge.
pub struct Graph {
    words: usize,
    edges: Vec<Vec<(usize, Label)>>,
    costs: Vec<u32>,
    starts: Vec<usize>,
    goals: Vec<bool>,
    both_ways: Option<u32>,
    properties: Vec<PropertyInfo>,
}

impl Graph {
    pub fn new(vertices: usize, words: usize, starts: Vec<usize>, goals: &[usize]) -> Self {
        let goal = PropertyInfo { name: "goal".into(), kind: PropertyKind::Goal, span: Span::default() };
        let goals = (0..vertices).map(|vertex| goals.contains(&vertex)).collect();
        let edges = vec![Vec::new(); vertices];
        Graph { words, edges, costs: Vec::new(), starts, goals, both_ways: None, properties: vec![goal] }
    }

    pub fn edge(&mut self, from: usize, to: usize, cost: u32) {
        self.edges[from].push((to, Label(self.costs.len() as u32)));
        self.costs.push(cost);
    }

    fn random(noise: &mut Noise, both_ways: bool) -> Self {
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

    fn pack(&self, vertex: usize) -> Vec<u64> {
        (0..self.words as u64)
            .map(|word| (vertex as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ word << 1))
            .collect()
    }

    fn vertex(&self, state: &[u64]) -> usize {
        (0..self.edges.len()).find(|&vertex| self.pack(vertex) == state).unwrap()
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

    fn least_cost(&self) -> Option<u64> {
        let costs = self.distances(self.starts.iter().copied(), false);
        (0..self.edges.len()).filter(|&vertex| self.goals[vertex]).filter_map(|vertex| costs[vertex]).min()
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
        let packed = (0..self.edges.len()).map(|vertex| self.pack(vertex)).collect();
        Box::new(Walker { graph: self, packed })
    }
    fn cost(&self, label: Label) -> u32 {
        self.costs[label.0 as usize]
    }
    fn undirected(&self) -> Option<u32> {
        self.both_ways
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("vertex".into(), self.vertex(state).to_string())]
    }
}

struct Walker<'a> {
    graph: &'a Graph,
    packed: Vec<Vec<u64>>,
}

impl Worker for Walker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        for (n, &start) in self.graph.starts.iter().enumerate() {
            out.push(Label(n as u32), &self.packed[start]);
        }
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let vertex = self.packed.iter().position(|packed| packed == state).unwrap();
        for &(to, label) in &self.graph.edges[vertex] {
            out.push(label, &self.packed[to]);
        }
    }
    fn check(&mut self, state: &[u64]) -> Check {
        let vertex = self.packed.iter().position(|packed| packed == state).unwrap();
        if self.graph.goals[vertex] { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
}

/// Estimates vertex by vertex.
pub struct Estimates {
    packed: Vec<Vec<u64>>,
    estimates: Vec<Distance>,
    promises: Promises,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Consistent,
    Admissible,
    Wrong,
}

impl Estimates {
    fn new(graph: &Graph, kind: Kind, noise: &mut Noise) -> Self {
        let goals = (0..graph.edges.len()).filter(|&vertex| graph.goals[vertex]);
        let estimate = |distance: Option<u64>| match (distance, kind) {
            (None, Kind::Wrong) => Distance(noise.below(20) as u32),
            (None, _) => Distance::INFINITE,
            (Some(distance), Kind::Consistent) => Distance(distance as u32 / 2),
            (Some(distance), Kind::Admissible) => Distance(noise.below(distance + 1) as u32),
            (Some(0), Kind::Wrong) => Distance(0),
            (Some(distance), Kind::Wrong) => Distance(noise.below(3 * distance + 5) as u32),
        };
        let promises = Promises {
            admissible: kind != Kind::Wrong,
            consistent: kind == Kind::Consistent,
            safe: kind != Kind::Wrong,
            monotone: true,
        };
        Estimates {
            packed: (0..graph.edges.len()).map(|vertex| graph.pack(vertex)).collect(),
            estimates: graph.distances(goals, true).into_iter().map(estimate).collect(),
            promises,
        }
    }
}

impl Guide for Estimates {
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

struct Lookup<'a>(&'a Estimates);

impl Estimator for Lookup<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        self.0.estimates[self.0.packed.iter().position(|packed| packed == state).unwrap()]
    }
}

#[test]
fn costs_equal_those_of_dijkstra_on_random_directed_and_undirected_graphs() {
    let mut noise = Noise(1);
    let (mut solved, mut reopened) = (0, 0);
    for n in 0..240 {
        let graph = Graph::random(&mut noise, n % 2 == 0);
        let expected = graph.least_cost();
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wrong] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            let trace_by = [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide][noise.below(3) as usize];
            let stop_at = [StopAt::Generation, StopAt::Expansion][noise.below(2) as usize];
            let mut run = Run::new(&graph, &guide);
            run.options = ExternalOptions { trace_by, stop_at, ..ExternalOptions::default() };
            run.threads = 1 + noise.below(2) as usize;
            let explored = run.done();
            let case = format!("graph {n}, {kind:?}, {trace_by:?}, {stop_at:?}");
            let figures = &explored.figures;
            match (expected, replayed_cost(&graph, &explored)) {
                (None, None) => assert_eq!(explored.report.verdict, Verdict::Holds, "{case}"),
                (Some(least), Some(cost)) => {
                    solved += 1;
                    assert_eq!(figures.cost, Some(cost), "{case}");
                    assert!(cost >= least && (cost == least || !figures.optimal), "{case}");
                    assert_eq!(figures.optimal, kind != Kind::Wrong, "{case}");
                }
                other => panic!("{case}: {other:?}"),
            }
            let expanded = figures.buckets.iter().map(|bucket| bucket.expanded).sum::<u64>();
            assert_eq!(figures.expanded, expanded, "{case}");
            if kind == Kind::Consistent {
                assert!(expanded <= graph.edges.len() as u64, "{case}: a state is expanded twice");
            }
            reopened += u64::from(expanded > graph.edges.len() as u64);
        }
    }
    assert!(solved > 300 && reopened > 0, "{solved} solved, {reopened} with states opened again");
}

/// An undirected step of cost C is closed within 2C rows, and in a crafted graph not within fewer.
#[test]
fn twice_the_largest_cost_is_the_scope_of_undirected_graphs() {
    for cost in 1..=6u32 {
        // The way back from 1 costs as much as the way there.
        let mut graph = Graph::new(3, 1, vec![0], &[]);
        for (a, b) in [(0, 1), (1, 2)] {
            graph.edge(a, b, cost);
            graph.edge(b, a, cost);
        }
        graph.both_ways = Some(cost);
        let explored = Run::new(&graph, &Blind).done();
        assert_eq!(explored.report.verdict, Verdict::Holds);
        assert_eq!(explored.figures.expanded, 3);
        assert_eq!(explored.figures.locality, 2 * u64::from(cost), "found again that many rows later");
        let spread = explored.figures.buckets.iter().map(|bucket| bucket.targets.len() as u32).max();
        assert!(spread.unwrap() <= cost * (cost + 2));
    }
}

#[test]
fn a_chain_of_tiny_buckets_shares_files() {
    let length = 4000;
    let mut graph = Graph::new(length, 1, vec![0], &[length - 1]);
    (0..length - 1).for_each(|vertex| graph.edge(vertex, vertex + 1, 3));
    let mut run = Run::new(&graph, &Blind);
    run.budget = 4 << 20;
    run.options.commit_every = std::time::Duration::from_secs(3600);
    let explored = run.done();
    assert_eq!(replayed_cost(&graph, &explored), Some(3 * (length as u64 - 1)));
    assert_eq!(explored.figures.buckets.len(), length);
    assert!(explored.figures.bytes_written < 100 * length as u64, "{}", explored.figures.bytes_written);
}

/// Two cabins on a track that they share in part, as sheet 2.3 of the sources reconstructs it.
#[test]
fn the_observed_locality_of_two_cabins_is_twelve() {
    // Positions along each route, and the tracks that hold one cabin only.
    let routes: [&[&str]; 2] =
        [&["E", "2a", "2b", "3", "South", "1", "North"], &["E", "2a", "2b", "4", "Library"]];
    let single = |place: &str| ["2a", "2b", "1", "3", "4"].contains(&place);
    let mut states = vec![[(0usize, true), (0, true)]];
    let mut edges = Vec::new();
    let mut next = 0;
    while next < states.len() {
        let state = states[next];
        for cabin in 0..2 {
            let (at, forward) = state[cabin];
            let to = if forward { at + 1 } else { at - 1 };
            let other = state[1 - cabin].0;
            if single(routes[cabin][to]) && routes[1 - cabin][other] == routes[cabin][to] {
                continue;
            }
            let mut moved = state;
            moved[cabin] = (to, if to + 1 == routes[cabin].len() { false } else { to == 0 || forward });
            let target = states.iter().position(|&known| known == moved).unwrap_or_else(|| {
                states.push(moved);
                states.len() - 1
            });
            edges.push((next, target));
        }
        next += 1;
    }
    let mut graph = Graph::new(states.len(), 1, vec![0], &[]);
    edges.iter().for_each(|&(from, to)| graph.edge(from, to, 1));
    let explored = Run::new(&graph, &Blind).done();
    let figures = &explored.figures;
    assert_eq!((figures.expanded, figures.generated, figures.f), (86, 156, 17));
    assert_eq!(figures.locality, 12);
}
