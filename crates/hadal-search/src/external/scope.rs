//! Which closed states a bucket is compared with (Jabbar 2008, sec. 3.2 and 5.3 to 5.8): those of its own column, and of
//! rows up to its own.
//!
//! Where every step can be taken back at the same cost C at most, and estimates are consistent, the last 2C rows are
//! enough. Everywhere else all rows are asked; bounds from the structure of processes are unsound. Rows of a column are
//! merged as they grow in number, so that there are few things to ask. A level that reaches beyond the row in question
//! (which only inconsistent estimates bring about) is asked row by row.

use super::matrix::{Cell, Column, Level, Matrix};
use super::part::{Part, Range, Ready, Shelf, lower_bound};
use super::spill::own_run_bytes;
use crate::layered::Trouble;
use hadal_store::Bitmap;
use hadal_store::error::{ReadError, WriteError};
use hadal_store::merge::{BlockSource, RunMerge};
use hadal_store::run::{RunKind, RunProbe, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_system::state::compare;
use std::cmp::Ordering;
use std::sync::atomic::AtomicU64;

/// Most levels of a column before some are merged, and most of them that lie on disk.
const MOST_LEVELS: usize = 32;
const MOST_ON_DISK: usize = 8;

/// Which rows are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All.
    Full,
    /// As many before the bucket's own.
    Rows(u64),
}

/// Closed states that candidates are compared with.
pub(super) struct ClosedPart {
    pub(super) rows: (u64, u64),
    ready: Ready,
    /// Candidates found in it.
    pub(super) found: AtomicU64,
}

impl Scope {
    /// The closed parts that a bucket is compared with, the newest first: most duplicates are near.
    pub(super) fn closed(
        self,
        matrix: &Matrix,
        cell: Cell,
        shelf: &Shelf,
    ) -> Result<Vec<ClosedPart>, Trouble> {
        let Some(column) = matrix.columns.get(&cell.h) else { return Ok(Vec::new()) };
        let mut closed = Vec::new();
        let mut merged = Vec::new();
        let mut push = |rows: (u64, u64), part: &Part| -> Result<(), Trouble> {
            if part.records > 0 {
                closed.push(ClosedPart { rows, ready: shelf.ready(part)?, found: AtomicU64::new(0) });
            }
            Ok(())
        };
        let mut push_rows = |rows: std::ops::RangeInclusive<u64>| -> Result<(), Trouble> {
            for (&row, parts) in column.rows.range(rows).rev() {
                parts.iter().try_for_each(|part| push((row, row), part))?;
            }
            Ok(())
        };
        match self {
            Scope::Rows(rows) => push_rows(cell.g.saturating_sub(rows)..=cell.g)?,
            Scope::Full => {
                for level in column.levels.iter().rev().filter(|level| level.rows.0 <= cell.g) {
                    let (first, last) = level.rows;
                    match &level.merged {
                        Some(part) if last <= cell.g => merged.push((level.rows, part)),
                        _ => push_rows(first..=last.min(cell.g))?,
                    }
                }
            }
        }
        merged.into_iter().try_for_each(|(rows, part)| push(rows, part))?;
        Ok(closed)
    }
}

/// Takes note of a row that was added to, and merges levels when there are many.
pub(super) fn add_level(matrix: &mut Matrix, cell: Cell, shelf: &Shelf) -> Result<(), Trouble> {
    let column = matrix.columns.entry(cell.h).or_default();
    let known =
        column.levels.last().is_some_and(|last| last.rows == (cell.g, cell.g) && last.merged.is_none());
    if !known {
        column.levels.push(Level { rows: (cell.g, cell.g), merged: None });
    }
    let on_disk = column.levels.iter().filter(|level| !is_resident(column, level)).count();
    if column.levels.len() <= MOST_LEVELS && on_disk <= MOST_ON_DISK {
        return Ok(());
    }
    // At least a half, and on as long as what comes out would outgrow its neighbour.
    let mut first = column.levels.len() / 2;
    let mut total: u64 = column.levels[first..].iter().map(|level| level_records(column, level)).sum();
    while first > 0 && level_records(column, &column.levels[first - 1]) < total {
        first -= 1;
        total += level_records(column, &column.levels[first]);
    }
    let merged = merge_levels(column, first, shelf)?;
    let gone: usize = column.levels[first..]
        .iter()
        .filter_map(|level| level.merged.as_ref())
        .map(Part::resident_words)
        .sum();
    let rows = column.levels[first..].iter().map(|level| level.rows);
    let rows = rows.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((cell.g, cell.g));
    column.levels.truncate(first);
    let held = merged.resident_words();
    column.levels.push(Level { rows, merged: Some(merged) });
    matrix.release(gone);
    Ok(matrix.hold(held)?)
}

fn level_records(column: &Column, level: &Level) -> u64 {
    match &level.merged {
        Some(part) => part.records,
        None => column.rows.get(&level.rows.0).into_iter().flatten().map(|part| part.records).sum(),
    }
}

fn is_resident(column: &Column, level: &Level) -> bool {
    let row = column.rows.get(&level.rows.0).into_iter().flatten();
    match &level.merged {
        Some(part) => part.resident_words() > 0,
        None => row.map(Part::resident_words).all(|words| words > 0),
    }
}

