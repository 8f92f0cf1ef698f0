//! Bounds of every state, in RAM or in a file, and rows whose branches carry those of where they lead: on disk by two sorts, so
//! that nobody looks a state up.

use super::DiskError;
use super::equations::{Settled, number};
use super::graph::{Cursor, POSITIONS, run_options};
use super::journal::Journal;
use super::rows::{Row, Rows, payload};
use super::solve::{How, Question, Settling, Tier, governor, iterate, recall, reserve, settle, write_down};
use super::sweep::Bounds;
use super::vector::read_bounds;
use crate::problem::Known;
use hadal_store::sort::Sorter;
use hadal_store::{Disk, Reservation, RunFile, RunKind, RunWriter};

/// Bounds by state.
#[derive(Clone, Debug)]
pub enum StateBounds {
    /// In RAM.
    Ram(Vec<Bounds>),
    /// In a file: upper and lower bound, state.
    Run(RunFile),
}

impl StateBounds {
    /// Tells the bounds of every state, in order.
    pub fn scan(&self, mut each: impl FnMut(u64, Bounds)) -> Result<(), DiskError> {
        match self {
            StateBounds::Ram(list) => {
                list.iter().enumerate().for_each(|(state, &bounds)| each(state as u64, bounds));
                Ok(())
            }
            StateBounds::Run(run) => read_bounds(run, each),
        }
    }

    /// The bounds one after the other.
    pub(super) fn walk(&self) -> Result<Walk<'_>, DiskError> {
        Ok(match self {
            StateBounds::Ram(list) => Walk::Ram(list.iter()),
            StateBounds::Run(run) => Walk::Run(Box::new(Cursor::open(run, 3)?)),
        })
    }

    /// The bounds of all states in RAM.
    pub(super) fn load(&self) -> Result<Vec<Bounds>, DiskError> {
        let mut list = Vec::new();
        self.scan(|_, bounds| list.push(bounds))?;
        Ok(list)
    }
}

/// Bounds one after the other.
pub(super) enum Walk<'b> {
    Ram(std::slice::Iter<'b, Bounds>),
    Run(Box<Cursor>),
}

impl Walk<'_> {
    /// Those of the next state.
    pub fn next(&mut self) -> Result<Bounds, DiskError> {
        let lost = || DiskError::Damaged("the bounds on disk are not whole".into());
        match self {
            Walk::Ram(list) => list.next().copied().ok_or_else(lost),
            Walk::Run(cursor) => {
                let record = cursor.head()?.ok_or_else(lost)?;
                let bounds = (f64::from_bits(record[1]), f64::from_bits(record[0]));
                cursor.step();
                Ok(bounds)
            }
        }
    }
}

/// Bounds of every state.
#[derive(Debug)]
pub struct Everywhere {
    /// Lower and upper bounds, by state.
    pub bounds: StateBounds,
    /// What graph search found, by state.
    pub(super) known: Vec<Known>,
    /// States with the same number are one node, if any are.
    pub(super) groups: Vec<u32>,
    /// Sweeps over the equations.
    pub sweeps: u64,
    /// Where values were kept while they were found.
    pub tier: Tier,
    /// What is known and the nodes take.
    _memory: Option<Reservation>,
}

/// Bytes a state while bounds are found: what is known, end components, nodes.
pub(super) const EVERYWHERE: u64 = 1 + 4 + 4;

/// Answers a question about `rows` for all states; with a journal their bounds are in a file. Equations are written down with the
/// states `initial`, so that whoever asks of those alone finds them.
pub fn solve_everywhere<R: Rows>(
    rows: &R,
    initial: &[u64],
    question: Question,
    how: How,
    mut journal: Option<&mut Journal>,
) -> Result<Everywhere, DiskError> {
    let settling = settle(rows, question, how.sense, journal.as_deref().map(governor))?;
    let memory = reserve(rows.states(), EVERYWHERE, journal.as_deref().map(governor))?;
    let (equations, stages) = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => write_down(rows, &settling, initial, how.sense, journal.as_deref_mut())?,
    };
    let Settling { known, groups, .. } = settling;
    let (node_of, nodes) = number(&Settled { known: &known, groups: &groups, initial: &[] });
    let renumbered = |state: usize| stages.renumbered(u64::from(node_of[state]));
    let (bounds, sweeps, tier) = match journal {
        None => {
            let mut values = vec![(0.0, equations.most()); nodes as usize];
            let keep = |node: u64, bounds: Bounds| {
                if let Some(value) = values.get_mut(node as usize) {
                    *value = bounds;
                }
            };
            let (sweeps, tier) = iterate((&equations, &stages), how, nodes > 0, None, keep)?;
            let bounds = known.iter().enumerate();
            let bounds =
                bounds.map(|(s, known)| certain(*known).unwrap_or_else(|| values[renumbered(s) as usize]));
            (StateBounds::Ram(bounds.collect()), sweeps, tier)
        }
        Some(journal) => {
            let disk = journal.disk().clone();
            let options = run_options(3, 0, disk.governor.limit());
            let mut writer = RunWriter::create(&disk, RunKind::Closed, &options)?;
            let (mut last, mut failed) = (None, None);
            let keep = |node: u64, (low, high): Bounds| {
                // The faithful tier tells a node once for each edge to it, and of known values behind all nodes.
                if node < nodes && last.replace(node) != Some(node) {
                    failed = failed.take().or(writer.push(&[high.to_bits(), low.to_bits(), node]).err());
                }
            };
            let (sweeps, tier) = iterate((&equations, &stages), how, nodes > 0, Some(journal), keep)?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            let by_node = writer.finish()?;
            (StateBounds::Run(by_state(&disk, &by_node, &known, renumbered)?), sweeps, tier)
        }
    };
    Ok(Everywhere { bounds, known, groups, sweeps, tier, _memory: memory })
}

