//! Accepted cycles: every engine against brute force on random products, and every lasso against the graph.

use hadal_search::auto::Auto;
use hadal_search::cycles::Engine;
use hadal_search::cycles::as_safety::{LassoSpace, Seeds};
use hadal_search::cycles::external::External;
use hadal_search::layered::Trouble;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::{
    Control, DeadlockNotion, Explorer, Limits, Method, Phase, Question, Report, Run, SearchTask, Setting,
    StopReason, Verdict, ViolationKind, explore,
};
use hadal_store::Governor;
use hadal_store::vfs::{Folder, Vfs};
use hadal_system::{
    Acceptance, Label, PropertyId, PropertyInfo, PropertyKind, Shown, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use std::sync::Arc;

mod graphs;
mod runs;

use graphs::{Dice, check_lasso, fair, shortest, violated};

/// Goes on in the smallest steps there are.
fn stepped(mut explorer: Box<dyn Explorer + '_>) -> Report {
    while explorer.step(1).expect("it goes on").phase != Phase::Over {}
    explorer.finish().expect("it ends").report
}

/// Whether an accepted cycle was found, whether or not it is shown.
fn has_cycle(report: &Report) -> bool {
    match &report.verdict {
        Verdict::Holds => false,
        Verdict::Violated(found) => matches!(found.kind, ViolationKind::Cycle { .. }),
        Verdict::Stopped(reason) => panic!("stopped: {reason}"),
    }
}

#[test]
fn all_engines_agree_with_brute_force_on_ten_thousand_products() {
    let mut dice = Dice(Random::new(11));
    let control = Control::new(Limits::default());
    let (mut broken, mut runs) = (0, 0);
    for n in 0..12_000 {
        let graph = dice.graph();
        let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
        let task = SearchTask { space: &graph, question: &question, control: &control };
        let governor = Governor::new(16 << 20);
        let wanted = violated(&graph);
        broken += u32::from(wanted);
        let threads = if n % 20 == 0 { 3 } else { 1 };
        let search = Setting::in_ram(task, &governor, threads);
        let mut reports =
            vec![("sweep".to_owned(), runs::explored_in_ram(&Breadth, task, &governor, threads))];
        let engines = [
            Engine::Nested,
            Engine::Driven,
            Engine::Components,
            Engine::Owcty,
            Engine::Map,
            Engine::SharedNested,
            Engine::SharedComponents,
        ];
        for engine in engines {
            // Steps cost a test as much as the search itself: every eighth graph will do.
            let in_steps = n % 8 == 0;
            match engine.explorer(search) {
                Ok(explorer) => {
                    let whole = explore::explore(&engine, search).expect("it suits").report;
                    if in_steps {
                        let stepped = stepped(explorer);
                        // Threads take turns of their own.
                        if threads == 1 {
                            assert_eq!(stepped.verdict, whole.verdict);
                            assert_eq!(
                                (stepped.states, stepped.transitions),
                                (whole.states, whole.transitions)
                            );
                        }
                        reports.push((format!("{engine:?} in steps"), stepped));
                    }
                    reports.push((format!("{engine:?}"), whole));
                }
                Err(unsuited) => {
                    assert!(
                        graph.acceptance.sets > 1 || !graph.acceptance.on_states,
                        "{engine:?}: {unsuited}"
                    );
                }
            }
        }
        for (engine, report) in &reports {
            runs += 1;
            match wanted {
                true => {
                    check_lasso(&graph, report, engine);
                }
                false => assert_eq!(
                    report.verdict,
                    Verdict::Holds,
                    "{engine} on {:?} from {:?}",
                    graph.edges,
                    graph.starts
                ),
            }
        }
    }
    assert!((2_000..10_000).contains(&broken), "{broken} of 12000 are violated: lopsided");
    assert!(runs > 40_000, "{runs}");
}

#[test]
fn strongly_fair_cycles_are_those_of_brute_force() {
    let mut dice = Dice(Random::new(17));
    let control = Control::new(Limits::default());
    let mut broken = 0;
    for n in 0..6_000 {
        let mut graph = dice.with_pairs();
        let wanted = fair(&graph);
        broken += u32::from(wanted);
        let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
        let governor = Governor::new(16 << 20);
        let mut lengths = Vec::new();
        for shown in [Shown::Some, Shown::Shortest] {
            graph.acceptance.shown = shown;
            let task = SearchTask { space: &graph, question: &question, control: &control };
            let search = Setting::in_ram(task, &governor, 1 + n % 2);
            let mut reports =
                vec![("sweep", runs::explored_in_ram(&Breadth, task, &governor, search.threads))];
            reports.push(("scc", explore::explore(&Engine::Components, search).expect("it suits").report));
            for (engine, report) in &reports {
                match wanted {
                    true => lengths.push(check_lasso(&graph, report, engine)),
                    false => assert_eq!(report.verdict, Verdict::Holds, "{engine} {:?}", graph.edges),
                }
            }
        }
        if let [some, _, shortest, scc] = lengths[..] {
            assert!(shortest <= some && shortest <= scc, "{lengths:?} {:?}", graph.edges);
        }
    }
    assert!((1_000..5_000).contains(&broken), "{broken} of 6000 are violated: lopsided");
}

#[test]
fn sweeps_find_shortest_lassos_of_either_kind_where_they_are_asked_to() {
    let mut dice = Dice(Random::new(23));
    let control = Control::new(Limits::default());
    let mut found = 0;
    for n in 0..3_000 {
        let mut graph = dice.graph();
        if graph.acceptance.sets > 1 || !graph.acceptance.on_states {
            continue;
        }
        for (shown, seeds) in [(Shown::FromAccepting, Seeds::Accepting), (Shown::Shortest, Seeds::Any)] {
            graph.acceptance.shown = shown;
            let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
            let task = SearchTask { space: &graph, question: &question, control: &control };
            let report = runs::explored_in_ram(&Breadth, task, &Governor::new(16 << 20), 1 + n % 2);
            match shortest(&graph, seeds) {
                None => assert_eq!(report.verdict, Verdict::Holds),
                Some(length) => {
                    assert_eq!(check_lasso(&graph, &report, "sweep"), length, "{shown:?} {:?}", graph.edges);
                    assert!(matches!(&report.verdict, Verdict::Violated(found) if found.shortest));
                    found += 1;
                }
            }
        }
    }
    assert!(found > 400, "{found}");
}

#[test]
fn a_search_that_does_not_look_for_runs_does_not_say_that_all_is_well() {
    let mut dice = Dice(Random::new(3));
    let graph = dice.graph();
    let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
    let control = Control::new(Limits::default());
    let governor = Governor::new(16 << 20);
    let task = SearchTask { space: &graph, question: &question, control: &control };
    let report = runs::explored_in_ram(&Depth, task, &governor, 1);
    assert_eq!(report.verdict, Verdict::Stopped(StopReason::Unanswered));
}

/// A grid of counters, one of which wraps round in the far corner of the others where `closed`: many states, one cycle or
/// none.
struct Rings {
    side: u64,
    dimensions: u32,
    closed: bool,
    /// Whether every dimension wraps round everywhere: one large component.
    everywhere: bool,
    /// What is asked instead of cycles: whether this state can always be reached.
    returns_to: Option<u64>,
    properties: Vec<PropertyInfo>,
}

impl Rings {
    fn new(closed: bool) -> Self {
        let properties =
            vec![PropertyInfo { name: "f".into(), kind: PropertyKind::Formula, span: Span::default() }];
        Rings { side: 24, dimensions: 4, closed, everywhere: false, returns_to: None, properties }
    }

    /// Asks whether a state can be reached from everywhere.
    fn returning(mut self, to: u64) -> Self {
        self.properties[0].kind = PropertyKind::Liveness;
        Rings { returns_to: Some(to), ..self }
    }

    fn torus(side: u64, dimensions: u32) -> Self {
        Rings { side, dimensions, everywhere: true, ..Rings::new(true) }
    }
}

impl StateSpace for Rings {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        u64::from(self.closed) + 2 * u64::from(self.everywhere)
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn acceptance(&self) -> Option<Acceptance> {
        let cycles = Acceptance {
            property: PropertyId(0),
            sets: 1,
            pairs: 0,
            on_states: true,
            weak: false,
            by_reaching: false,
            shown: Shown::Some,
        };
        self.returns_to.is_none().then_some(cycles)
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Ring(self))
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("n".into(), state[0].to_string())]
    }
}

