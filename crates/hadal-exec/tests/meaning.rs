//! What each construct means, on systems built by hand.

mod support;

use hadal_exec::Interpreter;
use hadal_system::BinaryOp::*;
use hadal_system::LocalKind::*;
use hadal_system::*;
use support::*;

fn digits() -> Domain {
    Domain::range(0, 9, true)
}

/// A system with a scalar `x` of 0..9 (undefined at first) and one action with this body.
fn with_x(make: impl FnOnce(&mut System, &Place) -> Vec<Stmt>) -> System {
    let mut system = empty();
    let shape = system.scalar(digits());
    let x = system.var("x", shape);
    let body = make(&mut system, &x);
    system.action(Vec::new(), int(1), body);
    system
}

#[test]
fn assignments_stay_in_the_domain() {
    assert_eq!(fire_on_blank(&with_x(|_, x| vec![set(x, int(9))])), Ok(vec![Some(9)]));
    assert_eq!(
        fire_on_blank(&with_x(|_, x| vec![set(x, int(10))])),
        Err("`x`: value 10 is outside 0..9".into())
    );
}

#[test]
fn reading_an_undefined_scalar_names_it() {
    assert_eq!(fire_on_blank(&with_x(|_, x| vec![add_one(x)])), Err("`x` is undefined here".into()));
    let undefined = |x: &Place| expr(ExprKind::IsUndefined(Box::new(x.clone())));
    assert_eq!(fire_on_blank(&with_x(|_, x| vec![set(x, undefined(x))])), Ok(vec![Some(1)]));
}

#[test]
fn an_index_outside_its_domain_says_which_and_what_is_allowed() {
    let mut system = empty();
    let element = system.scalar(digits());
    let shape = system.array(Domain::range(0, 2, true), element);
    let queue = system.var("queue", shape);
    let outer = system.array(Domain::boolean(true), shape);
    let table = system.var("table", outer);
    let third = at(&system, &queue, int(3));
    system.action(Vec::new(), int(1), vec![set(&third, int(0))]);
    assert_eq!(fire_on_blank(&system), Err("`queue[3]`: index 3 is outside 0..2".into()));
    let row = at(&system, &table, int(1));
    system.actions[0].body = vec![set(&at(&system, &row, int(-1)), int(0))];
    assert_eq!(fire_on_blank(&system), Err("`table[true][-1]`: index -1 is outside 0..2".into()));
    system.actions[0].body = vec![set(&at(&system, &row, int(2)), int(5))];
    let mut expected = vec![None; 9];
    expected[8] = Some(5);
    assert_eq!(fire_on_blank(&system), Ok(expected));
}

#[test]
fn arithmetic_is_checked() {
    for (op, left, right, message) in [
        (Add, i64::MAX, 1, "9223372036854775807 + 1 does not fit 64 bits"),
        (Multiply, i64::MAX, 2, "9223372036854775807 * 2 does not fit 64 bits"),
        (Divide, 1, 0, "1 / 0 divides by zero"),
        (Remainder, 5, 0, "5 % 0 divides by zero"),
        (Divide, i64::MIN, -1, "-9223372036854775808 / -1 does not fit 64 bits"),
    ] {
        let system = with_x(|_, x| vec![set(x, bin(op, int(left), int(right)))]);
        assert_eq!(fire_on_blank(&system), Err(message.into()));
    }
}

#[test]
fn connectives_stop_early_and_give_one() {
    let divide = || bin(Divide, int(1), int(0));
    for (op, left, expected) in [(And, 0, Some(0)), (Or, 5, Some(1)), (Implies, 0, Some(1))] {
        let system = with_x(|_, x| vec![set(x, bin(op, int(left), divide()))]);
        assert_eq!(fire_on_blank(&system), Ok(vec![expected]));
    }
    for (op, left, expected) in [(And, 7, 1), (Or, 0, 1), (Implies, 3, 1)] {
        let system = with_x(|_, x| vec![set(x, bin(op, int(left), int(8)))]);
        assert_eq!(fire_on_blank(&system), Ok(vec![Some(expected)]));
    }
    let choice = ExprKind::If(Box::new(int(2)), Box::new(int(4)), Box::new(divide()));
    assert_eq!(fire_on_blank(&with_x(|_, x| vec![set(x, expr(choice))])), Ok(vec![Some(4)]));
}

#[test]
fn the_place_of_an_assignment_is_resolved_before_its_value() {
    let mut system = empty();
    let element = system.scalar(digits());
    let shape = system.array(Domain::range(0, 1, true), element);
    let array = system.var("a", shape);
    let far = at(&system, &array, int(2));
    system.action(Vec::new(), int(1), vec![set(&far, bin(Divide, int(1), int(0)))]);
    assert_eq!(fire_on_blank(&system), Err("`a[2]`: index 2 is outside 0..1".into()));
}

