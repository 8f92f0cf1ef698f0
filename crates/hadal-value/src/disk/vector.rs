//! Bounds of all nodes in RAM, equations in RAM or scanned from disk. Of several workers each has equations of its own and tells
//! the others of every bound that moved.

use super::DiskError;
use super::company::{Changes, Company};
use super::equations::Equations;
use super::graph::run_options;
use super::journal::Journal;
use super::stages::Stages;
use super::sweep::{Bounds, Course, Seen, Step};
use hadal_store::{RecordShape, Reservation, RunFile, RunKind, RunReader, RunWriter};
use std::ops::Range;

/// What it keeps: bounds before and after a sweep.
pub(super) struct Vector {
    old: Vec<Bounds>,
    new: Vec<Bounds>,
    /// The workers, and the nodes whose equations are here, where there are several.
    shared: Option<(Company, Vec<Range<u64>>)>,
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
        (equations, stages): (&Equations, &Stages),
        course: &mut Course,
        journal: Option<&mut Journal>,
    ) -> Result<Self, DiskError> {
        let company = journal.as_deref().map(Journal::company).filter(|company| !company.is_alone());
        let shared = company.map(|company| (company.clone(), stages.parts(company)));
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
                recall_bounds(&run, journal.company(), &mut old)?;
            }
        }
        Ok(Vector { new: old.clone(), old, shared, _memory: memory })
    }

    /// One sweep over a stage.
    pub fn sweep(&mut self, step: &Step) -> Result<Seen, DiskError> {
        if self.shared.is_some() {
            return self.sweep_own(step);
        }
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

    /// One sweep over the nodes of a stage whose equations are here. The others sweep theirs.
    fn sweep_own(&mut self, step: &Step) -> Result<Seen, DiskError> {
        let Vector { old, new, shared, .. } = self;
        let company = shared.as_ref().map(|(company, _)| company);
        let (mut seen, mut changes) = (Seen::default(), Changes::among(company, old.len() as u64));
        let bits = |(low, high): Bounds| (low.to_bits(), high.to_bits());
        step.equations.scan_within(&step.range, |node, row| {
            let own = old[node as usize];
            let bounds = step.node(row, own, |n| old[n as usize], &mut seen);
            new[node as usize] = bounds;
            if bits(bounds) != bits(own) {
                changes.note(node);
            }
        })?;
        // What the others tell is put beside what is new here: nobody reads what was before any more.
        let heard = changes.meet_saying(new, |_, told| told, &seen.encode())?;
        let range = step.range.start as usize..step.range.end as usize;
        old[range.clone()].copy_from_slice(&new[range]);
        Ok(heard.iter().map(|words| Seen::decode(words)).fold(Seen::default(), Seen::and))
    }

    /// Commits the bounds; of several workers, each those of its nodes.
    pub fn commit(&self, course: &Course, journal: &mut Journal) -> Result<(), DiskError> {
        let all = 0..self.old.len() as u64;
        let ranges = self.shared.as_ref().map_or(std::slice::from_ref(&all), |(_, own)| own.as_slice());
        let nodes = ranges.iter().cloned().flatten();
        let run = write_bounds(journal, nodes.map(|node| (node, self.old[node as usize])))?;
        journal.put_run(VALUES, &run);
        journal.put_words(COURSE, course.encode());
        journal.commit()
    }

    /// Tells the bounds of every node.
    pub fn tell(&self, mut each: impl FnMut(u64, Bounds)) {
        self.old.iter().enumerate().for_each(|(node, &bounds)| each(node as u64, bounds));
    }
}

/// Puts the bounds of a run into a list, and those of the runs of others.
pub(super) fn recall_bounds(run: &RunFile, company: &Company, list: &mut [Bounds]) -> Result<(), DiskError> {
    let mut post = company.post(RecordShape::with_payload(1, 2));
    let mut put = |record: &[u64]| -> Result<(), DiskError> {
        let there = list.get_mut(record[2] as usize);
        let place = there.ok_or_else(|| DiskError::Damaged("bounds of what is not there".into()))?;
        *place = (f64::from_bits(record[1]), f64::from_bits(record[0]));
        Ok(())
    };
    let (mut reader, mut block) = (RunReader::open(run)?, Vec::new());
    while reader.next_block(&mut block)? {
        for record in block.chunks_exact(3) {
            put(record)?;
            post.push_to_others(record, &mut put)?;
        }
    }
    post.end(&[], &mut put).map(drop)
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
