//! A trace as text, whole or step by step.

use super::{Detail, StepView, TraceView, ViolationView};
use crate::paint::{Mark, Paint};
use std::fmt::Write;

pub(super) fn render(trace: &TraceView, detail: Detail, paint: Paint) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_trace(&mut text, trace, detail, paint);
    text
}

fn write_trace(text: &mut String, trace: &TraceView, detail: Detail, paint: Paint) -> std::fmt::Result {
    for (n, step) in trace.steps.iter().enumerate() {
        write_step(text, (n as u64, step), detail, paint)?;
        if trace.loop_from == Some(n) {
            writeln!(text, "  .--  here the loop begins")?;
        }
    }
    if let Some(length) = trace.loop_length() {
        let steps = if length == 1 { "step repeats".to_owned() } else { format!("{length} steps repeat") };
        writeln!(text, "  '--  the last {steps} forever")?;
    }
    writeln!(text)?;
    write_violation(text, &trace.violation, paint)
}

/// Step number `n`, 0 being the one that makes the initial state.
pub(super) fn write_step(
    text: &mut String,
    (n, step): (u64, &StepView),
    detail: Detail,
    paint: Paint,
) -> std::fmt::Result {
    let action = paint.mark(Mark::Strong, &step.action);
    if let (Some(moment), 1..) = (&step.moment, n)
        && moment.delay != "0"
    {
        writeln!(text, "       wait {}, until {}", moment.delay, moment.time)?;
    }
    match n {
        0 => writeln!(text, "start  {action}")?,
        _ => {
            let mut remarks: Vec<String> =
                step.channels.iter().filter(|name| !step.action.contains(name.as_str())).cloned().collect();
            // Rules without a name are named after their line.
            let line = step.line.map(|line| format!("line {line}"));
            remarks.extend(line.filter(|line| !step.action.contains(line.as_str())));
            match remarks.is_empty() {
                true => writeln!(text, "{n:>5}  {action}")?,
                false => writeln!(text, "{n:>5}  {action}  ({})", remarks.join(", "))?,
            }
        }
    }
    match (detail, n) {
        (Detail::WholeStates, _) | (_, 0) => {
            for scalar in
                step.state.iter().filter(|s| detail == Detail::WholeStates || s.value != "undefined")
            {
                writeln!(text, "         {} = {}", scalar.name, scalar.value)?;
            }
        }
        (Detail::Changes, _) if step.changes.is_empty() => writeln!(text, "         nothing changes")?,
        (Detail::Changes, _) => {
            for change in &step.changes {
                writeln!(text, "         {}", change.text(paint))?;
            }
        }
    }
    for line in step.printed.lines() {
        writeln!(text, "         | {line}")?;
    }
    Ok(())
}

/// What is wrong, where it stands in the model, and the values that break it.
pub(super) fn write_violation(
    text: &mut String,
    violation: &ViolationView,
    paint: Paint,
) -> std::fmt::Result {
    writeln!(text, "{}", paint.mark(Mark::Bad, &violation.message))?;
    if !violation.place.is_empty() {
        write!(text, "{}", violation.place)?;
    }
    if let Some(culprit) = &violation.culprit {
        writeln!(text, "  {}", culprit.sentence())?;
    }
    for scalar in &violation.values {
        writeln!(text, "    {} = {}", scalar.name, scalar.value)?;
    }
    Ok(())
}
