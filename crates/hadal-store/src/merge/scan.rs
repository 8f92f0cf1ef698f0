//! Asking a run by reading all of it: for when its index does not fit the budget.

use super::ClosedFilter;
use crate::bitmap::Bitmap;
use crate::error::ReadError;
use crate::run::{RunFile, RunReader, mark_present};
use crate::shape::{RecordShape, Records};

/// A forward scan; candidates must ascend from one call to the next.
pub struct RunScan {
    reader: RunReader,
    shape: RecordShape,
    flat: Vec<u64>,
    ended: bool,
    compared: u64,
}

impl RunScan {
    /// Starts at the first record of `run`.
    pub fn open(run: &RunFile) -> Result<Self, ReadError> {
        let reader = RunReader::open(run)?;
        Ok(RunScan { shape: reader.shape(), reader, flat: Vec::new(), ended: false, compared: 0 })
    }
}

impl ClosedFilter for RunScan {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let mut found = 0;
        let mut from = 0;
        while from < candidates.len() && !self.ended {
            let held = Records::new(self.shape, &self.flat);
            // Candidates up to the block's last state are decided by this block.
            let last = held.len().checked_sub(1).map(|last| held.state(last));
            let decided = last.map_or(from, |last| count_up_to(candidates, from, last));
            let walk = mark_present(candidates, from..decided, held, present);
            found += walk.found;
            self.compared += walk.compared + 1;
            from = decided;
            if from < candidates.len() {
                self.ended = !self.reader.next_block(&mut self.flat)?;
            }
        }
        Ok(found)
    }

    fn comparisons(&self) -> u64 {
        self.compared
    }
}

/// The number of the first candidate, from `from` on, beyond `limit`.
fn count_up_to(candidates: Records<'_>, from: usize, limit: &[u64]) -> usize {
    let (mut low, mut high) = (from, candidates.len());
    while low < high {
        let middle = (low + high) / 2;
        if hadal_system::state::compare(candidates.state(middle), limit) == std::cmp::Ordering::Greater {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
