//! Payloads that meet in one state are merged: shortest paths are counted as brute force counts them, and a space may keep
//! something of its own beside its states.

mod drawn;
mod runs;
mod spaces;

use drawn::{Graph, Labels};
use hadal_search::explore::{self, Run};
use hadal_search::paths::Paths;
use hadal_search::ram::Breadth;
use hadal_search::{
    Control, DeadlockNotion, Explored, Limits, Method, Phase, Question, SearchTask, Setting, Verdict,
};
use hadal_store::Governor;
use hadal_store::vfs::Vfs;
use hadal_system::{Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use hadal_testkit::{Faults, FaultyFolder, Random};
use runs::{Begin, ledger};
use std::collections::HashMap;
use std::sync::Arc;

fn explored(space: &dyn StateSpace, budget: u64, step: Option<u64>) -> Explored {
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let governor = Governor::new(budget);
    let vfs: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
    let folders = || ledger(Arc::clone(&vfs), Begin::Fresh, &governor, space);
    let task = SearchTask { space, question: &question, control: &control };
    let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&folders) };
    let found = match step {
        None => explore::explore(&Paths, setting).expect("it runs"),
        Some(work) => {
            let mut explorer = Paths.explorer(setting).expect("it begins");
            while explorer.step(work).expect("it goes on").phase != Phase::Over {}
            explorer.finish().expect("it ends")
        }
    };
    assert!(governor.peak() <= budget, "{} of {budget}", governor.peak());
    found
}

/// How many shortest paths lead to each state, and the least cost of one, by going over whole layers.
fn by_layers(space: &dyn StateSpace) -> HashMap<Vec<u64>, (u64, u64)> {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut all: HashMap<Vec<u64>, (u64, u64)> = HashMap::new();
    let mut layer: HashMap<Vec<u64>, (u64, u64)> = HashMap::new();
    for (_, state) in out.iter() {
        layer.entry(state.to_vec()).or_insert((0, 0)).0 += 1;
    }
    while !layer.is_empty() {
        all.extend(layer.clone());
        let mut next: HashMap<Vec<u64>, (u64, u64)> = HashMap::new();
        for (state, (paths, cost)) in &layer {
            out.clear();
            worker.successors(state, &mut out);
            let mut costs = Vec::new();
            worker.costs(state, out.labels(), &mut costs);
            for ((_, to), step) in out.iter().zip(costs) {
                if !all.contains_key(to) {
                    let entry = next.entry(to.to_vec()).or_insert((0, u64::MAX));
                    entry.0 += paths;
                    entry.1 = entry.1.min(cost + u64::from(step));
                }
            }
        }
        layer = next;
    }
    all
}

/// Keeps the least cost of a shortest path beside every state.
struct LeastCost<'s>(&'s dyn StateSpace);

struct LeastCostWorker<'s>(Box<dyn Worker + 's>);

impl WrapsSpace for LeastCost<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.0
    }
    fn payload(&self) -> Payload {
        Payload { words: 1, merge: Merge::Least }
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(LeastCostWorker(self.0.worker()))
    }
}

impl WrapsWorker for LeastCostWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.0
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.0
    }
    fn payloads(&mut self, from: Option<(&[u64], &[u64])>, out: &Successors, payloads: &mut Vec<u64>) {
        let mut costs = Vec::new();
        match from {
            Some((state, _)) => self.0.costs(state, out.labels(), &mut costs),
            None => costs.resize(out.len(), 0),
        }
        let before = from.map_or(0, |(_, payload)| payload[0]);
        payloads.extend(costs.into_iter().map(|cost| before + u64::from(cost)));
    }
}

#[test]
fn shortest_paths_are_those_of_brute_force() {
    let mut noise = Random::new(5);
    let (mut found, mut several) = (0, 0);
    for n in 0..400 {
        let graph = Graph::priced(&mut noise, n % 2 == 0, Labels::Distinct, |noise| noise.below(5) as u32);
        let expected = by_layers(&graph);
        let counted = explored(&graph, 4 << 20, (n % 4 == 0).then_some(1));
        let cheapest = explored(&LeastCost(&graph), 4 << 20, None);
        let question = Question::everything(graph.properties(), DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let task = SearchTask { space: &graph, question: &question, control: &control };
        let usual = runs::explored_in_ram(&Breadth, task, &Governor::new(16 << 20), 1);
        assert_eq!(counted.report.verdict, usual.verdict, "graph {n}");
        assert_eq!(counted.report.states, usual.states, "graph {n}");
        assert_eq!(counted.report.depth, usual.depth, "graph {n}");
        match &counted.report.verdict {
            Verdict::Violated(violation) => {
                found += 1;
                let (paths, cost) = expected[violation.path.last().expect("a goal is reached")];
                several += u32::from(paths > 1);
                assert_eq!(counted.payload, Some(vec![paths]), "graph {n}");
                assert_eq!(cheapest.payload, Some(vec![cost]), "graph {n}");
            }
            _ => assert_eq!(counted.payload, None),
        }
    }
    assert!(found > 100 && several > 20, "{found} goals, {several} reached in several ways");
}

#[test]
fn ways_through_a_square_are_counted_beyond_memory() {
    // From corner to corner of a square with 60 steps a side there are 120 choose 60 ways; with 30, what a word holds.
    for (side, paths) in [(31, 118_264_581_564_861_424), (61, u64::MAX)] {
        let square = Graph::square(side, &mut Random::new(1), |_| 1);
        assert_eq!(explored(&square, 1 << 20, None).payload, Some(vec![paths]), "side {side}");
    }
}
