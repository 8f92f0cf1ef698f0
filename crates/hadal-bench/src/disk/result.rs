//! What `hadal bench disk` found. Fields are only added, never renamed.

use crate::args::{BenchArgs, Clock};
use crate::choice::Choice;
use crate::exploration::Exploration;
use crate::statistics::Spread;
use crate::suite::Case;
use serde::Serialize;

/// What hadal may have resident beyond its budget: the program itself, stacks, buffers of the system (README, "Bounded").
pub const OVERHEAD: u64 = 16 << 20;
/// The bars for `auto`: at this share, the geometric mean of times over RAM is at most this.
pub const BARS: [(f64, f64); 3] = [(10.0, 1.5), (2.0, 1.8), (1.0, 1.8)];
/// No model may be slower than this, at any share.
pub const WORST: f64 = 3.0;

/// A whole run.
#[derive(Debug, Serialize)]
pub struct DiskReport {
    /// Version of hadal.
    pub hadal: &'static str,
    /// Whether this hadal was built for speed.
    pub optimised: bool,
    /// Threads of every child.
    pub threads: u16,
    /// How often each was run; the best counts.
    pub repeat: u16,
    /// The clock behind the means: `wall` or `cpu`.
    pub clock: &'static str,
    /// What keeps the page cache from helping.
    pub memory_limit: &'static str,
    /// Shares in per cent.
    pub budgets: Vec<f64>,
    /// The least budget, whatever the share.
    pub least_bytes: u64,
    /// Strategies.
    pub strategies: Vec<String>,
    /// One for each model.
    pub models: Vec<DiskModel>,
    /// Models that were not run, and why.
    pub left_out: Vec<(String, String)>,
    #[serde(skip)]
    pub chosen_clock: Option<Clock>,
}

/// A model in RAM and under budgets.
#[derive(Debug, Serialize)]
pub struct DiskModel {
    /// How people call it.
    pub name: String,
    /// Model, constants and what is expected.
    pub case: Case,
    /// What is wrong with the counts in RAM, if anything.
    pub problem: Option<String>,
    /// The table in RAM.
    pub ram: Exploration,
    /// Each strategy at each share.
    pub runs: Vec<DiskRun>,
}

impl DiskModel {
    /// A model with its run in RAM.
    pub fn new(case: &Case, ram: Exploration) -> Self {
        DiskModel { name: case.name(), case: case.clone(), problem: ram.problem(case), ram, runs: Vec::new() }
    }
}

/// Bytes over states.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PerState {
    /// Read.
    #[serde(rename = "read_per_state")]
    pub read: f64,
    /// Written.
    #[serde(rename = "written_per_state")]
    pub written: f64,
    /// Of states on disk.
    #[serde(rename = "disk_per_state")]
    pub disk: f64,
}

/// A strategy at a share.
#[derive(Clone, Debug, Serialize)]
pub struct DiskRun {
    /// The strategy.
    pub strategy: String,
    /// Its share of (states x packed bytes), in per cent.
    pub percent: f64,
    /// The share at which this very run was made, where the budget is the same because of the floor.
    pub same_as: Option<f64>,
    /// `--memory`.
    pub budget_bytes: u64,
    /// What `--memory` was in the end, where the run ended for want of memory with the budget of its share.
    pub raised_to: Option<u64>,
    /// What is wrong with the counts, if anything.
    pub problem: Option<String>,
    /// Wall clock over that in RAM.
    pub wall_ratio: Option<f64>,
    /// Processor time over that in RAM.
    pub cpu_ratio: Option<f64>,
    /// Bytes over states.
    #[serde(flatten)]
    pub per_state: PerState,
    /// Whether resident memory stayed within the budget and the documented overhead.
    pub within_memory: bool,
    /// The run itself.
    pub run: Exploration,
}

impl DiskRun {
    /// Holds a run against the table and against the one in RAM; whether its memory was kept is for the caller to say.
    pub fn new(model: &DiskModel, strategy: &str, percent: f64, budget_bytes: u64, run: Exploration) -> Self {
        DiskRun {
            strategy: strategy.to_owned(),
            percent,
            same_as: None,
            budget_bytes,
            raised_to: None,
            problem: run.problem(&model.case),
            wall_ratio: run.ratio(&model.ram, Clock::Wall),
            cpu_ratio: run.ratio(&model.ram, Clock::Cpu),
            per_state: PerState {
                read: run.per_state(run.disk.read),
                written: run.per_state(run.disk.written),
                disk: run.per_state(run.disk.held),
            },
            within_memory: true,
            run,
        }
    }

    /// Time over that in RAM, where counts are right.
    pub fn ratio(&self, clock: Clock) -> Option<f64> {
        let ratio = match clock {
            Clock::Wall => self.wall_ratio,
            Clock::Cpu => self.cpu_ratio,
        };
        ratio.filter(|_| self.problem.is_none())
    }
}

/// A strategy at a share, over all models.
pub struct Mean<'a> {
    /// Times over RAM.
    pub spread: Spread,
    /// The slowest model.
    pub worst: &'a str,
}

impl DiskReport {
    /// A report without models.
    pub fn new(args: &BenchArgs, choice: &Choice, strategies: &[String], caged: bool) -> Self {
        DiskReport {
            hadal: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            threads: args.threads,
            repeat: args.repeat,
            clock: args.clock.name(),
            memory_limit: match caged {
                true => "direct I/O, and a control group (cgroup v2) of the budget and the overhead",
                false => "direct I/O (no control group can be made here)",
            },
            budgets: choice.budgets.clone(),
            least_bytes: args.chosen.least,
            strategies: strategies.to_vec(),
            models: Vec::new(),
            left_out: Vec::new(),
            chosen_clock: Some(args.clock),
        }
    }

    /// Whether a count is wrong or a run failed.
    pub fn has_problem(&self) -> bool {
        self.models.iter().any(|m| m.problem.is_some() || m.runs.iter().any(|run| run.problem.is_some()))
    }

    /// All runs with their models.
    pub fn runs(&self) -> impl Iterator<Item = (&DiskModel, &DiskRun)> {
        self.models.iter().flat_map(|model| model.runs.iter().map(move |run| (model, run)))
    }

    /// A strategy at a share, over the models that it finished.
    pub fn mean(&self, strategy: &str, percent: f64, clock: Clock) -> Option<Mean<'_>> {
        let ratios: Vec<(&str, f64)> = self
            .runs()
            .filter(|(_, run)| run.strategy == strategy && run.percent == percent)
            .filter_map(|(model, run)| Some((model.name.as_str(), run.ratio(clock)?)))
            .collect();
        let worst = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
        Some(Mean { spread: Spread::of(ratios.iter().map(|&(_, ratio)| ratio))?, worst })
    }
}
