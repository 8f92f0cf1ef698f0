//! Variables whose values nobody needs behind a statement.

use super::super::check::constant;
use super::super::model::{ElementId, ElementKind, Initial, Op, Process};
use super::flow::{Graph, is_number};

/// The elements behind whose statements local variables are set to 0, and which: written there or received and not read
/// before they are written again, or read by a condition or a receive for the last time.
pub(super) fn dead(process: &Process) -> Vec<(ElementId, Vec<usize>)> {
    let graph = Graph::new(process);
    let mut found = Vec::new();
    for step in graph.steps.iter().flatten() {
        let Some(element) = step.of else { continue };
        let ElementKind::Op(op) = &process.elements[element].kind else { continue };
        let mut variables = Vec::new();
        if matches!(op, Op::Condition(_) | Op::Receive(_)) {
            variables.extend(step.reads.iter().copied());
        }
        if !sets_to_zero(process, op) {
            variables.extend(step.writes.iter().copied());
        }
        variables.sort_unstable();
        variables.dedup();
        variables.retain(|&n| is_number(process, n) && !is_needed(&graph, step.to, n));
        if !variables.is_empty() {
            found.push((element, variables));
        }
    }
    found
}

fn sets_to_zero(process: &Process, op: &Op) -> bool {
    match op {
        Op::Assign(_, value) => constant(value) == Some(0),
        Op::Declare(n) => match &process.variables[*n].initial {
            Initial::Value(term) => constant(term) == Some(0),
            _ => true,
        },
        _ => false,
    }
}

/// Whether a variable may be read from a state on. As in SPIN, of the steps out of a state none counts behind the first that
/// writes the variable.
fn is_needed(graph: &Graph, from: usize, variable: usize) -> bool {
    let mut seen = vec![false; graph.steps.len()];
    // States that are being looked at, with the number of the next step.
    let mut open = vec![(from, 0)];
    seen[from] = true;
    while let Some((state, next)) = open.pop() {
        let Some(step) = graph.steps[state].get(next) else { continue };
        if step.reads.contains(&variable) {
            return true;
        }
        if step.writes.contains(&variable) {
            continue;
        }
        open.push((state, next + 1));
        if !std::mem::replace(&mut seen[step.to], true) {
            open.push((step.to, 0));
        }
    }
    false
}
