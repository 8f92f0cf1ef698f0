//! The right to write to a table.

use super::folding::Scratch;
use super::taking::{Beside, Extra, Merging};
use super::{StateRef, StateTable};
use crate::governor::OverBudget;

/// The right to add states to a table: one thread has it at a time, for as long as the table is [shared](StateTable::share).
#[derive(Debug)]
pub struct Writer<'t> {
    pub(super) table: &'t StateTable,
    pub(super) number: usize,
    scratch: Scratch,
}

impl<'t> Writer<'t> {
    pub(super) fn new(table: &'t StateTable, number: usize) -> Self {
        Writer { table, number, scratch: Scratch::default() }
    }

    /// Whose arena it writes to.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The table.
    pub fn table(&self) -> &'t StateTable {
        self.table
    }

    /// Adds the states that are not there yet. `states` holds them one after the other; `extra(n)` fills the caller's
    /// words for the n-th; `added` is told of each state that was new, in order. It must not look anything up in the table:
    /// another thread may be waiting to let it grow, and would wait for ever.
    ///
    /// When the budget ends midway, the states reported to `added` stay and the rest is as if never given.
    pub fn insert_all(
        &mut self,
        states: &[u64],
        extra: impl FnMut(usize, &mut [u64]),
        added: impl FnMut(usize, StateRef),
    ) -> Result<(), OverBudget> {
        // SAFETY: a table is shared out to one writer of each number, which cannot be copied, while it is borrowed
        // mutably; and this call has that writer to itself.
        unsafe {
            let mut extra = Extra(extra);
            let beside = (self.table.extra > 0).then_some(&mut extra as &mut dyn Beside);
            let states = as_kept(self.table, self.number, states, &mut self.scratch)?;
            self.table.add_all(self.number, states, beside, added).map_err(|(_, full)| full)
        }
    }

    /// As [`Writer::insert_all`] in a table that keeps payloads, of which `payloads` has one for each state. Those of states
    /// that each writer added from number `since[writer]` on are merged; others are as they were. When the budget ends midway,
    /// says how many states were taken: their payloads are merged, and the rest is as if never given.
    pub fn merge_all(
        &mut self,
        states: &[u64],
        payloads: &[u64],
        since: &[u64],
        mut added: impl FnMut(usize),
    ) -> Result<(), (usize, OverBudget)> {
        let Some(kept) = &self.table.payloads else {
            panic!("a table without payloads merges none");
        };
        let mut merging = Merging { kept, given: payloads, since, scratch: Vec::new() };
        // SAFETY: as in `insert_all`.
        unsafe {
            let states =
                as_kept(self.table, self.number, states, &mut self.scratch).map_err(|full| (0, full))?;
            self.table.add_all(self.number, states, Some(&mut merging), |n, _| added(n))
        }
    }
}

/// The states as the table keeps them: folded, where it folds.
///
/// # Safety
/// Nobody else writes with this number meanwhile.
unsafe fn as_kept<'s>(
    table: &StateTable,
    number: usize,
    states: &'s [u64],
    scratch: &'s mut Scratch,
) -> Result<&'s [u64], OverBudget> {
    let Some(folding) = &table.folding else { return Ok(states) };
    // SAFETY: as the caller promises.
    unsafe { folding.fold_all(number, states, scratch)? };
    Ok(&scratch.folded)
}
