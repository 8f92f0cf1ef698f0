//! The queues of all partitions (Evangelista and Kristensen 2011, sec. 2): in RAM as far as there is room for all of them
//! together, and runs on disk for what does not fit.
//!
//! When the room is used up, states queued twice are dropped, and the longest queues in RAM go to disk.

use super::files::{Io, Partition, shared_options, write_slices};
use super::shelf::with_number;
use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::scratch_bytes;
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};

/// What queues hold.
const KIND: RunKind = RunKind::Candidates;

/// Words of a partition's queue in RAM.
fn length_of((_, partition): &(usize, &mut Partition)) -> usize {
    partition.shelved(KIND).len()
}

/// The room that all queues share. A record is where the state came from, and the state.
pub(super) struct Queues {
    disk: Disk,
    options: RunOptions,
    io: Io,
    /// Records in RAM, and most of them.
    records: usize,
    most: usize,
    _memory: Reservation,
}

impl Queues {
    /// Room for at most `bytes` and `records`.
    pub(super) fn new(
        disk: &Disk,
        options: RunOptions,
        (bytes, records): (u64, u64),
        io: &Io,
    ) -> Result<Self, OverBudget> {
        // Vectors grow by doubling; one partition at a time is sorted, and copied with its number.
        let shape = RecordShape::with_payload(options.shape.words() + 1, 1);
        let each = 3 * shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024 + 1;
        let records = (bytes / each).min(records).max(16);
        let memory = disk.governor.try_reserve(records * each, "queues")?;
        let (disk, io) = (disk.clone(), io.clone());
        Ok(Queues { disk, options, io, records: 0, most: records as usize, _memory: memory })
    }

    /// A record of a queue.
    fn shape(&self) -> RecordShape {
        RecordShape::with_payload(self.options.shape.words(), 1)
    }

    /// Puts a state into a partition's queue. Returns how many records went to disk for it.
    pub(super) fn push(
        &mut self,
        partition: u32,
        from: u64,
        state: &[u64],
        partitions: &mut [Partition],
    ) -> Result<u64, Trouble> {
        let written = if self.records < self.most { 0 } else { self.make_room(partitions)? };
        self.records += 1;
        partitions[partition as usize].enqueue(from, state);
        Ok(written)
    }

    fn make_room(&mut self, partitions: &mut [Partition]) -> Result<u64, Trouble> {
        self.sort(partitions);
        if self.records <= self.most / 2 {
            return Ok(0);
        }
        let stride = self.shape().stride();
        let mut longest: Vec<(usize, &mut Partition)> =
            partitions.iter_mut().enumerate().filter(|it| length_of(it) > 0).collect();
        longest.sort_by_key(|it| (std::cmp::Reverse(length_of(it)), it.0));
        let (before, mut going) = (self.records, 0);
        while going < longest.len() && self.records > self.most / 4 {
            self.records -= length_of(&longest[going]) / stride;
            going += 1;
        }
        longest.truncate(going);
        longest.sort_by_key(|it| it.0);
        let shares = longest.iter_mut().map(|(number, partition)| {
            let records = partition.take_shelved(KIND, stride);
            (*number as u32, with_number(&records, stride, *number as u32))
        });
        let (options, mut slices) = (shared_options(&self.options, 1), Vec::new());
        self.io.measure(|| {
            write_slices(&self.disk, (KIND, &options), shares, |number, slice| slices.push((number, slice)))
        })?;
        for (number, slice) in slices {
            partitions[number as usize].give(KIND, slice);
        }
        Ok((before - self.records) as u64)
    }

    /// Sorts what is in RAM and drops repeated records.
    fn sort(&mut self, partitions: &mut [Partition]) {
        let shape = self.shape();
        let queued = partitions.iter_mut().filter(|partition| !partition.shelved(KIND).is_empty());
        self.records = queued
            .map(|partition| {
                partition.sort_shelved(KIND, shape);
                partition.shelved(KIND).len() / shape.stride()
            })
            .sum();
    }

    /// Takes what is in RAM of a partition's queue, as it is in a queue run.
    pub(super) fn take(&mut self, partition: &mut Partition) -> Vec<u64> {
        let stride = self.shape().stride();
        let records = partition.take_shelved(KIND, stride);
        self.records -= records.len() / stride;
        records
    }

    /// Writes a copy of what is in RAM for whoever resumes the run; none where that is nothing.
    pub(super) fn copy_to_disk(&mut self, partitions: &mut [Partition]) -> Result<Option<RunFile>, Trouble> {
        self.sort(partitions);
        if self.records == 0 {
            return Ok(None);
        }
        let (options, stride) = (shared_options(&self.options, 1), self.shape().stride());
        let mut writer = RunWriter::create(&self.disk, KIND, &options)?;
        for (number, partition) in partitions.iter().enumerate() {
            let records = with_number(partition.shelved(KIND), stride, number as u32);
            writer.push_all(Records::new(options.shape, &records))?;
        }
        Ok(Some(writer.finish()?))
    }

    /// Puts a copy that was written to disk back, some of it into queue runs if there is less room than there was.
    pub(super) fn restore(&mut self, name: &str, partitions: &mut [Partition]) -> Result<u64, Trouble> {
        let options = shared_options(&self.options, 1);
        let run = RunFile::open(&self.disk, name, &options)?;
        let mut reader = RunReader::open(&run)?;
        let (mut block, stride, mut written) = (Vec::new(), options.shape.stride(), 0);
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(stride) {
                let partition = record[stride - 1] as u32;
                written += self.push(partition, record[0], &record[1..stride - 1], partitions)?;
            }
        }
        Ok(written)
    }
}
