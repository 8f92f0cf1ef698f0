//! Accepted cycles: every engine against brute force on random products, and every lasso against the graph.

use hadal_search::auto::{self, AutoSearch};
use hadal_search::cycles::as_safety::{LassoSpace, Seeds};
use hadal_search::cycles::{self, Engine};
use hadal_search::ram::{Search, breadth, depth};
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, StopReason, Task, Verdict, ViolationKind,
};
use hadal_store::Governor;
use hadal_store::vfs::{Folder, Vfs};
use hadal_system::{
    Acceptance, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::Random;
use std::sync::Arc;

mod runs;

/// A graph written out: for each state the targets with their marks.
struct Graph {
    edges: Vec<Vec<(u32, u64)>>,
    starts: Vec<u32>,
    acceptance: Acceptance,
    /// What `Worker::component` says, where it says more than nothing.
    components: Vec<Option<u32>>,
    properties: Vec<PropertyInfo>,
}

impl StateSpace for Graph {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        7
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn acceptance(&self) -> Option<Acceptance> {
        Some(self.acceptance)
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Walker(self))
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("n".into(), state[0].to_string())]
    }
}

struct Walker<'g>(&'g Graph);

/// States are not numbered as they are stored.
fn stored(n: u32) -> u64 {
    u64::from(n) * 3 + 1
}

fn number(state: &[u64]) -> usize {
    (state[0] / 3) as usize
}

impl Worker for Walker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.0.starts.iter().for_each(|&start| out.push(Label(start), &[stored(start)]));
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for (n, &(to, _)) in self.0.edges[number(state)].iter().enumerate() {
            out.push(Label(n as u32), &[stored(to)]);
        }
    }
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        marks.clear();
        marks.extend(out.labels().iter().map(|label| self.0.edges[number(state)][label.0 as usize].1));
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        self.0.edges[number(state)].first().map_or(0, |edge| edge.1)
    }
    fn component(&mut self, state: &[u64]) -> Option<u32> {
        self.0.components[number(state)]
    }
}

struct Dice(Random);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// A product in small: a claim with locations, a system part, marks on states or edges.
    fn graph(&mut self) -> Graph {
        let n = 1 + self.below(14) as u32;
        let on_states = self.below(2) == 0;
        let sets = if on_states { 1 } else { 1 + self.below(3) as u32 };
        let dense = 1 + self.below(3);
        let mark =
            |dice: &mut Dice| (0..sets).fold(0u64, |all, set| all | u64::from(dice.below(4) == 0) << set);
        let mut edges = Vec::new();
        for _ in 0..n {
            let own = mark(self);
            let count = self.below(dense * 2);
            let list: Vec<(u32, u64)> = (0..count)
                .map(|_| (self.below(u64::from(n)) as u32, if on_states { own } else { mark(self) }))
                .collect();
            edges.push(list);
        }
        let starts = (0..1 + self.below(2)).map(|_| self.below(u64::from(n)) as u32).collect();
        let acceptance =
            Acceptance { property: PropertyId(0), sets, on_states, weak: false, by_reaching: false };
        let properties =
            vec![PropertyInfo { name: "f".into(), kind: PropertyKind::Formula, span: Span::default() }];
        let components = vec![Some(0); n as usize];
        let mut graph = Graph { edges, starts, acceptance, components, properties };
        if self.below(2) == 0 {
            self.add_components(&mut graph);
        }
        graph
    }

    /// Says of each state what a claim's control graph might say: true components, joined at random, and none where no
    /// accepted cycle is.
    fn add_components(&mut self, graph: &mut Graph) {
        let reach = reach(graph);
        let n = graph.edges.len();
        let accepted = accepted(graph);
        for s in 0..n {
            let least = (0..n).find(|&t| t == s || reach[s][t] && reach[t][s]).unwrap_or(s);
            graph.components[s] = (accepted[s] || self.below(2) == 0).then_some(least as u32);
        }
        let on_cycles: Vec<usize> =
            (0..n).filter(|&s| reach[s][s] && graph.components[s].is_some()).collect();
        graph.acceptance.weak = on_cycles.iter().all(|&s| accepted[s])
            && on_cycles
                .iter()
                .all(|&s| graph.edges[s].iter().all(|e| e.1 == (1 << graph.acceptance.sets) - 1));
    }
}

