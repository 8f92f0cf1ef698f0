//! Directed search on drawn graphs, where distances are known: every order finds what can be reached, optimal orders find
//! the cheapest, and nothing is claimed that does not hold.

mod drawn;

use drawn::{Estimates, Graph, Kind, Labels, PRICES};
use hadal_search::directed::{
    Directed, DirectedFigures, DirectedOptions, Insertion, Order, Tie, Traces, Trust,
};
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_search::{
    Control, DeadlockNotion, Limits, Proviso, Question, Report, SearchTask, Setting, StopReason, Verdict,
    Violation, ViolationKind,
};
use hadal_store::Governor;
use hadal_system::guide::NoPriority;
use hadal_system::guide::{Goal, Guide};
use hadal_system::{PropertyId, StateSpace};
use hadal_testkit::Random;

const ORDERS: [Order; 12] = [
    Order::Greedy,
    Order::AStar,
    Order::Weighted(2500),
    Order::HillClimbing,
    Order::Beam(1000),
    Order::Beam(2),
    Order::IterativeDeepening,
    Order::BreadthHeuristic,
    Order::Breadth,
    Order::Depth,
    Order::UniformCost,
    Order::Alternating,
];

fn explore(graph: &Graph, guide: &dyn Guide, options: DirectedOptions, budget: u64) -> Report {
    let question = Question::everything(graph.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: graph, question: &question, control: &control };
    let goal = &Goal::of_properties(graph.properties());
    let directed = Directed { guide, goal, priority: &NoPriority, options };
    hadal_search::explore(&directed, Setting::in_ram(task, &Governor::new(budget), 1)).expect("in RAM").report
}

#[track_caller]
fn violation(report: &Report) -> &Violation {
    let Verdict::Violated(found) = &report.verdict else { panic!("{report:?}") };
    found
}

fn figures(report: &Report) -> &DirectedFigures {
    report.particular.directed.as_ref().expect("a directed search has figures")
}

#[test]
fn every_order_agrees_on_what_can_be_reached_and_optimal_ones_on_the_cost() {
    for seed in 0..120 {
        let graph = Graph::long(seed, 30 + seed % 50, 1 + seed % 4);
        for kind in [Kind::Admissible, Kind::Wild] {
            let (guide, wild) = (Estimates::new(&graph, kind, &mut Random::new(seed)), kind == Kind::Wild);
            for order in ORDERS {
                let options = DirectedOptions { order, ..DirectedOptions::default() };
                let report = explore(&graph, &guide, options, 1 << 22);
                let case = format!("graph {seed}, wild {wild}, {order}: {report:?}");
                match (graph.least_cost(), &report.verdict) {
                    (None, Verdict::Holds) => {
                        let pruned = figures(&report).work.hopeless > 0;
                        assert_eq!(matches!(report.proviso, Some(Proviso::Pruned { .. })), pruned, "{case}");
                        assert!(!(pruned && wild), "{case}");
                    }
                    (_, Verdict::Stopped(StopReason::Incomplete)) => {
                        assert_eq!(order, Order::Beam(2), "{case}")
                    }
                    (Some(least), Verdict::Violated(found)) => {
                        assert_eq!(found.kind, ViolationKind::Goal(PropertyId(0)), "{case}");
                        assert!(graph.is_goal(&found.path[found.path.len() - 1]), "{case}");
                        let cost = graph.cost_of(&found.path);
                        match order {
                            Order::UniformCost => assert_eq!(cost, least, "{case}"),
                            order if order.info().promises.optimal && !wild => {
                                assert_eq!(cost, least, "{case}")
                            }
                            Order::Weighted(weight) if !wild => {
                                assert!(cost * 1000 <= least * u64::from(weight), "{case}");
                            }
                            _ => {}
                        }
                        if found.shortest && graph.has_unit_costs() {
                            assert_eq!(found.path.len() as u64 - 1, least, "{case}");
                        }
                        let claims = order.info().promises.optimal && !wild && graph.has_unit_costs();
                        assert!(found.shortest || !claims, "{case}");
                    }
                    _ => panic!("{case}"),
                }
            }
        }
    }
}

