//! Steps that pass through others: what a process does that goes on alone ([`hadal_system::Action::then`]).

use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::{ActionId, ProcessId, System};

/// The actions that may be carried out by firing this one, itself first.
pub(super) fn members(system: &System, action: usize) -> Vec<usize> {
    let mut found = vec![action];
    let mut points: Vec<(ProcessId, Option<i64>)> = Vec::new();
    let mut next = 0;
    let mut at = 0;
    // Where somebody goes on alone after each action found, then what can be done there.
    while at < found.len() {
        if let Some(process) = system.actions[found[at]].then {
            for location in ends(system, process, found[at]) {
                if !points.contains(&(process, location)) {
                    points.push((process, location));
                }
            }
        }
        at += 1;
        while at == found.len() && next < points.len() {
            let (process, location) = points[next];
            next += 1;
            for (n, other) in system.actions.iter().enumerate() {
                let own = other.rank == 0 && other.processes.first() == Some(&process);
                if own && !found.contains(&n) && starts(system, process, n, location) {
                    found.push(n);
                }
            }
        }
    }
    found
}

/// Where an action leaves a process; `None` where that is not known.
fn ends(system: &System, process: ProcessId, action: usize) -> Vec<Option<i64>> {
    let edges = system.processes.get(process.0 as usize).map_or(&[][..], |it| &it.edges);
    let known: Vec<_> =
        edges.iter().filter(|e| e.action == ActionId(action as u32)).map(|e| Some(e.to)).collect();
    if known.is_empty() { vec![None] } else { known }
}

/// Whether an action may be fired by a process that is at this location.
fn starts(system: &System, process: ProcessId, action: usize, location: Option<i64>) -> bool {
    let edges = system.processes.get(process.0 as usize).map_or(&[][..], |it| &it.edges);
    let mut own = edges.iter().filter(|edge| edge.action == ActionId(action as u32)).peekable();
    location.is_none() || own.peek().is_none() || own.any(|edge| Some(edge.from) == location)
}

/// What an instance that goes on through `members` touches: it is enabled like its first step, and may do what any does.
pub(super) fn footprint(first: &Footprint, facts: &Facts, members: &[usize]) -> Footprint {
    let mut all = first.clone();
    for print in members[1..].iter().map(|&n| &facts.actions[n].whole) {
        all.reads.extend(&print.reads);
        all.reads.extend(&print.tests);
        all.may_write.extend(&print.may_write);
        all.may_fault |= print.may_fault;
        all.body_may_fault |= print.may_fault;
        all.may_drop |= print.may_drop;
    }
    // What is known of a value afterwards is what each step that may write it leaves.
    let left = |slot: u32, values: &ValueSet| {
        let mut values = values.clone();
        for print in members[1..].iter().map(|&n| &facts.actions[n].whole) {
            if print.may_write.contains(slot) {
                values = values.union(print.result(slot)?);
            }
        }
        Some(values)
    };
    all.results =
        first.results.iter().filter_map(|(slot, values)| Some((*slot, left(*slot, values)?))).collect();
    all
}
