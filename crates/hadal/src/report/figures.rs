//! The figures of a run, derived from its record: what `hadal report --json` prints and the page draws.

use super::command::command;
use super::record::{
    LayerRecord, Outcomes, PartitionFigures, PartitionedRecord, Record, SampleRecord, SearchRecord,
    SpentRecord, StageRecord,
};
use crate::outcome::WorkerFigures;
use hadal_search::ActionFirings;
use hadal_search::estimate::{self, Estimate};
use serde::Serialize;

/// How many of the largest partitions are listed.
const LARGEST: usize = 200;

/// A run. Fields are only added, never renamed; what the folder does not say is `null`.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Which run it is, and how it stands.
    #[serde(flatten)]
    pub about: AboutRun,
    /// How far it is.
    #[serde(flatten)]
    pub counts: CountFigures,
    /// Where states are kept.
    #[serde(flatten)]
    pub stored: StoredFigures,
    /// Layers before this one were deleted to make room, where some were: states may have been counted again.
    pub layers_deleted_before: Option<u64>,
    /// Breadth-first layers, the last one still to be expanded unless the search is complete.
    pub layers: Vec<LayerFigures>,
    /// The course of the search.
    pub samples: Vec<Moment>,
    /// Duplicates by how far back their original lies, of all layers together.
    pub distances: Vec<DistanceFigures>,
    /// How often each action fired.
    pub actions: Option<Vec<ActionFirings>>,
    /// A search partition by partition.
    pub partition: Option<Partition>,
    /// The workers of `--cluster`, as they last stood.
    pub workers: Option<Vec<WorkerFigures>>,
    /// A guess of what is left.
    pub estimate: Option<Estimate>,
}

/// Which run it is, and how it stands.
#[derive(Debug, Serialize)]
pub struct AboutRun {
    /// The run's folder.
    pub run: String,
    /// The model's file.
    pub model: Option<String>,
    /// A command that asks the same.
    pub command: Option<String>,
    /// As the run says: `running`, `holds`, `violated`, `stopped: ...`.
    pub status: Option<String>,
    /// `holds` or `violated`, where the run has ended with one.
    pub verdict: Option<&'static str>,
    /// Which commit the figures are of, from 1.
    pub commit: u64,
    /// How long before this report it was made.
    pub committed_seconds_ago: Option<f64>,
}

/// How far it is.
#[derive(Debug, Serialize)]
pub struct CountFigures {
    /// Distinct states.
    pub states: u64,
    /// Transitions fired.
    pub transitions: Option<u64>,
    /// The deepest layer.
    pub depth: Option<u64>,
    /// States found and not expanded yet.
    pub frontier: Option<u64>,
    /// Wall-clock seconds, in all sittings.
    pub seconds: Option<f64>,
}

/// Where states are kept.
#[derive(Debug, Serialize)]
pub struct StoredFigures {
    /// Bytes of all files in the folder.
    pub disk_bytes: u64,
    /// Bytes of the committed files over distinct states.
    pub disk_bytes_per_state: Option<f64>,
    /// How states were stored, in order.
    pub storage: Option<Vec<StageRecord>>,
}

/// A layer.
#[derive(Debug, Serialize)]
pub struct LayerFigures {
    /// Distance from an initial state.
    pub depth: u64,
    /// Its states.
    pub states: u64,
    /// Transitions out of them; absent until it is expanded.
    pub transitions: Option<u64>,
    /// What became of the generated states.
    pub outcomes: Option<Outcomes>,
    /// Bytes read from disk while it was expanded.
    pub bytes_read: Option<u64>,
    /// Bytes written.
    pub bytes_written: Option<u64>,
    /// Where the time went.
    pub seconds: Option<SpentRecord>,
}

/// The search at a commit, and its rates since the one before.
#[derive(Debug, Serialize)]
pub struct Moment {
    /// How it stood.
    #[serde(flatten)]
    pub sample: SampleRecord,
    /// New states per second; absent where no layer was completed since the moment before.
    pub states_per_second: Option<f64>,
    /// Transitions per second; absent likewise.
    pub transitions_per_second: Option<f64>,
}

/// Duplicates whose original lies between `from` and `to` layers back; 0 is the layer being found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DistanceFigures {
    /// Layers back, at least.
    pub from: u64,
    /// Layers back, at most.
    pub to: u64,
    /// Known to lie there.
    pub found: u64,
    /// Known to lie there or nearer: the storage had put layers together.
    pub found_or_nearer: u64,
}

