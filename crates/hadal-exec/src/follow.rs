//! The single steps between two states of a model whose processes go on alone at times: what a search passes through, a
//! person wants to see.

use crate::fault::Fault;
use crate::interpret::{Interpreter, Notes, Outcome};
use crate::model::Model;
use hadal_system::{Label, ProcessId, System};
use std::collections::HashSet;

/// A step that can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Which instance.
    pub label: Label,
    /// Where it leads, or the error it meets.
    pub to: Result<Vec<u64>, Fault>,
    /// What the model printed on the way.
    pub printed: String,
    /// Who goes on alone after it, if that can.
    pub then: Option<ProcessId>,
}

/// Every single step out of `state`. Where `alone` goes on alone and can, only what it does; else what ranks allow.
pub fn steps(
    model: &Model,
    interpreter: &Interpreter,
    state: &[u64],
    alone: Option<ProcessId>,
) -> Vec<Fired> {
    let system = model.system();
    if let Some(process) = alone {
        let led = fired(system, interpreter, state, |action| {
            action.rank == 0 && action.processes.first() == Some(&process)
        });
        if !led.is_empty() {
            return led;
        }
    }
    let mut ranks: Vec<u8> = system.actions.iter().map(|action| action.rank).collect();
    ranks.dedup();
    for rank in ranks {
        let list = fired(system, interpreter, state, |action| action.rank == rank);
        if !list.is_empty() {
            return list;
        }
    }
    Vec::new()
}

fn fired(
    system: &System,
    interpreter: &Interpreter,
    state: &[u64],
    wanted: impl Fn(&hadal_system::Action) -> bool,
) -> Vec<Fired> {
    let bases = system.label_bases(&system.actions);
    let mut list = Vec::new();
    for (action, base) in system.actions.iter().zip(bases.windows(2)).filter(|(action, _)| wanted(action)) {
        // `Model::new` refuses systems with more instances than labels.
        for label in (base[0] as u32..base[1] as u32).map(Label) {
            let mut notes = Notes { printed: Some(String::new()), ..Notes::default() };
            let to = match interpreter.fire_noting(state, label, &mut notes) {
                Outcome::Disabled | Outcome::Dropped => continue,
                Outcome::Reached(state) => Ok(state),
                Outcome::Fault(fault) => Err(fault),
            };
            list.push(Fired { label, to, printed: notes.printed.unwrap_or_default(), then: action.then });
        }
    }
    list
}

/// How a way is to end.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// In this state, with nobody going on alone.
    State(&'a [u64]),
    /// In an error, the first step being this one.
    Fault(Label),
}

/// A shortest way of single steps from `from`, all of them one step of the state space.
pub fn way(model: &Model, from: &[u64], wanted: Wanted) -> Option<Vec<Fired>> {
    let interpreter = model.interpreter();
    let mut points: Vec<(Option<usize>, Fired)> = Vec::new();
    let mut seen: HashSet<(Vec<u64>, Option<ProcessId>)> = HashSet::new();
    let way = |points: &[(Option<usize>, Fired)], mut at: usize| {
        let mut list = vec![points[at].1.clone()];
        while let Some(before) = points[at].0 {
            at = before;
            list.push(points[at].1.clone());
        }
        list.reverse();
        list
    };
    let first = steps(model, &interpreter, from, None);
    points.extend(first.into_iter().map(|step| (None, step)));
    if let Wanted::Fault(label) = wanted {
        points.retain(|(_, step)| step.label == label);
    }
    let mut at = 0;
    while at < points.len() {
        let (state, then) = match &points[at].1 {
            Fired { to: Ok(state), then, .. } => (state.clone(), *then),
            Fired { to: Err(_), .. } => {
                if matches!(wanted, Wanted::Fault(_)) {
                    return Some(way(&points, at));
                }
                at += 1;
                continue;
            }
        };
        let mut goes_on = false;
        if let Some(process) = then {
            let led = |action: &hadal_system::Action| {
                action.rank == 0 && action.processes.first() == Some(&process)
            };
            let next = fired(model.system(), &interpreter, &state, led);
            goes_on = !next.is_empty();
            for step in next {
                let point = (step.to.clone().unwrap_or_default(), step.then);
                if step.to.is_err() || seen.insert(point) {
                    points.push((Some(at), step));
                }
            }
        }
        if let (Wanted::State(end), false) = (wanted, goes_on)
            && state == end
        {
            return Some(way(&points, at));
        }
        at += 1;
    }
    None
}