/// `reach[s][t]`: a path of at least one step leads from s to t.
fn reach(graph: &Graph) -> Vec<Vec<bool>> {
    let n = graph.edges.len();
    let mut reach = vec![vec![false; n]; n];
    for (edges, reached) in graph.edges.iter().zip(&mut reach) {
        edges.iter().for_each(|&(to, _)| reached[to as usize] = true);
    }
    for k in 0..n {
        for s in 0..n {
            for t in 0..n {
                reach[s][t] |= reach[s][k] && reach[k][t];
            }
        }
    }
    reach
}

/// The states whose strongly connected component has transitions of every set.
fn accepted(graph: &Graph) -> Vec<bool> {
    let reach = reach(graph);
    let all = (1u64 << graph.acceptance.sets) - 1;
    let same = |s: usize, t: usize| s == t || reach[s][t] && reach[t][s];
    (0..graph.edges.len())
        .map(|s| {
            let mut marks = 0;
            for t in (0..graph.edges.len()).filter(|&t| same(s, t)) {
                for &(to, m) in graph.edges[t].iter().filter(|&&(to, _)| same(s, to as usize)) {
                    marks |= m;
                    let _ = to;
                }
            }
            reach[s][s] && marks == all
        })
        .collect()
}

fn violated(graph: &Graph) -> bool {
    let (reach, accepted) = (reach(graph), accepted(graph));
    graph.starts.iter().any(|&start| {
        (0..graph.edges.len()).any(|s| accepted[s] && (s == start as usize || reach[start as usize][s]))
    })
}

/// The report's lasso, step by step; its length.
fn check_lasso(graph: &Graph, report: &Report, engine: &str) -> usize {
    let Verdict::Violated(found) = &report.verdict else { panic!("{engine}: {:?}", report.verdict) };
    let ViolationKind::Cycle { loop_from, .. } = found.kind else { panic!("{engine}: {:?}", found.kind) };
    let states: Vec<usize> = found.path.iter().map(|state| number(state)).collect();
    assert!(graph.starts.contains(&(states[0] as u32)), "{engine}: it begins elsewhere");
    let mut marks = 0;
    for n in 0..states.len() {
        let next = *states.get(n + 1).unwrap_or(&states[loop_from]);
        let steps: Vec<u64> =
            graph.edges[states[n]].iter().filter(|e| e.0 as usize == next).map(|e| e.1).collect();
        assert!(
            !steps.is_empty(),
            "{engine}: no step {n} of {states:?}, loop from {loop_from}, {:?}",
            graph.edges
        );
        if n >= loop_from {
            marks |= steps.iter().fold(0, |all, m| all | m);
        }
    }
    let all = (1u64 << graph.acceptance.sets) - 1;
    assert!(graph.acceptance.weak || marks == all, "{engine}: not accepted {states:?} from {loop_from}");
    states.len()
}

#[test]
fn all_engines_agree_with_brute_force_on_ten_thousand_products() {
    let mut dice = Dice(Random::new(11));
    let control = Control::new(Limits::default());
    let (mut broken, mut runs) = (0, 0);
    for n in 0..12_000 {
        let graph = dice.graph();
        let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
        let task = Task { space: &graph, question: &question, control: &control };
        let governor = Governor::unlimited();
        let wanted = violated(&graph);
        broken += u32::from(wanted);
        let threads = 1 + usize::from(n % 500 == 0);
        let search = Search { task, governor: &governor, threads };
        let mut reports = vec![("sweep".to_owned(), breadth::explore(&search))];
        let engines = [Engine::Nested, Engine::Driven, Engine::Components, Engine::Owcty, Engine::Map];
        for engine in engines {
            match cycles::explore(&search, engine) {
                Ok(report) => reports.push((format!("{engine:?}"), report)),
                Err(unsuited) => {
                    assert!(
                        graph.acceptance.sets > 1 || !graph.acceptance.on_states,
                        "{engine:?}: {unsuited}"
                    );
                }
            }
        }
        for (engine, report) in &reports {
            runs += 1;
            match wanted {
                true => {
                    check_lasso(&graph, report, engine);
                }
                false => assert_eq!(
                    report.verdict,
                    Verdict::Holds,
                    "{engine} on {:?} from {:?}",
                    graph.edges,
                    graph.starts
                ),
            }
        }
    }
    assert!((2_000..10_000).contains(&broken), "{broken} of 12000 are violated: lopsided");
    assert!(runs > 40_000, "{runs}");
}

