//! Order-relaxed search: everybody expands what it owns and is certainly new.

use super::hall::on_all_helping;
use super::runs::{self, Begin, in_ram};
use super::spaces::Grid;
use hadal_search::exchange::Exchange;
use hadal_search::explore::{self, Run};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::relaxed::DistributedRelaxed;
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Folders, Limits, Question, Report, SearchTask, StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_store::vfs::Folder;
use hadal_system::{PropertyKind, StateSpace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Asked<'a> {
    space: &'a Grid,
    weights: &'a [u64],
    budget: u64,
    threads: usize,
    limits: Limits,
}

/// The folders of one worker.
struct Places<'p> {
    path: PathBuf,
    governor: &'p Governor,
    space: &'p dyn StateSpace,
}

impl Folders for Places<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        let begin = match std::fs::read_dir(&self.path).unwrap().count() {
            0 => Begin::Fresh,
            _ => Begin::Again,
        };
        runs::ledger(Arc::new(Folder::open(&self.path).unwrap()), begin, self.governor, self.space)
    }

    fn beside(&self) -> Result<Ledger, Trouble> {
        let path = self.path.with_extension("beside");
        let _ = std::fs::remove_dir_all(&path);
        runs::ledger(Arc::new(Folder::create(&path).unwrap()), Begin::Fresh, self.governor, self.space)
    }
}

impl<'a> Asked<'a> {
    fn of(space: &'a Grid, weights: &'a [u64]) -> Self {
        Asked { space, weights, budget: 6 << 20, threads: 1, limits: Limits::default() }
    }

    fn done(&self) -> Vec<Report> {
        let folder = tempfile::tempdir().unwrap();
        self.on(folder.path(), None)
    }

    /// What every worker comes to; the folders are below `place`, those of so many former workers in another.
    fn on(&self, place: &Path, former: Option<(&Path, usize)>) -> Vec<Report> {
        self.helping_on(place, former).0
    }

    /// The same, and how many states each expanded for others.
    fn helping_on(&self, place: &Path, former: Option<(&Path, usize)>) -> (Vec<Report>, Vec<u64>) {
        let (space, strategy): (&dyn StateSpace, _) = (self.space, Strategy::named("sort").unwrap());
        on_all_helping(self.weights, 3, &|exchange| {
            let me = exchange.me();
            let path = place.join(me.to_string());
            std::fs::create_dir_all(&path).unwrap();
            let governor = Governor::new(self.budget);
            let (before, number) = former.unwrap_or((place, 0));
            let assigned = (me..number).step_by(self.weights.len());
            let opened: Vec<_> = assigned
                .map(|worker| Places { path: before.join(worker.to_string()), governor: &governor, space })
                .collect();
            let opened: Vec<&dyn Folders> = opened.iter().map(|open| open as &dyn Folders).collect();
            let method = DistributedRelaxed::new(&strategy, exchange).unwrap();
            let method = if former.is_some() { method.after(&opened) } else { method };
            let question = Question::everything(space.properties(), DeadlockNotion::Off);
            let control = Control::new(self.limits);
            let task = SearchTask { space, question: &question, control: &control };
            let places = Places { path, governor: &governor, space };
            let (governor, threads, run) = (&governor, self.threads, Run::New(&places));
            let explored = explore::explore(&method, explore::Setting { task, governor, threads, run });
            assert!(governor.peak() <= self.budget, "peak {} of {}", governor.peak(), self.budget);
            explored.unwrap().report
        })
    }
}

fn assert_same(report: &Report, expected: &Report, what: &str) {
    assert_eq!(report.verdict, expected.verdict, "{what}");
    assert_eq!((report.states, report.transitions), (expected.states, expected.transitions), "{what}");
    assert_eq!((&report.covers, &report.actions), (&expected.covers, &expected.actions), "{what}");
}

