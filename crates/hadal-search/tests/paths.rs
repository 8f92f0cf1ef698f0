//! Payloads that meet in one state are merged: shortest paths are counted as brute force counts them in every search that
//! keeps payloads, on any number of threads, beyond memory, and after a kill; others refuse such a space and say why.

mod drawn;
mod runs;
mod spaces;

use drawn::{Graph, Labels};
use hadal_search::auto::Auto;
use hadal_search::explore::{self, Run};
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::kept::KeptLayers;
use hadal_search::partition::PartitionOptions;
use hadal_search::paths::CountedPaths;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::relaxed::Relaxed;
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Explored, Limits, Method, Phase, Question, SearchTask, Setting, Verdict,
    strategies,
};
use hadal_store::Governor;
use hadal_store::manifest::OpenError;
use hadal_store::vfs::Vfs;
use hadal_system::{Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use runs::{Begin, ledger};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How a search is made.
#[derive(Clone, Copy)]
struct Way<'m> {
    name: &'static str,
    method: &'m dyn Method,
    threads: usize,
    budget: u64,
    /// The work of a step, where it is stepped.
    step: Option<u64>,
}

impl Way<'_> {
    fn explored(&self, space: &dyn StateSpace) -> Result<Explored, Trouble> {
        self.explored_in(space, Arc::new(FaultyFolder::new(Faults::default())), Begin::Fresh)
    }

    fn explored_in(
        &self,
        space: &dyn StateSpace,
        vfs: Arc<dyn Vfs>,
        begin: Begin,
    ) -> Result<Explored, Trouble> {
        let question = Question::everything(space.properties(), DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let governor = Governor::new(self.budget);
        let folders = || Ok(ledger(Arc::clone(&vfs), begin, &governor, space)?.spaced(Duration::ZERO));
        let task = SearchTask { space, question: &question, control: &control };
        let run = if self.name == "bfs" { Run::Nowhere } else { begin.run(&folders) };
        let setting = Setting { task, governor: &governor, threads: self.threads, run };
        let found = match self.step {
            None => explore::explore(self.method, setting),
            Some(work) => {
                let mut explorer = self.method.explorer(setting)?;
                while explorer.step(work)?.phase != Phase::Over {}
                explorer.finish()
            }
        };
        assert!(governor.peak() <= self.budget, "{}: {} of {}", self.name, governor.peak(), self.budget);
        found
    }
}

/// Every search that keeps payloads, with each kind of cache.
fn keeping() -> Vec<(&'static str, Box<dyn Method>)> {
    let mut all: Vec<(&'static str, Box<dyn Method>)> =
        vec![("bfs", Box::new(Breadth)), ("auto", Box::new(Auto))];
    for (name, strategy) in strategies::on_disk().filter(|&(name, _)| name != "structured") {
        for cache in [CacheKind::Off, CacheKind::Lru] {
            all.push((name, Box::new(Strategy { cache, ..strategy.clone() })));
        }
    }
    all
}

/// Vertices in layers with edges to the next, and some back; the goal is one of the last.
fn in_layers(noise: &mut Random, width: usize, depth: usize) -> Graph {
    let mut graph = Graph::new(width * depth + 1, 1, vec![0], &[width * depth]);
    for to in 0..width / 2 {
        graph.edge(0, 1 + to, noise.below(100) as u32);
    }
    for layer in 0..depth - 1 {
        for at in 0..width {
            for n in 0..4 {
                let to_layer = if n < 3 { layer + 1 } else { noise.below(layer as u64 + 1) as usize };
                let to = 1 + to_layer * width + noise.below(width as u64) as usize;
                graph.edge(1 + layer * width + at, to, noise.below(100) as u32);
            }
        }
    }
    graph
}

/// Holds what was found against paths counted and costs added up layer by layer.
fn assert_as_expected(
    way: &Way,
    graph: &Graph,
    expected: &HashMap<Vec<u64>, (u64, u64)>,
) -> Option<(Explored, u64)> {
    let counted = way.explored(&CountedPaths::of(graph)).unwrap_or_else(|e| panic!("{}: {e}", way.name));
    let cheapest = way.explored(&LeastCost(graph)).unwrap_or_else(|e| panic!("{}: {e}", way.name));
    let Verdict::Violated(violation) = &counted.report.verdict else {
        assert_eq!((counted.payload, cheapest.payload), (None, None), "{}", way.name);
        return None;
    };
    let (paths, cost) = expected[violation.path.last().expect("a goal is reached")];
    assert_eq!(counted.payload, Some(vec![paths]), "{}", way.name);
    assert_eq!(cheapest.payload, Some(vec![7, cost]), "{}", way.name);
    Some((counted, paths))
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
        Payload { words: 2, merge: Merge::Least }
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
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        let mut costs = Vec::new();
        match from {
            Some((state, _)) => self.0.costs(state, &out.labels()[first..], &mut costs),
            None => costs.resize(out.len() - first, 0),
        }
        // Two words, of which the last decides.
        let before = from.map_or(0, |(_, payload)| payload[1]);
        payloads.extend(costs.into_iter().flat_map(|cost| [7, before + u64::from(cost)]));
    }
}

