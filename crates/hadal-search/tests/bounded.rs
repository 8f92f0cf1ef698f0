//! No phase of a search outlives its step or an interrupt by much: sweeps over known states, the way to what was found,
//! leaving the table, reading a run back, merging. And a run that is resumed gets on, however short its time limit.

mod runs;

use hadal_search::auto::Auto;
use hadal_search::explore::{Explorer, Folders, Run};
use hadal_search::external::{External, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::ram::Breadth;
use hadal_search::report::Proviso;
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Limits, Method, Phase, Question, Report, SearchTask, Setting, StopReason,
    Verdict,
};
use hadal_store::Governor;
use hadal_system::guide::{Blind, Goal};
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use hadal_testkit::{Faults, FaultyFolder};
use runs::{Begin, ledger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Most states that a step, or what follows an interrupt, may expand: the largest block of a layer.
const MOST: u64 = 70_000;
/// A budget in which everything stays in RAM, and one in which nothing does.
const LARGE: u64 = 256 << 20;
const SMALL: u64 = 3 << 20;

/// A root, so many states behind it, as many behind each of them, and one behind the last of these: three layers, of which
/// the third is wide. Everything leads back to the root.
struct Fan {
    side: u64,
    properties: Vec<PropertyInfo>,
    /// States that were expanded.
    expanded: AtomicU64,
    /// Interrupts this search when so many are.
    interrupts: Option<(Arc<Control>, u64)>,
}

impl Fan {
    fn new(side: u64) -> Self {
        Fan { side, properties: Vec::new(), expanded: AtomicU64::new(0), interrupts: None }
    }

    fn asking(mut self, kind: PropertyKind) -> Self {
        self.properties.push(PropertyInfo { name: "behind".into(), kind, span: Span::default() });
        self
    }

    fn interrupting(self, control: &Arc<Control>, after: u64) -> Self {
        Fan { interrupts: Some((Arc::clone(control), after)), ..self }
    }

    /// The last state of the third layer.
    fn last(&self) -> u64 {
        self.side + self.side * self.side
    }

    /// The state behind it: no state is less like it than that one, so whoever looks for its predecessor among similar
    /// states fires all.
    fn wrong(&self) -> u64 {
        !self.last()
    }

    fn states(&self) -> u64 {
        self.last() + 2
    }
}

impl StateSpace for Fan {
    fn words(&self) -> usize {
        1
    }
    fn fingerprint(&self) -> u64 {
        self.side
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(FanWorker(self))
    }
    fn may_fault(&self) -> bool {
        false
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("n".into(), state[0].to_string())]
    }
}

struct FanWorker<'f>(&'f Fan);

impl Worker for FanWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let fan = self.0;
        let expanded = fan.expanded.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some((control, after)) = &fan.interrupts
            && expanded >= *after
        {
            control.interrupt();
        }
        let side = fan.side;
        match state[0] {
            0 => (0..side).for_each(|n| out.push(Label(n as u32), &[1 + n])),
            first if first <= side => {
                (0..side).for_each(|n| out.push(Label(n as u32), &[1 + first * side + n]));
            }
            other => {
                out.push(Label(0), &[0]);
                if other == fan.last() {
                    out.push(Label(1), &[fan.wrong()]);
                }
            }
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match self.0.properties.first() {
            Some(property) if property.kind == PropertyKind::Invariant && state[0] == self.0.wrong() => {
                Check::Hit(PropertyId(0))
            }
            _ => Check::Fine,
        }
    }

    fn satisfies(&mut self, state: &[u64], _: PropertyId) -> Option<bool> {
        Some(state[0] == self.0.wrong())
    }
}

struct Place<'a> {
    folder: FaultyFolder,
    space: &'a dyn StateSpace,
    governor: Governor,
    begin: Begin,
    /// Interrupted when the folder is opened.
    interrupts: Option<Arc<Control>>,
}

