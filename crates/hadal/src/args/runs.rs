//! Commands about runs on disk: going on with one, listing them, a page about one.

use super::{ClusterArgs, LimitArgs, OutputArgs};
use clap::{Args, Subcommand};
use hadal_check::units::parse_time;
use std::path::PathBuf;

/// Arguments of `resume`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  hadal resume .hadal/german-1712345678901-42 --memory 4G --threads 8")]
pub struct ResumeArgs {
    /// The run's folder; `hadal runs` lists them.
    pub run: PathBuf,
    /// For a search with --cost-bound: continue with this bound if it is larger.
    #[arg(long, value_name = "N")]
    pub cost_bound: Option<u64>,
    /// Of a run over several machines: those that go on, which need not be those that began.
    #[command(flatten, next_help_heading = "Several machines")]
    pub cluster: ClusterArgs,
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
    /// Folder of the runs.
    #[arg(long, value_name = "DIR", default_value = ".hadal", global = true)]
    pub disk: PathBuf,
    /// Print the list as JSON.
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
        /// Their folders, or their names in the folder of runs.
        #[arg(required_unless_present_any = ["finished", "older_than"])]
        runs: Vec<PathBuf>,
        /// Remove all finished runs.
        #[arg(long, conflicts_with = "runs")]
        finished: bool,
        /// Remove all runs not touched for this long: 90m, 36h, 30d.
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
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the figures as one JSON object instead of a page (docs/report.md).
    #[arg(long)]
    pub json: bool,
}
