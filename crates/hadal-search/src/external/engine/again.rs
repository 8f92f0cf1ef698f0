//! Going beyond the present reach: closed buckets that left out successors are expanded again for these alone.

use super::super::expand::{Again, Pass, Strip, Strips};
use super::super::figures::TargetFigures;
use super::super::matrix::Cell;
use super::super::spill::{Shared, lock};
use super::pass::on_all;
use super::{Engine, owners};
use crate::layered::Trouble;
use crate::report::StopReason;
use hadal_store::run::RunReader;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// What a bucket gave when it was expanded again.
#[derive(Debug, PartialEq)]
pub(super) struct Given {
    pub(super) cell: Cell,
    pub(super) targets: Vec<TargetFigures>,
    pub(super) still_beyond: Option<u64>,
    pub(super) states: u64,
}

impl Engine<'_> {
    /// Writes everything up to `reach` that was left out; all of it or, if it is stopped, nothing.
    pub(super) fn raise(&mut self, reach: u64) -> Result<Option<StopReason>, Trouble> {
        self.expansions += 1;
        let (mut given, mut stopped) = (Vec::new(), self.failed.take());
        let (control, disk) = (self.search.task.control, self.disk());
        for cell in self.horizon.within(reach) {
            if stopped.is_some() {
                break;
            }
            let armed = control.brake(&disk);
            let again = self.expand_again(cell, reach);
            drop(armed);
            match again {
                Ok(Ok(one)) => given.push(one),
                Ok(Err(reason)) => stopped = Some(reason),
                Err(trouble) => match self.as_stop(trouble) {
                    Ok(reason) => stopped = Some(reason),
                    Err(trouble) => {
                        self.take_back();
                        self.expansions -= 1;
                        return Err(trouble);
                    }
                },
            }
        }
        let given = match self.meet_raised(stopped, given)? {
            Ok(given) => given,
            Err(reason) => {
                self.take_back();
                self.expansions -= 1;
                return Ok(Some(reason));
            }
        };
        let mut still = Vec::new();
        for one in given {
            still.push((one.cell, one.still_beyond));
            self.figures.expanded_again += one.states;
            let buckets = &mut self.figures.buckets;
            let known = buckets.iter_mut().rfind(|bucket| (bucket.g, bucket.h) == (one.cell.g, one.cell.h));
            for target in &one.targets {
                let to = Cell { g: target.g, h: target.h };
                self.matrix.open.entry(to.rank()).or_default().raw += target.states;
                self.costs.insert(target.g - one.cell.g);
            }
            if let Some(bucket) = known {
                bucket.targets.extend(one.targets);
                bucket.targets.sort_by_key(|target| (target.g, target.h));
            }
        }
        self.horizon.raise(reach, still);
        Ok(None)
    }

    fn expand_again(&mut self, cell: Cell, reach: u64) -> Result<Result<Given, StopReason>, Trouble> {
        let rows = self.matrix.columns.get(&cell.h).and_then(|column| column.rows.get(&cell.g));
        let parts = rows.into_iter().flatten().filter(|part| part.records > 0);
        let sources = parts.map(|part| self.shelf.ready(part)).collect::<Result<Vec<_>, _>>()?;
        let need = RunReader::footprint(&self.shelf.options) * (sources.len() as u64 + 3);
        let threads = (self.streams / need).clamp(1, self.expanders.len() as u64) as usize;
        let splitters = self.splitters(&sources, if threads == 1 { 1 } else { 4 * threads });
        let strips = Strip::cut(splitters.len() + 1, usize::MAX);
        let pass = Pass {
            cell,
            sources: &sources,
            closed: &[],
            splitters: &splitters,
            up_to: None,
            strips: Strips::new(&strips),
            most_fired: u64::MAX,
            fired: AtomicU64::new(0),
            ends_early: false,
            reach: Some(reach),
            again: Some(Again { beyond: self.horizon.reach() }),
            shared: Shared::new(&mut self.matrix, &self.shelf, cell.rank(), self.expansions, Some(cell.h))
                .owned_by(owners(&self.mailbox)),
            stopped: Mutex::new(None),
        };
        on_all(&mut self.expanders[..threads], &|expander| expander.work(&pass))?;
        on_all(&mut self.expanders[..threads], &|expander| expander.deliver(&pass))?;
        if let Some(reason) = lock(&pass.stopped).take() {
            return Ok(Err(reason));
        }
        let mut given = Given { cell, targets: Vec::new(), still_beyond: None, states: 0 };
        for expander in &mut self.expanders {
            let done = std::mem::take(&mut expander.done);
            given.states += done.unique;
            given.still_beyond = given.still_beyond.into_iter().chain(done.least_beyond).min();
            given.targets.extend(done.targets);
        }
        Ok(Ok(given))
    }
}
