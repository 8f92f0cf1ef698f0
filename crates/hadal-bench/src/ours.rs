//! hadal itself, run as a child of the benchmark.

use super::measure::{Measured, measure};
use super::result::{Figures, OurResult};
use super::scratch::Scratch;
use super::suite::Case;
use crate::error::BenchError;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// This very program.
pub struct Hadal {
    program: PathBuf,
    threads: u16,
    limit: Duration,
    runs: PathBuf,
}

impl Hadal {
    /// Finds the program.
    pub fn new(threads: u16, limit: Duration, scratch: &Scratch) -> Result<Self, BenchError> {
        let program = std::env::current_exe()
            .map_err(|error| BenchError::Internal(format!("cannot find this program: {error}")))?;
        Ok(Hadal { program, threads, limit, runs: scratch.file("runs") })
    }

    /// Where the program lies.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// When a child is to stop.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Where its run folders go.
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// The arguments that explore a case.
    pub fn arguments(&self, case: &Case, model: &Path) -> Vec<String> {
        let mut arguments = vec!["check".to_owned(), model.display().to_string()];
        for (name, value) in &case.constants {
            arguments.push(format!("-D{name}={value}"));
        }
        let options = [
            ("--symmetry", case.symmetry.clone()),
            ("--deadlock", case.deadlock.clone()),
            ("--threads", self.threads.to_string()),
            ("--time-limit", format!("{}s", self.limit.as_secs_f64())),
            ("--disk", self.runs.display().to_string()),
        ];
        for (name, value) in options {
            arguments.extend([name.to_owned(), value]);
        }
        arguments.extend(["--json".to_owned(), "--quiet".to_owned()]);
        arguments
    }

    /// Explores a case. What goes wrong in the child is a result, too.
    pub fn run(&self, case: &Case, model: &Path) -> Result<OurResult, BenchError> {
        let mut command = Command::new(&self.program);
        command.args(self.arguments(case, model));
        // hadal stops by itself at the limit; the grace lets it say so.
        let measured = measure(&mut command, self.limit + Duration::from_secs(60))
            .map_err(|error| BenchError::File { path: self.program.clone(), error })?;
        Ok(read(&measured))
    }
}

/// Times are those of the whole process, start-up included: taking the start-up off needs a second run, and the difference
/// of two noisy times says anything about a short one. It is the peer that is spared its translation and C compiler.
fn read(measured: &Measured) -> OurResult {
    let json: serde_json::Value = serde_json::from_str(&measured.output).unwrap_or_default();
    let count = |name: &str| json[name].as_u64().unwrap_or(0);
    let seconds = |name: &str| json[name].as_f64().unwrap_or(0.0);
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    let verdict = text("verdict").unwrap_or_else(|| "failed".into());
    let reason = match verdict.as_str() {
        "holds" => None,
        "failed" => Some(first_complaint(measured)),
        _ => text("reason"),
    };
    OurResult {
        verdict,
        reason,
        figures: Figures {
            states: count("states"),
            transitions: count("transitions"),
            wall_seconds: measured.wall_seconds,
            cpu_seconds: measured.cpu_seconds,
            // The child's own figure: the one the system keeps may be ours, from before the program was replaced.
            peak_bytes: count("peak_memory_bytes"),
        },
        startup_seconds: seconds("startup_seconds"),
        state_bits: count("state_bits"),
        symmetry_used: text("symmetry").unwrap_or_default(),
    }
}

/// Why a child has no result.
pub fn first_complaint(measured: &Measured) -> String {
    let first = measured.complaints.lines().find(|line| !line.trim().is_empty());
    match (first, measured.exit_code) {
        (Some(line), _) => line.to_owned(),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "killed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(output: &str, complaints: &str) -> Measured {
        Measured {
            exit_code: Some(0),
            output: output.into(),
            complaints: complaints.into(),
            wall_seconds: 3.0,
            cpu_seconds: 2.5,
            peak_bytes: 1,
            timed_out: false,
        }
    }

    #[test]
    fn times_are_those_of_the_whole_process() {
        let output = r#"{"verdict": "holds", "reason": "fine", "states": 5, "transitions": 9, "seconds": 2.0,
            "startup_seconds": 0.5, "peak_memory_bytes": 4096, "state_bits": 77, "symmetry": "exact"}"#;
        let ours = read(&measured(output, ""));
        assert_eq!((ours.figures.states, ours.figures.transitions), (5, 9));
        assert_eq!((ours.figures.wall_seconds, ours.figures.cpu_seconds), (3.0, 2.5));
        assert_eq!((ours.figures.peak_bytes, ours.state_bits), (4096, 77));
        assert_eq!(ours.reason, None);
    }

    #[test]
    fn a_child_without_a_result_says_what_it_complained_about() {
        let ours = read(&measured("", "\nerror: a.m: no such file\n"));
        assert_eq!(ours.verdict, "failed");
        assert_eq!(ours.reason.as_deref(), Some("error: a.m: no such file"));
    }
}
