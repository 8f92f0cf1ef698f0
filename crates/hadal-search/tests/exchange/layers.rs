//! Breadth-first layers.

use super::hall::on_all_helping;
use super::runs::{self, Begin, assert_same, in_ram};
use super::slow::SlowFolder;
use super::spaces::Grid;
use hadal_search::exchange::Exchange;
use hadal_search::explore::{self, Run};
use hadal_search::layered::Trouble;
use hadal_search::strategy::{Distributed, Strategy};
use hadal_search::{
    Control, DeadlockNotion, Explored, Folders, Limits, Question, Report, SearchTask, StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_store::vfs::{Folder, LimitedFolder, Vfs};
use hadal_system::{PropertyKind, StateSpace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Copy)]
struct Asked<'a> {
    space: &'a dyn StateSpace,
    weights: &'a [u64],
    budget: u64,
    threads: usize,
    window: usize,
    limits: Limits,
    small: u64,
    /// A table first, then a diagram, then sorted runs.
    is_auto: bool,
}

impl<'a> Asked<'a> {
    fn of(space: &'a dyn StateSpace, weights: &'a [u64]) -> Self {
        let limits = Limits::default();
        Asked { space, weights, budget: 4 << 20, threads: 1, window: 4, limits, small: 0, is_auto: false }
    }
}

/// What every worker comes to; the folders are below `place`.
fn explore_all(
    asked: Asked,
    place: &Path,
    vfs: &(dyn Fn(usize, Folder) -> Arc<dyn Vfs> + Sync),
) -> Vec<Result<Explored, Trouble>> {
    explore_after(asked, place, vfs, None)
}

/// The same after so many workers in another place.
fn explore_after(
    asked: Asked,
    place: &Path,
    vfs: &(dyn Fn(usize, Folder) -> Arc<dyn Vfs> + Sync),
    former: Option<(&Path, usize)>,
) -> Vec<Result<Explored, Trouble>> {
    explore_helping(asked, place, vfs, former).0
}

/// The same, and how many states each expanded for others.
fn explore_helping(
    asked: Asked,
    place: &Path,
    vfs: &(dyn Fn(usize, Folder) -> Arc<dyn Vfs> + Sync),
    former: Option<(&Path, usize)>,
) -> (Vec<Result<Explored, Trouble>>, Vec<u64>) {
    let Asked { space, weights, budget, threads, window, limits, small, is_auto } = asked;
    let strategy = Strategy::named("sort").unwrap();
    on_all_helping(weights, window, &|exchange| {
        let me = exchange.me();
        let path = place.join(me.to_string());
        std::fs::create_dir_all(&path).unwrap();
        let begin = match std::fs::read_dir(&path).unwrap().count() {
            0 => Begin::Fresh,
            _ => Begin::Again,
        };
        let folder = vfs(me, Folder::create(&path).unwrap());
        let governor = Governor::new(budget);
        let ledger = || runs::ledger(folder.clone(), begin, &governor, space);
        let open = |path: PathBuf| {
            let governor = governor.clone();
            move || runs::ledger(Arc::new(Folder::open(&path).unwrap()), Begin::Again, &governor, space)
        };
        let (before, number) = former.unwrap_or((place, 0));
        let assigned = (me..number).step_by(weights.len());
        let opened: Vec<_> = assigned.map(|worker| open(before.join(worker.to_string()))).collect();
        let opened: Vec<&dyn Folders> = opened.iter().map(|open| open as &dyn Folders).collect();
        let method = Distributed::new(&strategy, exchange)?.sharing_from(small);
        let method = if is_auto { method.moving_on() } else { method };
        let method = if former.is_some() { method.after(&opened) } else { method };
        let question = Question::everything(space.properties(), DeadlockNotion::Off);
        let control = Control::new(limits);
        let task = SearchTask { space, question: &question, control: &control };
        let setting = explore::Setting { task, governor: &governor, threads, run: Run::New(&ledger) };
        let explored = explore::explore(&method, setting);
        assert!(governor.peak() <= budget, "peak {} of {budget}", governor.peak());
        explored
    })
}

fn explored(asked: Asked) -> Vec<Report> {
    let folder = tempfile::tempdir().unwrap();
    let all = explore_all(asked, folder.path(), &|_, folder| Arc::new(folder));
    all.into_iter().map(|explored| explored.unwrap().report).collect()
}

#[test]
fn any_number_of_workers_gives_the_numbers_of_one() {
    let spaces = [Grid::torus(3, 16), Grid::torus(3, 12).scrambled(), Grid::one_way(2, 60).scrambled()];
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        for workers in 1..=8 {
            let weights = vec![1; workers];
            for is_auto in [false, true] {
                for report in explored(Asked { is_auto, ..Asked::of(space, &weights) }) {
                    assert_same(&report, &expected, &format!("{workers} workers, auto: {is_auto}"));
                }
            }
        }
    }
}