struct Ring<'r>(&'r Rings);

impl Worker for Ring<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let mut unit = 1u64;
        for d in 0..self.0.dimensions {
            let at = state[0] / unit % self.0.side;
            if at + 1 < self.0.side {
                out.push(Label(d), &[state[0] + unit]);
            } else if self.0.everywhere || self.0.closed && d == 0 && self.state_marks(state) == 1 {
                out.push(Label(d), &[state[0] - at * unit]);
            }
            unit *= self.0.side;
        }
    }
    fn satisfies(&mut self, state: &[u64], _property: PropertyId) -> Option<bool> {
        Some(self.0.returns_to == Some(state[0]))
    }
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        marks.clear();
        marks.resize(out.len(), self.state_marks(state));
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        // Accepting only in the far corner of the other dimensions.
        let corner = self.0.side.pow(self.0.dimensions - 1) - 1;
        u64::from(state[0] / self.0.side == corner)
    }
}

#[test]
fn sweeps_go_on_on_disk_with_the_same_answer() {
    for closed in [false, true] {
        let space = Rings::new(closed);
        let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
        for megabytes in [64, 4] {
            let control = Control::new(Limits::default());
            let governor = Governor::new(megabytes << 20);
            let task = SearchTask { space: &space, question: &question, control: &control };
            let folder = tempfile::tempdir().expect("a folder");
            let vfs: Arc<dyn Vfs> = Arc::new(Folder::create(folder.path()).expect("a folder"));
            let ledger = || runs::ledger(Arc::clone(&vfs), runs::Begin::Fresh, &governor, &space);
            let setting = Setting { task, governor: &governor, threads: 2, run: Run::New(&ledger) };
            let report = explore(&Auto, setting).expect("it runs").report;
            assert_eq!(report.states, 24u64.pow(4), "{megabytes} MiB");
            assert!(report.disk.is_some() == (megabytes == 4), "{megabytes} MiB");
            match closed {
                false => assert_eq!(report.verdict, Verdict::Holds, "{megabytes} MiB"),
                true => {
                    let Verdict::Violated(found) = &report.verdict else { panic!("{:?}", report.verdict) };
                    let ViolationKind::Cycle { loop_from, .. } = found.kind else {
                        panic!("{:?}", found.kind)
                    };
                    assert_eq!(found.path.len() - loop_from, 24, "{megabytes} MiB");
                }
            }
        }
    }
}