impl Folders for Place<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        let ledger = ledger(Arc::new(self.folder.clone()), self.begin, &self.governor, self.space);
        if let Some(control) = &self.interrupts {
            control.interrupt();
        }
        ledger
    }
}

/// A search in a folder of its own.
struct Sitting<'s> {
    fan: &'s Fan,
    budget: u64,
    folder: FaultyFolder,
    begin: Begin,
    control: Arc<Control>,
    interrupts_at_open: bool,
}

impl<'s> Sitting<'s> {
    fn new(fan: &'s Fan, budget: u64) -> Self {
        let control = Arc::new(Control::new(Limits::default()));
        let folder = FaultyFolder::new(Faults::default());
        Sitting { fan, budget, folder, begin: Begin::Fresh, control, interrupts_at_open: false }
    }

    /// Goes on in the same folder.
    fn again(&self, fan: &'s Fan, control: Control) -> Self {
        let control = Arc::new(control);
        Sitting { fan, begin: Begin::Again, control, folder: self.folder.clone(), ..*self }
    }

    fn with<T>(&self, method: &dyn Method, use_it: impl FnOnce(Box<dyn Explorer + '_>) -> T) -> T {
        let question = Question::everything(self.fan.properties(), DeadlockNotion::Off);
        let governor = Governor::new(self.budget);
        let place = Place {
            folder: self.folder.clone(),
            space: self.fan,
            governor: governor.clone(),
            begin: self.begin,
            interrupts: self.interrupts_at_open.then(|| Arc::clone(&self.control)),
        };
        let run = match self.begin {
            Begin::Fresh => Run::New(&place),
            Begin::Again => Run::Resumed(&place),
        };
        let task = SearchTask { space: self.fan, question: &question, control: &self.control };
        use_it(method.explorer(Setting { task, governor: &governor, threads: 1, run }).expect("it begins"))
    }

    /// Steps it to its end; the report, and the most states that a step expanded.
    fn stepped(&self, method: &dyn Method) -> (Report, u64) {
        self.with(method, |mut explorer| {
            let mut most = 0;
            loop {
                let before = self.fan.expanded.load(Ordering::Relaxed);
                let progress = explorer.step(1_000_000).expect("it goes on");
                most = most.max(self.fan.expanded.load(Ordering::Relaxed) - before);
                if progress.phase == Phase::Over {
                    return (explorer.finish().expect("it ends").report, most);
                }
            }
        })
    }

    fn run(&self, method: &dyn Method) -> Report {
        self.stepped(method).0
    }
}

#[test]
fn sweeps_over_known_states_end_with_the_step_and_count_what_they_look_at() {
    for (method, budget) in [(&Breadth as &dyn Method, LARGE), (&Auto, LARGE), (&Auto, SMALL)] {
        let fan = Fan::new(500).asking(PropertyKind::Liveness);
        let sitting = Sitting::new(&fan, budget);
        let (report, most) = sitting.stepped(method);
        assert_eq!((report.verdict, report.states), (Verdict::Holds, fan.states()));
        assert!(most <= MOST, "{most} states in a step");
        // Work goes on growing when every state is known.
        let fan = Fan::new(200).asking(PropertyKind::Liveness);
        let sweeping = Sitting::new(&fan, budget).with(method, |mut explorer| {
            let mut works = Vec::new();
            loop {
                let progress = explorer.step(1_000_000).expect("it goes on");
                if progress.states == fan.states() && progress.phase != Phase::Over {
                    works.push(progress.work);
                }
                if progress.phase == Phase::Over {
                    return works;
                }
            }
        });
        let grows = |pair: &[u64]| pair[0] < pair[1];
        assert!(sweeping.len() > 3 && sweeping.windows(2).skip(1).all(grows), "{sweeping:?}");
    }
}

#[test]
fn the_way_to_what_was_found_is_looked_for_in_steps_and_may_be_interrupted() {
    let sort = Strategy::named("sort").expect("a strategy");
    let ways: [(&dyn Method, u64); 4] = [(&Breadth, LARGE), (&Auto, LARGE), (&Auto, SMALL), (&sort, SMALL)];
    for (n, (method, budget)) in ways.into_iter().enumerate() {
        let fan = Fan::new(500).asking(PropertyKind::Invariant);
        let (report, most) = Sitting::new(&fan, budget).stepped(method);
        let Verdict::Violated(found) = &report.verdict else { panic!("{n}: {:?}", report.verdict) };
        assert_eq!(found.path.len(), 4);
        assert!(most <= MOST, "{n}: {most} states in a step");
        // Every state but the last is expanded, then the third layer again.
        let after = fan.states() + 10_000;
        let fan = Fan::new(500).asking(PropertyKind::Invariant);
        let sitting = Sitting::new(&fan, budget);
        let fan = Fan::new(500).asking(PropertyKind::Invariant).interrupting(&sitting.control, after);
        let sitting = Sitting { fan: &fan, ..sitting };
        let stopped = sitting.run(method);
        assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted), "{n}");
        assert_eq!(stopped.proviso, Some(Proviso::WrongSeen), "{n}");
        assert!(fan.expanded.load(Ordering::Relaxed) < after + MOST, "{n}");
        if stopped.disk.is_none() {
            continue;
        }
        let fan = Fan::new(500).asking(PropertyKind::Invariant);
        let again = sitting.again(&fan, Control::resumed(Limits::default())).run(method);
        assert_eq!(again.verdict, report.verdict, "{n}: what was seen is found again");
        if budget == SMALL {
            assert_eq!((again.states, again.transitions), (report.states, report.transitions), "{n}");
        }
    }
}

