//! Covering as duplicate detection: a state is needless where another one of the same key covers it (zones of timed
//! automata; Daws and Tripakis 1998, Herbreteau, Srivathsan and Walukiewicz 2012).
//!
//! A layer is defined as a set, so that threads, budgets and kills change nothing: a candidate is accepted unless a
//! closed state covers it, another candidate strictly covers it, or an equivalent one is smaller in packed order.
//! Covering is transitive, so candidates may be dropped early. Closed states are antichains in RAM ([`groups`]) and, when
//! memory is short, in sorted runs ([`runs`]), whose order keeps the states of one key together.

mod antichain;
mod groups;
mod large;
mod runs;
mod stream;

use super::Trouble;
use super::candidates::Candidates;
use super::detection::{Detection, Payloads, SMALL_CACHE_SHARE};
use super::detector::{Detector, Found, LayerView, Rests};
use super::journal::LayerWriter;
use super::sorted::SORT;
use crate::report::CoverFigures;
pub(crate) use antichain::Antichain;
use groups::Groups;
use hadal_store::run::{RunOptions, RunReader};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use hadal_system::{Ascending, Cover};
use large::Maximal;
use runs::ClosedRuns;
pub(crate) use stream::Stream;

/// The share of the budget of antichains in RAM, in percent.
const GROUPS_SHARE: u64 = 50;

/// Up to covering, where the space has it: antichains in RAM, then in sorted runs.
pub(crate) static COVER: Detection = Detection {
    cache_share: SMALL_CACHE_SHARE,
    payloads: Payloads::Refused("covering drops a state for a larger one, and with it what was beside it"),
    make: |making| match making.space.cover() {
        Some(cover) => {
            let groups = making.governor.part(making.share(GROUPS_SHARE));
            Ok(Box::new(CoverDetector::new(cover, making.disk, making.options, &groups)?))
        }
        None => (SORT.make)(making),
    },
};

/// Closed states.
enum Closed<'a> {
    Ram(Groups<'a>),
    Runs(ClosedRuns<'a>),
}

/// Finds new states up to covering.
pub(crate) struct CoverDetector<'a> {
    cover: &'a dyn Cover,
    candidates: Candidates,
    closed: Closed<'a>,
    /// A batch freed of what closed states cover.
    batch: Vec<u64>,
    disk: Disk,
    options: RunOptions,
    /// Dropped when offered, since the layer began.
    dropped: u64,
    _memory: Reservation,
}

impl<'a> CoverDetector<'a> {
    /// Nothing is closed yet; antichains in RAM take their memory from `groups`.
    pub(crate) fn new(
        cover: &'a dyn Cover,
        disk: &Disk,
        options: RunOptions,
        groups: &Governor,
    ) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 32).clamp(32 << 10, 64 << 20);
        let words = options.shape.words();
        Ok(CoverDetector {
            cover,
            candidates: Candidates::new(disk, options, most as usize / 8),
            closed: Closed::Ram(Groups::new(cover, words, groups)),
            batch: Vec::new(),
            disk: disk.clone(),
            options,
            dropped: 0,
            // One batch of candidates, and its copy.
            _memory: disk.governor.try_reserve(2 * most, "candidates")?,
        })
    }

    async fn add(&mut self, layer: LayerView<'_>) -> Result<(), Trouble> {
        match layer {
            LayerView::States(states) => self.add_states(states.flat()).await,
            LayerView::Run(run) => {
                if let Closed::Runs(closed) = &mut self.closed {
                    return closed.add_run(run.clone()).await;
                }
                let mut reader = RunReader::open(run)?;
                let mut block = Vec::new();
                while reader.next_block(&mut block)? {
                    self.add_states(&block).await?;
                    self.disk.rest().await?;
                }
                Ok(())
            }
        }
    }

    async fn add_states(&mut self, states: &[u64]) -> Result<(), Trouble> {
        let words = self.options.shape.words();
        let mut done = 0;
        if let Closed::Ram(groups) = &mut self.closed {
            while done < states.len() {
                if !groups.add(&states[done..done + words]) {
                    break;
                }
                done += words;
            }
            if done == states.len() {
                return Ok(());
            }
            let run = groups.write(&self.disk, &self.options)?;
            let mut closed = ClosedRuns::new(self.cover, &self.disk, self.options)?;
            closed.add_run(run).await?;
            self.closed = Closed::Runs(closed);
        }
        match &mut self.closed {
            Closed::Runs(closed) => closed.add_states(&states[done..]).await,
            Closed::Ram(_) => Ok(()),
        }
    }

    /// Writes the maximal candidates that no closed state covers.
    async fn thin(&mut self, layer: &mut LayerWriter) -> Result<Found, Trouble> {
        self.candidates.reduce().await?;
        let mut found = Found { earlier: std::mem::take(&mut self.dropped), ..Found::default() };
        {
            let words = self.options.shape.words();
            let mut merge = Stream::new(self.candidates.merge()?, words);
            let mut pass = match &mut self.closed {
                Closed::Ram(_) => None,
                Closed::Runs(closed) => Some(closed.pass(self.candidates.states())?),
            };
            let most = large::most_of_key(&self.disk);
            let mut maximal = Maximal::new(self.cover, &self.disk, self.options, most);
            let mut take = |states: &[u64]| Ok(layer.write(states)?);
            while let Some(thinned) = maximal.next(&mut merge, pass.as_mut(), &mut take).await? {
                found.earlier += thinned.closed;
                found.within += thinned.states - thinned.closed - thinned.maximal;
            }
        }
        found.within += self.candidates.merged_away();
        self.candidates.clear();
        // What merging found equal is not told apart.
        Ok(found)
    }
}

impl Detector for CoverDetector<'_> {
    fn offer(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let Closed::Ram(groups) = &mut self.closed else { return self.candidates.add(batch) };
        let words = self.options.shape.words();
        self.batch.clear();
        for state in batch.iter() {
            if groups.covers(state) {
                self.dropped += 1;
            } else {
                self.batch.extend_from_slice(state);
            }
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        self.candidates.add(Ascending::new(words, &self.batch))
    }

    fn finish_layer<'s>(&'s mut self, layer: &'s mut LayerWriter) -> Rests<'s, Found> {
        Box::pin(self.thin(layer))
    }

    fn closed<'s>(&'s mut self, _: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(self.add(layer))
    }

    fn adopt<'s>(&'s mut self, _: u64, layer: LayerView<'s>) -> Rests<'s, ()> {
        Box::pin(self.add(layer))
    }

    fn asks_runs(&self) -> bool {
        matches!(self.closed, Closed::Runs(_))
    }

    fn covering(&mut self) -> Rests<'_, Option<CoverFigures>> {
        Box::pin(async {
            Ok(Some(match &mut self.closed {
                Closed::Ram(groups) => groups.figures(),
                Closed::Runs(closed) => closed.figures().await?,
            }))
        })
    }

    fn hand_over<'s>(&'s mut self, to: &'s mut dyn Detector) -> Rests<'s, ()> {
        Box::pin(self.candidates.hand_over(to))
    }

    fn name(&self) -> &'static str {
        match self.closed {
            Closed::Ram(_) => "antichains",
            Closed::Runs(_) => "sorted antichains",
        }
    }
}
