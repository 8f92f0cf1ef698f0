//! A visit to a partition (Evangelista and Kristensen 2011, sec. 2, `search_i`): read it, search it to local exhaustion.

use super::files::SliceScan;
use super::resident::Origin;
use super::search::Exploration;
use super::trail::step;
use crate::finding::Finding;
use crate::layered::Trouble;
use crate::report::StopReason;
use hadal_store::run::RunKind;
use std::sync::atomic::Ordering;

/// Successors that are placed together.
const BATCH: usize = 512;
/// A visit that takes more work since the last commit is left for another.
const LONGEST_VISIT: u64 = 600_000_000_000;

/// How a visit ended.
pub(super) enum VisitEnd {
    /// Nothing is left to expand in RAM.
    Exhausted,
    /// There is no room for another state.
    Full,
    /// The work of the step is done.
    Paused,
    /// It is time to commit.
    Due,
    /// Something is wrong.
    Found(Finding),
    /// A limit.
    Stopped(StopReason),
}

/// Successors that stay in RAM.
#[derive(Default)]
struct Local {
    states: Vec<u64>,
    steps: Vec<u64>,
    partitions: Vec<u32>,
}

impl Exploration<'_> {
    /// Reads a partition into RAM, beside those that are there, all of which are exhausted.
    pub(super) fn load(&mut self, number: u32) -> Result<(), Trouble> {
        let words = self.task.space.words();
        let mut block = Vec::new();
        let partition = &mut self.parts.partitions[number as usize];
        self.figures.swaps += u64::from(partition.states > 0);
        self.resident.join(number);
        self.resident.expect(partition.states + partition.pending())?;
        self.resident.begin(Origin::File);
        let shelved = partition.shelved(RunKind::Closed);
        self.figures.search.reads += (shelved.len() / words) as u64;
        self.resident.insert(shelved, |_| number)?;
        for slice in &partition.closed {
            let mut reader = SliceScan::open(slice, &self.io)?;
            while reader.next_block(&mut block)? {
                self.figures.search.reads += (block.len() / words) as u64;
                self.resident.insert(&block, |_| number)?;
            }
        }
        self.resident.expanded = self.resident.len();
        self.resident.begin(Origin::Reopened(self.resident.reopened()));
        let shelved = self.shelf.take(partition, RunKind::Frontier);
        self.figures.search.reads += (shelved.len() / (words + 1)) as u64;
        self.resident.reopen_all(&shelved, number)?;
        for slice in partition.take(RunKind::Frontier, |_| true) {
            let mut reader = SliceScan::open(&slice, &self.io)?;
            while reader.next_block(&mut block)? {
                self.figures.search.reads += (block.len() / (words + 1)) as u64;
                self.resident.reopen_all(&block, number)?;
            }
        }
        self.resident.begin(Origin::Found(self.trail.len()));
        self.drain_queue(number)
    }

    /// Takes what is new from a partition's queue, as far as there is room.
    fn drain_queue(&mut self, number: u32) -> Result<(), Trouble> {
        let words = self.task.space.words();
        let mut block = Vec::new();
        while let Some(slice) = self.parts.partitions[number as usize].queue.last().cloned() {
            let io = self.io.clone();
            let mut reader = SliceScan::open(&slice, &io)?;
            while reader.next_block(&mut block)? {
                self.figures.search.reads += (block.len() / (words + 1)) as u64;
                if !self.admit_records(number, &block)? {
                    // It stays a whole; what was taken from it will be known when it is read again.
                    return Ok(());
                }
            }
            self.parts.partitions[number as usize].pop_queue();
        }
        let queued = self.queues.take(&mut self.parts.partitions[number as usize]);
        let mut batches = queued.chunks(BATCH * (words + 1));
        let mut left: &[u64] = &[];
        for batch in batches.by_ref() {
            if !self.admit_records(number, batch)? {
                left = batch;
                break;
            }
        }
        for record in std::iter::once(left).chain(batches).flat_map(|batch| batch.chunks_exact(words + 1)) {
            self.figures.search.writes +=
                self.queues.push(number, record[0], &record[1..], &mut self.parts.partitions)?;
        }
        Ok(())
    }

    /// Takes records of a queue; says whether there was room for all.
    fn admit_records(&mut self, number: u32, records: &[u64]) -> Result<bool, Trouble> {
        let words = self.task.space.words();
        let mut local = Local::default();
        for record in records.chunks_exact(words + 1) {
            local.steps.push(record[0]);
            local.states.extend_from_slice(&record[1..]);
            local.partitions.push(number);
        }
        Ok(self.admit(&local)? == local.steps.len())
    }

    /// Adds the states that are not in RAM yet, numbers them and looks at them. Returns how many were decided on before
    /// there was no more room.
    fn admit(&mut self, local: &Local) -> Result<usize, Trouble> {
        let words = self.task.space.words();
        let mut done = 0;
        let mut added = Vec::new();
        while done < local.steps.len() && self.resident.room() > 0 {
            let now = (local.steps.len() - done).min(self.resident.room() as usize);
            added.clear();
            let states = &local.states[done * words..(done + now) * words];
            self.resident.insert(states, |n| {
                added.push(done + n);
                local.partitions[done + n]
            })?;
            for &n in &added {
                self.trail.push(local.steps[n])?;
                self.parts.partitions[local.partitions[n] as usize].states += 1;
                self.lane.look_at(&local.states[n * words..(n + 1) * words]);
            }
            done += now;
        }
        Ok(done)
    }

    /// Expands what is in RAM until so much work is done.
    pub(super) fn expand(&mut self, until: u64) -> Result<VisitEnd, Trouble> {
        let mut has_gone = false;
        let gauges = &self.task.control.gauges;
        loop {
            gauges.states.store(self.trail.len(), Ordering::Relaxed);
            if let Some(finding) = self.lane.finding.take() {
                return Ok(VisitEnd::Found(finding));
            }
            if let Some(reason) = self.task.control.must_stop(self.trail.len()) {
                return Ok(VisitEnd::Stopped(reason));
            }
            if self.resident.expanded == self.resident.len() {
                return Ok(VisitEnd::Exhausted);
            }
            if self.resident.room() == 0 {
                return Ok(VisitEnd::Full);
            }
            if self.since_commit() > LONGEST_VISIT {
                return Ok(VisitEnd::Due);
            }
            if has_gone && self.work() >= until {
                return Ok(VisitEnd::Paused);
            }
            has_gone = true;
            let mut parents = Vec::new();
            while self.resident.expanded < self.resident.len() && self.lane.waiting().0.len() < BATCH {
                let at = self.resident.expanded;
                // Every state from here on is new or reopened, and so numbered.
                let Some(number) = self.resident.number(at) else { unreachable!() };
                parents.push((at, self.lane.waiting().0.len()));
                self.lane.generate(self.resident.state(at), number);
                self.resident.expanded += 1;
            }
            self.place_waiting(&parents)?;
        }
    }

    /// Puts the waiting successors where they belong: into RAM, or into a queue. `parents` says where each expanded state
    /// is and how many successors came before its own.
    pub(super) fn place_waiting(&mut self, parents: &[(u64, usize)]) -> Result<(), Trouble> {
        self.count_updates(parents);
        let words = self.task.space.words();
        let mut local = Local::default();
        let (out, words_of_parents) = self.lane.waiting();
        let mut index = 0;
        for n in 0..out.len() {
            index = if n > 0 && words_of_parents[n] == words_of_parents[n - 1] { index + 1 } else { 0 };
            let (state, step) = (out.state(n), step(words_of_parents[n], index));
            let partition = self.parts.diagram.partition(&self.splitting.components, state);
            if self.resident.has(partition) {
                local.states.extend_from_slice(state);
                local.steps.push(step);
                local.partitions.push(partition);
            } else {
                self.figures.cross_transitions += 1;
                self.figures.search.writes +=
                    self.queues.push(partition, step, state, &mut self.parts.partitions)?;
            }
        }
        let done = self.admit(&local)?;
        for n in done..local.steps.len() {
            let state = &local.states[n * words..(n + 1) * words];
            self.figures.search.writes +=
                self.queues.push(local.partitions[n], local.steps[n], state, &mut self.parts.partitions)?;
        }
        self.lane.settle();
        Ok(())
    }

    /// Takes note of what the transitions of some states modify.
    fn count_updates(&mut self, parents: &[(u64, usize)]) {
        if !self.options.heuristic.needs_updates() {
            return;
        }
        // Looking at all components of every transition would cost more than firing it.
        let every = (self.splitting.components.len() / 4).max(8) as u64;
        let (out, _) = self.lane.waiting();
        let mut difference = vec![0; self.task.space.words()];
        for (n, &(at, first)) in parents.iter().enumerate().filter(|(_, (at, _))| at % every == 0) {
            let last = parents.get(n + 1).map_or(out.len(), |&(_, next)| next);
            let parent = self.resident.state(at);
            for successor in (first..last).map(|n| out.state(n)) {
                for (word, (a, b)) in difference.iter_mut().zip(parent.iter().zip(successor)) {
                    *word = a ^ b;
                }
                for (sum, component) in self.splitting.updates.iter_mut().zip(&self.splitting.components) {
                    *sum += u64::from(component.is_touched(&difference));
                }
            }
        }
    }
}