#[test]
fn the_way_through_buckets_may_be_interrupted() {
    let fan = Fan::new(300).asking(PropertyKind::Goal);
    let sitting = Sitting::new(&fan, LARGE);
    let after = fan.states() + 10_000;
    let fan = Fan::new(300).asking(PropertyKind::Invariant).interrupting(&sitting.control, after);
    let goal = Goal::of_properties(&fan.properties);
    let external = External { guide: &Blind, goal: &goal, options: ExternalOptions::default() };
    let sitting = Sitting { fan: &fan, ..sitting };
    let stopped = sitting.run(&external);
    assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted));
    assert_eq!(stopped.proviso, Some(Proviso::WrongSeen));
    assert!(fan.expanded.load(Ordering::Relaxed) < after + MOST);
    let fan = Fan::new(300).asking(PropertyKind::Invariant);
    let again = sitting.again(&fan, Control::resumed(Limits::default())).run(&external);
    assert!(matches!(&again.verdict, Verdict::Violated(found) if found.path.len() == 4), "{again:?}");
}

#[test]
fn a_bucket_is_expanded_in_steps_and_undone_where_the_search_ends_within_it() {
    for budget in [LARGE, SMALL] {
        let fan = Fan::new(700);
        let goal = Goal::of_properties(&fan.properties);
        let external = External { guide: &Blind, goal: &goal, options: ExternalOptions::default() };
        let (report, most) = Sitting::new(&fan, budget).stepped(&external);
        assert_eq!((report.verdict, report.states), (Verdict::Holds, fan.states()));
        // Pieces are cut by a sample.
        assert!(most <= 2 * MOST, "{most} states in a step");
        // The third layer is one bucket: the search ends when some of its pieces are expanded.
        let sitting = Sitting::new(&fan, budget);
        let stopped = sitting.with(&external, |mut explorer| {
            loop {
                let progress = explorer.step(1_000_000).expect("it goes on");
                assert_ne!(progress.phase, Phase::Over, "a bucket is left half done");
                if progress.phase == Phase::Within {
                    return explorer.finish().expect("it ends").report;
                }
            }
        });
        assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted));
        assert_eq!(stopped.states, 1 + fan.side, "only whole buckets count");
        let again = sitting.again(&fan, Control::resumed(Limits::default())).run(&external);
        assert_eq!((again.verdict, again.states), (Verdict::Holds, report.states));
        assert_eq!(again.transitions, report.transitions);
    }
}

