//! `hadal check`: load, compile, explore, replay what was found, and say what is true.

use crate::args::{
    CheckArgs, Deadlock, Given, LimitArgs, ModelArgs, ModelErrors, OutputArgs, Strategy, Symmetry,
    TraceFormat,
};
use crate::detection::DetectionArgs;
use crate::directed::{self, Asked, DirectedArgs, Explored, OnDisk};
use crate::failure::Failure;
use crate::folder::RunPlace;
use crate::load::load;
use crate::outcome::{
    CoverFigures, Outcome, StorageFigures, begin_peak, cpu_seconds, peak_resident, reason, resident,
};
use crate::partition::{self, Begin, PartitionArgs};
use crate::plan::{Plan, model_options, select_properties};
use crate::progress::Progress;
use crate::race::{self, Setting};
use crate::reduction::{Reduced, ReductionArgs};
use crate::timed::{self, TimedArgs};
use crate::trace::{Detail, TraceView};
use crate::violation;
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::auto::AutoSearch;
use hadal_search::layered::Trouble;
use hadal_search::ram::{Search, breadth, depth};
use hadal_search::relaxed::{self, RelaxedSearch};
use hadal_search::strategy::StrategySearch;
use hadal_search::{Control, Question, Report, StopReason, Task, Verdict, auto};
use hadal_store::Governor;
use hadal_store::manifest::OpenError;
use hadal_system::{PropertyKind, StateSpace, System};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Where run folders are kept unless `--disk` says otherwise.
pub(crate) const DEFAULT_DISK: &str = ".hadal";

/// What the program and a small model take besides the budget: most of the fixed overhead.
const PROGRAM_ALLOWANCE: u64 = 10 << 20;
/// A search has this much left beside a large model.
const LEAST_LEFT: u64 = 12 << 20;

/// The part of a command that decides what is explored: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
pub struct About {
    model: PathBuf,
    define: Vec<(String, Given)>,
    symmetry: Symmetry,
    interpret: bool,
    #[serde(default)]
    model_errors: ModelErrors,
    property: Vec<String>,
    deadlock: Option<Deadlock>,
    #[serde(default)]
    strategy: Option<Strategy>,
    #[serde(default)]
    reduction: ReductionArgs,
    #[serde(default)]
    partition: PartitionArgs,
    #[serde(default)]
    directed: DirectedArgs,
    #[serde(default)]
    detection: DetectionArgs,
    #[serde(default)]
    timed: TimedArgs,
}

impl About {
    /// Of a command.
    pub fn of(args: &CheckArgs) -> Self {
        let model = std::fs::canonicalize(&args.model.model).unwrap_or_else(|_| args.model.model.clone());
        About {
            model,
            define: args.model.define.clone(),
            symmetry: args.model.symmetry,
            interpret: args.model.interpret,
            model_errors: args.model.model_errors,
            property: args.property.clone(),
            deadlock: args.deadlock,
            strategy: Some(args.strategy),
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
            },
            limits: LimitArgs::default(),
            disk: None,
            strategy: about.strategy.unwrap_or(Strategy::Auto),
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
                quiet: false,
            },
        }
    }
}

