//! What a commit keeps of a partitioned search (Evangelista and Kristensen 2011): enough to continue from, after any visit.

use super::diagram::Diagram;
use super::figures::PartitionFigures;
use super::files::Partition;
use super::heuristic::Heuristic;
use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunSlice, SlicePlace};
use hadal_store::vfs::Disk;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The manifest section it stands in.
pub(super) const SECTION: &str = "partitions";

/// A search between two visits.
#[derive(Serialize, Deserialize)]
pub(super) struct SearchRecord {
    pub(super) heuristic: Heuristic,
    pub(super) diagram: Diagram,
    /// The files that partitions have slices of.
    pub(super) files: Vec<String>,
    pub(super) partitions: Vec<PartitionRecord>,
    pub(super) trail: Vec<String>,
    /// The queues that were in RAM.
    pub(super) queues: Option<String>,
    pub(super) transitions: u64,
    pub(super) covers: Vec<u64>,
    pub(super) seconds: f64,
    pub(super) updates: Vec<u64>,
    pub(super) figures: PartitionFigures,
}

/// A slice: the number of its file, and its place there.
type SliceRecord = [u64; 6];

/// The slices of a partition.
#[derive(Serialize, Deserialize)]
pub(super) struct PartitionRecord {
    #[serde(rename = "n")]
    states: u64,
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    closed: Vec<SliceRecord>,
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<SliceRecord>,
    #[serde(rename = "q", default, skip_serializing_if = "Vec::is_empty")]
    queue: Vec<SliceRecord>,
}

/// The records of partitions, and the names of the files that they speak of.
pub(super) fn describe(partitions: &[Partition]) -> (Vec<String>, Vec<PartitionRecord>) {
    let names: Vec<String> = super::files::files(partitions).into_keys().map(str::to_owned).collect();
    let numbers: HashMap<&str, u64> = names.iter().map(String::as_str).zip(0..).collect();
    let slices = |slices: &[RunSlice]| {
        let record = |slice: &RunSlice| {
            let SlicePlace { offset, bytes, block, blocks, records } = slice.place();
            [numbers[slice.run().name()], offset, bytes, block, blocks, records]
        };
        slices.iter().map(record).collect()
    };
    let record = |partition: &Partition| PartitionRecord {
        states: partition.states,
        closed: slices(&partition.closed),
        open: slices(&partition.open),
        queue: slices(&partition.queue),
    };
    let records = partitions.iter().map(record).collect();
    (names, records)
}

/// The files of a run that is resumed, each opened once.
pub(super) struct Files<'a> {
    disk: &'a Disk,
    names: &'a [String],
    open: HashMap<u64, RunFile>,
}

impl<'a> Files<'a> {
    pub(super) fn new(disk: &'a Disk, names: &'a [String]) -> Self {
        Files { disk, names, open: HashMap::new() }
    }

    /// Gives a partition what its record says; runs without and with a word beside the state have these options.
    pub(super) fn restore(
        &mut self,
        partition: &mut Partition,
        record: &PartitionRecord,
        [bare, with_word]: [&RunOptions; 2],
    ) -> Result<(), Trouble> {
        partition.states = record.states;
        for (kind, slices, options) in [
            (RunKind::Closed, &record.closed, bare),
            (RunKind::Frontier, &record.open, with_word),
            (RunKind::Candidates, &record.queue, with_word),
        ] {
            for slice in self.slices(slices, options)? {
                partition.give(kind, slice);
            }
        }
        Ok(())
    }

    fn slices(&mut self, records: &[SliceRecord], options: &RunOptions) -> Result<Vec<RunSlice>, Trouble> {
        let mut slices = Vec::with_capacity(records.len());
        for &[file, offset, bytes, block, blocks, records] in records {
            if !self.open.contains_key(&file) {
                let name = self.names.get(file as usize).ok_or(Trouble::NothingToResume)?;
                self.open.insert(file, RunFile::open(self.disk, name, options)?);
            }
            let place = SlicePlace { offset, bytes, block, blocks, records };
            slices.push(RunSlice::at(&self.open[&file], place)?);
        }
        Ok(slices)
    }
}

/// The names of files.
pub(super) fn names(runs: &[RunFile]) -> Vec<String> {
    runs.iter().map(|run| run.name().to_owned()).collect()
}
