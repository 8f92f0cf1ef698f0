//! Merging many runs into one, in several passes where file handles or memory do not allow a single one.

use super::BlockSource;
use super::inputs::MergeInputs;
use super::ranges::merge_ranges;
use crate::error::MergeError;
use crate::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use crate::shape::Records;
use crate::vfs::Disk;

/// How many runs may be open together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeLimits {
    /// Most runs read at once, 2 or more.
    pub fan_in: usize,
}

impl MergeLimits {
    /// As many as file handles sensibly allow and a half of the free memory can buffer.
    pub fn for_memory(disk: &Disk, options: &RunOptions) -> Self {
        MergeLimits::of_footprint(disk, RunReader::footprint(options))
    }

    fn of_footprint(disk: &Disk, footprint: u64) -> Self {
        let affordable = disk.governor.available() / 2 / footprint.max(1);
        MergeLimits { fan_in: affordable.clamp(2, 256) as usize }
    }
}

/// Merges `runs` into one run of `kind` without duplicates; also says how many duplicates there were.
///
/// With more runs than `limits` allow, the smallest are merged first, so that large ones are copied least. Rests between two
/// blocks ([`crate::vfs::at_once`] where nobody takes turns).
pub async fn merge_unique(
    disk: &Disk,
    runs: Vec<RunFile>,
    kind: RunKind,
    options: &RunOptions,
    limits: MergeLimits,
) -> Result<(RunFile, u64), MergeError> {
    let mut passes = Passes { disk, kind, options, duplicates: 0 };
    let runs = passes.reduce(runs, limits).await?;
    let merged = passes.merge_once(&runs).await?;
    Ok((merged, passes.duplicates))
}

/// Merges of one kind, and the duplicates they met.
struct Passes<'a> {
    disk: &'a Disk,
    kind: RunKind,
    options: &'a RunOptions,
    duplicates: u64,
}

impl Passes<'_> {
    /// Merges the smallest runs until `limits` allow all of them to be read together.
    async fn reduce(
        &mut self,
        mut runs: Vec<RunFile>,
        limits: MergeLimits,
    ) -> Result<Vec<RunFile>, MergeError> {
        // Long runs of wide states have larger blocks than the usual ones.
        let largest = runs.iter().map(RunReader::footprint_of).max().unwrap_or(0);
        let affordable = MergeLimits::of_footprint(self.disk, largest).fan_in;
        let fan_in = limits.fan_in.min(affordable).max(2);
        while runs.len() > fan_in {
            runs.sort_by_key(|run| std::cmp::Reverse(run.records()));
            // Just enough to come down to the limit, or a full merge of the smallest.
            let now = (runs.len() - fan_in + 1).clamp(2, fan_in);
            let smallest = runs.split_off(runs.len() - now);
            runs.push(self.merge_once(&smallest).await?);
        }
        Ok(runs)
    }

    async fn merge_once(&mut self, runs: &[RunFile]) -> Result<RunFile, MergeError> {
        let (disk, shape) = (self.disk, self.options.shape);
        let records = runs.iter().map(RunFile::records).sum();
        let options = self.options.for_records(records, disk.governor.limit());
        let mut writer = RunWriter::create(disk, self.kind, &options)?;
        let inputs = MergeInputs::of_runs(runs.to_vec());
        if let Some(ranges) = inputs.ranges(disk, shape, 0)? {
            let mut helpers = vec![(); ranges.threads];
            let take = &mut |records: Records<'_>| writer.push_all(records);
            let met = merge_ranges(disk, (&inputs, &ranges), &mut helpers, |_, _, _| Ok(()), take).await?;
            self.duplicates += met.duplicates;
            return Ok(writer.finish()?);
        }
        let mut merge = inputs.merge(shape)?;
        let mut batch = Vec::new();
        while merge.next_block(&mut batch)? {
            writer.push_all(Records::new(shape, &batch))?;
            disk.rest().await?;
        }
        self.duplicates += merge.duplicates();
        Ok(writer.finish()?)
    }
}
