//! Bounds of all nodes in RAM, equations in RAM or scanned from disk.

use super::DiskError;
use super::equations::Equations;
use super::graph::run_options;
use super::journal::Journal;
use super::sweep::{Bounds, Course, Seen, Step};
use hadal_store::{Reservation, RunFile, RunKind, RunReader, RunWriter};

/// What it keeps: bounds before and after a sweep.
pub(super) struct Vector {
    old: Vec<Bounds>,
    new: Vec<Bounds>,
    _memory: Option<Reservation>,
}

/// The run of bounds in a journal, and how far they are.
const VALUES: &str = "values";
const COURSE: &str = "course";

impl Vector {
    /// What it takes in RAM.
    pub fn bytes(nodes: u64) -> u64 {
        nodes * 2 * size_of::<Bounds>() as u64
    }

    /// Bounds as they are known before anything is solved, or as they were committed.
    pub fn new(
        equations: &Equations,
        course: &mut Course,
        journal: Option<&mut Journal>,
    ) -> Result<Self, DiskError> {
        let memory = match &journal {
            Some(journal) => {
                let bytes = Vector::bytes(equations.nodes);
                let reserved = journal.disk().governor.try_reserve(bytes, "values");
                Some(reserved.map_err(|_| DiskError::Values { states: equations.nodes, bytes })?)
            }
            None => None,
        };
        let mut old = vec![(0.0, equations.most()); equations.nodes as usize];
        if let Some(journal) = journal {
            let options = run_options(3, 0, journal.disk().governor.limit());
            if let Some(run) = journal.run(VALUES, &options)? {
                let kept = journal.words(COURSE).and_then(Course::decode);
                *course = kept.ok_or_else(|| DiskError::Damaged("a run without its course".into()))?;
                read_bounds(&run, |node, bounds| old[node as usize] = bounds)?;
            }
        }
        Ok(Vector { new: old.clone(), old, _memory: memory })
    }

    /// One sweep over a stage.
    pub fn sweep(&mut self, step: &Step) -> Result<Seen, DiskError> {
        let (old, new) = (&self.old, &mut self.new);
        let mut seen = Seen::default();
        step.equations.scan_within(&step.range, |node, row| {
            new[node as usize] = step.node(row, old[node as usize], |n| old[n as usize], &mut seen);
        })?;
        let range = step.range.start as usize..step.range.end as usize;
        if range.len() == old.len() {
            std::mem::swap(&mut self.old, &mut self.new);
        } else {
            self.old[range.clone()].copy_from_slice(&self.new[range]);
        }
        Ok(seen)
    }

    /// Commits the bounds.
    pub fn commit(&self, course: &Course, journal: &mut Journal) -> Result<(), DiskError> {
        let bounds = self.old.iter().enumerate().map(|(node, &bounds)| (node as u64, bounds));
        let run = write_bounds(journal, bounds)?;
        journal.put_run(VALUES, &run);
        journal.put_words(COURSE, course.encode());
        journal.commit()
    }

    /// Tells the bounds of every node.
    pub fn tell(&self, mut each: impl FnMut(u64, Bounds)) {
        self.old.iter().enumerate().for_each(|(node, &bounds)| each(node as u64, bounds));
    }
}

/// Writes bounds of ascending nodes.
pub(super) fn write_bounds(
    journal: &Journal,
    bounds: impl Iterator<Item = (u64, Bounds)>,
) -> Result<RunFile, DiskError> {
    let options = run_options(3, 0, journal.disk().governor.limit());
    let mut writer = RunWriter::create(journal.disk(), RunKind::Closed, &options)?;
    for (node, (low, high)) in bounds {
        writer.push(&[high.to_bits(), low.to_bits(), node])?;
    }
    Ok(writer.finish()?)
}

/// Tells the bounds of a run.
pub(super) fn read_bounds(run: &RunFile, mut each: impl FnMut(u64, Bounds)) -> Result<(), DiskError> {
    let (mut reader, mut block) = (RunReader::open(run)?, Vec::new());
    while reader.next_block(&mut block)? {
        for record in block.chunks_exact(3) {
            each(record[2], (f64::from_bits(record[1]), f64::from_bits(record[0])));
        }
    }
    Ok(())
}
