//! One exploration by hadal in a child process, read from its JSON: counts, times of the search alone, memory, disk.

use super::cage::Cage;
use super::measure::measure;
use super::ours::{Hadal, first_complaint};
use super::suite::Case;
use crate::args::Clock;
use crate::error::BenchError;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a child found and what it took. Times are those of the search, without reading and compiling the model.
#[derive(Clone, Debug, Serialize)]
pub struct Exploration {
    /// `holds`, `violated`, `stopped`, or `failed` where there is no verdict.
    pub verdict: String,
    /// Why, where the verdict is not `holds`.
    pub reason: Option<String>,
    /// Distinct states.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// How long it took.
    #[serde(flatten)]
    pub time: Times,
    /// Peak resident memory during the search (VmHWM).
    pub peak_bytes: u64,
    /// Peak resident memory before it.
    pub startup_peak_bytes: u64,
    /// Bits of a packed state.
    pub state_bits: u64,
    /// What it did on disk.
    #[serde(flatten)]
    pub disk: DiskBytes,
    /// How states were stored, in order.
    pub storage: Vec<String>,
    /// Everything the child said.
    #[serde(skip)]
    pub json: Value,
}

/// How long a child took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// Wall clock of the search.
    pub wall_seconds: f64,
    /// Processor time of the search.
    pub cpu_seconds: f64,
    /// Wall clock of reading, checking and compiling the model.
    pub startup_seconds: f64,
}

/// What a child did on disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DiskBytes {
    /// States there at the end.
    #[serde(rename = "disk_bytes")]
    pub held: u64,
    /// Read.
    #[serde(rename = "disk_bytes_read")]
    pub read: u64,
    /// Written.
    #[serde(rename = "disk_bytes_written")]
    pub written: u64,
}

impl Exploration {
    /// Explores a case with further arguments, in a group that limits memory where there is one. What goes wrong in the
    /// child is a result, too. The run's folder is removed.
    pub fn run(
        hadal: &Hadal,
        case: &Case,
        model: &Path,
        more: &[String],
        cage: Option<(&Cage, u64)>,
    ) -> Result<Self, BenchError> {
        let mut command = Command::new(hadal.program());
        command.args(hadal.arguments(case, model)).args(more);
        if let Some((cage, bytes)) = cage {
            command = cage.enclose(command, bytes);
        }
        // hadal stops by itself at the limit; the grace lets it commit and say so.
        let measured = measure(&mut command, hadal.limit() + Duration::from_secs(60))
            .map_err(|error| BenchError::File { path: hadal.program().to_owned(), error })?;
        // Where nothing was written there is nothing to remove.
        let _ = std::fs::remove_dir_all(hadal.runs());
        let json: Value = serde_json::from_str(&measured.output).unwrap_or_default();
        let mut exploration = Exploration::read(json);
        if exploration.verdict == "failed" {
            exploration.reason = Some(first_complaint(&measured));
        }
        Ok(exploration)
    }

    pub(super) fn read(json: Value) -> Self {
        let count = |name: &str| json[name].as_u64().unwrap_or(0);
        let seconds = |name: &str| json[name].as_f64().unwrap_or(0.0);
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let verdict = text("verdict").unwrap_or_else(|| "failed".into());
        let storage = json["storage"].as_array().into_iter().flatten();
        Exploration {
            reason: text("reason").filter(|_| verdict != "holds"),
            verdict,
            states: count("states"),
            transitions: count("transitions"),
            time: Times {
                wall_seconds: seconds("seconds") - seconds("startup_seconds"),
                cpu_seconds: seconds("cpu_seconds") - seconds("startup_cpu_seconds"),
                startup_seconds: seconds("startup_seconds"),
            },
            peak_bytes: count("peak_memory_bytes"),
            startup_peak_bytes: count("startup_peak_memory_bytes"),
            state_bits: count("state_bits"),
            disk: DiskBytes {
                held: count("disk_bytes"),
                read: count("disk_bytes_read"),
                written: count("disk_bytes_written"),
            },
            storage: storage.filter_map(|stage| stage["storage"].as_str().map(str::to_owned)).collect(),
            json,
        }
    }

    /// The budget that hadal asks for where it ended with a smaller one for want of memory.
    pub fn asks_for(&self) -> Option<u64> {
        let reason = self.reason.as_deref().filter(|_| self.verdict == "failed")?;
        let (_, rest) = reason.split_once("give it --memory ")?;
        Some(rest.split_once("M at least")?.0.parse::<u64>().ok()? << 20)
    }

