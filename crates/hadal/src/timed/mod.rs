//! `hadal check` of models in real time: zones, covering, runs with delays.

mod question;
mod view;

use crate::args::{CheckArgs, Deadlock, ModelArgs, Strategy};
use crate::commands::check::{About, DEFAULT_DISK, explore, search_budget, show, trouble};
use crate::failure::Failure;
use crate::folder::RunPlace;
use crate::outcome::{Outcome, StorageFigures, begin_peak, cpu_seconds, peak_resident, reason};
use crate::plan::{Plan, model_options};
use crate::progress::Progress;
use crate::trace::{Detail, TraceView};
use clap::{Args, ValueEnum};
use hadal_exec::zones::{Covering, Extrapolation, ZoneError, ZoneOptions, ZoneSpace};
use hadal_lang::diagnostic::{Diagnostic, render_plain};
use hadal_lang::{Language, LoadedModel};
use hadal_search::strategy::{self, StrategySearch};
use hadal_search::{Control, DeadlockNotion, Question, Report, Task, Verdict};
use hadal_store::Governor;
use hadal_system::{Source, StateSpace, TimedSystem};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// When a zone makes another needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum CoveringChoice {
    /// Only where it is the same.
    Off,
    /// Where it includes the other.
    Inclusion,
    /// Where the other lies in its abstraction by lower and upper bounds.
    Alu,
}

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
pub fn load(args: &ModelArgs, quiet: bool) -> Result<Loaded, Failure> {
    let (language, loaded) = hadal_lang::load(&args.model, &args.load_options())?;
    let warnings = loaded.render_warnings();
    if !warnings.is_empty() && !quiet {
        eprint!("{warnings}");
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
            Failure::Refused { rendered: render_plain(source, &diagnostic) }
        }
        None => Failure::Usage(error.to_string()),
    }
}

/// Runs `hadal check` on a timed model, or goes on with a run.
pub fn check(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    refuse_others(args)?;
    let Loaded { mut timed, language } = load(&args.model, args.output.quiet)?;
    let plan = Plan::new(args, language, &timed.system)?;
    let asked = question::ask(&mut timed, args)?;
    let deadlocks = question::asks_deadlock(&timed, &asked);
    let covering = covering(args, deadlocks)?;
    let options = ZoneOptions {
        model: model_options(args.model.symmetry, args.model.interpret),
        extrapolation: if deadlocks { Extrapolation::MaxPlus } else { Extrapolation::LowerUpperPlus },
        covering,
        asked: asked.clone(),
        now: false,
    };
    let source = timed.system.source.clone();
    let space = ZoneSpace::new(timed, options).map_err(|error| refused(&source, &error))?;
    let question = Question { deadlock: DeadlockNotion::Off, asked };
    let startup = begun.elapsed();
    let (startup_cpu, startup_peak) = (cpu_seconds(), begin_peak());

    let progress = Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?;
    let control = Arc::new(Control::new(plan.limits));
    let interrupt = Arc::clone(&control);
    ctrlc::set_handler(move || interrupt.interrupt())
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
    let governor = Governor::new(search_budget(plan.memory)?);
    let place = match resumed {
        Some(path) => RunPlace::existing(path),
        None => RunPlace::new(args.disk.as_deref().unwrap_or(Path::new(DEFAULT_DISK)), &args.model.model),
    }
    .limited_to(args.limits.disk_limit);
    let task = Task { space: &space, question: &question, control: &control };
    let report = progress.during(&control, &governor, || -> Result<Report, Failure> {
        if args.strategy != Strategy::Auto {
            return explore(args, &plan, task, &governor, &place, resumed).map_err(trouble);
        }
        // Paths, strings and numbers always serialise.
        let about = serde_json::to_value(About::of(args)).unwrap_or_default();
        let ledger = || match resumed {
            Some(_) => place.open(&governor, space.fingerprint(), &about),
            None => place.create(&governor, space.fingerprint(), &about),
        };
        let strategy = strategy::Strategy::covering();
        let search = StrategySearch {
            task,
            ledger: &ledger,
            governor: &governor,
            threads: plan.threads,
            strategy: &strategy,
        };
        let explored = match resumed {
            Some(_) => strategy::resume(&search),
            None => strategy::explore(&search),
        };
        explored.map(|explored| explored.report).map_err(trouble)
    });
    progress.tell(&control);
    let report = report?;
    if space.has_overflowed() {
        return Err(Failure::Internal("a bound of a zone does not fit its bits".into()));
    }
    let kept = place.is_used()
        && !crate::folder::is_left_over(&place.path)
        && (resumed.is_some() || args.disk.is_some() || matches!(report.verdict, Verdict::Stopped(_)));
    let trace = match &report.verdict {
        Verdict::Violated(found) => Some(view::view(&space, found)?),
        _ => None,
    };
    if place.is_used() && !kept {
        place.remove();
    }
    let mut outcome = outcome(args, &plan, &space, &report, trace.as_ref());
    outcome.seconds = begun.elapsed().as_secs_f64();
    outcome.startup_seconds = startup.as_secs_f64();
    outcome.startup_peak_memory_bytes = startup_peak;
    outcome.startup_cpu_seconds = startup_cpu;
    outcome.warnings = control.warnings();
    outcome.run = kept.then(|| place.path.display().to_string());
    progress.event(serde_json::json!({ "event": "result", "result": outcome }));
    show(args, &outcome, trace.as_ref())?;
    Ok(Outcome::exit_code(&report))
}

