//! Ranks, processes that go on alone, wrap-around and rest: both engines agree, and on what is written here.

use hadal_exec::follow::{self, Wanted};
use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_system::{
    Action, BinaryOp, Domain, DomainId, Expr, ExprKind, Place, Process, ProcessId, Property, PropertyBody,
    PropertyKind, Role, Shape, Span, StateSpace, Stmt, StmtKind, Successors, System, VarId, Variable,
};

/// A system with variables of these ranges, the first of which is the location of its one process, all starting at 0.
fn system(ranges: &[(i64, i64)]) -> System {
    let mut system = System { name: "small".into(), ..System::default() };
    for (n, &(low, high)) in ranges.iter().enumerate() {
        let domain = system.domains.add(Domain::range(low, high, false));
        let shape = system.shapes.add(Shape::Scalar(domain), &system.domains).expect("a scalar");
        let role = if n == 0 { Role::Location } else { Role::Data };
        let owner = (n == 0).then_some(ProcessId(0));
        system.variables.push(Variable { name: format!("v{n}"), shape, role, owner, span: Span::default() });
    }
    let locations = (ranges[0].0..=ranges[0].1).map(|_| hadal_system::Location::default()).collect();
    system.processes.push(Process { name: "P".into(), location: VarId(0), locations, edges: Vec::new() });
    let body = (0..ranges.len() as u32).map(|n| set(&system, n, Expr::constant(0))).collect();
    system.starts.push(Action { name: "start".into(), body, ..Action::default() });
    system
}

fn place(system: &System, var: u32) -> Place {
    system.whole(VarId(var))
}

fn set(system: &System, var: u32, value: Expr) -> Stmt {
    Stmt::new(StmtKind::Assign(place(system, var), value), Span::default())
}

fn test(system: &System, op: BinaryOp, var: u32, value: i64) -> Expr {
    Expr::binary(op, place(system, var).read(), Expr::constant(value))
}

fn add(system: &System, var: u32, value: i64) -> Expr {
    Expr::binary(BinaryOp::Add, place(system, var).read(), Expr::constant(value))
}

/// All reachable states, as values of the variables, in breadth-first order; both engines agree on every step.
fn explore(system: &System) -> Vec<Vec<i64>> {
    let make = |engine| {
        Model::new(system.clone(), ModelOptions { engine, ..ModelOptions::default() }).expect("well formed")
    };
    let (compiled, interpreted) = (make(Engine::Compiled), make(Engine::Interpreted));
    let mut workers = [compiled.worker(), interpreted.worker()];
    let mut outs = [Successors::new(compiled.words()), Successors::new(compiled.words())];
    workers[0].initial(&mut outs[0]);
    let mut states: Vec<Vec<u64>> = outs[0].iter().map(|(_, state)| state.to_vec()).collect();
    let mut at = 0;
    while at < states.len() {
        for (worker, out) in workers.iter_mut().zip(&mut outs) {
            out.clear();
            worker.successors(&states[at], out);
        }
        assert_eq!(outs[0].states(), outs[1].states());
        assert_eq!(outs[0].labels(), outs[1].labels());
        assert_eq!(outs[0].faults(), outs[1].faults());
        for (_, state) in outs[0].iter() {
            // Every step of the space can be shown in single steps.
            let way = follow::way(&compiled, &states[at], Wanted::State(state)).expect("a way");
            assert_eq!(way.last().map(|step| step.to.clone()), Some(Ok(state.to_vec())));
            if !states.contains(&state.to_vec()) {
                states.push(state.to_vec());
            }
        }
        at += 1;
    }
    let values = |state: &Vec<u64>| compiled.layout().unpack(system, state);
    states.iter().map(|state| values(state).into_iter().map(|it| it.expect("defined")).collect()).collect()
}