#[test]
fn budgets_threads_weights_and_windows_do_not_change_the_numbers() {
    let space = Grid::torus(3, 30).padded(2);
    let expected = in_ram(&space, DeadlockNotion::Off);
    for (weights, budget, threads, window) in
        [(&[1, 1][..], 3 << 20, 1, 1), (&[1, 5, 2], 3 << 20, 2, 2), (&[3, 1, 1, 1], 16 << 20, 1, 3)]
    {
        for is_auto in [false, true] {
            let asked = Asked { budget, threads, window, is_auto, ..Asked::of(&space, weights) };
            for report in explored(asked) {
                assert_same(
                    &report,
                    &expected,
                    &format!("{weights:?} {budget} {threads} {window} {is_auto}"),
                );
            }
        }
    }
}

fn storages(report: &Report) -> Vec<&'static str> {
    report.stages.iter().map(|stage| stage.storage).collect()
}

#[test]
fn workers_move_from_table_to_diagram_to_runs_each_when_its_own_budget_demands_it() {
    let (grid, wild) = (Grid::torus(3, 60), Grid::torus(2, 500).scrambled());
    let all = ["table", "diagram", "sorted runs"];
    for (space, expected_most) in [(&grid, 2), (&wild, 3)] {
        let expected = in_ram(space, DeadlockNotion::Off);
        // The one who owns little stays in RAM, while others are on disk.
        for (weights, threads) in [(&[1, 1][..], 1), (&[12, 1, 12], 2)] {
            let asked = Asked { is_auto: true, threads, budget: 5 << 19, ..Asked::of(space, weights) };
            let reports = explored(asked);
            for (worker, report) in reports.iter().enumerate() {
                let storages = storages(report);
                assert_same(report, &expected, &format!("{weights:?} {worker} {storages:?}"));
                assert_eq!(storages[0], "table");
                assert!(storages.iter().all(|it| all.contains(it)), "{storages:?}");
            }
            assert!(storages(&reports[0]).len() >= 2, "{:?}", storages(&reports[0]));
            let most = reports.iter().map(|report| storages(report).len()).max();
            assert!(most <= Some(expected_most) && most >= Some(2), "{most:?}");
            if weights.len() == 3 {
                assert_eq!(storages(&reports[1]), ["table"], "it owns a twenty-fifth");
            }
        }
    }
}

#[test]
fn small_layers_that_everybody_explores_for_itself_count_once() {
    let far: fn(&[u64]) -> bool = |point| point.iter().sum::<u64>() < 20;
    let spaces = [Grid::torus(3, 14).scrambled(), Grid::one_way(3, 12).with(PropertyKind::Invariant, far)];
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        for small in [1, 30, 200, 100_000] {
            for is_auto in [false, true] {
                for report in explored(Asked { small, is_auto, ..Asked::of(space, &[1, 1, 1]) }) {
                    assert_same(&report, &expected, &format!("{small} {is_auto}"));
                }
            }
        }
    }
}

#[test]
fn the_trace_is_the_one_of_a_single_worker() {
    let far: fn(&[u64]) -> bool = |point| point.iter().sum::<u64>() < 17;
    let space = Grid::one_way(3, 12).scrambled().with(PropertyKind::Invariant, far);
    let alone = in_ram(&space, DeadlockNotion::Off);
    assert!(matches!(&alone.verdict, Verdict::Violated(found) if found.path.len() == 18));
    for workers in 1..=6 {
        for is_auto in [false, true] {
            for report in explored(Asked { is_auto, ..Asked::of(&space, &vec![1; workers]) }) {
                assert_same(&report, &alone, &format!("{workers} workers, auto: {is_auto}"));
            }
        }
    }
}

#[test]
fn all_stop_where_one_must_and_go_on_from_there() {
    let space = Grid::torus(3, 16);
    let expected = in_ram(&space, DeadlockNotion::Off);
    let folder = tempfile::tempdir().unwrap();
    let plain = |_, folder| Arc::new(folder) as Arc<dyn Vfs>;
    let weights = [1, 1, 1];
    for max_depth in [1, 4, 9] {
        let limits = Limits { max_depth: Some(max_depth), ..Limits::default() };
        // What one strategy committed, the other goes on with.
        let is_auto = max_depth != 4;
        let asked = Asked { limits, is_auto, ..Asked::of(&space, &weights) };
        for explored in explore_all(asked, folder.path(), &plain) {
            let report = explored.unwrap().report;
            assert_eq!(report.verdict, Verdict::Stopped(StopReason::DepthLimit));
            assert_eq!(report.depth, Some(max_depth));
        }
    }
    let limits = Limits { max_states: Some(3000), ..Limits::default() };
    for explored in explore_all(Asked { limits, ..Asked::of(&space, &weights) }, folder.path(), &plain) {
        let report = explored.unwrap().report;
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
        assert!(report.states <= 3000);
    }
    for explored in explore_all(Asked::of(&space, &weights), folder.path(), &plain) {
        assert_same(&explored.unwrap().report, &expected, "resumed");
    }
}

