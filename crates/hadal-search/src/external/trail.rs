//! How to get to a state: what records carry for that, and the ways back through the closed buckets (Jabbar 2008, sec.
//! 3.4).
//!
//! *Parents*: a record names the transition it came by and the column of its parent, so each step back reads one bucket.
//! *Scan*: records are bare states; each step back expands the rows that a parent can be in again, or, where steps can be
//! taken back, asks for the successors of the state itself. *Divide*: see [`super::divide`].

use super::TraceBy;
use super::matrix::{Cell, Matrix};
use super::part::{Part, Range, Ready, Shelf, lower_bound};
use crate::lane::SearchTask;
use crate::layered::Trouble;
use hadal_store::error::{Corrupted, ReadError};
use hadal_store::run::RunProbe;
use hadal_store::shape::RecordShape;
use hadal_system::guide::{Distance, Guide, Promises};
use hadal_system::state::hash;
use hadal_system::{Label, Merge, Payload, Successors, Worker};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// What records carry besides the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Bare,
    /// The transition, the column of the parent, and a few bits of its hash.
    Parent,
    /// The two ends of the step that crossed a row, and the cost of each.
    Relay(Relay),
}

/// Which row the remembered step crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relay {
    /// The last that is a power of two: within a factor of two from the middle, wherever the end will be.
    Doubling,
    /// This one.
    At(u64),
}

/// A step from a record `parent` to a state, and the cells they lie in.
#[derive(Clone, Copy)]
pub(super) struct Step<'r> {
    pub(super) from: Cell,
    pub(super) to: Cell,
    pub(super) label: Label,
    pub(super) parent: &'r [u64],
    pub(super) state: &'r [u64],
}

const PARENT_COLUMN_BITS: u32 = 16;
/// A parent column that does not fit: any may be it.
const ANY_COLUMN: u64 = (1 << PARENT_COLUMN_BITS) - 1;

impl Mode {
    pub(super) fn of(trace_by: TraceBy) -> Self {
        match trace_by {
            TraceBy::Scan => Mode::Bare,
            TraceBy::Parents => Mode::Parent,
            TraceBy::Divide => Mode::Relay(Relay::Doubling),
        }
    }

    /// What is kept beside states of `words` words. Of several parents any will do, so the least stays.
    pub(super) fn payload(self, words: usize) -> Payload {
        let words = match self {
            Mode::Bare => 0,
            Mode::Parent => 1,
            Mode::Relay(_) => 2 * words + 2,
        };
        Payload { words, merge: Merge::Least }
    }

    /// The payload of an initial state.
    pub(super) fn root(self, state: &[u64], payload: &mut Vec<u64>) {
        payload.clear();
        match self {
            Mode::Bare => {}
            Mode::Parent => payload.push(u64::MAX),
            Mode::Relay(_) => {
                payload.extend_from_slice(&[0, 0]);
                payload.extend_from_slice(state);
                payload.extend_from_slice(state);
            }
        }
    }

    /// The payload of what a step reaches.
    pub(super) fn carry(self, shape: RecordShape, step: Step<'_>, payload: &mut Vec<u64>) {
        let Step { from, to, label, parent, state } = step;
        payload.clear();
        match self {
            Mode::Bare => {}
            Mode::Parent => {
                let column = u64::from(from.h).min(ANY_COLUMN);
                let some_bits = hash(shape.state(parent)) >> (64 - 16);
                payload.push(column << 48 | u64::from(label.0) << 16 | some_bits);
            }
            Mode::Relay(relay) if relay.is_crossed(from.g, to.g) => {
                payload.extend_from_slice(&[from.g, to.g]);
                payload.extend_from_slice(shape.state(parent));
                payload.extend_from_slice(state);
            }
            Mode::Relay(_) => payload.extend_from_slice(&parent[..shape.payload_words()]),
        }
    }
}

impl Relay {
    fn is_crossed(self, from: u64, to: u64) -> bool {
        match self {
            Relay::At(row) => from < row && row <= to,
            Relay::Doubling => from == 0 || to.ilog2() > from.ilog2(),
        }
    }
}

/// Whether a state leads to the one a step back starts from.
type LeadsOn<'a> = dyn Fn(&mut dyn Worker, &mut Successors, &[u64]) -> bool + Sync + 'a;

/// What a record says of the state it was reached from.
struct ParentNote {
    column: u64,
    label: Label,
    some_bits: u64,
}

/// What is needed to go back.
pub(super) struct Trail<'a> {
    pub(super) task: SearchTask<'a>,
    pub(super) guide: &'a dyn Guide,
    pub(super) promises: Promises,
    pub(super) matrix: &'a Matrix,
    pub(super) shelf: &'a Shelf,
    pub(super) threads: usize,
    /// The costs of transitions that were met.
    pub(super) costs: &'a BTreeSet<u64>,
}

