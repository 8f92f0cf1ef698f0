//! True distances on the explicit graph of a small model, to hold estimates against.
#![allow(dead_code)] // Not every test file asks for everything.

use hadal_exec::{Interpreter, Model, ModelOptions, SymmetryMode};
use hadal_guide::{Distance, Goal, Guide, Mask};
use hadal_system::{
    BinaryOp, Expr, ExprKind, Label, Place, Property, PropertyBody, PropertyKind, Shape, Span, StateSpace,
    Step, Successors, System, UnaryOp, VarId,
};
use std::collections::HashMap;

/// Every reachable state with its distance to the goal.
pub struct Truth {
    pub states: Vec<Vec<u64>>,
    pub edges: Vec<(u32, u32, Label)>,
    pub goal: Vec<bool>,
    pub distance: Vec<Distance>,
}

/// The model of a system without symmetry reduction.
pub fn model(system: System) -> Option<Model> {
    model_with(system, SymmetryMode::Off)
}

/// The model of a system.
pub fn model_with(system: System, symmetry: SymmetryMode) -> Option<Model> {
    Model::new(system, ModelOptions { symmetry, ..ModelOptions::default() }).ok()
}

/// The truth about a model of at most `most` states.
pub fn truth(model: &Model, goal: &Goal, most: usize) -> Option<Truth> {
    let mut worker = model.worker();
    let interpreter = model.interpreter();
    let mut out = Successors::new(model.words());
    let mut number: HashMap<Vec<u64>, u32> = HashMap::new();
    let mut states: Vec<Vec<u64>> = Vec::new();
    let mut truth = Truth { states: Vec::new(), edges: Vec::new(), goal: Vec::new(), distance: Vec::new() };
    worker.initial(&mut out);
    for (_, state) in out.iter() {
        number.entry(state.to_vec()).or_insert_with(|| {
            states.push(state.to_vec());
            states.len() as u32 - 1
        });
    }
    let mut at = 0;
    while at < states.len() {
        if states.len() > most {
            return None;
        }
        let state = states[at].clone();
        out.clear();
        worker.successors(&state, &mut out);
        let mut leaves = !out.faults().is_empty();
        for (label, next) in out.iter() {
            leaves |= next != state;
            let to = *number.entry(next.to_vec()).or_insert_with(|| {
                states.push(next.to_vec());
                states.len() as u32 - 1
            });
            truth.edges.push((at as u32, to, label));
        }
        let stuck = !leaves && !worker.can_leave(&state);
        let goal = goal.deadlock && stuck
            || goal.faults && !out.faults().is_empty()
            || goal.properties.iter().any(|&id| holds(model, &interpreter, &state, id, goal.faults));
        truth.goal.push(goal);
        at += 1;
    }
    truth.states = states;
    truth.distance = distances(&truth, None);
    Some(truth)
}

fn holds(
    model: &Model,
    interpreter: &Interpreter,
    state: &[u64],
    id: hadal_system::PropertyId,
    faults: bool,
) -> bool {
    let wanted = model.properties()[id.0 as usize].kind != PropertyKind::Invariant;
    match interpreter.holds(state, id) {
        Ok(holds) => holds == wanted,
        Err(_) => faults,
    }
}

/// Distances where the labels in `off` cannot fire.
pub fn distances(truth: &Truth, off: Option<&Mask>) -> Vec<Distance> {
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); truth.goal.len()];
    for &(from, to, label) in &truth.edges {
        if off.is_none_or(|off| !off.contains(label)) {
            into[to as usize].push(from);
        }
    }
    let mut distance = vec![Distance::INFINITE; truth.goal.len()];
    let mut wave: Vec<u32> = (0..truth.goal.len() as u32).filter(|&n| truth.goal[n as usize]).collect();
    wave.iter().for_each(|&n| distance[n as usize] = Distance::ZERO);
    let mut level = 0;
    while !wave.is_empty() {
        level += 1;
        let mut next = Vec::new();
        for node in wave {
            for &from in &into[node as usize] {
                if !distance[from as usize].is_finite() {
                    distance[from as usize] = Distance(level);
                    next.push(from);
                }
            }
        }
        wave = next;
    }
    distance
}

