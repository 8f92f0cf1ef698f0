//! The parts of a result.

use crate::settings::Settings;
use hadal_check::units::counted;
use hadal_check::{Answer, Coverage};
use hadal_search::directed::DirectedFigures;
use hadal_search::partition::PartitionFigures;
use hadal_search::report::{CacheDistanceFigures, Locality};
use hadal_search::{Buckets, Report};
use hadal_store::vfs::{ReadCost, Transfers};
use serde::Serialize;

/// What is true, and why.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Decided {
    /// `holds`, `violated` or `stopped`.
    pub verdict: &'static str,
    /// Why, in one sentence.
    pub reason: String,
    /// The property that decided, if one did.
    pub property: Option<String>,
}

/// What was counted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Distinct states, after symmetry.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// Discrete parts of zones: locations and variables without clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discrete: Option<u64>,
    /// Zones that no other covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximal: Option<u64>,
    /// The earliest time at which the goal is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastest: Option<String>,
    /// The longest time that states with the goal may last, from entering them to leaving them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The largest and least values that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredFigures>,
    /// The longest shortest distance, where the strategy knows it.
    pub depth: Option<u64>,
    /// States that were explored before this run was resumed.
    #[serde(skip_serializing_if = "is_zero")]
    pub states_before: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A largest or least value.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredFigures {
    /// The query that asks for it.
    pub query: String,
    /// What was measured.
    pub of: String,
    /// The value, or what is known of it.
    pub value: String,
}

/// What was found, in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceFigures {
    /// Steps of the trace, the initial state not counted.
    pub trace_length: Option<u64>,
    /// With `--shorten`: steps of the trail to the state that is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trail_length: Option<u64>,
    /// What the trace costs, where actions have costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// How many shortest paths lead to what was found, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_paths: Option<u64>,
    /// How many of them repeat for ever, where the trace is a run that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_length: Option<u64>,
    /// Where such a trace is a shortest one: among which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_among: Option<&'static str>,
    /// What is asked about infinite runs, one by one, with the figures of each product.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerFigures>,
    /// With `--continue`: everything that is wrong, one violation per property.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<ViolationFigures>,
}

/// One of several violations.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationFigures {
    /// The property, where it is one.
    pub property: Option<String>,
    /// `invariant`, `goal`, `error`, `deadlock`, `liveness`, `cover`, `formula` or `cycle`.
    pub kind: &'static str,
    /// One sentence.
    pub message: String,
    /// Steps of the trace.
    pub trace_length: u64,
    /// Steps of its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_length: Option<u64>,
    /// The trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<serde_json::Value>,
}

impl ViolationFigures {
    /// The name of what is violated, deadlock freedom included.
    pub fn answered(&self) -> &str {
        self.property.as_deref().unwrap_or(hadal_check::coverage::NO_DEADLOCK)
    }
}

/// How long it took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimeFigures {
    /// Wall-clock seconds from start to verdict.
    pub seconds: f64,
    /// Seconds of it spent before the search: reading, checking, compiling.
    pub startup_seconds: f64,
    /// Processor seconds of all threads from start to verdict, user and system.
    pub cpu_seconds: f64,
    /// Processor seconds of it spent before the search.
    pub startup_cpu_seconds: f64,
}

/// What it took of the memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MemoryFigures {
    /// The most memory the process had resident during the search.
    pub peak_memory_bytes: u64,
    /// The most memory it had resident before: reading, checking and compiling the model.
    pub startup_peak_memory_bytes: u64,
    /// The most memory held under the budget.
    pub peak_budget_bytes: u64,
    /// The budget.
    pub memory_budget_bytes: u64,
}

/// Where states were kept.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoredFigures {
    /// Bytes in the run's folder at the end.
    pub disk_bytes: u64,
    /// Most bytes in it at any moment.
    pub peak_disk_bytes: u64,
    /// Bytes read from disk.
    pub disk_bytes_read: u64,
    /// Bytes written to disk.
    pub disk_bytes_written: u64,
    /// Records of sorted runs read from disk.
    pub disk_records_read: u64,
    /// Records of sorted runs written to disk.
    pub disk_records_written: u64,
    /// Blocks moved, by what they hold.
    pub disk_blocks: Vec<BlockFigures>,
    /// How states were stored, in order.
    pub storage: Vec<StorageFigures>,
    /// How far back the farthest duplicate lies, in layers.
    pub locality: Option<Locality>,
    /// Most states in the cache before duplicate detection on disk.
    pub cache_states: u64,
    /// What reading from disk costs, for `--explain`.
    #[serde(skip)]
    pub read_cost: Option<ReadCost>,
}

/// How it was searched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Used {
    /// What was used.
    pub strategy: &'static str,
    /// How symmetry was used.
    pub symmetry: &'static str,
    /// What left states out of the search: the counts are those of the reduced space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<String>,
    /// What the reductions asked for left out, or why nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reduction_notes: Vec<String>,
    /// Threads.
    pub threads: usize,
    /// The run folder, where there is one.
    pub run: Option<String>,
    /// Bits and words of a packed state.
    pub state_bits: u32,
    /// Bytes of a packed state in RAM.
    pub state_bytes: u64,
    /// What a file of settings beside the model said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// What was decided before the search, for `--explain`.
    #[serde(skip)]
    pub decisions: Vec<String>,
}

/// What happened on the way, and what never did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// What was asked, with the answers, and what never happened.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// How often each cover property was met.
    pub covers: Vec<CoverFigures>,
    /// How often each action fired, all its instances together.
    pub actions: Vec<hadal_search::ActionFirings>,
}

