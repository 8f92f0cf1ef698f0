//! What is asked of a search and what it answers.

mod detection;

pub use detection::{Buckets, CacheDistanceFigures, DetectionWork, Distance, FileSeconds, Locality};

use crate::directed::DirectedFigures;
use crate::external::ExternalFigures;
use crate::firings::ActionFirings;
use crate::partition::PartitionFigures;
use hadal_store::vfs::{Disk, ReadCost, TransfersOfKind};
pub use hadal_system::DeadlockNotion;
use hadal_system::{Label, PropertyId, PropertyInfo, PropertyKind, StateSpace};
use serde::{Deserialize, Serialize};

/// What to look for.
#[derive(Clone, Debug)]
pub struct Question {
    /// The notion of deadlock.
    pub deadlock: DeadlockNotion,
    /// The properties asked about, by [`PropertyId`]; the others are ignored. Assumptions always hold.
    pub asked: Vec<bool>,
}

impl Question {
    /// All properties, and deadlock in this notion.
    pub fn everything(properties: &[PropertyInfo], deadlock: DeadlockNotion) -> Self {
        Question { deadlock, asked: vec![true; properties.len()] }
    }

    /// Whether this property is asked about.
    pub fn asks(&self, property: PropertyId) -> bool {
        self.asked.get(property.0 as usize).copied().unwrap_or(false)
    }

    /// Whether something is asked about infinite runs, which seeing every state does not answer.
    pub fn asks_about_runs(&self, space: &dyn StateSpace) -> bool {
        let answered = space.acceptance().filter(|it| it.by_reaching).map(|it| it.property.0 as usize);
        let mut asked = space.properties().iter().zip(&self.asked).enumerate();
        asked.any(|(n, (property, asked))| *asked && property.kind.is_about_runs() && Some(n) != answered)
    }

    /// The verdict when every state was seen and none is wrong.
    pub fn seen_all(&self, space: &dyn StateSpace) -> Verdict {
        match self.asks_about_runs(space) {
            true => Verdict::Stopped(StopReason::Unanswered),
            false => Verdict::Holds,
        }
    }

    /// The asked properties of one kind.
    pub fn of_kind<'a>(
        &'a self,
        properties: &'a [PropertyInfo],
        kind: PropertyKind,
    ) -> impl Iterator<Item = PropertyId> + 'a {
        (0..properties.len() as u32)
            .map(PropertyId)
            .filter(move |&id| properties[id.0 as usize].kind == kind && self.asks(id))
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything reachable was seen and nothing was wrong.
    Holds,
    /// This is wrong.
    Violated(Violation),
    /// The search ended before it knew.
    Stopped(StopReason),
}

/// Why a search ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The memory budget is used up.
    Memory {
        /// A budget in bytes that would have gone further (a lower bound of what the whole run needs).
        needed: u64,
    },
    /// `--max-states`.
    StateLimit,
    /// `--max-depth`.
    DepthLimit,
    /// What is left costs more than was asked for.
    CostBound,
    /// `--time-limit`.
    TimeLimit,
    /// Asked to stop.
    Interrupted,
    /// No space left on disk.
    DiskFull,
    /// The order leaves states out without a proof, and nothing was found among the others.
    Incomplete,
    /// Every state was seen, and something else is asked that no search answers.
    Unanswered,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StopReason::Memory { .. } => "the memory budget is used up",
            StopReason::StateLimit => "the limit of states is reached",
            StopReason::DepthLimit => "the limit of depth is reached",
            StopReason::CostBound => "the bound of costs is reached",
            StopReason::TimeLimit => "the time limit is reached",
            StopReason::Interrupted => "interrupted",
            StopReason::DiskFull => "the disk is full",
            StopReason::Incomplete => "the order leaves states out and found nothing among the others",
            StopReason::Unanswered => "some questions are not answered",
        })
    }
}

