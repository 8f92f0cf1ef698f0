//! Directed search on drawn graphs, where distances are known: every order finds what can be reached, optimal orders find
//! the cheapest, and nothing is claimed that does not hold.

use hadal_guide::priority::NoPriority;
use hadal_guide::{Distance, Estimator, Guide, Mask, Promises, Target};
use hadal_search::directed::{
    DirectedFigures, DirectedOptions, DirectedSearch, Insertion, Order, Tie, Traces,
};
use hadal_search::{
    Control, DeadlockNotion, Limits, Proviso, Question, Report, StopReason, Task, Verdict, Violation,
    ViolationKind,
};
use hadal_store::Governor;
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};

/// A drawn directed graph with costs and goals.
struct Graph {
    /// From, to and cost of each edge; the label is its number.
    edges: Vec<(u64, u64, u32)>,
    goals: Vec<bool>,
    properties: Vec<PropertyInfo>,
    /// The least cost from each vertex to a goal.
    distances: Vec<Option<u32>>,
}

fn draw(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

impl Graph {
    fn new(seed: u64, vertices: u64, costs: u64) -> Self {
        let mut seed = seed;
        let (mut edges, mut goals) = (Vec::new(), vec![false; vertices as usize]);
        for from in 0..vertices {
            for _ in 0..draw(&mut seed, 4) {
                // Mostly to near vertices, so that paths are long.
                let to = (from + vertices - 3 + draw(&mut seed, 9)) % vertices;
                edges.push((from, to, 1 + draw(&mut seed, costs) as u32));
            }
        }
        for _ in 0..draw(&mut seed, 3) {
            goals[draw(&mut seed, vertices) as usize] = true;
        }
        let mut distances: Vec<Option<u32>> = goals.iter().map(|goal| goal.then_some(0)).collect();
        for _ in 0..vertices {
            for &(from, to, cost) in &edges {
                let through = distances[to as usize].map(|rest| rest + cost);
                let held = &mut distances[from as usize];
                *held = [*held, through].into_iter().flatten().min();
            }
        }
        let info = PropertyInfo { name: "goal".into(), kind: PropertyKind::Goal, span: Span::default() };
        Graph { edges, goals, properties: vec![info], distances }
    }

    /// The cheapest way from vertex to vertex along the path.
    fn cost_of(&self, path: &[Vec<u64>]) -> u32 {
        let step = |pair: &[Vec<u64>]| {
            let between = self.edges.iter().filter(|e| [e.0] == *pair[0] && [e.1] == *pair[1]);
            between.map(|edge| edge.2).min().expect("the path follows edges")
        };
        path.windows(2).map(step).sum()
    }

    fn has_unit_costs(&self) -> bool {
        self.edges.iter().all(|edge| edge.2 == 1)
    }
}

impl StateSpace for Graph {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        self.edges.len() as u64
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        let mut out_of = vec![Vec::new(); self.goals.len()];
        self.edges.iter().enumerate().for_each(|(n, edge)| out_of[edge.0 as usize].push(n));
        Box::new(GraphWorker { graph: self, out_of })
    }
    fn cost(&self, label: Label) -> u32 {
        self.edges[label.0 as usize].2
    }
    fn render_label(&self, label: Label) -> String {
        format!("edge {}", label.0)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("vertex".into(), state[0].to_string())]
    }
}

struct GraphWorker<'g> {
    graph: &'g Graph,
    out_of: Vec<Vec<usize>>,
}

impl Worker for GraphWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for &n in &self.out_of[state[0] as usize] {
            out.push(Label(n as u32), &[self.graph.edges[n].1]);
        }
    }
    fn check(&mut self, state: &[u64]) -> Check {
        if self.graph.goals[state[0] as usize] { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
}

/// Estimates given by a function of vertex and distance.
struct Table {
    estimates: Vec<Distance>,
    promises: Promises,
}

impl Table {
    /// Admissible, safe, and as inconsistent as that allows.
    fn admissible(graph: &Graph, mut seed: u64) -> Self {
        let estimates = graph.distances.iter().map(|distance| match distance {
            Some(distance) => Distance(draw(&mut seed, u64::from(distance + 1)) as u32),
            None if draw(&mut seed, 2) == 0 => Distance::INFINITE,
            None => Distance(draw(&mut seed, 50) as u32),
        });
        let promises = Promises { admissible: true, consistent: false, safe: true, monotone: true };
        Table { estimates: estimates.collect(), promises }
    }

    /// Says anything.
    fn wild(graph: &Graph, mut seed: u64) -> Self {
        let estimates = graph.distances.iter().map(|_| match draw(&mut seed, 3) {
            0 => Distance::INFINITE,
            _ => Distance(draw(&mut seed, 20) as u32),
        });
        let promises = Promises { admissible: false, consistent: false, safe: false, monotone: false };
        Table { estimates: estimates.collect(), promises }
    }
}

impl Guide for Table {
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

struct Lookup<'t>(&'t Table);

impl Estimator for Lookup<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        self.0.estimates[state[0] as usize]
    }
}

const ORDERS: [Order; 12] = [
    Order::Greedy,
    Order::AStar,
    Order::Weighted(2500),
    Order::HillClimbing,
    Order::Beam(1000),
    Order::Beam(2),
    Order::IterativeDeepening,
    Order::BreadthHeuristic,
    Order::Breadth,
    Order::Depth,
    Order::UniformCost,
    Order::Alternating,
];

