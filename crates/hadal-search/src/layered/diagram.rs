//! The closed set as a decision diagram in RAM: candidates are decided as they are offered.

use super::detector::{Detector, Found, LayerView};
use super::journal::LayerWriter;
use super::{BATCH_STATES, Trouble};
use hadal_store::Bitmap;
use hadal_store::Governor;
use hadal_store::diagram::{ClosedDiagram, Keep, Set};
use hadal_store::run::RunReader;

pub(crate) struct DiagramDetector {
    closed: ClosedDiagram,
    fresh: Bitmap,
    packed_bytes: f64,
}

/// Diagrams smaller than this are not judged: small sets have no structure to share yet. Above it, a set that takes more
/// than half of its packed states is left to sorted runs.
const JUDGED_FROM_BYTES: usize = 4 << 20;

impl DiagramDetector {
    pub(crate) fn new(words: usize, bits: u32, threads: usize, governor: &Governor) -> Result<Self, Trouble> {
        let mut closed = ClosedDiagram::new(words, bits as usize, governor)?;
        closed.set_threads(threads);
        Ok(DiagramDetector { closed, fresh: Bitmap::default(), packed_bytes: f64::from(bits) / 8.0 })
    }
}

impl Detector for DiagramDetector {
    fn offer(&mut self, batch: &[u64]) -> Result<(), Trouble> {
        self.closed.filter_add(batch, Keep::ClosedAndNext, &mut self.fresh)?;
        Ok(())
    }

    fn finish_layer(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        stream(&self.closed, Set::Next, |states| layer.push_all(states))?;
        // The layer is written: the diagram need not keep it as a set of its own, so it is turned away twice.
        self.closed.turn_layer();
        self.closed.turn_layer();
        Ok(Found::default())
    }

    fn adopt(&mut self, _: u64, layer: LayerView) -> Result<(), Trouble> {
        match layer {
            LayerView::States(states) => {
                self.closed.filter_add(states, Keep::Closed, &mut self.fresh)?;
            }
            LayerView::Run(run) => {
                let mut reader = RunReader::open(run)?;
                let mut block = Vec::new();
                while reader.next_block(&mut block)? {
                    self.closed.filter_add(&block, Keep::Closed, &mut self.fresh)?;
                }
            }
        }
        Ok(())
    }

    fn struggles(&self) -> bool {
        self.closed.bytes() > JUDGED_FROM_BYTES
            && self.closed.live_bytes_per_state() > self.packed_bytes / 2.0
    }

    fn hand_over(mut self: Box<Self>, to: &mut dyn Detector) -> Result<(), Trouble> {
        self.closed.release_tables();
        stream(&self.closed, Set::Next, |states| to.offer(states))
    }

    fn name(&self) -> &'static str {
        "diagram"
    }
}

fn stream(
    closed: &ClosedDiagram,
    set: Set,
    mut take: impl FnMut(&[u64]) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut states = closed.iter(set);
    let mut batch = Vec::new();
    while states.next_batch(closed, BATCH_STATES, &mut batch) > 0 {
        take(&batch)?;
        batch.clear();
    }
    Ok(())
}
