//! Leaving RAM, and refinement (Evangelista and Kristensen 2011, sec. 4): a partition that outgrew its share is split, and
//! only its own files are written anew.

use super::diagram::Branch;
use super::files::{MANY_CLOSED, MANY_QUEUED, Partition, SliceScan, payload_of, untidy};
use super::heuristic::Situation;
use super::resident::Origin;
use super::search::Exploration;
use crate::layered::Trouble;
use hadal_store::run::{RunKind, RunSlice};
use std::ops::Range;
use std::time::Instant;

/// States looked at to choose how to split.
const SAMPLE: u64 = 2048;
/// Files are looked after when so many bytes were written since, and a quarter of what partitions hold.
const LITTLE_WRITTEN: u64 = 1 << 20;

/// A partition that was split, and what became of it.
pub(super) struct Refined {
    old: u32,
    new: Range<u32>,
}

impl Exploration<'_> {
    /// Makes room: all partitions leave RAM, and the largest is split if it is what takes the room.
    pub(super) fn relieve(&mut self) -> Result<(), Trouble> {
        let resident = self.resident.partitions.iter().copied();
        let largest =
            resident.max_by_key(|&n| (self.parts.partitions[n as usize].states, std::cmp::Reverse(n)));
        let Some(largest) = largest else { return Ok(()) };
        let states = self.parts.partitions[largest as usize].states;
        if self.resident.partitions.len() > 1 && states <= self.resident.bound / 2 {
            return self.evict(None);
        }
        let step = states.div_ceil(SAMPLE).max(1);
        let (mut sample, mut met) = (Vec::new(), 0);
        for at in 0..self.resident.len() {
            if self.resident.owner(at) == largest {
                if met % step == 0 {
                    sample.extend_from_slice(self.resident.state(at));
                }
                met += 1;
            }
        }
        match self.refine(largest, &sample)? {
            Some(refined) => self.evict(Some(refined)),
            None => {
                // It may be larger; the visit continues.
                self.pause();
                Ok(())
            }
        }
    }

    /// Splits a partition that is not in RAM and has no room there.
    pub(super) fn split_on_disk(&mut self, number: u32) -> Result<(), Trouble> {
        let words = self.task.space.words();
        let (mut sample, mut block) = (Vec::new(), Vec::new());
        let partition = &self.parts.partitions[number as usize];
        for kind in [RunKind::Closed, RunKind::Frontier] {
            let payload = payload_of(kind);
            let records = partition.shelved(kind).chunks_exact(words + payload);
            let step = records.len().div_ceil(SAMPLE as usize / 2).max(1);
            records.step_by(step).for_each(|record| sample.extend_from_slice(&record[payload..]));
        }
        for (slice, payload) in
            partition.closed.iter().map(|s| (s, 0)).chain(partition.open.iter().map(|s| (s, 1)))
        {
            let mut reader = SliceScan::open(slice, &self.io)?;
            // Slices are sorted: a part of each block stands for the whole of it.
            let step = slice.records().div_ceil(SAMPLE / 2).max(1) as usize;
            while reader.next_block(&mut block)? && sample.len() < SAMPLE as usize * words {
                for record in block.chunks_exact(words + payload).step_by(step) {
                    sample.extend_from_slice(&record[payload..]);
                }
            }
        }
        match self.refine(number, &sample)? {
            Some(refined) => self.move_files(&refined),
            None => Ok(()),
        }
    }

    /// Chooses how to split a partition, some of whose states are given, and splits it in the diagram. Nothing where it
    /// may be larger instead.
    fn refine(&mut self, number: u32, sample: &[u64]) -> Result<Option<Refined>, Trouble> {
        let began = Instant::now();
        let words = self.task.space.words();
        let situation = Situation {
            states: sample,
            words,
            scale: self.parts.partitions[number as usize].states as f64
                / (sample.len() / words).max(1) as f64,
            path: self.parts.diagram.path(number).collect(),
            updates: &self.splitting.updates,
            refinements: self.figures.refinements,
            crossing: self.figures.cross_transitions as f64 / self.transitions().max(1) as f64,
        };
        let (branch, by_hash) = self.splitting.chooser.choose(&self.splitting.components, &situation);
        let states = self.parts.partitions[number as usize].states;
        if by_hash && self.options.may_overflow && self.resident.enlarge(states.max(self.resident.bound)) {
            return Ok(None);
        }
        self.figures.refinements += 1;
        self.figures.refinements_by_hash += u64::from(by_hash);
        if let Branch::Component(n) | Branch::Classes { of: n, .. } = branch {
            *self.figures.split_by.entry(self.splitting.components[n].name.clone()).or_default() += 1;
        }
        self.figures.sizes.largest = self.figures.sizes.largest.max(states);
        let new = self.parts.diagram.refine(number, branch, &self.splitting.components);
        self.make_partitions()?;
        self.parts.partitions[number as usize].states = 0;
        self.figures.reorganisation.seconds += began.elapsed().as_secs_f64();
        Ok(Some(Refined { old: number, new }))
    }

    /// Writes what the files do not hold yet and empties the RAM. States of a partition that was split go to where they
    /// belong now, those in its files as well.
    pub(super) fn evict(&mut self, refined: Option<Refined>) -> Result<(), Trouble> {
        let split = refined.as_ref().map(|refined| refined.old);
        // What lies in many slices goes to the shelf as one, since all of it is in RAM.
        let mut anew = Vec::new();
        for &number in self.resident.partitions.iter().filter(|&&number| Some(number) != split) {
            let partition = &mut self.parts.partitions[number as usize];
            if partition.closed.len() > MANY_CLOSED {
                anew.push(number);
                partition.closed.clear();
                self.shelf.take(partition, RunKind::Closed);
            }
        }
        self.shelve_resident(&anew, &refined)?;
        self.resident.clear()?;
        if let Some(refined) = refined {
            self.move_files(&refined)?;
        }
        // Looking at all partitions is not for every visit.
        let written = self.bytes_moved().1;
        if written.saturating_sub(self.tidied.0) < self.tidied.1 { Ok(()) } else { self.tidy() }
    }

    /// Writes queues in many slices anew, and what lies in untidy files.
    pub(super) fn tidy(&mut self) -> Result<(), Trouble> {
        let untidy = untidy(&self.parts.partitions);
        for kind in [RunKind::Closed, RunKind::Frontier, RunKind::Candidates] {
            self.dealer.begin(payload_of(kind));
            let (mut block, mut moved) = (Vec::new(), 0);
            for number in 0..self.parts.partitions.len() {
                let partition = &mut self.parts.partitions[number];
                let is_scattered = kind == RunKind::Candidates && partition.queue.len() > MANY_QUEUED;
                let old = partition.take(kind, |slice| is_scattered || untidy.contains(slice.run().name()));
                let io = self.io.clone();
                for slice in old {
                    let mut reader = SliceScan::open(&slice, &io)?;
                    while reader.next_block(&mut block)? {
                        let stride = self.task.space.words() + payload_of(kind);
                        self.figures.search.reads += (block.len() / stride) as u64;
                        for record in block.chunks_exact(stride) {
                            if self.dealer.add(number as u32, record) {
                                moved += self.deal(kind, None)?;
                            }
                        }
                    }
                }
            }
            self.figures.search.writes += moved + self.deal(kind, None)?;
        }
        let used: u64 = self.parts.partitions.iter().flat_map(|p| p.slices()).map(RunSlice::bytes).sum();
        self.tidied = (self.bytes_moved().1, used / 4 + LITTLE_WRITTEN);
        Ok(())
    }

    /// Puts the states in RAM that are neither in files nor on shelves onto shelves.
    fn shelve_resident(&mut self, anew: &[u32], refined: &Option<Refined>) -> Result<(), Trouble> {
        let mut record = Vec::new();
        for at in 0..self.resident.len() {
            let is_kept = self.resident.origin(at) == Origin::File;
            let owner = self.resident.owner(at);
            if is_kept && (anew.is_empty() || !anew.contains(&owner)) {
                continue;
            }
            let state = self.resident.state(at);
            let partition = match refined {
                Some(refined) if refined.old == owner => {
                    self.parts.diagram.partition(&self.splitting.components, state)
                }
                _ => owner,
            };
            if partition != owner {
                self.parts.partitions[partition as usize].states += 1;
            }
            record.clear();
            let kind = if at < self.resident.expanded { RunKind::Closed } else { RunKind::Frontier };
            if kind != RunKind::Closed {
                record.extend(self.resident.number(at));
            }
            record.extend_from_slice(state);
            self.shelf.put((partition, kind), &record, &mut self.parts.partitions)?;
            self.figures.search.writes += 1;
        }
        Ok(())
    }

    /// Gives each partition its share of the dealer's chunk.
    fn deal(&mut self, kind: RunKind, refined: Option<&Refined>) -> Result<u64, Trouble> {
        let partitions = &mut self.parts.partitions;
        self.dealer.deal(kind, |number, slice: RunSlice| {
            let partition = &mut partitions[number as usize];
            let is_new = refined.is_some_and(|refined| refined.new.contains(&number));
            if is_new && kind != RunKind::Candidates {
                partition.states += slice.records();
            }
            partition.give(kind, slice);
        })
    }

    /// Distributes the files and the queue of a partition that was split over the new ones.
    fn move_files(&mut self, refined: &Refined) -> Result<(), Trouble> {
        let began = Instant::now();
        let before = self.bytes_moved();
        let io = self.io.clone();
        let io_before = io.seconds();
        let old = std::mem::take(&mut self.parts.partitions[refined.old as usize]);
        self.move_shelves(&old);
        for (kind, slices) in
            [(RunKind::Closed, old.closed), (RunKind::Frontier, old.open), (RunKind::Candidates, old.queue)]
        {
            let payload = payload_of(kind);
            let stride = self.task.space.words() + payload;
            self.dealer.begin(payload);
            let (mut block, mut written) = (Vec::new(), 0);
            for slice in slices {
                let mut reader = SliceScan::open(&slice, &io)?;
                while reader.next_block(&mut block)? {
                    self.figures.reorganisation.reads += (block.len() / stride) as u64;
                    for record in block.chunks_exact(stride) {
                        let to = self.parts.diagram.partition(&self.splitting.components, &record[payload..]);
                        if self.dealer.add(to, record) {
                            written += self.deal(kind, Some(refined))?;
                        }
                    }
                }
            }
            self.figures.reorganisation.writes += written + self.deal(kind, Some(refined))?;
        }
        let after = self.bytes_moved();
        self.figures.reorganisation.bytes_read += after.0 - before.0;
        self.figures.reorganisation.bytes_written += after.1 - before.1;
        self.figures.reorganisation.seconds += began.elapsed().as_secs_f64();
        self.figures.reorganisation.io_seconds += io.seconds() - io_before;
        Ok(())
    }

    /// Distributes what a partition that was split has on its shelves. It takes no more room there than before.
    fn move_shelves(&mut self, old: &Partition) {
        for kind in [RunKind::Closed, RunKind::Frontier, RunKind::Candidates] {
            let payload = payload_of(kind);
            let records = old.shelved(kind).chunks_exact(self.task.space.words() + payload);
            let is_in_queue = kind == RunKind::Candidates;
            for record in records {
                let to = self.parts.diagram.partition(&self.splitting.components, &record[payload..]);
                let partition = &mut self.parts.partitions[to as usize];
                partition.shelve(kind, record);
                partition.states += u64::from(!is_in_queue);
                self.figures.reorganisation.reads += u64::from(!is_in_queue);
                self.figures.reorganisation.writes += u64::from(!is_in_queue);
            }
        }
    }
}
