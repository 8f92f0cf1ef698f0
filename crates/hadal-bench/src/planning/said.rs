//! What one planner says of one task, and how hadal is asked.

use crate::args::Clock;
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What every planner may take.
pub const MEMORY: &str = "2G";
/// The same for a shell.
pub const MEMORY_KIB: u64 = 2 << 20;

/// How long a planner may take, and by which clock.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// How long.
    pub time: Duration,
    /// On the wall, or of the processor.
    pub clock: Clock,
}

impl Limit {
    /// What a shell does before it runs a planner; what was taken already counts.
    pub fn shell(self, taken: Duration) -> String {
        let left = self.time.saturating_sub(taken).as_secs().max(1);
        match self.clock {
            Clock::Wall => format!("exec timeout {left} "),
            Clock::Cpu => format!("ulimit -t {left}; exec "),
        }
    }
}

/// What is asked of a planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The first plan.
    Any,
    /// A best plan.
    Best,
    /// A best plan, without a guide.
    Blind,
}

impl Asked {
    /// In the order of the tables.
    pub const ALL: [Asked; 3] = [Asked::Any, Asked::Best, Asked::Blind];

    fn options(self) -> &'static [&'static str] {
        match self {
            Asked::Any => &["--first"],
            Asked::Best => &["--optimal"],
            Asked::Blind => &["--engine", "blind"],
        }
    }
}

/// What one planner said of one task.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Said {
    /// `solved`, `unsolvable`, `stopped`, or why there is no answer.
    pub verdict: String,
    /// What the plan costs.
    pub cost: Option<f64>,
    /// Whether it was proved to be a best one.
    pub optimal: bool,
    /// Steps of the plan.
    pub length: Option<u64>,
    /// States known in the end.
    pub states: Option<u64>,
    /// States expanded.
    pub expanded: Option<u64>,
    /// Estimates computed.
    pub evaluated: Option<u64>,
    /// On the wall, reading and grounding included.
    pub seconds: f64,
    /// Of the processor, in the search alone.
    pub search_seconds: Option<f64>,
    /// The most memory it had.
    pub peak_bytes: Option<u64>,
    /// States of each layer, where they were counted.
    pub levels: Vec<u64>,
    /// The best cost of the layers in which it fell.
    pub improvements: Vec<(u64, f64)>,
}

impl Said {
    /// Whether there is an answer.
    pub fn is_answer(&self) -> bool {
        matches!(&*self.verdict, "solved" | "unsolvable")
    }

    /// Expansions in a second of search.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.search_seconds.filter(|&seconds| seconds > 0.05)?;
        Some(self.expanded? as f64 / seconds)
    }

    /// Bytes of memory per state.
    pub fn bytes_per_state(&self) -> Option<f64> {
        let states = self.states.filter(|&states| states > 100_000)?;
        Some(self.peak_bytes? as f64 / states as f64)
    }
}

/// Asks hadal.
pub fn hadal(task: (&Path, &Path), asked: Asked, limit: Limit) -> Said {
    ask(task, asked.options(), limit)
}

/// Asks hadal with these options besides.
pub fn ask((domain, problem): (&Path, &Path), options: &[&str], limit: Limit) -> Said {
    let begun = Instant::now();
    let Ok(binary) = std::env::current_exe() else { return Said::default() };
    let mut command = Command::new("bash");
    // The planner stops by itself in time to say what it knows; the limit of the shell is there for the clock.
    let shell = match limit.clock {
        Clock::Wall => "exec ".to_owned(),
        Clock::Cpu => limit.shell(Duration::ZERO),
    };
    command.args(["-c", &format!("{shell}\"$0\" \"$@\"")]).arg(binary);
    command.arg("plan").args([domain, problem]).args(["--json", "--quiet", "--threads", "1"]).args(options);
    if !options.contains(&"--memory") {
        command.args(["--memory", MEMORY]);
    }
    if limit.clock == Clock::Wall {
        command.args(["--time-limit", &format!("{}s", limit.time.as_secs().max(1))]);
    }
    let scratch = std::env::temp_dir().join(format!("hadal-bench-{}-runs", std::process::id()));
    let output = std::fs::create_dir_all(&scratch)
        .and_then(|()| command.current_dir(&scratch).stdin(Stdio::null()).output());
    // Nobody resumes what a benchmark left, nor what was killed.
    let _ = std::fs::remove_dir_all(&scratch);
    let Ok(output) = output else { return Said::default() };
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let improvements = json["costs"].as_array().into_iter().flatten();
    Said {
        verdict: json["verdict"].as_str().map_or_else(
            || String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("stopped").to_owned(),
            str::to_owned,
        ),
        cost: json["cost"].as_f64(),
        optimal: json["optimal"] == true,
        length: json["plan_length"].as_u64(),
        states: json["states"].as_u64(),
        expanded: json["expanded"].as_u64(),
        evaluated: json["evaluated"].as_u64(),
        seconds: begun.elapsed().as_secs_f64(),
        search_seconds: json["cpu_seconds"]
            .as_f64()
            .zip(json["startup_seconds"].as_f64())
            .map(|(all, start)| (all - start).max(0.0)),
        peak_bytes: json["peak_memory_bytes"].as_u64(),
        levels: json["levels"].as_array().into_iter().flatten().filter_map(|level| level.as_u64()).collect(),
        improvements: improvements
            .filter_map(|it| Some((it["level"].as_u64()?, it["cost"].as_f64()?)))
            .collect(),
    }
}
