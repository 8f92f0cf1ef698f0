//! External A*: every worker owns a part of each bucket.

use super::drawn::{Estimates, Graph, Kind, Labels, PRICES};
use super::hall::on_all;
use super::runs::{self, Begin};
use hadal_search::exchange::Exchange;
use hadal_search::explore::{self, Run};
use hadal_search::external::{
    DistributedExternal, External, ExternalFigures, ExternalOptions, Flush, StopAt, TraceBy,
};
use hadal_search::layered::Trouble;
use hadal_search::{
    Control, DeadlockNotion, Folders, Limits, Question, Report, SearchTask, StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_store::vfs::{Folder, LimitedFolder, Vfs};
use hadal_system::StateSpace;
use hadal_system::guide::{Goal, Guide};
use hadal_testkit::Random;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone)]
struct Asked<'a> {
    space: &'a dyn StateSpace,
    guide: &'a dyn Guide,
    weights: &'a [u64],
    options: ExternalOptions,
    budget: u64,
    threads: usize,
    limits: Limits,
    small: u64,
}

impl<'a> Asked<'a> {
    fn of(space: &'a dyn StateSpace, guide: &'a dyn Guide, weights: &'a [u64]) -> Self {
        let (options, limits) = (ExternalOptions::default(), Limits::default());
        Asked { space, guide, weights, options, budget: 8 << 20, threads: 1, limits, small: 0 }
    }

    fn done(&self) -> Vec<Report> {
        let folder = tempfile::tempdir().unwrap();
        self.on(folder.path(), None).into_iter().map(Result::unwrap).collect()
    }

    fn on(&self, place: &Path, former: Option<(&Path, usize)>) -> Vec<Result<Report, Trouble>> {
        self.on_disks(place, former, &|_, folder| Arc::new(folder))
    }

    /// What every worker comes to; the folders are below `place`, those of so many former workers in another.
    fn on_disks(
        &self,
        place: &Path,
        former: Option<(&Path, usize)>,
        vfs: &(dyn Fn(usize, Folder) -> Arc<dyn Vfs> + Sync),
    ) -> Vec<Result<Report, Trouble>> {
        let space = self.space;
        on_all(self.weights, 3, &|exchange| {
            let me = exchange.me();
            let path = place.join(me.to_string());
            std::fs::create_dir_all(&path).unwrap();
            let begin = match std::fs::read_dir(&path).unwrap().count() {
                0 => Begin::Fresh,
                _ => Begin::Again,
            };
            let folder = vfs(me, Folder::create(&path).unwrap());
            let governor = Governor::new(self.budget);
            let ledger = || runs::ledger(folder.clone(), begin, &governor, space);
            let open = |path: PathBuf| {
                let governor = governor.clone();
                move || runs::ledger(Arc::new(Folder::open(&path).unwrap()), Begin::Again, &governor, space)
            };
            let (before, number) = former.unwrap_or((place, 0));
            let assigned = (me..number).step_by(self.weights.len());
            let opened: Vec<_> = assigned.map(|worker| open(before.join(worker.to_string()))).collect();
            let opened: Vec<&dyn Folders> = opened.iter().map(|open| open as &dyn Folders).collect();
            let goal = Goal::of_properties(space.properties());
            let external = External { guide: self.guide, goal: &goal, options: self.options.clone() };
            let method = DistributedExternal::new(&external, exchange).sharing_from(self.small);
            let method = if former.is_some() { method.after(&opened) } else { method };
            let question = Question::everything(space.properties(), DeadlockNotion::Off);
            let control = Control::new(self.limits);
            let task = SearchTask { space, question: &question, control: &control };
            let (governor, threads) = (&governor, self.threads);
            let explored = explore::explore(
                &method,
                explore::Setting { task, governor, threads, run: Run::New(&ledger) },
            );
            assert!(governor.peak() <= self.budget, "peak {} of {}", governor.peak(), self.budget);
            explored.map(|explored| explored.report)
        })
    }
}

/// What does not depend on how many workers there are.
fn essence(report: &Report) -> (Verdict, ExternalFigures) {
    let mut figures = report.external().expect("External A* has figures").clone();
    (figures.bytes_read, figures.bytes_written) = (0, 0);
    for bucket in &mut figures.buckets {
        bucket.bytes = 0;
        // How much is merged before an expansion ends early depends on where it lies.
        bucket.unique = 0;
    }
    (report.verdict.clone(), figures)
}

fn assert_same(report: &Report, alone: &Report, what: &str) {
    assert_eq!((report.states, report.transitions), (alone.states, alone.transitions), "{what}");
    assert_eq!(essence(report), essence(alone), "{what}");
    assert_eq!((&report.covers, &report.actions), (&alone.covers, &alone.actions), "{what}");
}

