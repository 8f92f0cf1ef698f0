//! What planning keeps on disk, and how a later sitting finds it again.

use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Folders, Run};

/// Which folder a search gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A new one.
    New,
    /// That of the run that is resumed.
    Resumed,
    /// The one that was opened last.
    Again,
}

impl Opening {
    /// The run of a search in the folder that is opened so.
    pub(crate) fn run(self, folders: &dyn Folders) -> Run<'_> {
        match self {
            Opening::Resumed => Run::Resumed(folders),
            Opening::New | Opening::Again => Run::New(folders),
        }
    }
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Any plan.
    First,
    /// A segment of hill climbing.
    Segment,
    /// A best plan.
    Best,
    /// The same, layer by layer.
    Layers,
}

impl Stage {
    /// All of them, with the names that they have in files.
    const NAMES: [(Stage, &str); 4] = [
        (Stage::First, "first"),
        (Stage::Segment, "segment"),
        (Stage::Best, "best"),
        (Stage::Layers, "layers"),
    ];

    /// As it is written to a file.
    pub fn name(self) -> &'static str {
        Stage::NAMES.iter().find(|(stage, _)| *stage == self).map_or("best", |(_, name)| name)
    }

    /// As it is read from a file.
    pub fn named(name: &str) -> Option<Stage> {
        Stage::NAMES.iter().find(|(_, known)| *known == name).map(|&(stage, _)| stage)
    }
}

/// What a run is about: kept with it, so that it can be resumed.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Identifies the states and what is looked for.
    pub fingerprint: u64,
    /// Rows: of the best plan so far, or those that hill climbing has behind it.
    pub rows: Option<Vec<u32>>,
    /// Which folder.
    pub opening: Opening,
    /// What for.
    pub stage: Stage,
    /// Whether a search in RAM is kept, not one on disk.
    pub in_ram: bool,
    /// How often numbers got more bits before.
    pub widened: u32,
    /// What guides the search for a best plan, as [`crate::GuideChoice::written`] has it.
    pub guide: String,
}

/// What a run that is resumed was about.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Rows: of the best plan so far, or those that hill climbing has behind it.
    pub rows: Option<Vec<u32>>,
    /// What it was for.
    pub stage: Stage,
    /// Whether it was in RAM, not on disk.
    pub in_ram: bool,
    /// How often numbers got more bits before.
    pub widened: u32,
    /// Whether some number had no room: what the run would prove is not the whole truth.
    pub overflowed: bool,
    /// What guides the search for a best plan, as [`crate::GuideChoice::written`] has it.
    pub guide: String,
}

/// What the disk is for.
pub struct OnDisk<'a> {
    /// Opens a run's folder.
    pub open: &'a dyn Fn(&Kept) -> Result<Ledger, Trouble>,
    /// Notes durably that a number had no room: called before anything behind it is committed.
    pub overflowed: &'a (dyn Fn() + Sync),
    /// The run that goes on.
    pub resumed: Option<Resumed>,
    /// How many threads.
    pub threads: usize,
}
