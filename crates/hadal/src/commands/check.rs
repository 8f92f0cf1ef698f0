//! `hadal check`: load, compile, explore, replay what was found, and say what is true.

use crate::args::{
    CheckArgs, Deadlock, Given, LimitArgs, ModelArgs, ModelErrors, OutputArgs, Symmetry, TraceFormat,
};
use crate::export;
use crate::failure::Failure;
use crate::formulas::{self, FormulaArgs, Own};
use crate::outcome::{CoverFigures, Outcome, TraceFigures, Used};
use crate::output;
use crate::progress::Progress;
use crate::reading::{self, Reading};
use crate::timed::{self, TimedArgs};
use crate::trace::{self, Detail, TraceView};
use crate::violation;
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
    let mut outcome = outcome(args, &prepared, found, trace.as_ref());
    outcome.time.seconds = begun.elapsed().as_secs_f64();
    outcome.time.startup_seconds = startup.as_secs_f64();
    outcome.memory.startup_peak_memory_bytes = startup_peak;
    outcome.time.startup_cpu_seconds = startup_cpu;
    outcome.seen.coverage = coverage;
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
    let Found { mut report, answers, cost, decisions, warnings, run, .. } = found;
    let (model, reductions) = (prepared.model(), prepared.reductions().to_vec());
    let covers = model
        .properties()
        .iter()
        .zip(&report.covers)
        .filter(|(property, _)| property.kind == PropertyKind::Cover && args.reduction.por.is_none())
        .map(|(property, &hits)| CoverFigures { property: property.name.clone(), hits })
        .collect();
    let threads = prepared.threads(&report);
    let (buckets, partition) = (report.disk.and_then(|d| d.buckets), report.particular.partition.take());
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    let mut outcome = Outcome::of(report, trace, prepared.memory());
    if !reductions.is_empty() {
        let reason = &mut outcome.decided.reason;
        *reason = reason.replace("every reachable state", "every state that the reduction keeps");
    }
    outcome.traces = TraceFigures {
        trace_length: trace.filter(|t| !t.steps.is_empty()).map(TraceView::length),
        cost,
        loop_length: trace.and_then(TraceView::loop_length),
        shortest_among: trace
            .filter(|trace| trace.shortest && trace.loop_from.is_some())
            .map(|_| args.running.shortest_among()),
        answers: answers.into_iter().map(Into::into).collect(),
    };
    outcome.used = Used {
        strategy: prepared.strategy(),
        symmetry: match model.symmetry().map(|s| s.mode()) {
            None | Some(SymmetryMode::Off) => "off",
            Some(SymmetryMode::Heuristic) => "heuristic",
            Some(SymmetryMode::Exact | SymmetryMode::Auto) => "exact",
        },
        reductions,
        reduction_notes: prepared.notes().to_vec(),
        threads,
        run: run.map(|path| path.display().to_string()),
        state_bits: model.bits(),
        state_bytes: model.words() as u64 * 8,
        decisions,
    };
    outcome.warnings = warnings;
    outcome.seen.covers = covers;
    outcome.details.buckets = buckets;
    outcome.details.partition = partition;
    outcome.trace = trace.filter(|_| args.output.json).map(|t| t.json(detail));
    outcome
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