#[test]
fn another_number_of_workers_goes_on() {
    let space = Grid::torus(3, 16).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    let plain = |_, folder| Arc::new(folder) as Arc<dyn Vfs>;
    for (first, then) in [(4, 2), (2, 5), (3, 1), (1, 3)] {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let limits = Limits { max_depth: Some(8), ..Limits::default() };
        let weights = vec![1; first];
        for explored in explore_all(Asked { limits, ..Asked::of(&space, &weights) }, before.path(), &plain) {
            assert_eq!(explored.unwrap().report.verdict, Verdict::Stopped(StopReason::DepthLimit));
        }
        let weights = vec![1; then];
        let former = Some((before.path(), first));
        let asked = Asked { is_auto: first > then, ..Asked::of(&space, &weights) };
        for explored in explore_after(asked, after.path(), &plain, former) {
            assert_same(&explored.unwrap().report, &expected, &format!("{then} after {first}"));
        }
    }
}

#[test]
fn a_full_disk_of_one_worker_stops_all_and_loses_nothing() {
    let space = Grid::torus(3, 40).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    let weights = [1, 1, 1];
    for limit in [90 << 10, 130 << 10, 200 << 10] {
        let folder = tempfile::tempdir().unwrap();
        let small = |me, folder: Folder| -> Arc<dyn Vfs> {
            match me {
                1 => Arc::new(LimitedFolder::new(Arc::new(folder), limit).unwrap()),
                _ => Arc::new(folder),
            }
        };
        let asked = Asked { budget: 3 << 20, is_auto: limit == 130 << 10, ..Asked::of(&space, &weights) };
        for explored in explore_all(asked, folder.path(), &small) {
            assert_eq!(explored.unwrap().report.verdict, Verdict::Stopped(StopReason::DiskFull), "{limit}");
        }
        for explored in explore_all(asked, folder.path(), &|_, folder| Arc::new(folder)) {
            assert_same(&explored.unwrap().report, &expected, &format!("resumed after {limit}"));
        }
    }
}

#[test]
fn a_slow_disk_of_one_worker_is_waited_for_and_nothing_piles_up() {
    let space = Grid::torus(3, 30).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    let folder = tempfile::tempdir().unwrap();
    // Whoever sends to the slow one finds its window full, and waits: the hall checks that no more than two blocks ever do.
    let asked = Asked { window: 2, budget: 3 << 20, ..Asked::of(&space, &[1, 1, 1]) };
    let slow = |me, folder: Folder| -> Arc<dyn Vfs> {
        if me == 1 { Arc::new(SlowFolder(folder)) } else { Arc::new(folder) }
    };
    for explored in explore_all(asked, folder.path(), &slow) {
        assert_same(&explored.unwrap().report, &expected, "slow");
    }
}

#[test]
fn who_has_nothing_left_expands_for_others_and_nothing_else_changes() {
    // Layers of up to five thousand states.
    let space = Grid::torus(3, 60).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    for (weights, is_auto) in [(&[1, 5000][..], true), (&[1, 1, 3000], false)] {
        let folder = tempfile::tempdir().unwrap();
        let asked = Asked { is_auto, ..Asked::of(&space, weights) };
        let (all, helped) =
            explore_helping(asked, folder.path(), &|_, folder: Folder| Arc::new(folder), None);
        for explored in all {
            assert_same(&explored.unwrap().report, &expected, &format!("{weights:?}"));
        }
        let idle: u64 = helped[..weights.len() - 1].iter().sum();
        assert!(idle > 60 * 60 * 60 / 50, "{helped:?}: they own next to nothing");
    }
}

#[test]
fn who_helps_finds_what_is_wrong_as_its_owner_would() {
    let far: fn(&[u64]) -> bool = |point| point.iter().sum::<u64>() < 95;
    let space = Grid::one_way(3, 100).scrambled().with(PropertyKind::Invariant, far);
    let alone = explored(Asked::of(&space, &[1])).remove(0);
    assert!(matches!(&alone.verdict, Verdict::Violated(found) if found.path.len() == 96));
    for report in explored(Asked::of(&space, &[1, 4000, 1])) {
        assert_same(&report, &alone, "lent states");
    }
}
