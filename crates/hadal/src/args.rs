//! The command line as it is typed. [`hadal_check`] turns it into something validated.

use crate::paint::{Color, Paint};
use crate::settings::Settings;
use crate::timed::TimedArgs;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use hadal_check::formulas::Formulas;
use hadal_check::options::{Budget, parse_size};
use hadal_check::units::parse_time;
use hadal_check::{
    Detecting, Directing, Engine, Limits, Partitioning, Reductions, Running, Strategy, SymmetryMode,
};
use hadal_exec::model::ModelOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Explores state spaces deeper than memory: exact checking of models under a memory budget.
#[derive(Debug, Parser)]
#[command(
    name = "hadal",
    version,
    about,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "EXAMPLES:\n  \
        hadal check models/peterson.m               check everything the model asks\n  \
        hadal check cache.m -D NODES=4 --memory 2G  with another constant, in 2 GiB\n  \
        hadal check cache.m --json                  one JSON object for a script\n  \
        hadal simulate cache.m --random --steps 20  walk at random\n  \
        hadal inspect cache.m                       what hadal makes of the model\n\n\
        EXIT CODES:\n  0 holds   1 violated   2 wrong input or command   3 stopped by a limit   \
        4 internal error   130 interrupted"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: crate::commands::Verb,
}

/// What `-h` shows of a verb with many options, by the names of the arguments; `--help` shows all.
const SHORT_HELP: &[(&str, &[&str])] = &[
    (
        "check",
        &[
            "model",
            "define",
            "memory",
            "threads",
            "time_limit",
            "disk",
            "strategy",
            "property",
            "deadlock",
            "ltl",
            "por",
            "find",
            "json",
            "trace",
            "explain",
        ],
    ),
    (
        "plan",
        &[
            "domain",
            "problem",
            "optimal",
            "engine",
            "guide",
            "memory",
            "time_limit",
            "threads",
            "disk",
            "json",
            "plan",
            "html",
            "explain",
        ],
    ),
    ("bench", &["suite", "threads", "repeat", "clock", "only", "json", "html"]),
];

impl Cli {
    /// The command line, with short help that shows what matters.
    pub fn described() -> clap::Command {
        SHORT_HELP.iter().fold(Cli::command(), |command, (verb, shown)| {
            // A build may leave verbs out.
            if command.find_subcommand(verb).is_none() {
                return command;
            }
            command.mut_subcommand(*verb, |verb| {
                verb.mut_args(|arg| {
                    let keep = shown.contains(&arg.get_id().as_str());
                    if keep { arg } else { arg.hide_short_help(true) }
                })
            })
        })
    }
}

/// What a constant or parameter is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// A value.
    Number(i64),
    /// Text that macros of a family insert.
    Text(String),
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Number(value) => write!(f, "{value}"),
            Given::Text(text) => f.write_str(text),
        }
    }
}

/// Which model, and how to read it.
#[derive(Args, Clone, Debug)]
pub struct ModelArgs {
    /// The model.
    #[arg(help = format!("The model. The extension names the language: {}", hadal_lang::language::list()))]
    pub model: PathBuf,
    /// Give a constant of the model another value; may be repeated. A parameter of a family (.mdve) may be text.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// Reduce states that differ only by a permutation of scalarset values.
    #[arg(long, value_enum, default_value_t = Symmetry::Auto)]
    pub symmetry: Symmetry,
    /// DVE only: report a transition that raises an error (a byte out of range, say), or continue from an error state as
    /// DiVinE does.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ModelErrors::Report)]
    pub model_errors: ModelErrors,
    /// Promela only: how many processes of a type may live at once, where more are started than the text shows. Found by
    /// itself where it is not said: the search begins again with more room.
    #[arg(long, value_name = "TYPE=N", value_parser = parse_processes)]
    pub processes: Vec<(String, usize)>,
    /// Promela only: carry out statements that no other process sees together with the one before them, and forget values
    /// that are not needed any more, as SPIN does where it is not told otherwise.
    #[arg(long)]
    pub merge: bool,
    /// Run the model by interpretation instead of machine code (slow: for comparing the two).
    #[arg(long)]
    pub interpret: bool,
}

