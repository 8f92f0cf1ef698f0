use super::*;
use crate::expr::{Expr, Place, Step};
use crate::source::Source;
use crate::stmt::{Argument, Stmt, StmtKind};
use crate::system::{LocalId, Role, VarId, Variable};
use crate::{Domain, FunctionId};

/// `x: array [0..2] of boolean` and one action `set` with a parameter `i`, a variable `v` and a reference `r`.
fn small() -> System {
    let mut system = System { name: "small".into(), source: Source::new("small", ""), ..System::default() };
    let boolean = system.domains.add(Domain::boolean(false));
    let index = system.domains.add(Domain::range(0, 2, false));
    let mut shape = |shape| system.shapes.add(shape, &system.domains).expect("few scalars");
    let (flag, number) = (shape(Shape::Scalar(boolean)), shape(Shape::Scalar(index)));
    let flags = shape(Shape::Array { index, element: flag });
    system.variables.push(Variable {
        name: "x".into(),
        shape: flags,
        role: Role::Data,
        owner: None,
        span: Span::default(),
    });
    let local = |name: &str, shape, kind| Local { name: name.into(), shape, kind };
    system.actions.push(Action {
        name: "set".into(),
        params: vec![Param { local: LocalId(0), values: ParamValues::Domain(index) }],
        locals: vec![
            local("i", number, LocalKind::Bound),
            local("v", flag, LocalKind::Variable),
            local("r", flag, LocalKind::Reference),
        ],
        body: vec![Stmt::new(StmtKind::Assign(element(&system, 0), Expr::constant(1)), Span::default())],
        ..Action::default()
    });
    system
}

/// `x[local]`.
fn element(system: &System, local: u32) -> Place {
    let Shape::Array { index, element } = system.shapes[ShapeId(2)] else { panic!("x is an array") };
    let number = ShapeId(index.0);
    let mut place = system.whole(VarId(0));
    place.steps.push(Step::Index(Place::local(LocalId(local), number, Span::default()).read()));
    place.shape = element;
    place
}

/// The problems after replacing the body of `set` by one statement.
fn problems_of(change: impl FnOnce(&System) -> StmtKind) -> Vec<String> {
    let mut system = small();
    let kind = change(&system);
    system.actions[0].body = vec![Stmt::new(kind, Span::default())];
    validate(&system).into_iter().map(|p| p.what).collect()
}

fn local(n: u32, shape: u32) -> Place {
    Place::local(LocalId(n), ShapeId(shape), Span::default())
}

#[test]
fn a_well_formed_system_has_no_problems() {
    assert_eq!(validate(&small()), []);
}

#[test]
fn writing_a_bound_local_is_a_problem() {
    let found = problems_of(|_| StmtKind::Assign(local(0, 1), Expr::constant(0)));
    assert_eq!(found, ["bound local `i` is written"]);
}

#[test]
fn a_reference_must_be_bound_before_use() {
    assert_eq!(problems_of(|_| StmtKind::Clear(local(2, 0))), ["reference `r` is not bound here"]);
    let bound = problems_of(|system| StmtKind::Bind {
        local: LocalId(2),
        place: element(system, 0),
        body: vec![Stmt::new(StmtKind::Clear(local(2, 0)), Span::default())],
    });
    assert!(bound.is_empty(), "{bound:?}");
}

#[test]
fn steps_must_lead_to_the_shape_of_the_place() {
    let found = problems_of(|system| {
        let mut place = element(system, 0);
        place.shape = ShapeId(1);
        StmtKind::Clear(place)
    });
    assert_eq!(found, ["the steps lead to another shape than the place says"]);
    let found = problems_of(|system| {
        let mut place = system.whole(VarId(0));
        place.steps.push(Step::Field(0));
        StmtKind::Clear(place)
    });
    assert_eq!(found, ["a step does not fit what it is taken from"]);
}

#[test]
fn copies_need_as_many_scalars_on_both_sides() {
    let found = problems_of(|system| StmtKind::Copy { to: local(1, 0), from: system.whole(VarId(0)) });
    assert_eq!(found, ["the two places have different numbers of scalars"]);
}

#[test]
fn calls_need_a_function_that_exists() {
    let found = problems_of(|_| StmtKind::Call(FunctionId(0), vec![Argument::Value(Expr::constant(0))]));
    assert_eq!(found, ["the function does not exist"]);
}

#[test]
fn a_parameter_needs_a_bound_local() {
    let mut system = small();
    system.actions[0].params[0].local = LocalId(1);
    let found: Vec<String> = validate(&system).into_iter().map(|p| p.to_string()).collect();
    assert_eq!(found, ["action `set`: a parameter's local must be bound (at 0..0)"]);
}

#[test]
fn a_state_has_a_bounded_number_of_scalars() {
    let mut system = small();
    let index = system.domains.add(Domain::range(0, (Shapes::MAX_SLOTS / 2) as i64, false));
    let element = ShapeId(0);
    let half = system.shapes.add(Shape::Array { index, element }, &system.domains).expect("few enough");
    let wide = |name: &str| Variable { name: name.into(), shape: half, ..system.variables[0].clone() };
    let (first, second) = (wide("first"), wide("second"));
    system.variables.push(first);
    assert_eq!(validate(&system), []);
    system.variables.push(second);
    assert!(validate(&system).iter().any(|problem| problem.what.contains("scalars")));
}

#[test]
fn a_cover_statement_counts_for_a_property_that_is_there() {
    let what = problems_of(|system| StmtKind::Cover(system.properties.len(), Expr::constant(1)));
    assert_eq!(what, ["a cover statement counts for a cover property without parameters"]);
}
