//! Every strategy of the seeds must give the numbers of the search in RAM, whatever the budget, the threads and the cache.

mod runs;
mod spaces;

use hadal_search::explore;
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::hash::{Sampling, SplitBy};
use hadal_search::layered::partial::Bound;
use hadal_search::operators::UsedOperators;
use hadal_search::strategy::{PartitionSource, Strategy};
use hadal_search::tiles::Tiles;
use hadal_search::{
    Control, DeadlockNotion, Explored, Limits, Proviso, Question, Report, SearchTask, StopReason, Verdict,
    ViolationKind, WhenFull,
};
use hadal_store::Governor;
use hadal_store::vfs::{Folder, Vfs};
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use runs::{Begin, assert_same, in_ram};
use spaces::{Grid, Wild};
use std::sync::Arc;

#[derive(Clone, Copy)]
struct Setting<'a> {
    space: &'a dyn StateSpace,
    strategy: &'a Strategy,
    threads: usize,
    budget: u64,
    limits: Limits,
}

const BUDGET: u64 = 3 << 20;

fn search(setting: &Setting, vfs: Arc<dyn Vfs>, begin: Begin) -> Result<Explored, Trouble> {
    let &Setting { space, strategy, threads, budget, limits } = setting;
    runs::search(strategy, &runs::Setting { space, threads, budget, limits }, vfs, begin)
}

fn whole(space: &dyn StateSpace, strategy: &Strategy, threads: usize) -> Explored {
    let folder = tempfile::tempdir().unwrap();
    let vfs = Arc::new(Folder::create(folder.path()).unwrap());
    let setting = Setting { space, strategy, threads, budget: BUDGET, limits: Limits::default() };
    search(&setting, vfs, Begin::Fresh).unwrap()
}

fn named(name: &str) -> Strategy {
    Strategy::named(name).unwrap()
}

/// Strategies that keep all layers, and so count exactly on every graph, and need not know the scalars of states.
fn exact() -> Vec<(&'static str, Strategy)> {
    hadal_search::strategies::on_disk()
        .filter(|&(name, _)| name != "frontier" && name != "structured")
        .collect()
}

#[test]
fn every_strategy_gives_the_numbers_of_the_search_in_ram() {
    let spaces = [Grid::torus(3, 20), Grid::torus(3, 20).scrambled(), Grid::one_way(2, 90).scrambled()];
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        assert!(expected.layers.iter().all(|layer| layer.balances()));
        for (name, mut strategy) in exact() {
            for (threads, cache) in [(1, CacheKind::Off), (2, strategy.cache)] {
                strategy.cache = cache;
                let report = whole(space, &strategy, threads).report;
                assert_same(&report, &expected, &format!("{name} {cache:?} {threads}"));
                assert_eq!(report.proviso, None);
            }
        }
    }
}

#[test]
fn buckets_phases_and_merges_on_several_threads_give_the_same_rows() {
    let space = Grid::torus(3, 64).scrambled().with_fields();
    let expected = in_ram(&space, DeadlockNotion::Off);
    let rows = |name: &str, threads: usize| {
        let strategy = Strategy { cache: CacheKind::Buffer, ..named(name) };
        let folder = tempfile::tempdir().unwrap();
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        let (strategy, limits) = (&strategy, Limits::default());
        // Enough for a judge a thread.
        let setting = Setting { space: &space, strategy, threads, budget: 64 << 20, limits };
        let report = search(&setting, vfs, Begin::Fresh).unwrap().report;
        assert_same(&report, &expected, &format!("{name}, {threads} threads"));
        let row = |layer: &hadal_search::report::Layer| (layer.candidates, layer.duplicates, layer.unique);
        report.layers.iter().map(row).collect::<Vec<_>>()
    };
    for name in ["hash", "phased", "sort", "sort-file-per-layer", "sort-separate", "partial", "selective"] {
        // Candidates are what is left of a thread's buffer, so their number depends on how states were shared out.
        let unique = |threads| rows(name, threads).into_iter().map(|row| row.2).collect::<Vec<_>>();
        assert_eq!(rows(name, 1), rows(name, 1), "{name}: one thread always does the same");
        assert_eq!(unique(1), unique(4), "{name}");
    }
}

