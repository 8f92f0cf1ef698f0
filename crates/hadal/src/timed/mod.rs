//! `hadal check` of models in real time: zones, covering, runs with delays.

mod gantt;
pub mod landing;
pub mod plan;
mod question;
mod view;

use crate::args::{CheckArgs, Deadlock, ModelArgs};
use crate::commands::about::About;
use crate::commands::check::{options, write_report};
use crate::commands::present::show;
use crate::failure::{Failure, Finding};
use crate::outcome::{Outcome, Used};
use crate::progress::Progress;
use crate::trace::{Detail, TraceView};
use clap::Args;
use hadal_check::SpaceOutcome;
use hadal_check::memory::default_memory;
use hadal_check::timed::{self, CoveringChoice, FastestError, TimedCheck, TimedRun};
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_exec::zones::{ZoneError, ZoneSpace};
use hadal_lang::diagnostic::{Diagnostic, render_plain};
use hadal_lang::{Language, LoadOptions, LoadedModel};
use hadal_search::{DeadlockNotion, Question, Report, Verdict};
use hadal_system::{Source, StateSpace, TimedSystem};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Questions of models in real time.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimedArgs {
    /// When a zone makes another one needless. Default: alu, or inclusion where deadlocks are asked about.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Real time")]
    pub covering: Option<CoveringChoice>,
    /// Look for a state whose locations have this label (of a .tck model); several, parted by commas, must hold together.
    #[arg(long, value_name = "NAME", help_heading = "Real time")]
    pub label: Option<String>,
    /// Ask the queries of this file (UPPAAL's .q) instead of the model's own.
    #[arg(long, value_name = "FILE", help_heading = "Real time")]
    pub queries: Option<PathBuf>,
    /// Look for the run that reaches the goal at the earliest time.
    #[arg(long, help_heading = "Real time")]
    pub fastest: bool,
}

impl TimedArgs {
    /// The first option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.covering.is_some(), "--covering"),
            (self.label.is_some(), "--label"),
            (self.queries.is_some(), "--queries"),
            (self.fastest, "--fastest"),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }
}

/// Whether the model's language has time.
pub fn reads(args: &ModelArgs) -> bool {
    Language::of(&args.model).is_some_and(|language| ["TChecker", "UPPAAL"].contains(&language.name))
}

/// A timed model that was read.
pub struct Loaded {
    /// The model.
    pub timed: TimedSystem,
    /// What it was written in.
    pub language: &'static Language,
}

/// Reads a model in real time.
pub fn load(args: &ModelArgs, queries: Option<&Path>, quiet: bool) -> Result<Loaded, Failure> {
    let options = LoadOptions { queries: queries.map(Path::to_owned), ..args.load_options() };
    let (language, loaded) = hadal_lang::load(&args.model, &options)?;
    let warnings = loaded.render_warnings();
    if !warnings.is_empty() && !quiet {
        crate::output::aside(format_args!("{warnings}"));
    }
    match loaded.model {
        LoadedModel::Timed(timed) => Ok(Loaded { timed, language }),
        _ => Err(Failure::Usage(format!("{}: this model has no clocks", args.model.display()))),
    }
}

/// A refusal of the zone graph, with a caret where it has a place.
pub fn refused(source: &Source, error: &ZoneError) -> Failure {
    match error.span() {
        Some(span) => {
            let diagnostic = Diagnostic::error(span, error.to_string());
            Failure::Refused {
                rendered: render_plain(source, &diagnostic),
                findings: vec![Finding::of(source, &diagnostic)],
            }
        }
        None => Failure::Usage(error.to_string()),
    }
}

