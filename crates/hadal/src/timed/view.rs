//! From a path of zones to a run that is shown: replayed with exact delays.

use super::gantt;
use crate::trace::{Moment, Scalar, StepView, TraceView, ViolationView};
use crate::violation::{line, place, quoted};
use hadal_check::timed::FoundRun;
use hadal_check::timed::question::{DEADLOCK, TIMELOCK};
use hadal_exec::zones::ZoneSpace;
use hadal_exec::zones::concrete::{ConcreteTrace, Time};
use hadal_exec::zones::runs::LoopTime;
use hadal_search::{Violation, ViolationKind};
use hadal_system::timed::Asked;
use hadal_system::{PropertyId, StateSpace};

/// Renders what was found.
pub fn view(found: &FoundRun) -> TraceView {
    let space = found.space.space();
    let Some(trace) = &found.trace else {
        return TraceView {
            model: space.timed().system.name.clone(),
            violation: describe(space, &found.violation),
            shortest: found.violation.shortest,
            loop_from: None,
            steps: Vec::new(),
            chart: None,
            messages: None,
        };
    };
    let mut view = shown(space, &found.violation, trace);
    if let Some(round) = &found.round {
        view.loop_from = round.from;
        view.violation.message += match round.time {
            LoopTime::Diverges => "; time diverges along it",
            LoopTime::Stops => "; it is stuck in its last state, where time stops",
            LoopTime::Stuck => "; it is stuck in its last state, where time passes",
            LoopTime::Still => "; no time passes in its loop (Zeno)",
            LoopTime::Unknown => "; nothing in its loop makes time pass, so it may be Zeno",
        };
    }
    view
}

/// A run, however it was found, as it is shown.
pub fn shown(space: &ZoneSpace, found: &Violation, trace: &ConcreteTrace) -> TraceView {
    let mut violation = describe(space, found);
    if let ViolationKind::Invariant(id) | ViolationKind::Goal(id) = found.kind {
        let source = asked(space, id).and_then(|it| it.source.as_ref());
        let source = source.unwrap_or(&space.timed().system.source);
        violation.culprit = space.culprit(trace, id).map(|found| quoted(source, found));
        let values = space.read_by(trace, id).into_iter();
        violation.values = values.map(|(name, value)| Scalar::new(name, value)).collect();
    }
    if trace.wait.units > 0 {
        violation.message += &format!(", after waiting {}", trace.wait);
    }
    TraceView {
        model: space.timed().system.name.clone(),
        violation,
        shortest: found.shortest,
        loop_from: None,
        steps: steps(space, trace),
        chart: gantt::takes_time(trace).then(|| gantt::svg(space, trace)),
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
        view.line = if steps.is_empty() { None } else { line(space.model(), step.label) };
        // Which zone it leads to depends on what was asked: a step is known by its label.
        view.key = format!("{}{}", if steps.is_empty() { "" } else { "." }, step.label.0);
        view.moment = Some(Moment { delay: step.delay.to_string(), time: step.time.to_string() });
        steps.push(view);
    }
    steps
}

/// How a property was asked, where that is known.
fn asked(space: &ZoneSpace, id: PropertyId) -> Option<&Asked> {
    space.timed().asked.get(id.0 as usize)?.as_ref()
}

/// Where a property stands.
fn place_of(space: &ZoneSpace, id: PropertyId) -> String {
    let source = &space.timed().system.source;
    match asked(space, id) {
        Some(asked) => place(asked.source.as_ref().unwrap_or(source), asked.span, ""),
        None => space.properties().get(id.0 as usize).map_or(String::new(), |it| place(source, it.span, "")),
    }
}

fn describe(space: &ZoneSpace, found: &Violation) -> ViolationView {
    let name = |id: PropertyId| space.properties()[id.0 as usize].name.clone();
    let (kind, property, message) = match found.kind {
        ViolationKind::Invariant(id) if name(id) == TIMELOCK => {
            let message = "timelock: no action can ever fire again, and time stops";
            ("timelock", Some(name(id)), message.to_owned())
        }
        ViolationKind::Invariant(id) if name(id) == DEADLOCK => {
            let time = match found.path.last().is_some_and(|state| space.time_ends_in(state)) {
                true => "and time cannot pass (a timelock)",
                false => "though time passes",
            };
            ("deadlock", Some(name(id)), format!("deadlock: no action can ever fire again, {time}"))
        }
        ViolationKind::Cycle { property, .. } | ViolationKind::Prefix(property) => {
            let wanted = space.timed().wanted_runs.contains(&(property.0 as usize));
            let what = if wanted { "a run has" } else { "a run breaks" };
            ("formula", Some(name(property)), format!("{what} `{}`", name(property)))
        }
        ViolationKind::Invariant(id) => {
            ("invariant", Some(name(id)), format!("invariant `{}` is violated", name(id)))
        }
        ViolationKind::Goal(id) => ("goal", Some(name(id)), format!("goal `{}` is reached", name(id))),
        ViolationKind::PropertyFault(id) => {
            ("error", Some(name(id)), format!("evaluating `{}` raises an error", name(id)))
        }
        ViolationKind::Fault(label) => {
            ("error", None, format!("firing `{}` raises an error of the model", space.render_label(label)))
        }
        ViolationKind::StartFault(_) => ("error", None, "the start raises an error of the model".to_owned()),
        _ => ("error", None, "something is wrong in the last state".to_owned()),
    };
    let place = match found.kind {
        ViolationKind::Invariant(id)
        | ViolationKind::Goal(id)
        | ViolationKind::PropertyFault(id)
        | ViolationKind::Prefix(id)
        | ViolationKind::Cycle { property: id, .. } => place_of(space, id),
        ViolationKind::Fault(label) => {
            let system = &space.timed().system;
            let action = system.instance(&system.actions, label);
            action.map_or(String::new(), |it| place(&system.source, it.action.span, "the error is met here"))
        }
        _ => String::new(),
    };
    ViolationView { kind, property, message, place, culprit: None, values: Vec::new() }
}
