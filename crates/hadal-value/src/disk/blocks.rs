//! Bounds on disk, a block of nodes in RAM at a time (Hartmanns, Hensel 2015; time-forward processing, Chiang et al. 1995).
//!
//! A block is a range of nodes of one stage. It keeps its bounds in one file and, in another, those that other blocks need:
//! their inboxes. Stages are solved from the targets backwards; in a stage a block is visited again only where one that it
//! leads to has changed. Every visit may be committed.

use super::DiskError;
use super::equations::{Equations, Kept};
use super::graph::{Cursor, run_options};
use super::journal::Journal;
use super::stages::Stages;
use super::sweep::{Bounds, Course, Mode, Seen, Step};
use super::vector::{read_bounds, write_bounds};
use hadal_store::run::BlockIndex;
use hadal_store::sort::Sorter;
use hadal_store::{RunFile, RunKind, RunReader, RunWriter};
use std::collections::BTreeSet;
use std::ops::Range;

/// A node takes at most this part of the budget.
const PART: u64 = 1024;
/// Words of a message: upper and lower bound, node, receiver.
const MESSAGE: usize = 4;

const STATE: &str = "blocks";
const EXPORTS: &str = "exports";

/// One block after a visit.
#[derive(Clone)]
struct Block {
    values: RunFile,
    outbox: RunFile,
    /// Whether the visit changed a bound.
    changed: bool,
    seen: Seen,
}

pub(super) struct Blocks {
    /// Nodes of a block at most.
    size: u64,
    /// The nodes of each block, in their order.
    ranges: Vec<Range<u64>>,
    /// By block.
    stage_of: Vec<u32>,
    /// Whom each block hears from.
    inputs: Vec<BTreeSet<usize>>,
    /// Node, receiver, sender: sorted by sender, then receiver.
    exports: RunFile,
    /// After the last sweep.
    old: Vec<Block>,
    /// Visited in this sweep.
    new: Vec<Block>,
    /// The stage and the mode of the last sweep.
    last: Option<(u32, Mode)>,
}

impl Blocks {
    /// Blocks with the bounds known before anything is solved, or as they were committed.
    pub fn new(
        equations: &Equations,
        stages: &Stages,
        course: &mut Course,
        journal: &mut Journal,
    ) -> Result<Self, DiskError> {
        let Kept::Run(run, _) = &equations.kept else {
            return Err(DiskError::Damaged("blocks are cut from a file".into()));
        };
        let limit = journal.disk().governor.limit();
        let size = (limit / PART).max(64);
        let mut cut: Vec<(Range<u64>, u32)> = Vec::new();
        for stage in 0..stages.count() {
            let range = stages.range(stage);
            let starts = (range.start..range.end).step_by(size as usize);
            cut.extend(starts.map(|first| (first..(first + size).min(range.end), stage)));
        }
        let (ranges, stage_of): (Vec<_>, Vec<_>) = cut.into_iter().unzip();
        let mut blocks = Blocks {
            size,
            inputs: vec![BTreeSet::new(); ranges.len()],
            ranges,
            stage_of,
            exports: run.clone(),
            old: Vec::new(),
            new: Vec::new(),
            last: None,
        };
        blocks.exports = match journal.run(EXPORTS, &run_options(3, 0, limit))? {
            Some(exports) if journal.words(STATE).is_some_and(|w| w[0] == size) => exports,
            _ => blocks.find_exports(equations, journal)?,
        };
        journal.put_run(EXPORTS, &blocks.exports);
        let mut exports = Cursor::open(&blocks.exports, 3)?;
        while let Some(export) = exports.head()? {
            let (receiver, sender) = (export[1] as usize, export[2] as usize);
            blocks.inputs[receiver].insert(sender);
            exports.step();
        }
        drop(exports);
        if !blocks.restore(course, journal)? {
            blocks.begin(equations, journal)?;
        }
        Ok(blocks)
    }

    /// The block of a node.
    fn of_node(&self, node: u64) -> u64 {
        self.ranges.partition_point(|range| range.end <= node) as u64
    }

