//! SPIN, the peer for BEEM's Promela twins: generates a verifier in C, compiles it, runs it and reads its summary.

use crate::args::Clock;
use crate::measure::measure;
use crate::scratch::Scratch;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Search depths that are tried, one after the other, until the stack suffices.
const DEPTHS: [u64; 3] = [100_000, 3_000_000, 60_000_000];
/// Most memory of the verifier, in MiB.
const MEMORY_MIB: u64 = 8192;

/// Whether SPIN reduces by partial order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Every transition, as hadal does (`-DNOREDUCE`).
    Off,
    /// Its default.
    On,
}

/// An installed SPIN and C compiler.
pub struct Spin {
    /// What it says about itself.
    pub version: String,
    limit: Duration,
}

/// What a complete search by SPIN took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpinFigures {
    /// Distinct states stored.
    pub states: u64,
    /// Transitions, stored and matched.
    pub transitions: u64,
    /// Processor time of the verifier.
    pub cpu_seconds: f64,
    /// Wall clock of the verifier.
    pub wall_seconds: f64,
    /// Processor time of translation and C compiler.
    pub build_cpu_seconds: f64,
    /// Its own figure: memory for states.
    pub state_bytes: f64,
    /// Its own figure: memory for the hash table.
    pub table_bytes: f64,
    /// Its own figure: all memory, the stack included, whose size is our choice.
    pub total_bytes: f64,
}

impl SpinFigures {
    /// Transitions per second by this clock.
    pub fn rate(&self, clock: Clock) -> f64 {
        self.transitions as f64 / self.seconds(clock)
    }

    /// Memory for states and the hash table over states.
    pub fn bytes_per_state(&self) -> f64 {
        (self.state_bytes + self.table_bytes) / self.states.max(1) as f64
    }

    /// How long it took by this clock; never zero.
    pub fn seconds(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Wall => self.wall_seconds,
            Clock::Cpu => self.cpu_seconds,
        }
        .max(1e-2)
    }
}

impl Spin {
    /// Looks for it on the path; `None` where it or gcc is missing.
    pub fn find(limit: Duration) -> Option<Self> {
        let ask = |program: &str, flag: &str| Command::new(program).arg(flag).output().ok();
        ask("gcc", "--version").filter(|answer| answer.status.success())?;
        let answer = ask("spin", "-V")?;
        let version = String::from_utf8_lossy(&answer.stdout).lines().next()?.trim().to_owned();
        version.contains("Spin").then_some(Spin { version, limit })
    }

    /// Translates, compiles and runs a model whose twin has about `states` states.
    pub fn run(
        &self,
        model: &Path,
        states: u64,
        reduction: Reduction,
        scratch: &Scratch,
    ) -> Result<SpinFigures, String> {
        let (program, build_cpu_seconds) = self.build(model, reduction, scratch)?;
        // A slot for every state, as a user who knows the size would ask for.
        let slots = u64::from(states.max(2).ilog2() + 1).clamp(18, 30);
        for depth in DEPTHS {
            let mut command = Command::new(&program);
            command.current_dir(scratch.folder());
            command.args([format!("-m{depth}"), format!("-w{slots}")]);
            // Neither assertions nor end states end the search, as hadal is asked for neither; only a stack that is too
            // small does, at once.
            command.args(["-n", "-A", "-E", "-b"]);
            let measured = measure(&mut command, self.limit).map_err(|error| error.to_string())?;
            if measured.timed_out {
                return Err(format!("not done after {} s", self.limit.as_secs_f64()));
            }
            if measured.output.contains("max search depth too small") {
                continue;
            }
            let figures = SpinFigures {
                cpu_seconds: measured.cpu_seconds,
                wall_seconds: measured.wall_seconds,
                build_cpu_seconds,
                ..read(&measured.output)?
            };
            return Ok(figures);
        }
        Err(format!("its stack of {} steps is too small", DEPTHS[DEPTHS.len() - 1]))
    }