    /// Whether it was stopped at a limit: neither right nor wrong.
    pub fn is_late(&self) -> bool {
        self.verdict == "stopped"
    }

    /// What is wrong with it, if anything; a search that was stopped is not wrong.
    pub fn problem(&self, case: &Case) -> Option<String> {
        match self.verdict.as_str() {
            "stopped" => None,
            "holds" if self.states != case.states => {
                Some(format!("{} states where there are {}", self.states, case.states))
            }
            "holds" => match case.transitions {
                Some(expected) if expected != self.transitions => {
                    Some(format!("{} transitions where there are {expected}", self.transitions))
                }
                _ => None,
            },
            verdict => {
                Some(format!("{verdict}: {}", self.reason.as_deref().unwrap_or("for no reason given")))
            }
        }
    }

    /// How long it took by this clock; never zero.
    pub fn seconds(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Wall => self.time.wall_seconds,
            Clock::Cpu => self.time.cpu_seconds,
        }
        .max(1e-4)
    }

    /// Times of this one over another's, by this clock, where both are complete.
    pub fn ratio(&self, other: &Exploration, clock: Clock) -> Option<f64> {
        (self.verdict == "holds" && other.verdict == "holds")
            .then(|| self.seconds(clock) / other.seconds(clock))
    }

    /// The faster of two runs, or the one that went wrong.
    pub fn better(self, other: Self, clock: Clock) -> Self {
        if other.verdict == "holds" && other.seconds(clock) >= self.seconds(clock) { self } else { other }
    }

    /// Something over the number of states.
    pub fn per_state(&self, bytes: u64) -> f64 {
        bytes as f64 / self.states.max(1) as f64
    }

    /// Whole bytes of a packed state.
    pub fn packed_bytes(&self) -> u64 {
        self.state_bits.div_ceil(8).max(1)
    }

    /// A share of (states x packed bytes), in per cent, and never less than `least`.
    pub fn budget(&self, percent: f64, least: u64) -> u64 {
        let all = (self.states * self.packed_bytes()) as f64;
        ((all * percent / 100.0) as u64).max(least)
    }
}

/// The least memory a search is given unless the command says otherwise.
pub const LEAST_BUDGET: u64 = 24 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn exploration(text: &str) -> Exploration {
        Exploration::read(serde_json::from_str(text).expect("JSON"))
    }

    #[test]
    fn times_are_those_of_the_search_and_shares_have_a_floor() {
        let text = r#"{"verdict": "holds", "reason": "fine", "states": 10000000, "transitions": 9, "seconds": 3.0,
            "startup_seconds": 1.0, "cpu_seconds": 2.0, "startup_cpu_seconds": 0.5, "state_bits": 77,
            "storage": [{"storage": "table"}, {"storage": "diagram"}]}"#;
        let run = exploration(text);
        assert_eq!((run.time.wall_seconds, run.time.cpu_seconds, run.reason.as_deref()), (2.0, 1.5, None));
        assert_eq!((run.packed_bytes(), run.storage.len()), (10, 2));
        assert_eq!(
            (run.budget(50.0, LEAST_BUDGET), run.budget(1.0, LEAST_BUDGET)),
            (50_000_000, LEAST_BUDGET)
        );
        assert_eq!(run.budget(5.0, 1 << 20), 5_000_000);
        assert_eq!(run.ratio(&run, Clock::Wall), Some(1.0));
    }

    #[test]
    fn a_search_that_was_stopped_is_late_and_not_wrong() {
        let late = exploration(r#"{"verdict": "stopped", "reason": "--time-limit is reached", "states": 5}"#);
        let case = Case {
            model: "a.m".into(),
            constants: Vec::new(),
            symmetry: "off".into(),
            deadlock: "on".into(),
            peers: true,
            states: 10,
            transitions: None,
            source: String::new(),
        };
        assert!(late.is_late() && late.problem(&case).is_none());
        let wrong = exploration(r#"{"verdict": "holds", "states": 5}"#);
        assert_eq!(wrong.problem(&case).as_deref(), Some("5 states where there are 10"));
        let mut failed = exploration("{}");
        assert!(failed.problem(&case).expect("it failed").starts_with("failed"));
        assert_eq!(failed.asks_for(), None);
        failed.reason = Some("the model takes 30 MiB of memory; give it --memory 46M at least".into());
        assert_eq!(failed.asks_for(), Some(46 << 20));
    }
}
