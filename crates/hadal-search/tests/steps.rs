//! Every explorer in steps: however small they are, the answer and its figures are those of one go, every step gets on, and
//! a search that is ended early is stopped, never finished, and goes on from its run.

mod drawn;
mod runs;
mod spaces;

use drawn::{Estimates, Graph, Kind};
use hadal_search::auto::Auto;
use hadal_search::directed::{Counting, Directed, DirectedOptions, Order};
use hadal_search::explore::{self, Folders, Run};
use hadal_search::external::{External, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::partition::PartitionOptions;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::relaxed::Relaxed;
use hadal_search::strategies::{self, Resumes};
use hadal_search::{
    Control, DeadlockNotion, Explored, Limits, Method, Phase, Question, Report, SearchTask, Setting,
    StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_system::guide::NoPriority;
use hadal_system::guide::{Goal, Guide};
use hadal_system::{PropertyKind, StateSpace};
use hadal_testkit::{Faults, FaultyFolder, Random};
use runs::{Begin, ledger};
use spaces::Grid;
use std::sync::Arc;

const BUDGET: u64 = 3 << 20;

struct Place<'a> {
    folder: FaultyFolder,
    space: &'a dyn StateSpace,
    governor: Governor,
    begin: Begin,
}

impl Folders for Place<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        ledger(Arc::new(self.folder.clone()), self.begin, &self.governor, self.space)
    }

    fn beside(&self) -> Result<Ledger, Trouble> {
        let folder = Arc::new(FaultyFolder::new(Faults::default()));
        ledger(folder, Begin::Fresh, &self.governor, self.space)
    }
}

/// How many steps a search makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// As many as it takes, of so much work.
    ToTheEnd(u64),
    /// So many.
    Some(u64),
}

fn run(
    method: &dyn Method,
    space: &dyn StateSpace,
    (folder, begin): (&FaultyFolder, Begin),
    threads: usize,
    steps: Steps,
) -> (Explored, u64) {
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let governor = Governor::new(BUDGET);
    let place = Place { folder: folder.clone(), space, governor: governor.clone(), begin };
    let run = match begin {
        Begin::Fresh => Run::New(&place),
        Begin::Again => Run::Resumed(&place),
    };
    let task = SearchTask { space, question: &question, control: &control };
    let mut explorer = method.explorer(Setting { task, governor: &governor, threads, run }).unwrap();
    let (mut made, mut before) = (0, explorer.progress());
    let (work, most) = match steps {
        Steps::ToTheEnd(work) => (work, u64::MAX),
        Steps::Some(most) => (1, most),
    };
    while before.phase != Phase::Over && made < most {
        let now = explorer.step(work).unwrap();
        assert_eq!(now, explorer.progress());
        assert!(now.memory <= BUDGET, "{now:?}");
        before = now;
        made += 1;
    }
    assert!(made < 10_000_000);
    (explorer.finish().unwrap(), made)
}

fn whole(method: &dyn Method, space: &dyn StateSpace, threads: usize, work: u64) -> (Report, u64) {
    let folder = FaultyFolder::new(Faults::default());
    let (explored, steps) = run(method, space, (&folder, Begin::Fresh), threads, Steps::ToTheEnd(work));
    (explored.report, steps)
}

fn assert_same(small: &Report, large: &Report, what: &str) {
    let numbers = |r: &Report| (r.states, r.transitions, r.depth, r.covers.clone(), r.actions.clone());
    assert_eq!(small.verdict, large.verdict, "{what}");
    assert_eq!(numbers(small), numbers(large), "{what}");
    let rows = |r: &Report| -> Vec<_> {
        r.layers
            .iter()
            .map(|l| (l.states, l.transitions, l.duplicates_cache, l.candidates, l.unique))
            .collect()
    };
    assert_eq!(rows(small), rows(large), "{what}");
    assert_eq!(small.stages.len(), large.stages.len(), "{what}");
}

/// Every method that needs no guide, and whether it leaves a run behind.
fn methods() -> Vec<(String, Box<dyn Method>, bool)> {
    let part = PartitionOptions { resident_states: Some(2000), ..PartitionOptions::default() };
    let mut methods: Vec<(String, Box<dyn Method>, bool)> = vec![
        ("bfs".into(), Box::new(Breadth), false),
        ("dfs".into(), Box::new(Depth), false),
        ("auto".into(), Box::new(Auto), true),
        ("relaxed".into(), Box::new(Relaxed), true),
        ("part".into(), Box::new(part), true),
    ];
    for (name, strategy) in strategies::on_disk().filter(|(name, _)| *name != "frontier") {
        methods.push((name.into(), Box::new(strategy), true));
    }
    methods
}