    fn build(&self, model: &Path, reduction: Reduction, scratch: &Scratch) -> Result<(PathBuf, f64), String> {
        let program = scratch.file("pan");
        let mut translate = Command::new("spin");
        translate.current_dir(scratch.folder()).arg("-a").arg(model);
        let mut compile = Command::new("gcc");
        compile.current_dir(scratch.folder()).args(["-O2", "-w", "-DSAFETY"]);
        compile.arg(format!("-DMEMLIM={MEMORY_MIB}"));
        if reduction == Reduction::Off {
            compile.arg("-DNOREDUCE");
        }
        compile.args(["-o", "pan", "pan.c"]);
        let mut cpu_seconds = 0.0;
        for (step, name) in [(&mut translate, "spin -a"), (&mut compile, "gcc")] {
            let measured = measure(step, self.limit).map_err(|error| error.to_string())?;
            cpu_seconds += measured.cpu_seconds;
            if measured.exit_code != Some(0) {
                let said = [measured.output, measured.complaints].concat();
                let line = said.lines().find(|line| line.contains("rror")).unwrap_or("no reason given");
                return Err(format!("{name}: {}", line.trim()));
            }
        }
        Ok((program, cpu_seconds))
    }
}

/// Reads the verifier's summary; times are for the caller to fill in.
pub(crate) fn read(output: &str) -> Result<SpinFigures, String> {
    if let Some(line) = output.lines().find(|line| line.contains("Search not completed")) {
        let why = output.lines().find(|line| line.starts_with("pan:") && !line.contains("elapsed"));
        return Err(format!("{}: {}", line.trim(), why.unwrap_or("no reason given").trim()));
    }
    summary(output)
}

/// Reads the figures at the end, whatever ended the search.
pub(crate) fn summary(output: &str) -> Result<SpinFigures, String> {
    let number = |what: &str| -> Option<f64> {
        let line = output.lines().find(|line| line.contains(what))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let mebibytes = |what: &str| number(what).map(|mib| mib * f64::from(1 << 20));
    let missing = || "no summary at the end of its output".to_owned();
    let states = number(" states, stored").ok_or_else(missing)?;
    let equivalent = mebibytes("equivalent memory usage for states").ok_or_else(missing)?;
    Ok(SpinFigures {
        states: states as u64,
        transitions: number(" transitions (= ").ok_or_else(missing)? as u64,
        cpu_seconds: 0.0,
        wall_seconds: 0.0,
        build_cpu_seconds: 0.0,
        // Left out where it is as the equivalent one.
        state_bytes: mebibytes("actual memory usage for states").unwrap_or(equivalent),
        table_bytes: mebibytes("memory used for hash table").ok_or_else(missing)?,
        total_bytes: mebibytes("total actual memory usage").ok_or_else(missing)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
State-vector 40 byte, depth reached 3762, errors: 0
    29958 states, stored
    46761 states, matched
    76719 transitions (= stored+matched)
Stats on memory usage (in Megabytes):
    1.714\tequivalent memory usage for states (stored*(State-vector + overhead))
    0.500\tactual memory usage for states (compression: 81.32%)
    8.000\tmemory used for hash table (-w20)
    4.578\tmemory used for DFS stack (-m100000)
   14.000\ttotal actual memory usage
pan: elapsed time 0.06 seconds
";

    #[test]
    fn the_summary_is_read() {
        let figures = read(OUTPUT).expect("a summary");
        assert_eq!((figures.states, figures.transitions), (29958, 76719));
        assert_eq!((figures.state_bytes, figures.total_bytes), (524_288.0, 14.0 * 1_048_576.0));
        assert_eq!(figures.table_bytes, 8.0 * 1_048_576.0);
    }

    #[test]
    fn a_nested_search_counts_visits() {
        let nested = OUTPUT
            .replace("states, stored", "states, stored (40000 visited)")
            .replace("(= stored+matched)", "(= visited+matched)");
        let figures = read(&nested).expect("a summary");
        assert_eq!((figures.states, figures.transitions), (29958, 76719));
    }

    #[test]
    fn a_search_that_was_cut_short_has_no_figures() {
        let cut = format!("pan: reached -DMEMLIM bound\nWarning: Search not completed\n{OUTPUT}");
        assert!(read(&cut).expect_err("cut").contains("MEMLIM"));
        assert!(read("").is_err());
    }
}