#[test]
fn a_search_that_does_not_look_for_runs_does_not_say_that_all_is_well() {
    let mut dice = Dice(Random::new(3));
    let graph = dice.graph();
    let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
    let control = Control::new(Limits::default());
    let governor = Governor::unlimited();
    let task = Task { space: &graph, question: &question, control: &control };
    let report = depth::explore(&Search { task, governor: &governor, threads: 1 });
    assert_eq!(report.verdict, Verdict::Stopped(StopReason::Unanswered));
}

/// A grid of counters, one of which wraps round in the far corner of the others where `closed`: many states, one cycle or
/// none.
struct Rings {
    side: u64,
    dimensions: u32,
    closed: bool,
    properties: Vec<PropertyInfo>,
}

impl Rings {
    fn new(closed: bool) -> Self {
        let properties =
            vec![PropertyInfo { name: "f".into(), kind: PropertyKind::Formula, span: Span::default() }];
        Rings { side: 24, dimensions: 4, closed, properties }
    }
}

impl StateSpace for Rings {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        u64::from(self.closed)
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn acceptance(&self) -> Option<Acceptance> {
        Some(Acceptance {
            property: PropertyId(0),
            sets: 1,
            on_states: true,
            weak: false,
            by_reaching: false,
        })
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Ring(self))
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("n".into(), state[0].to_string())]
    }
}

struct Ring<'r>(&'r Rings);

impl Worker for Ring<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let mut unit = 1u64;
        for d in 0..self.0.dimensions {
            let at = state[0] / unit % self.0.side;
            if at + 1 < self.0.side {
                out.push(Label(d), &[state[0] + unit]);
            } else if self.0.closed && d == 0 && self.state_marks(state) == 1 {
                out.push(Label(d), &[state[0] - at * unit]);
            }
            unit *= self.0.side;
        }
    }
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        marks.clear();
        marks.resize(out.len(), self.state_marks(state));
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        // Accepting only in the far corner of the other dimensions.
        let corner = self.0.side.pow(self.0.dimensions - 1) - 1;
        u64::from(state[0] / self.0.side == corner)
    }
}

#[test]
fn sweeps_go_on_on_disk_with_the_same_answer() {
    for closed in [false, true] {
        let space = Rings::new(closed);
        let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
        for megabytes in [64, 6] {
            let control = Control::new(Limits::default());
            let governor = Governor::new(megabytes << 20);
            let task = Task { space: &space, question: &question, control: &control };
            let folder = tempfile::tempdir().expect("a folder");
            let vfs: Arc<dyn Vfs> = Arc::new(Folder::create(folder.path()).expect("a folder"));
            let ledger = || runs::ledger(Arc::clone(&vfs), runs::Begin::Fresh, &governor, &space);
            let search = AutoSearch { task, ledger: &ledger, governor: &governor, threads: 2 };
            let report = auto::explore(&search).expect("it runs");
            assert_eq!(report.states, 24u64.pow(4), "{megabytes} MiB");
            assert!(report.disk.is_some() == (megabytes == 6), "{megabytes} MiB");
            match closed {
                false => assert_eq!(report.verdict, Verdict::Holds, "{megabytes} MiB"),
                true => {
                    let Verdict::Violated(found) = &report.verdict else { panic!("{:?}", report.verdict) };
                    let ViolationKind::Cycle { loop_from, .. } = found.kind else {
                        panic!("{:?}", found.kind)
                    };
                    assert_eq!(found.path.len() - loop_from, 24, "{megabytes} MiB");
                }
            }
        }
    }
}