#[test]
fn costs_of_nothing_and_of_millions_that_depend_on_the_state_are_followed_exactly() {
    let mut noise = Random::new(11);
    let mut solved = 0;
    for n in 0..120 {
        let labels = [Labels::Distinct, Labels::Shared][n % 2];
        let graph = Graph::priced(&mut noise, false, labels, PRICES[n % 3]);
        for kind in [Kind::Consistent, Kind::Admissible] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            for order in ORDERS {
                let options = DirectedOptions { order, ..DirectedOptions::default() };
                let report = explore(&graph, &guide, options, 1 << 22);
                let case = format!("graph {n}, {labels:?}, {kind:?}, {order}: {report:?}");
                let (Some(least), Verdict::Violated(found)) = (graph.least_cost(), &report.verdict) else {
                    let holds = report.verdict == Verdict::Holds && graph.least_cost().is_none();
                    assert!(holds || order == Order::Beam(2), "{case}");
                    continue;
                };
                solved += 1;
                let cost = graph.cost_of(&found.path);
                let claims = order.info().promises.optimal || order == Order::UniformCost;
                assert!(cost >= least && (cost == least || !claims), "{cost}, not {least}: {case}");
                if let Order::Weighted(weight) = order {
                    assert!(cost * 1000 <= least * u64::from(weight), "{case}");
                }
                if claims {
                    assert_eq!(figures(&report).found_cost, Some(cost), "{case}");
                    assert!(!found.shortest || graph.has_unit_costs(), "{case}");
                }
            }
        }
    }
    assert!(solved > 800, "{solved}");
}

#[test]
fn freed_layers_do_not_change_what_is_found_within_a_bound() {
    let (mut found, mut freed) = (0, 0);
    for seed in 0..400 {
        let graph = Graph::long(seed, 20 + seed % 40, 1);
        let guide = Estimates::new(&graph, Kind::Admissible, &mut Random::new(seed));
        let bounded = |bound: u64, keep_layers: Option<u64>| {
            let order = Order::BreadthHeuristic;
            let bound = Some(bound);
            let report = explore(
                &graph,
                &guide,
                DirectedOptions { order, bound, keep_layers, ..DirectedOptions::default() },
                1 << 22,
            );
            assert!(report.verdict != Verdict::Holds || graph.least_cost().is_none(), "{seed}: {report:?}");
            report
        };
        let Some(least) = graph.least_cost() else {
            let report = bounded(60, Some(2));
            assert!(!matches!(report.verdict, Verdict::Violated(_)), "{seed}: {report:?}");
            continue;
        };
        for keep in [None, Some(2), Some(3), Some(6)] {
            for bound in [least, least + 3] {
                let report = bounded(bound, keep);
                let trace = violation(&report);
                assert_eq!(graph.cost_of(&trace.path), least, "{seed}, {keep:?} kept: {report:?}");
                assert!(
                    graph.is_goal(&trace.path[trace.path.len() - 1]) && trace.shortest,
                    "{seed}: {report:?}"
                );
                found += 1;
            }
            if let Some(below) = least.checked_sub(1) {
                let report = bounded(below, keep);
                assert_eq!(report.verdict, Verdict::Stopped(StopReason::CostBound), "{seed}, {keep:?} kept");
            }
        }
        let [all, last] = [bounded(least, Some(1000)), bounded(least, Some(2))];
        freed += u32::from(all.particular.peak_states > last.particular.peak_states);
    }
    assert!(found > 500 && freed > 30, "{found} {freed}");
}

#[test]
fn a_search_that_keeps_three_layers_visits_every_state_of_a_puzzle_once() {
    let puzzle = Tiles::new(&[8, 7, 6, 5, 0, 4, 3, 2, 1]).expect("a puzzle");
    let question = Question::everything(puzzle.properties(), DeadlockNotion::Off);
    let goal = &Goal::of_properties(puzzle.properties());
    let search = |keep_layers| {
        let control = Control::new(Limits::default());
        let task = SearchTask { space: &puzzle, question: &question, control: &control };
        let (order, bound) = (Order::BreadthHeuristic, Some(30));
        let options = DirectedOptions { order, bound, keep_layers, ..DirectedOptions::default() };
        let guide = &Manhattan::new(&puzzle);
        let directed = Directed { guide, goal, priority: &NoPriority, options };
        let governor = Governor::new(1 << 26);
        let setting = Setting::in_ram(task, &governor, 1);
        hadal_search::explore(&directed, setting).expect("in RAM").report
    };
    let [all, kept] = [search(None), search(Some(3))];
    assert_eq!(violation(&kept).path.len(), violation(&all).path.len());
    assert!(violation(&kept).shortest);
    let [expanded, again] = [&all, &kept].map(|report| figures(report).work.distinct);
    assert!(again.abs_diff(expanded) * 10 < expanded, "{again} {expanded}: but for the last layer the same");
    let peak = kept.particular.peak_states.expect("it is counted");
    assert!(peak * 2 < kept.states, "{peak} of {} states stored at once", kept.states);
}

#[test]
fn a_sum_of_costs_that_does_not_fit_ends_the_search() {
    let mut graph = Graph::new(4, 1, vec![0], &[3]);
    (0..3).for_each(|n| graph.edge(n, n + 1, u32::MAX - 1));
    let guide = Estimates::of(&graph, &[Some(0); 4], Kind::Admissible, &mut Random::new(1));
    for order in [Order::AStar, Order::UniformCost, Order::IterativeDeepening, Order::BreadthHeuristic] {
        let options = DirectedOptions { order, ..DirectedOptions::default() };
        let report = explore(&graph, &guide, options, 1 << 22);
        assert_eq!(report.verdict, Verdict::Stopped(StopReason::CostBound), "{order}");
    }
}