impl Trail<'_> {
    /// The states from an initial one to `target`, which lies in `cell`, and what the path costs.
    pub(super) fn path(&self, mode: Mode, cell: Cell, target: &[u64]) -> Result<Vec<Vec<u64>>, Trouble> {
        let mut path = vec![target.to_vec()];
        let mut at = cell;
        let undirected = self.task.space.undirected().is_some();
        loop {
            let state = path[path.len() - 1].clone();
            let found = match mode {
                Mode::Parent => match self.parent(at, &state)? {
                    Some(parent) => self.by_parent(at, &state, parent)?,
                    None => break,
                },
                _ if at.g == 0 => break,
                _ if undirected => self.by_successors(at, &state)?,
                _ => self.by_rows(at, &state)?,
            };
            let (cell, previous) = found.ok_or_else(|| lost("no closed state leads to one of its row"))?;
            // A parent is expanded before its child: only a mistaken one could lead in a circle, and only at no cost.
            if cell.g == at.g && path.contains(&previous) {
                return Err(lost("the parents of a state lead in a circle"));
            }
            path.push(previous);
            at = cell;
        }
        path.reverse();
        Ok(path)
    }

    fn rows(&self, cell: Cell) -> &[Part] {
        let row = self.matrix.columns.get(&cell.h).and_then(|column| column.rows.get(&cell.g));
        row.map_or(&[], |parts| parts)
    }

    /// The record of a state in a bucket, closed or open.
    pub(super) fn record(&self, cell: Cell, state: &[u64]) -> Result<Option<Vec<u64>>, Trouble> {
        if let Some(record) = find(self.shelf, self.rows(cell), state)? {
            return Ok(Some(record));
        }
        match self.matrix.open.get(&cell.rank()) {
            Some(bucket) => find(self.shelf, &bucket.parts, state),
            None => Ok(None),
        }
    }

    /// What the record of a state says of its parent; `None` of an initial state.
    fn parent(&self, cell: Cell, state: &[u64]) -> Result<Option<ParentNote>, Trouble> {
        let record = self.record(cell, state)?.ok_or_else(|| lost("a state of the path has no record"))?;
        let word = record[0];
        let note =
            ParentNote { column: word >> 48, label: Label((word >> 16) as u32), some_bits: word & 0xFFFF };
        Ok((word != u64::MAX).then_some(note))
    }

    /// Reads the buckets that the record points to: the column is known, the row as far as the cost is.
    fn by_parent(
        &self,
        cell: Cell,
        state: &[u64],
        ParentNote { column, label, some_bits }: ParentNote,
    ) -> Result<Option<(Cell, Vec<u64>)>, Trouble> {
        let columns = match column {
            ANY_COLUMN => self.columns(|_| true),
            column => vec![column as u32],
        };
        // Most costs are the same in every state: look there first.
        let mut guess = Vec::new();
        self.task.space.worker().costs(state, &[label], &mut guess);
        let guess = guess.first().map(|&cost| u64::from(cost));
        let others = self.costs.iter().copied().filter(|&cost| Some(cost) != guess);
        for cost in guess.into_iter().chain(others).filter(|&cost| cost <= cell.g) {
            let leads = |worker: &mut dyn Worker, out: &mut Successors, candidate: &[u64]| {
                if hash(candidate) >> (64 - 16) != some_bits {
                    return false;
                }
                out.clear();
                worker.successors(candidate, out);
                let taken = |(taken, successor): (Label, &[u64])| taken == label && successor == state;
                out.iter().any(taken) && costs(worker, candidate, label) == cost
            };
            let cells = columns.iter().map(|&h| Cell { g: cell.g - cost, h });
            if let Some(found) = self.first_of(cells, &leads)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Where every step can be taken back, the predecessors are among the successors.
    fn by_successors(&self, cell: Cell, state: &[u64]) -> Result<Option<(Cell, Vec<u64>)>, Trouble> {
        let mut out = Successors::new(self.task.space.words());
        let mut worker = self.task.space.worker();
        worker.successors(state, &mut out);
        let mut estimator = self.guide.estimator();
        let mut candidates = Vec::new();
        for (label, successor) in out.iter() {
            let estimate = estimator.estimate(successor, None);
            let cost = costs(&mut *worker, state, label);
            if let Some(g) = cell.g.checked_sub(cost).filter(|_| estimate != Distance::INFINITE) {
                candidates.push((Cell { g, h: estimate.0 }, successor.to_vec()));
            }
        }
        candidates.sort_by(|a, b| (a.0.g, a.0.h, &a.1).cmp(&(b.0.g, b.0.h, &b.1)));
        for (cell, candidate) in candidates {
            if find(self.shelf, self.rows(cell), &candidate)?.is_some() {
                return Ok(Some((cell, candidate)));
            }
        }
        // The declaration does not hold for this step: look for it the long way.
        self.by_rows(cell, state)
    }

    /// Expands the rows again that a predecessor can be in.
    fn by_rows(&self, cell: Cell, state: &[u64]) -> Result<Option<(Cell, Vec<u64>)>, Trouble> {
        for &cost in self.costs.iter().filter(|&&cost| cost <= cell.g) {
            let most = u64::from(cell.h) + cost;
            // Consistent estimates drop by the cost of a step at most.
            let columns = self.columns(|h| !self.promises.consistent || u64::from(h) <= most);
            let cells = columns.into_iter().map(|h| Cell { g: cell.g - cost, h });
            let leads = |worker: &mut dyn Worker, out: &mut Successors, candidate: &[u64]| {
                out.clear();
                worker.successors(candidate, out);
                out.iter()
                    .any(|(label, successor)| successor == state && costs(worker, candidate, label) == cost)
            };
            if let Some(found) = self.first_of(cells, &leads)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn columns(&self, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        self.matrix.columns.keys().copied().filter(|&h| wanted(h)).collect()
    }

    /// The first closed state in these buckets that leads on.
    fn first_of(
        &self,
        cells: impl Iterator<Item = Cell>,
        leads: &LeadsOn,
    ) -> Result<Option<(Cell, Vec<u64>)>, Trouble> {
        let (shape, space) = (self.shelf.shape(), self.task.space);
        let mut workers: Vec<_> =
            (0..self.threads.max(1)).map(|_| (space.worker(), Successors::new(space.words()))).collect();
        let mut block = Vec::new();
        for cell in cells {
            for part in self.rows(cell) {
                let ready = self.shelf.ready(part)?;
                let mut source = ready.source(shape, Range::ALL)?;
                while source.next_block(&mut block)? {
                    if self.task.control.is_interrupted() {
                        return Err(ReadError::Stopped.into());
                    }
                    let best: Mutex<Option<usize>> = Mutex::new(None);
                    let share = (block.len() / shape.stride()).div_ceil(workers.len()).max(1);
                    std::thread::scope(|scope| {
                        let parts = block.chunks(share * shape.stride()).enumerate();
                        for ((worker, out), (n, part)) in workers.iter_mut().zip(parts) {
                            let (best, look) = (&best, move || {
                                let mut records = part.chunks_exact(shape.stride());
                                records.position(|record| leads(&mut **worker, out, shape.state(record)))
                            });
                            let note = move |at: Option<usize>| {
                                let Some(at) = at.map(|at| n * share + at) else { return };
                                let mut best = super::spill::lock(best);
                                *best = Some(best.map_or(at, |held| held.min(at)));
                            };
                            let mut look = look;
                            if share < 1024 {
                                note(look());
                            } else {
                                scope.spawn(move || note(look()));
                            }
                        }
                    });
                    if let Some(at) = best.into_inner().unwrap_or_else(|e| e.into_inner()) {
                        let record = &block[at * shape.stride()..(at + 1) * shape.stride()];
                        return Ok(Some((cell, shape.state(record).to_vec())));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// What a transition costs.
fn costs(worker: &mut dyn Worker, state: &[u64], label: Label) -> u64 {
    let mut costs = Vec::new();
    worker.costs(state, &[label], &mut costs);
    costs.first().map_or(1, |&cost| u64::from(cost))
}

/// The record of `state` in one of the parts.
fn find(shelf: &Shelf, parts: &[Part], state: &[u64]) -> Result<Option<Vec<u64>>, Trouble> {
    let shape = shelf.shape();
    for part in parts {
        match shelf.ready(part)? {
            Ready::Flat(flat) => {
                let at = lower_bound(shape, &flat, state) * shape.stride();
                if let Some(record) = flat.get(at..at + shape.stride())
                    && shape.state(record) == state
                {
                    return Ok(Some(record.to_vec()));
                }
            }
            ready @ Ready::Run(..) => {
                if let Ready::Run(run, index) = &ready
                    && !RunProbe::open(run, index.clone())?.contains(state)?
                {
                    continue;
                }
                let mut block = Vec::new();
                let mut source = ready.source(shape, Range { from: Some(state), to: None })?;
                if source.next_block(&mut block)? && shape.state(&block[..shape.stride()]) == state {
                    return Ok(Some(block[..shape.stride()].to_vec()));
                }
            }
        }
    }
    Ok(None)
}

pub(super) fn lost(what: &'static str) -> Trouble {
    Trouble::Read(ReadError::Corrupted(Corrupted { file: "buckets".into(), block: None, what }))
}
