//! From a trace of the smaller system to one of the system it was made of.
//!
//! Traces are lists of labels, which all stages share. Where a part was left out, it is moved to the nearest of its
//! states in which the next action can fire; its own actions touch nothing else.

use super::Stage;
use hadal_exec::{Interpreter, Outcome};
use hadal_system::{Label, Layout, PropertyId, PropertyKind, System};

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
    /// In its last state, in which this invariant is broken or this goal is met.
    Met(PropertyId),
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
    // Moves the part to the nearest of its states that is wanted.
    let bring = |state: &mut Vec<u64>, wanted: &dyn Fn(usize, &[u64]) -> bool| {
        let from = local.find(state)?;
        let (way, at) = local.way(from, |number| {
            let mut moved = state.clone();
            local.place(number, &mut moved);
            wanted(number, &moved)
        })?;
        local.place(at, state);
        Some(way)
    };
    let origins = Origins::of(before, stage);
    for (n, &label) in trace.labels.iter().enumerate() {
        let failed = LiftError { step: n + 1 };
        let (label, states) = origins.of_label(label);
        let fires = |number: usize, moved: &[u64]| {
            states.is_none_or(|states| states.contains(&number))
                && matches!(interpreter.fire(moved, label), Outcome::Reached(_))
        };
        let way = bring(&mut state, &fires).ok_or(failed.clone())?;
        lifted.labels.extend(way);
        lifted.labels.push(label);
        let Outcome::Reached(next) = interpreter.fire(&state, label) else { return Err(failed) };
        state = next;
    }
    let failed = LiftError { step: trace.labels.len() + 1 };
    let way = match trace.ending {
        TraceEnding::State => return Ok(lifted),
        TraceEnding::Fault(label) => {
            let (label, states) = origins.of_label(label);
            lifted.ending = TraceEnding::Fault(label);
            bring(&mut state, &|number, moved| {
                states.is_none_or(|states| states.contains(&number))
                    && matches!(interpreter.fire(moved, label), Outcome::Fault(_))
            })
        }
        TraceEnding::Met(property) => {
            let breaks = before
                .property_instance(property)
                .is_some_and(|(at, _)| before.properties[at].kind == PropertyKind::Invariant);
            bring(&mut state, &|_, moved| {
                interpreter.holds(moved, property).is_ok_and(|holds| holds != breaks)
            })
        }
    };
    lifted.labels.extend(way.ok_or(failed)?);
    Ok(lifted)
}

/// Which labels of the whole system the labels of the smaller one stand for.
struct Origins<'s> {
    stage: &'s Stage,
    before: Vec<u64>,
    after: Vec<u64>,
}

impl<'s> Origins<'s> {
    fn of(before: &System, stage: &'s Stage) -> Self {
        let after = stage.system.label_bases(&stage.system.actions);
        Origins { stage, before: before.label_bases(&before.actions), after }
    }

    /// The label, and the states of the removed part in which it does the same, unless it does in all.
    fn of_label(&self, label: Label) -> (Label, Option<&'s [usize]>) {
        let action = self.after.partition_point(|&base| base <= u64::from(label.0)).saturating_sub(1);
        let first = self.before.len() - 1;
        let Some(copy) = action.checked_sub(first).and_then(|n| self.stage.copies.get(n)) else {
            return (label, None);
        };
        let instance = u64::from(label.0) - self.after[action];
        let original = self.before[copy.of.0 as usize] + instance;
        // A label of the whole system, whose labels have 32 bits.
        (Label(original as u32), Some(&copy.states))
    }
}
