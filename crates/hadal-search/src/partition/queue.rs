//! The queues of all partitions (Evangelista and Kristensen 2011, sec. 2): one buffer in RAM, and runs on disk for what
//! does not fit it.
//!
//! When the buffer is full it is sorted, which removes states queued twice, and the longest queues in it go to disk.

use super::files::{Partition, shared_options, write_slices};
use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::{scratch_bytes, sort_unique};
use hadal_store::vfs::Disk;
use hadal_store::{OverBudget, Reservation};

/// Records taken out at a time.
const BATCH: usize = 512;
/// The mark of a record that was taken out.
const TAKEN: u64 = u64::MAX;

/// The buffer. A record is where the state came from, the state, and its partition.
pub(super) struct Queues {
    disk: Disk,
    options: RunOptions,
    buffer: Vec<u64>,
    most: usize,
    _memory: Reservation,
}

impl Queues {
    /// A buffer of at most `bytes` and `records`.
    pub(super) fn new(
        disk: &Disk,
        options: RunOptions,
        bytes: u64,
        records: u64,
    ) -> Result<Self, OverBudget> {
        let shape = RecordShape::with_payload(options.shape.words() + 1, 1);
        let each = shape.bytes() as u64 + scratch_bytes(shape, 1024) / 1024 + 1;
        let records = (bytes / each).min(records).max(16);
        let memory = disk.governor.try_reserve(records * each, "queues")?;
        let most = records as usize * shape.stride();
        Ok(Queues { disk: disk.clone(), options, buffer: Vec::with_capacity(most), most, _memory: memory })
    }

    fn shape(&self) -> RecordShape {
        RecordShape::with_payload(self.options.shape.words() + 1, 1)
    }

    /// Puts a state into a partition's queue. Returns how many records went to disk for it.
    pub(super) fn push(
        &mut self,
        partition: u32,
        from: u64,
        state: &[u64],
        partitions: &mut [Partition],
    ) -> Result<u64, Trouble> {
        let mut written = 0;
        if self.buffer.len() + self.shape().stride() > self.most {
            written = self.make_room(partitions)?;
        }
        self.buffer.push(from);
        self.buffer.extend_from_slice(state);
        self.buffer.push(u64::from(partition));
        partitions[partition as usize].buffered += 1;
        Ok(written)
    }

    fn make_room(&mut self, partitions: &mut [Partition]) -> Result<u64, Trouble> {
        let stride = self.shape().stride();
        let mut segments = self.sort(partitions);
        if self.buffer.len() <= self.most / 2 {
            return Ok(0);
        }
        segments.sort_by_key(|&(partition, from, to)| (std::cmp::Reverse(to - from), partition));
        let mut left = self.buffer.len();
        let longest = segments.into_iter().take_while(|(_, from, to)| {
            let goes = left > self.most / 4;
            left -= to - from;
            goes
        });
        let mut going: Vec<(u32, usize, usize)> = longest.collect();
        going.sort_unstable();
        let options = shared_options(&self.options, 1);
        let shares = going.iter().map(|&(number, from, to)| (number, &self.buffer[from..to]));
        write_slices(&self.disk, (RunKind::Candidates, &options), shares, |number, slice| {
            partitions[number as usize].queue.push(slice);
        })?;
        let mut written = 0;
        for (partition, from, to) in going {
            partitions[partition as usize].buffered = 0;
            written += ((to - from) / stride) as u64;
            for record in self.buffer[from..to].chunks_exact_mut(stride) {
                record[stride - 1] = TAKEN;
            }
        }
        self.close_gaps();
        Ok(written)
    }

    /// Sorts the buffer, drops repeated records, and says where each partition's records are.
    fn sort(&mut self, partitions: &mut [Partition]) -> Vec<(u32, usize, usize)> {
        let shape = self.shape();
        sort_unique(shape, &mut self.buffer);
        let stride = shape.stride();
        let mut segments: Vec<(u32, usize, usize)> = Vec::new();
        for (n, record) in self.buffer.chunks_exact(stride).enumerate() {
            let partition = record[stride - 1] as u32;
            match segments.last_mut() {
                Some(last) if last.0 == partition => last.2 += stride,
                _ => segments.push((partition, n * stride, (n + 1) * stride)),
            }
        }
        for &(partition, from, to) in &segments {
            partitions[partition as usize].buffered = ((to - from) / stride) as u64;
        }
        segments
    }

    /// Closes the gaps that records taken out left.
    pub(super) fn close_gaps(&mut self) {
        let stride = self.shape().stride();
        let mut kept = 0;
        for at in (0..self.buffer.len()).step_by(stride) {
            if self.buffer[at + stride - 1] != TAKEN {
                self.buffer.copy_within(at..at + stride, kept);
                kept += stride;
            }
        }
        self.buffer.truncate(kept);
    }

    /// Moves some buffered records of a partition, as they are in a queue run, to `batch`, looking from position `at` on;
    /// `false` when there are no more. [`Queues::close_gaps`] follows the last batch.
    pub(super) fn take_batch(
        &mut self,
        (number, partition): (u32, &mut Partition),
        at: &mut usize,
        batch: &mut Vec<u64>,
    ) -> bool {
        let stride = self.shape().stride();
        batch.clear();
        while *at < self.buffer.len() && batch.len() < BATCH * (stride - 1) && partition.buffered > 0 {
            let record = &mut self.buffer[*at..*at + stride];
            if record[stride - 1] == u64::from(number) {
                batch.extend_from_slice(&record[..stride - 1]);
                record[stride - 1] = TAKEN;
                partition.buffered -= 1;
            }
            *at += stride;
        }
        !batch.is_empty()
    }

    /// Sends the buffered records of a partition that was split to where they belong now.
    pub(super) fn redirect(
        &mut self,
        old: u32,
        partitions: &mut [Partition],
        partition_of: impl Fn(&[u64]) -> u32,
    ) {
        let stride = self.shape().stride();
        for record in self.buffer.chunks_exact_mut(stride) {
            if record[stride - 1] == u64::from(old) {
                let new = partition_of(&record[1..stride - 1]);
                record[stride - 1] = u64::from(new);
                partitions[new as usize].buffered += 1;
            }
        }
        partitions[old as usize].buffered = 0;
    }

    /// Writes a copy of the buffer for whoever resumes the run; none where it is empty.
    pub(super) fn copy_to_disk(&mut self, partitions: &mut [Partition]) -> Result<Option<RunFile>, Trouble> {
        self.sort(partitions);
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let options = RunOptions { shape: self.shape(), ..self.options };
        let mut writer = RunWriter::create(&self.disk, RunKind::Candidates, &options)?;
        writer.push_all(Records::new(self.shape(), &self.buffer))?;
        Ok(Some(writer.finish()?))
    }

    /// Puts a copy that was written to disk back, some of it into queue runs if the buffer is smaller than it was.
    pub(super) fn restore(&mut self, name: &str, partitions: &mut [Partition]) -> Result<u64, Trouble> {
        let options = RunOptions { shape: self.shape(), ..self.options };
        let run = RunFile::open(&self.disk, name, &options)?;
        let mut reader = RunReader::open(&run)?;
        let (mut block, stride, mut written) = (Vec::new(), self.shape().stride(), 0);
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(stride) {
                let partition = record[stride - 1] as u32;
                written += self.push(partition, record[0], &record[1..stride - 1], partitions)?;
            }
        }
        Ok(written)
    }
}
