//! SPIN beside hadal: the same graph (no merging of statements, no reduction), the graph it reduces by itself, or one of
//! the text's formulas.

use crate::measure::measure;
use crate::peers::spin::{Spin, read};
use crate::scratch::Scratch;
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The depth of its stack and the logarithm of its table.
const SIZES: [&str; 2] = ["-m2000000", "-w22"];

/// An installed SPIN.
pub struct Peer {
    pub version: String,
    limit: Duration,
}

/// What a complete search of SPIN took.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    pub states: u64,
    pub cpu_seconds: f64,
    pub build_cpu_seconds: f64,
    pub bytes_per_state: f64,
}

impl Peer {
    /// Finds it on the path.
    pub fn find(limit: Duration) -> Option<Self> {
        Spin::find(limit).map(|spin| Peer { version: spin.version, limit })
    }

    /// Runs it on a model; `kind` is `graph`, `reduced` or `claim:NAME`. Why there are no figures is printed.
    pub fn run(&self, model: &Path, kind: &str, scratch: &Scratch) -> Option<Beside> {
        match self.try_run(model, kind, scratch) {
            Ok(figures) => Some(figures),
            Err(why) => {
                println!("  SPIN on {}: {why}", model.display());
                None
            }
        }
    }

    fn try_run(&self, model: &Path, kind: &str, scratch: &Scratch) -> Result<Beside, String> {
        let claim = kind.strip_prefix("claim:");
        let mut translate = Command::new("spin");
        translate.current_dir(scratch.folder());
        if kind != "reduced" {
            translate.args(["-o1", "-o2", "-o3"]);
        }
        translate.arg("-a").arg(model);
        let mut compile = Command::new("gcc");
        compile.current_dir(scratch.folder()).args(["-O2", "-w", "-DMEMLIM=8192"]);
        if kind != "reduced" {
            compile.arg("-DNOREDUCE");
        }
        if claim.is_none() {
            compile.args(["-DSAFETY", "-DNOCLAIM"]);
        }
        compile.args(["-o", "pan", "pan.c"]);
        let mut build_cpu_seconds = 0.0;
        for (step, name) in [(&mut translate, "spin -a"), (&mut compile, "gcc")] {
            let measured = measure(step, self.limit).map_err(|error| error.to_string())?;
            build_cpu_seconds += measured.cpu_seconds;
            if measured.exit_code != Some(0) {
                return Err(format!("{name} refuses it"));
            }
        }
        let mut search = Command::new(scratch.file("pan"));
        search.current_dir(scratch.folder()).args(SIZES).arg("-n");
        match claim {
            Some(name) => search.args(["-a", "-N", name]),
            None => search.args(["-A", "-E", "-c0"]),
        };
        let measured = measure(&mut search, self.limit).map_err(|error| error.to_string())?;
        if measured.timed_out {
            return Err(format!("not done after {} s", self.limit.as_secs_f64()));
        }
        let figures = read(&measured.output)?;
        Ok(Beside {
            states: figures.states,
            cpu_seconds: measured.cpu_seconds,
            build_cpu_seconds,
            // Its table has a size of our choice: one entry per state is what it needs.
            bytes_per_state: figures.state_bytes / figures.states.max(1) as f64 + 8.0,
        })
    }
}
