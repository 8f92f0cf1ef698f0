//! Random graphs with acceptance sets, brute force over them, and what a lasso must be.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_search::cycles::as_safety::Seeds;
use hadal_search::{Report, Verdict, ViolationKind};
use hadal_system::{
    Acceptance, Label, PropertyId, PropertyInfo, PropertyKind, Shown, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::Random;

/// A graph written out: for each state the targets with their marks.
pub struct Graph {
    pub edges: Vec<Vec<(u32, u64)>>,
    pub starts: Vec<u32>,
    pub acceptance: Acceptance,
    /// What `Worker::component` says, where it says more than nothing.
    pub components: Vec<Option<u32>>,
    /// The pairs able in each state.
    pub able: Vec<u64>,
    pub properties: Vec<PropertyInfo>,
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

pub struct Walker<'g>(&'g Graph);

/// States are not numbered as they are stored.
pub fn stored(n: u32) -> u64 {
    u64::from(n) * 3 + 1
}

pub fn number(state: &[u64]) -> usize {
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
    fn able(&mut self, state: &[u64], _out: &Successors) -> u64 {
        self.0.able[number(state)]
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        self.0.edges[number(state)].first().map_or(0, |edge| edge.1)
    }
    fn component(&mut self, state: &[u64]) -> Option<u32> {
        self.0.components[number(state)]
    }
}

pub struct Dice(pub Random);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// A product in small: a claim with locations, a system part, marks on states or edges.
    pub fn graph(&mut self) -> Graph {
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
        let acceptance = Acceptance {
            property: PropertyId(0),
            sets,
            pairs: 0,
            on_states,
            weak: false,
            by_reaching: false,
            shown: Shown::Some,
        };
        let properties =
            vec![PropertyInfo { name: "f".into(), kind: PropertyKind::Formula, span: Span::default() }];
        let components = vec![Some(0); n as usize];
        let able = vec![0; n as usize];
        let mut graph = Graph { edges, starts, acceptance, components, able, properties };
        if self.below(2) == 0 {
            self.add_components(&mut graph);
        }
        graph
    }

    /// A small one with pairs of strong fairness.
    pub fn with_pairs(&mut self) -> Graph {
        let n = 1 + self.below(7) as u32;
        let (sets, pairs) = (self.below(2) as u32, 1 + self.below(3) as u32);
        let dense = 1 + self.below(3);
        let some = |dice: &mut Dice, few: u64| {
            (0..sets + pairs).fold(0u64, |all, set| all | u64::from(dice.below(few) == 0) << set)
        };
        let edges: Vec<Vec<(u32, u64)>> = (0..n)
            .map(|_| {
                let count = self.below(dense * 2);
                (0..count).map(|_| (self.below(u64::from(n)) as u32, some(self, 3))).collect()
            })
            .collect();
        let acceptance = Acceptance {
            property: PropertyId(0),
            sets,
            pairs,
            on_states: false,
            weak: false,
            by_reaching: false,
            shown: Shown::Some,
        };
        let able = (0..n).map(|_| some(self, 3) & acceptance.paired()).collect();
        let properties =
            vec![PropertyInfo { name: "f".into(), kind: PropertyKind::Formula, span: Span::default() }];
        let components = vec![Some(0); n as usize];
        Graph { edges, starts: vec![0], acceptance, components, able, properties }
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
pub fn reach(graph: &Graph) -> Vec<Vec<bool>> {
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
pub fn accepted(graph: &Graph) -> Vec<bool> {
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

pub fn violated(graph: &Graph) -> bool {
    let (reach, accepted) = (reach(graph), accepted(graph));
    graph.starts.iter().any(|&start| {
        (0..graph.edges.len()).any(|s| accepted[s] && (s == start as usize || reach[start as usize][s]))
    })
}

/// The report's lasso, step by step; its length.
pub fn check_lasso(graph: &Graph, report: &Report, engine: &str) -> usize {
    let Verdict::Violated(found) = &report.verdict else { panic!("{engine}: {:?}", report.verdict) };
    let ViolationKind::Cycle { loop_from, .. } = found.kind else { panic!("{engine}: {:?}", found.kind) };
    let states: Vec<usize> = found.path.iter().map(|state| number(state)).collect();
    assert!(graph.starts.contains(&(states[0] as u32)), "{engine}: it begins elsewhere");
    let (mut marks, mut able) = (0, 0);
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
            able |= graph.able[states[n]];
            marks |= steps.iter().fold(0, |all, m| all | m);
        }
    }
    let all = graph.acceptance.always() | able;
    assert!(
        graph.acceptance.weak || marks & all == all,
        "{engine}: not accepted {states:?} from {loop_from}"
    );
    states.len()
}

/// The length of a shortest lasso, by trying every seed: stem to the seed, then a shortest loop that is accepted.
pub fn shortest(graph: &Graph, seeds: Seeds) -> Option<usize> {
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

/// Whether a strongly fair accepted cycle can be reached, by trying every set of states.
pub fn fair(graph: &Graph) -> bool {
    let n = graph.edges.len();
    let reached = reach(graph);
    let can = |s: usize| graph.starts.iter().any(|&start| start as usize == s || reached[start as usize][s]);
    (1u32..1 << n).any(|set| {
        let has = |s: usize| set >> s & 1 == 1;
        let (mut marks, mut able) = (0, 0);
        for s in (0..n).filter(|&s| has(s)) {
            able |= graph.able[s];
            for &(to, m) in graph.edges[s].iter().filter(|e| has(e.0 as usize)) {
                marks |= m;
                let _ = to;
            }
        }
        let wanted = graph.acceptance.always() | able;
        (0..n).filter(|&s| has(s)).all(can) && marks & wanted == wanted && is_one_component(graph, set)
    })
}

fn is_one_component(graph: &Graph, set: u32) -> bool {
    let n = graph.edges.len();
    (0..n).filter(|&s| set >> s & 1 == 1).all(|from| {
        // What is reached inside the set in at least one step.
        let mut met = 0u32;
        let mut open = vec![from];
        while let Some(s) = open.pop() {
            for &(to, _) in &graph.edges[s] {
                if set >> to & 1 == 1 && met >> to & 1 == 0 {
                    met |= 1 << to;
                    open.push(to as usize);
                }
            }
        }
        met == set
    })
}
