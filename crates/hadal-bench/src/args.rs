//! Arguments of `hadal bench`.

use clap::{Args, ValueEnum};
use hadal_check::units::parse_time;
use std::path::PathBuf;

/// What time means to a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// Wall-clock time.
    Wall,
    /// Processor time of all threads.
    Cpu,
}

/// Files that results are written to.
#[derive(Args, Clone, Debug, Default)]
pub struct ResultFiles {
    /// Write the results to this file as JSON; what it held is kept as NAME.before.json and compared with.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// With directed: write the rows to this file as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a chart to this file as a self-contained page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Which models of a suite are run, and with what.
#[derive(Args, Clone, Debug)]
pub struct Chosen {
    /// Run only models whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// With cluster, disk, korf, lamborn, partition, peers and values: leave out models with more states than this.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// With cluster: add what a model of the exchange computes for 2, 4, 8 and so on up to P workers, labelled as such.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub simulate: Option<u32>,
    /// With disk: the strategies, separated by commas, or all. With partition: the heuristics.
    #[arg(long, value_name = "LIST")]
    pub strategies: Option<String>,
    /// With disk and partition: memory budgets in percent of (states x packed bytes), separated by commas. Default:
    /// 10,5,2,1.
    #[arg(long, value_name = "LIST")]
    pub budgets: Option<String>,
    /// With disk and partition: the least memory a search is given, whatever its share.
    #[arg(long, value_name = "SIZE", value_parser = hadal_check::options::parse_size, default_value = "24M")]
    pub least: u64,
}

/// Arguments of `bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// The suite; `list` names them.
    #[arg(default_value = "list")]
    pub suite: String,
    /// Threads for hadal and the other tools.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// How often to run each model; the best run counts.
    #[arg(long, default_value_t = 1)]
    pub repeat: u16,
    /// The clock for rates and ratios. On a busy machine, the processor time of one thread is the fair one.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    pub clock: Clock,
    /// Give up on a model, or on another tool, after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "20m")]
    pub time_limit: std::time::Duration,
    /// Which models, and how they are run.
    #[command(flatten)]
    pub chosen: Chosen,
    /// Folder for runs and generated files meanwhile; it should be on a real disk. Default: the system's temporary
    /// folder.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Do not run the other tools.
    #[arg(long)]
    pub no_peers: bool,
    /// Which files to write.
    #[command(flatten)]
    pub files: ResultFiles,
}

impl Clock {
    /// As the tables name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Cpu => "cpu",
        }
    }
}
