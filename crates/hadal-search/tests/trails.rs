//! Traces are made shorter among the states around them: never longer, always valid, and shortest where all states fit.

mod drawn;

use drawn::Graph;
use hadal_search::directed::{Directed, DirectedOptions, Order, Traces, Trail};
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, SearchTask, Setting, StopReason, Verdict, Violation,
};
use hadal_store::Governor;
use hadal_system::StateSpace;
use hadal_system::guide::{Blind, Goal, NoPriority};

/// What depth-first search finds, if anything, and what becomes of its trace with so many states.
fn shortened(graph: &Graph, most_states: u64) -> Option<(Violation, Option<Violation>, bool)> {
    let question = Question::everything(graph.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: graph, question: &question, control: &control };
    let goal = Goal::of_properties(graph.properties());
    let options =
        DirectedOptions { order: Order::Depth, traces: Traces::AsFound, ..DirectedOptions::default() };
    let depth = Directed { guide: &Blind, goal: &goal, priority: &NoPriority, options };
    let governor = Governor::new(1 << 24);
    let report = hadal_search::explore(&depth, Setting::in_ram(task, &governor, 1)).expect("in RAM").report;
    let Verdict::Violated(found) = report.verdict else { return None };
    let trail = Trail { violation: &found, most_states };
    let shortened = trail.shortened(task, &governor).expect("in RAM");
    assert!(shortened.states <= most_states.max(found.path.len() as u64) + graph.vertices() as u64);
    assert_eq!(governor.current(), 0, "everything is given back");
    Some((found, shortened.violation, shortened.exhausted))
}

#[test]
fn with_all_states_a_trace_becomes_a_shortest_one() {
    let mut traces = 0;
    for seed in 0..600 {
        let graph = Graph::long(seed, 30 + seed % 80, 1);
        let Some((found, shorter, exhausted)) = shortened(&graph, u64::MAX) else { continue };
        traces += 1;
        let least = graph.least_cost().expect("a goal was reached");
        assert!(exhausted || found.path.len() <= 2, "graph {seed}");
        let best = shorter.as_ref().unwrap_or(&found);
        assert_eq!(graph.cost_of(&best.path), least, "graph {seed}");
        assert!(graph.is_goal(&best.path[best.path.len() - 1]), "graph {seed}");
        assert!(shorter.is_none_or(|it| it.shortest && it.path.len() < found.path.len()), "graph {seed}");
    }
    assert!(traces > 50, "{traces}");
}

#[test]
fn with_few_states_a_trace_is_valid_and_never_longer() {
    let mut shorter = 0;
    for seed in 0..600 {
        let graph = Graph::long(seed, 60 + seed % 60, 1);
        let Some((found, better, _)) = shortened(&graph, 45) else { continue };
        let Some(better) = better else { continue };
        shorter += 1;
        assert!(better.path.len() < found.path.len(), "graph {seed}");
        assert_eq!(graph.cost_of(&better.path), better.path.len() as u64 - 1, "graph {seed}");
        assert!(graph.is_goal(&better.path[better.path.len() - 1]), "graph {seed}");
    }
    assert!(shorter > 2, "{shorter}");
}

#[test]
fn an_interrupt_ends_it_with_what_it_has() {
    let graph = Graph::long(3, 100, 1);
    let question = Question::everything(graph.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits { max_states: Some(0), ..Limits::default() });
    control.interrupt();
    let task = SearchTask { space: &graph, question: &question, control: &control };
    assert_eq!(control.must_stop(0), Some(StopReason::Interrupted));
    let property = hadal_search::ViolationKind::Goal(hadal_system::PropertyId(0));
    let path = vec![vec![0; graph.words()]];
    let violation = Violation { kind: property, path, shortest: false };
    let trail = Trail { violation: &violation, most_states: u64::MAX };
    let ended = trail.shortened(task, &Governor::new(1 << 24)).expect("in RAM");
    assert!(ended.violation.is_none());
}