/// Options whose promises time would break.
fn refuse_others(args: &CheckArgs) -> Result<(), Failure> {
    let refuse = |what: &str| {
        Err(Failure::Usage(format!("{what} does not know clocks: time couples all processes. Leave it out")))
    };
    if args.reduction != crate::reduction::ReductionArgs::default() {
        return refuse("a reduction (--por, --coi, --safe-abstraction, --decompose)");
    }
    if args.directed.plan()?.is_some() {
        return refuse("directed search");
    }
    Ok(())
}

fn covering(args: &CheckArgs, deadlocks: bool) -> Result<Covering, Failure> {
    let chosen = match (args.timed.covering, args.strategy) {
        (Some(chosen), Strategy::Auto) => Some(chosen),
        (None, Strategy::Auto) => None,
        (None | Some(CoveringChoice::Off), _) => Some(CoveringChoice::Off),
        (Some(_), other) => {
            return Err(Failure::Usage(format!(
                "--strategy {} compares states by equality: leave it out, or give --covering off",
                other.name()
            )));
        }
    };
    match chosen {
        Some(CoveringChoice::Off) => Ok(Covering::Equality),
        Some(CoveringChoice::Inclusion) => Ok(Covering::Inclusion),
        Some(CoveringChoice::Alu) if deadlocks => Err(Failure::Usage(
            "--covering alu keeps what is reachable, not deadlocks: leave it out, or give --covering inclusion"
                .into(),
        )),
        None if deadlocks => Ok(Covering::Inclusion),
        Some(CoveringChoice::Alu) | None => Ok(Covering::Alu),
    }
}

fn outcome(
    args: &CheckArgs,
    plan: &Plan,
    space: &ZoneSpace,
    report: &Report,
    trace: Option<&TraceView>,
) -> Outcome {
    let (verdict, reason, property) = reason(report, trace, plan.memory);
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    Outcome {
        verdict,
        reason,
        property,
        states: report.states,
        transitions: report.transitions,
        discrete: report.covering.map(|it| it.discrete),
        maximal: report.covering.map(|it| it.maximal),
        depth: report.depth,
        trace_length: trace.filter(|t| !t.steps.is_empty()).map(|t| t.steps.len() as u64 - 1),
        cpu_seconds: cpu_seconds(),
        peak_memory_bytes: peak_resident(),
        peak_budget_bytes: report.peak_memory,
        memory_budget_bytes: plan.memory,
        disk_bytes: report.disk.map_or(0, |d| d.bytes),
        disk_bytes_read: report.disk.map_or(0, |d| d.read),
        disk_bytes_written: report.disk.map_or(0, |d| d.written),
        storage: report
            .stages
            .iter()
            .map(|s| StorageFigures { storage: s.storage, states: s.states, depth: s.depth })
            .collect(),
        strategy: plan.strategy.name(),
        symmetry: "off",
        threads: plan.threads,
        state_bits: space.bits(),
        state_bytes: space.words() as u64 * 8,
        layers: report.layers.clone(),
        actions: report.actions.clone(),
        read_cost: report.disk.and_then(|d| d.read_cost),
        trace: trace.filter(|_| args.output.json).map(|t| t.json(detail)),
        ..Outcome::default()
    }
}

/// Whether a person asks for deadlocks.
fn wants_deadlocks(args: &CheckArgs) -> bool {
    matches!(args.deadlock, Some(Deadlock::On | Deadlock::Stuck | Deadlock::Stuttering))
}