impl ModelArgs {
    /// How the model is to be run.
    pub fn model_options(&self) -> ModelOptions {
        ModelOptions {
            engine: if self.interpret { Engine::Interpreted } else { Engine::Compiled },
            symmetry: match self.symmetry {
                Symmetry::Off => SymmetryMode::Off,
                Symmetry::Heuristic => SymmetryMode::Heuristic,
                Symmetry::Exact => SymmetryMode::Exact,
                Symmetry::Auto => SymmetryMode::Auto,
            },
        }
    }
}

fn parse_processes(text: &str) -> Result<(String, usize), String> {
    match text.split_once('=').map(|(name, count)| (name, count.parse())) {
        Some((name, Ok(count @ 1..=255))) if !name.is_empty() => Ok((name.to_owned(), count)),
        _ => Err("write TYPE=N with N from 1 to 255".into()),
    }
}

/// What becomes of a DVE transition that raises an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum ModelErrors {
    /// It is reported.
    #[default]
    Report,
    /// Every variable becomes 0, the first process goes to a location `error`, and the search continues.
    State,
}

/// How far symmetry is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Symmetry {
    /// Every state for itself.
    Off,
    /// A fast normal form: may keep several states of an orbit.
    Heuristic,
    /// Exactly one state per orbit.
    Exact,
    /// Exact where it is affordable, else heuristic.
    Auto,
}

/// When a state is a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Deadlock {
    /// The language's own notion, which docs/languages names.
    On,
    /// Never.
    Off,
    /// No action can fire.
    Stuck,
    /// No action leads to another state.
    Stuttering,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// For reading.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// A page for the browser, complete in itself.
    Html,
    /// A message sequence chart: who sends what to whom.
    Msc,
}

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal check models/peterson.m\n  \
    hadal check german.m -D NODE_NUM=4 --memory 8G --threads 8\n  \
    hadal check buggy.m --trace html > trace.html\n  \
    hadal check buggy.m --find                 look where a guide says the error is near\n  \
    hadal check big.m --time-limit 10m --events progress.jsonl")]
pub struct CheckArgs {
    /// Which model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// How much it may take.
    #[command(flatten, next_help_heading = "Limits")]
    pub limits: LimitArgs,
    /// Where run folders are kept, once a search needs the disk. A run given a folder by name is kept when it is done.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// How states are visited and stored.
    #[arg(long, default_value_t = Strategy::default())]
    pub strategy: Strategy,
    /// Check only this property (by name); may be repeated. Errors of the model itself are always reported. Goals of a
    /// BEEM description beside the model are looked for only when they are named.
    #[arg(long, value_name = "NAME")]
    pub property: Vec<String>,
    /// Whether and how to look for deadlocks. Unless it is given: on, or off where properties are named.
    #[arg(long, value_enum)]
    pub deadlock: Option<Deadlock>,
    /// Report a violation of each property that has one, at most this many. Each has a search of its own; an error of the
    /// model itself ends the last.
    #[arg(id = "continue", long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub several: Option<u32>,
    /// Properties that an earlier search of the same command answered.
    #[arg(skip)]
    pub settled: Vec<String>,
    /// Formulas and claims.
    #[command(flatten, next_help_heading = "Temporal logic")]
    pub formulas: Formulas,
    /// Questions about infinite runs.
    #[command(flatten, next_help_heading = "Temporal logic")]
    pub running: Running,
    /// What is left out of the search.
    #[command(flatten, next_help_heading = "Reductions")]
    pub reduction: Reductions,
    /// Directed search.
    #[command(flatten, next_help_heading = "Directed search")]
    pub directed: Directing,
    /// How `--strategy part` works.
    #[command(flatten, next_help_heading = "Disk strategies")]
    pub partition: Partitioning,
    /// How the layered disk strategies work.
    #[command(flatten, next_help_heading = "Disk strategies")]
    pub detection: Detecting,
    /// Questions of models in real time.
    #[command(flatten, next_help_heading = "Real time")]
    pub timed: TimedArgs,
    /// What to print.
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputArgs,
}

