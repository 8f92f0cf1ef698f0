//! Constraints on the states of a plan, judged by their definitions on the whole list of states (Gerevini and Long 2005,
//! "Plan constraints and preferences in PDDL3"). A step counts as one unit of time.

use super::evaluate::View;
use super::show::Writer;
use super::state::State;
use crate::pddl::ast::{Constraint, Formula, LiftedTask, Watch};

/// What became of constraints.
#[derive(Default)]
pub(super) struct Judged {
    /// The first hard one that is violated.
    pub(super) broken: Option<String>,
    /// Preferences that are violated, one entry per instance.
    pub(super) violated: Vec<u32>,
}

/// Judges the constraints of a task on the states of a plan.
pub(super) fn judge(task: &LiftedTask, states: &[State]) -> Judged {
    let mut judged = Judged::default();
    for constraint in &task.constraints {
        visit(task, states, constraint, &mut Vec::new(), &mut judged);
    }
    judged
}

fn visit(
    task: &LiftedTask,
    states: &[State],
    constraint: &Constraint,
    objects: &mut Vec<u32>,
    judged: &mut Judged,
) {
    match constraint {
        Constraint::And(parts) => parts.iter().for_each(|part| visit(task, states, part, objects, judged)),
        Constraint::Forall(variables, inner) => {
            let Some(state) = states.first() else { return };
            View { task, state }.each(variables, objects, &mut |_, objects| {
                visit(task, states, inner, objects, judged);
                false
            });
        }
        Constraint::Preference(name, inner) => {
            if let (Some(name), Some(_)) = (name, broken(task, states, inner, objects)) {
                judged.violated.push(*name);
            }
        }
        Constraint::Watch(_) => {
            if judged.broken.is_none() {
                judged.broken = broken(task, states, constraint, objects);
            }
        }
    }
}

/// The first part of a constraint that is violated.
fn broken(
    task: &LiftedTask,
    states: &[State],
    constraint: &Constraint,
    objects: &mut Vec<u32>,
) -> Option<String> {
    match constraint {
        Constraint::And(parts) => parts.iter().find_map(|part| broken(task, states, part, objects)),
        Constraint::Forall(variables, inner) => {
            let mut what = None;
            View { task, state: states.first()? }.each(variables, objects, &mut |_, objects| {
                what = broken(task, states, inner, objects);
                what.is_some()
            });
            what
        }
        Constraint::Preference(_, inner) => broken(task, states, inner, objects),
        Constraint::Watch(watch) => {
            (!holds(task, states, watch, objects)).then(|| describe(task, watch, objects))
        }
    }
}

/// Whether a watch accepts the states.
fn holds(task: &LiftedTask, states: &[State], watch: &Watch, objects: &mut Vec<u32>) -> bool {
    let mut truth = |formula: &Formula| -> Vec<bool> {
        states.iter().map(|state| View { task, state }.is(formula, true, objects)).collect()
    };
    let last = states.len() - 1;
    match watch {
        Watch::AtEnd(body) => truth(body)[last],
        Watch::Always(body) => truth(body).iter().all(|&t| t),
        Watch::Sometime(body) => truth(body).iter().any(|&t| t),
        Watch::AtMostOnce(body) => {
            let truth = truth(body);
            let begins = (0..truth.len()).filter(|&i| truth[i] && (i == 0 || !truth[i - 1])).count();
            begins <= 1
        }
        Watch::SometimeAfter(first, second) => {
            let (first, second) = (truth(first), truth(second));
            (0..=last).all(|i| !first[i] || second[i..].iter().any(|&t| t))
        }
        Watch::SometimeBefore(first, second) => {
            let (first, second) = (truth(first), truth(second));
            (0..=last).all(|i| !first[i] || second[..i].iter().any(|&t| t))
        }
        Watch::Within(steps, body) => truth(body).iter().take(*steps as usize + 1).any(|&t| t),
        Watch::AlwaysWithin(steps, first, second) => {
            let (first, second) = (truth(first), truth(second));
            (0..=last).all(|i| !first[i] || second[i..].iter().take(*steps as usize + 1).any(|&t| t))
        }
        Watch::HoldDuring(from, to, body) => {
            let truth = truth(body);
            let from = (*from as usize).min(last);
            truth[from] && (from..=last).take_while(|&i| i < *to as usize).all(|i| truth[i])
        }
        Watch::HoldAfter(from, body) => truth(body)[(*from as usize).min(last)..].iter().all(|&t| t),
    }
}

fn describe(task: &LiftedTask, watch: &Watch, objects: &[u32]) -> String {
    let writer = Writer { task };
    let of = |formula: &Formula| writer.formula(formula, objects);
    let text = match watch {
        Watch::AtEnd(body) => format!("(at end {})", of(body)),
        Watch::Always(body) => format!("(always {})", of(body)),
        Watch::Sometime(body) => format!("(sometime {})", of(body)),
        Watch::AtMostOnce(body) => format!("(at-most-once {})", of(body)),
        Watch::SometimeAfter(first, second) => format!("(sometime-after {} {})", of(first), of(second)),
        Watch::SometimeBefore(first, second) => format!("(sometime-before {} {})", of(first), of(second)),
        Watch::Within(steps, body) => format!("(within {steps} {})", of(body)),
        Watch::AlwaysWithin(steps, first, second) => {
            format!("(always-within {steps} {} {})", of(first), of(second))
        }
        Watch::HoldDuring(from, to, body) => format!("(hold-during {from} {to} {})", of(body)),
        Watch::HoldAfter(from, body) => format!("(hold-after {from} {})", of(body)),
    };
    format!("{text} is violated")
}
