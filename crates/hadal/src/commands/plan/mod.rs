//! `hadal plan`: a domain and a problem in, a plan out; or a priced model in real time in, its cheapest run out.

mod arguments;
mod places;
mod show;

pub use arguments::{PlanArgs, RoomArgs, TaskArgs, WrittenArgs};

use crate::args::ResumeArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use arguments::SearchArgs;
use hadal_check::CheckError;
use hadal_check::memory::{default_memory, default_threads, resident};
use hadal_check::usage::give_back;
use hadal_lang::diagnostic::render_plain;
use hadal_lang::pddl::{self, NotLoaded, SoftGoals};
use hadal_plan::{
    Abstraction, Answer, Engine, Found, GuideChoice, Kept, OnDisk, Outcome, PlanError, Planner, decimal,
};
use hadal_search::{Control, Limits, StopReason};
use hadal_store::Governor;
use hadal_system::Source;
use places::{About, Ending, Places};
use show::{Around, found_line, show, show_stopped, show_too_large};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What the program and a small task take besides the budget.
const PROGRAM_ALLOWANCE: u64 = 14 << 20;
/// A search has this much at least.
const LEAST_LEFT: u64 = 8 << 20;

/// Goes on with a run; `None` where it is no run of `plan`.
pub fn resume(args: &ResumeArgs, about: &serde_json::Value) -> Option<Result<u8, Failure>> {
    if let Some(resumed) = crate::timed::plan::resume(args, about) {
        return Some(resumed);
    }
    let about: About = serde_json::from_value(about.clone()).ok()?;
    let resumed = about.resumed(&args.run);
    let kept = about.plan;
    let again = PlanArgs {
        task: TaskArgs { domain: kept.domain, problem: Some(kept.problem) },
        search: SearchArgs {
            optimal: kept.optimal,
            engine: Engine::named(&kept.engine)?,
            first: kept.first,
            safe_abstraction: kept.safe_abstraction,
            external: kept.external,
            guide: GuideChoice::named(&kept.guide).unwrap_or_default(),
        },
        room: RoomArgs::from(&args.limits),
        written: WrittenArgs { plan: kept.plan, html: kept.html, ..WrittenArgs::from(&args.output) },
        ..PlanArgs::default()
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
    let memory = args.room.memory.unwrap_or_else(default_memory);
    let reading = args.reading();
    let (domain, problem) =
        (read(&args.task.domain)?, read(args.task.problem.as_deref().unwrap_or(&args.task.domain))?);
    let soft = match args.search.engine {
        Engine::CostBreadth => SoftGoals::AtEnd,
        _ => SoftGoals::Collect,
    };
    let deadline = args.room.time_limit.and_then(|limit| begun.checked_add(limit));
    let options = pddl::Options {
        memory: memory.saturating_add(PROGRAM_ALLOWANCE) as usize,
        held: resident,
        soft,
        deadline,
        ..pddl::Options::default()
    };
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
    drop(reading);
    give_back();
    let mut warnings: Vec<String> =
        loaded.warnings.iter().map(|(source, finding)| render_plain(source, finding)).collect();
    if !args.written.quiet && !args.written.json {
        warnings.iter().for_each(|warning| crate::output::note!("{warning}"));
    }
    let startup = begun.elapsed().as_secs_f64();
    let limits = Limits {
        time: args.room.time_limit.map(|limit| limit.saturating_sub(begun.elapsed())),
        max_depth: args.room.max_depth,
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
    let progress = Progress::new(args.written.quiet || args.written.json, None)?;
    let (run, resumed) = resumed.unzip();
    let places = Places::new(args, run.map(PathBuf::as_path));
    let threads = args.room.threads.map_or_else(default_threads, usize::from);
    let open = |kept: &Kept| places.open(kept, &governor);
    let overflowed = || places.note_overflow();
    let announce = |found: &Found| progress.line(&found_line(found));
    let planner = Planner {
        control: &control,
        governor: &governor,
        disk: OnDisk { open: &open, overflowed: &overflowed, resumed, threads },
        optimal: args.search.optimal,
        external: args.search.external,
        first: args.search.first,
        engine: args.search.engine,
        guide: args.search.guide,
        abstraction: match args.search.safe_abstraction {
            true => Abstraction::Safe,
            false => Abstraction::Whole,
        },
        resident,
        announce: &announce,
    };
    let outcome = match progress.during(&control, &governor, || planner.solve(loaded.task)) {
        Err(PlanError::TooLarge { bytes }) => {
            show_too_large(args, task_bytes.saturating_add(bytes), memory)?;
            return Ok(3);
        }
        outcome => outcome.map_err(failure)?,
    };
    progress.tell(&control);
    let run = places.finish(match outcome.answer {
        Answer::Solved => Ending::Over("solved"),
        Answer::Unsolvable => Ending::Over("unsolvable"),
        Answer::Stopped(_) => Ending::Resumable,
    });
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
    if let Some(path) = &args.written.plan {
        write(path, plan.text(&outcome.task))?;
    }
    if let Some(path) = &args.written.html {
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
        PlanError::Task(_) | PlanError::Fault | PlanError::TooLarge { .. } | PlanError::Unsuited { .. } => {
            Failure::Usage(error.to_string())
        }
        PlanError::Snapshot(_) => Failure::Damaged(error.to_string()),
        PlanError::Replay(_) => Failure::Internal(error.to_string()),
        PlanError::Disk(trouble) => CheckError::from(trouble).into(),
    }
}