#[test]
fn every_cache_gives_the_same_numbers_when_it_overflows() {
    let torus = Grid::torus(3, 34).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    for cache in [CacheKind::Off, CacheKind::Buffer, CacheKind::Table, CacheKind::Lru] {
        let strategy = Strategy { cache, ..named("sort") };
        let report = whole(&torus, &strategy, 2).report;
        assert_same(&report, &expected, &format!("{cache:?}"));
    }
}

#[test]
fn small_tables_force_splits_and_phases_and_the_numbers_stay() {
    let torus = Grid::torus(3, 40);
    let expected = in_ram(&torus, DeadlockNotion::Off);
    for split_by in [SplitBy::SmallestLargest, SplitBy::Fewest, SplitBy::Random] {
        // One byte that hardly varies: everything begins in few buckets.
        let partition = PartitionSource::Names(vec!["byte15".into()]);
        let strategy = Strategy { partition, split_by, ..named("hash") };
        let explored = whole(&torus, &strategy, 2);
        assert_same(&explored.report, &expected, &format!("{split_by:?}"));
        let saved = explored.partition.unwrap();
        let partition = PartitionSource::Saved(saved.clone());
        let again = whole(&torus, &Strategy { partition, split_by, ..named("hash") }, 1);
        assert_same(&again.report, &expected, "with the saved partition");
        assert_eq!(again.partition.as_ref(), Some(&saved), "a saved partition needs no more splits");
    }
    assert_same(&whole(&torus, &named("phased"), 2).report, &expected, "phased");
}

#[test]
fn every_way_to_choose_the_first_scalars_gives_the_same_numbers() {
    // Twelve coordinates that all vary: there is something to choose.
    let space = Grid::one_way(12, 2);
    let expected = in_ram(&space, DeadlockNotion::Off);
    let mut partitions = Vec::new();
    for sampling in
        [Sampling::Deep, Sampling::OneMore, Sampling::BreadthFirst, Sampling::Random(1), Sampling::Random(2)]
    {
        let partition = PartitionSource::Sampled(sampling);
        let explored = whole(&space, &Strategy { partition, ..named("hash") }, 1);
        assert_same(&explored.report, &expected, &format!("{sampling:?}"));
        let buckets = explored.report.disk.and_then(|disk| disk.buckets).expect("hash has buckets").buckets;
        partitions.push((buckets, explored.partition));
    }
    assert!(partitions[1].0 > partitions[0].0, "one more scalar, more buckets");
    assert_ne!(partitions[3].1, partitions[4].1, "another seed, other scalars");
}

#[test]
fn a_partition_for_something_else_is_refused() {
    let saved = whole(&Grid::torus(2, 9), &named("hash"), 1).partition.unwrap();
    let partitions = [
        PartitionSource::Saved(saved),
        PartitionSource::Saved("{".into()),
        PartitionSource::Names(vec!["nothing".into()]),
    ];
    for partition in partitions {
        let strategy = Strategy { partition, ..named("hash") };
        let folder = tempfile::tempdir().unwrap();
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        let space = &Grid::torus(3, 9);
        let setting =
            Setting { space, strategy: &strategy, threads: 1, budget: BUDGET, limits: Limits::default() };
        assert!(matches!(search(&setting, vfs, Begin::Fresh), Err(Trouble::Partition(_))));
    }
}

