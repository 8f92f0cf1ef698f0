//! A closed set with numbered states, layer by layer.

use crate::layered::Trouble;
use crate::ram::layer::{Range, take_piece};
use hadal_store::table::StateTable;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// States of one layer that stand one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) states: &'a [u64],
    /// The number of the first, where the others' follow one by one.
    pub(crate) first: Option<u64>,
    /// Their layer's depth.
    pub(crate) depth: usize,
}

/// Takes pieces.
pub(crate) type Visitor<'v> = Box<dyn FnMut(Piece) + Send + 'v>;

/// Every reachable state, once, with a number of its own.
pub(crate) trait Closed: Sync {
    /// Where a visit of a group stands.
    type Visit<'c>
    where
        Self: 'c;

    /// How many groups of layers that are visited together, the first ones first.
    fn groups(&self) -> usize;

    /// Numbers are smaller than this.
    fn size(&self) -> u64;

    /// The number of a state of the set; of others any number, or none.
    fn number(&self, state: &[u64]) -> Option<u64>;

    /// Begins to visit a group.
    fn visit(&self, group: usize) -> Result<Self::Visit<'_>, Trouble>;

    /// Shares about `most` further states of the group out to the visitors, each in a thread of its own; whether there may be
    /// more.
    fn go_on(
        &self,
        visit: &mut Self::Visit<'_>,
        most: u64,
        visitors: &mut [Visitor],
    ) -> Result<bool, Trouble>;
}

/// The states of a table in RAM.
pub(crate) struct TableClosed<'t> {
    table: &'t StateTable,
    layers: &'t [Vec<Range>],
    /// The number of each writer's first state, and the number of all at the end.
    bases: Vec<u64>,
}

/// Layers below this size are visited by one thread.
const SHARED_FROM: u64 = 2048;

impl<'t> TableClosed<'t> {
    pub(crate) fn new(table: &'t StateTable, layers: &'t [Vec<Range>]) -> Self {
        let mut bases = vec![0];
        for writer in 0..table.writer_count() {
            bases.push(bases[writer] + table.added_by(writer));
        }
        TableClosed { table, layers, bases }
    }
}

impl Closed for TableClosed<'_> {
    type Visit<'c>
        = TableVisit
    where
        Self: 'c;

    fn groups(&self) -> usize {
        self.layers.len()
    }

    fn size(&self) -> u64 {
        self.bases.last().copied().unwrap_or(0)
    }

    #[inline]
    fn number(&self, state: &[u64]) -> Option<u64> {
        self.table.find(state).map(|at| self.bases[at.writer()] + at.number())
    }

    fn visit(&self, group: usize) -> Result<TableVisit, Trouble> {
        Ok(TableVisit { group, next: AtomicU64::new(0) })
    }

    fn go_on(&self, visit: &mut TableVisit, most: u64, visitors: &mut [Visitor]) -> Result<bool, Trouble> {
        let layer = &self.layers[visit.group];
        let (next, seen, over) = (&visit.next, AtomicU64::new(0), AtomicBool::new(false));
        let work = |visitor: &mut Visitor| {
            let mut flat = Vec::new();
            while seen.load(Ordering::Relaxed) < most {
                let Some(piece) = take_piece(layer, next) else { return over.store(true, Ordering::Relaxed) };
                seen.fetch_add(piece.to - piece.from, Ordering::Relaxed);
                flat.clear();
                self.table.copy_states(piece.writer, piece.from, piece.to, &mut flat);
                let first = Some(self.bases[piece.writer] + piece.from);
                visitor(Piece { states: &flat, first, depth: visit.group });
            }
        };
        let width: u64 = layer.iter().map(|range| range.to - range.from).sum();
        match visitors {
            [only] => work(only),
            [first, ..] if width.min(most) < SHARED_FROM => work(first),
            many => std::thread::scope(|scope| {
                for visitor in many {
                    scope.spawn(|| work(visitor));
                }
            }),
        }
        Ok(!over.into_inner())
    }
}

/// Where a visit of a layer in RAM stands.
pub(crate) struct TableVisit {
    group: usize,
    /// The first position that nobody has taken.
    next: AtomicU64,
}