/// Runs the command, or goes on with the run in the folder `resumed`; returns the exit code.
pub fn run(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    if timed::reads(&args.model) {
        return timed::check(args, resumed);
    }
    if let Some(option) = args.timed.first_given() {
        return Err(Failure::Usage(format!("{option} is for models in real time")));
    }
    let mut loaded = load(&args.model)?;
    if !loaded.warnings.is_empty() && !args.output.quiet {
        eprint!("{}", loaded.warnings);
    }
    let plan = Plan::new(args, loaded.language, &loaded.system)?;
    let asked = select_properties(&mut loaded.system, &args.property)?;
    let accepts = args.property.is_empty() && has_accepting_property(&loaded.system);
    let options = model_options(args.model.symmetry, args.model.interpret);
    let question = Question { deadlock: plan.deadlock, asked };
    let reduced = Reduced::new(&args.reduction, loaded.system, options, &question)?;
    if !args.output.quiet {
        reduced.notes.iter().for_each(|note| eprintln!("{note}"));
    }
    let startup = begun.elapsed();
    let startup_cpu = cpu_seconds();
    let startup_peak = begin_peak();

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
    let explored = progress.during(&control, &governor, || {
        reduced.search(&question, |model, space, number| {
            let task = Task { space, question: &question, control: &control };
            if let Some(directed) = &plan.directed {
                let asked = if args.property.is_empty() { Asked::Everything } else { Asked::Named };
                let beside = (number > 0).then(|| place.beside(&format!("part{number}")));
                let place = beside.as_ref().unwrap_or(&place);
                // Paths, strings and numbers always serialise.
                let about = serde_json::to_value(About::of(args)).unwrap_or_default();
                let resumed = resumed.is_some() && beside.is_none();
                let ledger = || match resumed {
                    true => place.open(&governor, space.fingerprint(), &about),
                    false => place.create(&governor, space.fingerprint(), &about),
                };
                let tables = |governor: &Governor| place.tables(governor);
                let disk = OnDisk { ledger: &ledger, tables: &tables, resumed, threads: plan.threads };
                let safety = directed::safety_part(&question, space.properties());
                let first = Task { question: safety.as_ref().unwrap_or(&question), ..task };
                let threads = plan.threads;
                let setting = Setting { model, task: first, asked, governor: &governor, threads };
                // A search that may leave the rest to another keeps nothing on disk: what is there is that other's.
                let found = match resumed && (safety.is_some() || directed.races()) {
                    true => Ok(Explored::nothing_yet(task, &governor)),
                    false => race::explore(directed, setting, disk),
                };
                place.remove_tables();
                let left = |found: &Explored| {
                    left_to_another(&found.report, safety.is_some(), directed.races(), resumed)
                };
                let why = found.as_ref().ok().and_then(left);
                let found = match (found, why) {
                    (Ok(found), Some(why)) => {
                        let mut decisions = found.decisions;
                        decisions.push(format!("  {why}: everything is explored again"));
                        let again = resumed.then_some(place.path.as_path());
                        let report = explore(args, &plan, task, &governor, place, again).map_err(trouble);
                        report.map(|report| Explored { report, decisions })
                    }
                    (found, _) => found,
                };
                if let Some(beside) = beside.filter(RunPlace::is_used) {
                    beside.remove();
                }
                return found;
            }
            if plan.strategy == Strategy::Auto
                && resumed.is_none()
                && let Some(found) = directed::probe(model, task, &governor)
            {
                return Ok(found);
            }
            if number == 0 {
                let report = explore(args, &plan, task, &governor, &place, resumed).map_err(trouble)?;
                return Ok(Explored { report, decisions: Vec::new() });
            }
            let beside = place.beside(&format!("part{number}")).limited_to(args.limits.disk_limit);
            let report = explore(args, &plan, task, &governor, &beside, None).map_err(trouble)?;
            if beside.is_used() {
                beside.remove();
            }
            Ok(Explored { report, decisions: Vec::new() })
        })
    });
    progress.tell(&control);
    let Explored { mut report, decisions } = explored?;
    let kept = place.is_used()
        && !crate::folder::is_left_over(&place.path)
        && (resumed.is_some() || args.disk.is_some() || matches!(report.verdict, Verdict::Stopped(_)));

    let trace = match &report.verdict {
        Verdict::Violated(found) => Some(violation::view(reduced.shown(), found)?),
        _ => None,
    };
    if place.is_used() && !kept {
        place.remove();
    }
    if accepts && report.verdict == Verdict::Holds {
        report.verdict = Verdict::Stopped(StopReason::Unanswered);
    }
    let mut outcome = outcome(args, &plan, &reduced, &report, trace.as_ref(), startup.as_secs_f64(), begun);
    outcome.startup_peak_memory_bytes = startup_peak;
    outcome.startup_cpu_seconds = startup_cpu;
    outcome.warnings = control.warnings();
    outcome.decisions = decisions;
    outcome.run = kept.then(|| place.path.display().to_string());
    progress.event(serde_json::json!({ "event": "result", "result": outcome }));
    show(args, &outcome, trace.as_ref())?;
    Ok(Outcome::exit_code(&report))
}

