//! The default strategy under budgets that force it out of the table: the numbers must not change.

mod runs;
mod spaces;

use hadal_search::auto::Auto;
use hadal_search::explore::{self, Phase};
use hadal_search::layered::Trouble;
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, SearchTask, StopReason, Verdict, ViolationKind,
    WhenFull,
};
use hadal_store::Governor;
use hadal_store::run::DENSE_FROM;
use hadal_store::vfs::{Caching, Folder, Vfs};
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use hadal_testkit::{Faults, FaultyFolder, Survival};
use runs::{Begin, Setting};
use spaces::Grid;
use std::sync::Arc;
use std::time::Duration;

fn search(setting: &Setting, vfs: Arc<dyn Vfs>, begin: Begin) -> Result<Report, Trouble> {
    Ok(runs::search(&Auto, setting, vfs, begin)?.report)
}

fn auto(space: &dyn StateSpace, threads: usize, budget: u64) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let vfs = Arc::new(Folder::create(folder.path()).unwrap());
    search(&Setting { space, threads, budget, limits: Limits::default() }, vfs, Begin::Fresh).unwrap()
}

fn storages(report: &Report) -> Vec<&'static str> {
    report.stages.iter().map(|stage| stage.storage).collect()
}

#[test]
fn wide_states_go_on_to_disk_whose_index_alone_would_fill_the_budget() {
    // 36 MB of states: an index with the first state of every few would not fit.
    let torus = Grid::torus(3, 44).scrambled().padded(50);
    for budget in [4 << 20, 6 << 20] {
        let report = auto(&torus, 1, budget);
        assert_eq!((report.verdict, report.depth), (Verdict::Holds, Some(66)));
        assert_eq!((report.states, report.transitions), (44 * 44 * 44, 6 * 44 * 44 * 44), "{budget}");
        let storage = report.stages.last().map(|stage| stage.storage);
        assert_eq!(storage, Some("sorted runs"));
    }
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
            let expected: &[&str] = if budget == 1 << 30 { &["table"] } else { &["table", "diagram"] };
            assert_eq!(storages(&report), expected);
        }
    }
}

#[test]
fn folded_states_move_on_with_the_same_numbers_however_wide_a_layer_is() {
    // Five words each. The widest layer has a quarter of the states: whole again, it is more than the folded table.
    for torus in [Grid::torus(10, 3), Grid::torus(10, 3).scrambled()] {
        for (threads, budget) in [(1, 1 << 20), (2, 9 << 17), (1, 5 << 18)] {
            let report = auto(&torus, threads, budget);
            assert_eq!(report.verdict, Verdict::Holds, "{budget}");
            assert_eq!((report.states, report.transitions), (59_049, 20 * 59_049), "{budget}");
            assert_eq!((report.depth, report.layers.len()), (Some(10), 11));
            assert_eq!(report.layers[7].states, 120 << 7);
            assert!(storages(&report).len() > 1, "{budget}");
        }
    }
}

#[test]
fn a_layer_that_is_written_densely_has_room_for_its_writer_beside_a_full_table() {
    // 36 MB of states: a full table leaves about as much memory as sorting its last layer takes.
    let torus = Grid::torus(3, 44).scrambled().padded(50);
    for budget in (0..5).map(|n| DENSE_FROM + (n << 20)) {
        let report = auto(&torus, 1, budget);
        assert_eq!((report.verdict.clone(), report.depth), (Verdict::Holds, Some(66)));
        assert_eq!((report.states, report.transitions), (44 * 44 * 44, 6 * 44 * 44 * 44), "{budget}");
        assert!(storages(&report).len() > 1, "{budget}");
    }
}

#[test]
fn states_without_structure_go_to_sorted_runs_with_the_same_numbers() {
    let torus = Grid::torus(2, 600).scrambled();
    for (threads, budget) in [(1, 4 << 20), (2, 6 << 20)] {
        let report = auto(&torus, threads, budget);
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!((report.states, report.transitions), (600 * 600, 4 * 600 * 600), "budget {budget}");
        assert_eq!(report.depth, Some(600));
        assert_eq!(storages(&report).last(), Some(&"sorted runs"));
    }
}