/// Something wrong, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub kind: ViolationKind,
    /// Packed states from an initial one to the one where it is wrong (as stored: canonical under symmetry). Empty where
    /// there is no such state.
    pub path: Vec<Vec<u64>>,
    /// Whether no shorter path exists.
    pub shortest: bool,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// The last state breaks an invariant.
    Invariant(PropertyId),
    /// The last state has what was looked for.
    Goal(PropertyId),
    /// Evaluating the property in the last state meets an error of the model.
    PropertyFault(PropertyId),
    /// Firing this action from the last state meets an error of the model.
    Fault(Label),
    /// Making this initial state meets an error of the model.
    StartFault(Label),
    /// Nothing leads on from the last state.
    Deadlock,
    /// From the last state, no state with the property can be reached.
    Liveness(PropertyId),
    /// The whole space was seen and this was never met.
    Uncovered(PropertyId),
    /// Whatever follows the last state, the formula is broken.
    Prefix(PropertyId),
    /// From the last state the path goes on in the one numbered `loop_from`, and so for ever: a run that is accepted.
    Cycle {
        /// The property it breaks.
        property: PropertyId,
        /// The state of the path to which the last one leads back.
        loop_from: usize,
    },
}

impl ViolationKind {
    /// The property that is decided, where it is one.
    pub fn property(self) -> Option<PropertyId> {
        match self {
            ViolationKind::Invariant(id)
            | ViolationKind::Goal(id)
            | ViolationKind::PropertyFault(id)
            | ViolationKind::Liveness(id)
            | ViolationKind::Uncovered(id)
            | ViolationKind::Prefix(id)
            | ViolationKind::Cycle { property: id, .. } => Some(id),
            ViolationKind::Fault(_) | ViolationKind::StartFault(_) | ViolationKind::Deadlock => None,
        }
    }
}

/// States that were in a layer although an earlier one has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Again {
    /// How many.
    #[serde(rename = "states_again")]
    pub states: u64,
    /// Transitions out of them.
    #[serde(rename = "transitions_again")]
    pub transitions: u64,
}

/// Candidates of a layer that were known, by where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Duplicates {
    /// Equal to another candidate of this layer.
    #[serde(rename = "duplicates_within")]
    pub within: u64,
    /// Found in an earlier layer.
    #[serde(rename = "duplicates_earlier")]
    pub earlier: u64,
    /// The storage does not tell whether in this layer or an earlier one.
    #[serde(rename = "duplicates_either")]
    pub either: u64,
}

impl Duplicates {
    /// All of them.
    pub fn total(self) -> u64 {
        self.within + self.earlier + self.either
    }
}

/// One breadth-first layer, and what became of the states generated from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layer {
    /// Its states.
    pub states: u64,
    /// Transitions out of them.
    pub transitions: u64,
    /// What was explored again and is not counted above (partial detection).
    #[serde(flatten)]
    pub again: Again,
    /// Generated states dropped at once: a table, cache or buffer in RAM knew them.
    pub duplicates_cache: u64,
    /// Generated states that were left to be decided.
    pub candidates: u64,
    /// Candidates that were known.
    #[serde(flatten)]
    pub duplicates: Duplicates,
    /// The new states: the next layer.
    pub unique: u64,
    /// With how many recent layers the candidates were compared, where detection was partial; 0: with all.
    pub window: u64,
    /// The duplicates in earlier layers by how far back, as far as the storage tells.
    pub by_distance: Vec<Distance>,
    /// What finding the next layer took.
    pub detection: DetectionWork,
    /// Bytes read from disk.
    pub bytes_read: u64,
    /// Bytes written to disk.
    pub bytes_written: u64,
    /// Where the time went.
    pub seconds: Spent,
}

impl Layer {
    /// Whether every generated state is accounted for.
    pub fn balances(&self) -> bool {
        self.candidates == self.duplicates.total() + self.unique
            && self.transitions + self.again.transitions == self.duplicates_cache + self.candidates
    }
}

/// Seconds spent on one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Generating successors and looking them up in RAM.
    pub expanding: f64,
    /// Sorting candidates.
    pub sorting: f64,
    /// Writing candidates, merging, and asking the closed set.
    pub detecting: f64,
    /// Waiting for the disk, within the others; all threads together.
    pub waiting: f64,
    /// Reading and writing files, beside the others on threads for that.
    pub files: FileSeconds,
}

/// The answer with its figures.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// Distinct states.
    pub states: u64,
    /// Transitions fired: self-loops counted, initial states not.
    pub transitions: u64,
    /// The longest shortest distance from an initial state, where the order makes it known.
    pub depth: Option<u64>,
    /// The breadth-first layers that were expanded, where the order has them.
    pub layers: Vec<Layer>,
    /// How often each property was covered, by [`PropertyId`].
    pub covers: Vec<u64>,
    /// How often each action fired, in the model's order. Empty where the space names none, or where an earlier sitting
    /// did not count.
    pub actions: Vec<ActionFirings>,
    /// The most bytes held at once under the budget.
    pub peak_memory: u64,
    /// How states were stored, in order.
    pub stages: Vec<Stage>,
    /// What was done on disk, where it was used. The run can then be resumed.
    pub disk: Option<DiskFigures>,
    /// What the answer and the figures rest on besides the search itself.
    pub proviso: Option<Proviso>,
    /// What only some searches count.
    pub particular: Particular,
}