/// One part of all levels from `first` on.
fn merge_levels(column: &Column, first: usize, shelf: &Shelf) -> Result<Part, Trouble> {
    let shape = shelf.shape();
    let mut ready = Vec::new();
    for level in &column.levels[first..] {
        match &level.merged {
            Some(part) => ready.push(shelf.ready(part)?),
            None => {
                for part in column.rows.get(&level.rows.0).into_iter().flatten() {
                    ready.push(shelf.ready(part)?);
                }
            }
        }
    }
    let sources = ready.iter().map(|part| part.source(shape, Range::ALL)).collect::<Result<_, _>>()?;
    let mut merge = RunMerge::new(shape, sources);
    let mut kept = Keeper::new(shelf, RunKind::Closed);
    let mut block = Vec::new();
    while merge.next_block(&mut block)? {
        kept.push(&block)?;
    }
    kept.finish(0)
}

/// Ascending records that stay in RAM if they are few and become a run if they are many.
pub(super) struct Keeper {
    shelf: Shelf,
    kind: RunKind,
    held: Vec<u64>,
    most_words: usize,
    writer: Option<RunWriter>,
}

impl Keeper {
    pub(super) fn new(shelf: &Shelf, kind: RunKind) -> Self {
        let most_words = own_run_bytes(shelf) as usize / 8;
        Keeper { shelf: shelf.clone(), kind, held: Vec::new(), most_words, writer: None }
    }

    pub(super) fn push(&mut self, flat: &[u64]) -> Result<(), WriteError> {
        let shape = self.shelf.shape();
        if self.writer.is_none() {
            if self.held.len() + flat.len() <= self.most_words {
                self.held.extend_from_slice(flat);
                return Ok(());
            }
            let mut writer = RunWriter::create(&self.shelf.disk, self.kind, &self.shelf.options)?;
            writer.push_all(Records::new(shape, &self.held))?;
            self.held = Vec::new();
            self.writer = Some(writer);
        }
        match &mut self.writer {
            Some(writer) => writer.push_all(Records::new(shape, flat)),
            None => Ok(()),
        }
    }

    pub(super) fn finish(mut self, made_in: u64) -> Result<Part, Trouble> {
        Ok(match self.writer {
            Some(writer) => Part::run(writer.finish()?, made_in),
            None => {
                self.held.shrink_to_fit();
                Part::resident(self.shelf.shape(), self.held, made_in)
            }
        })
    }
}

/// One thread's look at a closed part, for candidates that ascend from one call to the next.
pub(super) enum Probe<'a> {
    Flat { flat: &'a [u64], at: usize },
    Run(Box<RunProbe>),
}

impl ClosedPart {
    pub(super) fn probe(&self) -> Result<Probe<'_>, ReadError> {
        Ok(match &self.ready {
            Ready::Flat(flat) => Probe::Flat { flat, at: 0 },
            Ready::Run(run, index) => Probe::Run(Box::new(RunProbe::open(run, index.clone())?)),
        })
    }

    /// All its records, ascending.
    pub(super) fn source(&self, shape: RecordShape) -> Result<Box<dyn BlockSource + '_>, ReadError> {
        self.ready.source(shape, Range::ALL)
    }

    /// Memory that probing it takes.
    pub(super) fn footprint(&self) -> u64 {
        match &self.ready {
            Ready::Flat(_) => 0,
            Ready::Run(run, _) => RunReader::footprint(run.options()),
        }
    }
}

impl Probe<'_> {
    /// Sets the bits of the candidates that are in the part; says how many were not set before.
    pub(super) fn mark(
        &mut self,
        shape: RecordShape,
        candidates: &[u64],
        present: &mut Bitmap,
    ) -> Result<u64, ReadError> {
        match self {
            Probe::Run(probe) => probe.mark(Records::new(shape, candidates), present),
            Probe::Flat { flat, at } => Ok(mark_flat(shape, flat, at, candidates, present)),
        }
    }
}

fn mark_flat(
    shape: RecordShape,
    flat: &[u64],
    at: &mut usize,
    candidates: &[u64],
    present: &mut Bitmap,
) -> u64 {
    let stride = shape.stride();
    let rest = &flat[*at * stride..];
    *at += lower_bound(shape, rest, shape.state(&candidates[..stride]));
    let mut place = *at * stride;
    let mut found = 0;
    for (n, candidate) in candidates.chunks_exact(stride).enumerate() {
        let state = shape.state(candidate);
        let mut order = Ordering::Less;
        while place < flat.len() {
            order = compare(shape.state(&flat[place..place + stride]), state);
            if order != Ordering::Less {
                break;
            }
            place += stride;
        }
        if place == flat.len() {
            break;
        }
        if order == Ordering::Equal && !present.get(n) {
            present.set(n);
            found += 1;
        }
    }
    *at = place / stride;
    found
}

impl ClosedPart {
    /// Whether some of the ascending candidates may be in it.
    pub(super) fn overlaps(&self, shape: RecordShape, candidates: &[u64]) -> bool {
        let stride = shape.stride();
        let Some(last) = candidates.len().checked_sub(stride) else { return false };
        let (first, last) = (shape.state(&candidates[..stride]), shape.state(&candidates[last..]));
        let (low, high) = match &self.ready {
            Ready::Flat(flat) if flat.is_empty() => return false,
            Ready::Flat(flat) => (shape.state(&flat[..stride]), shape.state(&flat[flat.len() - stride..])),
            Ready::Run(_, index) if index.blocks() == 0 => return false,
            Ready::Run(_, index) => (index.first_key(0), index.last_key()),
        };
        compare(low, last) != Ordering::Greater && compare(high, first) != Ordering::Less
    }
}