#[test]
fn the_table_is_left_under_every_budget() {
    // What the table, the layer being found and the next storage take together is tight at different budgets.
    let mut storage = std::collections::BTreeSet::new();
    for (space, side) in [(Grid::torus(2, 300).scrambled().padded(1), 300), (Grid::torus(2, 400), 400)] {
        for budget in (8..20).step_by(2).map(|n| n << 18) {
            for threads in [1, 4] {
                let report = auto(&space, threads, budget);
                let found = (report.verdict.clone(), report.states, report.transitions, report.depth);
                let whole = (Verdict::Holds, side * side, 4 * side * side, Some(side));
                assert_eq!(found, whole, "{budget} bytes, {threads} threads");
                storage.extend(storages(&report));
            }
        }
    }
    assert_eq!(storage.len(), 3, "{storage:?}");
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

#[test]
fn a_run_stopped_by_a_limit_resumes_to_the_same_numbers_with_other_threads_and_budget() {
    for torus in [Grid::torus(3, 40), Grid::torus(3, 40).scrambled()] {
        for stop_at in [2_000, 30_000, 50_000] {
            for budget in [3 << 20, 64 << 20] {
                let folder = tempfile::tempdir().unwrap();
                let vfs: Arc<dyn Vfs> = Arc::new(Folder::create(folder.path()).unwrap());
                let limits = Limits { max_states: Some(stop_at), ..Limits::default() };
                let setting = Setting { space: &torus, threads: 2, budget, limits };
                let report = search(&setting, vfs.clone(), Begin::Fresh).unwrap();
                assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
                let setting = Setting { threads: 1, budget: 4 << 20, limits: Limits::default(), ..setting };
                let report = search(&setting, vfs, Begin::Again).unwrap();
                assert_eq!(report.verdict, Verdict::Holds);
                assert_eq!((report.states, report.transitions), (64_000, 6 * 64_000), "{stop_at} {budget}");
                assert_eq!(report.depth, Some(60));
                assert_eq!(report.layers.iter().map(|l| l.transitions).sum::<u64>(), report.transitions);
            }
        }
    }
}

#[test]
fn a_run_killed_anywhere_resumes_to_the_same_numbers_or_was_never_committed() {
    let torus = Grid::torus(2, 300).scrambled();
    let setting = Setting { space: &torus, threads: 1, budget: 1 << 20, limits: Limits::default() };
    let whole = FaultyFolder::new(Faults::default());
    let report = search(&setting, Arc::new(whole.clone()), Begin::Fresh).unwrap();
    assert_eq!((report.states, report.transitions), (90_000, 360_000));
    assert!(report.stages.len() > 1, "the budget is small enough to leave the table");
    let operations = whole.operations();
    let mut resumed = 0;
    for die_at in (1..operations).step_by((operations / 12).max(1) as usize) {
        let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        if let Ok(report) = search(&setting, Arc::new(folder.clone()), Begin::Fresh) {
            // Commits come by the clock, so this time it took fewer operations.
            assert_eq!((report.states, report.transitions), (90_000, 360_000));
            continue;
        }
        let again: Arc<dyn Vfs> = Arc::new(folder.after_crash(Survival::Synced));
        match search(&setting, again, Begin::Again) {
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

#[test]
fn a_full_disk_stops_the_run_and_it_goes_on_when_there_is_room() {
    let torus = Grid::torus(2, 300).scrambled();
    let setting = Setting { space: &torus, threads: 1, budget: 1 << 20, limits: Limits::default() };
    let mut paused = 0;
    for capacity in (50..1500).step_by(90) {
        let folder = FaultyFolder::new(Faults { capacity: Some(capacity << 10), ..Faults::default() });
        match search(&setting, Arc::new(folder.clone()), Begin::Fresh) {
            Ok(report) if report.verdict == Verdict::Holds => assert_eq!(report.states, 90_000),
            Ok(report) => {
                assert_eq!(report.verdict, Verdict::Stopped(StopReason::DiskFull));
                folder.set_faults(Faults::default());
                match search(&setting, Arc::new(folder.clone()), Begin::Again) {
                    Ok(report) => {
                        assert_eq!((report.states, report.transitions), (90_000, 360_000), "{capacity} KiB");
                        paused += 1;
                    }
                    Err(Trouble::Open(_)) => {}
                    Err(other) => panic!("{capacity} KiB: {other}"),
                }
            }
            Err(trouble) => {
                assert!(trouble.is_disk_full() || matches!(trouble, Trouble::Open(_)), "{trouble}")
            }
        }
    }
    assert!(paused > 0, "some capacities suffice for a commit");
}

#[test]
fn a_run_resumed_on_a_disk_that_is_still_full_pauses_again_or_is_relieved_of_old_layers() {
    // Undirected: the two layers before are enough to know every duplicate.
    let torus = Grid::torus(3, 40).scrambled().padded(6);
    let (mut paused, mut relieved) = (0, 0);
    for capacity in (1200..2400).step_by(200).map(|kib| kib << 10) {
        let setting = Setting { space: &torus, threads: 1, budget: 2 << 20, limits: Limits::default() };
        let folder = FaultyFolder::new(Faults { capacity: Some(capacity), ..Faults::default() });
        let first = search(&setting, Arc::new(folder.clone()), Begin::Fresh).unwrap();
        assert_eq!(first.verdict, Verdict::Stopped(StopReason::DiskFull), "{capacity}");
        if first.disk.is_none() {
            // Not even what the table held had room: nothing to resume.
            continue;
        }
        let again = search(&setting, Arc::new(folder.clone()), Begin::Again).unwrap();
        assert_eq!(again.verdict, Verdict::Stopped(StopReason::DiskFull), "{capacity}");
        assert!(again.states >= first.states, "{capacity}: what was committed stands");
        paused += 1;
        let limits = Limits { when_full: WhenFull::DeleteLayers, ..Limits::default() };
        let deleting =
            search(&Setting { limits, ..setting }, Arc::new(folder.clone()), Begin::Again).unwrap();
        if deleting.verdict == Verdict::Holds {
            assert!(deleting.proviso.is_some(), "{capacity}");
            assert_eq!(deleting.states, 40 * 40 * 40, "{capacity}");
            relieved += 1;
        }
    }
    assert!(paused > 1 && relieved > 0, "{paused} paused, {relieved} relieved");
}

#[test]
fn layers_written_to_be_streamed_are_resumed_and_asked_like_others() {
    let budget = DENSE_FROM + (2 << 20);
    for (space, last) in
        [(Grid::torus(3, 64), "diagram"), (Grid::torus(3, 64).scrambled().padded(8), "sorted runs")]
    {
        let folder = FaultyFolder::new(Faults::default());
        let limits = Limits { max_states: Some(200_000), ..Limits::default() };
        let setting = Setting { space: &space, threads: 2, budget, limits };
        let stopped = search(&setting, Arc::new(folder.clone()), Begin::Fresh).unwrap();
        assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::StateLimit));
        let setting = Setting { limits: Limits::default(), ..setting };
        // The second time everything is there already.
        for _ in 0..2 {
            let report = search(&setting, Arc::new(folder.clone()), Begin::Again).unwrap();
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!((report.states, report.transitions), (64 * 64 * 64, 6 * 64 * 64 * 64));
            assert_eq!(report.depth, Some(96));
            assert_eq!(storages(&report).last(), Some(&last));
        }
    }
}

/// Stops while it expands a layer, once this many states are known; the names of diagrams on disk.
fn stop_within_a_layer(setting: &Setting, folder: &FaultyFolder, states: u64) -> Vec<String> {
    let control = Control::new(setting.limits);
    let vfs: Arc<dyn Vfs> = Arc::new(folder.clone());
    let stopped = runs::searched(&Auto, setting, (vfs, Begin::Fresh), &control, |method, setting| {
        let mut explorer = method.begin(setting)?;
        loop {
            let progress = explorer.step(1 << 20)?;
            if progress.phase == Phase::Within && progress.states > states {
                return explorer.finish();
            }
            assert_ne!(progress.phase, Phase::Over, "it is stopped before");
        }
    });
    assert_eq!(stopped.unwrap().report.verdict, Verdict::Stopped(StopReason::Interrupted));
    let names = folder.list().unwrap().into_iter().map(|file| file.name);
    names.filter(|name| name.starts_with("diagram-")).collect()
}

#[test]
fn a_run_that_is_resumed_reads_its_diagram_and_builds_one_that_is_damaged_again() {
    let torus = Grid::torus(3, 60);
    let whole = runs::in_ram(&torus, DeadlockNotion::Off);
    let setting = Setting { space: &torus, threads: 1, budget: 3 << 20, limits: Limits::default() };
    let resumed = |folder: &FaultyFolder| {
        let control = Control::resumed(setting.limits);
        let vfs: Arc<dyn Vfs> = Arc::new(folder.clone());
        let explored = runs::searched(&Auto, &setting, (vfs, Begin::Again), &control, |method, setting| {
            explore::explore(method, setting)
        });
        let report = explored.unwrap().report;
        runs::assert_same(&report, &whole, "resumed");
        (report.disk.map_or(0, |disk| disk.read), control.warnings().len())
    };
    let stopped = || {
        let folder = FaultyFolder::new(Faults::default());
        let names = stop_within_a_layer(&setting, &folder, 100_000);
        assert_eq!(names.len(), 1, "{names:?}");
        let bytes = folder.open(&names[0], Caching::Buffered).unwrap().len().unwrap();
        (folder, names[0].clone(), bytes)
    };
    let (folder, _, bytes) = stopped();
    let (with_it, warnings) = resumed(&folder);
    assert_eq!(warnings, 0);
    assert!(folder.list().unwrap().iter().all(|file| !file.name.starts_with("diagram-")), "it is over");
    let (folder, name, _) = stopped();
    folder.remove(&name).unwrap();
    let (without, warnings) = resumed(&folder);
    assert_eq!(warnings, 1, "it is told");
    assert!(with_it < without, "{with_it} bytes read with it, {without} without");
    for at in [0, 9, 40, bytes / 2, bytes - 1] {
        let (folder, name, _) = stopped();
        let file = folder.open(&name, Caching::Buffered).unwrap();
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        file.write_at(at, &[byte[0] ^ 0x11]).unwrap();
        assert_eq!(resumed(&folder).1, 1, "byte {at}");
    }
    let (folder, name, bytes) = stopped();
    folder.open(&name, Caching::Buffered).unwrap().set_len(bytes - 1).unwrap();
    assert_eq!(resumed(&folder).1, 1, "cut");
}

#[test]
fn a_layer_that_is_dropped_for_a_limit_is_not_in_the_diagram_on_disk() {
    let torus = Grid::torus(3, 60);
    let whole = runs::in_ram(&torus, DeadlockNotion::Off);
    let folder = FaultyFolder::new(Faults::default());
    for (most, begin) in [(100_000, Begin::Fresh), (150_000, Begin::Again), (1_000_000, Begin::Again)] {
        let limits = Limits { max_states: Some(most), ..Limits::default() };
        let setting = Setting { space: &torus, threads: 1, budget: 3 << 20, limits };
        let report = search(&setting, Arc::new(folder.clone()), begin).unwrap();
        let diagrams = folder.list().unwrap().iter().filter(|file| file.name.starts_with("diagram-")).count();
        if most < whole.states {
            assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
            assert_eq!(diagrams, 1, "{most}");
        } else {
            runs::assert_same(&report, &whole, "in the end");
        }
    }
}

#[test]
fn diagrams_of_every_commit_survive_kills_anywhere() {
    // Commits at each layer, each with a diagram; the run is killed, resumed with another budget, and killed again.
    let torus = Grid::torus(3, 48);
    let whole = runs::in_ram(&torus, DeadlockNotion::Off);
    let search = |folder: FaultyFolder, begin, budget| {
        let (question, governor) =
            (Question::everything(torus.properties(), DeadlockNotion::Off), Governor::new(budget));
        let control = Control::new(Limits::default());
        let task = SearchTask { space: &torus, question: &question, control: &control };
        let ledger = || {
            let vfs: Arc<dyn Vfs> = Arc::new(folder.clone());
            Ok(runs::ledger(vfs, begin, &governor, &torus)?.spaced(Duration::ZERO))
        };
        let setting = explore::Setting { task, governor: &governor, threads: 1, run: begin.run(&ledger) };
        explore::explore(&Auto, setting).map(|explored| explored.report)
    };
    let folder = FaultyFolder::new(Faults::default());
    let report = search(folder.clone(), Begin::Fresh, 1 << 20).unwrap();
    runs::assert_same(&report, &whole, "not killed");
    assert_eq!(storages(&report), ["table", "diagram"]);
    let operations = folder.operations();
    let mut resumed = 0;
    for die_at in (1..operations).step_by((operations / 24).max(1) as usize) {
        let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        if let Ok(report) = search(folder.clone(), Begin::Fresh, 1 << 20) {
            // Diagrams come by the clock, so this time it took fewer operations.
            runs::assert_same(&report, &whole, "not killed");
            continue;
        }
        let after = folder.after_crash(Survival::Synced);
        after.set_faults(Faults { die_at: Some(die_at / 4 + 20), ..Faults::default() });
        let second = search(after.clone(), Begin::Again, 2 << 20);
        let after = if second.is_ok() { after } else { after.after_crash(Survival::Synced) };
        match second.or_else(|_| search(after, Begin::Again, 1 << 20)) {
            Ok(report) => {
                runs::assert_same(&report, &whole, &format!("killed at {die_at}"));
                resumed += 1;
            }
            Err(Trouble::Open(_)) => {}
            Err(other) => panic!("killed at {die_at}: {other}"),
        }
    }
    assert!(resumed > 5, "most kills come after a commit");
}

#[test]
fn the_reported_violation_does_not_depend_on_when_the_table_is_full() {
    let grid = Grid::torus(3, 121).with(PropertyKind::Invariant, |p| p.iter().sum::<u64>() != 45);
    let whole = auto(&grid, 1, 1 << 30);
    let Verdict::Violated(expected) = &whole.verdict else { panic!("{:?}", whole.verdict) };
    let mut left_table = 0;
    for budget in 6..14 {
        let report = auto(&grid, 2, budget << 18);
        let Verdict::Violated(found) = &report.verdict else { panic!("{budget}: {:?}", report.verdict) };
        assert_eq!((found.kind, found.path.last()), (expected.kind, expected.path.last()), "{budget}");
        assert_eq!(found.path.len(), expected.path.len(), "{budget}");
        left_table += usize::from(storages(&report).len() > 1);
    }
    assert!(left_table > 2, "{left_table}");
}
