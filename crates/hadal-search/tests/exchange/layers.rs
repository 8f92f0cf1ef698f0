//! Breadth-first layers.

use super::hall::on_all;
use super::runs::{self, Begin, assert_same, in_ram};
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
}

impl<'a> Asked<'a> {
    fn of(space: &'a dyn StateSpace, weights: &'a [u64]) -> Self {
        let limits = Limits::default();
        Asked { space, weights, budget: 4 << 20, threads: 1, window: 4, limits, small: 0 }
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
    let Asked { space, weights, budget, threads, window, limits, small } = asked;
    let strategy = Strategy::named("sort").unwrap();
    on_all(weights, window, &|exchange| {
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
            for report in explored(Asked::of(space, &weights)) {
                assert_same(&report, &expected, &format!("{workers} workers"));
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
        let asked = Asked { budget, threads, window, ..Asked::of(&space, weights) };
        for report in explored(asked) {
            assert_same(&report, &expected, &format!("{weights:?} {budget} {threads} {window}"));
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
            for report in explored(Asked { small, ..Asked::of(space, &[1, 1, 1]) }) {
                assert_same(&report, &expected, &format!("{small}"));
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
        for report in explored(Asked::of(&space, &vec![1; workers])) {
            assert_same(&report, &alone, &format!("{workers} workers"));
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
        for explored in explore_all(Asked { limits, ..Asked::of(&space, &weights) }, folder.path(), &plain) {
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
        for explored in explore_after(Asked::of(&space, &weights), after.path(), &plain, former) {
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
        let asked = Asked { budget: 3 << 20, ..Asked::of(&space, &weights) };
        for explored in explore_all(asked, folder.path(), &small) {
            assert_eq!(explored.unwrap().report.verdict, Verdict::Stopped(StopReason::DiskFull), "{limit}");
        }
        for explored in explore_all(asked, folder.path(), &|_, folder| Arc::new(folder)) {
            assert_same(&explored.unwrap().report, &expected, &format!("resumed after {limit}"));
        }
    }
}
