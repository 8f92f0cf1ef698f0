//! Answers for people, or as one JSON object each.

use super::{SolveArgs, together};
use crate::failure::Failure;
use crate::outcome::WorkerFigures;
use crate::output;
use hadal_system::chance::Objective;
use hadal_system::units::{counted, size};
use hadal_value::Answer;
use hadal_value::answer::Size;
use hadal_value::values::Exact;
use std::time::Instant;

fn exact_text(exact: &Exact) -> String {
    match exact {
        Exact::Finite(value) => value.to_string(),
        Exact::Infinite => "infinity".into(),
    }
}

pub(super) fn stopped(args: &SolveArgs, objective: &Objective, reason: &str) -> Result<(), Failure> {
    if args.written.json {
        let object = serde_json::json!({
            "property": objective.name, "formula": objective.text, "verdict": "stopped", "reason": reason,
        });
        output::line(&object.to_string())
    } else {
        output::line(&format!("stopped: {reason}"))
    }
}

/// The answer, for people or as one object.
pub(super) fn shown(
    args: &SolveArgs,
    objective: &Objective,
    (answer, workers): (&Answer, &[WorkerFigures]),
    started: Instant,
) -> String {
    let verdict = answer.verdict.map(|holds| if holds { "holds" } else { "violated" });
    if args.written.json {
        // JSON has no infinity: a bound that is not finite is text.
        let number = |value: f64| match serde_json::Number::from_f64(value) {
            Some(number) => serde_json::Value::Number(number),
            None => serde_json::Value::String("infinity".into()),
        };
        let mut object = serde_json::json!({
            "property": objective.name,
            "formula": objective.text,
            "states": answer.size.states,
            "choices": answer.size.choices,
            "branches": answer.size.branches,
            "sweeps": answer.sweeps,
            "tier": answer.tier,
            "deadlocks": answer.size.deadlocks,
            "seconds": started.elapsed().as_secs_f64(),
        });
        if let Some((lower, upper)) = answer.value {
            object["lower"] = number(lower);
            object["upper"] = number(upper);
        }
        if let Some(moved) = &answer.moved {
            object["bytes_read"] = moved.read.into();
            object["bytes_written"] = moved.written.into();
            object["sweep_bytes"] = moved.sweeping.into();
            object["most_sweep_bytes"] = moved.sweep.into();
        }
        if answer.resumed {
            object["resumed"] = true.into();
        }
        if let Some(policy) = &answer.policy {
            object["policy_states"] = policy.states().into();
            object["policy_lower"] = number(policy.value.0);
            object["policy_upper"] = number(policy.value.1);
        }
        if let Some(evidence) = &answer.evidence {
            object["paths"] = evidence.paths.len().into();
            object["paths_probability"] = evidence.probability.to_string().into();
        }
        if let Some(exact) = &answer.exact {
            object["exact"] = exact_text(exact).into();
        }
        if let Some(verdict) = verdict {
            object["verdict"] = verdict.into();
        }
        if let Some(count) = answer.count {
            object["count"] = count.into();
        }
        if !workers.is_empty() {
            object["workers"] = serde_json::json!(workers);
        }
        return format!("{object}\n");
    }
    let name = if objective.name.is_empty() { String::new() } else { format!("{}: ", objective.name) };
    let mut lines = vec![format!("{name}{}", objective.text)];
    if answer.size.deadlocks > 0 {
        lines.push(format!(
            "  warning: {} without a choice loop forever",
            counted(answer.size.deadlocks, "state")
        ));
    }
    match (answer.value, &answer.exact) {
        (_, Some(exact)) => lines.push(format!("  value     {}", exact_text(exact))),
        (Some((lower, upper)), None) if lower == upper => lines.push(format!("  value     {lower}")),
        _ => {}
    }
    if let Some((lower, upper)) = answer.value {
        lines.push(format!("  between   {lower:?} and {upper:?}"));
    }
    if let Some(policy) = &answer.policy {
        let (states, (lower, upper)) = (counted(policy.states(), "state"), policy.value);
        lines.push(format!("  policy    of {states} gives between {lower:?} and {upper:?}"));
    }
    if let Some(evidence) = &answer.evidence {
        let paths = counted(evidence.paths.len() as u64, "path");
        let end = if evidence.fails { "miss the target" } else { "reach the target" };
        lines.push(format!(
            "  evidence  {paths} of probability {} {end}",
            evidence.probability.to_f64().value()
        ));
    }
    lines.extend(verdict.map(|verdict| format!("  {verdict}")));
    lines.extend(answer.count.map(|count| format!("  {}", counted(count, "state"))));
    let Answer { size: Size { states, choices, branches, .. }, sweeps, .. } = answer;
    if let Some(moved) = &answer.moved {
        lines.push(format!(
            "  {} read, {} written; a sweep moved at most {}",
            size(moved.read),
            size(moved.written),
            size(moved.sweep)
        ));
    }
    lines.push(format!(
        "  {}, {}, {}; {}\n",
        counted(*states, "state"),
        counted(*choices, "choice"),
        counted(*branches, "branch"),
        counted(*sweeps, "sweep")
    ));
    lines.join("\n") + &together::lines(workers)
}