/// A search partition by partition.
#[derive(Debug, Serialize)]
pub struct Partition {
    /// How partitions are split.
    pub heuristic: Option<String>,
    /// The counters that the run has, by name, in the order they are shown.
    pub counters: Vec<Counter>,
    /// States of the largest partitions, descending.
    pub sizes: Vec<u64>,
}

/// One counter.
#[derive(Clone, Debug, Serialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What it counted.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

impl Figures {
    /// The figures of a record.
    pub fn of(record: &Record) -> Self {
        let (search, partitioned) = (&record.search, record.partitioned.as_ref());
        let samples = moments(&search.samples);
        let status = search.status.clone();
        let states = search.journal.layers.iter().map(|layer| layer.states).sum();
        let together = record.workers.as_ref().zip(search.samples.last());
        let has_layers = partitioned.is_none() && record.workers.is_none();
        let layers = if has_layers { layers(search) } else { Vec::new() };
        // A search that left no folder says why beside the verdict.
        let verdict = status.as_deref().and_then(|status| {
            ["holds", "violated"].into_iter().find(|&verdict| status.split(':').next() == Some(verdict))
        });
        let estimate = (verdict.is_none() && has_layers).then(|| {
            let widths: Vec<u64> = layers.iter().map(|layer| layer.states).collect();
            estimate::remaining(&widths, recent_rate(&samples))
        });
        Figures {
            about: AboutRun {
                run: record.run.clone(),
                model: record.about["model"].as_str().map(str::to_owned),
                command: command(&record.about),
                verdict,
                status,
                commit: record.commit,
                committed_seconds_ago: record.committed_seconds_ago,
            },
            counts: CountFigures {
                states,
                transitions: match (partitioned, together) {
                    (Some(part), _) => part.transitions,
                    (_, Some((_, last))) => Some(last.transitions),
                    _ => Some(search.layers.iter().map(|layer| layer.transitions).sum()),
                },
                depth: match together {
                    Some((_, last)) => last.depth,
                    None => (layers.len() as u64).checked_sub(1),
                },
                frontier: match together {
                    Some((workers, _)) => Some(workers.iter().map(|it| it.figures.to_expand()).sum()),
                    None => {
                        layers.last().map(|last| if last.transitions.is_none() { last.states } else { 0 })
                    }
                },
                seconds: search.seconds,
            },
            stored: StoredFigures {
                disk_bytes: together.and_then(|(_, last)| last.disk_bytes).unwrap_or(record.disk_bytes),
                disk_bytes_per_state: (states > 0 && record.committed_bytes > 0)
                    .then(|| record.committed_bytes as f64 / states as f64),
                storage: search.stages.clone().filter(|stages| !stages.is_empty()),
            },
            layers_deleted_before: search
                .journal
                .layers
                .iter()
                .rposition(|layer| layer.gone)
                .map(|depth| depth as u64 + 1),
            distances: distances(&search.layers),
            layers,
            samples,
            actions: search.actions.clone().filter(|actions| !actions.is_empty()),
            partition: partitioned.map(partition),
            workers: record.workers.clone(),
            estimate: estimate.flatten(),
        }
    }
}

fn layers(search: &SearchRecord) -> Vec<LayerFigures> {
    let stored = search.journal.layers.iter().map(|layer| layer.states);
    let expanded = search.layers.iter().map(Some).chain(std::iter::repeat(None));
    let row = |(depth, (states, expanded)): (usize, (u64, Option<&LayerRecord>))| LayerFigures {
        depth: depth as u64,
        states,
        transitions: expanded.map(|layer| layer.transitions),
        outcomes: expanded.and_then(outcomes),
        bytes_read: expanded.and_then(|layer| layer.bytes_read),
        bytes_written: expanded.and_then(|layer| layer.bytes_written),
        seconds: expanded.and_then(|layer| layer.seconds),
    };
    stored.zip(expanded).enumerate().map(row).collect()
}

/// What became of the generated states, where every one of them is accounted for: a run begun by an older version and
/// resumed has layers of which nobody counted it.
fn outcomes(layer: &LayerRecord) -> Option<Outcomes> {
    let outcomes = layer.outcomes?;
    let generated = layer.transitions + layer.transitions_again.unwrap_or(0);
    let decided = outcomes.unique
        + outcomes.duplicates_within
        + outcomes.duplicates_earlier
        + outcomes.duplicates_either;
    (generated == outcomes.duplicates_cache + decided).then_some(outcomes)
}

