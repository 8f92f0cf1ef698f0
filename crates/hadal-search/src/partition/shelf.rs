//! States that left RAM lately, as they are, by partition: a partition that is visited again soon needs no file, and what
//! few visits find in many small partitions goes to disk together, sorted, as one run.

use super::files::{Io, Partition, payload_of, shared_options, write_slices};
use crate::layered::Trouble;
use hadal_store::run::{RunKind, RunOptions};
use hadal_store::shape::RecordShape;
use hadal_store::sort::scratch_bytes;
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};

/// What shelves hold: expanded states, and states with their numbers that are still to be expanded.
const KINDS: [RunKind; 2] = [RunKind::Closed, RunKind::Frontier];

/// The room that all partitions' shelves share.
pub(super) struct Shelf {
    disk: Disk,
    options: RunOptions,
    io: Io,
    /// Words on the shelves, and most of them.
    words: usize,
    most: usize,
    _memory: Reservation,
}

impl Shelf {
    /// Shelves within `bytes`.
    pub(super) fn new(disk: &Disk, options: RunOptions, bytes: u64, io: &Io) -> Result<Self, OverBudget> {
        let memory = disk.governor.try_reserve(bytes, "states that left RAM lately")?;
        // Vectors grow by doubling; one partition at a time is sorted, and copied with its number.
        let shape = RecordShape::with_payload(options.shape.words() + 1, 1);
        let each = 3 * shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024 + 1;
        let records = bytes / each;
        let most = records as usize * shape.stride();
        Ok(Shelf { disk: disk.clone(), options, io: io.clone(), words: 0, most, _memory: memory })
    }

    /// Puts a record of a partition on its shelf.
    pub(super) fn put(
        &mut self,
        (number, kind): (u32, RunKind),
        record: &[u64],
        partitions: &mut [Partition],
    ) -> Result<(), Trouble> {
        // Each counts as the largest would.
        let words = self.options.shape.words() + 2;
        if self.words + words > self.most {
            self.clear(partitions)?;
        }
        self.words += words;
        partitions[number as usize].shelve(kind, record);
        Ok(())
    }

    /// Takes what a partition has on its shelf: its expanded states, or the others with their numbers.
    pub(super) fn take(&mut self, partition: &mut Partition, kind: RunKind) -> Vec<u64> {
        let stride = self.options.shape.words() + payload_of(kind);
        let records = partition.take_shelved(kind, stride);
        self.words -= records.len() / stride * (self.options.shape.words() + 2);
        records
    }

    /// Writes everything to disk.
    pub(super) fn clear(&mut self, partitions: &mut [Partition]) -> Result<(), Trouble> {
        let words = self.options.shape.words();
        for kind in KINDS {
            let payload = payload_of(kind);
            let shape = RecordShape::with_payload(words, payload);
            let owners = partitions.iter_mut().enumerate();
            let shelved = owners.filter_map(|(number, partition)| {
                partition.sort_shelved(kind, shape);
                let records = partition.take_shelved(kind, shape.stride());
                let number = number as u32;
                (!records.is_empty()).then(|| (number, with_number(&records, shape.stride(), number)))
            });
            let mut slices = Vec::new();
            let options = shared_options(&self.options, payload);
            self.io.measure(|| {
                write_slices(&self.disk, (kind, &options), shelved, |number, slice| {
                    slices.push((number, slice));
                })
            })?;
            for (number, slice) in slices {
                partitions[number as usize].give(kind, slice);
            }
        }
        self.words = 0;
        Ok(())
    }
}

/// The records with their partition behind each, as runs that partitions share have them.
pub(super) fn with_number(records: &[u64], stride: usize, number: u32) -> Vec<u64> {
    let mut numbered = Vec::with_capacity(records.len() / stride * (stride + 1));
    for record in records.chunks_exact(stride) {
        numbered.extend_from_slice(record);
        numbered.push(u64::from(number));
    }
    numbered
}
