//! A search that ends in a violation counts the layer being found: the same figures in RAM and on disk, whatever the strategy,
//! the threads and the budget, and after a kill.

mod runs;
mod spaces;

use hadal_search::auto::Auto;
use hadal_search::explore::Method;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::partial::Bound;
use hadal_search::ram::Breadth;
use hadal_search::strategies;
use hadal_search::strategy::Strategy;
use hadal_search::{DeadlockNotion, Limits, Report, Verdict};
use hadal_store::vfs::Vfs;
use hadal_system::{PropertyKind, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use hadal_testkit::{Faults, FaultyFolder, Survival};
use runs::{Begin, Setting, assert_same, in_ram};
use spaces::Grid;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Graphs with a state that is wrong, in a layer with many others.
fn graphs() -> Vec<(&'static str, Grid)> {
    vec![
        ("torus", Grid::torus(3, 20).with_fields().with(PropertyKind::Invariant, |p| p != [9, 8, 3])),
        (
            "one way",
            Grid::one_way(2, 90).scrambled().with_fields().with(PropertyKind::Invariant, |p| p != [60, 41]),
        ),
        // Duplicates lie a whole round back: layers that were compared with few others hold old states.
        (
            "cycles",
            Grid::cycles(2, 24).scrambled().with_fields().with(PropertyKind::Invariant, |p| p != [20, 23]),
        ),
        ("first state", Grid::torus(2, 9).with_fields().with(PropertyKind::Invariant, |p| p != [0, 0])),
        // The last layer of all: nothing is found with it.
        ("corner", Grid::one_way(2, 40).with_fields().with(PropertyKind::Invariant, |p| p != [39, 39])),
    ]
}

/// Every layered strategy, and those whose options let layers hold old states for a while.
fn ways() -> Vec<(String, Strategy)> {
    let mut ways: Vec<(String, Strategy)> =
        strategies::on_disk().map(|(name, strategy)| (name.to_owned(), strategy)).collect();
    for name in ["partial", "hash", "phased"] {
        for layers in [1, 3] {
            let (bound, cache) = (Some(Bound::Layers(layers)), CacheKind::Off);
            let strategy = Strategy { bound, cache, ..Strategy::named(name).expect("it is known") };
            ways.push((format!("{name} --bound {layers} --cache off"), strategy));
        }
    }
    ways
}

/// Those that may count states again on a graph that goes one way.
fn forgets(name: &str) -> bool {
    ["layered", "frontier"].contains(&name)
}

/// The same figures, and a path of the same length: where layers are deleted, another one of the shortest may be found.
fn assert_agrees(mut report: Report, expected: &Report, name: &str, what: &str) {
    if let (Verdict::Violated(found), Verdict::Violated(other), true) =
        (&mut report.verdict, &expected.verdict, forgets(name))
    {
        assert_eq!(found.path.len(), other.path.len(), "{what}");
        found.path.clone_from(&other.path);
    }
    assert_same(&report, expected, what);
}

fn fresh(method: &dyn Method, setting: &Setting) -> Report {
    let folder = Arc::new(FaultyFolder::new(Faults::default()));
    runs::search(method, setting, folder, Begin::Fresh).expect("nothing fails").report
}

#[test]
fn every_strategy_counts_what_the_search_in_ram_counts() {
    for (graph, space) in &graphs() {
        let expected = in_ram(space, DeadlockNotion::Off);
        assert!(matches!(expected.verdict, Verdict::Violated(_)), "{graph}");
        for (name, strategy) in &ways() {
            if forgets(name) && *graph == "cycles" {
                continue;
            }
            for (threads, budget) in [(1, 3 << 20), (2, 16 << 20)] {
                let setting = Setting { space, threads, budget, limits: Limits::default() };
                let what = format!("{name} on {graph}, {threads} threads, {budget} bytes");
                assert_agrees(fresh(strategy, &setting), &expected, name, &what);
            }
        }
    }
}

#[test]
fn limits_do_not_end_a_search_that_has_found_something() {
    for (graph, space) in &graphs() {
        let expected = in_ram(space, DeadlockNotion::Off);
        let before: u64 = expected.layers.iter().map(|layer| layer.states).sum();
        let (max_states, max_depth) = (Some(before + 1), Some(expected.layers.len() as u64));
        let limits = Limits { max_states, max_depth, ..Limits::default() };
        let setting = Setting { space, threads: 1, budget: 3 << 20, limits };
        let strategy = Strategy::named("sort").expect("it is known");
        assert_same(&fresh(&strategy, &setting), &expected, graph);
    }
}

#[test]
fn auto_counts_the_same_in_every_storage() {
    let space = Grid::torus(3, 40).scrambled().with(PropertyKind::Invariant, |p| p != [17, 18, 3]);
    let expected = in_ram(&space, DeadlockNotion::Off);
    let mut storages = 0;
    for budget in [1 << 20, 3 << 19, 2 << 20, 4 << 20, 64 << 20] {
        for threads in [1, 2] {
            let setting = Setting { space: &space, threads, budget, limits: Limits::default() };
            let report = fresh(&Auto, &setting);
            assert_same(&report, &expected, &format!("{budget} bytes, {threads} threads"));
            storages = storages.max(report.stages.len());
        }
    }
    assert!(storages > 1, "the table is left");
}

#[test]
fn a_violated_run_that_is_killed_or_resumed_says_the_same() {
    for (graph, space) in &graphs() {
        let expected = in_ram(space, DeadlockNotion::Off);
        let setting = Setting { space, threads: 1, budget: 3 << 20, limits: Limits::default() };
        for (name, strategy) in &ways() {
            if forgets(name) && *graph == "cycles" {
                continue;
            }
            let whole = FaultyFolder::new(Faults::default());
            let report = runs::committing(strategy, &setting, Arc::new(whole.clone()), Begin::Fresh);
            assert_agrees(report.unwrap().report, &expected, name, &format!("{name} on {graph}"));
            let operations = whole.operations();
            // Over and resumed, it finds the violation again.
            let mut folders = vec![whole];
            for part in 1..4 {
                let die_at = Some(operations * part / 4);
                let folder = FaultyFolder::new(Faults { die_at, ..Faults::default() });
                if runs::committing(strategy, &setting, Arc::new(folder.clone()), Begin::Fresh).is_err() {
                    folders.push(folder.after_crash(Survival::Synced));
                }
            }
            for (n, folder) in folders.into_iter().enumerate() {
                let again: Arc<dyn Vfs> = Arc::new(folder);
                match runs::committing(strategy, &setting, again, Begin::Again) {
                    Ok(explored) => {
                        let what = format!("{name} on {graph}, resumed ({n})");
                        assert_agrees(explored.report, &expected, name, &what);
                    }
                    // Before the first layer is complete, nothing is committed.
                    Err(error) => {
                        assert!(n > 0 || *graph == "first state", "{name} on {graph}, resumed: {error}");
                    }
                }
            }
        }
    }
}

/// Counts how often states are expanded.
struct Counting<'s>(&'s dyn StateSpace, AtomicU64);