#[test]
fn liveness_as_safety_finds_shortest_lassos() {
    let mut dice = Dice(Random::new(5));
    let control = Control::new(Limits::default());
    let (mut found, mut longer) = (0, 0);
    for _ in 0..4_000 {
        let graph = dice.graph();
        let mut lengths = Vec::new();
        for seeds in [Seeds::Accepting, Seeds::Any] {
            let Some(lassos) = LassoSpace::new(&graph, seeds) else { continue };
            let question = lassos.question(&Question { deadlock: DeadlockNotion::Off, asked: vec![true] });
            let task = SearchTask { space: &lassos, question: &question, control: &control };
            let governor = Governor::new(16 << 20);
            let mut report = runs::explored_in_ram(&Breadth, task, &governor, 1);
            let most = (graph.edges.len() * (1 + 2 * graph.edges.len()) + 2 * graph.edges.len()) as u64;
            assert!(report.states <= most, "{} of at most {most}", report.states);
            report.verdict = lassos.lasso(report.verdict);
            let wanted = shortest(&graph, seeds);
            match wanted {
                None => assert_eq!(report.verdict, Verdict::Holds),
                Some(wanted) => {
                    assert_eq!(check_lasso(&graph, &report, "las"), wanted, "{seeds:?} {:?}", graph.edges);
                    lengths.push(wanted);
                }
            }
            assert_eq!(wanted.is_some(), violated(&graph));
        }
        if let [accepting, any] = lengths[..] {
            found += 1;
            longer += u32::from(accepting > any);
            assert!(accepting >= any);
        }
    }
    assert!(found > 300 && longer > 5, "{found} lassos, {longer} longer where the seed must be accepting");
}

