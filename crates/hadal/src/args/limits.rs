//! How much a search may take, as it is typed.

use clap::{Args, ValueEnum};
use hadal_check::Limits;
use hadal_check::options::{Budget, parse_size};
use hadal_check::units::parse_time;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How much a search may take.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Memory budget, e.g. 500M or 8G, at least 1M. Default: three quarters of what the machine has free.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Threads. Default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: Option<u16>,
    /// Stop after this time, e.g. 90s, 10m, 2h. A resumed run counts from its first new work: the time to read back what
    /// was explored before does not count.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
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
    /// What is given, by the names of the fields, in words that the command line reads.
    pub fn spelled(&self) -> Map<String, Value> {
        let full = (self.when_full != WhenFull::Pause).then_some("delete-layers");
        let all = json!({
            "memory": self.memory.map(spelled_size),
            "threads": self.threads,
            "time_limit": self.time_limit.map(spelled_time),
            "max_states": self.max_states,
            "max_depth": self.max_depth,
            "disk_limit": self.disk_limit.map(spelled_size),
            "when_full": full,
        });
        let Value::Object(all) = all else { return Map::new() };
        all.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }

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

/// A size in the largest unit that says it exactly.
fn spelled_size(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.into_iter().find(|(bits, _)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    unit.map_or_else(|| bytes.to_string(), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

/// A time in the largest unit that says it exactly.
fn spelled_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let whole = |unit: &u64| seconds > 0 && seconds.is_multiple_of(*unit) && time.subsec_nanos() == 0;
    match [3600, 60].into_iter().find(whole) {
        Some(unit) => format!("{}{}", seconds / unit, if unit == 3600 { "h" } else { "m" }),
        None => format!("{}s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_spelled_as_they_are_read() {
        for bytes in [0, 1, 1023, 1 << 10, 20 << 20, 3 << 29, (8 << 30) + 1] {
            assert_eq!(parse_size(&spelled_size(bytes)), Ok(bytes));
        }
        assert_eq!((spelled_size(8 << 30), spelled_size(1536 << 20)), ("8G".into(), "1536M".into()));
        for time in [0, 1, 90, 60_000, 90_000, 7_200_000, 86_400_000].map(Duration::from_millis) {
            assert_eq!(parse_time(&spelled_time(time)), Ok(time));
        }
        let said = [1_500, 90_000, 600_000, 7_200_000].map(|ms| spelled_time(Duration::from_millis(ms)));
        assert_eq!(said, ["1.5s", "90s", "10m", "2h"]);
    }
}
