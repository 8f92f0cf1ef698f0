//! `hadal bench instructions`: machine instructions per transition, counted by callgrind on one thread.
//!
//! Instruction counts do not depend on who else uses the machine, so a change of the hot loop shows as a change of one
//! per cent. What is counted before the first state (reading, checking, compiling) is taken off.

use super::corpus::Corpus;
use super::measure::measure;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped};
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The suite that is counted instead of timed.
pub const SUITE: &str = "instructions";

/// One model's counts.
#[derive(Debug, Serialize)]
struct Counted {
    name: String,
    states: u64,
    transitions: u64,
    instructions: u64,
    startup_instructions: u64,
    instructions_per_transition: f64,
    instructions_per_state: f64,
    problem: Option<String>,
}

/// Counts every case and prints one line for each.
pub fn run(args: &BenchArgs, cases: &[&Case], corpus: &Corpus, scratch: &Scratch) -> Result<u8, BenchError> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err(BenchError::Usage("counting instructions needs valgrind, which is not installed".into()));
    }
    if args.files.html.is_some() {
        return Err(BenchError::Usage("instruction counts have no chart: leave out --html".into()));
    }
    let counter = Counter { args, scratch, hadal: Hadal::new(1, args.time_limit, scratch)? };
    println!(
        "{:40} {:>10} {:>12} {:>18} {:>14}",
        "model", "states", "transitions", "instr/transition", "instr/state"
    );
    let mut rows = Vec::new();
    for case in cases {
        let row = counter.count_case(case, &corpus.path(case))?;
        println!(
            "{:40} {:>10} {:>12} {:>18} {:>14}{}",
            row.name,
            grouped(row.states),
            grouped(row.transitions),
            decimal(row.instructions_per_transition),
            decimal(row.instructions_per_state),
            row.problem.as_ref().map(|problem| format!("  WRONG: {problem}")).unwrap_or_default()
        );
        rows.push(row);
    }
    if let Some(path) = &args.files.json {
        super::previous::write_beside_previous(path, &rows)?;
    }
    Ok(u8::from(rows.iter().any(|row| row.problem.is_some())))
}

/// Runs hadal under callgrind.
struct Counter<'a> {
    args: &'a BenchArgs,
    scratch: &'a Scratch,
    hadal: Hadal,
}

impl Counter<'_> {
    fn count_case(&self, case: &Case, model: &Path) -> Result<Counted, BenchError> {
        let (startup, _) = self.count(case, model, &["--max-states", "1"])?;
        let (whole, output) = self.count(case, model, &[])?;
        let json: serde_json::Value = serde_json::from_str(&output).unwrap_or_default();
        let states = json["states"].as_u64().unwrap_or(0);
        let transitions = json["transitions"].as_u64().unwrap_or(0);
        let wrong = states != case.states || case.transitions.is_some_and(|expected| expected != transitions);
        let instructions = whole.saturating_sub(startup);
        Ok(Counted {
            name: case.name(),
            states,
            transitions,
            instructions,
            startup_instructions: startup,
            instructions_per_transition: instructions as f64 / transitions.max(1) as f64,
            instructions_per_state: instructions as f64 / states.max(1) as f64,
            problem: wrong.then(|| format!("{} states where there are {}", states, case.states)),
        })
    }

    /// Instructions of one run under callgrind, and what the run printed.
    fn count(&self, case: &Case, model: &Path, more: &[&str]) -> Result<(u64, String), BenchError> {
        let profile = self.scratch.file("callgrind.out");
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--log-file=/dev/null"])
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .arg(self.hadal.program())
            .args(self.hadal.arguments(case, model))
            // A sandbox of valgrind's own address space: the default budget may be more than it can map.
            .args(["--memory", "1G"])
            // In RAM only: a stopped run of the other strategies also writes a checkpoint, which is no start-up.
            .args(["--strategy", "bfs"])
            .args(more);
        let measured = measure(&mut command, self.args.time_limit * 2)
            .map_err(|error| BenchError::File { path: "valgrind".into(), error })?;
        let text = std::fs::read_to_string(&profile)
            .map_err(|error| BenchError::File { path: profile.clone(), error })?;
        let total = read_total(&text).ok_or_else(|| {
            BenchError::Internal(format!("callgrind counted nothing: {}", measured.complaints))
        })?;
        Ok((total, measured.output))
    }
}

/// The total at the end of a profile; of several parts (one for each dump), the sum.
fn read_total(profile: &str) -> Option<u64> {
    let totals: Vec<u64> = profile
        .lines()
        .filter_map(|line| line.strip_prefix("totals:"))
        .filter_map(|rest| rest.split_whitespace().next()?.parse().ok())
        .collect();
    (!totals.is_empty()).then(|| totals.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile_is_the_sum_of_its_parts() {
        assert_eq!(read_total("events: Ir\nfn=main\n1 2\ntotals: 1200\n"), Some(1200));
        assert_eq!(read_total("totals: 1000\npart: 2\ntotals: 34\n"), Some(1034));
        assert_eq!(read_total("events: Ir\n"), None);
    }
}