/// What only some strategies count.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Details {
    /// The buckets of `--strategy hash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<BucketFigures>,
    /// Most states of layers stored at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_states: Option<u64>,
    /// Steps that no operator undoes, with `--used-operators`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way: Option<u64>,
    /// What `--cache-distances` measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_distances: Option<CacheDistanceFigures>,
    /// Figures of `--strategy part`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionFigures>,
    /// Figures of a directed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directed: Option<DirectedFigures>,
    /// Figures of each worker of `--cluster`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFigures>,
}

/// Buckets, and the scalars that states were parted by.
#[derive(Clone, Debug, Serialize)]
pub struct BucketFigures {
    /// How many there were and what became of them.
    #[serde(flatten)]
    pub buckets: Buckets,
    /// The scalars, those of the first partition first.
    pub scalars: Vec<String>,
}

/// One worker of several.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerFigures {
    /// Where it ran.
    pub host: String,
    /// Its share of the states, in proportion to those of the others.
    pub weight: u64,
    /// Transitions that it fired a second, when it was last told.
    pub transitions_per_second: Option<f64>,
    /// How it stood at the end.
    #[serde(flatten)]
    pub figures: hadal_cluster::message::Figures,
}

/// Blocks of 4096 bytes that were moved between memory and disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BlockFigures {
    /// What they hold: `closed`, `frontier`, `candidates`, `distances`, or `other`.
    pub of: &'static str,
    /// From the disk.
    pub read: TransferFigures,
    /// To the disk.
    pub written: TransferFigures,
}

/// Blocks moved one way.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TransferFigures {
    /// How many.
    pub blocks: u64,
    /// In how many operations.
    pub operations: u64,
    /// Operations that did not go on where the one before ended.
    pub jumps: u64,
}

impl From<Transfers> for TransferFigures {
    fn from(Transfers { blocks, operations, jumps }: Transfers) -> Self {
        TransferFigures { blocks, operations, jumps }
    }
}

impl BlockFigures {
    /// Those of what was moved at all.
    fn of(report: &Report) -> Vec<Self> {
        let all = report.disk.map(|disk| disk.transfers);
        let moved = all.into_iter().flatten().filter(|it| it.read.blocks + it.written.blocks > 0);
        moved
            .map(|it| BlockFigures {
                of: it.kind.map_or("other", |kind| kind.name()),
                read: it.read.into(),
                written: it.written.into(),
            })
            .collect()
    }
}

impl StoredFigures {
    /// Where a search kept its states.
    pub(super) fn of(report: &Report) -> Self {
        let stage = |s: &hadal_search::report::Stage| StorageFigures {
            storage: s.storage,
            states: s.states,
            depth: s.depth,
        };
        StoredFigures {
            disk_bytes: report.disk.map_or(0, |d| d.bytes),
            peak_disk_bytes: report.disk.map_or(0, |d| d.peak),
            disk_bytes_read: report.disk.map_or(0, |d| d.read),
            disk_bytes_written: report.disk.map_or(0, |d| d.written),
            disk_records_read: report.disk.map_or(0, |d| d.records.0),
            disk_records_written: report.disk.map_or(0, |d| d.records.1),
            disk_blocks: BlockFigures::of(report),
            storage: report.stages.iter().map(stage).collect(),
            locality: report.locality(),
            cache_states: report.disk.map_or(0, |d| d.cache_states),
            read_cost: report.disk.and_then(|d| d.read_cost),
        }
    }
}

/// A kind of storage and when it began.
#[derive(Clone, Debug, Serialize)]
pub struct StorageFigures {
    /// `table`, `diagram` or `sorted runs`.
    pub storage: &'static str,
    /// Distinct states in complete layers at that moment.
    pub states: u64,
    /// The layer being expanded.
    pub depth: u64,
}

/// The answer to one question about infinite runs.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerFigures {
    /// What was asked.
    pub property: String,
    /// `holds`, `violated` or `stopped`.
    pub verdict: &'static str,
    /// States of its product.
    pub states: u64,
    /// Transitions of its product.
    pub transitions: u64,
    /// Steps of the run that breaks it, those of its loop included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_length: Option<u64>,
    /// Steps of its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_length: Option<u64>,
}

impl From<Answer> for AnswerFigures {
    fn from(answer: Answer) -> Self {
        AnswerFigures {
            property: answer.property,
            verdict: match answer.holds {
                Some(true) => "holds",
                Some(false) => "violated",
                None => "stopped",
            },
            states: answer.states,
            transitions: answer.transitions,
            trace_length: answer.trace_length,
            loop_length: answer.loop_length,
        }
    }
}

impl AnswerFigures {
    pub(super) fn text(&self) -> String {
        let lasso = match (self.trace_length, self.loop_length) {
            (Some(steps), Some(around)) => {
                format!(", a stem of {} and a loop of {}", steps - around, counted(around, "step"))
            }
            (Some(steps), None) => format!(", {}", counted(steps, "step")),
            _ => String::new(),
        };
        let (states, transitions) = (counted(self.states, "state"), counted(self.transitions, "transition"));
        format!("  {}: {}, {states}, {transitions}{lasso}", self.property, self.verdict)
    }
}

/// Figures of one cover property.
#[derive(Clone, Debug, Serialize)]
pub struct CoverFigures {
    /// Its name.
    pub property: String,
    /// Hits.
    pub hits: u64,
}
