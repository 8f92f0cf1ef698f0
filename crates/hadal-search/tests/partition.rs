//! Exploration partition by partition: every heuristic, every budget and every resumed run gives the numbers of the search
//! in RAM, and traces lead where they say.

mod spaces;

use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::partition::{DiskWork, Heuristic, PartitionFigures, PartitionOptions};
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, Run, SearchTask, StopReason, Verdict, ViolationKind,
    explore,
};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::{Label, PropertyId, PropertyInfo, PropertyKind, StateField, StateSpace, Worker};
use hadal_testkit::{Faults, FaultyFolder, Survival};
use spaces::Grid;
use std::sync::Arc;
use std::time::Duration;

/// A grid that can name its coordinates: two of them make a variable, each belongs to a process.
struct Named {
    grid: Grid,
    fields: Vec<StateField>,
}

impl Named {
    fn new(grid: Grid, dimensions: u32) -> Self {
        let field = |n: u32| StateField {
            name: format!("x[{n}]"),
            offset: 32 * n,
            width: 32,
            group: n / 2,
            owner: Some(n),
        };
        Named { grid, fields: (0..dimensions).map(field).collect() }
    }
}

impl StateSpace for Named {
    fn words(&self) -> usize {
        self.grid.words()
    }
    fn fields(&self) -> &[StateField] {
        &self.fields
    }
    fn writers(&self) -> Option<Vec<u64>> {
        Some(vec![2; self.fields.len()])
    }
    fn fingerprint(&self) -> u64 {
        self.grid.fingerprint()
    }
    fn properties(&self) -> &[PropertyInfo] {
        self.grid.properties()
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        self.grid.worker()
    }
    fn render_label(&self, label: Label) -> String {
        self.grid.render_label(label)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.grid.render_state(state)
    }
}

#[derive(Clone)]
struct Setting<'a> {
    space: &'a dyn StateSpace,
    heuristic: Heuristic,
    resident: Option<u64>,
    budget: u64,
    limits: Limits,
    deadlock: DeadlockNotion,
    /// One partition at a time, which may outgrow the bound.
    as_published: bool,
    commit_every: Duration,
}

impl<'a> Setting<'a> {
    fn new(space: &'a dyn StateSpace, heuristic: Heuristic, resident: Option<u64>) -> Self {
        let (limits, deadlock) = (Limits::default(), DeadlockNotion::Off);
        let (budget, commit_every) = (4 << 20, Duration::ZERO);
        Setting { space, heuristic, resident, budget, limits, deadlock, as_published: false, commit_every }
    }

    fn start(&self) -> Report {
        self.run(Arc::new(FaultyFolder::new(Faults::default())), true).unwrap()
    }

    fn run(&self, vfs: Arc<dyn Vfs>, fresh: bool) -> Result<Report, Trouble> {
        let question = Question::everything(self.space.properties(), self.deadlock);
        let governor = Governor::new(self.budget);
        let ledger = || {
            let (threads, governor, print) = (IoThreads::new(1), governor.clone(), self.space.fingerprint());
            let folder = match fresh {
                true => RunFolder::create(Medium::new(vfs.clone(), threads, governor), print, 4096)?,
                false => {
                    RunFolder::open(Medium::new(vfs.clone(), threads, governor), print, 4096, Verify::Tails)?
                }
            };
            Ok(Ledger::new(folder, serde_json::json!({})))
        };
        let control = Control::new(self.limits);
        let task = SearchTask { space: self.space, question: &question, control: &control };
        let options = PartitionOptions {
            heuristic: self.heuristic,
            resident_states: self.resident,
            sample_states: 1000,
            commit_every: self.commit_every,
            one_at_a_time: self.as_published,
            may_overflow: self.as_published,
        };
        let run = if fresh { Run::New(&ledger) } else { Run::Resumed(&ledger) };
        let setting = hadal_search::Setting { task, governor: &governor, threads: 1, run };
        let report = explore(&options, setting).map(|explored| explored.report);
        assert!(governor.peak() <= self.budget, "peak {} of {}", governor.peak(), self.budget);
        report
    }
}

fn assert_bounded(report: &Report, resident: u64) {
    let figures = report.particular.partition.as_ref().unwrap();
    assert!(figures.sizes.bound <= resident / 2, "{figures:?}");
    assert!(figures.sizes.largest <= figures.sizes.bound, "{figures:?}");
    assert_eq!(figures.sizes.partitions.min(200), figures.sizes.descending.len() as u64);
    if figures.sizes.partitions <= 200 {
        assert_eq!(figures.sizes.descending.iter().sum::<u64>(), report.states);
    }
}