#[test]
fn loops_step_up_and_down_and_a_step_of_zero_is_an_error() {
    let count = |from, to, by| {
        let mut system = empty();
        let shape = system.scalar(Domain::range(0, 99, false));
        let x = system.var("x", shape);
        let range = Range::Steps { from: int(from), to: int(to), by: int(by) };
        let body = vec![stmt(StmtKind::For { local: LocalId(0), range, body: vec![add_one(&x)] })];
        system.action(vec![local("i", shape, Bound)], int(1), body);
        fire_on_blank(&system)
    };
    assert_eq!(count(0, 6, 2), Ok(vec![Some(4)]));
    assert_eq!(count(5, -5, -5), Ok(vec![Some(3)]));
    assert_eq!(count(1, 0, 1), Ok(vec![Some(0)]));
    assert_eq!(count(i64::MAX - 1, i64::MAX, 1), Ok(vec![Some(2)]));
    assert_eq!(count(0, 1, 0), Err("a step of 0 never ends".into()));
}

#[test]
fn a_loop_over_a_union_takes_every_interval() {
    let union = Domain {
        name: None,
        intervals: vec![(1, 2), (10, 12)],
        kind: DomainKind::Union(vec![]),
        undefined: true,
    };
    let mut system = empty();
    let shape = system.scalar(Domain::range(0, 99, false));
    let x = system.var("x", shape);
    let domain = system.domains.add(union);
    let i = system.shape(Shape::Scalar(domain));
    let sum = set(&x, bin(Add, x.clone().read(), of(0, i).read()));
    let body = vec![stmt(StmtKind::For { local: LocalId(0), range: Range::Domain(domain), body: vec![sum] })];
    system.action(vec![local("i", i, Bound)], int(1), body);
    assert_eq!(fire_on_blank(&system), Ok(vec![Some(1 + 2 + 10 + 11 + 12)]));
}

#[test]
fn quantifiers_stop_at_the_first_value_that_decides() {
    for (quantifier, expected) in [(Quantifier::ForAll, 0), (Quantifier::Exists, 1)] {
        let mut system = empty();
        let shape = system.scalar(digits());
        let x = system.var("x", shape);
        // Decides at 1; at 2 it would divide by zero.
        let test = if quantifier == Quantifier::ForAll { NotEqual } else { Equal };
        let risky = bin(Divide, int(4), bin(Subtract, int(2), of(0, shape).read()));
        let body = Box::new(bin(test, risky, int(4)));
        let range = Box::new(Range::Domain(system.domains.add(digits())));
        let value = expr(ExprKind::Quantified { quantifier, local: LocalId(0), range, body });
        system.action(vec![local("q", shape, Bound)], int(1), vec![set(&x, value)]);
        assert_eq!(fire_on_blank(&system), Ok(vec![Some(expected)]));
    }
}

#[test]
fn a_while_loop_that_runs_away_is_an_error() {
    let endless = with_x(|_, x| vec![stmt(StmtKind::While(int(1), vec![set(x, int(1))]))]);
    assert_eq!(fire_on_blank(&endless), Err("the loop turned more than 1000000 times".into()));
}

#[test]
fn switch_takes_the_first_matching_arm() {
    let arm = |x: &Place, values: &[Value], result| SwitchArm {
        values: values.iter().map(|&v| int(v)).collect(),
        body: vec![set(x, int(result))],
    };
    let run = |subject| {
        fire_on_blank(&with_x(|_, x| {
            let arms = vec![arm(x, &[1, 2], 5), arm(x, &[2, 3], 6)];
            vec![stmt(StmtKind::Switch { subject: int(subject), arms, otherwise: vec![set(x, int(7))] })]
        }))
    };
    assert_eq!([run(2), run(3), run(4)], [5, 6, 7].map(|v| Ok(vec![Some(v)])));
}

#[test]
fn clear_and_undefine_reach_every_scalar_and_empty_multisets() {
    let mut system = empty();
    let present = system.scalar(Domain::boolean(false));
    let (value, plain) =
        (system.scalar(Domain::range(3, 5, true)), system.scalar(Domain::range(3, 5, false)));
    let element = system.record(&[("present", present), ("value", value)]);
    let slots = system.domains.add(Domain::range(0, 0, false));
    let bag = system.shape(Shape::Multiset { slots, element });
    let whole = system.record(&[("a", value), ("b", plain), ("bag", bag)]);
    let v = system.var("v", whole);
    system.action(Vec::new(), int(1), vec![stmt(StmtKind::Clear(v.clone()))]);
    assert_eq!(fire_on_blank(&system), Ok(vec![Some(3), Some(3), Some(0), None]));
    let fill = set(&field(&system, &v, 1), int(5));
    system.actions[0].body = vec![fill, stmt(StmtKind::Clear(v.clone())), stmt(StmtKind::Undefine(v))];
    assert_eq!(fire_on_blank(&system), Ok(vec![None, Some(3), Some(0), None]));
}