/// How much a search may take.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Memory budget, e.g. 500M or 8G, at least 16M. Default: three quarters of what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Threads. Default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Stop after this time, e.g. 90s, 10m, 2h. A run that is resumed counts it from its first new layer: reading back what
    /// was explored before is not counted.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<std::time::Duration>,
    /// Stop at this many distinct states: in RAM a few hundred later at most, on disk at the end of the layer that reaches it.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Expand states up to, not including, this depth.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Most bytes in the run's folder, e.g. 20G. Default: what the disk has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk_limit: Option<u64>,
    /// What to do when the disk is full, or --disk-limit reached.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = WhenFull::Pause)]
    pub when_full: WhenFull,
}

/// What to do when the disk is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenFull {
    /// Stop with exit code 3, everything intact: `hadal resume` continues when there is room.
    #[default]
    Pause,
    /// Delete the oldest layers and continue: states in them may be counted again, which the verdict then says.
    DeleteLayers,
}

impl LimitArgs {
    /// For the check.
    pub fn budget(&self) -> Budget {
        Budget {
            memory: self.memory,
            threads: self.threads.map(usize::from),
            disk: self.disk_limit,
            limits: Limits {
                max_states: self.max_states,
                max_depth: self.max_depth,
                time: self.time_limit,
                when_full: match self.when_full {
                    WhenFull::Pause => hadal_check::WhenFull::Pause,
                    WhenFull::DeleteLayers => hadal_check::WhenFull::DeleteLayers,
                },
            },
        }
    }
}

/// What a search prints.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Print one JSON object on standard output (docs/json.md describes it).
    #[arg(long)]
    pub json: bool,
    /// Write progress as JSON lines to this file.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// How to write the trace of a violation.
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    pub trace: TraceFormat,
    /// Show whole states in the trace, not only what changed.
    #[arg(long)]
    pub full_states: bool,
    /// Say how states were stored, and why.
    #[arg(long)]
    pub explain: bool,
    /// Write the graph of a small state space to this file: .dot, .aut (Aldebaran) or .json.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    /// Write a page about the run to this file: layers, rates, what fired (docs/report.md).
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// No progress display.
    #[arg(long, short)]
    pub quiet: bool,
    /// What a file of settings beside the model said.
    #[arg(skip)]
    pub settings: Option<Settings>,
}

impl OutputArgs {
    /// Whether what is printed is coloured.
    pub fn paint(&self) -> Paint {
        self.color.paint()
    }
}

/// Arguments of `resume`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  hadal resume .hadal/german-1712345678901-42 --memory 4G --threads 8")]
pub struct ResumeArgs {
    /// The run's folder; `hadal runs` lists them.
    pub run: PathBuf,
    /// Of a search with --cost-bound: continue with this one, if it is larger.
    #[arg(long, value_name = "N")]
    pub cost_bound: Option<u64>,
    /// How much it may take; need not be what it was.
    #[command(flatten, next_help_heading = "Limits")]
    pub limits: LimitArgs,
    /// What to print.
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputArgs,
}

/// Arguments of `runs`.
#[derive(Args, Clone, Debug)]
pub struct RunsArgs {
    /// Where run folders are kept.
    #[arg(long, value_name = "DIR", default_value = ".hadal")]
    pub disk: PathBuf,
    /// List them as JSON.
    #[arg(long)]
    pub json: bool,
    /// What to do with them.
    #[command(subcommand)]
    pub verb: Option<RunsVerb>,
}

/// What to do with runs.
#[derive(Clone, Debug, Subcommand)]
pub enum RunsVerb {
    /// Remove runs.
    Rm {
        /// Their folders, or their names where runs are kept.
        #[arg(required_unless_present_any = ["finished", "older_than"])]
        runs: Vec<PathBuf>,
        /// All that are finished.
        #[arg(long, conflicts_with = "runs")]
        finished: bool,
        /// All that were not touched for this long: 90m, 36h, 30d.
        #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "runs")]
        older_than: Option<std::time::Duration>,
    },
}

