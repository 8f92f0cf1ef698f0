//! What a sweep begins with, and how far it is.

use crate::exchange::Mailbox;
use crate::finding::Finding;
use crate::firings::Counts;
use crate::lane::Lane;
use crate::layered::Trouble;
use crate::layered::cache::Cache;
use crate::layered::detector::Detector;
use crate::layered::journal::{Journal, LayerReader};
use crate::layered::ledger::{Ledger, RunRecord};
use crate::layered::tally::DiskMark;
use crate::report::{CoverFigures, Layer, Stage, Verdict, Violation, ViolationKind};
use hadal_store::vfs::Disk;

/// How the detector is made that takes over.
pub(crate) enum Fallback<'a> {
    /// It is made beside the one before and knows no layer yet.
    Beside(MakeBeside<'a>),
    /// It is made when that one is gone, and knows the journal's layers.
    After(MakeAfter<'a>),
}

type MakeBeside<'a> = Box<dyn FnOnce() -> Result<Box<dyn Detector + 'a>, Trouble> + 'a>;
type MakeAfter<'a> = Box<dyn FnOnce(&Journal) -> Result<Next<'a>, Trouble> + 'a>;

/// A detector that takes over, and what to turn to after it.
pub(crate) struct Next<'a> {
    pub(crate) detector: Box<dyn Detector + 'a>,
    pub(crate) fallback: Option<Fallback<'a>>,
}

/// What a layered search works with.
pub(crate) struct Means<'a> {
    pub(crate) lanes: Vec<Lane<'a>>,
    pub(crate) cache: Cache,
    /// It knows the layers of the journal. None where the disk has no room for one: the search stops at once.
    pub(crate) detector: Option<Box<dyn Detector + 'a>>,
    /// What to turn to when the detector's memory is used up.
    pub(crate) fallback: Option<Fallback<'a>>,
    pub(crate) keep: Keep,
    /// The way to other workers, where there are some.
    pub(crate) mailbox: Mailbox<'a>,
}

/// What a layered search begins with.
pub(crate) struct Origin {
    pub(crate) disk: Disk,
    /// Where progress is committed; a search for a trace commits nothing.
    pub(crate) ledger: Option<Ledger>,
    /// Its last layer is expanded first; where it has none, the initial states are found.
    pub(crate) journal: Journal,
    /// Figures of the expanded layers.
    pub(crate) layers: Vec<Layer>,
    /// What was counted in them.
    pub(crate) counts: Counts,
    /// Seconds spent in earlier sittings.
    pub(crate) seconds: f64,
    pub(crate) stages: Vec<Stage>,
    pub(crate) partly: Option<Partly>,
    /// States of the last layer that an earlier sitting expanded in vain.
    pub(crate) begun: u64,
}

impl Origin {
    /// What was committed.
    pub(crate) fn of_record(ledger: Ledger, journal: Journal, record: RunRecord) -> Self {
        Origin {
            disk: ledger.disk().clone(),
            ledger: Some(ledger),
            journal,
            layers: record.layers,
            counts: Counts::of_record(record.covers, &record.actions),
            seconds: record.seconds,
            stages: Vec::new(),
            partly: None,
            begun: record.begun,
        }
    }
}

/// A layer that another search began; its lanes go on, and have what they counted so far.
pub(crate) struct Partly {
    /// Transitions of the layer that are counted in the lanes.
    pub(crate) fired: u64,
    /// States of the layer being found that the detector was offered already.
    pub(crate) offered: u64,
    /// Records still to be expanded.
    pub(crate) rest: LayerReader,
}

/// How far a sweep is.
#[allow(clippy::large_enum_variant, reason = "there is one per search")]
pub(super) enum At {
    /// Before the initial states.
    Start,
    /// Before a layer; part of it may be expanded already.
    Between(Option<Partly>),
    /// Every state is known; questions about infinite runs are left.
    Known,
    /// Something is wrong that was found while the layer at this depth was expanded; the way there is left.
    Found(Finding, usize),
    /// At the end, with this answer.
    End(Answered),
}

/// The layer being expanded.
pub(super) struct Expanding {
    pub(super) depth: usize,
    /// Transitions fired before it.
    pub(super) fired: u64,
    pub(super) mark: DiskMark,
    pub(super) source: Source,
    /// Records that were expanded.
    pub(super) done: u64,
}

/// Where the states of a layer come from.
#[allow(clippy::large_enum_variant, reason = "there is one per search")]
pub(super) enum Source {
    Journal(LayerReader),
    /// What another search left of the layer.
    Rest(LayerReader),
}

/// The answer of a sweep.
pub(super) struct Answered {
    pub(super) verdict: Verdict,
    /// The depth of the first state of a violation's path: above 0 where layers before it are deleted.
    pub(super) path_begins_at: usize,
    /// What is left of the states up to covering, once everything is seen.
    pub(super) covering: Option<CoverFigures>,
    /// What is kept beside the state that is wrong.
    pub(super) payload: Option<Vec<u64>>,
}

impl Answered {
    /// The distance of the state that is wrong from the initial ones.
    pub(super) fn violated_at(&self) -> Option<u64> {
        match &self.verdict {
            Verdict::Violated(Violation { kind: ViolationKind::Cycle { .. }, .. }) => None,
            Verdict::Violated(violation) => {
                Some((self.path_begins_at + violation.path.len()).saturating_sub(1) as u64)
            }
            _ => None,
        }
    }
}

impl From<Verdict> for Answered {
    fn from(verdict: Verdict) -> Self {
        Answered { verdict, path_begins_at: 0, covering: None, payload: None }
    }
}

/// Which layers stay on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    /// At most this many bytes of layers; the two last ones stay in any case.
    pub(crate) bytes: Option<u64>,
    /// At most this many layers, and at least two.
    pub(crate) layers: Option<u64>,
    /// Nothing new lies deeper than this.
    pub(crate) diameter: Option<u64>,
}

impl Keep {
    /// Every layer.
    pub(crate) const ALL: Keep = Keep { bytes: None, layers: None, diameter: None };
}
