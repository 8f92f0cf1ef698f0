//! The equations that are left when graph search has said what it can, in RAM or as a sorted run: one unknown per node, a node
//! being a state or a collapsed end component. Known values 0 and 1 are two more places.

use super::DiskError;
use super::company::{Changes, Company, union};
use super::graph::{POSITIONS, run_options};
use super::journal::Journal;
use super::packed::{Packed, Packing};
use super::rows::{Row, Rows, payload};
use super::stages::{Cutting, Leads, Stages};
use crate::components::NONE;
use crate::numbers::Numbers;
use crate::problem::Known;
use hadal_store::run::BlockIndex;
use hadal_store::sort::Sorter;
use hadal_store::{Disk, RecordShape, RunFile, RunReader};
use hadal_system::chance::Sense;
use std::ops::Range;

/// Words of a record: weight, reward and whether it ends its choice; where it leads; its position; its node.
pub(super) const STRIDE: usize = 4;

/// The unknowns and their equations.
pub(super) struct Equations {
    /// How many unknowns.
    pub nodes: u64,
    pub numbers: Numbers,
    pub sense: Sense,
    /// Whether choices earn something.
    pub rewards: bool,
    /// What is known of the initial states, in their order.
    pub starts: Vec<Start>,
    pub kept: Kept,
    /// The same for sweeps, where they are read from disk again and again.
    pub packed: Option<Packed>,
}

/// Where records are.
pub(super) enum Kept {
    Ram(Vec<u64>),
    Run(RunFile, BlockIndex),
}

impl Kept {
    /// Records in a file.
    pub fn on_disk(run: RunFile) -> Result<Self, DiskError> {
        let index = BlockIndex::load(&run)?;
        Ok(Kept::Run(run, index))
    }
}

/// What is known of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    Value(f64),
    Node(u64),
}

/// What equations are made from.
pub(super) struct Settled<'a> {
    pub known: &'a [Known],
    /// States with the same number are one node.
    pub groups: &'a [u32],
    pub initial: &'a [u64],
}

impl Equations {
    /// The equations of the open states; on disk where there is a journal.
    pub fn new<R: Rows>(
        rows: &R,
        settled: &Settled,
        sense: Sense,
        rewards: bool,
        journal: Option<&Journal>,
    ) -> Result<Self, DiskError> {
        let open = Open::new(rows, settled, rewards)?;
        let mut sink = Sink::new(journal);
        let (mut failed, mut chooses) = (None, vec![false; open.nodes as usize]);
        open.scan(|node, state, row| {
            chooses[node as usize] = true;
            failed = failed.take().or(records(node, state, row, |record| sink.push(record)).err());
        })?;
        failed.map_or(Ok(()), Err)?;
        must_choose(&chooses)?;
        Ok(open.into_equations(sense, sink.finish()?))
    }

    /// The same in stages, where each worker has the equations of its part of each stage. They are those of one process: what
    /// decides about stages is found out together.
    pub fn shared<R: Rows>(
        rows: &R,
        (settled, sense, rewards): (&Settled, Sense, bool),
        company: &Company,
        journal: &Journal,
    ) -> Result<(Self, Stages), DiskError> {
        let open = Open::new(rows, settled, rewards)?;
        let nodes = open.nodes;
        // The least and the greatest node that each leads to.
        let mut leads_to = vec![(NONE, 0); nodes as usize];
        let mut changes = Changes::among(Some(company), nodes);
        let mut chooses = vec![false; nodes as usize];
        open.scan(|node, _, row| {
            let (least, most) = &mut leads_to[node as usize];
            for to in row.branches.iter().map(|b| b.0).filter(|&to| to < nodes) {
                (*least, *most) = ((*least).min(to as u32), (*most).max(to as u32));
            }
            chooses[node as usize] = true;
            changes.note(node);
        })?;
        changes.meet(&mut leads_to, |l: (u32, u32), r| (l.0.min(r.0), l.1.max(r.1)))?;
        union(Some(company), &mut chooses)?;
        must_choose(&chooses)?;
        let mut cutting = Cutting::new(nodes);
        for (node, &(least, most)) in leads_to.iter().enumerate() {
            let least = if least == NONE { u64::MAX } else { least.into() };
            cutting.next(node as u64, (least, most.into()));
        }
        drop((leads_to, chooses, changes));
        let mut leads = Leads::new(cutting.finish());
        open.scan(|node, _, row| {
            row.branches.iter().filter(|b| b.0 < nodes).for_each(|b| leads.add(node, b.0));
        })?;
        union(Some(company), leads.all())?;
        let stages = Stages::along(leads);
        let mut sink = Sink::new(Some(journal));
        let mut take = |record: &[u64]| sink.push(&[record[0], record[1], record[2], record[3]]);
        let mut post = company.post(RecordShape::with_payload(1, STRIDE - 1));
        let (mut failed, mut staged) = (None, Row::default());
        open.scan(|node, state, row| {
            staged.clone_from(row);
            for branch in staged.branches.iter_mut().filter(|branch| branch.0 < nodes) {
                branch.0 = stages.renumbered(branch.0);
            }
            let node = stages.renumbered(node);
            let owner = stages.owner(node, company);
            let sent = records(node, state, &staged, |record| post.push(owner, record, &mut take));
            failed = failed.take().or(sent.err());
        })?;
        failed.map_or(Ok(()), Err)?;
        post.end(&[], &mut take)?;
        let mut equations = open.into_equations(sense, sink.finish()?);
        for start in &mut equations.starts {
            if let Start::Node(node) = start {
                *node = stages.renumbered(*node);
            }
        }
        Ok((equations, stages))
    }

