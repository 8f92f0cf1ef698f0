//! `hadal check`: load, compile, explore, replay what was found, and say what is true.

use crate::args::{
    CheckArgs, Deadlock, Given, LimitArgs, ModelArgs, ModelErrors, OutputArgs, Symmetry, TraceFormat,
};
use crate::export;
use crate::failure::Failure;
use crate::formulas::{self, FormulaArgs, Own};
use crate::outcome::{CoverFigures, Outcome, StorageFigures, reason};
use crate::output;
use crate::progress::Progress;
use crate::reading::{self, Reading};
use crate::timed::{self, TimedArgs};
use crate::trace::{self, Detail, TraceView};
use crate::violation;
use hadal_check::memory::peak_resident;
use hadal_check::options::Place;
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_check::{
    Check, DeadlockNotion, Detecting, Directing, Fair, Options, Outcome as Found, Partitioning, Prepared,
    Reductions, Running, Strategy, SymmetryMode, Verdict,
};
use hadal_lang::Language;
use hadal_system::{PropertyKind, StateSpace, progress};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The part of a command that decides what is explored: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
pub struct About {
    model: PathBuf,
    define: Vec<(String, Given)>,
    symmetry: Symmetry,
    interpret: bool,
    #[serde(default)]
    model_errors: ModelErrors,
    #[serde(default)]
    processes: Vec<(String, usize)>,
    #[serde(default)]
    merge: bool,
    property: Vec<String>,
    deadlock: Option<Deadlock>,
    #[serde(default)]
    strategy: Option<Strategy>,
    #[serde(default)]
    formulas: FormulaArgs,
    #[serde(default)]
    running: Running,
    #[serde(default)]
    reduction: Reductions,
    #[serde(default)]
    partition: Partitioning,
    #[serde(default)]
    directed: Directing,
    #[serde(default)]
    detection: Detecting,
    #[serde(default)]
    timed: TimedArgs,
}

impl About {
    fn of(args: &CheckArgs) -> Self {
        let model = std::fs::canonicalize(&args.model.model).unwrap_or_else(|_| args.model.model.clone());
        About {
            model,
            define: args.model.define.clone(),
            symmetry: args.model.symmetry,
            interpret: args.model.interpret,
            model_errors: args.model.model_errors,
            processes: args.model.processes.clone(),
            merge: args.model.merge,
            property: args.property.clone(),
            deadlock: args.deadlock,
            strategy: Some(args.strategy),
            formulas: args.formulas.clone(),
            running: args.running.clone(),
            reduction: args.reduction.clone(),
            partition: args.partition.clone(),
            directed: args.directed.clone(),
            detection: args.detection.clone(),
            timed: args.timed.clone(),
        }
    }
}

impl From<About> for CheckArgs {
    fn from(about: About) -> Self {
        CheckArgs {
            model: ModelArgs {
                model: about.model,
                define: about.define,
                symmetry: about.symmetry,
                interpret: about.interpret,
                model_errors: about.model_errors,
                processes: about.processes,
                merge: about.merge,
            },
            limits: LimitArgs::default(),
            disk: None,
            strategy: about.strategy.unwrap_or_default(),
            formulas: about.formulas,
            running: about.running,
            reduction: about.reduction,
            partition: about.partition,
            directed: about.directed,
            detection: about.detection,
            timed: about.timed,
            property: about.property,
            deadlock: about.deadlock,
            output: OutputArgs {
                json: false,
                events: None,
                trace: TraceFormat::Text,
                full_states: false,
                explain: false,
                export: None,
                quiet: false,
            },
        }
    }
}