#[test]
fn ties_seeds_and_the_published_rules_change_the_walk_not_the_answer() {
    for seed in 0..60 {
        let graph = Graph::long(seed, 60, 1);
        let guide = Estimates::new(&graph, Kind::Admissible, &mut Random::new(seed));
        for order in [Order::Greedy, Order::AStar, Order::Breadth, Order::Depth] {
            for tie in [Tie::Lifo, Tie::Fifo, Tie::Deep, Tie::Random(seed)] {
                for insertion in [Insertion::WhenBetter, Insertion::UnlessClosed] {
                    let options = DirectedOptions {
                        order,
                        tie: Some(tie),
                        insertion,
                        seed: Some(seed),
                        traces: Traces::AsFound,
                        ..DirectedOptions::default()
                    };
                    let report = explore(&graph, &guide, options.clone(), 1 << 22);
                    let again = explore(&graph, &guide, options, 1 << 22);
                    assert_eq!(figures(&report), figures(&again), "the same command, the same walk");
                    match graph.least_cost() {
                        None => assert_eq!(report.verdict, Verdict::Holds),
                        Some(least) => {
                            let cost = graph.cost_of(&violation(&report).path);
                            assert!(cost >= least && (order != Order::AStar || cost == least));
                            assert_eq!(figures(&report).found_length, Some(cost));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_shortened_trace_is_never_longer_than_what_was_found() {
    for seed in 0..60 {
        let graph = Graph::long(seed, 200, 1);
        let guide = Estimates::new(&graph, Kind::Wild, &mut Random::new(seed));
        for order in [Order::Greedy, Order::Depth, Order::HillClimbing, Order::Alternating] {
            let options = DirectedOptions { order, ..DirectedOptions::default() };
            let report = explore(&graph, &guide, options, 1 << 22);
            if graph.least_cost().is_some() {
                let length = violation(&report).path.len() as u64 - 1;
                assert_eq!(graph.cost_of(&violation(&report).path), length);
                assert!(length <= figures(&report).found_length.expect("something was found"));
            }
        }
    }
}

#[test]
fn a_budget_that_is_too_small_ends_the_search_honestly() {
    // A ring through all vertices and no goal: everything must be seen.
    let mut graph = Graph::new(40_000, 1, vec![0], &[]);
    (0..40_000).for_each(|n| graph.edge(n, (n + 1) % 40_000, 1));
    let guide = Estimates::of(&graph, &vec![Some(7); 40_000], Kind::Admissible, &mut Random::new(1));
    for order in [Order::Greedy, Order::AStar, Order::HillClimbing, Order::Beam(100), Order::Alternating] {
        let options = DirectedOptions { order, ..DirectedOptions::default() };
        let report = explore(&graph, &guide, options, 300_000);
        assert!(
            matches!(report.verdict, Verdict::Stopped(StopReason::Memory { needed }) if needed > 300_000),
            "{order}: {report:?}"
        );
        assert!(report.peak_memory <= 300_000 && report.states > 1000, "{order}: {report:?}");
    }
}

#[test]
fn an_audit_finds_guides_that_break_their_word_and_no_others() {
    let mut broken = 0;
    for seed in 0..500 {
        let graph = Graph::long(seed, 30 + seed % 50, 1 + seed % 4);
        let options =
            DirectedOptions { order: Order::AStar, trust: Trust::Audited, ..DirectedOptions::default() };
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wild] {
            let guide = Estimates::new(&graph, kind, &mut Random::new(seed));
            let report = explore(&graph, &guide, options.clone(), 1 << 22);
            let audit = figures(&report).audit.clone().expect("audited");
            assert_eq!(audit.broken, None, "graph {seed}, {kind:?}");
        }
        // Six times half the distance, and hopeless where it is even.
        let wrong: Vec<Option<u64>> = (graph.distances_to_goals().into_iter())
            .map(|distance| distance.filter(|d| d % 2 == seed % 2 || *d == 0).map(|d| 6 * d))
            .collect();
        let liar = Estimates::of(&graph, &wrong, Kind::Consistent, &mut Random::new(seed));
        let report = explore(&graph, &liar, options, 1 << 22);
        let audit = figures(&report).audit.clone().expect("audited");
        // Where nothing is in reach, everything is hopeless indeed; at a goal from the start there is no way to lie.
        let far = graph.least_cost().is_some_and(|cost| cost > 0);
        assert_eq!(audit.broken.is_some(), far, "graph {seed}: {audit:?}");
        broken += usize::from(far);
    }
    assert!(broken > 10, "{broken}");
}
