//! What `hadal bench partition` found. Fields are only added, never renamed.

use super::paper::Published;
use crate::args::Clock;
use crate::exploration::Exploration;
use crate::suite::Case;
use serde::Serialize;

/// The heuristic that the paper compares all others with.
pub const BASELINE: &str = "s-ghc";

/// A whole run.
#[derive(Debug, Serialize)]
pub struct PartitionReport {
    /// Version of hadal.
    pub hadal: &'static str,
    /// The clock behind the times: `wall` or `cpu`.
    pub clock: &'static str,
    /// How often each was run; the best counts.
    pub repeat: u16,
    /// Per cent of the states in RAM, descending.
    pub budgets: Vec<f64>,
    /// Heuristics.
    pub heuristics: Vec<String>,
    /// One for each model.
    pub models: Vec<PartitionModel>,
    /// Models that were not run, and why.
    pub left_out: Vec<(String, String)>,
}

/// A model.
#[derive(Debug, Serialize)]
pub struct PartitionModel {
    /// How people call it.
    pub name: String,
    /// Model, constants and what is expected.
    pub case: Case,
    /// What the paper says about it.
    pub paper: Option<Published>,
    /// What is wrong with the counts in RAM, if anything.
    pub problem: Option<String>,
    /// Breadth-first search in RAM.
    pub ram: Exploration,
    /// Partition by partition, by heuristic and share.
    pub parts: Vec<PartRun>,
    /// Other strategies at the smallest share: `bfs-hd3` and `auto`.
    pub others: Vec<OtherRun>,
}

/// A search partition by partition.
#[derive(Debug, Serialize)]
pub struct PartRun {
    /// What partitions are split by.
    pub heuristic: String,
    /// Per cent of the states in RAM.
    pub percent: f64,
    /// The same as a number.
    pub resident_states: u64,
    /// What is wrong with the counts, if anything.
    pub problem: Option<String>,
    /// Transitions into a partition that was not in RAM.
    pub cross_transitions: u64,
    /// Records read and written, by the search and by splitting.
    pub io_records: u64,
    /// Of them by splitting.
    pub reorganisation_records: u64,
    /// Bytes read and written.
    pub io_bytes: u64,
    /// The largest partition in per cent of all states.
    pub largest_percent: f64,
    /// Whether it stayed within its bound.
    pub within_bound: bool,
    /// The run itself.
    pub run: Exploration,
}

/// Another strategy at the smallest share.
#[derive(Debug, Serialize)]
pub struct OtherRun {
    /// The strategy.
    pub strategy: String,
    /// `--memory`.
    pub budget_bytes: u64,
    /// What is wrong with the counts, if anything.
    pub problem: Option<String>,
    /// The run itself.
    pub run: Exploration,
}

impl PartRun {
    /// Reads the figures of a search.
    pub fn new(case: &Case, heuristic: &str, percent: f64, resident_states: u64, run: Exploration) -> Self {
        let figures = &run.json["partition"];
        let count = |path: &str| figures.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let sum = |of: &str, what: [&str; 2]| -> u64 {
            what.iter().map(|name| count(&format!("/{of}/{name}"))).sum()
        };
        let (records, bytes) = (["reads", "writes"], ["bytes_read", "bytes_written"]);
        let reorganisation_records = sum("reorganisation", records);
        PartRun {
            heuristic: heuristic.to_owned(),
            percent,
            resident_states,
            problem: run.problem(case),
            cross_transitions: count("/cross_transitions"),
            io_records: sum("search", records) + reorganisation_records,
            reorganisation_records,
            io_bytes: sum("search", bytes) + sum("reorganisation", bytes),
            largest_percent: count("/largest") as f64 / run.states.max(1) as f64 * 100.0,
            within_bound: count("/largest") <= count("/bound"),
            run,
        }
    }

    /// Whether its figures count: complete and right.
    pub fn counts(&self) -> bool {
        self.problem.is_none() && self.run.verdict == "holds"
    }
}

impl PartitionModel {
    /// The run with this heuristic at this share, where it was finished.
    pub fn part(&self, heuristic: &str, percent: f64) -> Option<&PartRun> {
        self.parts.iter().find(|run| run.heuristic == heuristic && run.percent == percent && run.counts())
    }

    /// The run of another strategy, where it was finished.
    pub fn other(&self, strategy: &str) -> Option<&OtherRun> {
        let finished = |run: &&OtherRun| run.problem.is_none() && run.run.verdict == "holds";
        self.others.iter().find(|run| run.strategy == strategy).filter(finished)
    }

    /// A figure of a heuristic over the baseline's, at a share.
    pub fn over_baseline(&self, heuristic: &str, percent: f64, of: fn(&PartRun) -> u64) -> Option<f64> {
        let (ours, base) = (self.part(heuristic, percent)?, self.part(BASELINE, percent)?);
        (of(base) > 0).then(|| of(ours) as f64 / of(base) as f64)
    }

    /// Time of a heuristic over RAM, at a share.
    pub fn part_ratio(&self, heuristic: &str, percent: f64, clock: Clock) -> Option<f64> {
        self.part(heuristic, percent)?.run.ratio(&self.ram, clock)
    }

    /// Time of another strategy over RAM.
    pub fn other_ratio(&self, strategy: &str, clock: Clock) -> Option<f64> {
        self.other(strategy)?.run.ratio(&self.ram, clock)
    }

    fn has_problem(&self) -> bool {
        self.problem.is_some()
            || self.parts.iter().any(|run| run.problem.is_some())
            || self.others.iter().any(|run| run.problem.is_some())
    }
}

impl PartitionReport {
    /// Whether a count is wrong or a run failed.
    pub fn has_problem(&self) -> bool {
        self.models.iter().any(PartitionModel::has_problem)
    }

    /// The smallest share.
    pub fn smallest(&self) -> f64 {
        self.budgets.last().copied().unwrap_or(1.0)
    }
}

/// The arithmetic mean, which the paper gives; `None` of nothing.
pub fn average(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().flatten().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
