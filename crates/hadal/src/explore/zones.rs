//! Walking through a model in real time: a spot is a zone, named by the labels that lead to it, since how zones are packed
//! depends on what a search was asked.

use super::items;
use crate::trace::{Scalar, StepView};
use crate::violation;
use hadal_exec::zones::ZoneSpace;
use hadal_system::{Check, Label, StateSpace, Successors};
use serde_json::{Value, json};

/// The zone after these labels, parted by dots; the first is a start.
pub fn after(space: &ZoneSpace, labels: &str) -> Result<Vec<u64>, String> {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    let mut state: Option<Vec<u64>> = None;
    for label in labels.split('.') {
        let wanted = label.parse().map(Label).map_err(|_| "this is no path of the model")?;
        out.clear();
        match &state {
            None => worker.initial(&mut out),
            Some(state) => worker.successors(state, &mut out),
        }
        let next = out.iter().find(|(label, _)| *label == wanted).map(|(_, next)| next.to_vec());
        state = Some(next.ok_or("this is no path of the model")?);
    }
    state.ok_or_else(|| "this is no path of the model".into())
}

/// What a zone shows: locations, variables and bounds of clocks.
pub fn shown(space: &ZoneSpace, state: &[u64]) -> Vec<Scalar> {
    space.render_state(state).into_iter().map(|(name, value)| Scalar::new(name, value)).collect()
}

/// The zone after these labels and what leads on from it; the starts where there are none.
pub fn state(space: &ZoneSpace, labels: Option<&str>) -> Result<Value, String> {
    let at = labels.map(|labels| after(space, labels)).transpose()?;
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    match &at {
        None => worker.initial(&mut out),
        Some(state) => worker.successors(state, &mut out),
    }
    if space.has_overflowed() {
        return Err("a bound of a clock has no room in a zone".into());
    }
    let before = at.as_ref().map(|state| shown(space, state));
    let name = |label| if at.is_none() { space.render_start(label) } else { space.render_label(label) };
    let line = |label| at.as_ref().and_then(|_| violation::line(space.model(), label));
    let mut choices = Vec::new();
    for (label, next) in out.iter() {
        let step = StepView::new(name(label), before.as_deref(), shown(space, next), String::new());
        let to = labels.map_or_else(|| label.0.to_string(), |labels| format!("{labels}.{}", label.0));
        let changes = before.as_ref().map(|_| step.changes);
        choices.push(json!({ "action": step.action, "to": to, "line": line(label), "changes": changes }));
    }
    for &label in out.faults() {
        choices.push(json!({ "action": name(label), "to": null, "line": line(label) }));
    }
    let wrong = at.as_ref().and_then(|state| match worker.check(state) {
        Check::Hit(id) | Check::Fault(id) => Some(space.properties()[id.0 as usize].name.clone()),
        Check::Fine => None,
    });
    let items = before.map(|shown| items(space.model(), shown));
    Ok(json!({ "items": items, "choices": choices, "wrong": wrong }))
}
