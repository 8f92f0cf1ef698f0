//! Structured duplicate detection (Zhou and Hansen 2004): states are projected on abstract states, and while those of one
//! abstract state are expanded, the closed states of all its abstract successors, its *scope*, are in tables in RAM.
//! Duplicates are found at once and nothing is sorted to find them; the other tables are on disk.
//!
//! Which abstract states follow which is learned as successors appear. A successor whose table is not in RAM, because the
//! step was not known or the scope does not fit, waits and is decided with its bucket at the end of the layer
//! ([`HashDetector`]); an abstract state too large for RAM is split by one more scalar. So nothing is ever lost.

use super::super::Trouble;
use super::super::block::{BlockEnd, Left};
use super::super::detector::{Detector, Found, LayerView, Rests, Scopes};
use super::super::journal::LayerWriter;
use super::detect::Fresh;
use super::projection::project;
use super::waiting::led;
use super::{HashDetector, Partition, SplitBy, Tabling, each_closed};
use crate::lane::{Batch, Lane, Sink};
use crate::report::Buckets;
use hadal_store::merge::ClosedFilter;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::shape::Records;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::{StateTable, Writer};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::{Ascending, StateSpace, States};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Shares of the budget, in percent: tables in RAM, and the table for what waits.
const TABLES_SHARE: u64 = 34;
const WAITING_SHARE: u64 = 10;
/// Memory of a table with hardly anything in it.
const LEAST_TABLE: u64 = 64 << 10;
/// An abstract state that takes more than this part of the tables is split.
const LARGE: u64 = 4;
/// Most abstract states at first.
const MOST_NODES: u64 = 1000;

pub(crate) struct StructuredDetector {
    hash: HashDetector,
    /// Tables in RAM, by bucket.
    nodes: Vec<Option<Node>>,
    /// The abstract states that successors were seen in, by bucket.
    edges: Vec<BTreeSet<usize>>,
    /// The bucket being expanded, and whether each is known to follow it.
    current: usize,
    known: Vec<bool>,
    /// Steps seen that were not known.
    learned: Mutex<BTreeSet<usize>>,
    /// Successors that wait, by thread.
    waiting: Vec<Vec<u64>>,
    most_waiting: usize,
    /// States of the layer being found whose tables left RAM: in RAM, and in ascending runs.
    next: Vec<u64>,
    most_next: usize,
    written: Vec<RunFile>,
    /// States that waited, entered a table that then had no room for the others, and are met again.
    repeated: u64,
    tables: Governor,
    clock: u64,
    _memory: Reservation,
}

/// An abstract state in RAM.
struct Node {
    table: StateTable,
    /// For each thread, how many of its states are on disk, and how many are of complete layers.
    saved: Vec<u64>,
    complete: Vec<u64>,
    /// When it was last in a scope.
    used: u64,
}

impl StructuredDetector {
    pub(crate) fn new(
        disk: &Disk,
        options: RunOptions,
        space: &dyn StateSpace,
        threads: usize,
    ) -> Result<Self, Trouble> {
        let limit = disk.governor.limit();
        let tables = limit / 100 * TABLES_SHARE;
        let wanted = (tables / LEAST_TABLE).clamp(8, MOST_NODES) as usize;
        let partition = project(space, &disk.governor, wanted)?;
        let table = limit / 100 * WAITING_SHARE;
        let parting = (partition, SplitBy::SmallestLargest);
        let hash = HashDetector::new(disk, options, parting, (Tabling::Own(table), 1), None)?;
        let most = (limit / 64).clamp(32 << 10, 16 << 20);
        let most_next = most as usize / 8;
        let sorting = scratch_bytes(options.shape, most_next / options.shape.words());
        Ok(StructuredDetector {
            hash,
            nodes: Vec::new(),
            edges: Vec::new(),
            current: 0,
            known: Vec::new(),
            learned: Mutex::default(),
            waiting: vec![Vec::new(); threads],
            most_waiting: (most_next / threads).max(64 * options.shape.words()),
            next: Vec::new(),
            most_next,
            written: Vec::new(),
            repeated: 0,
            tables: disk.governor.part(tables),
            clock: 0,
            // What waits, what left, a group of states to be expanded, and what one table has that is new.
            _memory: disk
                .governor
                .try_reserve(4 * most + sorting + tables / LARGE / 2, "structured detection")?,
        })
    }

