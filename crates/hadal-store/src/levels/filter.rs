//! One pass over the closed set for a stream of ascending candidates.

use super::Level;
use crate::bitmap::Bitmap;
use crate::error::ReadError;
use crate::merge::{ClosedFilter, RunScan};
use crate::run::{RunFile, RunProbe, RunReader};
use crate::shape::Records;

/// Asks every run of a set, the newest first: most duplicates lie a few layers back, and a candidate that was found
/// is not looked for again.
pub struct LevelsFilter {
    parts: Vec<Part>,
}

struct Part {
    layers: (u64, u64),
    run: RunFile,
    access: Access,
    found: u64,
}

/// How a run is asked.
enum Access {
    /// Not asked yet; buffers are allocated by the first candidate.
    Unopened(Option<std::sync::Arc<crate::run::BlockIndex>>),
    /// Through its index.
    Probe(Box<RunProbe>),
    /// Front to back, because its index does not fit the budget.
    Scan(Box<RunScan>),
}

/// How many candidates were found in which layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelCount {
    /// First and last layer of the run.
    pub layers: (u64, u64),
    /// Candidates found in it.
    pub found: u64,
}

impl LevelsFilter {
    pub(super) fn open(levels: &[Level], asked: impl Fn((u64, u64)) -> bool) -> Result<Self, ReadError> {
        let part = |level: &Level| Part {
            layers: level.layers,
            run: level.run.clone(),
            access: Access::Unopened(level.index.clone()),
            found: 0,
        };
        let chosen = levels.iter().rev().filter(|level| level.run.records() > 0 && asked(level.layers));
        Ok(LevelsFilter { parts: chosen.map(part).collect() })
    }

    /// Whether each run is asked through its index, so that asking about some of the candidates reads some of it.
    pub fn is_indexed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part.access, Access::Unopened(Some(_)) | Access::Probe(_)))
    }

    /// Bytes of memory that asking takes, at most.
    pub fn footprint(&self) -> u64 {
        self.parts.iter().map(|part| RunReader::footprint_of(&part.run)).sum()
    }

    /// Duplicates by how far back they lie, newest run first.
    pub fn found_by_level(&self) -> Vec<LevelCount> {
        self.parts.iter().map(|part| LevelCount { layers: part.layers, found: part.found }).collect()
    }
}

impl ClosedFilter for LevelsFilter {
    /// Candidates must ascend from one call to the next.
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        let before = present.count_ones();
        for part in &mut self.parts {
            let found = part.mark(candidates, present)?;
            part.found += found;
        }
        Ok((present.count_ones() - before) as u64)
    }

    fn comparisons(&self) -> u64 {
        self.parts.iter().map(Part::comparisons).sum()
    }
}

impl Part {
    fn comparisons(&self) -> u64 {
        match &self.access {
            Access::Probe(probe) => probe.comparisons(),
            Access::Scan(scan) => scan.comparisons(),
            Access::Unopened(_) => 0,
        }
    }

    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        if let Access::Unopened(index) = &mut self.access {
            self.access = match index.take() {
                Some(index) => Access::Probe(Box::new(RunProbe::open(&self.run, index)?)),
                None => Access::Scan(Box::new(RunScan::open(&self.run)?)),
            };
        }
        match &mut self.access {
            Access::Probe(probe) => probe.mark(candidates, present),
            Access::Scan(scan) => scan.mark(candidates, present),
            Access::Unopened(_) => unreachable!("opened just above"),
        }
    }
}