    /// Which nodes of each block other blocks need.
    fn find_exports(&self, equations: &Equations, journal: &Journal) -> Result<RunFile, DiskError> {
        let limit = journal.disk().governor.limit();
        let mut sorter = Sorter::new(journal.disk(), run_options(3, 0, limit), limit / 8);
        let mut failed = None;
        equations.scan(|node, row| {
            let me = self.of_node(node);
            for &(to, _) in row.branches.iter().filter(|b| b.0 < equations.nodes) {
                let sender = self.of_node(to);
                if sender != me {
                    failed = failed.take().or(sorter.push(&[to, me, sender]).err());
                }
            }
        })?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(sorter.into_run()?),
        }
    }

    fn begin(&mut self, equations: &Equations, journal: &Journal) -> Result<(), DiskError> {
        let mut exports = Cursor::open(&self.exports, 3)?;
        for block in 0..self.inputs.len() {
            let range = self.ranges[block].clone();
            let bounds = vec![(0.0, equations.most()); (range.end - range.start) as usize];
            let (values, outbox) = self.write(journal, block, &bounds, &mut exports)?;
            self.old.push(Block { values, outbox, changed: true, seen: Seen::default() });
        }
        Ok(())
    }

    /// Writes the bounds of a block and its messages.
    fn write(
        &self,
        journal: &Journal,
        block: usize,
        bounds: &[Bounds],
        exports: &mut Cursor,
    ) -> Result<(RunFile, RunFile), DiskError> {
        let first = self.ranges[block].start;
        let values = write_bounds(journal, bounds.iter().enumerate().map(|(n, &b)| (first + n as u64, b)))?;
        let options = run_options(MESSAGE, 0, journal.disk().governor.limit());
        let mut outbox = RunWriter::create(journal.disk(), RunKind::Closed, &options)?;
        while let Some(export) = exports.head()?.filter(|export| export[2] <= block as u64) {
            if export[2] == block as u64 {
                let (low, high) = bounds[(export[0] - first) as usize];
                outbox.push(&[high.to_bits(), low.to_bits(), export[0], export[1]])?;
            }
            exports.step();
        }
        Ok((values, outbox.finish()?))
    }

    /// One sweep over the blocks of a stage, from where it was left.
    pub fn sweep(&mut self, step: &Step, course: &Course, journal: &mut Journal) -> Result<Seen, DiskError> {
        let mut exports = Cursor::open(&self.exports, 3)?;
        for block in self.new.len()..self.old.len() {
            let heard = |&sender: &usize| self.old[sender].changed;
            let dirty = self.last != Some((step.stage, step.mode))
                || self.old[block].changed
                || self.inputs[block].iter().any(heard);
            let next = match (self.stage_of[block] == step.stage, dirty) {
                (true, true) => self.visit(block, step, journal, &mut exports)?,
                (true, false) => {
                    let seen = Seen { growth: 0.0, ..self.old[block].seen };
                    Block { changed: false, seen, ..self.old[block].clone() }
                }
                // Solved, or not yet its turn.
                (false, _) => Block { changed: false, seen: Seen::default(), ..self.old[block].clone() },
            };
            self.new.push(next);
            if journal.is_due() {
                self.commit(course, journal)?;
            }
        }
        self.old = std::mem::take(&mut self.new);
        self.last = Some((step.stage, step.mode));
        Ok(self.old.iter().fold(Seen::default(), |all, block| all.and(block.seen)))
    }

    fn visit(
        &self,
        block: usize,
        step: &Step,
        journal: &Journal,
        exports: &mut Cursor,
    ) -> Result<Block, DiskError> {
        let range = self.ranges[block].clone();
        let mut own = Vec::with_capacity((range.end - range.start) as usize);
        read_bounds(&self.old[block].values, |_, bounds| own.push(bounds))?;
        let inbox = self.inbox(block)?;
        let bytes = 2 * size_of::<Bounds>() * own.len() + size_of::<(u64, Bounds)>() * inbox.len();
        let reserved = journal.disk().governor.try_reserve(bytes as u64, "a block");
        let _memory = reserved.map_err(|_| DiskError::Values { states: self.size, bytes: bytes as u64 })?;
        let of = |node: u64| match range.contains(&node) {
            true => own[(node - range.start) as usize],
            // Whatever a row leads to was exported to it.
            false => inbox[inbox.partition_point(|m| m.0 < node)].1,
        };
        let (mut new, mut seen) = (own.clone(), Seen::default());
        step.equations.scan_within(&range, |node, row| {
            let at = (node - range.start) as usize;
            new[at] = step.node(row, own[at], of, &mut seen);
        })?;
        let same =
            |(l, r): (&Bounds, &Bounds)| l.0.to_bits() == r.0.to_bits() && l.1.to_bits() == r.1.to_bits();
        let changed = !own.iter().zip(&new).all(same);
        let (values, outbox) = self.write(journal, block, &new, exports)?;
        Ok(Block { values, outbox, changed, seen })
    }

    /// What other blocks sent, by node.
    fn inbox(&self, block: usize) -> Result<Vec<(u64, Bounds)>, DiskError> {
        let mut inbox = Vec::new();
        let mut flat = Vec::new();
        for &sender in &self.inputs[block] {
            let run = &self.old[sender].outbox;
            let index = BlockIndex::load(run)?;
            let me = block as u64;
            let before = (0..index.blocks()).take_while(|&b| index.first_key(b)[3] < me).count();
            let mut reader = RunReader::open_at(run, &index, before.saturating_sub(1))?;
            'run: while reader.next_block(&mut flat)? {
                for message in flat.chunks_exact(MESSAGE).filter(|m| m[3] >= me) {
                    if message[3] > me {
                        break 'run;
                    }
                    inbox.push((message[2], (f64::from_bits(message[1]), f64::from_bits(message[0]))));
                }
            }
        }
        Ok(inbox)
    }

    /// Commits what was done, also in the middle of a sweep.
    pub fn commit(&self, course: &Course, journal: &mut Journal) -> Result<(), DiskError> {
        journal.forget("block-");
        let last = self.last.map_or(0, |(stage, mode)| {
            let mode = match mode {
                Mode::Climb => 1,
                Mode::Guess => 2,
                Mode::Prove => 3,
            };
            u64::from(stage) << 2 | mode
        });
        let mut words = vec![self.size, last, self.new.len() as u64];
        for (name, list) in [("old", &self.old), ("new", &self.new)] {
            for (number, block) in list.iter().enumerate() {
                journal.put_run(format!("block-{name}-{number}-values"), &block.values);
                journal.put_run(format!("block-{name}-{number}-outbox"), &block.outbox);
                words.push(u64::from(block.changed));
                words.extend(block.seen.encode());
            }
        }
        journal.put_words(STATE, words);
        journal.put_words("course", course.encode());
        journal.commit()
    }

    /// Goes back to what was committed, if anything was with blocks of this size.
    fn restore(&mut self, course: &mut Course, journal: &mut Journal) -> Result<bool, DiskError> {
        let Some(words) = journal.words(STATE).filter(|w| w[0] == self.size).map(<[u64]>::to_vec) else {
            return Ok(false);
        };
        let lost = || DiskError::Damaged("blocks are missing".into());
        *course = journal.words("course").and_then(Course::decode).ok_or_else(lost)?;
        let stage = (words[1] >> 2) as u32;
        self.last = match words[1] & 3 {
            0 => None,
            1 => Some((stage, Mode::Climb)),
            2 => Some((stage, Mode::Guess)),
            _ => Some((stage, Mode::Prove)),
        };
        let limit = journal.disk().governor.limit();
        let mut facts = words[3..].chunks_exact(3);
        for (name, count) in [("old", self.inputs.len()), ("new", words[2] as usize)] {
            for number in 0..count {
                let at = |part: &str| format!("block-{name}-{number}-{part}");
                let values = journal.run(&at("values"), &run_options(3, 0, limit))?.ok_or_else(lost)?;
                let outbox = journal.run(&at("outbox"), &run_options(MESSAGE, 0, limit))?.ok_or_else(lost)?;
                let fact = facts.next().ok_or_else(lost)?;
                let block = Block { values, outbox, changed: fact[0] == 1, seen: Seen::decode(&fact[1..]) };
                if name == "old" { self.old.push(block) } else { self.new.push(block) }
            }
        }
        Ok(true)
    }

    /// Tells the bounds of every node.
    pub fn tell(&self, mut each: impl FnMut(u64, Bounds)) -> Result<(), DiskError> {
        self.old.iter().try_for_each(|block| read_bounds(&block.values, &mut each))
    }
}
