//! The command line as it is typed. [`hadal_check`] turns it into something validated.

mod asked;
mod cluster;
mod limits;
mod model;
mod output;
mod runs;
mod storing;

pub use asked::{AskedArgs, Deadlock};
pub use cluster::{ClusterArgs, WorkerArgs};
pub use limits::LimitArgs;
pub use model::{Given, ModelArgs, ModelErrors, Symmetry, parse_override};
pub use output::{OutputArgs, TraceFormat};
pub use runs::{ReportArgs, ResumeArgs, RunsArgs, RunsVerb};
pub use storing::StoringArgs;

use crate::timed::TimedArgs;
use clap::{Args, CommandFactory, Parser, ValueEnum};
use hadal_check::formulas::Formulas;
use hadal_check::{Directing, Reductions, Running};

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
    /// What is asked of the model.
    #[command(flatten, next_help_heading = "Questions")]
    pub asked: AskedArgs,
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
    /// How states are visited and stored.
    #[command(flatten, next_help_heading = "Strategies")]
    pub storing: StoringArgs,
    /// Several machines.
    #[command(flatten, next_help_heading = "Several machines")]
    pub cluster: ClusterArgs,
    /// Questions of models in real time.
    #[command(flatten, next_help_heading = "Real time")]
    pub timed: TimedArgs,
    /// What to print.
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputArgs,
}

/// Arguments of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArgs {
    /// Which model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// With --policy: the problem of a PPDDL domain, if it is in a file of its own.
    #[arg(requires = "policy")]
    pub problem: Option<std::path::PathBuf>,
    /// First follow the trace in this file, as `check --trace json` or `--json` writes it, once around the loop of a
    /// lasso. At a terminal, continue from there by hand.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<std::path::PathBuf>,
    /// PRISM and PPDDL: follow this policy, as `solve --policy` writes it, and draw the outcomes at random.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "random"])]
    pub policy: Option<std::path::PathBuf>,
    /// With --policy: end a run where this question is decided; with --runs, estimate the value that it asks for.
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
    /// Walk this many times at random and count what happened.
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
    /// Print JSON.
    #[arg(long, conflicts_with = "dot")]
    pub json: bool,
    /// Print a graph for Graphviz.
    #[arg(long, value_enum, value_name = "GRAPH")]
    pub dot: Option<DotGraph>,
    /// For a family (.mdve): print the text that its macros expand to, even if it has errors.
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
}
