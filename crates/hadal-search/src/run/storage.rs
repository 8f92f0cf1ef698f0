//! The closed set behind a journal: a decision diagram in RAM, or sorted runs on disk where that does not fit.

use crate::control::Control;
use crate::layered::Trouble;
use crate::layered::detector::{Detector, LayerView};
use crate::layered::diagram::DiagramDetector;
use crate::layered::journal::Journal;
use crate::layered::snapshot::{Snapshot, Unread};
use crate::layered::sorted::{SortedDetector, Sorting};
use crate::layered::tabled;
use hadal_store::Governor;
use hadal_store::diagram::DiagramReadError;
use hadal_store::error::ReadError;
use hadal_store::run::RunOptions;
use hadal_store::vfs::{Disk, at_once};
use hadal_system::StateSpace;

/// Where a closed set is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// In a table in RAM.
    Table,
    /// In a diagram in RAM.
    Diagram,
    /// In sorted runs on disk.
    SortedRuns,
}

impl Tier {
    /// As reports name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tier::Table => tabled::NAME,
            Tier::Diagram => "diagram",
            Tier::SortedRuns => "sorted runs",
        }
    }
}

/// What a closed set is made in.
pub(crate) struct Room<'r> {
    pub(crate) control: &'r Control,
    pub(crate) disk: &'r Disk,
    pub(crate) options: RunOptions,
    /// Memory of the diagram.
    pub(crate) diagram: Governor,
    /// The most bytes of the filter before sorted runs.
    pub(crate) screen: u64,
    pub(crate) threads: usize,
    /// A diagram on disk that knows some of the layers.
    pub(crate) snapshot: Option<&'r Snapshot>,
}

impl Room<'_> {
    /// The diagram on disk and how many layers it knows; otherwise an empty one.
    fn diagram(&self, space: &dyn StateSpace, journal: &Journal) -> Result<(DiagramDetector, u64), Trouble> {
        let (words, bits) = (space.words(), space.bits());
        if let Some(snapshot) = self.snapshot {
            let read = snapshot.read(journal, (words, bits), &self.diagram);
            if self.control.is_interrupted() {
                return Err(ReadError::Stopped.into());
            }
            match read {
                Ok((closed, layers)) => {
                    let detector = DiagramDetector::over(closed, bits, self.threads, &self.diagram);
                    return detector.map(|detector| (detector, layers));
                }
                // The layers say the same.
                Err(Unread::Diagram(DiagramReadError::OverBudget(_))) => {}
                Err(damaged) => self.control.warn(format!(
                    "the diagram on disk cannot be used, and is built from the layers again: {damaged}"
                )),
            }
        }
        Ok((DiagramDetector::new(words, bits, self.threads, &self.diagram)?, 0))
    }
}

/// A diagram that knows the journal's layers, or sorted runs where that does not fit or does not suit the states.
pub(crate) fn closed_set<'a>(
    space: &dyn StateSpace,
    journal: &Journal,
    room: Room,
) -> Result<(Box<dyn Detector + 'a>, Tier), Trouble> {
    let disk = &room.disk.with_workers(room.threads);
    if room.options.shape.payload_words() > 0 {
        // A diagram has no place for payloads.
        return Ok((on_disk(disk, room.options, journal, room.screen)?, Tier::SortedRuns));
    }
    let made = room.diagram(space, journal);
    let diagram = made.and_then(|(mut diagram, known)| {
        let mut adopt = async |depth, layer: LayerView<'_>| diagram.adopt(depth, layer).await;
        at_once(journal.view_from(known as usize, &mut adopt))?;
        Ok(diagram)
    });
    match diagram {
        Ok(diagram) if !diagram.struggles() => Ok((Box::new(diagram), Tier::Diagram)),
        unfit @ (Ok(_) | Err(Trouble::OverBudget(_) | Trouble::Setup(_))) => {
            // What it held is needed for the next.
            drop(unfit);
            let detector = on_disk(disk, room.options, journal, room.screen)?;
            Ok((detector, Tier::SortedRuns))
        }
        Err(other) => Err(other),
    }
}

/// A detector on disk that knows no layer yet, with a filter of at most `screen` bytes.
pub(crate) fn sorted_runs(disk: &Disk, options: RunOptions, screen: u64) -> Result<SortedDetector, Trouble> {
    Ok(SortedDetector::new(disk, options, Sorting::LEVELS)?.screened(screen))
}

/// A detector on disk that knows the layers of the journal, with a filter of at most `screen` bytes.
pub(crate) fn on_disk<'a>(
    disk: &Disk,
    options: RunOptions,
    journal: &Journal,
    screen: u64,
) -> Result<Box<dyn Detector + 'a>, Trouble> {
    let mut detector = sorted_runs(disk, options, screen)?;
    at_once(journal.view_all(&mut async |depth, layer| detector.adopt(depth, layer).await))?;
    Ok(Box::new(detector))
}