#[test]
fn copies_and_comparisons_keep_undefined_scalars() {
    let mut system = empty();
    let scalar = system.scalar(digits());
    let pair = system.record(&[("a", scalar), ("b", scalar)]);
    let (v, w) = (system.var("v", pair), system.var("w", pair));
    let same = || expr(ExprKind::Same(Box::new(v.clone()), Box::new(w.clone())));
    let x = system.var("x", scalar);
    let body = vec![
        set(&field(&system, &v, 1), int(4)),
        set(&x, bin(Multiply, same(), int(2))),
        stmt(StmtKind::Copy { to: w.clone(), from: v.clone() }),
        set(&x, bin(Add, x.clone().read(), same())),
    ];
    system.action(Vec::new(), int(1), body);
    assert_eq!(fire_on_blank(&system), Ok(vec![None, Some(4), None, Some(4), Some(1)]));
}

#[test]
fn references_stand_for_the_place_they_were_bound_to() {
    let mut system = empty();
    let scalar = system.scalar(Domain::range(0, 9, false));
    let shape = system.array(Domain::range(0, 2, false), scalar);
    let (a, i) = (system.var("a", shape), system.var("i", scalar));
    let chosen = at(&system, &a, i.clone().read());
    let body = vec![stmt(StmtKind::Bind {
        local: LocalId(0),
        place: chosen,
        body: vec![set(&i, int(2)), set(&of(0, scalar), int(7))],
    })];
    system.action(vec![local("r", scalar, Reference)], int(1), body);
    assert_eq!(fire_on_blank(&system), Ok(vec![Some(7), Some(0), Some(0), Some(2)]));
}

#[test]
fn functions_get_copies_and_places_and_give_results() {
    let mut system = empty();
    let scalar = system.scalar(digits());
    let x = system.var("x", scalar);
    let y = system.var("y", scalar);
    // f(v, var r) { v := v + 1; r := v; return v + 1 }
    let body = vec![
        add_one(&of(0, scalar)),
        set(&of(1, scalar), of(0, scalar).read()),
        stmt(StmtKind::Return(Some(bin(Add, of(0, scalar).read(), int(1))))),
    ];
    let locals = vec![local("v", scalar, Variable), local("r", scalar, Reference)];
    let f = system.define("f", locals, Some(Domain::range(0, 5, true)), body);
    let call = |value| {
        let arguments = vec![Argument::Value(int(value)), Argument::Reference(y.clone())];
        expr(ExprKind::Call(f, arguments))
    };
    system.action(Vec::new(), int(1), vec![set(&x, call(3))]);
    assert_eq!(fire_on_blank(&system), Ok(vec![Some(5), Some(4)]));
    system.actions[0].body = vec![set(&x, call(4))];
    assert_eq!(fire_on_blank(&system), Err("`f`: result 6 is outside 0..5".into()));
    system.actions[0].body = vec![set(&x, call(10))];
    assert_eq!(fire_on_blank(&system), Err("`v` of `f`: value 10 is outside 0..9".into()));
    system.functions[0].body.pop();
    system.actions[0].body = vec![set(&x, call(1))];
    assert_eq!(fire_on_blank(&system), Err("`f` ended without a result".into()));
}

/// `sum(n) = if n = 0 then 0 else sum(n - 1) + 0`, with `extra` parentheses around each call.
fn recursive_sum(n: Value, nesting: usize) -> System {
    let mut system = empty();
    let scalar = system.scalar(Domain::range(0, 10_000, false));
    let x = system.var("x", scalar);
    let less = bin(Subtract, of(0, scalar).read(), int(1));
    let mut call = expr(ExprKind::Call(FunctionId(0), vec![Argument::Value(less)]));
    for _ in 0..nesting {
        call = bin(Add, call, int(0));
    }
    let end = vec![stmt(StmtKind::Return(Some(int(0))))];
    let body = vec![
        stmt(StmtKind::If {
            branches: vec![(bin(Equal, of(0, scalar).read(), int(0)), end)],
            otherwise: Vec::new(),
        }),
        stmt(StmtKind::Return(Some(call))),
    ];
    system.define("sum", vec![local("n", scalar, Variable)], Some(Domain::range(0, 9, false)), body);
    let value = expr(ExprKind::Call(FunctionId(0), vec![Argument::Value(int(n))]));
    system.action(Vec::new(), int(1), vec![set(&x, value)]);
    system
}

