//! The RAM explorers on spaces whose answers are known by arithmetic.

mod spaces;

use hadal_search::distrust::Distrusted;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::{
    Control, DeadlockNotion, Limits, Method, Question, Report, SearchTask, Setting, StopReason, Verdict,
    ViolationKind,
};
use hadal_store::Governor;
use hadal_system::{PropertyId, PropertyKind, StateSpace, WrapsSpace};
use spaces::Grid;
use std::sync::atomic::AtomicBool;

fn explore(space: &dyn StateSpace, threads: usize, budget: u64, limits: Limits, order: Order) -> Report {
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let task = SearchTask { space, question: &question, control: &Control::new(limits) };
    let method: &dyn Method = match order {
        Order::Breadth => &Breadth,
        Order::Depth => &Depth,
    };
    run(method, task, budget, threads)
}

fn run(method: &dyn Method, task: SearchTask, budget: u64, threads: usize) -> Report {
    let governor = Governor::new(budget);
    hadal_search::explore(method, Setting::in_ram(task, &governor, threads))
        .expect("nothing fails in RAM")
        .report
}

#[derive(Clone, Copy)]
enum Order {
    Breadth,
    Depth,
}

const PLENTY: u64 = 1 << 32;

#[test]
fn a_torus_has_the_same_numbers_for_any_order_and_thread_count() {
    let torus = Grid::torus(3, 17);
    for threads in [1, 2, 5] {
        for order in [Order::Breadth, Order::Depth] {
            let report = explore(&torus, threads, PLENTY, Limits::default(), order);
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!(report.states, 17 * 17 * 17);
            assert_eq!(report.transitions, 6 * 17 * 17 * 17);
        }
        let report = explore(&torus, threads, PLENTY, Limits::default(), Order::Breadth);
        assert_eq!(report.depth, Some(3 * 8));
        assert_eq!(report.layers.len(), 25);
        assert_eq!(report.layers[1].states, 6);
        assert_eq!(report.layers.iter().map(|l| l.states).sum::<u64>(), report.states);
    }
}

#[test]
fn the_breadth_first_trace_is_shortest_and_connected() {
    let grid = Grid::torus(2, 41).with(PropertyKind::Invariant, |p| p != [7, 12]);
    for threads in [1, 3] {
        let report = explore(&grid, threads, PLENTY, Limits::default(), Order::Breadth);
        let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
        assert_eq!(violation.kind, ViolationKind::Invariant(PropertyId(0)));
        assert_eq!(violation.path.len(), 7 + 12 + 1);
        grid.assert_connected(&violation.path);
    }
    let report = explore(&grid, 2, PLENTY, Limits::default(), Order::Depth);
    let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
    grid.assert_connected(&violation.path);
    assert_eq!(violation.path.last(), Some(&grid.pack(&[7, 12])));
}

#[test]
fn a_one_way_corner_is_a_deadlock_and_a_liveness_trap() {
    let corner = Grid::one_way(2, 6);
    let question = Question::everything(&[], DeadlockNotion::Stuck);
    let task = SearchTask { space: &corner, question: &question, control: &Control::new(Limits::default()) };
    let report = run(&Breadth, task, PLENTY, 2);
    let Verdict::Violated(violation) = report.verdict else { panic!("a corner is stuck") };
    assert_eq!(violation.kind, ViolationKind::Deadlock);
    assert_eq!(violation.path.len(), 11);

    let back_home = Grid::one_way(2, 6).with(PropertyKind::Liveness, |p| p == [0, 3]);
    let report = explore(&back_home, 2, PLENTY, Limits::default(), Order::Breadth);
    let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(violation.kind, ViolationKind::Liveness(PropertyId(0)));
    assert_eq!(violation.path.len(), 2, "one step sideways and [0, 3] is out of reach");

    let around = Grid::torus(2, 9).with(PropertyKind::Liveness, |p| p == [0, 3]);
    assert_eq!(explore(&around, 2, PLENTY, Limits::default(), Order::Breadth).verdict, Verdict::Holds);
}

#[test]
fn covers_are_counted_and_missing_ones_reported() {
    let hit = Grid::torus(2, 5).with(PropertyKind::Cover, |p| p[0] == 4);
    let report = explore(&hit, 2, PLENTY, Limits::default(), Order::Breadth);
    assert_eq!((report.verdict, report.covers), (Verdict::Holds, vec![5]));
    let missed = Grid::torus(2, 5).with(PropertyKind::Cover, |p| p[0] == 5);
    let report = explore(&missed, 1, PLENTY, Limits::default(), Order::Depth);
    let Verdict::Violated(violation) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(violation.kind, ViolationKind::Uncovered(PropertyId(0)));
}

