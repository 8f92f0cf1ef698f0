//! Walking along a trace that `check` wrote, step by step on the interpreter; a run that goes on for ever is walked round.

use super::{Met, Simulation, SimulationError};
use crate::failure::Failure;
use serde::Deserialize;
use std::io::Write;
use std::path::Path;

/// A trace as `check --trace json` writes it; other fields are for reading.
#[derive(Deserialize)]
struct Written {
    steps: Vec<Step>,
    loop_from: Option<usize>,
}

#[derive(Deserialize)]
struct Step {
    action: String,
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    name: String,
    after: String,
}

/// How `check` calls the step of a run that stays where nothing can happen.
const STAYS: &str = "(nothing can happen any more)";

/// Walks along the trace in this file.
pub(super) fn along(walk: &mut Simulation, path: &Path, out: &mut dyn Write) -> Result<(), SimulationError> {
    let trace = read(path)?;
    let mut states: Vec<Vec<u64>> = Vec::new();
    for (n, step) in trace.steps.iter().enumerate() {
        if step.action == STAYS && walk.enabled.is_empty() {
            writeln!(out, "{n:>5}  {STAYS}")?;
        } else if !take(walk, step, out)? {
            let told = format!(
                "{}: step {n}, `{}`, cannot be taken in this model as the trace says",
                path.display(),
                step.action
            );
            return Err(Failure::Usage(told).into());
        }
        states.extend(walk.spot().map(|spot| spot.state.clone()));
        if trace.loop_from == Some(n) {
            writeln!(out, "  .--  here the loop begins")?;
        }
    }
    if let Some(from) = trace.loop_from {
        if states.get(from).is_none() || states.get(from) != states.last() {
            let told = format!("{}: the loop of the trace does not close in this model", path.display());
            return Err(Failure::Usage(told).into());
        }
        let length = states.len() - 1 - from;
        let steps = if length == 1 { "step repeats".to_owned() } else { format!("{length} steps repeat") };
        writeln!(out, "  '--  the loop is closed: the last {steps} forever")?;
        walk.met_violation = true;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Written, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let mut value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(format!("this is no JSON: {error}")))?;
    // The result of a check has its trace in it.
    if let Some(trace) = value.get_mut("trace").map(serde_json::Value::take) {
        value = trace;
    }
    serde_json::from_value(value)
        .map_err(|error| wrong(format!("this is no trace as `hadal check --trace json` writes it: {error}")))
}

/// Takes the step that is written, or the steps that are written as one; whether that could be done.
fn take(walk: &mut Simulation, step: &Step, out: &mut dyn Write) -> Result<bool, SimulationError> {
    if let Some(n) = choice(walk, &step.action, &step.changes) {
        walk.take(n, out).map(|_: Met| ())?;
        return Ok(true);
    }
    // What one process does alone stands together.
    let parts: Vec<&str> = step.action.split("; ").collect();
    let [first @ .., last] = parts.as_slice() else { return Ok(false) };
    for part in first {
        let Some(n) = choice(walk, part, &[]) else { return Ok(false) };
        walk.take(n, out)?;
    }
    // What changed is told for all of them together.
    let Some(n) = choice(walk, last, &[]).filter(|_| !first.is_empty()) else { return Ok(false) };
    walk.take(n, out)?;
    Ok(true)
}

/// The choice with this name that changes these items so.
fn choice(walk: &Simulation, action: &str, changes: &[Change]) -> Option<usize> {
    let fits = |state: &[u64]| {
        let items = walk.stepper.items(state);
        let has =
            |change: &Change| items.iter().any(|item| item.name == change.name && item.value == change.after);
        changes.iter().all(has)
    };
    walk.enabled.iter().position(|choice| {
        walk.stepper.name(walk.spot(), choice.label) == action
            && match &choice.to {
                Some(to) => fits(&to.state),
                None => changes.is_empty(),
            }
    })
}
