//! How far states are written: what lies beyond a bound, or beyond the diagonal that is being searched, is left out and
//! generated again when it is wanted (Jabbar 2008, sec. 3.7.3).
//!
//! Of every closed bucket the least f of the successors that it left out is remembered, so that a larger bound expands
//! exactly those buckets again that left out something within it. (That only the last diagonal has to be, as the source
//! says, holds where f rises by one step of the diagonals at most.)

use super::Flush;
use super::matrix::Cell;
use std::collections::BTreeMap;

/// What comes next.
pub(super) enum Turn {
    /// The expansion of a bucket.
    Expand,
    /// Writing what was left out up to this f.
    Raise(u64),
    /// Nothing: what is left lies beyond the bound, if anything is.
    End,
}

pub(super) struct Horizon {
    flush: Flush,
    /// What lies beyond is never wanted.
    bound: Option<u64>,
    /// What lies beyond is not written now.
    reach: Option<u64>,
    /// Of closed buckets, by row and column, the least f that was left out.
    left_out: BTreeMap<(u64, u32), u64>,
}

impl Horizon {
    pub(super) fn new(flush: Flush, bound: Option<u64>) -> Self {
        Horizon { flush, bound, reach: bound, left_out: BTreeMap::new() }
    }

    /// Begins with the least f of the initial states.
    pub(super) fn begin(&mut self, f: u64) {
        if self.flush == Flush::Deferred {
            self.reach = Some(self.bound.map_or(f, |bound| bound.min(f)));
        }
    }

    /// Goes on from what was committed.
    pub(super) fn restore(&mut self, reach: Option<u64>, left_out: &[(u64, u32, u64)]) {
        self.reach = reach;
        self.left_out = left_out.iter().map(|&(g, h, f)| ((g, h), f)).collect();
    }

    /// What a commit keeps of it.
    pub(super) fn committed(&self) -> (Option<u64>, Vec<(u64, u32, u64)>) {
        (self.reach, self.left_out.iter().map(|(&(g, h), &f)| (g, h, f)).collect())
    }

    pub(super) fn reach(&self) -> Option<u64> {
        self.reach
    }

    /// The least f that was left out.
    pub(super) fn least_beyond(&self) -> Option<u64> {
        self.left_out.values().copied().min()
    }

    /// What to do next, given the least f of what is written and not expanded.
    pub(super) fn turn(&self, open: Option<u64>) -> Turn {
        if open.is_some_and(|f| self.reach.is_none_or(|reach| f <= reach)) {
            return Turn::Expand;
        }
        match open.into_iter().chain(self.least_beyond()).min() {
            Some(f) if self.bound.is_none_or(|bound| f <= bound) => Turn::Raise(match self.flush {
                Flush::Deferred => f,
                Flush::AtOnce => self.bound.unwrap_or(u64::MAX),
            }),
            _ => Turn::End,
        }
    }

    /// The buckets that left out something up to `reach`.
    pub(super) fn within(&self, reach: u64) -> Vec<Cell> {
        let near = self.left_out.iter().filter(|&(_, &f)| f <= reach);
        near.map(|(&(g, h), _)| Cell { g, h }).collect()
    }

    /// Notes what an expansion of a bucket left out.
    pub(super) fn leave_out(&mut self, cell: Cell, f: u64) {
        let least = self.left_out.entry((cell.g, cell.h)).or_insert(f);
        *least = f.min(*least);
    }

    /// Everything up to `reach` is written now; `still` is what each bucket that was expanded again still leaves out.
    pub(super) fn raise(&mut self, reach: u64, still: Vec<(Cell, Option<u64>)>) {
        self.reach = Some(reach);
        for (cell, least) in still {
            self.left_out.remove(&(cell.g, cell.h));
            if let Some(f) = least {
                self.leave_out(cell, f);
            }
        }
    }
}