#[test]
fn shortest_paths_are_those_of_brute_force_in_every_search_that_keeps_payloads() {
    let mut noise = Random::new(5);
    let keeping = keeping();
    let (mut found, mut several) = (0, 0);
    for n in 0..400 {
        let graph = Graph::priced(&mut noise, n % 2 == 0, Labels::Distinct, |noise| noise.below(5) as u32);
        let expected = by_layers(&graph);
        let question = Question::everything(graph.properties(), DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let task = SearchTask { space: &graph, question: &question, control: &control };
        let usual = runs::explored_in_ram(&Breadth, task, &Governor::new(16 << 20), 1);
        for (name, method) in [&keeping[n % 2], &keeping[2 + n % (keeping.len() - 2)]] {
            let step = (n % 4 == 0).then_some(1);
            let way = Way { name, method: &**method, threads: 1 + n % 3, budget: 4 << 20, step };
            if let Some((counted, paths)) = assert_as_expected(&way, &graph, &expected) {
                found += 1;
                several += u32::from(paths > 1);
                assert_eq!(counted.report.verdict, usual.verdict, "graph {n}, {name}");
                assert_eq!(counted.report.depth, usual.depth, "graph {n}, {name}");
            } else {
                assert_eq!(usual.verdict, Verdict::Holds, "graph {n}, {name}");
            }
        }
    }
    assert!(found > 200 && several > 40, "{found} goals, {several} reached in several ways");
}

#[test]
fn payloads_are_merged_beyond_memory_and_on_several_threads() {
    let graph = in_layers(&mut Random::new(9), 6000, 8);
    let expected = by_layers(&graph);
    for (name, method) in keeping() {
        for threads in [1, 3] {
            let budget = match name {
                "bfs" => 16 << 20,
                "auto" => 3 << 19,
                _ => 2 << 20,
            };
            let way = Way { name, method: &*method, threads, budget, step: None };
            let (counted, paths) =
                assert_as_expected(&way, &graph, &expected).expect("the goal is in the last layer");
            assert!(paths > 100, "{paths}");
            if name == "auto" {
                let stages: Vec<&str> = counted.report.stages.iter().map(|stage| stage.storage).collect();
                assert_eq!(stages, ["table", "sorted runs"], "the table is left in the middle of a layer");
            }
        }
    }
}

#[test]
fn ways_through_a_square_are_counted_until_a_word_is_full() {
    // From corner to corner of a square with 60 steps a side there are 120 choose 60 ways; with 30, what a word holds.
    for (side, paths) in [(31, 118_264_581_564_861_424), (61, u64::MAX)] {
        let square = Graph::square(side, &mut Random::new(1), |_| 1);
        let way = Way { name: "auto", method: &Auto, threads: 1, budget: 1 << 20, step: None };
        let found = way.explored(&CountedPaths::of(&square)).expect("it runs");
        assert_eq!(found.payload, Some(vec![paths]), "side {side}");
    }
}

#[test]
fn a_killed_search_counts_on() {
    // Of the second, `auto` leaves the table.
    let graphs = [in_layers(&mut Random::new(2), 900, 9), in_layers(&mut Random::new(2), 5000, 9)];
    let keeping = keeping();
    let mut random = Random::new(3);
    let mut resumed = 0;
    for (name, method) in keeping.iter().filter(|(name, _)| *name != "bfs") {
        let graph = &graphs[usize::from(*name == "auto")];
        let (expected, space) = (by_layers(graph), CountedPaths::of(graph));
        let begun = Way { name, method: &**method, threads: 2, budget: 2 << 20, step: None };
        let whole = FaultyFolder::new(Faults::default());
        begun.explored_in(&space, Arc::new(whole.clone()), Begin::Fresh).expect("it runs");
        for _ in 0..3 {
            let die_at = random.below(whole.operations());
            let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
            let outcome = begun.explored_in(&space, Arc::new(folder.clone()), Begin::Fresh);
            if outcome.is_ok() {
                continue; // commits are timed, so a run may need fewer operations than another
            }
            assert!(folder.is_dead(), "{name} dies at {die_at}");
            let left = folder.after_crash([Survival::Synced, Survival::Everything][random.below(2) as usize]);
            // Any other way goes on with the run.
            let (name, method) = &keeping[1 + random.below(keeping.len() - 1)];
            let way = Way { name, method: &**method, threads: 1, budget: 3 << 20, step: None };
            match way.explored_in(&space, Arc::new(left.clone()), Begin::Again) {
                Ok(found) => {
                    resumed += 1;
                    let Verdict::Violated(violation) = &found.report.verdict else {
                        panic!("{name} after {die_at}: {:?}", found.report.verdict);
                    };
                    let (paths, _) = expected[violation.path.last().expect("a path")];
                    assert_eq!(found.payload, Some(vec![paths]), "{name} after {die_at}");
                }
                Err(Trouble::Open(OpenError::NothingCommitted)) => {}
                Err(trouble) => panic!("{name} after {die_at}: {trouble}"),
            }
        }
    }
    assert!(resumed > 20, "{resumed} runs were left");
}

#[test]
fn a_run_is_not_resumed_with_other_payloads_but_its_layers_can_be_looked_at() {
    let graph = in_layers(&mut Random::new(4), 500, 6);
    let space = CountedPaths::of(&graph);
    let folder = FaultyFolder::new(Faults::default());
    let way = Way {
        name: "sort",
        method: &Strategy::named("sort").expect("a name"),
        threads: 1,
        budget: 2 << 20,
        step: None,
    };
    way.explored_in(&space, Arc::new(folder.clone()), Begin::Fresh).expect("it runs");
    let other = way.explored_in(&graph, Arc::new(folder.clone()), Begin::Again);
    assert!(matches!(other, Err(Trouble::OtherPayloads)), "{other:?}");
    let governor = Governor::new(2 << 20);
    let kept = ledger(Arc::new(folder), Begin::Again, &governor, &graph).expect("it is there");
    let kept = KeptLayers::open(kept, &graph, &governor).expect("it opens").expect("it has layers");
    let (known, mut states) = (by_layers(&graph), 0);
    for depth in 0..kept.depth() {
        kept.visit(depth, |block| {
            states += block.len() as u64;
            assert!(block.iter().all(|state| known.contains_key(&vec![*state])), "bare states");
        })
        .expect("it is read");
    }
    assert_eq!(states, (0..kept.depth()).map(|depth| kept.states(depth)).sum::<u64>());
}

#[test]
fn searches_that_would_lose_payloads_say_so() {
    let graph = in_layers(&mut Random::new(4), 50, 3);
    let space = CountedPaths::of(&graph);
    let structured = Strategy::named("structured").expect("a name");
    let covering = Strategy::covering();
    let part = PartitionOptions::default();
    let refusing: [(&'static str, &dyn Method, &str); 5] = [
        ("dfs", &Depth, "layer by layer"),
        ("relaxed", &Relaxed, "layer by layer"),
        ("part", &part, "layer by layer"),
        ("structured", &structured, "first generated"),
        ("covering", &covering, "larger one"),
    ];
    for (name, method, why) in refusing {
        let way = Way { name, method, threads: 1, budget: 8 << 20, step: None };
        match way.explored(&space) {
            Err(trouble @ Trouble::Payloads(_)) => assert!(trouble.to_string().contains(why), "{trouble}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}
