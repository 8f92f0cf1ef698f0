//! Leaving RAM, and refinement (Evangelista and Kristensen 2011, sec. 4): a partition that outgrew its share is split, and
//! only its own files are written anew.

use super::diagram::Branch;
use super::figures::DiskWork;
use super::heuristic::Situation;
use super::resident::Origin;
use super::search::Exploration;
use crate::layered::Trouble;
use hadal_store::run::{RunFile, RunKind, RunReader};
use std::ops::Range;

/// States looked at to choose how to split.
const SAMPLE: u64 = 8192;

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
            let state = self.resident.state(at);
            if self.parts.diagram.partition(&self.splitting.components, state) == largest {
                if met % step == 0 {
                    sample.extend_from_slice(state);
                }
                met += 1;
            }
        }
        let refined = self.refine(largest, &sample)?;
        self.evict(Some(refined))
    }

    /// Splits a partition that is not in RAM and has no room there.
    pub(super) fn split_on_disk(&mut self, number: u32) -> Result<(), Trouble> {
        let words = self.task.space.words();
        let (mut sample, mut block) = (Vec::new(), Vec::new());
        let partition = &self.parts.partitions[number as usize];
        for (run, payload) in
            partition.closed.iter().map(|r| (r, 0)).chain(partition.open.iter().map(|r| (r, 1)))
        {
            let mut reader = RunReader::open(run)?;
            // Runs are sorted: a part of each block stands for the whole of it.
            let step = run.records().div_ceil(SAMPLE / 2).max(1) as usize;
            while reader.next_block(&mut block)? && sample.len() < SAMPLE as usize * words {
                for record in block.chunks_exact(words + payload).step_by(step) {
                    sample.extend_from_slice(&record[payload..]);
                }
            }
        }
        let refined = self.refine(number, &sample)?;
        self.move_files(&refined)
    }

    /// Chooses how to split a partition, some of whose states are given, and splits it in the diagram.
    fn refine(&mut self, number: u32, sample: &[u64]) -> Result<Refined, Trouble> {
        let words = self.task.space.words();
        let traffic = &self.ledger.disk().traffic;
        let all = DiskWork {
            bytes_read: traffic.bytes_read(),
            bytes_written: traffic.bytes_written(),
            ..DiskWork::default()
        };
        let reorganisation = self.figures.reorganisation;
        let situation = Situation {
            states: sample,
            words,
            scale: self.parts.partitions[number as usize].states as f64
                / (sample.len() / words).max(1) as f64,
            path: self.parts.diagram.path(number).collect(),
            updates: &self.splitting.updates,
            refinements: self.figures.refinements,
            search: all - reorganisation,
            reorganisation,
        };
        let (branch, by_hash) = self.splitting.chooser.choose(&self.splitting.components, &situation);
        self.figures.refinements += 1;
        self.figures.refinements_by_hash += u64::from(by_hash);
        if let Branch::Component(n) | Branch::Classes { of: n, .. } = branch {
            *self.figures.split_by.entry(self.splitting.components[n].name.clone()).or_default() += 1;
        }
        self.figures.sizes.largest =
            self.figures.sizes.largest.max(self.parts.partitions[number as usize].states);
        let new = self.parts.diagram.refine(number, branch, &self.splitting.components);
        self.make_partitions()?;
        self.parts.partitions[number as usize].states = 0;
        Ok(Refined { old: number, new })
    }

    /// Writes what the files do not hold yet and empties the RAM. States of a partition that was split go to where they
    /// belong now, those in its files as well.
    pub(super) fn evict(&mut self, refined: Option<Refined>) -> Result<(), Trouble> {
        let written = self.write_resident(RunKind::Closed, &refined)?
            + self.write_resident(RunKind::Frontier, &refined)?;
        self.figures.search.writes += written;
        let mut residents = std::mem::take(&mut self.resident.partitions);
        self.resident.clear()?;
        if let Some(refined) = refined {
            self.move_files(&refined)?;
            residents.retain(|&n| n != refined.old);
            residents.extend(refined.new);
        }
        for number in residents {
            let moved = self.parts.partitions[number as usize].consolidate()?;
            self.figures.search.reads += moved;
            self.figures.search.writes += moved;
        }
        Ok(())
    }

    /// Writes the states in RAM that no file holds: those expanded, as [`RunKind::Closed`], or those still to be.
    fn write_resident(&mut self, kind: RunKind, refined: &Option<Refined>) -> Result<u64, Trouble> {
        let (range, payload) = match kind {
            RunKind::Closed => (0..self.resident.expanded, 0),
            _ => (self.resident.expanded..self.resident.len(), 1),
        };
        self.dealer.begin(payload);
        let (mut written, mut record) = (0, Vec::new());
        for at in range {
            if self.resident.origin(at) == Origin::File {
                continue;
            }
            let state = self.resident.state(at);
            record.clear();
            if payload > 0 {
                record.extend(self.resident.number(at));
            }
            record.extend_from_slice(state);
            if self.dealer.add(self.parts.diagram.partition(&self.splitting.components, state), &record) {
                written += self.deal(kind, refined.as_ref())?;
            }
        }
        Ok(written + self.deal(kind, refined.as_ref())?)
    }

    /// Gives each partition its share of the dealer's chunk.
    fn deal(&mut self, kind: RunKind, refined: Option<&Refined>) -> Result<u64, Trouble> {
        let partitions = &mut self.parts.partitions;
        self.dealer.deal(kind, |number, run: RunFile| {
            let partition = &mut partitions[number as usize];
            let is_new = refined.is_some_and(|refined| refined.new.contains(&number));
            if is_new && kind != RunKind::Candidates {
                partition.states += run.records();
            }
            match kind {
                RunKind::Closed => partition.closed.push(run),
                RunKind::Frontier => partition.open.push(run),
                RunKind::Candidates => partition.queue.push(run),
                // Tables of guides belong to no partition.
                RunKind::Distances => {}
            }
        })
    }

    /// Distributes the files and the queue of a partition that was split over the new ones.
    fn move_files(&mut self, refined: &Refined) -> Result<(), Trouble> {
        let traffic = self.ledger.disk().traffic.clone();
        let before = (traffic.bytes_read(), traffic.bytes_written());
        let old = std::mem::take(&mut self.parts.partitions[refined.old as usize]);
        self.parts.partitions[refined.old as usize].buffered = old.buffered;
        for (kind, runs) in
            [(RunKind::Closed, old.closed), (RunKind::Frontier, old.open), (RunKind::Candidates, old.queue)]
        {
            let payload = usize::from(kind != RunKind::Closed);
            let stride = self.task.space.words() + payload;
            self.dealer.begin(payload);
            let (mut block, mut written) = (Vec::new(), 0);
            for run in runs {
                let mut reader = RunReader::open(&run)?;
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
        let (diagram, components) = (&self.parts.diagram, &self.splitting.components);
        self.queues
            .redirect(refined.old, &mut self.parts.partitions, |state| diagram.partition(components, state));
        self.figures.reorganisation.bytes_read += traffic.bytes_read() - before.0;
        self.figures.reorganisation.bytes_written += traffic.bytes_written() - before.1;
        Ok(())
    }
}
