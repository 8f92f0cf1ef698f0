//! How much a search may take, as it is typed.

use clap::{Args, ValueEnum};
use hadal_check::Limits;
use hadal_check::options::{Budget, parse_size};
use hadal_check::units::parse_time;

/// How much a search may take.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Memory budget, e.g. 500M or 8G, at least 16M. Default: three quarters of what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Threads. Default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Stop after this time, e.g. 90s, 10m, 2h. A resumed run counts from its first new work: the time to read back what
    /// was explored before does not count.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<std::time::Duration>,
    /// Stop at this many distinct states: in RAM at most a few hundred later, on disk before the layer that would exceed
    /// it.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Expand states up to, not including, this depth.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Limit on the size of the run's folder, e.g. 20G. Default: what is free on the disk.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub disk_limit: Option<u64>,
    /// What to do when the disk is full or --disk-limit is reached.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = WhenFull::Pause)]
    pub when_full: WhenFull,
}

/// What to do when the disk is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenFull {
    /// Stop with exit code 3, everything intact: `hadal resume` continues when there is room.
    #[default]
    Pause,
    /// Delete the oldest layers and continue: their states may be counted again, and the verdict then says so.
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