#[test]
fn no_lasso_up_to_a_bound_is_what_a_bounded_search_says() {
    let mut dice = Dice(Random::new(8));
    for _ in 0..300 {
        let graph = dice.graph();
        let Some(lassos) = LassoSpace::new(&graph, Seeds::Accepting) else { continue };
        let question = lassos.question(&Question { deadlock: DeadlockNotion::Off, asked: vec![true] });
        let wanted = shortest(&graph, Seeds::Accepting);
        for bound in 0..8 {
            let control = Control::new(Limits { max_depth: Some(bound), ..Limits::default() });
            let task = SearchTask { space: &lassos, question: &question, control: &control };
            let report = runs::explored_in_ram(&Breadth, task, &Governor::new(16 << 20), 1);
            match wanted.filter(|&length| length as u64 <= bound) {
                Some(_) => assert!(matches!(report.verdict, Verdict::Violated(_))),
                None => assert!(!matches!(report.verdict, Verdict::Violated(_))),
            }
        }
    }
}

/// A search of a space whose runs are asked about, in a folder that may die.
fn in_folder(
    space: &Rings,
    folder: &FaultyFolder,
    (budget, threads): (u64, usize),
    begin: runs::Begin,
) -> Result<Report, Trouble> {
    by_method(&Auto, (space, Limits::default()), folder, (budget, threads), begin)
}

/// The same by any method, under limits.
fn by_method(
    method: &dyn Method,
    (space, limits): (&Rings, Limits),
    folder: &FaultyFolder,
    (budget, threads): (u64, usize),
    begin: runs::Begin,
) -> Result<Report, Trouble> {
    let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
    let control = Control::new(limits);
    let governor = Governor::new(budget);
    let task = SearchTask { space, question: &question, control: &control };
    let vfs: Arc<dyn Vfs> = Arc::new(folder.clone());
    let ledger = || {
        let run = runs::ledger(Arc::clone(&vfs), begin, &governor, space)?;
        Ok(run.spaced(std::time::Duration::ZERO))
    };
    let setting = Setting { task, governor: &governor, threads, run: begin.run(&ledger) };
    let report = explore(method, setting).map(|explored| explored.report);
    assert!(governor.peak() <= budget, "{} of {budget}", governor.peak());
    report
}

/// Kills a search at so many moments, and lets it go on with another number of threads and another budget.
fn killed_while_sweeping(space: &Rings, moments: u64) {
    let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
    let control = Control::new(Limits::default());
    let task = SearchTask { space, question: &question, control: &control };
    let wanted = runs::explored_in_ram(&Breadth, task, &Governor::new(16 << 20), 1);
    let whole = FaultyFolder::new(Faults::default());
    let report = in_folder(space, &whole, (2 << 20, 1), runs::Begin::Fresh).expect("it runs");
    assert_eq!(report.verdict, wanted.verdict, "the lasso of a search on disk is that of one in RAM");
    assert!(report.disk.is_some(), "it went to disk");
    let mut dice = Dice(Random::new(space.side));
    let (first, last) = (whole.operations() / 4, whole.operations());
    let mut resumed = 0;
    for n in 0..moments {
        let die_at = first + dice.below(last - first);
        let mut folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        let mut ended = in_folder(space, &folder, (2 << 20, 1 + n as usize % 2), runs::Begin::Fresh);
        for deaths in 0..4 {
            if ended.is_ok() {
                break;
            }
            resumed += 1;
            folder = folder.after_crash([Survival::Synced, Survival::TornLastWrite][n as usize % 2]);
            if deaths < 2 {
                folder.set_faults(Faults { die_at: Some(40 + dice.below(400)), ..Faults::default() });
            }
            let budget = [2 << 20, 4 << 20, 16 << 20][dice.below(3) as usize];
            ended = in_folder(space, &folder, (budget, 1 + dice.below(3) as usize), runs::Begin::Again);
        }
        let report = ended.unwrap_or_else(|trouble| panic!("killed at {die_at}: {trouble}"));
        assert_eq!(report.verdict, wanted.verdict, "killed at {die_at}");
        assert_eq!((report.states, report.transitions), (wanted.states, wanted.transitions));
    }
    assert!(resumed >= moments / 2, "{resumed} of {moments} kills left a run to go on with");
}

