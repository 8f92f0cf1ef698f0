//! From what an explorer found to a trace that is shown: replayed on the interpreter, with names and values.

use crate::failure::Failure;
use crate::trace::sequence::{Chart, Step};
use crate::trace::{CulpritView, Scalar, StepView, TraceView, ViolationView};
use hadal_exec::interpret::Culprit;
use hadal_exec::model::Model;
use hadal_exec::replay::{Trace, TraceEnd, TraceStep};
use hadal_lang::diagnostic::{Diagnostic, render_plain};
use hadal_search::{Violation, ViolationKind};
use hadal_system::portrait::{Content, Portrait};
use hadal_system::{Label, PropertyId, Source, Span, StateSpace};

/// Replays and renders a violation.
pub fn view(model: &Model, found: &Violation) -> Result<TraceView, Failure> {
    Ok(render(model, found, &hadal_check::run::replayed(model, found)?))
}

/// Renders a violation that was replayed.
pub fn render(model: &Model, found: &Violation, trace: &Trace) -> TraceView {
    let portrait = Portrait::new(model.system());
    let mut steps: Vec<StepView> = Vec::with_capacity(trace.steps.len());
    for step in &trace.steps {
        let state = portrayed(&portrait, model, &step.state);
        let before = steps.last().map(|s: &StepView| s.state.clone());
        let mut view = StepView::new(step.action.clone(), before.as_deref(), state, step.printed.clone());
        view.inner = step.inner;
        let instance = model.system().instance(&model.system().actions, step.label);
        view.then = instance.and_then(|it| it.action.then).map(|process| process.0).filter(|_| step.inner);
        view.line = if steps.is_empty() { None } else { line(model, step.label) };
        steps.push(view.keyed(&step.state));
    }
    let chart = messages(model, trace, &steps);
    TraceView {
        model: model.system().name.clone(),
        violation: describe(model, found.kind, trace),
        shortest: found.shortest,
        loop_from: match found.kind {
            ViolationKind::Cycle { loop_from, .. } => {
                // What one process does alone is several steps of one transition.
                let whole = |(_, step): &(usize, &StepView)| !step.inner;
                steps.iter().enumerate().filter(whole).nth(loop_from).map(|(n, _)| n)
            }
            _ => None,
        },
        steps,
        chart: chart.as_ref().map(Chart::svg),
        messages: chart.as_ref().map(Chart::text),
    }
}

/// Who sends what to whom, where processes do.
fn messages(model: &Model, trace: &Trace, views: &[StepView]) -> Option<Chart> {
    let system = model.system();
    let shown = views.first().map_or(&[][..], |view| view.state.as_slice());
    let is_queue = |item: &&Scalar| matches!(item.content, Content::Queue(_));
    let channels: Vec<String> = shown.iter().filter(is_queue).map(|item| item.name.clone()).collect();
    let is_joint = |action: &hadal_system::Action| action.processes.len() > 1;
    if channels.is_empty() && !system.actions.iter().any(is_joint) {
        return None;
    }
    let step = |(n, (step, view)): (usize, (&TraceStep, _))| {
        let instance = system.instance(&system.actions, step.label).filter(|_| n > 0);
        let processes =
            instance.map_or_else(Vec::new, |it| it.action.processes.iter().map(|p| p.0 as usize).collect());
        Step { view, processes }
    };
    let steps: Vec<Step> = trace.steps.iter().zip(views).enumerate().map(step).collect();
    let processes: Vec<String> = system.processes.iter().map(|process| process.name.clone()).collect();
    Chart::of(&steps, &processes, &channels)
}

/// The items of a packed state.
pub fn portrayed(portrait: &Portrait, model: &Model, state: &[u64]) -> Vec<Scalar> {
    portrait.of(&model.layout().unpack(model.system(), state)).into_iter().map(Scalar::from).collect()
}

/// The line that the action behind a label stands in, where it has one.
pub fn line(model: &Model, label: Label) -> Option<usize> {
    let system = model.system();
    let span = system.instance(&system.actions, label)?.action.span;
    (span != Span::default()).then(|| system.source.locate(span).line)
}

