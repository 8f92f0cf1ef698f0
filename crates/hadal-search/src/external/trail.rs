//! How to get to a state: what records carry for that, and the ways back through the closed buckets (Jabbar 2008, sec.
//! 3.4).
//!
//! *Parents*: a record names the transition it came by and the column of its parent, so each step back reads one bucket.
//! *Scan*: records are bare states; each step back expands the rows that a parent can be in again, or, where steps can be
//! taken back, asks for the successors of the state itself. *Divide*: see [`super::divide`].

use super::TraceBy;
use super::matrix::{Cell, Matrix};
use super::part::{Part, Range, Ready, Shelf, lower_bound};
use crate::exchange::{Mailbox, Said, Stops, Words};
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::report::StopReason;
use hadal_store::error::{Corrupted, ReadError};
use hadal_store::run::RunProbe;
use hadal_store::shape::RecordShape;
use hadal_system::guide::{Distance, Guide, Promises};
use hadal_system::state::{compare, hash};
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

impl ParentNote {
    /// Nothing of an initial state.
    fn of(word: u64) -> Option<Self> {
        let note =
            ParentNote { column: word >> 48, label: Label((word >> 16) as u32), some_bits: word & 0xFFFF };
        (word != u64::MAX).then_some(note)
    }
}

/// A state that leads on, and when it is met where one looks for it alone: less is earlier.
struct Before {
    turn: u64,
    cell: Cell,
    state: Vec<u64>,
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
    /// The states from an initial one to `target`, which lies in `cell`. Several workers look in what each of them owns, and
    /// go on from the state that one alone would have found first.
    pub(super) fn path(
        &self,
        (mode, mailbox): (Mode, &mut Mailbox),
        cell: Cell,
        target: &[u64],
    ) -> Result<Vec<Vec<u64>>, Trouble> {
        let mut path = vec![target.to_vec()];
        let mut at = cell;
        let undirected = self.task.space.undirected().is_some();
        loop {
            let state = path[path.len() - 1].clone();
            let mut found = None;
            if mode == Mode::Parent {
                let record = record_of_all(mailbox, self.record(at, &state))?;
                let record = record.ok_or_else(|| lost("a state of the path has no record"))?;
                let Some(parent) = ParentNote::of(record[0]) else { break };
                found = first_of_all(mailbox, self.by_parent(at, &state, parent))?;
            } else if at.g == 0 {
                break;
            } else {
                if undirected {
                    found = first_of_all(mailbox, self.by_successors(at, &state))?;
                }
                if found.is_none() {
                    // Where steps can be taken back, the declaration does not hold for this one: look for it the long way.
                    found = first_of_all(mailbox, self.by_rows(at, &state))?;
                }
            }
            let Before { cell, state: previous, .. } =
                found.ok_or_else(|| lost("no closed state leads to one of its row"))?;
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

    /// Reads the buckets that the record points to: the column is known, the row as far as the cost is.
    fn by_parent(
        &self,
        cell: Cell,
        state: &[u64],
        ParentNote { column, label, some_bits }: ParentNote,
    ) -> Result<Option<Before>, Trouble> {
        let columns = match column {
            ANY_COLUMN => self.columns(|_| true),
            column => vec![column as u32],
        };
        // Most costs are the same in every state: look there first.
        let mut guess = Vec::new();
        self.task.space.worker().costs(state, &[label], &mut guess);
        let guess = guess.first().map(|&cost| u64::from(cost));
        let others = self.costs.iter().copied().filter(|&cost| Some(cost) != guess);
        let all = guess.into_iter().chain(others).filter(|&cost| cost <= cell.g);
        for (turn, cost) in (0..).zip(all) {
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
            if let Some((cell, state)) = self.first_of(cells, &leads)? {
                return Ok(Some(Before { turn, cell, state }));
            }
        }
        Ok(None)
    }

    /// Where every step can be taken back, the predecessors are among the successors.
    fn by_successors(&self, cell: Cell, state: &[u64]) -> Result<Option<Before>, Trouble> {
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
        for (turn, (cell, state)) in (0..).zip(candidates) {
            if find(self.shelf, self.rows(cell), &state)?.is_some() {
                return Ok(Some(Before { turn, cell, state }));
            }
        }
        Ok(None)
    }

    /// Expands the rows again that a predecessor can be in.
    fn by_rows(&self, cell: Cell, state: &[u64]) -> Result<Option<Before>, Trouble> {
        for (turn, &cost) in (0..).zip(self.costs.iter().filter(|&&cost| cost <= cell.g)) {
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
            if let Some((cell, state)) = self.first_of(cells, &leads)? {
                return Ok(Some(Before { turn, cell, state }));
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

/// Hears what the workers found, one list of words each; ends where one of them was asked to stop.
fn hear(mailbox: &mut Mailbox, own: Result<Vec<u64>, Trouble>) -> Result<Vec<Vec<u64>>, Trouble> {
    let (own, stopped) = match own {
        Ok(own) => (own, None),
        Err(trouble) if trouble.is_stop() => (Vec::new(), Some(StopReason::Interrupted)),
        Err(trouble) => return Err(trouble),
    };
    let said = Said::default().stop(stopped.as_ref()).list(&own).into_words();
    let (mut stops, mut lists) = (Stops::default(), Vec::new());
    for words in &mailbox.agree_on(&said)? {
        let mut words = Words::new(words);
        stops.add(&mut words);
        lists.push(words.list().to_vec());
    }
    match stops.reason() {
        Some(_) => Err(ReadError::Stopped.into()),
        None => Ok(lists),
    }
}

/// The record that the owner of a state has.
pub(super) fn record_of_all(
    mailbox: &mut Mailbox,
    own: Result<Option<Vec<u64>>, Trouble>,
) -> Result<Option<Vec<u64>>, Trouble> {
    if mailbox.is_alone() {
        return own;
    }
    let lists = hear(mailbox, own.map(Option::unwrap_or_default))?;
    Ok(lists.into_iter().find(|record| !record.is_empty()))
}

/// What the workers found that a single one would have found first.
fn first_of_all(
    mailbox: &mut Mailbox,
    own: Result<Option<Before>, Trouble>,
) -> Result<Option<Before>, Trouble> {
    if mailbox.is_alone() {
        return own;
    }
    let said =
        |Before { turn, cell, state }: Before| [&[turn, u64::from(cell.h), cell.g], &state[..]].concat();
    let mut lists = hear(mailbox, own.map(|own| own.map_or(Vec::new(), said)))?;
    lists.retain(|words| words.len() > 3);
    let least = lists.iter().min_by(|a, b| a[..2].cmp(&b[..2]).then_with(|| compare(&a[3..], &b[3..])));
    Ok(least.map(|words| Before {
        turn: words[0],
        cell: Cell { g: words[2], h: words[1] as u32 },
        state: words[3..].to_vec(),
    }))
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
