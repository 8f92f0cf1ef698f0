//! `hadal plan`: a domain and a problem in, a plan out; or a priced model in real time in, its cheapest run out.

mod places;
mod show;

use crate::args::ResumeArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::timed::plan::TimedPlanArgs;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hadal_check::CheckError;
use hadal_check::memory::{default_memory, default_threads, resident};
use hadal_check::options::parse_size;
use hadal_check::units::parse_time;
use hadal_lang::diagnostic::render_plain;
use hadal_lang::language::Language;
use hadal_lang::pddl::{self, NotLoaded, SoftGoals};
use hadal_plan::{
    Abstraction, Answer, ENGINES, Engine, Found, GUIDES, GuideChoice, Kept, OnDisk, Outcome, PlanError,
    Planner, decimal,
};
use hadal_search::{Control, Limits, StopReason};
use hadal_store::Governor;
use hadal_system::Source;
use places::{About, Places};
use show::{Around, found_line, show, show_stopped, show_too_large};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the program and a small task take besides the budget.
const PROGRAM_ALLOWANCE: u64 = 14 << 20;
/// A search has this much at least.
const LEAST_LEFT: u64 = 8 << 20;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal plan domain.pddl problem.pddl\n  \
    hadal plan domain.pddl problem.pddl --optimal --memory 2G\n  \
    hadal plan domain.pddl problem.pddl --time-limit 5m --plan best.plan\n  \
    hadal plan domain.pddl problem.pddl --engine external-ehc --memory 256M\n  \
    hadal plan landing.tck --order broadening   the cheapest run of a priced model in real time\n\n\
    EXIT CODES:\n  0 solved   1 proved unsolvable   2 wrong input or command   3 stopped by a limit, resumable   \
    4 internal error   130 interrupted, resumable")]
pub struct PlanArgs {
    /// The PDDL domain; or a real-time model (.tck, .xta, .xml), alone.
    pub domain: PathBuf,
    /// The PDDL problem.
    pub problem: Option<PathBuf>,
    /// Find a plan and prove that none is better.
    #[arg(long)]
    pub optimal: bool,
    /// The search (docs/planning.md says when to use which).
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = engines())]
    pub engine: Engine,
    /// The heuristic of the search for a best plan (docs/planning.md).
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = guides())]
    pub guide: GuideChoice,
    /// Start on disk, as if memory had run out.
    #[arg(long)]
    pub external: bool,
    /// Stop at the first plan instead of improving it.
    #[arg(long, conflicts_with = "optimal")]
    pub first: bool,
    /// Leave out variables that can always be brought to the value needed, and put their steps back into the plan. Finds
    /// a plan if there is one, often in fewer states, seldom a short one.
    #[arg(long, conflicts_with = "optimal")]
    pub safe_abstraction: bool,
    /// Memory budget, e.g. 500M or 8G. Default: three quarters of what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Stop after this time, e.g. 90s, 10m, 2h. Without --optimal, plans are improved until then.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Expand layers up to, not including, this depth; for the breadth-first engines blind, branch-and-bound and cost-bfs.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Threads of the search on disk. Default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Folder for runs, once a search needs the disk. If this option is given, a finished run is kept.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Limit on the size of the run's folder, e.g. 20G. Default: what is free on the disk.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk_limit: Option<u64>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write the plan to this file.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Write the plan to this file as a page for the browser: each step, what it changes and which objects take part.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Report which searches ran.
    #[arg(long)]
    pub explain: bool,
    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Questions of models in real time.
    #[command(flatten)]
    pub timed: TimedPlanArgs,
}

/// The engines by name, with what each does.
fn engines() -> impl TypedValueParser<Value = Engine> {
    let values = ENGINES.iter().map(|info| PossibleValue::new(info.name).help(info.what));
    PossibleValuesParser::new(values).map(|name| Engine::named(&name).unwrap_or_default())
}

/// The guides by name, with what each is.
fn guides() -> impl TypedValueParser<Value = GuideChoice> {
    let values = GUIDES.iter().map(|guide| PossibleValue::new(guide.name).help(guide.help));
    PossibleValuesParser::new(values).map(|name| GuideChoice::named(&name).unwrap_or_default())
}

impl PlanArgs {
    /// Whether a proof is asked for.
    fn wants_best(&self) -> bool {
        self.optimal || self.engine.proves()
    }