/// What does not depend on how fast the machine is.
fn untimed(report: Report) -> PartitionFigures {
    let figures = report.particular.partition.unwrap();
    let without = |work: DiskWork| DiskWork { seconds: 0.0, io_seconds: 0.0, ..work };
    let (search, reorganisation) = (without(figures.search), without(figures.reorganisation));
    PartitionFigures { search, reorganisation, ..figures }
}

#[test]
fn the_same_search_has_the_same_figures_every_time() {
    let torus = Named::new(Grid::torus(3, 12), 3);
    for commit_every in [Duration::from_micros(300), Duration::from_millis(2), Duration::from_secs(2)] {
        let mut setting = Setting::new(&torus, Heuristic::De, Some(60));
        setting.commit_every = commit_every;
        let first = untimed(setting.start());
        assert!(first.refinements > 1 && first.search.bytes_written > 0, "{first:?}");
        for _ in 0..3 {
            assert_eq!(untimed(setting.start()), first);
        }
    }
}

#[test]
fn as_published_one_partition_is_in_ram_and_some_outgrow_the_bound() {
    let torus = Named::new(Grid::torus(3, 12), 3);
    let (states, resident) = (12 * 12 * 12, 100);
    for (name, heuristic) in Heuristic::ALL {
        let mut setting = Setting::new(&torus, heuristic, Some(resident));
        let together = setting.start().particular.partition.unwrap();
        setting.as_published = true;
        let report = setting.start();
        let figures = report.particular.partition.as_ref().unwrap();
        assert_eq!((report.states, report.transitions), (states, 6 * states), "{name}");
        if heuristic == Heuristic::StaticGhc {
            // The same partitions: what was a transition within RAM crosses now.
            assert!(figures.cross_transitions > together.cross_transitions, "{figures:?}");
        }
        // A process of the torus has 12 values: a hash of it cannot give parts smaller than a twelfth of the states.
        let is_local = matches!(heuristic, Heuristic::StaticLhc | Heuristic::DynamicLhc);
        assert_eq!(figures.sizes.largest >= states / 12, is_local, "{name}: {figures:?}");
        assert!(!is_local || figures.refinements_by_hash == 0, "{name}");
    }
}

#[test]
fn every_heuristic_gives_the_numbers_of_the_search_in_ram() {
    let torus = Named::new(Grid::torus(3, 12), 3);
    let states = 12 * 12 * 12;
    for (name, heuristic) in Heuristic::ALL {
        for percent in [10, 3] {
            let resident = states * percent / 100;
            let report = Setting::new(&torus, heuristic, Some(resident)).start();
            assert_eq!(report.verdict, Verdict::Holds, "{name}");
            assert_eq!((report.states, report.transitions), (states, 6 * states), "{name} at {percent} %");
            assert_bounded(&report, resident);
            let figures = report.particular.partition.unwrap();
            assert!(figures.cross_transitions > 0 && figures.swaps > 0, "{name}");
            let begins_split = matches!(heuristic, Heuristic::StaticGhc | Heuristic::StaticLhc);
            assert!(figures.refinements > 0 || begins_split, "{name}");
            assert!(figures.search.reads > 0 && figures.search.writes > 0, "{name}: {figures:?}");
        }
    }
}

#[test]
fn a_space_that_names_no_components_is_split_by_hashes() {
    let torus = Grid::torus(2, 60).scrambled();
    let report = Setting::new(&torus, Heuristic::Adaptive, Some(100)).start();
    assert_eq!((report.states, report.transitions), (3600, 4 * 3600));
    assert_bounded(&report, 100);
    let figures = report.particular.partition.unwrap();
    assert_eq!(figures.refinements, figures.refinements_by_hash);
}

#[test]
fn a_search_that_fits_never_touches_the_disk() {
    let torus = Named::new(Grid::torus(3, 12), 3);
    let report = Setting::new(&torus, Heuristic::Adaptive, None).start();
    assert_eq!((report.states, report.transitions), (1728, 6 * 1728));
    let figures = report.particular.partition.unwrap();
    assert_eq!((figures.sizes.partitions, figures.cross_transitions, figures.swaps), (1, 0, 0));
    assert_eq!(report.disk.unwrap().written, 0);
}