#[test]
fn any_number_of_workers_expands_generates_and_stores_what_one_does() {
    let mut noise = Random::new(11);
    let mut solved = 0;
    for n in 0..12 {
        let graph = match n % 3 {
            0 => Graph::wide(&mut noise, n % 2 == 0),
            1 => Graph::priced(&mut noise, n % 4 == 0, Labels::Distinct, PRICES[n % 3]),
            _ => Graph::priced(&mut noise, n % 4 == 0, Labels::Shared, PRICES[n % 3]),
        };
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wrong] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            let trace_by = [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide][noise.below(3) as usize];
            let stop_at = [StopAt::Generation, StopAt::Expansion][noise.below(2) as usize];
            let flush = [Flush::AtOnce, Flush::Deferred][noise.below(2) as usize];
            let options = ExternalOptions { trace_by, stop_at, flush, ..ExternalOptions::default() };
            let alone =
                Asked { options: options.clone(), ..Asked::of(&graph, &guide, &[1]) }.done().remove(0);
            solved += u32::from(matches!(alone.verdict, Verdict::Violated(_)));
            for workers in [2, 3, 5, 8] {
                let weights = vec![1; workers];
                let asked = Asked { options: options.clone(), ..Asked::of(&graph, &guide, &weights) };
                for report in asked.done() {
                    let what = format!("graph {n}, {kind:?}, {:?}, {workers} workers", asked.options);
                    assert_same(&report, &alone, &what);
                }
            }
        }
    }
    assert!(solved > 10, "{solved}");
}

#[test]
fn budgets_threads_weights_and_small_beginnings_change_nothing() {
    let mut noise = Random::new(5);
    let graph = Graph::square(40, &mut noise, |noise| 1 + noise.below(3) as u32);
    for kind in [Kind::Consistent, Kind::Wrong] {
        let guide = Estimates::new(&graph, kind, &mut noise);
        for trace_by in [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide] {
            let options = ExternalOptions { trace_by, ..ExternalOptions::default() };
            let alone =
                Asked { options: options.clone(), ..Asked::of(&graph, &guide, &[1]) }.done().remove(0);
            for (weights, budget, threads, small) in [
                (&[1, 1][..], 4 << 20, 1, 0),
                (&[1, 5, 2], 3 << 20, 2, 0),
                (&[3, 1, 1, 1], 16 << 20, 1, 50),
                (&[1, 1], 4 << 20, 2, 1_000_000),
            ] {
                let options = options.clone();
                let asked = Asked { options, budget, threads, small, ..Asked::of(&graph, &guide, weights) };
                for report in asked.done() {
                    assert_same(
                        &report,
                        &alone,
                        &format!("{kind:?} {trace_by:?} {weights:?} {budget} {small}"),
                    );
                }
            }
        }
    }
}

#[test]
fn all_stop_where_one_must_and_any_number_goes_on_from_there() {
    let mut noise = Random::new(6);
    let graph = Graph::square(20, &mut noise, |noise| 1 + noise.below(2) as u32);
    let guide = Estimates::new(&graph, Kind::Admissible, &mut noise);
    let options = ExternalOptions::default();
    let alone = Asked { options: options.clone(), ..Asked::of(&graph, &guide, &[1]) }.done().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let place = |n: usize| folder.path().join(n.to_string());
    let mut before: Option<usize> = None;
    for (n, workers) in [3, 3, 2, 5, 1, 4].into_iter().enumerate() {
        let weights = vec![1; workers];
        let max_states = (n < 5).then_some(alone.states * (n as u64 + 1) / 6);
        let limits = Limits { max_states, ..Limits::default() };
        let asked = Asked { options: options.clone(), limits, ..Asked::of(&graph, &guide, &weights) };
        let moves = before.filter(|_| n != 1);
        let from = place(n.saturating_sub(if n == 2 { 2 } else { 1 }));
        let at = if n == 1 { place(0) } else { place(n) };
        for report in asked.on(&at, moves.map(|workers| (&*from, workers))) {
            let report = report.unwrap();
            match n < 5 {
                true => assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit), "{n}"),
                false => assert_same(&report, &alone, "at last"),
            }
        }
        before = Some(workers);
    }
}

#[test]
fn a_full_disk_of_one_worker_stops_all_and_loses_nothing() {
    let mut noise = Random::new(7);
    let graph = Graph::square(60, &mut noise, |_| 1);
    let guide = Estimates::new(&graph, Kind::Consistent, &mut noise);
    let weights = [1, 1, 1];
    let options = ExternalOptions { commit_every: Duration::ZERO, ..ExternalOptions::default() };
    let asked = Asked { options, budget: 3 << 20, ..Asked::of(&graph, &guide, &weights) };
    let alone = Asked { weights: &[1], ..asked.clone() }.done().remove(0);
    let mut stopped = 0;
    for limit in [12 << 10, 24 << 10, 48 << 10] {
        let folder = tempfile::tempdir().unwrap();
        let small = |me, folder: Folder| -> Arc<dyn Vfs> {
            match me {
                1 => Arc::new(LimitedFolder::new(Arc::new(folder), limit).unwrap()),
                _ => Arc::new(folder),
            }
        };
        for report in asked.on_disks(folder.path(), None, &small) {
            stopped += u32::from(report.unwrap().verdict == Verdict::Stopped(StopReason::DiskFull));
        }
        for report in asked.on(folder.path(), None) {
            assert_same(&report.unwrap(), &alone, &format!("resumed after {limit}"));
        }
    }
    assert!(stopped >= 3, "{stopped}");
}