#[test]
fn killed_between_and_inside_sweeps_a_search_ends_with_the_same_lasso() {
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(true) }, 12);
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(false) }, 6);
    killed_while_sweeping(&Rings::torus(18, 4), 4);
}

#[test]
fn killed_while_it_asks_whether_a_state_can_always_be_reached_a_search_ends_with_the_same_answer() {
    let last = 18u64.pow(4) - 1;
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(false) }.returning(last), 5);
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(false) }.returning(last - 5), 5);
    killed_while_sweeping(&Rings::torus(18, 4).returning(7), 4);
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal-search --test liveness -- --ignored killed"]
fn killed_at_many_moments_a_search_ends_with_the_same_lasso() {
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(true) }, 200);
    killed_while_sweeping(&Rings { side: 18, ..Rings::new(false) }, 200);
    killed_while_sweeping(&Rings::torus(18, 4), 50);
}

#[test]
fn killed_searches_by_sorting_end_with_the_same_lasso() {
    let mut dice = Dice(Random::new(31));
    for (closed, engine) in
        [(false, External::Owcty), (true, External::Owcty), (false, External::Map), (true, External::Map)]
    {
        let space = Rings { side: 6, ..Rings::new(closed) };
        let whole = FaultyFolder::new(Faults::default());
        let sorting = |folder: &FaultyFolder, begin| {
            by_method(&engine, (&space, Limits::default()), folder, (2 << 20, 1), begin)
        };
        let wanted = sorting(&whole, runs::Begin::Fresh).expect("it runs");
        assert_eq!(has_cycle(&wanted), closed);
        let (first, last) = (whole.operations() / 8, whole.operations());
        let mut resumed = 0;
        for n in 0..8 {
            let die_at = first + dice.below(last - first);
            let mut folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
            let mut ended = sorting(&folder, runs::Begin::Fresh);
            for deaths in 0..4 {
                if ended.is_ok() {
                    break;
                }
                resumed += 1;
                folder = folder.after_crash([Survival::Synced, Survival::TornLastWrite][n % 2]);
                if deaths < 2 {
                    folder.set_faults(Faults { die_at: Some(40 + dice.below(400)), ..Faults::default() });
                }
                ended = sorting(&folder, runs::Begin::Again);
            }
            let report = ended.unwrap_or_else(|trouble| panic!("{engine:?} killed at {die_at}: {trouble}"));
            assert_eq!(report.verdict, wanted.verdict, "{engine:?} killed at {die_at}");
            let figures = |report: &Report| (report.states, report.transitions);
            assert_eq!(figures(&report), figures(&wanted), "{engine:?} killed at {die_at}");
        }
        assert!(resumed >= 4, "{resumed} of 8 kills left a run to go on with");
    }
}