#[test]
fn partial_detection_ends_with_exact_counts_whatever_the_bound() {
    // Duplicates lie up to the whole length of a cycle back.
    let spaces = [Grid::torus(2, 40), Grid::cycles(3, 24), Grid::cycles(2, 70).scrambled()];
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        let mut again = 0;
        for bound in [Bound::Layers(1), Bound::Layers(3), Bound::Auto, Bound::Random, Bound::Selected] {
            for cache in [CacheKind::Off, CacheKind::Lru] {
                let strategy = Strategy { bound: Some(bound), cache, ..named("partial") };
                let report = whole(space, &strategy, 1).report;
                assert_same(&report, &expected, &format!("{bound:?} {cache:?}"));
                again += report.layers.iter().map(|layer| layer.again.states).sum::<u64>();
            }
        }
        assert!(again > 0 || space.is_undirected(), "bounds below the locality explore some states again");
    }
}

#[test]
fn partial_detection_reads_less_where_duplicates_lie_near() {
    let torus = Grid::torus(3, 60).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    let read = |strategy: Strategy, name: &str| {
        let strategy = Strategy { cache: CacheKind::Off, ..strategy };
        let report = whole(&torus, &strategy, 1).report;
        assert_same(&report, &expected, name);
        let layers = report.layers.iter();
        let windows: Vec<u64> = layers.clone().map(|layer| layer.window).collect();
        (layers.map(|layer| layer.bytes_read).sum::<u64>(), windows)
    };
    let (full, windows) = read(named("sort-file-per-layer"), "full");
    assert!(windows.iter().all(|&window| window == 0), "full detection has no window");
    let bound = Some(Bound::Layers(2));
    let (partial, windows) = read(Strategy { bound, ..named("partial") }, "partial");
    assert!(3 * partial < 2 * full, "{partial} bytes against {full}");
    assert!(windows.contains(&2), "{windows:?}");
    assert!(windows.iter().all(|&window| window == 0 || window == 2), "{windows:?}");
}

#[test]
fn selective_detection_looks_at_the_few_layers_that_duplicates_lie_in() {
    // All duplicates of earlier layers lie 100 layers back: a bound would have to be as large. Old layers share files, a few to each.
    let cycles = Grid::cycles(2, 100).scrambled();
    let expected = in_ram(&cycles, DeadlockNotion::Off);
    let layers = |name: &str| {
        let strategy = Strategy { cache: CacheKind::Off, ..named(name) };
        let folder = tempfile::tempdir().unwrap();
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        let (budget, limits) = (64 * BUDGET, Limits::default());
        let setting = Setting { space: &cycles, strategy: &strategy, threads: 1, budget, limits };
        let report = search(&setting, vfs, Begin::Fresh).unwrap().report;
        assert_same(&report, &expected, name);
        report.layers
    };
    let closed = |name: &str| layers(name).iter().map(|layer| layer.detection.closed_read).sum::<u64>();
    let (selected, all) = (closed("selective"), closed("sort-file-per-layer"));
    assert!(2 * selected < all, "{selected} bytes against {all}");
    let windows: Vec<u64> = layers("selective").iter().map(|layer| layer.window).collect();
    let few = windows[120..].iter().filter(|&&window| window > 0 && window <= 24).count();
    assert!(few > 60, "{windows:?}");
}

#[test]
fn a_bound_that_is_trusted_counts_again_what_lies_farther_back_and_says_so() {
    // Every step can be taken back: nothing lies farther back than two layers.
    let torus = Grid::torus(2, 60).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    for name in ["partial", "hash", "phased"] {
        let trusting =
            |layers| Strategy { bound: Some(Bound::Layers(layers)), trust_bound: true, ..named(name) };
        let report = whole(&torus, &trusting(2), 2).report;
        assert_same(&report, &expected, name);
        assert_eq!(report.proviso, Some(Proviso::BoundTrusted), "{name}");
        assert_eq!(report.layers.iter().map(|layer| layer.again.states).sum::<u64>(), 0, "{name}");
    }
    // With one layer it goes to and fro, counts so, and ends when nothing new can come.
    let (bound, cache) = (Some(Bound::Layers(1)), CacheKind::Off);
    let strategy = Strategy { bound, cache, trust_bound: true, ..named("partial") };
    let report = whole(&torus, &strategy, 1).report;
    assert_eq!((report.verdict, report.proviso), (Verdict::Holds, Some(Proviso::BoundTrusted)));
    assert!(report.states > expected.states, "{}", report.states);
}

