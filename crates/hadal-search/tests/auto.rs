//! The default strategy under budgets that force it out of the table: the numbers must not change.

mod spaces;

use hadal_search::auto::{AutoSearch, explore};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, Task, Verdict, ViolationKind};
use hadal_store::Governor;
use hadal_store::vfs::{Disk, Folder, IoThreads};
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use spaces::Grid;
use std::sync::Arc;

fn auto(space: &dyn StateSpace, threads: usize, budget: u64) -> Report {
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let governor = Governor::new(budget);
    let folder = tempfile::tempdir().unwrap();
    let disk = || {
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        Ok(Disk::new(vfs, IoThreads::new(1), governor.clone(), 0))
    };
    let control = Control::new(Limits::default());
    let task = Task { space, question: &question, control: &control };
    let report = explore(&AutoSearch { task, disk: &disk, governor: &governor, threads }).unwrap();
    assert!(governor.peak() <= budget, "peak {} of {budget}", governor.peak());
    report
}

#[test]
fn the_numbers_stay_the_same_when_the_table_is_full() {
    let torus = Grid::torus(3, 60);
    for budget in [3 << 20, 6 << 20, 1 << 30] {
        for threads in [1, 2] {
            let report = auto(&torus, threads, budget);
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!(report.states, 60 * 60 * 60, "budget {budget}");
            assert_eq!(report.transitions, 6 * 60 * 60 * 60);
            assert_eq!(report.depth, Some(90));
            assert_eq!(report.layers.len(), 91);
            assert_eq!(report.layers.iter().map(|l| l.states).sum::<u64>(), report.states);
            assert_eq!(report.layers.iter().map(|l| l.transitions).sum::<u64>(), report.transitions);
        }
    }
}

#[test]
fn states_without_structure_go_to_sorted_runs_with_the_same_numbers() {
    let torus = Grid::torus(3, 70).scrambled();
    for (threads, budget) in [(1, 6 << 20), (2, 8 << 20)] {
        let report = auto(&torus, threads, budget);
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!((report.states, report.transitions), (70 * 70 * 70, 6 * 70 * 70 * 70), "budget {budget}");
        assert_eq!(report.depth, Some(105));
    }
}

#[test]
fn a_trace_from_disk_is_shortest_and_connected() {
    let grid = Grid::torus(3, 60).with(PropertyKind::Invariant, |p| p != [29, 30, 28]);
    let report = auto(&grid, 2, 3 << 20);
    let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(violation.kind, ViolationKind::Invariant(PropertyId(0)));
    assert_eq!(violation.path.len(), 29 + 30 + 28 + 1);
    grid.assert_connected(&violation.path);
}