    /// Packs what is in a file for sweeps.
    pub fn pack(&mut self, disk: &Disk) -> Result<(), DiskError> {
        let Kept::Run(run, _) = &self.kept else { return Ok(()) };
        let mut packing = Packing::new(disk, run.records() * 4)?;
        let mut failed = None;
        self.scan(|node, row| failed = failed.take().or(packing.push(node, row).err()))?;
        if let Some(error) = failed {
            return Err(error);
        }
        self.packed = Some(packing.finish()?);
        Ok(())
    }

    /// The same equations with nodes numbered stage by stage, and the stages.
    pub fn in_stages(self, journal: Option<&Journal>) -> Result<(Self, Stages), DiskError> {
        let stages = Stages::of(&self)?;
        if stages.count() <= 1 {
            return Ok((self, stages));
        }
        let mut sink = Sink::new(journal);
        let (nodes, mut failed) = (self.nodes, None);
        self.scan(|node, row| {
            let (node, mut position) = (stages.renumbered(node), 0);
            for (branches, reward) in row.choices() {
                for (n, &(to, weight)) in branches.iter().enumerate() {
                    let place = if to < nodes { stages.renumbered(to) } else { to };
                    let payload = payload(weight, reward, n + 1 == branches.len());
                    failed = failed.take().or(sink.push(&[payload, place, position, node]).err());
                    position += 1;
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let start = |start: &Start| match start {
            Start::Node(node) => Start::Node(stages.renumbered(*node)),
            known => *known,
        };
        let starts = self.starts.iter().map(start).collect();
        Ok((Equations { kept: sink.finish()?, starts, ..self }, stages))
    }

    /// The value that nothing exceeds.
    pub fn most(&self) -> f64 {
        if self.rewards { f64::INFINITY } else { 1.0 }
    }

    /// Tells every node that has choices, in order.
    pub fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        if let Some(packed) = &self.packed {
            return packed.scan(&(0..u64::MAX), each);
        }
        let mut assembler = Assembler::default();
        match &self.kept {
            Kept::Ram(flat) => assembler.add(flat, &mut each),
            Kept::Run(run, _) => {
                let (mut reader, mut block) = (RunReader::open(run)?, Vec::new());
                while reader.next_block(&mut block)? {
                    assembler.add(&block, &mut each);
                }
            }
        }
        assembler.finish(&mut each);
        Ok(())
    }

    /// Tells the nodes of a range, in order.
    pub fn scan_within(&self, range: &Range<u64>, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        if let Some(packed) = &self.packed {
            return packed.scan(range, each);
        }
        let mut assembler = Assembler::default();
        match &self.kept {
            Kept::Ram(flat) => assembler.add(within(flat, range).0, &mut each),
            Kept::Run(run, index) => {
                let before = (0..index.blocks()).take_while(|&b| index.first_key(b)[3] < range.start).count();
                let mut reader = RunReader::open_at(run, index, before.saturating_sub(1))?;
                let mut block = Vec::new();
                while reader.next_block(&mut block)? {
                    let (records, goes_on) = within(&block, range);
                    assembler.add(records, &mut each);
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        assembler.finish(&mut each);
        Ok(())
    }
}

/// What is open of some rows.
struct Open<'a, R> {
    rows: &'a R,
    settled: &'a Settled<'a>,
    /// By state.
    node_of: Vec<u32>,
    nodes: u64,
    rewards: bool,
}

impl<'a, R: Rows> Open<'a, R> {
    fn new(rows: &'a R, settled: &'a Settled<'a>, rewards: bool) -> Result<Self, DiskError> {
        let (node_of, nodes) = number(settled);
        match rows.states() >= u64::from(NONE) {
            true => Err(DiskError::TooLarge),
            false => Ok(Open { rows, settled, node_of, nodes, rewards }),
        }
    }

    /// Tells every open state that chooses, with its node and with places instead of states: those of choices that leave the node
    /// and do not lead to infinity.
    fn scan(&self, mut each: impl FnMut(u64, u64, &Row)) -> Result<(), DiskError> {
        let mut open = Row::default();
        self.rows.scan(|state, row| {
            let me = self.node_of[state as usize];
            if me == NONE {
                return;
            }
            open.clear();
            for (branches, reward) in row.choices() {
                let (mut leaves, mut endless) = (false, false);
                for &(to, _) in branches {
                    endless |= self.settled.known[to as usize] == Known::Infinite;
                    leaves |= self.node_of[to as usize] != me;
                }
                if endless || !leaves {
                    continue;
                }
                open.branches.extend(branches.iter().map(|&(to, weight)| (self.place(to as usize), weight)));
                open.ends.push(open.branches.len() as u32);
                open.rewards.push(if self.rewards { reward } else { 0 });
            }
            if !open.ends.is_empty() {
                each(me.into(), state, &open);
            }
        })
    }

    fn place(&self, state: usize) -> u64 {
        match self.settled.known[state] {
            Known::Open => self.node_of[state].into(),
            Known::One => self.nodes + 1,
            Known::Zero | Known::Infinite => self.nodes,
        }
    }

    fn into_equations(self, sense: Sense, kept: Kept) -> Equations {
        let start = |&state: &u64| match self.settled.known[state as usize] {
            Known::Zero => Start::Value(0.0),
            Known::One => Start::Value(1.0),
            Known::Infinite => Start::Value(f64::INFINITY),
            Known::Open => Start::Node(self.node_of[state as usize].into()),
        };
        Equations {
            nodes: self.nodes,
            numbers: self.rows.numbers().clone(),
            sense,
            rewards: self.rewards,
            starts: self.settled.initial.iter().map(start).collect(),
            kept,
            packed: None,
        }
    }
}

/// The records of an open state.
fn records(
    node: u64,
    state: u64,
    row: &Row,
    mut push: impl FnMut(&[u64; STRIDE]) -> Result<(), DiskError>,
) -> Result<(), DiskError> {
    let mut position = 0;
    for (branches, reward) in row.choices() {
        for (n, &(place, weight)) in branches.iter().enumerate() {
            let payload = payload(weight, reward, n + 1 == branches.len());
            push(&[payload, place, state << POSITIONS | position, node])?;
            position += 1;
        }
    }
    Ok(())
}

/// Guesses rest on every open node having somewhere to go.
fn must_choose(chooses: &[bool]) -> Result<(), DiskError> {
    match chooses.contains(&false) {
        true => Err(DiskError::Damaged("an open state has no choice that leaves it".into())),
        false => Ok(()),
    }
}

/// The records of nodes of a range, and whether there may be more behind these.
fn within<'r>(flat: &'r [u64], range: &Range<u64>) -> (&'r [u64], bool) {
    let before = |bound: u64| {
        let (mut low, mut high) = (0, flat.len() / STRIDE);
        while low < high {
            let middle = (low + high) / 2;
            if flat[middle * STRIDE + 3] < bound { low = middle + 1 } else { high = middle }
        }
        low * STRIDE
    };
    let end = before(range.end);
    (&flat[before(range.start)..end], end == flat.len())
}

/// Puts records of one node together.
#[derive(Default)]
pub(super) struct Assembler {
    row: Row,
    node: u64,
}

impl Assembler {
    pub fn add(&mut self, flat: &[u64], each: &mut impl FnMut(u64, &Row)) {
        for record in flat.chunks_exact(STRIDE) {
            if record[3] != self.node {
                self.finish(each);
                self.node = record[3];
            }
            self.row.push(record[1], record[0]);
        }
    }

    pub fn finish(&mut self, each: &mut impl FnMut(u64, &Row)) {
        if !self.row.ends.is_empty() {
            each(self.node, &self.row);
        }
        self.row.clear();
    }
}

/// The node of each open state, and how many nodes there are.
pub(super) fn number(settled: &Settled) -> (Vec<u32>, u64) {
    let mut node_of = vec![NONE; settled.known.len()];
    let mut nodes = 0;
    for state in 0..settled.known.len() {
        if settled.known[state] != Known::Open {
            continue;
        }
        let group = settled.groups.get(state).copied().unwrap_or(NONE);
        let first = if group == NONE { state } else { group as usize };
        if node_of[first] == NONE {
            node_of[first] = nodes;
            nodes += 1;
        }
        node_of[state] = node_of[first];
    }
    (node_of, u64::from(nodes))
}

enum Sink<'j> {
    Ram(Vec<[u64; STRIDE]>),
    Disk(Sorter<'j>),
}

impl<'j> Sink<'j> {
    fn new(journal: Option<&'j Journal>) -> Self {
        match journal {
            None => Sink::Ram(Vec::new()),
            Some(journal) => {
                let limit = journal.disk().governor.limit();
                Sink::Disk(Sorter::new(journal.disk(), run_options(STRIDE, 0, limit), limit / 4))
            }
        }
    }

    fn push(&mut self, record: &[u64; STRIDE]) -> Result<(), DiskError> {
        match self {
            Sink::Ram(list) => list.push(*record),
            Sink::Disk(sorter) => sorter.push(record)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<Kept, DiskError> {
        Ok(match self {
            Sink::Ram(mut list) => {
                list.sort_unstable_by_key(|r| (r[3], r[2]));
                Kept::Ram(list.into_flattened())
            }
            Sink::Disk(sorter) => Kept::on_disk(sorter.into_run()?)?,
        })
    }
}