struct CountingWorker<'s>(Box<dyn Worker + 's>, &'s AtomicU64);

impl WrapsSpace for Counting<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.0
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(CountingWorker(self.0.worker(), &self.1))
    }
}

impl WrapsWorker for CountingWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.0
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.0
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.successors(state, out);
    }
}

#[test]
fn a_trace_takes_few_expansions_besides_the_search() {
    let grid = Grid::torus(3, 40).with(PropertyKind::Invariant, |p| p != [15, 18, 17]);
    let expanded = |method: &dyn Method| {
        let space = Counting(&grid, AtomicU64::new(0));
        let setting = Setting { space: &space, threads: 1, budget: 16 << 20, limits: Limits::default() };
        let report = fresh(method, &setting);
        let Verdict::Violated(violation) = &report.verdict else { panic!("{:?}", report.verdict) };
        assert_eq!(violation.path.len(), 51);
        grid.assert_connected(&violation.path);
        let searched: u64 = report.layers.iter().map(|layer| layer.states).sum();
        (space.1.into_inner() - searched, searched)
    };
    for name in ["bfs", "sort"] {
        let method: Box<dyn Method> = match Strategy::named(name) {
            Some(strategy) => Box::new(strategy),
            None => Box::new(Breadth),
        };
        let (more, searched) = expanded(&*method);
        assert!(20 * more < searched, "{name}: {more} more than {searched}");
    }
    // Of fifty layers two are left: what is missing is halved by each repeated search.
    let strategy = Strategy { keep_layers: Some(2), ..Strategy::named("layered").expect("it is known") };
    let (more, searched) = expanded(&strategy);
    assert!(more < 3 * searched, "{more} more than {searched}");
}