fn moments(samples: &[SampleRecord]) -> Vec<Moment> {
    let mut before = (0.0, 0, 0);
    let mut moments = Vec::new();
    for sample in samples {
        let (seconds, states, transitions) = before;
        let passed = sample.seconds - seconds;
        if passed <= 0.0 {
            continue;
        }
        let since = |now: u64, then: u64| {
            (sample.transitions > transitions).then(|| now.saturating_sub(then) as f64 / passed)
        };
        moments.push(Moment {
            sample: *sample,
            states_per_second: since(sample.states, states),
            transitions_per_second: since(sample.transitions, transitions),
        });
        before = (sample.seconds, sample.states, sample.transitions);
    }
    moments
}

/// States per second in the last quarter of the course.
fn recent_rate(samples: &[Moment]) -> Option<f64> {
    let samples = || samples.iter().map(|moment| moment.sample);
    let last = samples().next_back()?;
    let from = samples().rev().find(|sample| sample.seconds <= last.seconds * 0.75);
    let (seconds, states) = from.map_or((0.0, 0), |sample| (sample.seconds, sample.states));
    let rate = last.states.saturating_sub(states) as f64 / (last.seconds - seconds);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Adds up the distances of all layers: 0, 1, 2, 3, 4, then 5 to 8, 9 to 16 and so on.
fn distances(layers: &[LayerRecord]) -> Vec<DistanceFigures> {
    let mut classes: Vec<DistanceFigures> = Vec::new();
    let mut add = |nearest: u64, farthest: u64, found: u64| {
        let class = class_of(farthest);
        while classes.len() <= class {
            let (from, to) = bounds_of(classes.len());
            classes.push(DistanceFigures { from, to, found: 0, found_or_nearer: 0 });
        }
        if class_of(nearest) == class {
            classes[class].found += found;
        } else {
            classes[class].found_or_nearer += found;
        }
    };
    let mut told = false;
    for layer in layers.iter().filter(|layer| outcomes(layer).is_some()) {
        add(0, 0, layer.outcomes.map_or(0, |outcomes| outcomes.duplicates_within));
        for distance in &layer.by_distance {
            told = true;
            add(distance.nearest, distance.farthest, distance.found);
        }
    }
    if told { classes } else { Vec::new() }
}

fn class_of(distance: u64) -> usize {
    match distance {
        0..=4 => distance as usize,
        // 5 to 8 is the class after 4, 9 to 16 the next.
        far => (far - 1).ilog2() as usize + 3,
    }
}

fn bounds_of(class: usize) -> (u64, u64) {
    match class {
        0..=4 => (class as u64, class as u64),
        far => ((1 << (far - 3)) + 1, 1 << (far - 2)),
    }
}

fn partition(record: &PartitionedRecord) -> Partition {
    let figures: &PartitionFigures = &record.figures;
    let mut counters = Vec::new();
    let mut count = |name: &str, value: Option<u64>, unit| {
        counters.extend(value.map(|value| Counter { name: name.to_owned(), value: value as f64, unit }));
    };
    count("partitions", figures.sizes.partitions, Unit::Count);
    count("states of the largest", figures.sizes.largest, Unit::Count);
    count("most states in RAM at once", figures.sizes.bound, Unit::Count);
    count("cross transitions", figures.cross_transitions, Unit::Count);
    count("swaps", figures.swaps, Unit::Count);
    count("refinements", figures.refinements, Unit::Count);
    count("refinements by hash", figures.refinements_by_hash, Unit::Count);
    for (what, &splits) in &figures.split_by {
        count(&format!("refinements by {what}"), Some(splits), Unit::Count);
    }
    count("components", figures.components, Unit::Count);
    count("branches to the deepest partition", figures.diagram_depth, Unit::Count);
    let (search, moved) = (figures.search, figures.reorganisation);
    count("records read", search.map(|work| work.reads), Unit::Count);
    count("records written", search.map(|work| work.writes), Unit::Count);
    count("bytes read", search.map(|work| work.bytes_read), Unit::Bytes);
    count("bytes written", search.map(|work| work.bytes_written), Unit::Bytes);
    count("records read for splitting", moved.map(|work| work.reads), Unit::Count);
    count("records written for splitting", moved.map(|work| work.writes), Unit::Count);
    count("bytes read for splitting", moved.map(|work| work.bytes_read), Unit::Bytes);
    count("bytes written for splitting", moved.map(|work| work.bytes_written), Unit::Bytes);
    if let Some(value) = figures.bytes_per_state {
        counters.push(Counter { name: "bytes per state".into(), value, unit: Unit::Count });
    }
    let mut sizes: Vec<u64> = record.partitions.iter().map(|part| part.states).filter(|&n| n > 0).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.truncate(LARGEST);
    Partition { heuristic: figures.heuristic.clone(), counters, sizes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::{DistanceRecord, PartitionRecord};
    use serde_json::Value;

    fn layered(json: Value) -> Record {
        let search = serde_json::from_value(json).expect("a record");
        Record { search, committed_bytes: 600, ..Record::default() }
    }

    #[test]
    fn a_record_of_an_older_version_has_no_figures_rather_than_zeros() {
        let figures = Figures::of(&layered(serde_json::json!({
            "status": "stopped: interrupted", "seconds": 1.5, "covers": [],
            "layers": [{ "states": 1, "transitions": 3 }],
            "journal": { "layers": [{ "states": 1 }, { "states": 2 }], "bundles": [] },
        })));
        assert_eq!(
            (figures.counts.states, figures.counts.transitions, figures.counts.depth),
            (3, Some(3), Some(1))
        );
        assert_eq!((figures.counts.frontier, figures.about.verdict), (Some(2), None));
        assert_eq!(figures.stored.disk_bytes_per_state, Some(200.0));
        assert!(figures.layers[0].outcomes.is_none() && figures.layers[0].seconds.is_none());
        assert_eq!(figures.layers[1].transitions, None);
        assert!(
            figures.samples.is_empty() && figures.distances.is_empty() && figures.stored.storage.is_none()
        );
    }

    #[test]
    fn a_layer_whose_states_are_not_accounted_for_has_no_outcomes() {
        let layer = |cache| LayerRecord {
            transitions: 10,
            outcomes: Some(Outcomes {
                unique: 4,
                duplicates_cache: cache,
                duplicates_within: 1,
                duplicates_earlier: 2,
                duplicates_either: 0,
            }),
            ..LayerRecord::default()
        };
        assert!(outcomes(&layer(3)).is_some());
        assert!(outcomes(&layer(0)).is_none());
    }

    #[test]
    fn distances_are_classed_by_powers_of_two_and_ranges_by_their_far_end() {
        for distance in 0..5000 {
            let (from, to) = bounds_of(class_of(distance));
            assert!(from <= distance && distance <= to, "{distance}");
        }
        let layer = LayerRecord {
            transitions: 12,
            outcomes: Some(Outcomes {
                unique: 0,
                duplicates_cache: 0,
                duplicates_within: 2,
                duplicates_earlier: 10,
                duplicates_either: 0,
            }),
            by_distance: vec![
                DistanceRecord { nearest: 1, farthest: 1, found: 3 },
                DistanceRecord { nearest: 5, farthest: 7, found: 4 },
                DistanceRecord { nearest: 2, farthest: 6, found: 3 },
            ],
            ..LayerRecord::default()
        };
        let classes = distances(&[layer]);
        assert_eq!(classes.iter().map(|c| c.found).collect::<Vec<_>>(), [2, 3, 0, 0, 0, 4]);
        assert_eq!(classes[5], DistanceFigures { from: 5, to: 8, found: 4, found_or_nearer: 3 });
    }

    #[test]
    fn a_partitioned_run_has_its_own_counters_and_no_layers() {
        let part = PartitionedRecord {
            transitions: Some(9),
            partitions: [2, 0, 5].map(|states| PartitionRecord { states }).into(),
            figures: PartitionFigures { swaps: Some(3), ..PartitionFigures::default() },
        };
        let mut record =
            layered(serde_json::json!({ "status": "running", "journal": { "layers": [{ "states": 7 }] } }));
        record.partitioned = Some(part);
        let figures = Figures::of(&record);
        assert_eq!(
            (figures.counts.states, figures.counts.transitions, figures.counts.depth),
            (7, Some(9), None)
        );
        let partition = figures.partition.expect("it is there");
        assert_eq!(partition.counters.len(), 1);
        assert_eq!((&*partition.counters[0].name, partition.sizes), ("swaps", vec![5, 2]));
    }
}
