//! What the waist carries besides variables and guarded actions, each with a small inhabitant built by hand: choices,
//! processes that come and go, costs.

use hadal_system::facts::{ControlGraph, Facts, cost_facts};
use hadal_system::rows::Rational;
use hadal_system::validate::validate;
use hadal_system::{
    Action, ActionId, Amount, BinaryOp, Choices, ControlEdge, CostRange, Domain, Expr, Label, Local, LocalId,
    LocalKind, Location, Outcomes, Param, ParamValues, Process, ProcessId, Role, Shape, Span, Stmt, StmtKind,
    Successors, System, VarId, Variable, Worker, text,
};

/// A system with one scalar from 0 to `last` and no actions.
fn scalar(name: &str, last: i64) -> System {
    let mut system = System::default();
    let domain = system.domains.add(Domain::range(0, last, false));
    let shape = system.shapes.add(Shape::Scalar(domain), &system.domains).expect("one scalar");
    let (name, span) = (name.to_owned(), Span::default());
    system.variables.push(Variable { name, shape, role: Role::Location, owner: None, span });
    system
}

fn moves(system: &System, name: &str, from: i64, to: i64) -> Action {
    let place = system.whole(VarId(0));
    let guard = Expr::binary(BinaryOp::Equal, place.clone().read(), Expr::constant(from));
    let body = vec![Stmt::new(StmtKind::Assign(place, Expr::constant(to)), Span::default())];
    Action { name: name.into(), guard, body, ..Action::default() }
}

fn problems(system: &System) -> Vec<String> {
    validate(system).into_iter().map(|problem| problem.what).collect()
}

/// A coin: the last parameter of `toss` numbers what it shows.
fn coin(weights: &[(i128, i128)]) -> System {
    let mut system = scalar("shows", 2);
    let shape = system.variables[0].shape;
    let side = Local { name: "side".into(), shape, kind: LocalKind::Bound };
    let values = ParamValues::Steps { from: 1, to: 2, by: 1 };
    let weights = weights.iter().map(|&(n, d)| Amount::Constant(Rational::new(n, d))).collect();
    let place = system.whole(VarId(0));
    let shown = hadal_system::Place::local(LocalId(0), shape, Span::default()).read();
    system.actions.push(Action {
        name: "toss".into(),
        params: vec![Param { local: LocalId(0), values }],
        locals: vec![side],
        body: vec![Stmt::new(StmtKind::Assign(place, shown), Span::default())],
        outcomes: Some(Outcomes { weights }),
        ..Action::default()
    });
    system
}

#[test]
fn a_choice_is_an_action_whose_last_parameter_numbers_its_outcomes() {
    let fair = coin(&[(1, 2), (1, 2)]);
    assert_eq!(problems(&fair), [""; 0]);
    assert_eq!(
        fair.label_bases(&fair.actions),
        [0, 2],
        "each outcome is an instance with a label of its own"
    );
    let shown = |label| {
        let instance = fair.instance(&fair.actions, Label(label)).expect("an instance");
        (instance.id, instance.values)
    };
    assert_eq!([shown(0), shown(1)], [(ActionId(0), vec![1]), (ActionId(0), vec![2])]);
    let wrong = "its last parameter does not number its outcomes";
    assert_eq!(problems(&coin(&[(1, 3), (1, 3), (1, 3)])), [wrong]);
}

/// Whatever leads to two states without saying how likely.
struct Plain;

impl Worker for Plain {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        (1..3).for_each(|n| out.push(Label(n), &[state[0] + u64::from(n)]));
    }
}

#[test]
fn without_outcomes_every_transition_is_a_choice_of_its_own_and_costs_one() {
    let mut choices = Choices::new(1, None);
    Plain.choices(&[5], &mut choices).expect("no errors");
    assert_eq!((choices.len(), choices.range(0), choices.range(1)), (2, 0..1, 1..2));
    assert_eq!((&choices.weights[..], choices.branches.states()), (&[1, 1][..], &[6, 7][..]));
    let mut costs = Vec::new();
    Plain.costs(&[5], choices.branches.labels(), &mut costs);
    assert_eq!(costs, [1, 1]);
}

/// A slot for a process that is run, works and dies: its first location is that it is not there.
fn born_and_dying() -> System {
    let mut system = scalar("worker", 2);
    let steps = [("run", 0, 1), ("work", 1, 2), ("die", 2, 0)];
    let names = ["not there", "working", "done"];
    system.processes.push(Process {
        name: "worker".into(),
        location: VarId(0),
        locations: names.map(|name| Location { name: name.into(), ..Location::default() }).to_vec(),
        edges: Vec::new(),
    });
    for (n, (name, from, to)) in steps.into_iter().enumerate() {
        let action = Action { processes: vec![ProcessId(0)], ..moves(&system, name, from, to) };
        let edge = ControlEdge { action: ActionId(n as u32), from, to, number: n as u32 };
        system.processes[0].edges.push(edge);
        system.actions.push(action);
    }
    system
}

#[test]
fn a_process_that_comes_and_goes_is_a_slot_whose_first_location_is_absence() {
    let mut system = born_and_dying();
    assert_eq!(problems(&system), [""; 0]);
    let (own, facts) = (ControlGraph::of_process(&system.processes[0]), Facts::of(&system));
    let seen = ControlGraph::of_slot(&system, &facts, 0).expect("three values");
    assert_eq!(own, seen, "what the language says is what its actions do");
    // It goes on alone once it is there, until it has died; what it costs on the way nobody could say.
    system.actions[0].then = Some(ProcessId(0));
    assert!(!system.has_plain_steps());
    assert_eq!(problems(&system), [""; 0]);
    system.actions[0].then = Some(ProcessId(1));
    assert_eq!(problems(&system), ["the process that continues alone does not exist"]);
    system.actions[0].then = Some(ProcessId(0));
    system.actions[1].cost = Some(Expr::constant(3));
    assert_eq!(problems(&system), ["it has a cost, and some actions are no steps of their own"]);
    system.actions[0].rank = 1;
    assert!(problems(&system).contains(&"the ranks of actions must ascend".to_owned()));
}

#[test]
fn costs_are_bounded_by_what_their_expressions_can_be() {
    let mut system = born_and_dying();
    assert_eq!(cost_facts(&system).range, CostRange::STEPS);
    for (at, cost) in ["4 * worker + 2", "7", "worker.done ? 0 : 1000000"].into_iter().enumerate() {
        let cost = text::parse(&system, &[], cost, Span::default()).expect("it parses");
        system.actions[at].cost = Some(cost);
    }
    assert_eq!(problems(&system), [""; 0]);
    let facts = cost_facts(&system);
    assert_eq!((facts.range, facts.may_fault), (CostRange { least: 0, most: 1_000_000 }, false));
    let below = text::parse(&system, &[], "1 - worker", Span::default()).expect("it parses");
    system.actions[1].cost = Some(below);
    assert!(cost_facts(&system).may_fault);
}