/// Runs the command, or goes on with the run in the folder `resumed`; returns the exit code.
pub fn run(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    if timed::reads(&args.model) {
        if args.formulas.asks() || args.running.fair != Fair::Off {
            return Err(Failure::Usage(
                "temporal formulas, claims, progress and fairness are not answered for models in real time: a loop of zones \
                 need not be a run on which time diverges. Ask with A[], E<> and deadlock (docs/timed.md)"
                    .into(),
            ));
        }
        return timed::check(args, resumed);
    }
    if let Some(option) = args.timed.first_given() {
        return Err(Failure::Usage(format!("{option} is for models in real time")));
    }
    reading::must_fit(args);
    let reading = Reading::begin(args);
    // Nothing named and no deadlocks: the plain graph is asked for.
    let own = if args.deadlock == Some(Deadlock::Off) { Own::Named } else { Own::All };
    let (mut loaded, mut named) = formulas::load(&args.model, &args.formulas, &args.property, own)?;
    if args.formulas.progress {
        progress::ask_progress(&mut loaded.system).map_err(|error| Failure::Usage(error.to_string()))?;
        named.push(progress::PROGRESS.to_owned());
    }
    // What is asked for by name, formulas on the command line included.
    let args = &CheckArgs { property: named, ..args.clone() };
    if !loaded.warnings.is_empty() && !args.output.quiet {
        eprint!("{}", loaded.warnings);
    }
    let options = options(args, loaded.language, resumed)?;
    if let Some(path) = &args.output.export {
        export::GraphFormat::of(path)?;
    }
    let prepared = Check::with_options(loaded.system, options).prepare()?;
    if !args.output.quiet {
        prepared.notes().iter().for_each(|note| eprintln!("{note}"));
    }
    drop(reading);
    let startup = begun.elapsed();
    let startup_cpu = cpu_seconds();
    let startup_peak = begin_peak();

    let progress = Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?;
    let search = prepared.begin()?;
    let control = search.control();
    interrupt_stops(control)?;
    let found = progress.during(control, search.governor(), || search.finish());
    progress.tell(control);
    let found = found?;
    let trace = match (&found.report.verdict, &found.trace) {
        (Verdict::Violated(violation), Some(trace)) => {
            Some(violation::render(prepared.shown(), violation, trace))
        }
        _ => None,
    };
    if let Some(again) = trace.as_ref().and_then(|trace| with_more_room(args, &trace.violation.message)) {
        if !args.output.quiet
            && let Some((name, room)) = again.model.processes.last()
        {
            eprintln!(
                "more processes `{name}` live at once than there was room for: again, with room for {room}"
            );
        }
        return run(&again, None);
    }
    if let Some(path) = &args.output.export {
        export::write(prepared.shown(), path, args.limits.max_states)?;
    }
    let exit_code = Outcome::exit_code(&found.report);
    let coverage = prepared.coverage(&found.report)?;
    let outcome = Outcome {
        seconds: begun.elapsed().as_secs_f64(),
        startup_seconds: startup.as_secs_f64(),
        startup_peak_memory_bytes: startup_peak,
        startup_cpu_seconds: startup_cpu,
        coverage,
        ..outcome(args, &prepared, found, trace.as_ref())
    };
    progress.event(serde_json::json!({ "event": "result", "result": outcome }));
    show(args, &outcome, trace.as_ref())?;
    Ok(exit_code)
}

/// Lets an interrupt stop the search that runs now.
fn interrupt_stops(control: &Arc<hadal_search::Control>) -> Result<(), Failure> {
    static CURRENT: Mutex<Option<Arc<hadal_search::Control>>> = Mutex::new(None);
    let current = || CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let first = current().replace(Arc::clone(control)).is_none();
    if !first {
        return Ok(());
    }
    ctrlc::set_handler(move || {
        if let Some(control) = &*current() {
            control.interrupt();
        }
    })
    .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))
}

/// The same question with twice the room for a type of processes, where what was found is only that there was too little.
fn with_more_room(args: &CheckArgs, message: &str) -> Option<CheckArgs> {
    const MOST: usize = 255;
    let (name, room) = hadal_lang::promela::no_room(message)?;
    let mut again = args.clone();
    again.model.processes.retain(|(known, _)| known != name);
    again.model.processes.push((name.to_owned(), (2 * room).min(MOST)));
    (room < MOST).then_some(again)
}

/// What the arguments ask of the library.
pub(crate) fn options(
    args: &CheckArgs,
    language: &Language,
    resumed: Option<&Path>,
) -> Result<Options, Failure> {
    let stem = args.model.model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Options {
        properties: args.property.clone(),
        deadlock: match args.deadlock {
            // Naming properties asks about those only, unless deadlock is asked for as well.
            None if !args.property.is_empty() => DeadlockNotion::Off,
            None | Some(Deadlock::On) => language.deadlock,
            Some(Deadlock::Off) => DeadlockNotion::Off,
            Some(Deadlock::Stuck) => DeadlockNotion::Stuck,
            Some(Deadlock::Stuttering) => DeadlockNotion::Stuttering,
        },
        strategy: args.strategy,
        directing: args.directed.clone(),
        reductions: args.reduction.clone(),
        partitioning: args.partition.clone(),
        detecting: args.detection.clone(),
        running: args.running.clone(),
        model: args.model.model_options(),
        budget: args.limits.budget(),
        place: Place {
            disk: args.disk.clone(),
            name: stem,
            resumed: resumed.map(Path::to_owned),
            about: serde_json::to_value(About::of(args))
                .map_err(|error| Failure::Usage(format!("a run cannot remember this command: {error}")))?,
        },
    })
}