#[test]
fn calls_nest_to_the_limit_and_no_deeper_whatever_stack_the_thread_has() {
    let run = || {
        let limit = Value::from(MAX_CALL_DEPTH);
        assert_eq!(fire_on_blank(&recursive_sum(limit - 1, 400)), Ok(vec![Some(0)]));
        assert_eq!(fire_on_blank(&recursive_sum(limit, 1)), Err("`sum`: calls nest deeper than 500".into()));
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn checks_fail_or_drop_and_covers_count() {
    let check =
        |kind, value| stmt(StmtKind::Check { kind, condition: int(value), message: "all is well".into() });
    let run = |body: Vec<Stmt>| fire_on_blank(&with_x(|_, _| body));
    assert_eq!(run(vec![check(CheckKind::Assert, 0)]), Err("assertion failed: all is well".into()));
    assert_eq!(run(vec![check(CheckKind::Assume, 0)]), Err("dropped".into()));
    assert_eq!(run(vec![check(CheckKind::Assert, 1), check(CheckKind::Assume, 2)]), Ok(vec![None]));
    assert_eq!(run(vec![stmt(StmtKind::Fail("no".into()))]), Err("no".into()));

    let cover = |value| stmt(StmtKind::Cover(1, int(value)));
    let mut system = with_x(|_, _| vec![cover(0), cover(1), cover(3)]);
    system.invariant(int(1));
    system.invariant(int(1));
    system.properties[1].kind = PropertyKind::Cover;
    system.properties[1].body = PropertyBody::Statements;
    assert_eq!(fire_noting(&system).1.covered, [PropertyId(1), PropertyId(1)]);
}

#[test]
fn printing_shows_values_as_their_domain_does_and_cannot_fail() {
    let system = with_x(|system, x| {
        let domain = system.domains.add(Domain::boolean(true));
        vec![
            set(x, int(1)),
            stmt(StmtKind::Print(vec![
                PrintItem::Text("x is ".into()),
                PrintItem::Value(x.clone().read(), Some(domain)),
                PrintItem::Text("; ".into()),
                PrintItem::Whole(x.clone()),
                PrintItem::Value(bin(Divide, int(1), int(0)), None),
            ])),
        ]
    });
    let (result, notes) = fire_noting(&system);
    assert_eq!(result, Ok(vec![Some(1)]));
    assert_eq!(notes.printed.unwrap(), "x is true; x: 1\n<1 / 0 divides by zero>");
}

#[test]
fn guards_disable_and_their_errors_are_errors_of_the_instance() {
    let mut system = with_x(|_, x| vec![set(x, int(1))]);
    system.actions[0].guard = int(0);
    assert_eq!(fire_on_blank(&system), Err("disabled".into()));
    system.actions[0].guard = system.whole(VarId(0)).read();
    assert_eq!(fire_on_blank(&system), Err("`x` is undefined here".into()));
}

#[test]
fn assumptions_drop_states_and_checks_report_the_least_id() {
    let mut system = with_x(|_, x| vec![set(x, int(1))]);
    let x = system.whole(VarId(0));
    let is = |n| bin(Equal, x.clone().read(), int(n));
    system.invariant(is(1));
    system.invariant(is(2));
    system.invariant(is(3));
    assert_eq!(fire_on_blank(&system), Ok(vec![Some(1)]));
    let layout = Layout::natural(&system);
    let interpreter = Interpreter::new(&system, &layout);
    let mut state = [0];
    assert_eq!(interpreter.check(&state), Check::Fault(PropertyId(0)));
    layout.pack(&system, &[Some(1)], &mut state).unwrap();
    assert_eq!(interpreter.check(&state), Check::Hit(PropertyId(1)));
    let mut system = system.clone();
    system.properties[1].kind = PropertyKind::Assumption;
    assert_eq!(fire_on_blank(&system), Err("dropped".into()));
}

#[test]
fn parameters_number_the_instances_first_one_slowest() {
    let mut system = empty();
    let shape = system.scalar(Domain::range(0, 99, true));
    let x = system.var("x", shape);
    let value = bin(Add, bin(Multiply, of(0, shape).read(), int(10)), of(1, shape).read());
    system.action(vec![local("i", shape, Bound), local("j", shape, Bound)], int(1), vec![set(&x, value)]);
    let steps = |from, to, by| ParamValues::Steps { from, to, by };
    system.actions[0].params = vec![
        Param { local: LocalId(0), values: steps(3, 1, -2) },
        Param { local: LocalId(1), values: steps(1, 2, 1) },
    ];
    let layout = Layout::natural(&system);
    let interpreter = Interpreter::new(&system, &layout);
    let mut out = Successors::new(layout.words());
    interpreter.successors(&[0], &mut out, &mut []);
    let values: Vec<_> = out.iter().map(|(label, s)| (label.0, layout.value(&system, s, 0))).collect();
    assert_eq!(values, [(0, Some(31)), (1, Some(32)), (2, Some(11)), (3, Some(12))]);
}
