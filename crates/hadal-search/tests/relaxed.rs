//! The search whose order is relaxed: states, transitions and verdict must be those of breadth-first search.

mod runs;
mod spaces;

use hadal_search::explore::{self, Folders};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::relaxed::Relaxed;
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, SearchTask, StopReason, Verdict, ViolationKind,
};
use hadal_store::Governor;
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use hadal_testkit::{Faults, FaultyFolder, Survival};
use runs::{Begin, Setting, ledger};
use spaces::Grid;
use std::sync::Arc;

/// Opens the folder of a run, and one beside it.
struct Both<'a> {
    setting: Setting<'a>,
    folder: &'a FaultyFolder,
    begin: Begin,
    governor: &'a Governor,
}

impl Folders for Both<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        ledger(Arc::new(self.folder.clone()), self.begin, self.governor, self.setting.space)
    }

    fn beside(&self) -> Result<Ledger, Trouble> {
        let folder = Arc::new(FaultyFolder::new(Faults::default()));
        ledger(folder, Begin::Fresh, self.governor, self.setting.space)
    }
}

fn search(setting: Setting, folder: &FaultyFolder, begin: Begin) -> Result<Report, Trouble> {
    let Setting { space, threads, budget, limits } = setting;
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let governor = Governor::new(budget);
    let both = Both { setting, folder, begin, governor: &governor };
    let control = Control::new(limits);
    let task = SearchTask { space, question: &question, control: &control };
    let setting = explore::Setting { task, governor: &governor, threads, run: begin.run(&both) };
    let report = explore::explore(&Relaxed, setting).map(|explored| explored.report);
    assert!(governor.peak() <= budget, "peak {} of {budget}", governor.peak());
    report
}

fn relaxed(space: &dyn StateSpace, threads: usize, budget: u64) -> Report {
    let setting = Setting { space, threads, budget, limits: Limits::default() };
    search(setting, &FaultyFolder::new(Faults::default()), Begin::Fresh).unwrap()
}

#[test]
fn every_state_is_expanded_once_whatever_the_budget_the_threads_and_the_structure() {
    for (torus, last) in [(Grid::torus(2, 300), "diagram"), (Grid::torus(2, 300).scrambled(), "sorted runs")]
    {
        for (budget, threads) in [(2 << 20, 1), (3 << 20, 2), (1 << 30, 1)] {
            let report = relaxed(&torus, threads, budget);
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!((report.states, report.transitions), (90_000, 360_000), "{last} {budget} {threads}");
            assert_eq!(report.depth, None);
            let storage = report.stages.last().unwrap().storage;
            assert_eq!(storage, if budget == 1 << 30 { "table" } else { last });
        }
    }
}

#[test]
fn a_violation_is_reported_with_a_shortest_path() {
    let grid = Grid::torus(3, 40).with(PropertyKind::Invariant, |p| p != [19, 20, 18]);
    for budget in [3 << 20, 1 << 30] {
        let report = relaxed(&grid, 1, budget);
        let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
        assert_eq!(violation.kind, ViolationKind::Invariant(PropertyId(0)));
        assert_eq!((violation.path.len(), violation.shortest), (19 + 20 + 18 + 1, true));
        grid.assert_connected(&violation.path);
    }
}

#[test]
fn a_run_stopped_by_a_limit_resumes_with_another_budget_and_other_threads() {
    for torus in [Grid::torus(3, 40), Grid::torus(3, 40).scrambled()] {
        for stop_at in [2_000, 30_000, 50_000] {
            let folder = FaultyFolder::new(Faults::default());
            let limits = Limits { max_states: Some(stop_at), ..Limits::default() };
            let setting = Setting { space: &torus, threads: 2, budget: 3 << 20, limits };
            let report = search(setting, &folder, Begin::Fresh).unwrap();
            assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
            let setting = Setting { threads: 1, budget: 4 << 20, limits: Limits::default(), ..setting };
            let report = search(setting, &folder, Begin::Again).unwrap();
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!((report.states, report.transitions), (64_000, 384_000), "{stop_at}");
        }
    }
}

#[test]
fn a_run_killed_anywhere_resumes_to_the_same_numbers_or_was_never_committed() {
    let torus = Grid::torus(2, 300).scrambled();
    let setting = Setting { space: &torus, threads: 1, budget: 2 << 20, limits: Limits::default() };
    let whole = FaultyFolder::new(Faults::default());
    let report = search(setting, &whole, Begin::Fresh).unwrap();
    assert_eq!((report.states, report.transitions), (90_000, 360_000));
    let operations = whole.operations();
    let mut resumed = 0;
    for die_at in (1..operations).step_by((operations / 30).max(1) as usize) {
        let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        if let Ok(report) = search(setting, &folder, Begin::Fresh) {
            // Commits come by the clock, so this time it took fewer operations.
            assert_eq!(report.states, 90_000);
            continue;
        }
        match search(setting, &folder.after_crash(Survival::Synced), Begin::Again) {
            Ok(report) => {
                assert_eq!((report.states, report.transitions), (90_000, 360_000), "killed at {die_at}");
                assert_eq!(report.verdict, Verdict::Holds);
                resumed += 1;
            }
            Err(Trouble::Open(_)) => {}
            Err(other) => panic!("killed at {die_at}: {other}"),
        }
    }
    assert!(resumed > 0, "some kills come after a commit");
}
