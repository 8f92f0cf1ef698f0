//! What a run's folder says about it.
//!
//! Read as data, not into the search's own types: a folder of an older version lacks fields that the search takes for
//! zero when it resumes, and a page must not show a zero that nobody counted.

use crate::cluster::Workers;
use crate::failure::Failure;
use crate::outcome::{Outcome, StorageFigures, WorkerFigures};
use hadal_search::ActionFirings;
use hadal_search::layered::ledger::{TOGETHER, layers_of};
use hadal_store::manifest::{Manifest, OpenError, RunFolder};
use hadal_store::vfs::{Folder, Vfs};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// A run that is going removes files; looking again finds those that took their place.
const ATTEMPTS: usize = 50;

/// A run's folder at one commit.
#[derive(Debug, Default)]
pub struct Record {
    /// Where it is.
    pub run: String,
    /// Which commit this is, from 1.
    pub commit: u64,
    /// How long ago it was made.
    pub committed_seconds_ago: Option<f64>,
    /// Bytes of all files.
    pub disk_bytes: u64,
    /// Bytes of the files that the commit names.
    pub committed_bytes: u64,
    /// The command, as the run keeps it.
    pub about: Value,
    /// How the search stands, and its layers.
    pub search: SearchRecord,
    /// What a search partition by partition adds.
    pub partitioned: Option<PartitionedRecord>,
    /// The workers, where there are several.
    pub workers: Option<Vec<WorkerFigures>>,
}

impl Record {
    /// Of a search that kept everything in RAM, or whose folder is gone.
    pub fn of(outcome: &Outcome, about: Value) -> Self {
        // Layers are numbers in structs of the same names.
        let layers: Vec<LayerRecord> =
            serde_json::to_value(&outcome.layers).and_then(serde_json::from_value).unwrap_or_default();
        let stored = |layer: &LayerRecord| StoredLayer { states: layer.states, gone: false };
        let stage = |stage: &StorageFigures| StageRecord {
            storage: stage.storage.to_owned(),
            states: stage.states,
            depth: stage.depth,
        };
        let end = SampleRecord {
            seconds: outcome.time.seconds,
            states: outcome.counts.states,
            transitions: outcome.counts.transitions,
            depth: outcome.counts.depth,
            memory_bytes: Some(outcome.memory.peak_budget_bytes),
            disk_bytes: Some(outcome.stored.disk_bytes),
        };
        let mut journal: Vec<StoredLayer> = layers.iter().map(stored).collect();
        let complete: u64 = journal.iter().map(|layer| layer.states).sum();
        if let Some(rest) = outcome.counts.states.checked_sub(complete).filter(|&rest| rest > 0) {
            journal.push(StoredLayer { states: rest, gone: false });
        }
        Record {
            run: "nothing on disk".into(),
            about,
            workers: Some(outcome.details.workers.clone()).filter(|workers| !workers.is_empty()),
            search: SearchRecord {
                status: Some(format!("{}: {}", outcome.decided.verdict, outcome.decided.reason)),
                journal: JournalRecord { layers: journal },
                layers,
                seconds: Some(outcome.time.seconds),
                samples: vec![end],
                stages: Some(outcome.stored.storage.iter().map(stage).collect()),
                actions: Some(outcome.seen.actions.clone()).filter(|actions| !actions.is_empty()),
            },
            ..Record::default()
        }
    }
}

/// How a search stands, and its layers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SearchRecord {
    pub status: Option<String>,
    #[serde(deserialize_with = "layers")]
    pub layers: Vec<LayerRecord>,
    pub seconds: Option<f64>,
    pub samples: Vec<SampleRecord>,
    pub stages: Option<Vec<StageRecord>>,
    pub actions: Option<Vec<ActionFirings>>,
    pub journal: JournalRecord,
}

/// Layers as a run keeps them: rows of numbers, or objects in a folder of an older version.
fn layers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LayerRecord>, D::Error> {
    let kept = Value::deserialize(deserializer)?;
    let in_rows = kept.as_array().is_some_and(|layers| layers.first().is_some_and(Value::is_array));
    let objects = match in_rows {
        true => layers_of(kept).and_then(serde_json::to_value).map_err(D::Error::custom)?,
        false => kept,
    };
    serde_json::from_value(objects).map_err(D::Error::custom)
}

/// The layers that are stored: the expanded ones, and the next. A search without layers has all its states in one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JournalRecord {
    pub layers: Vec<StoredLayer>,
}

/// A stored layer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredLayer {
    pub states: u64,
    /// Whether its states were deleted to make room.
    pub gone: bool,
}

/// An expanded layer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LayerRecord {
    pub states: u64,
    pub transitions: u64,
    pub transitions_again: Option<u64>,
    /// Where all of them were counted.
    #[serde(flatten)]
    pub outcomes: Option<Outcomes>,
    pub by_distance: Vec<DistanceRecord>,
    pub bytes_read: Option<u64>,
    pub bytes_written: Option<u64>,
    pub seconds: Option<SpentRecord>,
}