    /// Whether the only file is a model in real time.
    fn is_timed(&self) -> bool {
        let language = Language::of(&self.domain);
        self.problem.is_none() && language.is_some_and(|it| ["TChecker", "UPPAAL"].contains(&it.name))
    }

    /// Whether everything given goes together.
    fn check(&self) -> Result<(), Failure> {
        let wrong = |what: &str| Err(Failure::Usage(what.to_owned()));
        if self.is_timed() {
            let pddl = self.optimal
                || self.engine != Engine::Auto
                || self.guide != GuideChoice::default()
                || self.external
                || self.first
                || self.safe_abstraction
                || self.max_depth.is_some()
                || self.plan.is_some()
                || self.html.is_some();
            return match pddl {
                true => wrong(
                    "--optimal, --first, --engine, --guide, --external, --safe-abstraction, --max-depth, --plan and --html are for \
                     tasks in PDDL; the run of a model in real time is always a cheapest one",
                ),
                false => Ok(()),
            };
        }
        if self.problem.is_none() {
            return wrong("a task in PDDL is two files: hadal plan DOMAIN PROBLEM");
        }
        if self.timed.is_given() {
            return wrong(
                "-D, --property, --label, --order, --coverage, --upper-bound and --gantt are for models in real time",
            );
        }
        if self.optimal && self.engine != Engine::Auto && !self.engine.proves() {
            return Err(Failure::Usage(format!(
                "--engine {} finds plans without a proof: leave --optimal out, or choose another engine",
                self.engine.info().name
            )));
        }
        if self.safe_abstraction && self.engine.proves() {
            return wrong(
                "--safe-abstraction finds plans without a proof: choose another engine, or leave it out",
            );
        }
        let layered = [Engine::Blind, Engine::BranchAndBound, Engine::CostBreadth].contains(&self.engine);
        if self.max_depth.is_some() && !layered {
            return wrong("--max-depth is for the engines blind, branch-and-bound and cost-bfs");
        }
        Ok(())
    }
}

impl PlanArgs {
    /// Nothing but a model or domain.
    pub fn of_model(domain: PathBuf) -> Self {
        PlanArgs {
            domain,
            problem: None,
            optimal: false,
            engine: Engine::Auto,
            guide: GuideChoice::default(),
            external: false,
            first: false,
            safe_abstraction: false,
            memory: None,
            time_limit: None,
            max_depth: None,
            threads: None,
            disk: None,
            disk_limit: None,
            json: false,
            plan: None,
            html: None,
            explain: false,
            quiet: false,
            timed: TimedPlanArgs::default(),
        }
    }
}

/// Goes on with a run; `None` where it is no run of `plan`.
pub fn resume(args: &ResumeArgs, about: &serde_json::Value) -> Option<Result<u8, Failure>> {
    if let Some(resumed) = crate::timed::plan::resume(args, about) {
        return Some(resumed);
    }
    let about: About = serde_json::from_value(about.clone()).ok()?;
    let limits = &args.limits;
    let resumed = about.resumed(&args.run);
    let again = PlanArgs {
        problem: Some(about.plan.problem),
        optimal: about.plan.optimal,
        engine: Engine::named(&about.plan.engine)?,
        first: about.plan.first,
        safe_abstraction: about.plan.safe_abstraction,
        memory: limits.memory,
        time_limit: limits.time_limit,
        max_depth: limits.max_depth,
        threads: limits.threads,
        disk_limit: limits.disk_limit,
        json: args.output.json,
        plan: about.plan.plan,
        html: about.plan.html,
        explain: args.output.explain,
        quiet: args.output.quiet,
        ..PlanArgs::of_model(about.plan.domain)
    };
    Some(carry_out(&again, Some((&args.run, resumed))))
}

/// Runs the command; returns the exit code.
pub fn run(args: &PlanArgs) -> Result<u8, Failure> {
    args.check()?;
    if args.is_timed() {
        return crate::timed::plan::run(args);
    }
    carry_out(args, None)
}

