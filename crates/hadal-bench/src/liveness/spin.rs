//! SPIN beside hadal: the same graph (no merging of statements, no reduction), the graph it reduces by itself, a claim or
//! formula, or the first error it finds.

use crate::measure::measure;
use crate::peers::spin::{Spin, summary};
use crate::scratch::Scratch;
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The depth of its stack and the logarithm of its table.
const SIZES: [&str; 2] = ["-m2000000", "-w22"];
/// What a state takes in its table, if that has as many slots as there are states.
const SLOT_BYTES: f64 = 8.0;

/// An installed SPIN.
pub struct Peer {
    pub version: String,
    limit: Duration,
}

/// What a search of SPIN took.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    pub states: u64,
    pub cpu_seconds: f64,
    pub build_cpu_seconds: f64,
    /// Its own figure for a state in memory.
    pub state_bytes: f64,
    pub slot_bytes: f64,
    /// Where it found an error.
    pub depth: Option<u64>,
}

/// What it is asked.
enum Asked<'k> {
    /// The whole graph, as hadal explores it.
    Graph,
    /// The whole graph with its reduction and merging.
    Reduced,
    /// The text's claim, by name where there are several.
    Claim(Option<&'k str>),
    /// The formula of the command line.
    Formula(&'k str),
    /// An error, with its reduction and merging.
    Errors,
}

impl<'k> Asked<'k> {
    fn read(kind: &'k str, flags: &'k [String]) -> Option<Self> {
        Some(match kind {
            "graph" => Asked::Graph,
            "reduced" => Asked::Reduced,
            "errors" => Asked::Errors,
            "never" => Asked::Claim(None),
            "formula" => Asked::Formula(after(flags, "--ltl").next()?),
            _ => Asked::Claim(Some(kind.strip_prefix("claim:")?)),
        })
    }

    fn reduces(&self) -> bool {
        matches!(self, Asked::Reduced | Asked::Errors)
    }

    fn has_claim(&self) -> bool {
        matches!(self, Asked::Claim(_) | Asked::Formula(_))
    }
}

/// The values of an option.
fn after<'f>(flags: &'f [String], option: &'f str) -> impl Iterator<Item = &'f str> {
    flags.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1].as_str())
}

impl Peer {
    /// Finds it on the path.
    pub fn find(limit: Duration) -> Option<Self> {
        Spin::find(limit).map(|spin| Peer { version: spin.version, limit })
    }

    /// Runs it on a model, with the macros and the formula among the `flags`; `kind` is `graph`, `reduced`, `errors`, `never`,
    /// `formula` or `claim:NAME`. Why there are no figures is printed.
    pub fn run(&self, model: &Path, kind: &str, flags: &[String], scratch: &Scratch) -> Option<Beside> {
        let asked = Asked::read(kind, flags)?;
        let macros: Vec<&str> = after(flags, "-D").collect();
        let figures = self
            .build(model, &asked, &macros, scratch)
            .and_then(|build_cpu_seconds| Ok(Beside { build_cpu_seconds, ..self.search(&asked, scratch)? }));
        if let Err(why) = &figures {
            println!("  SPIN on {}: {why}", model.display());
        }
        figures.ok()
    }

    /// Makes the verifier; the processor time that took.
    fn build(&self, model: &Path, asked: &Asked, macros: &[&str], scratch: &Scratch) -> Result<f64, String> {
        let mut translate = Command::new("spin");
        translate.current_dir(scratch.folder());
        if !asked.reduces() {
            translate.args(["-o1", "-o2", "-o3"]);
        }
        translate.args(macros.iter().map(|text| format!("-D{text}"))).arg("-a");
        if let Asked::Formula(text) = asked {
            translate.args(["-f", &format!("!({text})")]);
        }
        translate.arg(model);
        let mut compile = Command::new("gcc");
        compile.current_dir(scratch.folder()).args(["-O2", "-w", "-DMEMLIM=8192"]);
        if !asked.reduces() {
            compile.arg("-DNOREDUCE");
        }
        if !asked.has_claim() {
            compile.args(["-DSAFETY", "-DNOCLAIM"]);
        }
        compile.args(["-o", "pan", "pan.c"]);
        let mut cpu_seconds = 0.0;
        for (step, name) in [(&mut translate, "spin -a"), (&mut compile, "gcc")] {
            let measured = measure(step, self.limit).map_err(|error| error.to_string())?;
            cpu_seconds += measured.cpu_seconds;
            if measured.exit_code != Some(0) {
                return Err(format!("{name} refuses it"));
            }
        }
        Ok(cpu_seconds)
    }

    /// Runs the verifier.
    fn search(&self, asked: &Asked, scratch: &Scratch) -> Result<Beside, String> {
        let mut search = Command::new(scratch.file("pan"));
        search.current_dir(scratch.folder()).args(SIZES).arg("-n");
        match asked {
            Asked::Graph | Asked::Reduced => search.args(["-A", "-E", "-c0"]),
            Asked::Claim(Some(name)) => search.args(["-a", "-N", name]),
            Asked::Claim(None) | Asked::Formula(_) => search.arg("-a"),
            Asked::Errors => &mut search,
        };
        let measured = measure(&mut search, self.limit).map_err(|error| error.to_string())?;
        if measured.timed_out {
            return Err(format!("not done after {} s", self.limit.as_secs_f64()));
        }
        read(&measured.output).map(|beside| Beside { cpu_seconds: measured.cpu_seconds, ..beside })
    }
}

/// Reads what the verifier says at the end; times are for the caller to fill in.
fn read(output: &str) -> Result<Beside, String> {
    let depth = output.lines().find_map(|line| {
        let (_, depth) = line.strip_prefix("pan:1:")?.split_once("(at depth ")?;
        depth.trim_end_matches(')').parse().ok()
    });
    let early = |text: &str| depth.is_none() && output.contains(text);
    if early("max search depth too small") {
        return Err("its stack is too small".into());
    }
    if early("Search not completed") {
        return Err("it ran out of memory".into());
    }
    let figures = summary(output)?;
    Ok(Beside {
        states: figures.states,
        cpu_seconds: 0.0,
        build_cpu_seconds: 0.0,
        state_bytes: figures.state_bytes / figures.states.max(1) as f64,
        slot_bytes: SLOT_BYTES,
        depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: &str = "
State-vector 40 byte, depth reached 3762, errors: 1
     1024 states, stored
       76 states, matched
     1100 transitions (= stored+matched)
    1.000\tequivalent memory usage for states (stored*(State-vector + overhead))
    8.000\tmemory used for hash table (-w20)
   14.000\ttotal actual memory usage
";

    #[test]
    fn an_error_has_a_depth_and_a_search_cut_short_no_figures() {
        let found = format!("pan:1: invalid end state (at depth 57)\nWarning: Search not completed\n{ENDS}");
        let beside = read(&found).expect("figures");
        assert_eq!((beside.depth, beside.states, beside.state_bytes), (Some(57), 1024, 1024.0));
        assert_eq!(read(ENDS).expect("figures").depth, None);
        assert!(
            read(&format!("pan: reached -DMEMLIM bound\nWarning: Search not completed\n{ENDS}")).is_err()
        );
        assert!(read(&format!("error: max search depth too small\n{ENDS}")).is_err());
    }

    #[test]
    fn every_question_of_the_table_can_be_asked() {
        for case in super::super::cases::cases().expect("tables without mistakes") {
            assert!(case.peer.is_none_or(|kind| Asked::read(&kind, &case.flags).is_some()));
        }
    }
}
