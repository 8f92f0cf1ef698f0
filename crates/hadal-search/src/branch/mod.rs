//! Breadth-first branch and bound on disk, plain and with iterative broadening (Jabbar 2008, ch. 8, algorithms 8.3 and
//! 8.4 with their errata).
//!
//! States carry the least cost at which they are reached; one that another covers, at no higher cost anywhere, is left
//! out, and so is one that costs as much as the best goal known when its layer began. Broadening expands a share of each
//! layer first and widens from pass to pass: for each cost, a layer takes all states or none, and never fewer than
//! before. What a layer is depends on nothing but the model and the bounds, so budgets and kills change no number.

mod engine;

use crate::explore::Setting;
use crate::layered::Trouble;
use crate::report::StopReason;
use serde::{Deserialize, Serialize};

/// How costs are read from states.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// The least cost of a state.
    pub least: fn(&[u64]) -> u64,
    /// Whether it is a goal at its least cost. Goals have no successors.
    pub is_goal: fn(&[u64]) -> bool,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchOptions {
    /// The share of each layer that a pass expands, in percent, pass by pass. Only 100 proves a cost least.
    pub coverage: Vec<u32>,
    /// Only costs up to this one matter.
    pub bound: Option<u64>,
}

/// What a pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPass {
    /// The share of each layer in percent.
    pub coverage: u32,
    /// Only costs below this one mattered when it began.
    pub below: Option<u64>,
    /// The best cost known after it.
    pub cost: Option<u64>,
    /// States expanded.
    pub expanded: u64,
    /// States generated.
    pub generated: u64,
    /// States kept in layers.
    pub stored: u64,
    /// Layers.
    pub depth: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Branched {
    /// The best cost and the states that lead there.
    pub best: Option<(u64, Vec<Vec<u64>>)>,
    /// Why it ended before everything was seen; none where nothing cheaper exists.
    pub stopped: Option<StopReason>,
    /// Whether a transition met an error of the model: nothing else counts then.
    pub faulty: bool,
    /// What was done.
    pub passes: Vec<BranchPass>,
    /// Bytes of the folder.
    pub disk_bytes: u64,
}

/// Looks for a cheapest goal in a space that has a [cover](hadal_system::StateSpace::cover), or goes on where the run that
/// the setting names was killed.
pub fn branch(setting: Setting, costs: Costs, options: &BranchOptions) -> Result<Branched, Trouble> {
    engine::Engine::new(setting, costs, options)?.run()
}