/// Asserts everything a guide promises, in every state, with and without `off`.
pub fn assert_promises(guide: &dyn Guide, truth: &Truth, off: &Mask, what: &str) {
    let promises = guide.promises();
    let name = guide.name();
    let mut estimator = guide.estimator();
    let plain: Vec<Distance> = truth.states.iter().map(|s| estimator.estimate(s, None)).collect();
    let masked: Vec<Distance> = truth.states.iter().map(|s| estimator.estimate(s, Some(off))).collect();
    let masked_truth = distances(truth, Some(off));
    for (values, distance, kind) in [(&plain, &truth.distance, "plain"), (&masked, &masked_truth, "masked")] {
        for n in 0..truth.states.len() {
            let (value, true_distance) = (values[n], distance[n]);
            if promises.admissible {
                assert!(value <= true_distance, "{what} {name} {kind}: {value:?} > {true_distance:?} in {n}");
            }
            if promises.safe && !value.is_finite() {
                assert!(
                    !true_distance.is_finite(),
                    "{what} {name} {kind}: infinite at {true_distance:?} in {n}"
                );
            }
            if promises.consistent && truth.goal[n] {
                assert_eq!(value, Distance::ZERO, "{what} {name} {kind}: goal {n}");
            }
        }
        if promises.consistent {
            for &(from, to, label) in &truth.edges {
                if kind == "masked" && off.contains(label) {
                    continue;
                }
                let (before, after) = (values[from as usize], values[to as usize]);
                assert!(
                    before.0 <= after.0.saturating_add(1),
                    "{what} {name} {kind}: {before:?} to {after:?} along {from} {to}"
                );
            }
        }
    }
    if promises.monotone {
        for n in 0..truth.states.len() {
            assert!(plain[n] <= masked[n], "{what} {name}: mask makes {:?} {:?}", plain[n], masked[n]);
        }
    }
    // What an estimator computes does not depend on what it computed before.
    let again: Vec<Distance> = truth.states.iter().map(|s| estimator.estimate(s, None)).collect();
    assert_eq!(plain, again, "{what} {name}");
}

/// The system with one goal more: to be, in up to three scalars, like a state far from the initial ones.
pub fn with_a_far_goal(system: System, most: usize) -> Option<System> {
    let model = model(system)?;
    let truth = truth(&model, &Goal::default(), most)?;
    let (first, last) = (truth.states.first()?, truth.states.last()?);
    let mut system = model.system().clone();
    let values = |state: &[u64]| model.layout().unpack(&system, state);
    let (before, after) = (values(first), values(last));
    let changed: Vec<usize> = (0..after.len()).filter(|&slot| before[slot] != after[slot]).take(3).collect();
    let wanted = changed.into_iter().map(|slot| {
        let undefined = Expr::new(ExprKind::IsUndefined(Box::new(place_of(&system, slot))), Span::default());
        match after[slot] {
            None => undefined,
            Some(value) => Expr::binary(
                BinaryOp::And,
                Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(undefined)), Span::default()),
                Expr::binary(BinaryOp::Equal, place_of(&system, slot).read(), Expr::constant(value)),
            ),
        }
    });
    let goal = Expr::all(wanted.collect::<Vec<_>>());
    system.properties.push(Property {
        name: "far".into(),
        kind: PropertyKind::Goal,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(goal),
        span: Span::default(),
    });
    Some(system)
}

/// The place of a scalar of the state.
fn place_of(system: &System, slot: usize) -> Place {
    let firsts = system.first_slots();
    let var = firsts.partition_point(|&first| first <= slot) - 1;
    let mut rest = slot - firsts[var];
    let mut place = system.whole(VarId(var as u32));
    loop {
        match &system.shapes[place.shape] {
            Shape::Scalar(_) => return place,
            Shape::Record(fields) => {
                let field = (0..fields.len()).rev().find(|&n| system.shapes.field_slot(fields, n) <= rest);
                let field = field.expect("some field starts at or before it");
                rest -= system.shapes.field_slot(fields, field);
                place.steps.push(Step::Field(field));
                place.shape = fields[field].shape;
            }
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                let stride = system.shapes.slots(*element);
                let value = system.domains[*index].value_at((rest / stride) as u64);
                rest %= stride;
                place.steps.push(Step::Index(Expr::constant(value.expect("it is inside"))));
                place.shape = *element;
            }
        }
    }
}