/// The result as it is shown; the times before the search are the caller's.
fn outcome(args: &CheckArgs, prepared: &Prepared, found: Found, trace: Option<&TraceView>) -> Outcome {
    let Found { report, answers, cost, decisions, warnings, run, .. } = found;
    let (verdict, mut reason, property) = reason(&report, trace, prepared.memory());
    let (model, reductions) = (prepared.model(), prepared.reductions().to_vec());
    if !reductions.is_empty() {
        reason = reason.replace("every reachable state", "every state that the reduction keeps");
    }
    let covers = model
        .properties()
        .iter()
        .zip(&report.covers)
        .filter(|(property, _)| property.kind == PropertyKind::Cover && args.reduction.por.is_none())
        .map(|(property, &hits)| CoverFigures { property: property.name.clone(), hits })
        .collect();
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    Outcome {
        verdict,
        reason,
        property,
        states: report.states,
        transitions: report.transitions,
        depth: report.depth,
        trace_length: trace.filter(|t| !t.steps.is_empty()).map(TraceView::length),
        cost,
        loop_length: trace.and_then(TraceView::loop_length),
        shortest_among: trace
            .filter(|trace| trace.shortest && trace.loop_from.is_some())
            .map(|_| args.running.shortest_among()),
        answers: answers.into_iter().map(Into::into).collect(),
        seconds: 0.0,
        startup_seconds: 0.0,
        cpu_seconds: cpu_seconds(),
        startup_cpu_seconds: 0.0,
        peak_memory_bytes: peak_resident(),
        startup_peak_memory_bytes: 0,
        warnings,
        peak_budget_bytes: report.peak_memory,
        memory_budget_bytes: prepared.memory(),
        disk_bytes: report.disk.map_or(0, |d| d.bytes),
        disk_bytes_read: report.disk.map_or(0, |d| d.read),
        disk_bytes_written: report.disk.map_or(0, |d| d.written),
        storage: report
            .stages
            .iter()
            .map(|s| StorageFigures { storage: s.storage, states: s.states, depth: s.depth })
            .collect(),
        strategy: prepared.strategy(),
        symmetry: match model.symmetry().map(|s| s.mode()) {
            None | Some(SymmetryMode::Off) => "off",
            Some(SymmetryMode::Heuristic) => "heuristic",
            Some(SymmetryMode::Exact | SymmetryMode::Auto) => "exact",
        },
        reductions,
        reduction_notes: prepared.notes().to_vec(),
        threads: prepared.threads(&report),
        run: run.map(|path| path.display().to_string()),
        state_bits: model.bits(),
        state_bytes: model.words() as u64 * 8,
        layers: report.layers,
        covers,
        actions: report.actions,
        read_cost: report.disk.and_then(|d| d.read_cost),
        buckets: report.disk.and_then(|d| d.buckets),
        partition: report.particular.partition,
        directed: report.particular.directed,
        decisions,
        trace: trace.filter(|_| args.output.json).map(|t| t.json(detail)),
        ..Outcome::default()
    }
}

pub(crate) fn show(args: &CheckArgs, outcome: &Outcome, trace: Option<&TraceView>) -> Result<(), Failure> {
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    if args.output.json {
        // The outcome is plain data: it always serialises.
        return output::line(&serde_json::to_string_pretty(outcome).unwrap_or_default());
    }
    match (trace, args.output.trace) {
        (Some(trace), TraceFormat::Text) => {
            output::line(&format!("{}\n{}", trace.text(detail), outcome.text()))?;
        }
        // A trace for a program or a browser has standard output to itself.
        (Some(trace), TraceFormat::Json) => {
            output::line(&serde_json::to_string_pretty(&trace.json(detail)).unwrap_or_default())?;
            eprintln!("{}", outcome.text());
        }
        (Some(trace), TraceFormat::Html) => {
            output::line(&trace.html())?;
            eprintln!("{}", outcome.text());
        }
        (Some(trace), TraceFormat::Msc) => {
            let chart = trace.messages.as_deref().unwrap_or("no messages are sent\n");
            output::line(&format!("{chart}\n{}\n{}", trace.violation.text(), outcome.text()))?;
        }
        // Whoever asked for a trace in a format gets that format, though there is none.
        (None, TraceFormat::Json) => {
            output::line("null")?;
            eprintln!("{}", outcome.text());
        }
        (None, TraceFormat::Html) => {
            let name = args.model.model.display().to_string();
            output::line(&trace::html::without_trace(&name, &outcome.text()))?;
            eprintln!("{}", outcome.text());
        }
        (None, TraceFormat::Text | TraceFormat::Msc) => output::line(&outcome.text())?,
    }
    if args.output.explain {
        eprintln!("{}", outcome.explanation());
    }
    Ok(())
}
