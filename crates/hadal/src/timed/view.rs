//! From a path of zones to a run that is shown: replayed with exact delays.

use super::gantt;
use crate::failure::Failure;
use crate::trace::{Moment, Scalar, StepView, TraceView, ViolationView};
use hadal_exec::zones::ZoneSpace;
use hadal_exec::zones::concrete::{ConcreteTrace, Time, TimedEnding};
use hadal_exec::zones::dbm::INFINITY;
use hadal_search::{Violation, ViolationKind};
use hadal_system::StateSpace;

/// Replays and renders what was found.
pub fn view(space: &ZoneSpace, found: &Violation) -> Result<TraceView, Failure> {
    let ending = match found.kind {
        ViolationKind::Invariant(id) | ViolationKind::Goal(id) | ViolationKind::PropertyFault(id) => {
            TimedEnding::Property(id.0 as usize)
        }
        ViolationKind::Fault(label) => TimedEnding::Fault(label),
        _ => TimedEnding::State,
    };
    let violation = describe(space, found);
    let model = space.timed().system.name.clone();
    if found.path.is_empty() {
        return Ok(TraceView {
            model,
            violation,
            shortest: found.shortest,
            loop_from: None,
            steps: Vec::new(),
            chart: None,
            messages: None,
        });
    }
    let trace = space.concrete(&found.path, ending).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(shown(space, found, &trace))
}

/// A run, however it was found, as it is shown.
pub fn shown(space: &ZoneSpace, found: &Violation, trace: &ConcreteTrace) -> TraceView {
    TraceView {
        model: space.timed().system.name.clone(),
        violation: describe(space, found),
        shortest: found.shortest,
        loop_from: None,
        steps: steps(space, trace),
        chart: Some(gantt::svg(space, trace)),
        messages: None,
    }
}

fn steps(space: &ZoneSpace, trace: &ConcreteTrace) -> Vec<StepView> {
    let mut steps: Vec<StepView> = Vec::with_capacity(trace.steps.len() + 1);
    let shown = |state: &[u64], clocks: &[Time]| -> Vec<Scalar> {
        let discrete = space.model().render_state(state).into_iter();
        let discrete = discrete.map(|(name, value)| Scalar::new(name, value));
        let clocks = space.timed().clocks.iter().zip(clocks);
        discrete.chain(clocks.map(|(name, time)| Scalar::new(name.clone(), time.to_string()))).collect()
    };
    for step in &trace.steps {
        let state = shown(&step.state, &step.clocks);
        let before = steps.last().map(|s: &StepView| s.state.clone());
        let mut view = StepView::new(step.action.clone(), before.as_deref(), state, String::new());
        view.moment = Some(Moment { delay: step.delay.to_string(), time: step.time.to_string() });
        steps.push(view);
    }
    steps
}

/// Whether time cannot go on for ever in the last state of a path.
fn is_timelock(space: &ZoneSpace, found: &Violation) -> bool {
    found.path.last().is_some_and(|state| {
        let zone = space.zone(state);
        (1..zone.size()).any(|clock| zone.entry(clock, 0) != INFINITY)
    })
}

fn describe(space: &ZoneSpace, found: &Violation) -> ViolationView {
    let name = |id: hadal_system::PropertyId| space.properties()[id.0 as usize].name.clone();
    let (kind, property, message) = match found.kind {
        ViolationKind::Invariant(id) if name(id) == "deadlock" => {
            let time = match is_timelock(space, found) {
                true => "and time cannot pass (a timelock)",
                false => "though time passes",
            };
            ("deadlock", Some(name(id)), format!("deadlock: no action can ever fire again, {time}"))
        }
        ViolationKind::Invariant(id) => {
            ("invariant", Some(name(id)), format!("invariant `{}` is violated", name(id)))
        }
        ViolationKind::Goal(id) => ("goal", Some(name(id)), format!("goal `{}` is reached", name(id))),
        ViolationKind::PropertyFault(id) => {
            ("error", Some(name(id)), format!("evaluating `{}` meets an error", name(id)))
        }
        ViolationKind::Fault(label) => {
            ("error", None, format!("firing `{}` meets an error of the model", space.render_label(label)))
        }
        ViolationKind::StartFault(_) => ("error", None, "the start meets an error of the model".to_owned()),
        _ => ("error", None, "something is wrong in the last state".to_owned()),
    };
    ViolationView { kind, property, message, place: String::new(), culprit: None, values: Vec::new() }
}