/// Kills a search when it knows that there is an accepted cycle, and lets it go on under limits that are used up already.
#[test]
fn once_a_cycle_is_known_no_limit_keeps_its_lasso_from_being_shown() {
    let used_up = Limits { max_states: Some(1), time: Some(std::time::Duration::ZERO), ..Limits::default() };
    let methods: [(&dyn Method, Rings, u64); 3] = [
        (&External::Owcty, Rings { side: 6, ..Rings::new(true) }, 2 << 20),
        (&External::Map, Rings { side: 6, ..Rings::new(true) }, 2 << 20),
        (&Auto, Rings { side: 18, ..Rings::new(true) }, 1 << 20),
    ];
    for (n, (method, space, budget)) in methods.into_iter().enumerate() {
        let whole = FaultyFolder::new(Faults::default());
        let under = |limits, folder: &FaultyFolder, begin| {
            by_method(method, (&space, limits), folder, (budget, 1), begin)
        };
        let wanted = under(Limits::default(), &whole, runs::Begin::Fresh).expect("it runs");
        assert!(has_cycle(&wanted));
        let last = whole.operations();
        let (mut shown, mut stopped) = (0, 0);
        for die_at in (last / 2..last).step_by((last / 40) as usize).chain([last - 1]) {
            let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
            if under(Limits::default(), &folder, runs::Begin::Fresh).is_ok() {
                continue;
            }
            let folder = folder.after_crash(Survival::Synced);
            let report = under(used_up, &folder, runs::Begin::Again).expect("it goes on");
            match report.verdict {
                Verdict::Stopped(_) if shown == 0 => stopped += 1,
                verdict => {
                    assert_eq!(verdict, wanted.verdict, "{n}: killed at {die_at} of {last}");
                    shown += 1;
                }
            }
        }
        assert!(shown > 0, "{n}: {stopped} stopped");
    }
}

/// Compares searches by sorting and scanning with brute force on so many random graphs.
fn by_sorting(graphs: usize) {
    let mut dice = Dice(Random::new(29));
    let (mut compared, mut broken) = (0, 0);
    while compared < graphs {
        let graph = dice.graph();
        if graph.acceptance.sets > 1 || !graph.acceptance.on_states {
            continue;
        }
        compared += 1;
        let wanted = violated(&graph);
        broken += usize::from(wanted);
        for engine in [External::Owcty, External::Map] {
            let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
            let control = Control::new(Limits::default());
            let governor = Governor::new(4 << 20);
            let task = SearchTask { space: &graph, question: &question, control: &control };
            let vfs: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
            let ledger = || runs::ledger(Arc::clone(&vfs), runs::Begin::Fresh, &governor, &graph);
            let search = Setting { task, governor: &governor, threads: 1, run: Run::New(&ledger) };
            let report = stepped(engine.explorer(search).expect("it suits"));
            let said = has_cycle(&report);
            assert_eq!(said, wanted, "{engine:?} {:?} from {:?}", graph.edges, graph.starts);
            if said {
                check_lasso(&graph, &report, "by sorting");
            }
        }
    }
    assert!(broken > graphs / 8 && broken < graphs, "{broken} of {graphs} are violated: lopsided");
}

#[test]
fn searches_by_sorting_agree_with_brute_force() {
    by_sorting(400);
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal-search --test liveness -- --ignored sorting"]
fn searches_by_sorting_agree_with_brute_force_on_ten_thousand_products() {
    by_sorting(10_000);
}

#[test]
fn searches_by_sorting_stay_within_a_small_budget() {
    for closed in [false, true] {
        let space = Rings { side: 14, ..Rings::new(closed) };
        for engine in [External::Owcty, External::Map] {
            let question = Question { deadlock: DeadlockNotion::Off, asked: vec![true] };
            let control = Control::new(Limits::default());
            let governor = Governor::new(2 << 20);
            let task = SearchTask { space: &space, question: &question, control: &control };
            let vfs: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
            let ledger = || runs::ledger(Arc::clone(&vfs), runs::Begin::Fresh, &governor, &space);
            let search = Setting { task, governor: &governor, threads: 1, run: Run::New(&ledger) };
            let report = explore::explore(&engine, search).expect("it runs").report;
            assert_eq!((report.states, has_cycle(&report)), (14u64.pow(4), closed), "{engine:?}");
            assert!(governor.peak() <= 2 << 20);
        }
    }
}
