//! `hadal plan`: a domain and a problem in, a plan out.

use crate::args::ResumeArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use clap::Args;
use hadal_check::folder::is_left_over;
use hadal_check::memory::{default_memory, default_threads, peak_resident, resident};
use hadal_check::options::parse_size;
use hadal_check::units::parse_time;
use hadal_check::usage::cpu_seconds;
use hadal_check::{CheckError, RunPlace};
use hadal_lang::diagnostic::render_plain;
use hadal_lang::language::render_refusal;
use hadal_lang::pddl;
use hadal_plan::{Answer, Kept, OnDisk, Outcome, PlanError, Planner, decimal};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Control, Limits, StopReason};
use hadal_store::Governor;
use hadal_system::Source;
use hadal_system::rows::Rational;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where run folders are kept unless `--disk` says otherwise.
const DEFAULT_DISK: &str = ".hadal";
/// What the program and a small task take besides the budget.
const PROGRAM_ALLOWANCE: u64 = 14 << 20;
/// A search has this much at least.
const LEAST_LEFT: u64 = 8 << 20;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal plan domain.pddl problem.pddl\n  \
    hadal plan domain.pddl problem.pddl --optimal --memory 2G\n  \
    hadal plan domain.pddl problem.pddl --time-limit 5m --plan best.plan\n\n\
    EXIT CODES:\n  0 solved   1 proved unsolvable   2 wrong input or command   3 stopped by a limit   4 internal error")]
pub struct PlanArgs {
    /// The domain, in PDDL.
    pub domain: PathBuf,
    /// The problem, in PDDL.
    pub problem: PathBuf,
    /// Find a plan of which it is proved that none is better.
    #[arg(long)]
    pub optimal: bool,
    /// Begin on disk, as if memory were used up.
    #[arg(long)]
    pub external: bool,
    /// Memory budget, e.g. 500M or 8G. Default: three quarters of what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Stop after this time, e.g. 90s, 10m, 2h. Without --optimal, plans are improved until then.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Threads on disk. Default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Where run folders are kept, once a search needs the disk. A run given a folder by name is kept when it is done.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Most bytes in the run's folder, e.g. 20G. Default: what the disk has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk_limit: Option<u64>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write the plan to this file.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Write the plan as a page for the browser to this file: each step, what it changes, and which objects take part.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Say which searches were done.
    #[arg(long)]
    pub explain: bool,
    /// No progress display.
    #[arg(long, short)]
    pub quiet: bool,
}

/// The part of a command that decides what is searched: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
pub struct About {
    /// Tells it from a run of `check`.
    plan: Asked,
    /// The rows of the plan that a better one is looked for.
    best: Option<Vec<u32>>,
}

#[derive(Serialize, Deserialize)]
struct Asked {
    domain: PathBuf,
    problem: PathBuf,
    optimal: bool,
}

/// The run folders of one command: searches for better ends may need one each.
struct Places<'a> {
    args: &'a PlanArgs,
    resumed: Option<&'a Path>,
    places: RefCell<Vec<RunPlace>>,
}

impl Places<'_> {
    fn open(&self, kept: &Kept, governor: &Governor) -> Result<Ledger, Trouble> {
        let absolute = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let about = About {
            plan: Asked {
                domain: absolute(&self.args.domain),
                problem: absolute(&self.args.problem),
                optimal: self.args.optimal,
            },
            best: kept.best.clone(),
        };
        // Paths and numbers always serialise.
        let about = serde_json::to_value(about).unwrap_or_default();
        let mut places = self.places.borrow_mut();
        let place = match (places.first(), self.resumed) {
            (None, Some(path)) => RunPlace::existing(path),
            (None, None) => {
                let parent = self.args.disk.as_deref().unwrap_or(Path::new(DEFAULT_DISK));
                let stem = self.args.problem.file_stem().unwrap_or_default().to_string_lossy();
                RunPlace::new(parent, &stem)
            }
            (Some(first), _) => first.beside(&format!("again{}", places.len())),
        }
        .limited_to(self.args.disk_limit);
        let ledger = match kept.resumed {
            true => place.open(governor, kept.fingerprint, &about),
            false => place.create(governor, kept.fingerprint, &about),
        };
        places.push(place);
        ledger
    }

    /// Removes folders that nobody needs; the path of the one that can be resumed.
    fn finish(&self, resumable: bool) -> Option<String> {
        let mut places = self.places.take();
        let last = places.pop()?;
        places.iter().filter(|place| place.is_used()).for_each(forget);
        let kept = last.is_used()
            && !is_left_over(&last.path)
            && (resumable || self.resumed.is_some() || self.args.disk.is_some());
        if !kept && last.is_used() {
            forget(&last);
        }
        kept.then(|| last.path.display().to_string())
    }
}