/// What only some searches count.
#[derive(Clone, Debug, Default)]
pub struct Particular {
    /// What is left of the states up to covering, where the storage knows.
    pub covering: Option<CoverFigures>,
    /// Most states that were stored at once, where layers may be deleted.
    pub peak_states: Option<u64>,
    /// Steps that no operator undoes, where used operators are marked.
    pub one_way: Option<u64>,
    /// How far apart generations of one state are, where that was asked.
    pub cache_distances: Option<CacheDistanceFigures>,
    /// The scalars that states were parted by, the first ones first.
    pub scalars: Vec<String>,
    /// Figures of a search partition by partition.
    pub partition: Option<PartitionFigures>,
    /// Figures of a directed search.
    pub directed: Option<DirectedFigures>,
}

impl Report {
    /// How far back the farthest duplicate lies of those whose layer is known, at least and at most; `None` where no distance
    /// is known.
    pub fn locality(&self) -> Option<Locality> {
        let distances = || self.layers.iter().flat_map(|layer| &layer.by_distance);
        let least = distances().map(|distance| distance.nearest).max()?;
        Some(Locality { least, most: distances().map(|distance| distance.farthest).max()? })
    }

    /// What only External A* counts, where it searched.
    pub fn external(&self) -> Option<&ExternalFigures> {
        self.particular.directed.as_ref()?.external.as_ref()
    }
}

/// States up to covering, at the end of a complete search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverFigures {
    /// Different keys: discrete parts.
    pub discrete: u64,
    /// States that no other covers.
    pub maximal: u64,
}

/// A condition on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proviso {
    /// Old layers were deleted: states in them may have been explored and counted again.
    LayersDeleted {
        /// All before this depth.
        before: u64,
    },
    /// As above, and the search ended at a depth beyond which, it was told, there is nothing new.
    Diameter {
        /// What it was told.
        bound: u64,
    },
    /// Candidates were compared with recent layers only, as the search was told: states that lie farther back may have been
    /// explored and counted again.
    BoundTrusted,
    /// Something wrong was met in a layer that is not finished. It is not reported: which violation is, is decided when the
    /// layer is finished, so that it does not depend on time, threads or memory.
    WrongSeen,
    /// An infinite run that breaks a property is known to be there; the search for the way to it was stopped.
    RunSeen,
    /// States and transitions were left out from which nothing that is asked about can be reached.
    Pruned {
        /// How many.
        left_out: u64,
    },
}

/// A change of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What the closed set is from here on.
    pub storage: &'static str,
    /// Distinct states in complete layers when it began.
    pub states: u64,
    /// The layer that was being expanded.
    pub depth: u64,
}

/// What a search did on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskFigures {
    /// Bytes of all files in the run's folder; of those that hold states, where the folder does not count.
    pub bytes: u64,
    /// Most bytes in the folder at any moment of this sitting.
    pub peak: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Records of runs read, and written.
    pub records: (u64, u64),
    /// Blocks moved, by what they hold; the last for the rest.
    pub transfers: [TransfersOfKind; 5],
    /// What reading costs, once enough was read.
    pub read_cost: Option<ReadCost>,
    /// The buckets of hash-based detection.
    pub buckets: Option<Buckets>,
    /// Most states that the cache before the detector held in this sitting.
    pub cache_states: u64,
}

impl DiskFigures {
    /// What a run took of a disk; `held` is what it knows itself to hold there.
    pub fn of(disk: &Disk, held: u64) -> Self {
        let (bytes, peak) = disk.vfs.usage().map_or((held, held), |usage| (usage.now, usage.peak));
        let (read, written) = (disk.traffic.bytes_read(), disk.traffic.bytes_written());
        let (records, transfers) = (disk.traffic.records(), disk.traffic.transfers());
        DiskFigures { bytes, peak, read, written, records, transfers, ..DiskFigures::default() }
    }
}