#[test]
fn a_search_that_forgets_layers_ends_on_every_graph_and_has_seen_every_state() {
    for seed in 1..=60 {
        let graph = Wild::new(40 + seed % 50, seed);
        let expected = in_ram(&graph, DeadlockNotion::Off).states;
        for keep in 2..5 {
            let strategy = Strategy { keep_layers: Some(keep), cache: CacheKind::Off, ..named("layered") };
            graph.forget_seen();
            let report = whole(&graph, &strategy, 1).report;
            assert_eq!(report.verdict, Verdict::Holds, "seed {seed}");
            assert_eq!(graph.seen(), expected, "seed {seed}, {keep} layers");
            assert!(report.states >= expected, "seed {seed}");
        }
    }
}

#[test]
fn bounds_of_hashed_and_phased_detection_do_not_change_the_numbers() {
    let spaces = [Grid::cycles(3, 20), Grid::cycles(2, 70).scrambled(), Grid::torus(2, 60)];
    let mut again = 0;
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        for name in ["hash", "phased"] {
            for bound in [Bound::Layers(1), Bound::Layers(4), Bound::Auto] {
                for cache in [CacheKind::Off, CacheKind::Lru] {
                    let strategy = Strategy { bound: Some(bound), cache, ..named(name) };
                    let report = whole(space, &strategy, 2).report;
                    assert_same(&report, &expected, &format!("{name} {bound:?} {cache:?}"));
                    again += report.layers.iter().map(|layer| layer.again.states).sum::<u64>();
                }
            }
        }
    }
    assert!(again > 0, "bounds below the locality explore some states again");
}

#[test]
fn structured_detection_gives_the_numbers_of_the_search_in_ram() {
    let spaces = [
        Grid::torus(3, 30).with_fields(),
        Grid::cycles(3, 26).with_fields(),
        Grid::torus(3, 24).scrambled().with_fields(),
        Grid::one_way(2, 140).with_fields(),
    ];
    for (n, space) in spaces.iter().enumerate() {
        let expected = in_ram(space, DeadlockNotion::Off);
        for (threads, budget) in [(1, 2 << 20), (2, 3 << 20), (3, 24 << 20)] {
            let folder = tempfile::tempdir().unwrap();
            let vfs = Arc::new(Folder::create(folder.path()).unwrap());
            let strategy = &named("structured");
            let setting = Setting { space, strategy, threads, budget, limits: Limits::default() };
            let report = search(&setting, vfs, Begin::Fresh).unwrap().report;
            assert_same(&report, &expected, &format!("space {n}, {threads} threads, {budget} bytes"));
            if budget == 24 << 20 && n == 0 {
                let at_once: u64 = report.layers.iter().map(|layer| layer.duplicates_cache).sum();
                assert!(at_once * 10 > 9 * (report.transitions - report.states), "{at_once} known at once");
            }
        }
    }
}

#[test]
fn structured_detection_needs_the_scalars_of_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let vfs = Arc::new(Folder::create(folder.path()).unwrap());
    let (space, strategy) = (&Grid::torus(2, 9), &named("structured"));
    let setting = Setting { space, strategy, threads: 1, budget: BUDGET, limits: Limits::default() };
    assert!(matches!(search(&setting, vfs, Begin::Fresh), Err(Trouble::Partition(_))));
}