/// Removes a folder that nobody needs.
fn forget(place: &RunPlace) {
    if let Err(error) = place.remove() {
        eprintln!("warning: cannot remove {}: {error}", place.path.display());
    }
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Shown {
    verdict: &'static str,
    reason: String,
    cost: Option<serde_json::Number>,
    optimal: bool,
    plan_length: Option<u64>,
    plan: Option<Vec<String>>,
    lower_bound: Option<serde_json::Number>,
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
    searches: Vec<String>,
    floating_point: bool,
    rows: u64,
    variables: u64,
    state_bytes: u64,
    threads: u64,
    run: Option<String>,
    warnings: Vec<String>,
}

/// Goes on with a run; `None` where it is no run of `plan`.
pub fn resume(args: &ResumeArgs, about: &serde_json::Value) -> Option<Result<u8, Failure>> {
    let About { plan, best } = serde_json::from_value(about.clone()).ok()?;
    let limits = &args.limits;
    let again = PlanArgs {
        domain: plan.domain,
        problem: plan.problem,
        optimal: plan.optimal,
        external: true,
        memory: limits.memory,
        time_limit: limits.time_limit,
        threads: limits.threads,
        disk: None,
        disk_limit: limits.disk_limit,
        json: args.output.json,
        plan: None,
        html: None,
        explain: args.output.explain,
        quiet: args.output.quiet,
    };
    Some(carry_out(&again, Some((&args.run, best))))
}

/// Runs the command; returns the exit code.
pub fn run(args: &PlanArgs) -> Result<u8, Failure> {
    carry_out(args, None)
}

fn carry_out(args: &PlanArgs, resumed: Option<(&PathBuf, Option<Vec<u32>>)>) -> Result<u8, Failure> {
    let begun = Instant::now();
    let memory = args.memory.unwrap_or_else(default_memory);
    let (domain, problem) = (read(&args.domain)?, read(&args.problem)?);
    let options = pddl::Options { memory: memory as usize / 2, ..pddl::Options::default() };
    let loaded = pddl::load(domain.clone(), problem.clone(), options)
        .map_err(|refused| Failure::Refused { rendered: render_refusal(&refused) })?;
    let warnings: Vec<String> =
        loaded.warnings.iter().map(|(source, finding)| render_plain(source, finding)).collect();
    if !args.quiet && !args.json {
        warnings.iter().for_each(|warning| eprintln!("{warning}"));
    }
    let startup = begun.elapsed().as_secs_f64();
    let limits = Limits {
        time: args.time_limit.map(|limit| limit.saturating_sub(begun.elapsed())),
        ..Limits::default()
    };
    let control = Arc::new(Control::new(limits));
    let interrupt = Arc::clone(&control);
    ctrlc::set_handler(move || interrupt.interrupt())
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
    let governor = Governor::new(search_budget(memory)?);
    let progress = Progress::new(args.quiet || args.json, None)?;
    let (rows, variables) = (loaded.task.rows.len() as u64, loaded.task.variables.len() as u64);
    let run = resumed.as_ref().map(|(path, _)| path.as_path());
    let places = Places { args, resumed: run, places: RefCell::default() };
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let open = |kept: &Kept| places.open(kept, &governor);
    let best = resumed.as_ref().and_then(|(_, best)| best.clone());
    let disk = OnDisk { open: &open, resumed: resumed.is_some(), best, threads };
    let planner = Planner {
        control: &control,
        governor: &governor,
        disk,
        optimal: args.optimal,
        external: args.external,
    };
    let outcome = progress.during(&control, &governor, || planner.solve(loaded.task)).map_err(failure)?;
    progress.tell(&control);
    let run = places.finish(matches!(outcome.answer, Answer::Stopped(_)));
    validate(&domain, &problem, &outcome)?;
    if let (Some(path), Some(plan)) = (&args.plan, &outcome.plan) {
        std::fs::write(path, plan.text(&outcome.task))
            .map_err(|error| Failure::File { path: path.clone(), error })?;
    }
    if let (Some(path), Some(plan)) = (&args.html, &outcome.plan) {
        let page =
            hadal_plan::html(plan, &outcome.task).map_err(|error| Failure::Internal(error.to_string()))?;
        std::fs::write(path, page).map_err(|error| Failure::File { path: path.clone(), error })?;
    }
    let shown = Shown {
        verdict: verdict(&outcome.answer),
        reason: reason(&outcome, memory),
        cost: outcome.plan.as_ref().and_then(|plan| number(plan.cost)),
        optimal: outcome.optimal,
        plan_length: outcome.plan.as_ref().map(|plan| plan.steps(&outcome.task).len() as u64),
        plan: outcome.plan.as_ref().map(|plan| plan.steps(&outcome.task)),
        lower_bound: outcome.lower_bound.and_then(number),
        states: outcome.figures.states,
        expanded: outcome.figures.expanded,
        evaluated: outcome.figures.evaluated,
        transitions: outcome.figures.generated,
        seconds: begun.elapsed().as_secs_f64(),
        startup_seconds: startup,
        cpu_seconds: cpu_seconds(),
        peak_memory_bytes: peak_resident(),
        memory_budget_bytes: memory,
        disk_bytes: outcome.disk_bytes,
        strategy: if args.optimal { "optimal" } else { "satisficing" },
        searches: outcome.searches.clone(),
        floating_point: outcome.floating,
        rows,
        variables,
        state_bytes: outcome.state_words as u64 * 8,
        threads: threads as u64,
        run,
        warnings,
    };
    show(args, &outcome, &shown)?;
    Ok(match outcome.answer {
        Answer::Solved => 0,
        Answer::Unsolvable => 1,
        Answer::Stopped(StopReason::Interrupted) => 130,
        Answer::Stopped(_) => 3,
    })
}

fn read(path: &Path) -> Result<Source, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    Ok(Source { name: path.display().to_string().into(), text: text.into() })
}

