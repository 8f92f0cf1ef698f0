//! What `hadal plan` says: the plan and a verdict for people, or one JSON object.

use super::PlanArgs;
use crate::failure::Failure;
use hadal_check::memory::peak_resident;
use hadal_check::units::{counted, grouped, size, span};
use hadal_check::usage::cpu_seconds;
use hadal_plan::{Answer, Found, Outcome, decimal};
use hadal_search::StopReason;
use hadal_system::rows::Rational;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::time::Instant;

/// What is known besides the outcome.
pub(super) struct Around {
    pub(super) begun: Instant,
    pub(super) startup: f64,
    pub(super) memory: u64,
    pub(super) threads: usize,
    pub(super) run: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown {
    verdict: &'static str,
    reason: String,
    cost: Option<serde_json::Number>,
    optimal: bool,
    plan_length: Option<u64>,
    plan: Option<Vec<String>>,
    lower_bound: Option<serde_json::Number>,
    costs: Vec<ShownCost>,
    levels: Vec<u64>,
    locality: Option<u64>,
    locality_bound: Option<u64>,
    states: u64,
    expanded: u64,
    evaluated: u64,
    transitions: u64,
    seconds: f64,
    startup_seconds: f64,
    cpu_seconds: f64,
    peak_memory_bytes: u64,
    memory_budget_bytes: u64,
    disk_bytes: u64,
    strategy: &'static str,
    engine: &'static str,
    searches: Vec<String>,
    floating_point: bool,
    rows: u64,
    variables: u64,
    state_bytes: u64,
    threads: u64,
    run: Option<String>,
    warnings: Vec<String>,
}

/// A plan on the way to the best one.
#[derive(Serialize)]
struct ShownCost {
    cost: Option<serde_json::Number>,
    seconds: f64,
    level: Option<u64>,
}

impl Shown {
    fn new(args: &PlanArgs, outcome: &Outcome, around: Around) -> Self {
        let steps = outcome.plan.as_ref().map(|plan| plan.steps(&outcome.task));
        let costs = outcome.costs.iter().map(|found| ShownCost {
            cost: number(found.cost),
            seconds: found.seconds,
            level: found.level,
        });
        Shown {
            verdict: verdict(&outcome.answer),
            reason: reason(outcome, around.memory),
            cost: outcome.plan.as_ref().and_then(|plan| number(plan.cost)),
            optimal: outcome.optimal,
            plan_length: steps.as_ref().map(|steps| steps.len() as u64),
            plan: steps,
            lower_bound: outcome.lower_bound.and_then(number),
            costs: costs.collect(),
            levels: outcome.levels.clone(),
            locality: Some(outcome.figures.locality).filter(|&layers| layers > 0),
            locality_bound: outcome.figures.locality_bound,
            states: outcome.figures.states,
            expanded: outcome.figures.expanded,
            evaluated: outcome.figures.evaluated,
            transitions: outcome.figures.generated,
            seconds: around.begun.elapsed().as_secs_f64(),
            startup_seconds: around.startup,
            cpu_seconds: cpu_seconds(),
            peak_memory_bytes: peak_resident(),
            memory_budget_bytes: around.memory,
            disk_bytes: outcome.disk_bytes,
            strategy: if args.wants_best() { "optimal" } else { "satisficing" },
            engine: args.search.engine.info().name,
            searches: outcome.searches.clone(),
            floating_point: outcome.floating,
            rows: outcome.task.rows.len() as u64,
            variables: outcome.task.variables.len() as u64,
            state_bytes: outcome.state_words as u64 * 8,
            threads: around.threads as u64,
            run: around.run,
            warnings: around.warnings,
        }
    }
}

/// Prints the outcome.
pub(super) fn show(args: &PlanArgs, outcome: &Outcome, around: Around) -> Result<(), Failure> {
    let shown = Shown::new(args, outcome, around);
    if args.written.json {
        // Plain data always serialises.
        return print(&serde_json::to_string_pretty(&shown).unwrap_or_default());
    }
    if args.written.explain {
        outcome.searches.iter().for_each(|search| crate::output::note!("{search}"));
    }
    if let Some(plan) = &outcome.plan {
        print(plan.text(&outcome.task).trim_end())?;
    }
    let bound = match (&outcome.answer, outcome.lower_bound) {
        (Answer::Stopped(_), Some(bound)) => format!("; no plan costs less than {}", decimal(bound)),
        _ => String::new(),
    };
    if let (Some(run), Answer::Stopped(_)) = (&shown.run, &outcome.answer) {
        crate::output::note!("continue with: hadal resume {run}");
    }
    crate::output::note!(
        "{}: {}{bound} ({}, {} evaluated, {})",
        shown.verdict.to_uppercase(),
        shown.reason,
        counted(shown.states, "state"),
        grouped(shown.evaluated),
        span(shown.seconds)
    );
    Ok(())
}

/// A plan on the way, in a line.
pub(super) fn found_line(found: &Found) -> String {
    let level = found.level.map_or(String::new(), |level| format!(" in layer {level}"));
    format!("cost {}{level} after {}", decimal(found.cost), span(found.seconds))
}

/// That the task leaves no memory to search with: nothing is known, and a larger budget helps.
pub(super) fn show_too_large(args: &PlanArgs, task: u64, memory: u64) -> Result<(), Failure> {
    let reason = format!(
        "the task itself takes {} of memory, which leaves too little of {} to search with; give it more with --memory",
        size(task),
        size(memory)
    );
    show_stopped(args, &reason, memory)
}

/// That a limit was reached before there was anything to search.
pub(super) fn show_stopped(args: &PlanArgs, reason: &str, memory: u64) -> Result<(), Failure> {
    if args.written.json {
        let shown = serde_json::json!({
            "verdict": "stopped", "reason": reason, "cost": null, "optimal": false, "plan_length": null, "plan": null,
            "memory_budget_bytes": memory, "peak_memory_bytes": peak_resident(), "run": null,
        });
        return print(&serde_json::to_string_pretty(&shown).unwrap_or_default());
    }
    crate::output::note!("STOPPED: {reason}");
    Ok(())
}

fn verdict(answer: &Answer) -> &'static str {
    match answer {
        Answer::Solved => "solved",
        Answer::Unsolvable => "unsolvable",
        Answer::Stopped(_) => "stopped",
    }
}

fn reason(outcome: &Outcome, memory: u64) -> String {
    let proved = match (&outcome.answer, outcome.optimal) {
        (Answer::Solved, true) => "a plan was found, and it is proved that none is better".to_owned(),
        (Answer::Solved, false) => "a plan was found; a better one may exist".to_owned(),
        (Answer::Unsolvable, _) => "it is proved that there is no plan".to_owned(),
        (Answer::Stopped(StopReason::Memory { .. }), _) => {
            format!("the memory budget of {} is used up", size(memory))
        }
        (Answer::Stopped(reason), _) => reason.to_string(),
    };
    if outcome.floating { proved + " (numbers are floating point)" } else { proved }
}

/// A number for JSON: whole where it is, else as near as it gets.
fn number(value: Rational) -> Option<serde_json::Number> {
    if value.is_integer() {
        return i64::try_from(*value.numer()).ok().map(serde_json::Number::from);
    }
    serde_json::Number::from_f64(*value.numer() as f64 / *value.denom() as f64)
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // Whoever reads has seen enough; the exit code still says the verdict.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::File { path: "standard output".into(), error }),
    }
}
