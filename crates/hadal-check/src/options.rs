//! How a question is to be answered: everything that can be chosen, as data.

use crate::detection::Detecting;
use crate::directed::Directing;
use crate::partition::Partitioning;
use crate::reduction::Reductions;
use crate::running::Running;
use crate::strategy::Strategy;
use hadal_exec::model::{Engine, ModelOptions};
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::Limits;
use hadal_system::DeadlockNotion;
use std::path::PathBuf;

/// What is asked, and how it is to be answered. [`Check`](crate::Check) sets these one by one.
#[derive(Clone, Debug)]
pub struct Options {
    /// Properties asked about, by name; where none is named, all but goals.
    pub properties: Vec<String>,
    /// Properties that are answered already, by name: they are not asked about, though they are named.
    pub settled: Vec<String>,
    /// What a deadlock is.
    pub deadlock: DeadlockNotion,
    /// How states are visited and stored.
    pub strategy: Strategy,
    /// A directed search.
    pub directing: Directing,
    /// What is left out of the search.
    pub reductions: Reductions,
    /// How `part` works.
    pub partitioning: Partitioning,
    /// How the layered disk strategies work.
    pub detecting: Detecting,
    /// Questions about infinite runs.
    pub running: Running,
    /// How the model is run.
    pub model: ModelOptions,
    /// What the search may take.
    pub budget: Budget,
    /// Where run folders are kept.
    pub place: Place,
}

/// What a search may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Memory in bytes; three quarters of what the machine has free unless it is given.
    pub memory: Option<u64>,
    /// Threads; as many as there are cores unless it is given.
    pub threads: Option<usize>,
    /// Most bytes in the run's folder.
    pub disk: Option<u64>,
    /// When to stop.
    pub limits: Limits,
}

/// Where a run keeps what does not fit in memory.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The folder of run folders. A run in one that is named is kept when it is done.
    pub disk: Option<PathBuf>,
    /// What the run's folder is named after; the model unless it is given.
    pub name: Option<String>,
    /// Goes on with the run in this folder.
    pub resumed: Option<PathBuf>,
    /// Kept in the folder, for whoever resumes.
    pub about: serde_json::Value,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            properties: Vec::new(),
            settled: Vec::new(),
            deadlock: DeadlockNotion::default(),
            strategy: Strategy::default(),
            directing: Directing::default(),
            reductions: Reductions::default(),
            partitioning: Partitioning::default(),
            detecting: Detecting::default(),
            running: Running::default(),
            model: ModelOptions { engine: Engine::Compiled, symmetry: SymmetryMode::Auto },
            budget: Budget::default(),
            place: Place::default(),
        }
    }
}

/// Reads `512`, `64K`, `500M`, `8G`, `1.5T`, with or without `B` or `iB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (digits, factor) = match bare.chars().last() {
        Some('k') => (&bare[..bare.len() - 1], 1u64 << 10),
        Some('m') => (&bare[..bare.len() - 1], 1 << 20),
        Some('g') => (&bare[..bare.len() - 1], 1 << 30),
        Some('t') => (&bare[..bare.len() - 1], 1 << 40),
        _ => (bare, 1),
    };
    let number: f64 =
        digits.trim().parse().map_err(|_| format!("`{text}` is not a size such as 500M or 8G"))?;
    let bytes = number * factor as f64;
    if !(0.0..9e18).contains(&bytes) {
        return Err(format!("`{text}` is not a sensible size"));
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(parse_size("500M"), Ok(500 << 20));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("64kb"), Ok(64 << 10));
        assert!(parse_size("lots").is_err());
        assert!(parse_size("-1G").is_err());
    }
}