#[test]
fn leaving_the_table_ends_when_the_search_is_interrupted_and_loses_no_layer() {
    let fan = Fan::new(500);
    let sitting = Sitting { interrupts_at_open: true, ..Sitting::new(&fan, SMALL) };
    let stopped = sitting.run(&Auto);
    assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted));
    assert_eq!(stopped.stages.len(), 1, "no other storage is set up: {:?}", stopped.stages);
    let again =
        Sitting { interrupts_at_open: false, ..sitting.again(&fan, Control::resumed(Limits::default())) };
    let report = again.run(&Auto);
    assert_eq!((report.verdict, report.states), (Verdict::Holds, fan.states()));
    let whole = Sitting::new(&fan, LARGE).run(&Auto);
    assert_eq!((report.transitions, report.layers.len()), (whole.transitions, whole.layers.len()));
}

#[test]
fn reading_a_run_back_ends_when_the_search_is_interrupted() {
    let sort = Strategy::named("sort").expect("a strategy");
    for method in [&Auto as &dyn Method, &sort] {
        let fan = Fan::new(500);
        let sitting = Sitting::new(&fan, SMALL);
        let fan = Fan::new(500).interrupting(&sitting.control, 200_000);
        let sitting = Sitting { fan: &fan, ..sitting };
        assert_eq!(sitting.run(method).verdict, Verdict::Stopped(StopReason::Interrupted));
        let fan = Fan::new(500);
        let again = sitting.again(&fan, Control::resumed(Limits::default()));
        again.control.interrupt();
        again.with(method, |explorer| {
            assert_eq!(explorer.progress().phase, Phase::Over, "it does not read on");
            let stopped = explorer.finish().expect("it ends").report;
            assert_eq!(stopped.verdict, Verdict::Stopped(StopReason::Interrupted));
        });
        let report = again.again(&fan, Control::resumed(Limits::default())).run(method);
        assert_eq!((report.verdict, report.states), (Verdict::Holds, fan.states()));
    }
}

#[test]
fn merges_count_as_work() {
    let fan = Fan::new(300);
    let sort = Strategy::named("sort").expect("a strategy");
    let counted = Sitting::new(&fan, SMALL).with(&sort, |mut explorer| {
        let (mut before, mut counted) = (explorer.progress(), 0);
        while before.phase != Phase::Over {
            let now = explorer.step(1).expect("it goes on");
            // Nothing was expanded: a layer was found.
            if now.transitions == before.transitions {
                counted += now.work - before.work;
            }
            before = now;
        }
        counted
    });
    assert!(counted > 10_000, "{counted}");
}

#[test]
fn a_run_that_is_resumed_gets_on_however_short_its_time_limit() {
    let sort = Strategy::named("sort").expect("a strategy");
    for (kind, method) in [(None, &Auto as &dyn Method), (None, &sort), (Some(PropertyKind::Liveness), &Auto)]
    {
        let plain = || kind.iter().fold(Fan::new(300), |fan, &kind| fan.asking(kind));
        let fan = plain();
        let whole = Sitting::new(&fan, LARGE).run(&Auto);
        let first = Sitting::new(&fan, SMALL);
        let fan = plain().interrupting(&first.control, 50_000);
        let first = Sitting { fan: &fan, ..first };
        let mut report = first.run(method);
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::Interrupted));
        let (fan, mut sittings) = (plain(), 0);
        while report.verdict != Verdict::Holds {
            let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
            report = first.again(&fan, Control::resumed(limits)).run(method);
            sittings += 1;
            assert!(sittings < 100, "{kind:?}: {:?} at {} states", report.verdict, report.states);
        }
        assert!(sittings > 2, "{sittings}: the limit stops it");
        assert_eq!((report.states, report.transitions), (whole.states, whole.transitions));
    }
}