fn carry_out(args: &PlanArgs, resumed: Option<(&PathBuf, hadal_plan::Resumed)>) -> Result<u8, Failure> {
    let begun = Instant::now();
    let memory = args.memory.unwrap_or_else(default_memory);
    let (domain, problem) = (read(&args.domain)?, read(args.problem.as_deref().unwrap_or(&args.domain))?);
    let soft = match args.engine {
        Engine::CostBreadth => SoftGoals::AtEnd,
        _ => SoftGoals::Collect,
    };
    let deadline = args.time_limit.and_then(|limit| begun.checked_add(limit));
    let options = pddl::Options { memory: memory as usize / 2, soft, deadline, ..pddl::Options::default() };
    let loaded = match pddl::load(domain.clone(), problem.clone(), options) {
        Ok(loaded) => loaded,
        Err(stopped @ NotLoaded::Stopped(_)) => {
            show_stopped(args, &stopped.to_string(), memory)?;
            return Ok(3);
        }
        Err(NotLoaded::Refused(refused)) => {
            return Err(Failure::from(&refused));
        }
    };
    let mut warnings: Vec<String> =
        loaded.warnings.iter().map(|(source, finding)| render_plain(source, finding)).collect();
    if !args.quiet && !args.json {
        warnings.iter().for_each(|warning| crate::output::note!("{warning}"));
    }
    let startup = begun.elapsed().as_secs_f64();
    let limits = Limits {
        time: args.time_limit.map(|limit| limit.saturating_sub(begun.elapsed())),
        max_depth: args.max_depth,
        ..Limits::default()
    };
    let control = Arc::new(Control::new(limits));
    let interrupt = Arc::clone(&control);
    ctrlc::set_handler(move || interrupt.interrupt())
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
    let task_bytes = resident().saturating_sub(PROGRAM_ALLOWANCE);
    let Some(budget) = memory.checked_sub(task_bytes).filter(|&left| left >= LEAST_LEFT) else {
        show_too_large(args, task_bytes, memory)?;
        return Ok(3);
    };
    let governor = Governor::new(budget);
    let progress = Progress::new(args.quiet || args.json, None)?;
    let (run, resumed) = resumed.unzip();
    let places = Places::new(args, run.map(PathBuf::as_path));
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let open = |kept: &Kept| places.open(kept, &governor);
    let overflowed = || places.note_overflow();
    let announce = |found: &Found| progress.line(&found_line(found));
    let planner = Planner {
        control: &control,
        governor: &governor,
        disk: OnDisk { open: &open, overflowed: &overflowed, resumed, threads },
        optimal: args.optimal,
        external: args.external,
        first: args.first,
        engine: args.engine,
        guide: args.guide,
        abstraction: match args.safe_abstraction {
            true => Abstraction::Safe,
            false => Abstraction::Whole,
        },
        resident,
        announce: &announce,
    };
    let outcome = progress.during(&control, &governor, || planner.solve(loaded.task)).map_err(failure)?;
    progress.tell(&control);
    let run = places.finish(matches!(outcome.answer, Answer::Stopped(_)));
    validate(&domain, &problem, &outcome)?;
    write_plan(args, &outcome)?;
    warnings.extend(control.warnings());
    show(args, &outcome, Around { begun, startup, memory, threads, run, warnings })?;
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
    Ok(Source::new(path.display().to_string(), text))
}

/// Writes the plan to the files that were asked for.
fn write_plan(args: &PlanArgs, outcome: &Outcome) -> Result<(), Failure> {
    let Some(plan) = &outcome.plan else { return Ok(()) };
    let write = |path: &PathBuf, text: String| {
        std::fs::write(path, text).map_err(|error| Failure::File { path: path.clone(), error })
    };
    if let Some(path) = &args.plan {
        write(path, plan.text(&outcome.task))?;
    }
    if let Some(path) = &args.html {
        let page =
            hadal_plan::html(plan, &outcome.task).map_err(|error| Failure::Internal(error.to_string()))?;
        write(path, page)?;
    }
    Ok(())
}

/// Checks the plan on the lifted task, which shares nothing with what found it.
fn validate(domain: &Source, problem: &Source, outcome: &Outcome) -> Result<(), Failure> {
    let Some(plan) = &outcome.plan else { return Ok(()) };
    let checked = pddl::validate(domain, problem, &plan.text(&outcome.task))
        .map_err(|refused| Failure::from(&refused))?;
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
        PlanError::Task(_) | PlanError::Fault | PlanError::Unsuited { .. } => {
            Failure::Usage(error.to_string())
        }
        PlanError::Snapshot(_) => Failure::Damaged(error.to_string()),
        PlanError::Replay(_) => Failure::Internal(error.to_string()),
        PlanError::Disk(trouble) => CheckError::from(trouble).into(),
    }
}
