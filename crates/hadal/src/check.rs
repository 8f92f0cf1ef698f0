//! `hadal check`: load, compile, explore, replay what was found, and say what is true.

use crate::args::{CheckArgs, Strategy, TraceFormat};
use crate::failure::Failure;
use crate::load::load;
use crate::outcome::{CoverFigures, LayerFigures, Outcome, peak_resident, reason};
use crate::plan::{Plan, model_options, select_properties};
use crate::progress::Progress;
use crate::trace::{Detail, TraceView};
use crate::{folder, violation};
use hadal_exec::model::Model;
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::auto::AutoSearch;
use hadal_search::layered::Trouble;
use hadal_search::ram::{Search, breadth, depth};
use hadal_search::{Control, Question, Report, Task, Verdict, auto};
use hadal_store::Governor;
use hadal_system::{PropertyKind, StateSpace};
use std::sync::Arc;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let begun = Instant::now();
    let mut loaded = load(&args.model)?;
    if !loaded.warnings.is_empty() && !args.quiet {
        eprint!("{}", loaded.warnings);
    }
    let plan = Plan::new(args, loaded.language, &loaded.system)?;
    let asked = select_properties(&mut loaded.system, &args.property)?;
    let options = model_options(args.model.symmetry, args.model.interpret);
    let model = Model::new(loaded.system, options).map_err(|error| Failure::Usage(error.to_string()))?;
    let startup = begun.elapsed();

    let progress = Progress::new(args.quiet || args.json, args.events.as_deref())?;
    let control = Arc::new(Control::new(plan.limits));
    let interrupt = Arc::clone(&control);
    ctrlc::set_handler(move || interrupt.interrupt())
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
    let question = Question { deadlock: plan.deadlock, asked };
    let governor = Governor::new(plan.memory);
    let explored = progress.during(&control, &governor, || {
        explore(args, &plan, Task { space: &model, question: &question, control: &control }, &governor)
    });
    let report = explored.map_err(trouble)?;

    let trace = match &report.verdict {
        Verdict::Violated(found) => Some(violation::view(&model, found)?),
        _ => None,
    };
    let outcome = outcome(args, &plan, &model, &report, trace.as_ref(), startup.as_secs_f64(), begun);
    progress.event(serde_json::json!({ "event": "result", "result": outcome }));
    show(args, &outcome, trace.as_ref());
    Ok(Outcome::exit_code(&report))
}

fn explore(args: &CheckArgs, plan: &Plan, task: Task, governor: &Governor) -> Result<Report, Trouble> {
    let in_ram = Search { task, governor, threads: plan.threads };
    match plan.strategy {
        Strategy::Bfs => Ok(breadth::explore(&in_ram)),
        Strategy::Dfs => Ok(depth::explore(&in_ram)),
        Strategy::Auto => {
            let run = folder::RunFolder::new(&args.disk);
            let open = || run.open(governor);
            auto::explore(&AutoSearch { task, disk: &open, governor, threads: plan.threads })
        }
    }
}

fn trouble(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::OverBudget(over) => Failure::Usage(format!(
            "{over}; give it more with --memory ({} MiB at least)",
            (over.limit + over.asked) >> 20
        )),
        Trouble::Write(error) => Failure::Usage(error.to_string()),
        Trouble::Setup(error) => Failure::Usage(error.to_string()),
        Trouble::Read(error) => Failure::Internal(error.to_string()),
    }
}

fn outcome(
    args: &CheckArgs,
    plan: &Plan,
    model: &Model,
    report: &Report,
    trace: Option<&TraceView>,
    startup_seconds: f64,
    begun: Instant,
) -> Outcome {
    let (verdict, reason, property) = reason(report, trace, plan.memory);
    let covers = model
        .properties()
        .iter()
        .zip(&report.covers)
        .filter(|(property, _)| property.kind == PropertyKind::Cover)
        .map(|(property, &hits)| CoverFigures { property: property.name.clone(), hits })
        .collect();
    let detail = if args.full_states { Detail::WholeStates } else { Detail::Changes };
    Outcome {
        verdict,
        reason,
        property,
        states: report.states,
        transitions: report.transitions,
        depth: report.depth,
        trace_length: trace
            .filter(|t| !t.steps.is_empty())
            .map(|t| t.steps.len() as u64 - 1 + u64::from(t.ends_in_action())),
        seconds: begun.elapsed().as_secs_f64(),
        startup_seconds,
        peak_memory_bytes: peak_resident(),
        peak_budget_bytes: report.peak_memory,
        memory_budget_bytes: plan.memory,
        disk_bytes: 0,
        strategy: match plan.strategy {
            Strategy::Bfs => "bfs".into(),
            Strategy::Dfs => "dfs".into(),
            Strategy::Auto => "auto".into(),
        },
        symmetry: match model.symmetry().map(|s| s.mode()) {
            None | Some(SymmetryMode::Off) => "off",
            Some(SymmetryMode::Heuristic) => "heuristic",
            Some(SymmetryMode::Exact | SymmetryMode::Auto) => "exact",
        },
        threads: plan.threads,
        run: None,
        state_bits: model.bits(),
        state_bytes: model.words() as u64 * 8,
        layers: report
            .layers
            .iter()
            .map(|l| LayerFigures { states: l.states, transitions: l.transitions })
            .collect(),
        covers,
        trace: trace.filter(|_| args.json).map(|t| t.json(detail)),
    }
}

fn show(args: &CheckArgs, outcome: &Outcome, trace: Option<&TraceView>) {
    let detail = if args.full_states { Detail::WholeStates } else { Detail::Changes };
    if args.json {
        // The outcome is plain data: it always serialises.
        println!("{}", serde_json::to_string_pretty(outcome).unwrap_or_default());
        return;
    }
    match (trace, args.trace) {
        (Some(trace), TraceFormat::Text) => {
            println!("{}", trace.text(detail));
            println!("{}", outcome.text());
        }
        // A trace for a program or a browser has standard output to itself.
        (Some(trace), TraceFormat::Json) => {
            println!("{}", serde_json::to_string_pretty(&trace.json(detail)).unwrap_or_default());
            eprintln!("{}", outcome.text());
        }
        (Some(trace), TraceFormat::Html) => {
            println!("{}", trace.html());
            eprintln!("{}", outcome.text());
        }
        (None, _) => println!("{}", outcome.text()),
    }
}