#[test]
fn a_higher_rank_fires_only_where_nothing_lower_can() {
    let mut system = system(&[(0, 0), (0, 9)]);
    let step = |rank: u8, limit: i64, by: i64, system: &System| Action {
        name: format!("by {by}"),
        guard: test(system, BinaryOp::Less, 1, limit),
        body: vec![set(system, 1, add(system, 1, by))],
        rank,
        ..Action::default()
    };
    system.actions = vec![step(0, 2, 1, &system), step(1, 6, 3, &system), step(2, 9, 1, &system)];
    let reached: Vec<i64> = explore(&system).iter().map(|state| state[1]).collect();
    assert_eq!(reached, [0, 1, 2, 5, 8, 9]);
}

#[test]
fn who_goes_on_alone_is_passed_through_until_it_cannot() {
    // 0 -> 1 -> {2, 3} -> 4 in one go; at 4 the process waits until somebody else has set v1.
    let mut system = system(&[(0, 5), (0, 1)]);
    let moves = |from: i64, to: i64, then: bool, system: &System| Action {
        name: format!("{from} to {to}"),
        guard: test(system, BinaryOp::Equal, 0, from),
        body: vec![set(system, 0, Expr::constant(to))],
        processes: vec![ProcessId(0)],
        then: then.then_some(ProcessId(0)),
        ..Action::default()
    };
    let mut waits = moves(4, 5, true, &system);
    waits.guard = Expr::binary(BinaryOp::And, waits.guard, test(&system, BinaryOp::Equal, 1, 1));
    let other = Action {
        name: "other".into(),
        guard: test(&system, BinaryOp::Equal, 1, 0),
        body: vec![set(&system, 1, Expr::constant(1))],
        ..Action::default()
    };
    system.actions = vec![
        moves(0, 1, true, &system),
        moves(1, 2, true, &system),
        moves(1, 3, true, &system),
        moves(2, 4, true, &system),
        moves(3, 4, true, &system),
        // A loop on the way costs nothing.
        moves(3, 1, true, &system),
        waits,
        other,
    ];
    let mut reached = explore(&system);
    reached.sort();
    assert_eq!(reached, [[0, 0], [0, 1], [4, 0], [4, 1], [5, 1]]);
}

#[test]
fn numbers_wrap_around_in_every_domain() {
    let ranges = [(0, 255), (-128, 127), (-64, 63), (0, 6), (-3, 3), (5, 11), (0, 1), (-100, 0)];
    for (low, high) in ranges {
        let mut system = system(&[(0, 0), (-300_000, 300_000)]);
        let domain: DomainId = system.domains.add(Domain::range(low, high, false));
        for (factor, offset) in [(1, 1), (-7, 3), (131, -500), (1, -1)] {
            let product = Expr::binary(BinaryOp::Multiply, place(&system, 1).read(), Expr::constant(factor));
            let sum = Expr::binary(BinaryOp::Add, product, Expr::constant(offset));
            let wrapped = Expr::new(ExprKind::Wrap(Box::new(sum), domain), Span::default());
            let body = vec![set(&system, 1, wrapped)];
            system.actions.push(Action { name: format!("{factor} {offset}"), body, ..Action::default() });
        }
        let reached = explore(&system);
        assert!(reached.iter().skip(1).all(|state| low <= state[1] && state[1] <= high));
        assert!(reached.len() as i64 > (high - low).min(3), "{low}..{high}: {}", reached.len());
    }
}

#[test]
fn a_model_may_rest_where_it_says_so() {
    let mut system = system(&[(0, 2), (0, 0)]);
    system.actions = (1..3)
        .map(|to| Action {
            name: format!("to {to}"),
            guard: test(&system, BinaryOp::Equal, 0, 0),
            body: vec![set(&system, 0, Expr::constant(to))],
            ..Action::default()
        })
        .collect();
    system.properties.push(Property {
        name: "rest".into(),
        kind: PropertyKind::Rest,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(test(&system, BinaryOp::Equal, 0, 2)),
        span: Span::default(),
    });
    let model = Model::new(system, ModelOptions::default()).expect("well formed");
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let start = out.state(0).to_vec();
    worker.successors(&start, &mut out);
    assert!(!worker.can_leave(out.state(1)));
    assert!(worker.can_leave(out.state(2)));
}
