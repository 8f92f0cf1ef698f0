//! Settling: layers found by partial detection become the true breadth-first layers, and the figures exact
//! (the safety net that Lamborn 2014, sec. 3.3.4, leaves open).
//!
//! Layers are settled together: one pass merges them and asks the settled layers once, not once for each.

use super::Trouble;
use super::closed_set::ClosedPass;
use super::detector::LayerView;
use super::repeated::repeated;
use super::settling::Settling;
use super::sweep::Sweep;
use crate::control::{Control, Limits};
use crate::lane::{Batch, Lane, Parents, SearchTask, Sink, total_counts};
use crate::report::Proviso;
use hadal_store::merge::ClosedFilter;
use hadal_store::run::RunReader;
use hadal_store::shape::{RecordShape, Records};
use hadal_store::{Bitmap, OverBudget};
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Most layers that are merged at once: the head of each is looked at for every state.
const MOST_TOGETHER: usize = 16;

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

/// How the states of a layer that came again are known.
#[derive(Clone, Copy)]
enum Again<'a> {
    /// Settled layers have them.
    Asked,
    /// They are these, ascending.
    Known(&'a [u64]),
}

impl Sweep<'_> {
    /// Takes out of unsettled layers what an earlier one has, and out of the figures what was done for it.
    ///
    /// Transitions and covers of states explored again are found by firing from them once more.
    pub(super) async fn settle(&mut self) -> Result<(), Trouble> {
        let end = self.journal.depth() as u64;
        let Some(settling) = self.detector.settling() else { return Ok(()) };
        if settling.is_trusted() {
            settling.settled_before(end, 0, 0);
            self.proviso = self.proviso.or(Some(Proviso::BoundTrusted));
            return Ok(());
        }
        let first = settling.settled();
        let aside = Control::new(Limits::default());
        let mut lane = Lane::new(SearchTask { control: &aside, ..self.task }, Parents::Forgotten);
        let (mut states, mut again) = (0, 0);
        let mut next = first as usize;
        // What is counted without the last layer must not lose what was counted twice in it.
        let last = self.last.as_ref().map(|_| self.counted.layers.len().saturating_sub(1));
        while next < self.journal.depth() {
            if let Some(parted) = self.last.as_mut().filter(|_| last == Some(next)) {
                parted.before.take_off(&total_counts(std::slice::from_ref(&lane), self.task.space));
            }
            let mut together = self.together_from(next);
            if let Some(last) = last.filter(|last| together.contains(last) && *last > next) {
                together.end = last;
            }
            states += together.clone().map(|depth| self.journal.states(depth)).sum::<u64>();
            again += self.settle_layers(together.clone(), &mut lane).await?;
            next = together.end;
        }
        self.drop_empty_layers();
        let again_counts = total_counts(std::slice::from_ref(&lane), self.task.space);
        self.counted.take_off(&again_counts);
        self.journal.keep_apart_from(self.journal.depth());
        self.task.control.gauges.states.fetch_sub(again, Ordering::Relaxed);
        if let Some(settling) = self.detector.settling() {
            settling.settled_before(self.journal.depth() as u64, states, again);
        }
        Ok(())
    }

    /// Removes last layers that settling emptied, in this attempt or in one that was killed. Only where the
    /// last layer was expanded: else it is still needed to go on from.
    pub(super) fn drop_empty_layers(&mut self) {
        while self.counted.layers.len() == self.journal.depth()
            && self.journal.depth() > 1
            && self.journal.states(self.journal.depth() - 1) == 0
        {
            self.journal.pop_empty();
            self.counted.layers.truncate(self.journal.depth());
        }
    }

    /// Layers from this depth on that are settled together: one that was compared with everything alone, others as many as
    /// can be read at once.
    fn together_from(&mut self, depth: usize) -> Range<usize> {
        let end = self.journal.depth();
        let Some(settling) = self.detector.settling() else { return depth..end };
        if settling.was_full(depth as u64) {
            return depth..depth + 1;
        }
        let footprint = RunReader::footprint(self.journal.options()).max(1);
        let most = self.journal.disk().governor.limit() / 20 / footprint;
        depth..end.min(depth + (most as usize).clamp(1, MOST_TOGETHER))
    }

    /// Settles these layers; returns how many states came again.
    async fn settle_layers(&mut self, depths: Range<usize>, lane: &mut Lane<'_>) -> Result<u64, Trouble> {
        let mut again = 0;
        let Some(settling) = self.detector.settling() else { return Ok(0) };
        let alone = depths.len() == 1;
        let repeated = match alone {
            true => None,
            false => repeated(&self.journal, settling, depths.clone()).await?,
        };
        for depth in depths.clone() {
            let known = repeated.as_ref().map(|repeated| &repeated[depth - depths.start][..]);
            let is_full = self.detector.settling().is_some_and(|it| it.was_full(depth as u64));
            again += match known {
                Some([]) => 0,
                Some(known) => self.settle_layer(depth, Again::Known(known), lane).await?,
                None if is_full => 0,
                None => self.settle_layer(depth, Again::Asked, lane).await?,
            };
            let Some(settling) = self.detector.settling() else { return Ok(again) };
            let mut settle = async |layer: LayerView<'_>| settling.settle(depth as u64, layer).await;
            self.journal.view(depth, &mut settle).await?;
        }
        Ok(again)
    }

    /// Returns how many states came again.
    async fn settle_layer(
        &mut self,
        depth: usize,
        known: Again<'_>,
        lane: &mut Lane<'_>,
    ) -> Result<u64, Trouble> {
        let mut again = 0;
        match known {
            Again::Known(states) => again += (states.len() / self.journal.words()) as u64,
            Again::Asked => {
                let mut count = |_, _: &[u64], present: &Bitmap| {
                    again += present.count_ones() as u64;
                    Ok(())
                };
                self.each_block(depth, known, &mut count).await?;
            }
        }
        if again == 0 {
            return Ok(0);
        }
        let shape = self.journal.shape();
        // The last layer is expanded only where the search has ended.
        let expanded = depth < self.counted.layers.len();
        let before = lane.transitions;
        let mut layer = self.journal.writer();
        let mut keep = |begun, block: &[u64], present: &Bitmap| {
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
        };
        self.each_block(depth, known, &mut keep).await?;
        self.journal.replace(depth, layer)?;
        let fired = lane.transitions - before;
        if let Some(row) = self.counted.layers.get_mut(depth) {
            row.states -= again;
            row.again.states += again;
            row.transitions -= fired;
            row.again.transitions += fired;
        }
        if let Some(row) = depth.checked_sub(1).and_then(|before| self.counted.layers.get_mut(before)) {
            row.unique -= again;
            row.duplicates.earlier += again;
        }
        Ok(again)
    }

    /// Calls `take` for each block of records of a layer, with the states marked that came again. A layer may lie in several
    /// ascending parts.
    async fn each_block(
        &mut self,
        depth: usize,
        known: Again<'_>,
        take: &mut impl FnMut(Begun, &[u64], &Bitmap) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let shape = self.journal.shape();
        let mut reader = self.journal.reader(depth)?;
        let Some(settling) = self.detector.settling() else { return Ok(()) };
        let mut marks = Marks::new(settling, known, shape)?;
        let (mut block, mut present, mut last) = (Vec::new(), Bitmap::default(), Vec::new());
        while reader.next_records(&mut block)? {
            let mut begun = Begun::Nothing;
            if !last.is_empty() && compare(shape.state(&block[..shape.stride()]), &last) != Greater {
                begun = Begun::Part;
                marks = Marks::new(settling, known, shape)?;
            }
            last.clear();
            last.extend_from_slice(&block[block.len() - shape.words()..]);
            let records = Records::new(shape, &block);
            present.reset(records.len());
            marks.mark(records, &mut present)?;
            take(begun, &block, &present)?;
            self.journal.disk().rest().await?;
        }
        Ok(())
    }
}

/// Marks the states of an ascending part of a layer that came again.
enum Marks<'a> {
    Asked(ClosedPass<'a>),
    Known { states: &'a [u64], next: usize, words: usize },
}

impl<'a> Marks<'a> {
    fn new(settling: &'a Settling, again: Again<'a>, shape: RecordShape) -> Result<Self, Trouble> {
        Ok(match again {
            Again::Asked => Marks::Asked(settling.settled_pass()?),
            Again::Known(states) => Marks::Known { states, next: 0, words: shape.words() },
        })
    }

    fn mark(&mut self, records: Records<'_>, present: &mut Bitmap) -> Result<(), Trouble> {
        match self {
            Marks::Asked(pass) => {
                pass.mark(records, present)?;
            }
            Marks::Known { states, next, words } => {
                for at in 0..records.len() {
                    let state = records.state(at);
                    let known = |next: usize| states.get(next..next + *words);
                    while known(*next).is_some_and(|known| compare(known, state) == Less) {
                        *next += *words;
                    }
                    if known(*next).is_some_and(|known| compare(known, state) == Equal) {
                        present.set(at);
                    }
                }
            }
        }
        Ok(())
    }
}
