//! External value iteration as it was published (Edelkamp, Jabbar, Bonet 2007; Jabbar 2008, ch. 10): every edge carries the
//! value of its successor. One file has the edges by successor; a copy sorted by predecessor brings together what a state's
//! value depends on; the third file is the next first one. RAM holds buffers only.
//!
//! Here edges carry a lower and an upper bound, and one pseudo edge leads to each node that nothing else leads to.

use super::DiskError;
use super::equations::Equations;
use super::graph::{Cursor, run_options};
use super::journal::Journal;
use super::rows::Row;
use super::sweep::{Bounds, Course, Seen, Step};
use hadal_store::sort::Sorter;
use hadal_store::{RunFile, RunKind, RunWriter};
use std::collections::HashMap;

/// By successor: payload, lower, upper, predecessor's number and position, successor.
const OPEN: usize = 6;
/// By predecessor: the same with its places changed.
const TEMP: usize = 6;
/// The predecessor of pseudo edges.
const NOBODY: u64 = u64::MAX;

const FILE: &str = "open";
const COURSE: &str = "course";

pub(super) struct Faithful {
    open: RunFile,
}

fn bounds(low: u64, high: u64) -> Bounds {
    (f64::from_bits(low), f64::from_bits(high))
}

impl Faithful {
    /// Edges with the bounds known before anything is solved, or as they were committed.
    pub fn new(equations: &Equations, course: &mut Course, journal: &mut Journal) -> Result<Self, DiskError> {
        let limit = journal.disk().governor.limit();
        let options = run_options(OPEN, 0, limit);
        if let Some(open) = journal.run(FILE, &options)? {
            let kept = journal.words(COURSE).and_then(Course::decode);
            *course = kept.ok_or_else(|| DiskError::Damaged("a run without its course".into()))?;
            return Ok(Faithful { open });
        }
        let disk = journal.disk();
        let mut by_successor = Sorter::new(disk, options, limit / 4);
        let mut failed = None;
        let start = |place: u64| {
            if place < equations.nodes {
                (0.0, equations.most())
            } else {
                let known = f64::from(u8::from(place > equations.nodes));
                (known, known)
            }
        };
        equations.scan(|node, row| {
            let mut record = |payload: u64, from: u64, position: u64, to: u64| {
                let (low, high) = start(to);
                let pushed = by_successor.push(&[high.to_bits(), low.to_bits(), payload, position, from, to]);
                failed = failed.take().or(pushed.err());
            };
            record(0, NOBODY, 0, node);
            let mut position = 0;
            for (branches, reward) in row.choices() {
                for (n, &(to, weight)) in branches.iter().enumerate() {
                    record(super::rows::payload(weight, reward, n + 1 == branches.len()), node, position, to);
                    position += 1;
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let all = by_successor.into_run()?;
        // A pseudo edge is wanted only where it is alone; it stands last.
        let mut open = RunWriter::create(disk, RunKind::Closed, &options)?;
        let mut edges = Cursor::open(&all, OPEN)?;
        let mut last = NOBODY;
        while let Some(edge) = edges.head()? {
            if edge[4] != NOBODY || edge[5] != last {
                open.push(edge)?;
            }
            last = edge[5];
            edges.step();
        }
        Ok(Faithful { open: open.finish()? })
    }

    /// One iteration over a stage: three files.
    pub fn sweep(&mut self, step: &Step, journal: &Journal) -> Result<Seen, DiskError> {
        let disk = journal.disk();
        let limit = disk.governor.limit();
        let mut by_predecessor = Sorter::new(disk, run_options(TEMP, 0, limit), limit / 4);
        let mut edges = Cursor::open(&self.open, OPEN)?;
        while let Some(edge) = edges.head()? {
            if edge[4] != NOBODY && step.sweeps(edge[4]) {
                by_predecessor.push(&[edge[0], edge[1], edge[2], edge[5], edge[3], edge[4]])?;
            }
            edges.step();
        }
        drop(edges);
        let temp = by_predecessor.into_run()?;
        let mut next = RunWriter::create(disk, RunKind::Closed, &run_options(OPEN, 0, limit))?;
        let mut seen = Seen::default();
        let (mut open, mut temp) = (Cursor::open(&self.open, OPEN)?, Cursor::open(&temp, TEMP)?);
        let (mut row, mut known) = (Row::default(), HashMap::<u64, Bounds>::new());
        let mut done: Option<(u64, Bounds)> = None;
        while let Some(edge) = open.head()? {
            let (node, own) = (edge[5], bounds(edge[1], edge[0]));
            let value = match done {
                Some((last, value)) if last == node => value,
                _ if node >= step.equations.nodes || !step.sweeps(node) => own,
                _ => {
                    row.clear();
                    known.clear();
                    while let Some(out) = temp.head()?.filter(|out| out[5] == node) {
                        row.push(out[3], out[2]);
                        known.insert(out[3], bounds(out[1], out[0]));
                        temp.step();
                    }
                    step.node(&row, own, |place| known[&place], &mut seen)
                }
            };
            done = Some((node, value));
            let rest = [edge[2], edge[3], edge[4]];
            open.step();
            next.push(&[value.1.to_bits(), value.0.to_bits(), rest[0], rest[1], rest[2], node])?;
        }
        if temp.head()?.is_some() {
            return Err(DiskError::Damaged("edges are left whose predecessor nothing leads to".into()));
        }
        drop((open, temp));
        self.open = next.finish()?;
        Ok(seen)
    }

    /// Commits the edges.
    pub fn commit(&self, course: &Course, journal: &mut Journal) -> Result<(), DiskError> {
        journal.put_run(FILE, &self.open);
        journal.put_words(COURSE, course.encode());
        journal.commit()
    }

    /// Tells the bounds of every node, some of them several times.
    pub fn tell(&self, mut each: impl FnMut(u64, Bounds)) -> Result<(), DiskError> {
        let mut edges = Cursor::open(&self.open, OPEN)?;
        while let Some(edge) = edges.head()? {
            each(edge[5], bounds(edge[1], edge[0]));
            edges.step();
        }
        Ok(())
    }
}
