//! From a trace of the smaller system to one of the system it was made of.
//!
//! Traces are lists of labels, which all stages share. Where a part was left out, it is moved to the nearest of its
//! states in which the next action can fire; its own actions touch nothing else.

use super::Stage;
use hadal_exec::{Interpreter, Outcome};
use hadal_system::{Label, Layout, System};

/// A start and the actions fired after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelTrace {
    /// Which start.
    pub start: Label,
    /// Which actions.
    pub labels: Vec<Label>,
    /// How it ends.
    pub ending: TraceEnding,
}

/// How a trace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEnding {
    /// In its last state.
    State,
    /// This action meets an error there.
    Fault(Label),
}

/// A trace that does not lift: not an error of the model but of hadal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} of the reduced trace does not lift to the model")]
pub struct LiftError {
    /// Number of the step, the start being 0.
    pub step: usize,
}

/// Lifts a trace of the last stage to the system that the first one was made of.
pub fn lift(original: &System, stages: &[Stage], trace: LabelTrace) -> Result<LabelTrace, LiftError> {
    let mut trace = trace;
    for n in (0..stages.len()).rev() {
        let before = if n == 0 { original } else { &stages[n - 1].system };
        trace = lift_stage(before, &stages[n], trace)?;
    }
    Ok(trace)
}

/// The states that a trace goes through, the initial one first.
pub fn states(system: &System, trace: &LabelTrace) -> Result<Vec<Vec<u64>>, LiftError> {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let Outcome::Reached(state) = interpreter.start(trace.start) else { return Err(LiftError { step: 0 }) };
    let mut states = vec![state];
    for (n, &label) in trace.labels.iter().enumerate() {
        let Outcome::Reached(next) = interpreter.fire(&states[n], label) else {
            return Err(LiftError { step: n + 1 });
        };
        states.push(next);
    }
    Ok(states)
}

fn lift_stage(before: &System, stage: &Stage, trace: LabelTrace) -> Result<LabelTrace, LiftError> {
    let Some(local) = &stage.local else { return Ok(trace) };
    let layout = Layout::natural(before);
    let interpreter = Interpreter::new(before, &layout);
    let Outcome::Reached(mut state) = interpreter.start(trace.start) else {
        return Err(LiftError { step: 0 });
    };
    let mut lifted = LabelTrace { start: trace.start, labels: Vec::new(), ending: trace.ending };
    // Moves the part until firing `label` comes out as wanted.
    let bring = |state: &mut Vec<u64>, label: Label, wanted: &dyn Fn(&Outcome) -> bool| {
        let from = local.find(state)?;
        let (way, at) = local.way(from, |number| {
            let mut moved = state.clone();
            local.place(number, &mut moved);
            wanted(&interpreter.fire(&moved, label))
        })?;
        local.place(at, state);
        Some(way)
    };
    for (n, &label) in trace.labels.iter().enumerate() {
        let failed = LiftError { step: n + 1 };
        let way = bring(&mut state, label, &|it| matches!(it, Outcome::Reached(_))).ok_or(failed.clone())?;
        lifted.labels.extend(way);
        lifted.labels.push(label);
        let Outcome::Reached(next) = interpreter.fire(&state, label) else { return Err(failed) };
        state = next;
    }
    if let TraceEnding::Fault(label) = trace.ending {
        let failed = LiftError { step: trace.labels.len() + 1 };
        let way = bring(&mut state, label, &|it| matches!(it, Outcome::Fault(_))).ok_or(failed)?;
        lifted.labels.extend(way);
    }
    Ok(lifted)
}