#[test]
fn any_number_of_workers_sees_every_state_once() {
    let even: fn(&[u64]) -> bool = |point| point.iter().sum::<u64>() % 2 == 0;
    let spaces = [
        Grid::torus(3, 16).with(PropertyKind::Cover, even),
        Grid::torus(3, 12).scrambled(),
        Grid::one_way(2, 60).scrambled(),
        Grid::torus(3, 30).padded(2),
    ];
    for space in &spaces {
        let expected = in_ram(space, DeadlockNotion::Off);
        for workers in [1, 2, 3, 5, 8] {
            for (budget, threads) in [(3 << 20, 1), (12 << 20, 2)] {
                let weights = vec![1; workers];
                for report in (Asked { budget, threads, ..Asked::of(space, &weights) }).done() {
                    assert_same(&report, &expected, &format!("{workers} workers, {budget}"));
                }
            }
        }
    }
}

#[test]
fn what_is_wrong_is_found_again_on_a_shortest_path() {
    let far: fn(&[u64]) -> bool = |point| point.iter().sum::<u64>() < 17;
    let space = Grid::one_way(3, 12).scrambled().with(PropertyKind::Invariant, far);
    let expected = in_ram(&space, DeadlockNotion::Off);
    assert!(matches!(&expected.verdict, Verdict::Violated(found) if found.path.len() == 18));
    for workers in [2, 3, 5] {
        for report in Asked::of(&space, &vec![1; workers]).done() {
            let (Verdict::Violated(found), Verdict::Violated(alone)) = (&report.verdict, &expected.verdict)
            else {
                panic!("{workers} workers: {:?}", report.verdict);
            };
            assert_eq!((found.kind, found.path.len(), found.shortest), (alone.kind, 18, true));
        }
    }
}

#[test]
fn all_stop_where_one_must_and_any_number_goes_on_from_there() {
    let space = Grid::torus(3, 16).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    let folder = tempfile::tempdir().unwrap();
    let place = |n: usize| folder.path().join(n.to_string());
    let mut before: Option<(PathBuf, usize)> = None;
    for (n, workers) in [3, 2, 5, 1, 4].into_iter().enumerate() {
        let weights = vec![1; workers];
        let limits = Limits { max_states: (n < 4).then_some(700 * (n as u64 + 1)), ..Limits::default() };
        let asked = Asked { limits, ..Asked::of(&space, &weights) };
        let former = before.as_ref().map(|(path, workers)| (path.as_path(), *workers));
        for report in asked.on(&place(n), former) {
            match n < 4 {
                true => assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit), "{n}"),
                false => assert_same(&report, &expected, "at last"),
            }
        }
        // The same workers go on, too.
        if n == 1 {
            let limits = Limits { max_states: Some(2000), ..Limits::default() };
            asked_again(&Asked { limits, ..asked }, &place(n));
        }
        before = Some((place(n), workers));
    }
}

fn asked_again(asked: &Asked, place: &Path) {
    for report in asked.on(place, None) {
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
    }
}

#[test]
fn who_has_nothing_certain_expands_for_others_and_nothing_else_changes() {
    let space = Grid::torus(3, 50).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    for (weights, threads) in [(&[1, 5000][..], 1), (&[1, 1, 3000], 2)] {
        let folder = tempfile::tempdir().unwrap();
        let asked = Asked { threads, ..Asked::of(&space, weights) };
        let (all, helped) = asked.helping_on(folder.path(), None);
        for report in all {
            assert_same(&report, &expected, &format!("{weights:?} {threads}"));
        }
        let idle: u64 = helped[..weights.len() - 1].iter().sum();
        assert!(idle > 50 * 50 * 50 / 50, "{helped:?}: they own next to nothing");
    }
}

#[test]
fn states_that_are_undecided_do_not_count_against_the_limit() {
    let space = Grid::torus(3, 30).scrambled();
    let expected = in_ram(&space, DeadlockNotion::Off);
    // One more than there are: the pool holds many states more than once.
    let limits = Limits { max_states: Some(expected.states + 1), ..Limits::default() };
    for workers in [1, 2, 5] {
        let weights = vec![1; workers];
        for report in (Asked { limits, budget: 3 << 20, ..Asked::of(&space, &weights) }).done() {
            assert_same(&report, &expected, &format!("{workers} workers"));
        }
    }
}
