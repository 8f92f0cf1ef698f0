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
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::ledger::Ledger;
use hadal_search::partition::PartitionOptions;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::relaxed::Relaxed;
use hadal_search::strategies::{self, Resumes};
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Explored, Limits, Method, Phase, Question, Report, SearchTask, Setting,
    StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_system::guide::NoPriority;
use hadal_system::guide::{Goal, Guide};
use hadal_system::{PropertyKind, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use hadal_testkit::{Faults, FaultyFolder, Random};
use runs::{Begin, ledger};
use spaces::Grid;
use std::collections::HashSet;
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

/// Interrupts the search when the last state of a layer is expanded: what is left of the step is to find the next layer.
struct InterruptedAt<'s> {
    inner: &'s Grid,
    control: &'s Control,
    state: Vec<u64>,
}

struct InterruptingWorker<'s>(Box<dyn Worker + 's>, &'s InterruptedAt<'s>);

impl WrapsSpace for InterruptedAt<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.inner
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(InterruptingWorker(self.inner.worker(), self))
    }
}

impl WrapsWorker for InterruptingWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.0
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.0
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if state == self.1.state {
            self.1.control.interrupt();
        }
        self.0.successors(state, out);
    }
}

#[test]
fn an_interrupt_ends_the_merge_that_finds_a_layer_and_the_run_goes_on() {
    let grid = Grid::torus(3, 40).scrambled().with_fields();
    let sort = Strategy::named("sort").expect("a strategy");
    // Small batches: the candidates of a layer are in several runs, which are merged in the end.
    let sort = Strategy { cache: CacheKind::Off, ..sort };
    let (whole, _) = whole(&sort, &grid, 1, u64::MAX);
    let wide = whole.layers.iter().enumerate().max_by_key(|(_, layer)| layer.states).expect("layers").0;
    // The last state of the widest layer, as the journal has them in order.
    let layers = layers_of(&grid);
    let last =
        layers[wide].iter().max_by(|a, b| hadal_system::state::compare(a, b)).expect("a state").clone();
    let question = Question::everything(grid.properties(), DeadlockNotion::Off);
    let (control, governor) = (Control::new(Limits::default()), Governor::new(BUDGET));
    let space = InterruptedAt { inner: &grid, control: &control, state: last };
    let folder = FaultyFolder::new(Faults::default());
    let place =
        Place { folder: folder.clone(), space: &space, governor: governor.clone(), begin: Begin::Fresh };
    let task = SearchTask { space: &space, question: &question, control: &control };
    let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&place) };
    let stopped = explore::explore(&sort, setting).expect("it stops").report;
    assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted));
    assert_eq!(stopped.depth, Some(wide as u64), "the next layer is not found to its end");
    let (again, _) = run(&sort, &grid, (&folder, Begin::Again), 1, Steps::ToTheEnd(u64::MAX));
    assert_same(&again.report, &whole, "resumed");
}

/// The states by their distance from the initial ones.
fn layers_of(space: &dyn StateSpace) -> Vec<Vec<Vec<u64>>> {
    let (mut worker, mut out) = (space.worker(), Successors::new(space.words()));
    worker.initial(&mut out);
    let mut layer: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut known: HashSet<Vec<u64>> = layer.iter().cloned().collect();
    let mut layers = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for state in &layer {
            out.clear();
            worker.successors(state, &mut out);
            next.extend(out.iter().map(|(_, to)| to.to_vec()).filter(|to| known.insert(to.clone())));
        }
        layers.push(std::mem::replace(&mut layer, next));
    }
    layers
}

#[test]
fn no_step_counts_a_tenth_of_a_second_beyond_its_work() {
    const MOST: u64 = 100_000_000;
    let grid = Grid::torus(3, 60).with_fields();
    for (name, method, _) in methods().into_iter().filter(|(name, ..)| !name.starts_with("sort-")) {
        let folder = FaultyFolder::new(Faults::default());
        let question = Question::everything(grid.properties(), DeadlockNotion::Off);
        // A large budget: layers in RAM, blocks and tables are as large as they get.
        let (control, governor) = (Control::new(Limits::default()), Governor::new(1 << 30));
        let place = Place { folder, space: &grid, governor: governor.clone(), begin: Begin::Fresh };
        let task = SearchTask { space: &grid, question: &question, control: &control };
        let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&place) };
        let mut explorer = method.explorer(setting).expect("it begins");
        let mut before = explorer.progress();
        while before.phase != Phase::Over && before.states < 200_000 {
            let now = explorer.step(1_000_000).expect("it goes on");
            assert!(
                now.work - before.work < MOST,
                "{name}: {} at {} states",
                now.work - before.work,
                now.states
            );
            before = now;
        }
        assert!(before.states >= 200_000, "{name}: {before:?}");
    }
}

#[test]
fn the_merge_of_a_layer_on_disk_rests() {
    // Twice what a step is asked for, and the largest piece: what memory holds when it is written.
    const WORK: u64 = 5_000;
    const MOST: u64 = 2 * WORK + BUDGET;
    let grid = Grid::torus(3, 40).with_fields();
    for (name, method, _) in methods() {
        if ["bfs", "dfs", "auto", "part"].contains(&&name[..]) {
            continue;
        }
        let folder = FaultyFolder::new(Faults::default());
        let question = Question::everything(grid.properties(), DeadlockNotion::Off);
        let (control, governor) = (Control::new(Limits::default()), Governor::new(BUDGET));
        let place = Place { folder, space: &grid, governor: governor.clone(), begin: Begin::Fresh };
        let task = SearchTask { space: &grid, question: &question, control: &control };
        let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&place) };
        let mut explorer = method.explorer(setting).expect("it begins");
        let (mut before, mut rests) = (explorer.progress(), 0);
        while before.phase != Phase::Over {
            let now = explorer.step(WORK).expect("it goes on");
            assert!(now.work >= before.work, "{name}: {before:?} {now:?}");
            assert!(now.work - before.work < MOST, "{name}: {}", now.work - before.work);
            let merges = now.phase == Phase::Within && now.transitions == before.transitions;
            rests += u64::from(merges && now.work > before.work);
            before = now;
        }
        let explored = explorer.finish().expect("it is over");
        assert_eq!((explored.report.states, explored.report.verdict), (64_000, Verdict::Holds), "{name}");
        // A diagram has room for all that the relaxed one closes.
        assert!(rests > 10 || name == "relaxed", "{name}: {rests}");
    }
}