#[test]
fn a_small_memory_budget_alone_splits_the_space() {
    let torus = Named::new(Grid::torus(3, 40), 3);
    let setting = Setting { budget: 1 << 20, ..Setting::new(&torus, Heuristic::Adaptive, None) };
    let report = setting.start();
    assert_eq!((report.states, report.transitions), (64_000, 6 * 64_000));
    assert!(report.particular.partition.unwrap().refinements > 0);
}

#[test]
fn a_trace_leads_from_the_start_to_the_violation() {
    let grid = Grid::torus(3, 16).with(PropertyKind::Invariant, |p| p != [7, 8, 5]);
    let named = Named::new(grid, 3);
    for (_, heuristic) in Heuristic::ALL {
        let report = Setting::new(&named, heuristic, Some(200)).start();
        let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
        assert_eq!(violation.kind, ViolationKind::Invariant(PropertyId(0)));
        named.grid.assert_connected(&violation.path);
        assert_eq!(violation.path.last(), Some(&named.grid.pack(&[7, 8, 5])));
    }
}

#[test]
fn a_deadlock_is_found_with_its_trace_and_covers_are_counted() {
    let grid = Named::new(Grid::one_way(3, 12), 3);
    let setting =
        Setting { deadlock: DeadlockNotion::Stuck, ..Setting::new(&grid, Heuristic::De, Some(150)) };
    let Verdict::Violated(violation) = setting.start().verdict else { panic!("a far corner") };
    assert_eq!(violation.kind, ViolationKind::Deadlock);
    grid.grid.assert_connected(&violation.path);
    assert_eq!(violation.path.len(), 3 * 11 + 1);

    let met = Named::new(Grid::torus(2, 40).with(PropertyKind::Cover, |p| p[0] == p[1]), 2);
    let report = Setting::new(&met, Heuristic::Pd, Some(160)).start();
    assert_eq!((report.verdict, report.covers), (Verdict::Holds, vec![40]));
    let unmet = Named::new(Grid::torus(2, 40).with(PropertyKind::Cover, |p| p[0] > 40), 2);
    let report = Setting::new(&unmet, Heuristic::Pd, Some(160)).start();
    let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(violation.kind, ViolationKind::Uncovered(PropertyId(0)));
}

#[test]
fn a_run_stopped_by_a_limit_resumes_to_the_same_numbers_in_less_memory() {
    let torus = Named::new(Grid::torus(3, 16), 3);
    for stop_at in [100, 1000, 3000] {
        let folder: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
        let whole = Setting::new(&torus, Heuristic::Adaptive, Some(800));
        let limits = Limits { max_states: Some(stop_at), ..Limits::default() };
        let report = Setting { limits, ..whole.clone() }.run(folder.clone(), true).unwrap();
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
        let report = Setting { resident: Some(150), ..whole }.run(folder.clone(), false).unwrap();
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!((report.states, report.transitions), (4096, 6 * 4096), "stopped at {stop_at}");
        // A run that is complete says so again.
        let report = Setting::new(&torus, Heuristic::Adaptive, None).run(folder, false).unwrap();
        assert_eq!((report.states, report.transitions), (4096, 6 * 4096));
    }
}

#[test]
fn a_run_killed_anywhere_resumes_to_the_same_numbers_or_was_never_committed() {
    let torus = Named::new(Grid::torus(2, 24), 2);
    let setting = Setting::new(&torus, Heuristic::De, Some(150));
    let whole = FaultyFolder::new(Faults::default());
    let report = setting.run(Arc::new(whole.clone()), true).unwrap();
    assert_eq!((report.states, report.transitions), (576, 2304));
    let operations = whole.operations();
    let mut resumed = 0;
    for die_at in (1..operations).step_by((operations / 30).max(1) as usize) {
        let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        if let Ok(report) = setting.run(Arc::new(folder.clone()), true) {
            // Only removing what is no longer needed was left to do.
            assert_eq!((report.states, report.transitions), (576, 2304), "killed at {die_at}");
        }
        match setting.run(Arc::new(folder.after_crash(Survival::Synced)), false) {
            Ok(report) => {
                assert_eq!((report.states, report.transitions), (576, 2304), "killed at {die_at}");
                assert_eq!(report.verdict, Verdict::Holds);
                resumed += 1;
            }
            Err(Trouble::Open(_)) => {}
            Err(other) => panic!("killed at {die_at}: {other}"),
        }
    }
    assert!(resumed > 10, "most kills come after a commit");
}