#[test]
fn a_full_disk_pauses_or_is_relieved_of_old_layers_as_asked() {
    let torus = Grid::torus(2, 160).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    let (mut paused, mut relieved) = (0, 0);
    for name in ["sort", "sort-file-per-layer", "phased", "partial", "hash"] {
        let strategy = &named(name);
        for capacity in [300 << 10, 420 << 10, 520 << 10] {
            for when_full in [WhenFull::Pause, WhenFull::DeleteLayers] {
                let limits = Limits { when_full, ..Limits::default() };
                let setting = Setting { space: &torus, strategy, threads: 1, budget: BUDGET, limits };
                let folder = FaultyFolder::new(Faults { capacity: Some(capacity), ..Faults::default() });
                let Ok(explored) = search(&setting, Arc::new(folder.clone()), Begin::Fresh) else { continue };
                let report = explored.report;
                match report.verdict {
                    Verdict::Holds => {
                        // Undirected: the two layers before are enough to know every duplicate.
                        assert_eq!(report.states, expected.states, "{name} {capacity} {when_full:?}");
                        relieved += usize::from(report.proviso.is_some());
                        assert!(when_full == WhenFull::DeleteLayers || report.proviso.is_none());
                    }
                    Verdict::Stopped(StopReason::DiskFull) => {
                        folder.set_faults(Faults::default());
                        let setting = Setting { limits: Limits::default(), ..setting };
                        match search(&setting, Arc::new(folder), Begin::Again) {
                            Ok(again) if when_full == WhenFull::Pause => {
                                assert_same(&again.report, &expected, &format!("{name} {capacity}"));
                                paused += 1;
                            }
                            Ok(again) => assert_eq!(again.report.states, expected.states, "{name}"),
                            Err(Trouble::Open(_) | Trouble::NothingToResume) => {}
                            Err(other) => panic!("{name}, {capacity} bytes: {other}"),
                        }
                    }
                    other => panic!("{name}, {capacity} bytes: {other:?}"),
                }
            }
        }
    }
    assert!(paused > 0 && relieved > 0, "{paused} paused, {relieved} relieved");
}

#[test]
fn traces_are_shortest_and_connected_also_when_layers_were_deleted() {
    let grid = Grid::torus(3, 20).with_fields().with(PropertyKind::Invariant, |p| p != [9, 8, 10]);
    for (name, _) in hadal_search::strategies::on_disk() {
        for keep_layers in [None, Some(2), Some(5)] {
            let strategy = named(name);
            let deletes = ["sort-file-per-layer", "layered", "frontier"].contains(&name);
            if keep_layers.is_some() && !deletes {
                continue;
            }
            let keep_layers = keep_layers.or(strategy.keep_layers);
            let report = whole(&grid, &Strategy { keep_layers, ..strategy }, 2).report;
            let Verdict::Violated(violation) = report.verdict else { panic!("{name} {:?}", report.verdict) };
            assert_eq!(violation.kind, ViolationKind::Invariant(PropertyId(0)));
            assert_eq!(violation.path.len(), 9 + 8 + 10 + 1, "{name} {keep_layers:?}");
            grid.assert_connected(&violation.path);
        }
    }
}

#[test]
fn deleted_layers_are_said_and_a_diameter_ends_the_search() {
    // Undirected: two layers suffice to know every duplicate.
    let torus = Grid::torus(3, 20);
    let report = whole(&torus, &named("frontier"), 1).report;
    assert_eq!((report.verdict, report.states), (Verdict::Holds, 8000));
    assert!(matches!(report.proviso, Some(Proviso::LayersDeleted { .. })));
    let strategy = Strategy { keep_bytes: Some(60 << 10), ..named("layered") };
    let report = whole(&torus.scrambled(), &strategy, 1).report;
    assert_eq!((report.verdict, report.states), (Verdict::Holds, 8000));
    assert!(matches!(report.proviso, Some(Proviso::LayersDeleted { .. })));
    // A ring that goes one way: old layers are needed to see that it closes.
    let ring = Grid::cycles(1, 1500);
    let strategy =
        Strategy { keep_layers: Some(10), cache: CacheKind::Off, diameter: Some(1499), ..named("layered") };
    let report = whole(&ring, &strategy, 1).report;
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(report.proviso, Some(Proviso::Diameter { bound: 1499 }));
    // Without it the search goes round, notices that nothing new can come, and ends.
    let report = whole(&ring, &Strategy { diameter: None, ..strategy }, 1).report;
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(matches!(report.proviso, Some(Proviso::LayersDeleted { .. })));
    let states = in_ram(&ring, DeadlockNotion::Off).states;
    assert!(report.states >= states && report.states <= 4 * states, "{} of {states}", report.states);
}

