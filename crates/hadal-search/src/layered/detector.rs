//! Duplicate detection against the closed set, behind one interface.

use super::Trouble;
use super::block::{BlockEnd, Left};
use super::journal::LayerWriter;
use super::settling::Settling;
use super::sorted::SortedDetector;
use crate::lane::Lane;
use crate::report::{Buckets, CoverFigures, DetectionWork, Distance};
use hadal_store::diagram::{ClosedDiagram, RankedDiagram};
use hadal_store::run::RunFile;
use hadal_store::table::Writer;
use hadal_system::Ascending;
use std::future::{Future, ready};
use std::pin::Pin;

/// States of a layer, ascending.
#[derive(Clone, Copy)]
pub(crate) enum LayerView<'a> {
    /// In RAM.
    States(Ascending<'a>),
    /// In a run.
    Run(&'a RunFile),
}

impl LayerView<'_> {
    /// How many there are.
    pub(crate) fn states(&self) -> u64 {
        match self {
            LayerView::States(states) => states.len() as u64,
            LayerView::Run(run) => run.records(),
        }
    }
}

/// What became of the candidates of a layer, as far as the detector tells duplicates apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Candidates that equalled another one of the layer.
    pub(crate) within: u64,
    /// Candidates of earlier layers.
    pub(crate) earlier: u64,
    /// Those of earlier layers by how far back.
    pub(crate) by_distance: Vec<Distance>,
    /// Candidates that came past [`Detector::offer`].
    pub(crate) besides: u64,
    /// With how many layers candidates were compared, where it was not with all.
    pub(crate) window: u64,
    /// What it took.
    pub(crate) work: DetectionWork,
}

/// Work that rests between two blocks.
pub(crate) type Rests<'s, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + 's>>;

/// Decides which candidates are new. What may move many blocks rests between them. All states found in earlier layers are closed.
pub(crate) trait Detector {
    /// Takes candidates of the layer being found. They may repeat what was offered before or lies in earlier layers.
    ///
    /// When the detector runs out of its memory nothing of the batch is taken, and [`Detector::hand_over`] follows.
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble>;

    /// As [`Detector::offer`], resting where a batch meets the whole closed set at once.
    fn take<'s>(&'s mut self, batch: Ascending<'s>) -> Rests<'s, ()> {
        Box::pin(ready(self.offer(batch)))
    }

    /// Writes the states of the layer that are new, each once and ascending; they are closed from now on.
    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found>;

    /// Tells that the layer just finished now stands in the journal at this depth.
    fn closed<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        let _ = (depth, layer);
        Box::pin(ready(Ok(())))
    }

    /// Takes states of the layer at this depth, or a part of them, that another detector found. Depths ascend.
    fn adopt<'s>(&'s mut self, depth: u64, layer: LayerView<'s>) -> Rests<'s, ()>;

    /// As [`Detector::adopt`] of a whole layer whose states are also at hand.
    fn adopt_at_hand<'s>(
        &'s mut self,
        depth: u64,
        states: Ascending<'s>,
        layer: LayerView<'s>,
    ) -> Rests<'s, ()> {
        let _ = states;
        self.adopt(depth, layer)
    }

    /// Which layers are yet to be settled, where detection is partial.
    fn settling(&mut self) -> Option<&mut Settling> {
        None
    }

    /// What takes states as they are generated, instead of a cache, where duplicates are found at once.
    fn scopes(&mut self) -> Option<&mut dyn Scopes> {
        None
    }

    /// What takes states as they are generated, a writer for each thread, where each is decided at once by a look into RAM.
    /// Batches may come in any order then.
    fn writers(&mut self) -> Option<Vec<Writer<'_>>> {
        None
    }

    /// Candidates of the layer being found that came past [`Detector::offer`].
    fn besides(&self) -> u64 {
        0
    }

    /// How states are parted, where they are, for another run.
    fn partition_text(&self) -> Option<String> {
        None
    }

    /// Whether it looks states up in the runs of the journal, or only reads them from front to back.
    fn asks_runs(&self) -> bool {
        true
    }

    /// What is left of all closed states up to covering, where it tells them apart so.
    fn covering(&mut self) -> Rests<'_, Option<CoverFigures>> {
        Box::pin(ready(Ok(None)))
    }

    /// The scalars that it parts states by, where it does.
    fn scalars(&self) -> Vec<String> {
        Vec::new()
    }

    /// What there is to tell of its buckets, where it has some.
    fn buckets(&self) -> Option<Buckets> {
        None
    }

    /// Forgets layers before `depth` where they take space of their own.
    fn forget_before(&mut self, depth: u64) {
        let _ = depth;
    }

    /// Whether this way of detection suits the states so badly that another should take over.
    fn struggles(&self) -> bool {
        false
    }

    /// Gives everything decided about the layer being found to another detector: states already known to be new are
    /// offered to `to`, ascending in batches. Nothing else may be asked of it any more.
    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()>;

    /// Ends with everything decided about the layer being found put aside on disk, where the next detector can only be made once
    /// the memory of this one is free: what is returned hands it over then.
    fn leave(self: Box<Self>) -> Result<Option<SortedDetector>, Trouble> {
        Ok(None)
    }

    /// All closed states with numbers of their own, where its way to keep them gives them such for few bytes. Nothing may be
    /// asked of it any more.
    fn numbered(self: Box<Self>) -> Option<RankedDiagram> {
        None
    }

    /// The states of complete layers, where it keeps them in a diagram. What was found of the layer after them is forgotten.
    fn complete_layers(&mut self) -> Option<&ClosedDiagram> {
        None
    }

    /// Takes back states of the layer finished last, which does not become one of the journal's; whether it cares. The search
    /// is over then: what is asked is [`Detector::complete_layers`] at most.
    fn take_back(&mut self, states: Ascending) -> Result<bool, Trouble> {
        let _ = states;
        Ok(false)
    }

    /// What a person calls it.
    fn name(&self) -> &'static str;
}

/// Expands a layer group by group; while one is expanded, the states that its successors may equal are in RAM.
pub(crate) trait Scopes {
    /// The states of a block by group: number of the group and of the state.
    fn grouped(&mut self, block: &[u64]) -> Vec<(u32, u32)>;

    /// Takes what a group needs into RAM, as far as it fits.
    fn enter(&mut self, group: usize) -> Rests<'_, ()>;

    /// Expands what is left of a block of the group on all lanes.
    fn expand(&mut self, left: &Left, lanes: &mut [Lane], block: &[u64]) -> BlockEnd;

    /// Makes room after a thread found none; whether something left RAM for it.
    fn make_room(&mut self) -> Rests<'_, bool>;
}

/// Stands in while one detector is exchanged for another; it is never asked anything.
pub(crate) struct Nothing;

impl Detector for Nothing {
    fn offer(&mut self, _: Ascending) -> Result<(), Trouble> {
        Ok(())
    }
    fn finish_layer<'s>(&'s mut self, _: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(ready(Ok(Found::default())))
    }
    fn adopt<'s>(&'s mut self, _: u64, _: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(ready(Ok(())))
    }
    fn hand_over<'s>(&'s mut self, _: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(ready(Ok(())))
    }
    fn name(&self) -> &'static str {
        "none"
    }
}