/// The bounds of a state whose value is known.
pub(super) fn certain(known: Known) -> Option<Bounds> {
    match known {
        Known::Zero => Some((0.0, 0.0)),
        Known::One => Some((1.0, 1.0)),
        Known::Infinite => Some((f64::INFINITY, f64::INFINITY)),
        Known::Open => None,
    }
}

/// Bounds by state, from those by node.
fn by_state(
    disk: &Disk,
    by_node: &RunFile,
    known: &[Known],
    node_of: impl Fn(usize) -> u64,
) -> Result<RunFile, DiskError> {
    let limit = disk.governor.limit();
    let mut members = Sorter::new(disk, run_options(2, 0, limit), limit / 16);
    let mut bounds = Sorter::new(disk, run_options(3, 0, limit), limit / 16);
    for (state, known) in known.iter().enumerate() {
        match certain(*known) {
            Some((low, high)) => bounds.push(&[high.to_bits(), low.to_bits(), state as u64])?,
            None => members.push(&[state as u64, node_of(state)])?,
        }
    }
    let members = members.into_run()?;
    let (mut members, mut nodes) = (Cursor::open(&members, 2)?, Cursor::open(by_node, 3)?);
    while let Some(&[state, node]) = members.head()? {
        let lost = || DiskError::Damaged("a node has no bounds".into());
        while nodes.head()?.ok_or_else(lost)?[2] < node {
            nodes.step();
        }
        let record = nodes.head()?.ok_or_else(lost)?;
        bounds.push(&[record[0], record[1], state])?;
        members.step();
    }
    drop((members, nodes));
    Ok(bounds.into_run()?)
}

/// Tells every state, in order, with its choices and the bounds of where each branch leads.
pub(super) fn carried<R: Rows>(
    rows: &R,
    bounds: &StateBounds,
    disk: Option<&Disk>,
    mut each: impl FnMut(u64, &Row, &[Bounds]),
) -> Result<(), DiskError> {
    let run = match (bounds, disk) {
        (StateBounds::Run(run), Some(disk)) => carry(rows, run, disk)?,
        (bounds, _) => {
            let list = bounds.load()?;
            let mut carried = Vec::new();
            return rows.scan(|state, row| {
                carried.clear();
                carried.extend(row.branches.iter().map(|b| list[b.0 as usize]));
                each(state, row, &carried);
            });
        }
    };
    let mut edges = Cursor::open(&run, 5)?;
    let (mut row, mut carried, mut current) = (Row::default(), Vec::new(), 0);
    while let Some(edge) = edges.head()? {
        let source = edge[4] >> POSITIONS;
        if source != current && !carried.is_empty() {
            each(current, &row, &carried);
            row.clear();
            carried.clear();
        }
        current = source;
        row.push(edge[3], edge[2]);
        carried.push((f64::from_bits(edge[1]), f64::from_bits(edge[0])));
        edges.step();
    }
    if !carried.is_empty() {
        each(current, &row, &carried);
    }
    Ok(())
}

/// Edges with the bounds of where they lead, sorted by where they come from: upper and lower bound, weight and reward, target,
/// source and position.
fn carry<R: Rows>(rows: &R, bounds: &RunFile, disk: &Disk) -> Result<RunFile, DiskError> {
    let limit = disk.governor.limit();
    let mut by_target = Sorter::new(disk, run_options(3, 0, limit), limit / 8);
    let mut failed = None;
    rows.scan(|state, row| {
        let mut position = 0;
        for (branches, reward) in row.choices() {
            for (n, &(to, weight)) in branches.iter().enumerate() {
                let word = payload(weight, reward, n + 1 == branches.len());
                failed = failed.take().or(by_target.push(&[word, state << POSITIONS | position, to]).err());
                position += 1;
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let by_target = by_target.into_run()?;
    let mut by_source = Sorter::new(disk, run_options(5, 0, limit), limit / 8);
    let (mut edges, mut bounds) = (Cursor::open(&by_target, 3)?, Cursor::open(bounds, 3)?);
    while let Some(&[word, source, target]) = edges.head()? {
        let lost = || DiskError::Damaged("a state has no bounds".into());
        while bounds.head()?.ok_or_else(lost)?[2] < target {
            bounds.step();
        }
        let record = bounds.head()?.ok_or_else(lost)?;
        by_source.push(&[record[0], record[1], word, target, source])?;
        edges.step();
    }
    drop((edges, bounds));
    Ok(by_source.into_run()?)
}