#[test]
fn what_deleted_layers_hide_depends_on_the_layers_kept_alone() {
    // Each way round has 40 steps: with fewer layers, states are met again and counted again.
    let cycles = Grid::cycles(2, 40);
    for (kept, forgets) in [(12, true), (30, true), (60, false)] {
        let strategy = Strategy { keep_layers: Some(kept), diameter: Some(100), ..named("layered") };
        let limits = Limits::default();
        let setting = Setting { space: &cycles, strategy: &strategy, threads: 1, budget: BUDGET, limits };
        let folder = || Arc::new(FaultyFolder::new(Faults::default()));
        let whole = search(&setting, folder(), Begin::Fresh).unwrap().report;
        assert_eq!(whole.states > 1600, forgets, "{kept} layers: {} states", whole.states);
        let counts = |report: &Report| -> Vec<(u64, u64)> {
            report.layers.iter().map(|layer| (layer.states, layer.transitions)).collect()
        };
        for (budget, threads) in [(16 * BUDGET, 1), (BUDGET, 2), (64 * BUDGET, 2)] {
            let setting = Setting { budget, threads, ..setting };
            let report = search(&setting, folder(), Begin::Fresh).unwrap().report;
            assert_eq!(counts(&report), counts(&whole), "{kept} layers, {budget} bytes, {threads} threads");
        }
        let vfs = folder();
        let limits = Limits { max_depth: Some(47), ..limits };
        search(&Setting { limits, ..setting }, vfs.clone(), Begin::Fresh).unwrap();
        let report = search(&setting, vfs, Begin::Again).unwrap().report;
        assert_eq!(
            (report.states, report.transitions),
            (whole.states, whole.transitions),
            "{kept} layers, resumed"
        );
    }
}

#[test]
fn layers_in_ram_give_the_numbers_of_those_on_disk_and_fewer_states_are_stored() {
    let torus = Grid::torus(3, 30).scrambled();
    let cycles = Grid::cycles(2, 40);
    for (space, kept) in [(&torus, 3), (&cycles, 12), (&cycles, 60)] {
        let on_disk = Strategy { keep_layers: Some(kept), ..named("layered") };
        let expected = whole(space, &on_disk, 1).report;
        let strategy = Strategy { in_ram: true, ..on_disk };
        for (threads, budget) in [(1, BUDGET), (2, 4 * BUDGET)] {
            let (control, governor) = (Control::new(Limits::default()), Governor::new(budget));
            let question = Question::everything(space.properties(), DeadlockNotion::Off);
            let task = SearchTask { space, question: &question, control: &control };
            let report = runs::explored_in_ram(&strategy, task, &governor, threads);
            assert_same(&report, &expected, &format!("{kept} layers, {threads} threads"));
            assert!(governor.peak() <= budget && report.disk.is_none());
            let peak = report.particular.peak_states.expect("layers are stored");
            assert_eq!(Some(peak), expected.particular.peak_states);
            let widest = report.layers.iter().map(|layer| layer.states).max().unwrap_or(0);
            assert!(peak >= widest && peak <= (kept + 1) * widest, "{peak} of {widest} in a layer");
        }
    }
    // Not even the layers that are kept fit.
    let (control, governor) = (Control::new(Limits::default()), Governor::new(BUDGET));
    let wide = Grid::torus(3, 60).padded(12);
    let question = Question::everything(wide.properties(), DeadlockNotion::Off);
    let task = SearchTask { space: &wide, question: &question, control: &control };
    let strategy = Strategy { keep_layers: Some(40), in_ram: true, ..named("layered") };
    let verdict = match explore::explore(&strategy, explore::Setting::in_ram(task, &governor, 1)) {
        Ok(explored) => explored.report.verdict,
        Err(trouble) => {
            assert!(trouble.over_budget().is_some(), "{trouble}");
            return;
        }
    };
    assert!(matches!(verdict, Verdict::Stopped(StopReason::Memory { .. })), "{verdict:?}");
}

