//! What searches of a model in real time find: runs with exact delays.

use crate::coverage::Answered;
use crate::error::CheckError;
use crate::space::SpaceOutcome;
use crate::timed::{Fastest, WrongRun};
use hadal_exec::product::Product;
use hadal_exec::zones::concrete::{ConcreteError, ConcreteTrace, TimedEnding};
use hadal_exec::zones::runs::LoopTime;
use hadal_exec::zones::{RegionSpace, ZoneSpace};
use hadal_search::{Violation, ViolationKind};

/// What a search came to.
pub struct Searched {
    /// The report, warnings and the run's folder.
    pub outcome: SpaceOutcome,
    /// What was asked, with answers.
    pub answered: Vec<Answered>,
    /// What was found, as a run with exact delays; none unless something was.
    pub found: Option<FoundRun>,
    /// The earliest run to it, where that was asked.
    pub earliest: Option<Fastest>,
    /// What it was made with.
    pub used: Used,
}

/// What a search was made with.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// The memory budget in bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Bits of a state.
    pub state_bits: u32,
    /// Words of a state.
    pub state_words: usize,
    /// Seconds of the command before it.
    pub startup_seconds: f64,
    /// Processor seconds of the process before it.
    pub startup_cpu_seconds: f64,
    /// Most memory that the process had resident before it.
    pub startup_peak: u64,
}

/// A run of a model in real time to what was found.
pub struct FoundRun {
    /// What was found.
    pub violation: Violation,
    /// Its states.
    pub space: Zones,
    /// Exact delays; none where the start itself is wrong.
    pub trace: Option<ConcreteTrace>,
    /// The step that a round begins with and what is known of time along it, of a run that goes on for ever.
    pub round: Option<Round>,
}

/// The loop of a run.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its first state in the trace; none where the run stays in one state.
    pub from: Option<usize>,
    /// What is known of time along it.
    pub time: LoopTime,
}

/// The states of a timed model.
pub enum Zones {
    /// Zones.
    Zones(Box<ZoneSpace>),
    /// Regions.
    Regions(Box<RegionSpace>),
}

impl Zones {
    /// The zone graph, of which regions are made.
    pub fn space(&self) -> &ZoneSpace {
        match self {
            Zones::Zones(space) => space,
            Zones::Regions(regions) => regions.zones(),
        }
    }
}

/// How the run to what was found ends.
pub(super) fn ending(found: &Violation) -> TimedEnding {
    match found.kind {
        ViolationKind::Invariant(id) | ViolationKind::Goal(id) | ViolationKind::PropertyFault(id) => {
            TimedEnding::Property(id.0 as usize)
        }
        ViolationKind::Fault(label) => TimedEnding::Fault(label),
        _ => TimedEnding::State,
    }
}

/// The path to what was found with delays that `concrete` finds; none where it has no state.
pub(super) fn replayed(
    found: &Violation,
    concrete: impl Fn(&[Vec<u64>], TimedEnding) -> Result<ConcreteTrace, ConcreteError>,
) -> Result<Option<ConcreteTrace>, CheckError> {
    let replayed = (!found.path.is_empty()).then(|| concrete(&found.path, ending(found))).transpose();
    replayed.map_err(|error| CheckError::Internal(error.to_string()))
}

/// One round of a run that goes on for ever, or a beginning that shows all, with exact delays.
pub(super) fn one_round(
    space: &ZoneSpace,
    wrong: &WrongRun,
) -> Result<(ConcreteTrace, Option<Round>), CheckError> {
    // Staying is no step of its own.
    let mut kept: Vec<usize> = Vec::new();
    let mut path: Vec<Vec<u64>> = Vec::new();
    for state in &wrong.path {
        if path.last() != Some(state) {
            path.push(state.clone());
        }
        kept.push(path.len() - 1);
    }
    let trace =
        space.concrete(&path, TimedEnding::State).map_err(|error| CheckError::Internal(error.to_string()))?;
    let round = wrong
        .round
        .map(|(from, time)| Round { from: Some(kept[from]).filter(|&from| from + 1 < path.len()), time });
    Ok((trace, round))
}

/// An error of the model that was met in a product, as one of the zone graph.
pub(super) fn without_claim(product: &Product, found: &Violation) -> Violation {
    let kind = match found.kind {
        ViolationKind::Fault(label) => product.system_label(label).map_or(found.kind, ViolationKind::Fault),
        other => other,
    };
    let path = found.path.iter().map(|state| product.system_state(state)).collect();
    Violation { kind, path, shortest: found.shortest }
}
