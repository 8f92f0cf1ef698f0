//! Arguments of `plan`, as they are typed, and which of them go together.

use super::show::show_stopped;
use crate::args::{LimitArgs, OutputArgs};
use crate::failure::Failure;
use crate::reading::{Reading, Room};
use crate::timed::plan::TimedPlanArgs;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hadal_check::memory::default_memory;
use hadal_check::options::parse_size;
use hadal_check::units::parse_time;
use hadal_lang::language::Language;
use hadal_plan::{ENGINES, Engine, GUIDES, GuideChoice};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "EXAMPLES:\n  \
    hadal plan domain.pddl problem.pddl\n  \
    hadal plan domain.pddl problem.pddl --optimal --memory 2G\n  \
    hadal plan domain.pddl problem.pddl --time-limit 5m --plan best.plan\n  \
    hadal plan domain.pddl problem.pddl --engine external-ehc --memory 256M\n  \
    hadal plan landing.tck --order broadening   the cheapest run of a priced model in real time\n\n\
    EXIT CODES:\n  0 solved   1 proved unsolvable   2 wrong input or command   3 stopped by a limit, resumable   \
    4 internal error   130 interrupted, resumable")]
pub struct PlanArgs {
    /// Which task.
    #[command(flatten)]
    pub task: TaskArgs,
    /// How a plan is looked for.
    #[command(flatten, next_help_heading = "Search")]
    pub search: SearchArgs,
    /// How much that may take.
    #[command(flatten, next_help_heading = "Limits")]
    pub room: RoomArgs,
    /// What is written.
    #[command(flatten, next_help_heading = "Output")]
    pub written: WrittenArgs,
    /// Questions of models in real time.
    #[command(flatten, next_help_heading = "Real time")]
    pub timed: TimedPlanArgs,
}

/// Which task.
#[derive(Args, Clone, Debug, Default)]
pub struct TaskArgs {
    /// The PDDL domain; or a real-time model (.tck, .xta, .xml), alone.
    pub domain: PathBuf,
    /// The PDDL problem.
    pub problem: Option<PathBuf>,
}

/// How a plan is looked for.
#[derive(Args, Clone, Debug, Default)]
pub struct SearchArgs {
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
}

/// How much the search may take.
#[derive(Args, Clone, Debug, Default)]
pub struct RoomArgs {
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
}

/// What is written.
#[derive(Args, Clone, Debug, Default)]
pub struct WrittenArgs {
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
}

impl From<&LimitArgs> for RoomArgs {
    fn from(limits: &LimitArgs) -> Self {
        RoomArgs {
            memory: limits.memory,
            time_limit: limits.time_limit,
            max_depth: limits.max_depth,
            threads: limits.threads,
            disk: None,
            disk_limit: limits.disk_limit,
        }
    }
}

impl RoomArgs {
    /// What is given, in words that the command line reads.
    pub fn spelled(&self) -> serde_json::Map<String, serde_json::Value> {
        let limits = LimitArgs {
            memory: self.memory,
            threads: self.threads,
            time_limit: self.time_limit,
            max_depth: self.max_depth,
            disk_limit: self.disk_limit,
            ..LimitArgs::default()
        };
        let mut spelled = limits.spelled();
        if let Some(disk) = &self.disk {
            spelled.insert("disk".into(), disk.display().to_string().into());
        }
        spelled
    }
}

impl From<&OutputArgs> for WrittenArgs {
    fn from(output: &OutputArgs) -> Self {
        WrittenArgs {
            json: output.json,
            explain: output.explain,
            quiet: output.quiet,
            ..WrittenArgs::default()
        }
    }
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
    /// Watches over reading the files: ends the process as stopped where a limit is met.
    pub fn reading(&self) -> Reading {
        let files: Vec<&Path> =
            std::iter::once(&self.task.domain).chain(&self.task.problem).map(PathBuf::as_path).collect();
        let memory = self.room.memory.unwrap_or_else(default_memory);
        // Grounding looks at the clock itself, and says more.
        let time = self.room.time_limit.map(|limit| limit.saturating_add(Duration::from_secs(1)));
        let room = Room { memory: Some(memory), time };
        let args = self.clone();
        // The exit code says the same where nobody reads.
        Reading::begin(&files, room, move |why| drop(show_stopped(&args, why, memory)))
    }

    /// Whether a proof is asked for.
    pub(super) fn wants_best(&self) -> bool {
        self.search.optimal || self.search.engine.proves()
    }

    /// Whether the only file is a model in real time.
    pub(super) fn is_timed(&self) -> bool {
        let language = Language::of(&self.task.domain);
        self.task.problem.is_none() && language.is_some_and(|it| ["TChecker", "UPPAAL"].contains(&it.name))
    }

    /// Whether everything given goes together.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let wrong = |what: &str| Err(Failure::Usage(what.to_owned()));
        if self.is_timed() {
            let pddl = self.search.optimal
                || self.search.engine != Engine::Auto
                || self.search.guide != GuideChoice::default()
                || self.search.external
                || self.search.first
                || self.search.safe_abstraction
                || self.room.max_depth.is_some()
                || self.written.plan.is_some()
                || self.written.html.is_some();
            return match pddl {
                true => wrong(
                    "--optimal, --first, --engine, --guide, --external, --safe-abstraction, --max-depth, --plan and --html are for \
                     tasks in PDDL; the run of a model in real time is always a cheapest one",
                ),
                false => Ok(()),
            };
        }
        if self.task.problem.is_none() {
            return wrong("a task in PDDL is two files: hadal plan DOMAIN PROBLEM");
        }
        if self.timed.is_given() {
            return wrong(
                "-D, --property, --label, --order, --coverage, --upper-bound and --gantt are for models in real time",
            );
        }
        if self.search.optimal && self.search.engine != Engine::Auto && !self.search.engine.proves() {
            return Err(Failure::Usage(format!(
                "--engine {} finds plans without a proof: leave --optimal out, or choose another engine",
                self.search.engine.info().name
            )));
        }
        if self.search.safe_abstraction && self.search.engine.proves() {
            return wrong(
                "--safe-abstraction finds plans without a proof: choose another engine, or leave it out",
            );
        }
        let layered =
            [Engine::Blind, Engine::BranchAndBound, Engine::CostBreadth].contains(&self.search.engine);
        if self.room.max_depth.is_some() && !layered {
            return wrong("--max-depth is for the engines blind, branch-and-bound and cost-bfs");
        }
        Ok(())
    }
}