/// Arguments of `report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal report .hadal/german-1712345678901-42 --out german.html\n  \
    hadal report .hadal/german-1712345678901-42 --json")]
pub struct ReportArgs {
    /// The run's folder; `hadal runs` lists them.
    pub run: PathBuf,
    /// Write it to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The figures as one JSON object instead of a page (docs/report.md describes it).
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArgs {
    /// Which model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// First walk along the trace in this file, as `check --trace json` or `--json` writes it; a lasso is walked round
    /// once. At a terminal the walk then goes on.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<std::path::PathBuf>,
    /// PRISM only: choose as this policy does, which `solve --policy` wrote, and draw what happens.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "random"])]
    pub policy: Option<std::path::PathBuf>,
    /// With --policy: a run ends where this question is decided; with --runs, what it asks for is estimated.
    #[arg(long, value_name = "TEXT", requires = "policy")]
    pub formula: Option<String>,
    /// Choose at random instead of asking.
    #[arg(long)]
    pub random: bool,
    /// Seed of the random choices: the same seed walks the same way.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// With --random and --runs: stop after this many steps.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub steps: u64,
    /// Walk this many times at random and show what was met, and how often.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "replay")]
    pub runs: u64,
    /// Show whole states, not only what changed.
    #[arg(long)]
    pub full_states: bool,
}

/// Arguments of `inspect`.
#[derive(Args, Clone, Debug)]
pub struct InspectArgs {
    /// Which model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// As JSON.
    #[arg(long, conflicts_with = "dot")]
    pub json: bool,
    /// As a graph for Graphviz.
    #[arg(long, value_enum, value_name = "GRAPH")]
    pub dot: Option<DotGraph>,
    /// Of a family (.mdve): the text that its macros expand to, also where it has errors.
    #[arg(long, conflicts_with_all = ["json", "dot"])]
    pub expanded: bool,
}

/// Graphs that `inspect` can draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DotGraph {
    /// Which variable influences which.
    Causal,
    /// The processes' control graphs.
    Control,
}

pub fn parse_override(text: &str) -> Result<(String, Given), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let name = name.trim();
    if name.is_empty() {
        return Err("the name is missing".into());
    }
    let value = value.trim();
    let given = match value.to_ascii_lowercase().as_str() {
        "" => return Err("the value is missing".into()),
        "true" => Given::Number(1),
        "false" => Given::Number(0),
        other => match other.parse() {
            Ok(number) => Given::Number(number),
            Err(_) => Given::Text(value.to_owned()),
        },
    };
    Ok((name.to_owned(), given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::described().debug_assert();
    }

    #[test]
    fn short_help_shows_about_a_dozen_options_and_long_help_all_of_them() {
        let mut command = Cli::described();
        for (verb, shown) in SHORT_HELP {
            let Some(verb) = command.find_subcommand_mut(verb) else { continue };
            for name in *shown {
                assert!(verb.get_arguments().any(|arg| arg.get_id() == *name), "{}: {name}", verb.get_name());
            }
            let (short, long) = (verb.render_help().to_string(), verb.render_long_help().to_string());
            let options = |text: &str| text.lines().filter(|line| line.trim_start().starts_with('-')).count();
            assert!(options(&short) <= 18, "{}: {}", verb.get_name(), options(&short));
            assert!(options(&long) >= options(&short), "{}", verb.get_name());
        }
        let check = command.find_subcommand_mut("check").expect("a verb");
        let long = check.render_long_help().to_string();
        for heading in ["Limits:", "Reductions:", "Directed search:", "Disk strategies:", "Output:"] {
            assert!(long.contains(heading), "{heading}");
        }
    }

    #[test]
    fn definitions_read_as_people_write_them() {
        assert_eq!(parse_override("N=4"), Ok(("N".into(), Given::Number(4))));
        assert_eq!(parse_override("fixed = false"), Ok(("fixed".into(), Given::Number(0))));
        assert!(parse_override("N").is_err());
    }
}