/// The length of a shortest lasso, by trying every seed: stem to the seed, then a shortest loop that is accepted.
fn shortest(graph: &Graph, seeds: Seeds) -> Option<usize> {
    let n = graph.edges.len();
    let distances = |from: &[usize]| {
        let mut distance = vec![usize::MAX; n];
        let mut layer: Vec<usize> = from.to_vec();
        layer.iter().for_each(|&s| distance[s] = 0);
        for depth in 1.. {
            let mut next = Vec::new();
            for &s in &layer {
                for &(to, _) in &graph.edges[s] {
                    if distance[to as usize] == usize::MAX {
                        distance[to as usize] = depth;
                        next.push(to as usize);
                    }
                }
            }
            if next.is_empty() {
                return distance;
            }
            layer = next;
        }
        distance
    };
    let accepting = |s: usize| graph.edges[s].first().is_some_and(|e| e.1 & 1 == 1);
    let stems = distances(&graph.starts.iter().map(|&s| s as usize).collect::<Vec<_>>());
    let from: Vec<Vec<usize>> = (0..n).map(|s| distances(&[s])).collect();
    // A path of at least one step.
    let way = |s: usize, t: usize| -> Option<usize> {
        let steps = graph.edges[s].iter().map(|&(to, _)| from[to as usize][t]);
        steps.filter(|&d| d != usize::MAX).min().map(|d| d + 1)
    };
    let mut best = None;
    for seed in (0..n).filter(|&s| stems[s] != usize::MAX) {
        let around = match seeds {
            Seeds::Accepting if accepting(seed) => way(seed, seed),
            Seeds::Accepting => None,
            Seeds::Any => (0..n)
                .filter(|&t| accepting(t))
                .filter_map(|t| match t == seed {
                    true => way(seed, seed),
                    false => Some(way(seed, t)? + way(t, seed)?),
                })
                .min(),
        };
        if let Some(around) = around {
            let length = stems[seed] + around;
            best = Some(best.map_or(length, |b: usize| b.min(length)));
        }
    }
    best
}

#[test]
fn liveness_as_safety_finds_shortest_lassos() {
    let mut dice = Dice(Random::new(5));
    let control = Control::new(Limits::default());
    let (mut found, mut longer) = (0, 0);
    for _ in 0..4_000 {
        let graph = dice.graph();
        let mut lengths = Vec::new();
        for seeds in [Seeds::Accepting, Seeds::Any] {
            let Some(lassos) = LassoSpace::new(&graph, seeds) else { continue };
            let question = lassos.question(&Question { deadlock: DeadlockNotion::Off, asked: vec![true] });
            let task = Task { space: &lassos, question: &question, control: &control };
            let governor = Governor::unlimited();
            let mut report = breadth::explore(&Search { task, governor: &governor, threads: 1 });
            let most = (graph.edges.len() * (1 + 2 * graph.edges.len()) + 2 * graph.edges.len()) as u64;
            assert!(report.states <= most, "{} of at most {most}", report.states);
            report.verdict = lassos.lasso(report.verdict);
            let wanted = shortest(&graph, seeds);
            match wanted {
                None => assert_eq!(report.verdict, Verdict::Holds),
                Some(wanted) => {
                    assert_eq!(check_lasso(&graph, &report, "las"), wanted, "{seeds:?} {:?}", graph.edges);
                    lengths.push(wanted);
                }
            }
            assert_eq!(wanted.is_some(), violated(&graph));
        }
        if let [accepting, any] = lengths[..] {
            found += 1;
            longer += u32::from(accepting > any);
            assert!(accepting >= any);
        }
    }
    assert!(found > 300 && longer > 5, "{found} lassos, {longer} longer where the seed must be accepting");
}

#[test]
fn no_lasso_up_to_a_bound_is_what_a_bounded_search_says() {
    let mut dice = Dice(Random::new(8));
    for _ in 0..300 {
        let graph = dice.graph();
        let Some(lassos) = LassoSpace::new(&graph, Seeds::Accepting) else { continue };
        let question = lassos.question(&Question { deadlock: DeadlockNotion::Off, asked: vec![true] });
        let wanted = shortest(&graph, Seeds::Accepting);
        for bound in 0..8 {
            let control = Control::new(Limits { max_depth: Some(bound), ..Limits::default() });
            let task = Task { space: &lassos, question: &question, control: &control };
            let report = breadth::explore(&Search { task, governor: &Governor::unlimited(), threads: 1 });
            match wanted.filter(|&length| length as u64 <= bound) {
                Some(_) => assert!(matches!(report.verdict, Verdict::Violated(_))),
                None => assert!(!matches!(report.verdict, Verdict::Violated(_))),
            }
        }
    }
}
