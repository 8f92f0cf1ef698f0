//! Facts of small systems that can be worked out by hand.

use super::*;
use crate::domain::Domain;
use crate::expr::{BinaryOp, Expr, Place};
use crate::shape::Shape;
use crate::source::{Source, Span};
use crate::stmt::{Stmt, StmtKind};
use crate::system::{Location, Process, ProcessId, Role, VarId, Variable};

/// A system of scalars over 0..=9 and no actions yet.
fn scalars(names: &[&str]) -> System {
    let mut system =
        System { name: "scalars".into(), source: Source::new("scalars", ""), ..System::default() };
    let digit = system.domains.add(Domain::range(0, 9, false));
    let shape = system.shapes.add(Shape::Scalar(digit), &system.domains).expect("one scalar");
    for name in names {
        let name = name.to_string();
        let variable = Variable { name, shape, role: Role::Data, owner: None, span: Span::default() };
        system.variables.push(variable);
    }
    system
}

fn place(system: &System, var: u32) -> Place {
    system.whole(VarId(var))
}

/// Adds an action that wants `tests` (variable, value) and sets `writes`.
fn act(system: &mut System, processes: &[u32], tests: &[(u32, BinaryOp, i64)], writes: &[(u32, i64)]) {
    let guard = tests.iter().map(|&(v, op, n)| Expr::binary(op, place(system, v).read(), Expr::constant(n)));
    let body = writes
        .iter()
        .map(|&(v, n)| Stmt::new(StmtKind::Assign(place(system, v), Expr::constant(n)), Span::default()));
    let action = Action {
        name: format!("t{}", system.actions.len() + 1),
        guard: Expr::all(guard),
        body: body.collect(),
        processes: processes.iter().map(|&p| ProcessId(p)).collect(),
        ..Action::default()
    };
    system.actions.push(action);
}

fn slots(set: &SlotSet) -> Vec<u32> {
    set.iter().collect()
}

use BinaryOp::{Equal, Less};

/// Wehrle 2011, example 4.2: variables i, j, k and the locations p1, p2.
fn example_4_2() -> System {
    let mut system = scalars(&["i", "j", "k", "p1", "p2"]);
    for (name, location) in [("p1", VarId(3)), ("p2", VarId(4))] {
        let place = |n: u32| Location { name: format!("l{n}"), ..Location::default() };
        let locations = (0..3).map(place).collect();
        system.processes.push(Process { name: name.into(), location, locations, edges: Vec::new() });
    }
    act(&mut system, &[0], &[(3, Equal, 1), (0, Less, 1)], &[(0, 1), (3, 2)]);
    act(&mut system, &[0, 1], &[(3, Equal, 1), (1, Less, 1), (4, Equal, 0)], &[(3, 2), (2, 1), (4, 1)]);
    system
}

#[test]
fn facts_of_more_actions_are_those_of_the_larger_system() {
    let system = example_4_2();
    let mut larger = system.clone();
    larger.actions.extend(system.actions.iter().rev().cloned());
    let (more, whole) = (Facts::of(&system).with_more(&larger), Facts::of(&larger));
    assert_eq!(more.actions.len(), 2 * system.actions.len());
    assert_eq!(format!("{more:?}"), format!("{whole:?}"));
}

#[test]
fn reads_and_writes_of_the_thesis_example() {
    let facts = Facts::of(&example_4_2());
    let [first, second] = [&facts.actions[0].whole, &facts.actions[1].whole];
    assert_eq!((slots(&first.reads), slots(&first.must_write)), (vec![0, 3], vec![0, 3]));
    assert_eq!((slots(&second.reads), slots(&second.must_write)), (vec![1, 3, 4], vec![2, 3, 4]));
    // `i < 1` leaves one value of 0..=9.
    assert_eq!(first.equalities().collect::<Vec<_>>(), [(0, 0), (3, 1)]);
    assert_eq!(second.assignments().collect::<Vec<_>>(), [(2, 1), (3, 2), (4, 1)]);
    assert!(!first.may_fault && first.can_fire);
}

#[test]
fn firing_one_ends_the_other_where_both_leave_the_same_location() {
    let system = example_4_2();
    let facts = Facts::of(&system);
    let [first, second] = [&facts.actions[0].whole, &facts.actions[1].whole];
    assert!(first.interferes(second) && first.may_disable(second) && first.ends(second));
    assert!(!first.may_enable(second));
    let all = Interference::of(&system, &facts);
    assert_eq!((all.class_count(), all.component_count()), (2, 1));
    assert_eq!(all.levels(0), [Some(0), Some(1)]);
}

/// t1 writes a, t2 reads a and writes b, t3 reads b and writes c, t4 is about d alone.
fn chain() -> System {
    let mut system = scalars(&["a", "b", "c", "d"]);
    act(&mut system, &[], &[], &[(0, 1)]);
    act(&mut system, &[], &[(0, Equal, 1)], &[(1, 1)]);
    act(&mut system, &[], &[(1, Equal, 1)], &[(2, 1)]);
    act(&mut system, &[], &[(3, Equal, 0)], &[(3, 1)]);
    system
}

#[test]
fn levels_count_steps_of_interference() {
    let system = chain();
    let all = Interference::of(&system, &Facts::of(&system));
    assert_eq!(all.levels(0), [Some(0), Some(1), Some(2), None]);
    assert_eq!(all.component_count(), 2);
    assert!(all.interfere(1, 2) && !all.interfere(0, 2));
}

#[test]
fn the_cone_follows_reads_backwards() {
    let system = chain();
    let graph = CausalGraph::over_variables(&system, &Facts::of(&system));
    let arcs: Vec<(u32, u32)> = graph.arcs().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(arcs, [(0, 1), (1, 2)]);
    assert_eq!(graph.cone(&SlotSet::range(1, 2)), [0, 1]);
    assert_eq!(graph.independent(), [0, 3]);
    assert_eq!(graph.components(), [0, 0, 0, 1]);
}

#[test]
fn a_scalar_without_a_process_has_a_graph_of_its_values() {
    let system = chain();
    let graph = ControlGraph::of_slot(&system, &Facts::of(&system), 3).expect("ten values");
    let edges: Vec<(u32, u32)> = graph.edges.iter().map(|e| (e.from, e.to)).collect();
    assert_eq!(edges, [(0, 1)]);
    assert_eq!(graph.distances_from(&[0])[1], Some(1));
    assert!(!graph.returns_to(0));
}

#[test]
fn a_contradictory_guard_can_never_fire() {
    let mut system = scalars(&["a"]);
    act(&mut system, &[], &[(0, Equal, 1), (0, Equal, 2)], &[(0, 3)]);
    let facts = Facts::of(&system);
    assert!(!facts.actions[0].whole.can_hold && facts.actions[0].whole.may_write.is_empty());
}