#[test]
fn steps_of_any_size_lead_to_the_same_answer() {
    let spaces = [
        Grid::torus(3, 22).scrambled().with_fields(),
        Grid::torus(3, 20).with_fields().with(PropertyKind::Invariant, |p| p != [9, 8, 7]),
    ];
    for space in &spaces {
        for (name, method, _) in methods() {
            let (large, one) = whole(&*method, space, 1, u64::MAX);
            let (small, many) = whole(&*method, space, 1, 1);
            assert_same(&small, &large, &name);
            let found = large.verdict != Verdict::Holds;
            assert!(found || many > one + 10, "{name}: {many} small steps, {one} large ones");
        }
    }
}

#[test]
fn steps_on_several_threads_see_every_state_once() {
    let space = Grid::torus(3, 30).with_fields();
    for (name, method, _) in methods() {
        for work in [1, 400_000] {
            let (report, _) = whole(&*method, &space, 3, work);
            assert_eq!(report.verdict, Verdict::Holds, "{name}");
            assert_eq!((report.states, report.transitions), (27_000, 6 * 27_000), "{name}");
        }
    }
}

#[test]
fn a_search_that_is_ended_early_is_stopped_and_goes_on_from_its_run() {
    let space = Grid::torus(3, 24).scrambled().with_fields();
    for (name, method, leaves) in methods() {
        for steps in [0, 1, 3, 20] {
            let folder = FaultyFolder::new(Faults::default());
            let (first, made) = run(&*method, &space, (&folder, Begin::Fresh), 1, Steps::Some(steps));
            if made < steps {
                continue;
            }
            assert_eq!(first.report.verdict, Verdict::Stopped(StopReason::Interrupted), "{name} {steps}");
            assert!(first.report.states <= 13_824, "{name} {steps}");
            assert!(leaves || first.resumes == Resumes::Nothing, "{name}");
            if steps < 3 || !leaves {
                continue;
            }
            assert_ne!(first.resumes, Resumes::Nothing, "{name} {steps}");
            let (rest, _) = run(&*method, &space, (&folder, Begin::Again), 2, Steps::ToTheEnd(1 << 20));
            assert_eq!(rest.report.verdict, Verdict::Holds, "{name} {steps}");
            assert_eq!((rest.report.states, rest.report.transitions), (13_824, 6 * 13_824), "{name} {steps}");
        }
    }
}

#[test]
fn guided_searches_find_the_same_in_steps_of_any_size() {
    let orders = [
        Order::Greedy,
        Order::AStar,
        Order::Weighted(2500),
        Order::HillClimbing,
        Order::Beam(3),
        Order::IterativeDeepening,
        Order::BreadthHeuristic,
        Order::Breadth,
        Order::Depth,
        Order::UniformCost,
        Order::Alternating,
    ];
    let mut paused = 0;
    for seed in 0..40 {
        let graph = Graph::long(seed, 600, 5);
        let guide = Estimates::new(&graph, Kind::Admissible, &mut Random::new(seed));
        let guide: &dyn Guide = &guide;
        let goal = &Goal::of_properties(graph.properties());
        for order in orders {
            for counting in [Counting::NowAndThen, Counting::EveryExpansion] {
                let options = DirectedOptions { order, counting, ..DirectedOptions::default() };
                let directed = Directed { guide, goal, priority: &NoPriority, options };
                let (large, _) = whole(&directed, &graph, 1, u64::MAX);
                let (small, steps) = whole(&directed, &graph, 1, 1);
                assert_same(&small, &large, &format!("{order} {seed}"));
                assert_eq!(small.particular.directed, large.particular.directed, "{order} {seed}");
                paused += u64::from(steps > 3);
            }
        }
        let external = External { guide, goal, options: ExternalOptions::default() };
        let (large, _) = whole(&external, &graph, 1, u64::MAX);
        let (small, _) = whole(&external, &graph, 1, 1);
        assert_same(&small, &large, &format!("external {seed}"));
    }
    assert!(paused > 50, "{paused}");
}

#[test]
fn a_search_that_nobody_steps_says_nothing() {
    let space = Grid::torus(2, 5);
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: &space, question: &question, control: &control };
    for method in [&Breadth as &dyn Method, &Depth, &Auto] {
        let governor = Governor::unlimited();
        let explorer = method.explorer(explore::Setting::in_ram(task, &governor, 1)).unwrap();
        assert_eq!(explorer.progress().states, 0);
        let explored = explorer.finish().unwrap();
        assert_eq!(explored.report.verdict, Verdict::Stopped(StopReason::Interrupted));
        assert_eq!(explored.finding(), None);
    }
}