/// Runs `hadal check` on a timed model, or goes on with a run.
pub fn check(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    if args.several.is_some() {
        return Err(Failure::Usage(
            "--continue: of a model in real time one violation is reported; name properties one by one with --property"
                .into(),
        ));
    }
    timed::refuse_others(&args.reduction, &args.directed)?;
    let Loaded { mut timed, language } = load(&args.model, args.timed.queries.as_deref(), args.output.quiet)?;
    let plan = options(args, language, resumed)?;
    let asked = question::ask(&mut timed, args)?;
    let deadlocks = question::asks_deadlock(&timed, &asked);
    let zones = timed::zones(&plan, &asked, deadlocks, args.timed.covering)?;
    let source = timed.system.source.clone();
    let again = args.timed.fastest.then(|| (timed.clone(), zones.clone()));
    let space = ZoneSpace::new(timed, zones).map_err(|error| refused(&source, &error))?;
    let question = Question { deadlock: DeadlockNotion::Off, asked };
    let startup = begun.elapsed();
    let (startup_cpu, startup_peak) = (cpu_seconds(), begin_peak());

    let progress = Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?;
    let search = TimedCheck::of(&space, question, plan).begin()?;
    let control = search.control();
    let interrupt = Arc::clone(control);
    ctrlc::set_handler(move || interrupt.interrupt())
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
    let found = progress.during(control, search.governor(), || search.finish());
    progress.tell(control);
    let SpaceOutcome { report, warnings, run } = found?;
    let mut trace = match &report.verdict {
        Verdict::Violated(found) => Some(view::view(&space, found)?),
        _ => None,
    };
    let mut earliest = None;
    if let (Some((timed, zones)), Verdict::Violated(found)) = (again, &report.verdict) {
        let memory = args.limits.memory.unwrap_or_else(default_memory);
        let fastest = timed::fastest(timed, zones, found, memory).map_err(|error| match error {
            FastestError::Priced(error) => plan::priced_failure(&source, error),
            FastestError::Check(error) => error.into(),
        })?;
        let taken = if fastest.run.is_some() { "" } else { " (not taken itself)" };
        earliest = Some(format!("{}{taken}", fastest.time));
        let shown = |run| view::shown(fastest.space.zones(), found, run);
        let shown = fastest.run.as_ref().map(shown);
        trace = shown.map(|trace| TraceView { shortest: false, ..trace }).or(trace);
    }
    let exit_code = Outcome::exit_code(&report);
    let mut outcome = outcome(args, &search, &space, report, trace.as_ref());
    outcome.counts.fastest = earliest;
    outcome.time.seconds = begun.elapsed().as_secs_f64();
    outcome.time.startup_seconds = startup.as_secs_f64();
    outcome.memory.startup_peak_memory_bytes = startup_peak;
    outcome.time.startup_cpu_seconds = startup_cpu;
    outcome.warnings = warnings;
    outcome.used.run = run.map(|path| path.display().to_string());
    progress.event(|| serde_json::json!({ "event": "result", "result": outcome }));
    outcome.used.settings = args.output.settings.clone();
    if let Some(path) = &args.output.report {
        write_report(path, &outcome, &About::of(args))?;
    }
    show(args, &outcome, trace.as_slice())?;
    Ok(exit_code)
}

fn outcome(
    args: &CheckArgs,
    search: &TimedRun,
    space: &ZoneSpace,
    report: Report,
    trace: Option<&TraceView>,
) -> Outcome {
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    let mut outcome = Outcome::of(report, trace, search.memory());
    outcome.traces.trace_length = trace.filter(|t| !t.steps.is_empty()).map(|t| t.steps.len() as u64 - 1);
    outcome.used = Used {
        strategy: args.strategy.info().name,
        symmetry: "off",
        threads: search.threads(),
        state_bits: space.bits(),
        state_bytes: space.words() as u64 * 8,
        ..Used::default()
    };
    outcome.trace = trace.filter(|_| args.output.json).map(|t| t.json(detail));
    outcome
}

/// Whether a person asks for deadlocks.
fn wants_deadlocks(args: &CheckArgs) -> bool {
    matches!(args.deadlock, Some(Deadlock::On | Deadlock::Stuck | Deadlock::Stuttering))
}