#[test]
fn limits_stop_and_are_never_called_holds() {
    let torus = Grid::torus(3, 40);
    for order in [Order::Breadth, Order::Depth] {
        let report = explore(&torus, 2, 400_000, Limits::default(), order);
        assert!(
            matches!(report.verdict, Verdict::Stopped(StopReason::Memory { needed }) if needed > 400_000)
        );
        assert!(report.peak_memory <= 400_000);
        let limits = Limits { max_states: Some(5000), ..Limits::default() };
        let report = explore(&torus, 2, PLENTY, limits, order);
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::StateLimit));
        assert!(report.states >= 5000 && report.states < 64_000);
    }
    let limits = Limits { max_depth: Some(2), ..Limits::default() };
    let report = explore(&torus, 1, PLENTY, limits, Order::Breadth);
    assert_eq!(report.verdict, Verdict::Stopped(StopReason::DepthLimit));
    assert_eq!(report.states, 1 + 6 + 18);
    assert_eq!(report.depth, Some(2));
}

#[test]
fn a_violation_is_reported_when_its_layer_is_finished_or_not_at_all() {
    let grid = Grid::torus(3, 101).with(PropertyKind::Invariant, |p| p.iter().sum::<u64>() != 30);
    let whole = explore(&grid, 1, PLENTY, Limits::default(), Order::Breadth);
    assert!(matches!(whole.verdict, Verdict::Violated(_)), "{:?}", whole.verdict);
    let (mut waived, mut stopped) = (0, 0);
    for threads in [1, 3] {
        for part in 0..24 {
            let limits = Limits { max_states: Some(whole.states * part / 20), ..Limits::default() };
            let report = explore(&grid, threads, PLENTY, limits, Order::Breadth);
            match report.verdict {
                Verdict::Stopped(StopReason::StateLimit) => {
                    assert_eq!(report.proviso, None, "what was seen is fine");
                    stopped += 1;
                }
                verdict => {
                    assert_eq!(verdict, whole.verdict);
                    assert_eq!(report.states, whole.states);
                    waived += usize::from(part < 20);
                }
            }
            let report = explore(&grid, threads, (200 + 200 * part) << 10, Limits::default(), Order::Breadth);
            match report.verdict {
                Verdict::Stopped(StopReason::Memory { .. }) => {}
                verdict => assert_eq!(verdict, whole.verdict),
            }
        }
    }
    assert!(waived > 0 && stopped > 10, "{waived} {stopped}");
}

/// A grid of which only a part is admitted.
struct Narrow<'a>(&'a Grid, u64);

impl WrapsSpace for Narrow<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.0
    }
    fn admits(&self, state: &[u64]) -> bool {
        state[0] & 0xFFFF_FFFF < self.1
    }
}

#[test]
fn what_is_no_state_ends_a_search_that_distrusts_its_files() {
    let grid = Grid::torus(2, 9);
    for (admitted, trusts) in [(9, true), (5, false)] {
        let narrow = Narrow(&grid, admitted);
        let (control, refused) = (Control::new(Limits::default()), AtomicBool::new(false));
        let space = Distrusted::new(&narrow, &control, &refused);
        let question = Question::everything(grid.properties(), DeadlockNotion::Off);
        let task = SearchTask { space: &space, question: &question, control: &control };
        let report = run(&Breadth, task, PLENTY, 1);
        assert_eq!(refused.into_inner(), !trusts);
        assert!(!trusts || report.verdict == Verdict::Holds && report.states == 81);
    }
}

#[test]
fn wide_states_are_folded_so_that_more_of_them_fit() {
    // Five words each: whole, they take 2.6 MB with their index.
    let torus = Grid::torus(10, 3);
    for threads in [1, 2] {
        let report = explore(&torus, threads, 7 << 18, Limits::default(), Order::Breadth);
        assert_eq!(report.verdict, Verdict::Holds, "{threads} threads");
        assert_eq!((report.states, report.transitions), (59_049, 20 * 59_049));
        let choose = [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1];
        let layers = choose.iter().enumerate().map(|(k, ways)| ways << k);
        assert!(report.layers.iter().map(|layer| layer.states).eq(layers));
    }
}

#[test]
fn a_trace_through_folded_states_is_shortest_and_connected() {
    let torus = Grid::torus(10, 3).with(PropertyKind::Invariant, |point| point.contains(&0));
    for threads in [1, 2] {
        let report = explore(&torus, threads, PLENTY, Limits::default(), Order::Breadth);
        let Verdict::Violated(violation) = &report.verdict else { panic!("{:?}", report.verdict) };
        assert_eq!((violation.path.len(), violation.shortest), (11, true));
        torus.assert_connected(&violation.path);
    }
}
