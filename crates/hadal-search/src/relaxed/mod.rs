//! Exploration whose order is relaxed: a state that is certainly new is expanded at once, whatever its depth; the others
//! are decided in large batches, when memory is full or nothing certain is left.
//!
//! Breadth-first search with delayed detection must decide every layer before it goes on, which is slow on graphs with
//! thousands of small layers. Here the number of states, the transitions and the verdict are as exact, but depths are
//! not known. A violation is therefore searched for once more, breadth-first, and reported with a shortest path.

mod pool;
mod record;
mod search;

use crate::auto::{self, AutoSearch};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::{Report, Verdict};
use search::{Ended, Exploration};

/// A search whose order is relaxed.
pub struct RelaxedSearch<'a> {
    /// What to explore, where, and with how much.
    pub search: AutoSearch<'a>,
    /// Opens another run folder, for the search for a shortest path.
    pub again: &'a dyn Fn() -> Result<Ledger, Trouble>,
}

/// Explores from the initial states.
pub fn explore(search: &RelaxedSearch) -> Result<Report, Trouble> {
    search.refuse_liveness()?;
    let mut exploration = Exploration::begin(&search.search)?;
    let ended = exploration.start().and_then(|()| exploration.run());
    search.answer(exploration, ended)
}

/// Goes on with a run where its last commit left it.
pub fn resume(search: &RelaxedSearch) -> Result<Report, Trouble> {
    search.refuse_liveness()?;
    let mut exploration = Exploration::again(&search.search)?;
    let ended = exploration.run();
    search.answer(exploration, ended)
}

impl RelaxedSearch<'_> {
    fn refuse_liveness(&self) -> Result<(), Trouble> {
        let task = self.search.task;
        match task.question.asks_about_runs(task.space) {
            true => Err(Trouble::Liveness),
            false => Ok(()),
        }
    }

    fn answer(&self, mut exploration: Exploration, ended: Result<Ended, Trouble>) -> Result<Report, Trouble> {
        match exploration.conclude(ended)? {
            Ended::Decided(verdict) => Ok(exploration.report(verdict)),
            Ended::Found => {
                // Nothing is committed from here: a run resumed must meet it again.
                let first = exploration.report(Verdict::Holds);
                drop(exploration);
                let mut report = auto::explore(&AutoSearch { ledger: self.again, ..self.search })?;
                report.stages.splice(0..0, first.stages);
                report.peak_memory = report.peak_memory.max(first.peak_memory);
                report.disk = report.disk.or(first.disk);
                Ok(report)
            }
        }
    }
}