    fn make_places(&mut self) {
        let buckets = self.hash.closed_states.len().max(self.current + 1);
        self.nodes.resize_with(buckets, || None);
        self.edges.resize_with(buckets, BTreeSet::new);
    }

    fn learn(&mut self) {
        let learned = std::mem::take(self.learned.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let Some(edges) = self.edges.get_mut(self.current) {
            edges.extend(learned);
        }
    }

    /// Takes a bucket's closed states into RAM, if they fit after others have left.
    async fn load(&mut self, bucket: usize) -> Result<(), Trouble> {
        let states = self.hash.closed_states.get(bucket).copied().unwrap_or(0);
        // An index is at most half empty, and grows by doubling.
        let need = LEAST_TABLE + states * (8 * self.hash.shape.words() as u64 + 24);
        if need > self.tables.limit() / LARGE {
            // Its parts are met, and learned, as successors fall into them; where no scalar parts it, it stays on disk.
            let mut found = Found::default();
            self.hash.split(bucket, &mut found).await?;
            self.hash.within_split += found.within;
            return Ok(());
        }
        while self.tables.available() < need && self.leave_oldest().await? {}
        match self.read(bucket, need).await {
            Ok(node) => self.nodes[bucket] = Some(node),
            Err(Trouble::OverBudget(_)) => {}
            Err(other) => return Err(other),
        }
        Ok(())
    }

    async fn read(&self, bucket: usize, need: u64) -> Result<Node, Trouble> {
        let writers = self.waiting.len();
        let budget = self.tables.part((4 * need).max(1 << 20).min(self.tables.limit()));
        let mut table = StateTable::new(self.hash.shape.words(), 0, writers, &budget)?;
        table.expect(self.hash.closed_states.get(bucket).copied().unwrap_or(0))?;
        let insert = &mut |_, states: &[u64]| Ok(table.insert_all(states, |_, _| {}, |_, _| {})?);
        each_closed((&self.hash.closed, self.hash.shape), bucket, insert).await?;
        let counts: Vec<u64> = (0..writers).map(|writer| table.added_by(writer)).collect();
        Ok(Node { table, saved: counts.clone(), complete: counts, used: self.clock })
    }

    /// Lets the table leave that was in no scope for longest; says whether there was one outside the present scope.
    async fn leave_oldest(&mut self) -> Result<bool, Trouble> {
        let ages = self.nodes.iter().enumerate().filter_map(|(n, node)| Some((node.as_ref()?.used, n)));
        match ages.min().filter(|&(used, _)| used < self.clock) {
            Some((_, oldest)) => self.leave(oldest).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Writes what a table has that the disk has not, and forgets the table.
    async fn leave(&mut self, bucket: usize) -> Result<(), Trouble> {
        let Some(node) = self.nodes[bucket].take() else { return Ok(()) };
        let (mut before, mut fresh) = (Vec::new(), Vec::new());
        for writer in 0..self.waiting.len() {
            let complete = node.complete[writer].max(node.saved[writer]);
            node.table.copy_states(writer, node.saved[writer], complete, &mut before);
            node.table.copy_states(writer, complete, node.table.added_by(writer), &mut fresh);
        }
        drop(node);
        let depth = self.hash.depth;
        self.hash.add_closed(&before, (0, depth.saturating_sub(1))).await?;
        self.next.extend_from_slice(&fresh);
        if self.next.len() > self.most_next {
            let mut next = std::mem::take(&mut self.next);
            let run = self.write(&mut next, RunKind::Frontier)?;
            self.written.push(run);
        }
        self.hash.add_closed(&fresh, (depth, depth)).await
    }

    fn write(&self, states: &mut [u64], kind: RunKind) -> Result<RunFile, Trouble> {
        let shape = self.hash.options.shape;
        sort_records(shape, states);
        let mut run = RunWriter::create(&self.hash.disk, kind, &self.hash.options)?;
        run.push_all(Records::new(shape, states))?;
        Ok(run.finish()?)
    }

    /// Gives the successors that wait to their buckets.
    fn decide_later(&mut self) -> Result<(), Trouble> {
        for writer in 0..self.waiting.len() {
            let mut waiting = std::mem::take(&mut self.waiting[writer]);
            self.hash.add_candidates(&waiting)?;
            for state in waiting.chunks_exact(self.hash.shape.words()) {
                let bucket = self.hash.bucket_of(state);
                if let Some(edges) = self.edges.get_mut(self.current) {
                    edges.insert(bucket);
                }
            }
            waiting.clear();
            self.waiting[writer] = waiting;
        }
        Ok(())
    }

    /// Decides what waits for a table in RAM; `false` where the table has no room for it.
    fn decide_in_table(&mut self, bucket: usize, found: &mut Found) -> Result<bool, Trouble> {
        let Some(node) = &mut self.nodes[bucket] else { return Ok(false) };
        let mut new = 0;
        let has_room =
            node.table.insert_all(self.hash.bench.take(bucket)?, |_, _| {}, |_, _| new += 1).is_ok();
        if !has_room {
            self.repeated += new;
            return Ok(false);
        }
        found.besides += self.hash.bench.waiting.count(bucket) - new;
        Ok(true)
    }

    /// Decides what waits for a bucket.
    async fn decide_bucket(
        &mut self,
        bucket: usize,
        layer: &mut LayerWriter,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let is_taken = !self.hash.bench.is_too_large(bucket) && self.nodes[bucket].is_some();
        if is_taken && self.decide_in_table(bucket, found)? {
            return Ok(());
        }
        self.leave(bucket).await?;
        let hash = &mut self.hash;
        let mut fresh =
            Fresh::new(layer, std::mem::take(found), &hash.disk, led(hash.options), hash.most_held / 2);
        let mut pass = hash.closed.filter(0)?;
        match is_taken {
            true => hash.bench.decide_taken(bucket, &mut pass, &mut fresh)?,
            false => hash.bench.decide(bucket, &mut pass, &mut fresh).await?,
        }
        pass.by_distance(hash.depth, &mut fresh.found.by_distance);
        fresh.found.work.comparisons += pass.comparisons();
        drop(pass);
        let closing;
        (*found, closing) = fresh.finish(&mut hash.closed_states)?;
        hash.closed.add(hash.depth, closing.view()).await
    }

    /// Where lanes write, one for each.
    fn sinks(&mut self) -> Vec<StructuredSink<'_>> {
        let (partition, known, learned) = (&self.hash.partition, &self.known[..], &self.learned);
        let most_waiting = self.most_waiting;
        let room =
            |waiting| StructuredSink { partition, known, learned, most_waiting, nodes: Vec::new(), waiting };
        let mut sinks: Vec<StructuredSink> = self.waiting.iter_mut().map(room).collect();
        for node in &mut self.nodes {
            match node {
                Some(node) => {
                    let (_, writers) = node.table.share();
                    sinks.iter_mut().zip(writers).for_each(|(sink, writer)| sink.nodes.push(Some(writer)));
                }
                None => sinks.iter_mut().for_each(|sink| sink.nodes.push(None)),
            }
        }
        sinks
    }

    /// Takes what a bucket's successors may equal into RAM, as far as it fits.
    async fn enter_scope(&mut self, bucket: usize) -> Result<(), Trouble> {
        self.decide_later()?;
        self.learn();
        (self.current, self.clock) = (bucket, self.clock + 1);
        self.make_places();
        let scope: Vec<usize> = std::iter::once(bucket).chain(self.edges[bucket].iter().copied()).collect();
        for &member in &scope {
            if let Some(node) = &mut self.nodes[member] {
                node.used = self.clock;
            }
        }
        for &member in &scope {
            if self.nodes[member].is_none() {
                self.load(member).await?;
            }
        }
        self.make_places();
        self.known.clear();
        self.known.resize(self.nodes.len(), false);
        for member in scope {
            self.known[member] = true;
        }
        Ok(())
    }

    /// Makes room by deciding later what waits, or by letting a table leave; whether one left.
    async fn leave_some(&mut self) -> Result<bool, Trouble> {
        let least = self.most_waiting - self.hash.shape.words();
        let many_wait = self.waiting.iter().any(|waiting| waiting.len() > least);
        self.decide_later()?;
        if many_wait {
            return Ok(false);
        }
        if self.leave_oldest().await? {
            return Ok(true);
        }
        // The scope itself is too large: its largest part is decided later from here on.
        let sizes =
            self.nodes.iter().enumerate().filter_map(|(n, node)| Some((node.as_ref()?.table.len(), n)));
        match sizes.max() {
            Some((_, largest)) => self.leave(largest).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Decides what waits, and writes everything new.
    async fn decide_rest(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.decide_later()?;
        self.learn();
        self.make_places();
        let mut found = Found { within: std::mem::take(&mut self.hash.within_split), ..Found::default() };
        let mut bucket = 0;
        while bucket < self.hash.closed_states.len() {
            if self.hash.bench.is_too_large(bucket) {
                self.leave(bucket).await?;
                self.hash.split(bucket, &mut found).await?;
                self.make_places();
            }
            bucket += 1;
        }
        self.hash.bench.begin().await?;
        found.work = self.hash.bench.waiting.work();
        for bucket in 0..self.hash.closed_states.len() {
            if self.hash.bench.waiting.count(bucket) > 0 {
                self.decide_bucket(bucket, layer, &mut found).await?;
            }
        }
        self.hash.bench.end();
        for node in self.nodes.iter_mut().flatten() {
            let mut fresh = Vec::new();
            for writer in 0..self.waiting.len() {
                let added = node.table.added_by(writer);
                node.table.copy_states(writer, node.complete[writer], added, &mut fresh);
                node.complete[writer] = added;
            }
            sort_records(self.hash.options.shape, &mut fresh);
            layer.push_all(Ascending::new(self.hash.shape.words(), &fresh))?;
            layer.end_part()?;
        }
        let mut next = std::mem::take(&mut self.next);
        sort_records(self.hash.options.shape, &mut next);
        layer.push_all(Ascending::new(self.hash.shape.words(), &next))?;
        layer.end_part()?;
        for run in self.written.drain(..) {
            layer.push_run(run);
        }
        found.earlier -= std::mem::take(&mut self.repeated);
        // Everything new, and everything that waited for nothing.
        found.besides += layer.states() + found.within + found.earlier;
        Ok(found)
    }
}

/// One lane's way into the tables of a scope.
struct StructuredSink<'d> {
    partition: &'d Partition,
    known: &'d [bool],
    learned: &'d Mutex<BTreeSet<usize>>,
    most_waiting: usize,
    /// By bucket, where it is in RAM.
    nodes: Vec<Option<Writer<'d>>>,
    waiting: &'d mut Vec<u64>,
}

impl Sink for StructuredSink<'_> {
    fn take(&mut self, batch: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        for (n, state) in batch.states.iter().enumerate() {
            let bucket = self.partition.find(state);
            match bucket.and_then(|bucket| Some((bucket, self.nodes.get_mut(bucket)?.as_mut()?))) {
                Some((bucket, node)) => {
                    if !self.known[bucket] {
                        self.learned.lock().unwrap_or_else(PoisonError::into_inner).insert(bucket);
                    }
                    node.insert_all(state, |_, _| {}, |_, _| told(n))?;
                }
                None => {
                    if self.waiting.len() + state.len() > self.most_waiting {
                        let limit = 8 * self.most_waiting as u64;
                        let asked = 8 * state.len() as u64;
                        return Err(OverBudget { what: "successors that wait", asked, available: 0, limit });
                    }
                    self.waiting.extend_from_slice(state);
                    told(n);
                }
            }
        }
        Ok(())
    }
}

impl Scopes for StructuredDetector {
    fn grouped(&mut self, block: &[u64]) -> Vec<(u32, u32)> {
        let states = block.chunks_exact(self.hash.shape.words()).enumerate();
        let mut order: Vec<(u32, u32)> =
            states.map(|(n, state)| (self.hash.bucket_of(state) as u32, n as u32)).collect();
        order.sort_unstable();
        order
    }

    fn enter(&mut self, bucket: usize) -> Rests<'_, ()> {
        Box::pin(self.enter_scope(bucket))
    }

    fn expand(&mut self, left: &Left, lanes: &mut [Lane], block: &[u64]) -> BlockEnd {
        let block = States::new(self.hash.shape.words(), block);
        left.expand(lanes, &mut self.sinks(), block, block.words())
    }

    fn make_room(&mut self) -> Rests<'_, bool> {
        Box::pin(self.leave_some())
    }
}

impl Detector for StructuredDetector {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        // What was generated before the search had layers: it is counted as offered.
        self.hash.add_candidates(batch.flat())
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.decide_rest(layer))
    }

    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.hash.closed(depth, layer)
    }

    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        self.hash.adopt(depth, layer)
    }

    fn buckets(&self) -> Option<Buckets> {
        Detector::buckets(&self.hash)
    }

    fn scalars(&self) -> Vec<String> {
        self.hash.scalars()
    }

    fn scopes(&mut self) -> Option<&mut dyn Scopes> {
        Some(self)
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        self.hash.hand_over(to)
    }

    fn name(&self) -> &'static str {
        "tables of the scope, the others on disk"
    }
}