#[test]
fn distances_of_duplicates_show_the_locality_of_the_graph() {
    let report = whole(&Grid::torus(2, 60), &named("sort-file-per-layer"), 1).report;
    let farthest = report.layers.iter().flat_map(|layer| &layer.by_distance).map(|d| d.nearest).max();
    assert!(farthest.is_none_or(|nearest| nearest <= 2), "an undirected graph repeats two layers at most");
    let strategy = Strategy { cache: CacheKind::Off, ..named("sort-file-per-layer") };
    let report = whole(&Grid::cycles(2, 40), &strategy, 1).report;
    // Each of few layers has a file: a state that goes round comes again after 40 steps, and it is seen that it does.
    let found: Vec<_> = report.layers.iter().flat_map(|layer| &layer.by_distance).collect();
    assert!(found.iter().all(|found| (found.nearest, found.farthest) == (40, 40)), "{found:?}");
    // Both ways round lead to the first state in one layer.
    assert_eq!(found.iter().map(|found| found.found).sum::<u64>(), 79);
    let cycles = Grid::cycles(1, 300);
    let strategy = Strategy { cache: CacheKind::Off, ..named("sort") };
    let report = whole(&cycles, &strategy, 1).report;
    let last = report.layers.last().unwrap();
    assert_eq!((last.duplicates.earlier, last.by_distance[0].farthest), (1, 300));
}

#[test]
fn a_run_stopped_anywhere_resumes_with_the_same_or_another_strategy() {
    let torus = Grid::torus(3, 24).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    let strategies = exact();
    for (n, (name, strategy)) in strategies.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let vfs: Arc<dyn Vfs> = Arc::new(Folder::create(folder.path()).unwrap());
        let limits = Limits { max_states: Some(9_000), ..Limits::default() };
        let setting = Setting { space: &torus, strategy, threads: 2, budget: BUDGET, limits };
        let report = search(&setting, vfs.clone(), Begin::Fresh).unwrap().report;
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit), "{name}");
        let (other, next) = &strategies[(n + n % 2) % strategies.len()];
        let limits = Limits::default();
        let setting = Setting { space: &torus, strategy: next, threads: 1, budget: 2 * BUDGET, limits };
        let report = search(&setting, vfs, Begin::Again).unwrap().report;
        assert_same(&report, &expected, &format!("{name}, then {other}"));
    }
}

#[test]
fn a_run_killed_anywhere_resumes_to_the_same_numbers() {
    let torus = Grid::torus(2, 110).scrambled();
    let expected = in_ram(&torus, DeadlockNotion::Off);
    let mut resumed = 0;
    for (name, mut strategy) in exact() {
        strategy.cache = CacheKind::Off;
        let setting = Setting {
            space: &torus,
            strategy: &strategy,
            threads: 1,
            budget: BUDGET,
            limits: Limits::default(),
        };
        let whole = FaultyFolder::new(Faults::default());
        search(&setting, Arc::new(whole.clone()), Begin::Fresh).unwrap();
        let operations = whole.operations();
        for part in 1..5 {
            let die_at = operations * part / 5;
            let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
            if search(&setting, Arc::new(folder.clone()), Begin::Fresh).is_ok() {
                continue; // commits are timed, so a run may need fewer operations than another
            }
            let again: Arc<dyn Vfs> = Arc::new(folder.after_crash(Survival::Synced));
            match search(&setting, again, Begin::Again) {
                Ok(explored) => {
                    assert_same(&explored.report, &expected, &format!("{name} killed at {die_at}"));
                    resumed += 1;
                }
                Err(Trouble::Open(_) | Trouble::NothingToResume) => {}
                Err(other) => panic!("{name} killed at {die_at}: {other}"),
            }
        }
    }
    assert!(resumed > 0, "some kills come after a commit");
}