/// Whether a property process accepts infinite runs: then that no state is wrong does not answer what is asked.
fn has_accepting_property(system: &System) -> bool {
    system.processes.iter().any(|process| process.locations.iter().any(|location| location.accepting))
}

/// Why a directed search leaves the rest to the usual one, where it does.
fn left_to_another(
    report: &Report,
    leaves_liveness: bool,
    races: bool,
    resumed: bool,
) -> Option<&'static str> {
    match &report.verdict {
        Verdict::Holds if leaves_liveness => Some("no error was found, and liveness is asked about"),
        Verdict::Holds if races && resumed => Some("this run was left to the usual search"),
        Verdict::Stopped(StopReason::Memory { .. }) if races => {
            Some("the directed search used up its memory")
        }
        _ => None,
    }
}

pub(crate) fn explore(
    args: &CheckArgs,
    plan: &Plan,
    task: Task,
    governor: &Governor,
    place: &RunPlace,
    resumed: Option<&Path>,
) -> Result<Report, Trouble> {
    let in_ram = Search { task, governor, threads: plan.threads };
    match plan.strategy {
        Strategy::Bfs => Ok(breadth::explore(&in_ram)),
        Strategy::Dfs => Ok(depth::explore(&in_ram)),
        _ => {
            // Paths, strings and numbers always serialise.
            let about = serde_json::to_value(About::of(args)).unwrap_or_default();
            let fingerprint = task.space.fingerprint();
            let ledger = || match resumed {
                Some(_) => place.open(governor, fingerprint, &about),
                None => place.create(governor, fingerprint, &about),
            };
            if plan.strategy == Strategy::Part {
                let begin = if resumed.is_some() { Begin::Resumed } else { Begin::New };
                return partition::explore(&args.partition, task, governor, (place, &ledger), begin);
            }
            let search = AutoSearch { task, ledger: &ledger, governor, threads: plan.threads };
            if plan.strategy == Strategy::Relaxed {
                return explore_relaxed(search, place, resumed);
            }
            if let Some(strategy) = &plan.layered {
                let search =
                    StrategySearch { task, ledger: &ledger, governor, threads: plan.threads, strategy };
                return args.detection.explore(&search, resumed);
            }
            if resumed.is_some() { auto::resume(&search) } else { auto::explore(&search) }
        }
    }
}

/// What is left of the budget for the search: a model of more than a few megabytes counts.
pub(crate) fn search_budget(memory: u64) -> Result<u64, Failure> {
    let model = resident().saturating_sub(PROGRAM_ALLOWANCE);
    match memory.checked_sub(model).filter(|&left| left >= memory.min(LEAST_LEFT)) {
        Some(left) => Ok(left),
        None => Err(Failure::Usage(format!(
            "the model itself takes {} MiB of memory, which leaves too little of {} MiB to search with; give it --memory \
             {}M at least",
            model >> 20,
            memory >> 20,
            (model + LEAST_LEFT).div_ceil(4 << 20) * 4 + 4,
        ))),
    }
}

fn explore_relaxed(search: AutoSearch, place: &RunPlace, resumed: Option<&Path>) -> Result<Report, Trouble> {
    let beside = place.beside("shortest");
    let again = || beside.create(search.governor, search.task.space.fingerprint(), &serde_json::Value::Null);
    let relaxed = RelaxedSearch { search, again: &again };
    let report = if resumed.is_some() { relaxed::resume(&relaxed) } else { relaxed::explore(&relaxed) };
    if beside.is_used() {
        beside.remove();
    }
    report
}

