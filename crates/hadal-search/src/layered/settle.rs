//! Settling: layers found by partial detection become the true breadth-first layers, and the figures exact
//! (the safety net that Lamborn 2014, sec. 3.3.4, leaves open).

use super::Trouble;
use super::sweep::Sweep;
use crate::control::{Control, Limits};
use crate::lane::{Batch, Lane, Parents, SearchTask, Sink, total_counts};
use hadal_store::shape::Records;
use hadal_store::{Bitmap, OverBudget};
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering::Greater;
use std::sync::atomic::Ordering;

/// Takes every state and remembers none.
struct Nowhere;

impl Sink for Nowhere {
    fn take(&mut self, _: Batch, _: impl FnMut(usize)) -> Result<(), OverBudget> {
        Ok(())
    }
}

/// What a block of a layer begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// It goes on where the one before ended.
    Nothing,
    /// Another ascending part of the layer.
    Part,
}

impl Sweep<'_> {
    /// Takes out of unsettled layers what an earlier one has, and out of the figures what was done for it.
    ///
    /// Transitions and covers of states explored again are found by firing from them once more.
    pub(super) fn settle(&mut self) -> Result<(), Trouble> {
        let Some(first) = self.detector.settling().map(|settling| settling.settled()) else { return Ok(()) };
        let aside = Control::new(Limits::default());
        let mut lane = Lane::new(SearchTask { control: &aside, ..self.task }, Parents::Forgotten);
        let (mut states, mut again) = (0, 0);
        for depth in first as usize..self.journal.depth() {
            states += self.journal.states(depth);
            if !self.detector.settling().is_some_and(|settling| settling.was_full(depth as u64)) {
                again += self.settle_layer(depth, &mut lane)?;
            }
            let Some(settling) = self.detector.settling() else { return Ok(()) };
            self.journal.view(depth, &mut |layer| settling.settle(depth as u64, layer))?;
        }
        // Only where the last layer was expanded: else it is still needed to go on from.
        while self.counted.layers.len() == self.journal.depth()
            && self.journal.depth() > 1
            && self.journal.states(self.journal.depth() - 1) == 0
        {
            self.journal.pop_empty();
            self.counted.layers.truncate(self.journal.depth());
        }
        let again_counts = total_counts(std::slice::from_ref(&lane), self.task.space);
        self.counted.take_off(&again_counts);
        self.journal.keep_apart_from(self.journal.depth());
        self.task.control.gauges.states.fetch_sub(again, Ordering::Relaxed);
        if let Some(settling) = self.detector.settling() {
            settling.settled_before(self.journal.depth() as u64, states, again);
        }
        Ok(())
    }

    /// Returns how many states came again.
    fn settle_layer(&mut self, depth: usize, lane: &mut Lane) -> Result<u64, Trouble> {
        let mut again = 0;
        self.each_block(depth, |_, _, present| {
            again += present.count_ones() as u64;
            Ok(())
        })?;
        if again == 0 {
            return Ok(0);
        }
        let shape = self.journal.shape();
        // The last layer is expanded only where the search has ended.
        let expanded = depth < self.counted.layers.len();
        let before = lane.transitions;
        let mut layer = self.journal.writer();
        self.each_block(depth, |begun, block, present| {
            if begun == Begun::Part {
                layer.end_part()?;
            }
            for (n, record) in block.chunks_exact(shape.stride()).enumerate() {
                if !present.get(n) {
                    layer.push_all(Ascending::new(shape.stride(), record))?;
                } else if expanded {
                    let (payload, state) = record.split_at(shape.payload_words());
                    // Nowhere has room for everything.
                    let _ = lane.expand(&mut Nowhere, 1, |_, own| {
                        own.extend_from_slice(payload);
                        (state, 0)
                    });
                }
            }
            Ok(())
        })?;
        self.journal.replace(depth, layer)?;
        let fired = lane.transitions - before;
        if let Some(row) = self.counted.layers.get_mut(depth) {
            row.states -= again;
            row.states_again += again;
            row.transitions -= fired;
            row.transitions_again += fired;
        }
        if let Some(row) = depth.checked_sub(1).and_then(|before| self.counted.layers.get_mut(before)) {
            row.unique -= again;
            row.duplicates.earlier += again;
        }
        Ok(again)
    }

    /// Calls `take` for each block of records of a layer, with the states marked that settled layers have. A layer may lie in several
    /// ascending parts.
    fn each_block(
        &mut self,
        depth: usize,
        mut take: impl FnMut(Begun, &[u64], &Bitmap) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        use hadal_store::merge::ClosedFilter;
        let shape = self.journal.shape();
        let mut reader = self.journal.reader(depth)?;
        let Some(settling) = self.detector.settling() else { return Ok(()) };
        let mut pass = settling.settled_pass()?;
        let (mut block, mut present, mut last) = (Vec::new(), Bitmap::default(), Vec::new());
        while reader.next_records(&mut block)? {
            let mut begun = Begun::Nothing;
            if !last.is_empty() && compare(shape.state(&block[..shape.stride()]), &last) != Greater {
                begun = Begun::Part;
                pass = settling.settled_pass()?;
            }
            last.clear();
            last.extend_from_slice(&block[block.len() - shape.words()..]);
            let records = Records::new(shape, &block);
            present.reset(records.len());
            pass.mark(records, &mut present)?;
            take(begun, &block, &present)?;
        }
        Ok(())
    }
}