fn explore(graph: &Graph, guide: &dyn Guide, options: DirectedOptions, budget: u64) -> Report {
    let question = Question::everything(graph.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let search = DirectedSearch {
        task: Task { space: graph, question: &question, control: &control },
        governor: &Governor::new(budget),
        guide,
        aim: &Target::of_properties(graph.properties()),
        priority: &NoPriority,
        options,
    };
    hadal_search::directed::explore(&search)
}

#[track_caller]
fn violation(report: &Report) -> &Violation {
    let Verdict::Violated(found) = &report.verdict else { panic!("{report:?}") };
    found
}

fn figures(report: &Report) -> &DirectedFigures {
    report.directed.as_ref().expect("a directed search has figures")
}

#[test]
fn every_order_agrees_on_what_can_be_reached_and_optimal_ones_on_the_cost() {
    for seed in 0..120 {
        let graph = Graph::new(seed, 30 + seed % 50, 1 + seed % 4);
        for (guide, wild) in [(Table::admissible(&graph, seed), false), (Table::wild(&graph, seed), true)] {
            for order in ORDERS {
                let options = DirectedOptions { order, ..DirectedOptions::default() };
                let report = explore(&graph, &guide, options, 1 << 22);
                let case = format!("graph {seed}, wild {wild}, {order}: {report:?}");
                match (graph.distances[0], &report.verdict) {
                    (None, Verdict::Holds) => {
                        let pruned = figures(&report).hopeless > 0;
                        assert_eq!(matches!(report.proviso, Some(Proviso::Pruned { .. })), pruned, "{case}");
                        assert!(!(pruned && wild), "{case}");
                    }
                    (_, Verdict::Stopped(StopReason::Incomplete)) => {
                        assert_eq!(order, Order::Beam(2), "{case}")
                    }
                    (Some(least), Verdict::Violated(found)) => {
                        assert_eq!(found.kind, ViolationKind::Goal(PropertyId(0)), "{case}");
                        assert_eq!(found.path[0], [0], "{case}");
                        assert!(graph.goals[found.path[found.path.len() - 1][0] as usize], "{case}");
                        let cost = graph.cost_of(&found.path);
                        match order {
                            Order::UniformCost => assert_eq!(cost, least, "{case}"),
                            order if order.is_optimal() && !wild => assert_eq!(cost, least, "{case}"),
                            Order::Weighted(weight) if !wild => {
                                assert!(u64::from(cost) * 1000 <= u64::from(least * weight), "{case}");
                            }
                            _ => {}
                        }
                        if found.shortest && graph.has_unit_costs() {
                            assert_eq!(found.path.len() as u32 - 1, least, "{case}");
                        }
                        let claims = order.is_optimal() && !wild && graph.has_unit_costs();
                        assert!(found.shortest || !claims, "{case}");
                    }
                    _ => panic!("{case}"),
                }
            }
        }
    }
}

#[test]
fn ties_seeds_and_the_published_rules_change_the_walk_not_the_answer() {
    for seed in 0..60 {
        let graph = Graph::new(seed, 60, 1);
        let guide = Table::admissible(&graph, seed);
        for order in [Order::Greedy, Order::AStar, Order::Breadth, Order::Depth] {
            for tie in [Tie::Lifo, Tie::Fifo, Tie::Deep, Tie::Random(seed)] {
                for insertion in [Insertion::WhenBetter, Insertion::UnlessClosed] {
                    let options = DirectedOptions {
                        order,
                        tie: Some(tie),
                        insertion,
                        seed: Some(seed),
                        traces: Traces::AsFound,
                        ..DirectedOptions::default()
                    };
                    let report = explore(&graph, &guide, options.clone(), 1 << 22);
                    let again = explore(&graph, &guide, options, 1 << 22);
                    assert_eq!(figures(&report), figures(&again), "the same command, the same walk");
                    match graph.distances[0] {
                        None => assert_eq!(report.verdict, Verdict::Holds),
                        Some(least) => {
                            let cost = graph.cost_of(&violation(&report).path);
                            assert!(cost >= least && (order != Order::AStar || cost == least));
                            assert_eq!(figures(&report).found_length, Some(u64::from(cost)));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_shortened_trace_is_never_longer_than_what_was_found() {
    for seed in 0..60 {
        let graph = Graph::new(seed, 200, 1);
        let guide = Table::wild(&graph, seed);
        for order in [Order::Greedy, Order::Depth, Order::HillClimbing, Order::Alternating] {
            let options = DirectedOptions { order, ..DirectedOptions::default() };
            let report = explore(&graph, &guide, options, 1 << 22);
            if graph.distances[0].is_some() {
                let length = violation(&report).path.len() as u64 - 1;
                assert_eq!(u64::from(graph.cost_of(&violation(&report).path)), length);
                assert!(length <= figures(&report).found_length.expect("something was found"));
            }
        }
    }
}

#[test]
fn a_budget_that_is_too_small_ends_the_search_honestly() {
    let mut graph = Graph::new(1, 10, 1);
    // A ring through all vertices and no goal: everything must be seen.
    graph.edges = (0..40_000).map(|n| (n, (n + 1) % 40_000, 1)).collect();
    graph.goals = vec![false; 40_000];
    graph.distances = vec![Some(7); 40_000];
    let guide = Table::admissible(&graph, 1);
    for order in [Order::Greedy, Order::AStar, Order::HillClimbing, Order::Beam(100), Order::Alternating] {
        let options = DirectedOptions { order, ..DirectedOptions::default() };
        let report = explore(&graph, &guide, options, 300_000);
        assert!(
            matches!(report.verdict, Verdict::Stopped(StopReason::Memory { needed }) if needed > 300_000),
            "{order}: {report:?}"
        );
        assert!(report.peak_memory <= 300_000 && report.states > 1000, "{order}: {report:?}");
    }
}