/// Checks the plan on the lifted task, which shares nothing with what found it.
fn validate(domain: &Source, problem: &Source, outcome: &Outcome) -> Result<(), Failure> {
    let Some(plan) = &outcome.plan else { return Ok(()) };
    let checked = pddl::validate(domain, problem, &plan.text(&outcome.task))
        .map_err(|refused| Failure::Refused { rendered: render_refusal(&refused) })?;
    if let Some(flaw) = checked.flaw {
        return Err(Failure::Internal(format!("the plan found does not validate: {}", flaw.reason)));
    }
    if !outcome.floating && checked.metric.is_some_and(|metric| metric != plan.cost) {
        let metric = checked.metric.map(decimal).unwrap_or_default();
        let message = format!("the plan found validates at {metric}, not at {}", decimal(plan.cost));
        return Err(Failure::Internal(message));
    }
    Ok(())
}

fn failure(error: PlanError) -> Failure {
    match error {
        PlanError::Task(error) => Failure::Usage(error.to_string()),
        PlanError::Fault => Failure::Usage(error.to_string()),
        PlanError::Replay(_) => Failure::Internal(error.to_string()),
        PlanError::Disk(trouble) => CheckError::from(trouble).into(),
    }
}

/// What is left of the budget beside a large task.
fn search_budget(memory: u64) -> Result<u64, Failure> {
    let task = resident().saturating_sub(PROGRAM_ALLOWANCE);
    memory.checked_sub(task).filter(|&left| left >= LEAST_LEFT).ok_or_else(|| {
        Failure::Usage(format!(
            "the task itself takes {} MiB of memory, which leaves too little of {} MiB to search with; give it more with \
             --memory",
            task >> 20,
            memory >> 20
        ))
    })
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
            format!("the memory budget of {} MiB is used up", memory >> 20)
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

fn show(args: &PlanArgs, outcome: &Outcome, shown: &Shown) -> Result<(), Failure> {
    if args.json {
        // Plain data always serialises.
        return print(&serde_json::to_string_pretty(shown).unwrap_or_default());
    }
    if args.explain {
        outcome.searches.iter().for_each(|search| eprintln!("{search}"));
    }
    if let Some(plan) = &outcome.plan {
        print(plan.text(&outcome.task).trim_end())?;
    }
    let bound = match (&outcome.answer, outcome.lower_bound) {
        (Answer::Stopped(_), Some(bound)) => format!("; no plan costs less than {}", decimal(bound)),
        _ => String::new(),
    };
    if let Some(run) = &shown.run {
        eprintln!("go on with: hadal resume {run}");
    }
    eprintln!(
        "{}: {}{bound} ({} states, {} evaluated, {:.2} s)",
        shown.verdict.to_uppercase(),
        shown.reason,
        shown.states,
        shown.evaluated,
        shown.seconds
    );
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