/// What became of the states generated from a layer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Outcomes {
    /// New: the next layer.
    pub unique: u64,
    /// A table, cache or buffer in RAM knew them.
    pub duplicates_cache: u64,
    /// Equal to another candidate of the layer.
    pub duplicates_within: u64,
    /// Found in an earlier layer.
    pub duplicates_earlier: u64,
    /// Duplicates of either kind: the storage does not tell which.
    pub duplicates_either: u64,
}

/// Duplicates whose original lies this many layers back.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct DistanceRecord {
    pub nearest: u64,
    pub farthest: u64,
    pub found: u64,
}

/// Where the time of a layer went.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentRecord {
    /// Generating successors and looking them up in RAM.
    pub expanding: f64,
    /// Sorting candidates.
    pub sorting: f64,
    /// Merging, and asking the closed set.
    pub detecting: f64,
    /// Waiting for the disk, within the others, all threads together.
    pub waiting: f64,
}

/// The search at a commit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Distinct states.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// The layer to be expanded next.
    pub depth: Option<u64>,
    /// Bytes held under the memory budget.
    pub memory_bytes: Option<u64>,
    /// Bytes of all files in the folder.
    pub disk_bytes: Option<u64>,
}

/// When a kind of storage began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageRecord {
    /// `table`, `diagram`, `sorted runs`, ...
    pub storage: String,
    /// Distinct states in complete layers at that moment.
    pub states: u64,
    /// The layer being expanded.
    pub depth: u64,
}

/// A search partition by partition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartitionedRecord {
    pub transitions: Option<u64>,
    pub partitions: Vec<PartitionRecord>,
    pub figures: PartitionFigures,
}

/// A partition.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartitionRecord {
    #[serde(rename = "n")]
    pub states: u64,
}

/// What a search partition by partition counted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartitionFigures {
    pub heuristic: Option<String>,
    pub components: Option<u64>,
    pub cross_transitions: Option<u64>,
    pub swaps: Option<u64>,
    pub refinements: Option<u64>,
    pub refinements_by_hash: Option<u64>,
    pub search: Option<DiskWork>,
    pub reorganisation: Option<DiskWork>,
    #[serde(flatten)]
    pub sizes: PartitionSizes,
    pub split_by: BTreeMap<String, u64>,
    pub diagram_depth: Option<u64>,
    pub bytes_per_state: Option<f64>,
}

/// How large partitions are.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartitionSizes {
    pub bound: Option<u64>,
    pub largest: Option<u64>,
    pub partitions: Option<u64>,
}

/// Records and bytes moved to and from disk.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DiskWork {
    pub reads: u64,
    pub writes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// Reads the newest commit of the run in `path`, without disturbing whoever is working on it.
pub fn read(path: &Path) -> Result<Record, Failure> {
    let folder = Folder::open(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    let damaged = |what: String| Failure::Damaged(format!("{}: {what}", path.display()));
    let manifest = peek(&folder).map_err(|error| match error {
        OpenError::NothingCommitted => damaged("no run is here, or it has committed nothing yet".into()),
        other => damaged(other.to_string()),
    })?;
    let about = section(&manifest, "about").map_err(&damaged)?;
    let search = section(&manifest, "search").map_err(&damaged)?;
    Ok(Record {
        run: path.display().to_string(),
        commit: manifest.generation,
        committed_seconds_ago: age_seconds(&path.join(Manifest::file_name(manifest.generation))),
        disk_bytes: folder.list().map_or(manifest.bytes(), |files| files.iter().map(|file| file.bytes).sum()),
        committed_bytes: manifest.bytes(),
        about: about.unwrap_or_default(),
        search: search.ok_or_else(|| damaged("it does not say how the search stands".into()))?,
        partitioned: section(&manifest, "partitions").map_err(&damaged)?,
        workers: section(&manifest, TOGETHER).map_err(&damaged)?.map(|workers: Workers| workers.each()),
    })
}

fn peek(folder: &Folder) -> Result<Manifest, OpenError> {
    for _ in 1..ATTEMPTS {
        match RunFolder::peek(folder) {
            Err(OpenError::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
    }
    RunFolder::peek(folder)
}

fn section<T: DeserializeOwned>(manifest: &Manifest, name: &str) -> Result<Option<T>, String> {
    let Some(bytes) = manifest.sections.get(name) else { return Ok(None) };
    serde_json::from_slice(bytes)
        .map(Some)
        .map_err(|error| format!("what it says under \"{name}\" cannot be read: {error}"))
}

fn age_seconds(path: &Path) -> Option<f64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.elapsed().ok()?.as_secs_f64())
}