/// How what ended a search early is told.
pub fn trouble(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::OverBudget(over) => Failure::Usage(format!(
            "{over}; give it more with --memory ({} MiB at least)",
            (over.limit + over.asked) >> 20
        )),
        Trouble::Write(error) => Failure::Usage(error.to_string()),
        Trouble::Commit(error) => Failure::Usage(error.to_string()),
        Trouble::Setup(error) => Failure::Usage(error.to_string()),
        Trouble::Partition(error) => Failure::Usage(error.to_string()),
        Trouble::Liveness => Failure::Usage(trouble.to_string()),
        Trouble::Open(error @ (OpenError::Locked | OpenError::OtherModel { .. })) => {
            Failure::Usage(error.to_string())
        }
        Trouble::Open(error) => Failure::Damaged(error.to_string()),
        Trouble::NothingToResume => Failure::Damaged(trouble.to_string()),
        Trouble::Read(error) => Failure::Damaged(error.to_string()),
    }
}

fn outcome(
    args: &CheckArgs,
    plan: &Plan,
    reduced: &Reduced,
    report: &Report,
    trace: Option<&TraceView>,
    startup_seconds: f64,
    begun: Instant,
) -> Outcome {
    let (verdict, mut reason, property) = reason(report, trace, plan.memory);
    let (model, reductions) = (reduced.model(), reduced.names.clone());
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
        trace_length: trace
            .filter(|t| !t.steps.is_empty())
            .map(|t| t.steps.len() as u64 - 1 + u64::from(t.ends_in_action())),
        seconds: begun.elapsed().as_secs_f64(),
        startup_seconds,
        cpu_seconds: cpu_seconds(),
        startup_cpu_seconds: 0.0,
        peak_memory_bytes: peak_resident(),
        startup_peak_memory_bytes: 0,
        warnings: Vec::new(),
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
        strategy: if plan.directed.is_some() { "directed".into() } else { plan.strategy.name() },
        symmetry: match model.symmetry().map(|s| s.mode()) {
            None | Some(SymmetryMode::Off) => "off",
            Some(SymmetryMode::Heuristic) => "heuristic",
            Some(SymmetryMode::Exact | SymmetryMode::Auto) => "exact",
        },
        reductions,
        reduction_notes: reduced.notes.clone(),
        threads: match &plan.directed {
            // Alone in RAM there is one.
            Some(directed) if !directed.races() && report.disk.is_none() => 1,
            _ => plan.threads,
        },
        run: None,
        state_bits: model.bits(),
        state_bytes: model.words() as u64 * 8,
        layers: report.layers.clone(),
        covers,
        actions: report.actions.clone(),
        read_cost: report.disk.and_then(|d| d.read_cost),
        buckets: report.disk.and_then(|d| d.buckets),
        partition: report.partition.clone(),
        directed: report.directed.clone(),
        decisions: Vec::new(),
        trace: trace.filter(|_| args.output.json).map(|t| t.json(detail)),
        ..Outcome::default()
    }
}

pub(crate) fn show(args: &CheckArgs, outcome: &Outcome, trace: Option<&TraceView>) -> Result<(), Failure> {
    let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
    if args.output.json {
        // The outcome is plain data: it always serialises.
        return print(&serde_json::to_string_pretty(outcome).unwrap_or_default());
    }
    match (trace, args.output.trace) {
        (Some(trace), TraceFormat::Text) => {
            print(&format!("{}\n{}", trace.text(detail), outcome.text()))?;
        }
        // A trace for a program or a browser has standard output to itself.
        (Some(trace), TraceFormat::Json) => {
            print(&serde_json::to_string_pretty(&trace.json(detail)).unwrap_or_default())?;
            eprintln!("{}", outcome.text());
        }
        (Some(trace), TraceFormat::Html) => {
            print(&trace.html())?;
            eprintln!("{}", outcome.text());
        }
        (None, _) => print(&outcome.text())?,
    }
    if args.output.explain {
        eprintln!("{}", outcome.explanation());
    }
    Ok(())
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // Whoever reads has seen enough; the exit code still says the verdict.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::File { path: "standard output".into(), error }),
    }
}
