//! What a directed search did, in numbers.

use super::audit::AuditFigures;
use crate::external::ExternalFigures;
use serde::{Deserialize, Serialize};

/// Figures of a directed search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectedFigures {
    /// How it searched.
    #[serde(flatten)]
    pub manner: Manner,
    /// What was done.
    #[serde(flatten)]
    pub work: WorkFigures,
    /// Switches of context on the way to what was found, where the layer bounds them.
    pub switches: Option<u64>,
    /// Bounds tried, where the order raises one.
    pub rounds: u64,
    /// The estimate of the best initial state; absent where it is infinite.
    pub initial_estimate: Option<u32>,
    /// Steps of the trace before it was shortened.
    pub found_length: Option<u64>,
    /// The cost of the trace as found.
    pub found_cost: Option<u64>,
    /// Whether nothing that is looked for costs less, which is proved.
    pub found_cheapest: bool,
    /// States that were expanded breadth-first in between.
    pub blind: u64,
    /// What the audit of the guide's promises saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditFigures>,
    /// The buckets of External A*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalFigures>,
}

/// How a directed search goes about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    /// The guide.
    pub guide: String,
    /// The order.
    pub order: String,
    /// The priority layer.
    pub priority: String,
    /// How ties were broken.
    pub tie: String,
    /// Whether the guide never overestimates.
    pub admissible: bool,
    /// Whether states may be left out because the guide proves them hopeless.
    pub prunes: bool,
}

/// What a directed search did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkFigures {
    /// Entries taken from the queues, also of states that were expanded already.
    pub pops: u64,
    /// States expanded, each counted once.
    pub distinct: u64,
    /// Transitions fired.
    pub generated: u64,
    /// Estimates made of states.
    pub evaluated: u64,
    /// Closed states that were opened again because a cheaper way was found.
    pub reopened: u64,
    /// States left out because the guide proves that nothing looked for can be reached from them.
    pub hopeless: u64,
    /// Transitions left out by the priority layer's exact criterion.
    pub cut: u64,
    /// The share of pops that came from queues of transitions put off.
    pub deferred_share: f64,
    /// Traffic of each queue.
    pub queues: Vec<QueueFigures>,
}

/// Traffic of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFigures {
    /// Entries put in.
    pub pushes: u64,
    /// Entries taken out.
    pub pops: u64,
}