fn describe(model: &Model, kind: ViolationKind, trace: &Trace) -> ViolationView {
    let info = |id: PropertyId| &model.properties()[id.0 as usize];
    let place = |span, label| place(&model.system().source, span, label);
    let plain = |kind, property: Option<PropertyId>, message| ViolationView {
        kind,
        property: property.map(|id| info(id).name.clone()),
        message,
        place: property.map_or(String::new(), |id| place(info(id).span, "")),
        culprit: None,
        values: Vec::new(),
    };
    match (kind, &trace.end) {
        (_, TraceEnd::Fault { action, fault, .. }) => ViolationView {
            kind: "error",
            property: None,
            message: format!("firing `{action}` raises an error: {}", fault.message),
            place: place(fault.span, &fault.message),
            culprit: None,
            values: Vec::new(),
        },
        (_, TraceEnd::Property { property, name, values, fault }) => {
            let values = values.iter().map(|v| Scalar::new(v.name.clone(), v.value.clone())).collect();
            let (kind, message, span, label) = match (fault, kind) {
                (Some(fault), _) => (
                    "error",
                    format!("evaluating `{name}` in the last state raises an error: {}", fault.message),
                    fault.span,
                    fault.message.as_str(),
                ),
                (None, ViolationKind::Goal(_)) => {
                    ("goal", format!("goal `{name}` is reached"), info(*property).span, "")
                }
                (None, _) => {
                    ("invariant", format!("invariant `{name}` is violated"), info(*property).span, "")
                }
            };
            ViolationView {
                kind,
                property: Some(name.clone()),
                message,
                place: place(span, label),
                culprit: culprit(model, trace, *property).filter(|_| fault.is_none()),
                values,
            }
        }
        (ViolationKind::Deadlock, _) => {
            plain("deadlock", None, "deadlock: no action leads to another state from the last one".into())
        }
        (ViolationKind::Liveness(id), _) => plain(
            "liveness",
            Some(id),
            format!(
                "liveness property `{}` is violated: from the last state it can never be reached",
                info(id).name
            ),
        ),
        (ViolationKind::Prefix(id), _) => plain(
            "formula",
            Some(id),
            format!("`{}` is violated, whatever follows the last state", info(id).name),
        ),
        (ViolationKind::Cycle { property, .. }, _) => plain(
            "cycle",
            Some(property),
            format!("`{}` is violated by a run that repeats its last steps forever", info(property).name),
        ),
        (ViolationKind::Uncovered(id), _) => {
            plain("cover", Some(id), format!("cover property `{}` is never met", info(id).name))
        }
        // The explorer's other kinds always end in a fault or a property.
        _ => plain("error", None, "something is wrong in the last state".into()),
    }
}

/// The part of the property that the last state breaks.
fn culprit(model: &Model, trace: &Trace, property: PropertyId) -> Option<CulpritView> {
    let found = model.interpreter().culprit(&trace.steps.last()?.state, property)?;
    Some(quoted(&model.system().source, found))
}

/// The part of a property that decides it, in the words of the text it stands in.
pub fn quoted(source: &Source, found: Culprit) -> CulpritView {
    const MOST_CHARACTERS: usize = 120;
    let text = source.slice(found.span).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    };
    let witnesses = found.witnesses.into_iter().map(|(name, value)| Scalar::new(name, value)).collect();
    CulpritView { text, line: source.locate(found.span).line, is: found.is, witnesses }
}

/// A place in a text, with a caret.
pub fn place(source: &Source, span: Span, label: &str) -> String {
    if span == Span::default() {
        return String::new();
    }
    let diagnostic = Diagnostic::error(span, "");
    let diagnostic = if label.is_empty() { diagnostic } else { diagnostic.label(label) };
    let rendered = render_plain(source, &diagnostic);
    // The first line repeats what the message says: keep the place only.
    match rendered.split_once('\n') {
        Some((first, rest)) => format!("  --> {}\n{rest}", first.trim_end_matches(": error: ")),
        None => rendered,
    }
}