/// The 8-puzzle has 181 440 states within 31 moves; every move can be taken back.
#[test]
fn marked_operators_replace_closed_states_where_steps_can_be_undone() {
    let puzzle = Tiles::new(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).expect("a puzzle").without_goal();
    let question = Question::everything(puzzle.properties(), DeadlockNotion::Stuttering);
    let strategy = Strategy { keep_layers: Some(2), ..named("frontier") };
    let widths = |report: &Report| report.layers.iter().map(|layer| layer.states).collect::<Vec<u64>>();
    for threads in [1, 2] {
        let marked = UsedOperators::of(&puzzle).expect("four operators");
        let (control, governor) = (Control::new(Limits::default()), Governor::new(16 << 20));
        let task = SearchTask { space: &marked, question: &question, control: &control };
        let in_ram = Strategy { in_ram: true, ..strategy.clone() };
        let mut report = runs::explored_in_ram(&in_ram, task, &governor, threads);
        marked.tell(&mut report);
        assert_eq!((report.verdict.clone(), report.proviso), (Verdict::Holds, None));
        assert_eq!((report.states, report.depth), (181_440, Some(31)));
        assert_eq!(report.particular.one_way, Some(0));
        // Each edge is gone along once, but for those within a layer, of which there are none.
        assert_eq!(report.transitions, 483_840 / 2);
        let widths = widths(&report);
        // The layer before goes when the next one is whole.
        let frontier = widths.windows(3).map(|layers| layers.iter().sum()).max();
        assert_eq!(report.particular.peak_states, frontier, "nothing but the frontier is stored");
    }
}

#[test]
fn marked_operators_find_what_is_wrong_at_its_depth_on_any_graph() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let wrong: fn(&[u64]) -> bool =
            if seed % 2 == 0 { |_| true } else { |point| point[0] + point[1] != 6 };
        let graph = Grid::torus(2, 5 + random.below(5u64)).scrambled().with(PropertyKind::Invariant, wrong);
        let one_way = Grid::cycles(2, 4 + random.below(4u64));
        for space in [&graph, &one_way] {
            let whole = whole(space, &named("sort"), 1).report;
            let marked = UsedOperators::of(space).expect("few operators");
            let question = Question::everything(space.properties(), DeadlockNotion::Off);
            let (control, governor) = (Control::new(Limits::default()), Governor::new(16 << 20));
            let task = SearchTask { space: &marked, question: &question, control: &control };
            let strategy = Strategy { keep_layers: Some(2), in_ram: true, ..named("frontier") };
            let mut report = runs::explored_in_ram(&strategy, task, &governor, 1);
            marked.tell(&mut report);
            let undone = report.particular.one_way == Some(0);
            assert_eq!(undone, space.is_undirected(), "seed {seed}");
            if let (Verdict::Violated(found), Verdict::Violated(known)) = (&report.verdict, &whole.verdict) {
                assert_eq!(found.path.len(), known.path.len(), "seed {seed}");
            } else {
                assert_eq!(report.verdict, whole.verdict, "seed {seed}");
            }
            if undone {
                assert_eq!((report.states, report.depth), (whole.states, whole.depth), "seed {seed}");
            }
        }
    }
}
