//! Exploration whose order is relaxed: a state that is certainly new is expanded at once, whatever its depth; the others
//! are decided in large batches, when memory is full or nothing certain is left.
//!
//! Breadth-first search with delayed detection must decide every layer before it goes on, which is slow on graphs with
//! thousands of small layers. Here the number of states, the transitions and the verdict are as exact, but depths are
//! not known. A violation is therefore searched for once more, breadth-first, and reported with a shortest path.

mod closed;
mod distributed;
mod pool;
mod record;
mod search;
mod together;

pub use distributed::DistributedRelaxed;

use crate::auto::Auto;
use crate::exchange::Alone;
use crate::explore::{Explored, Explorer, Method, Progress, Run, Setting};
use crate::fixpoint::Following;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::{Report, StopReason, Verdict};
use crate::run::status;
use crate::strategies::Resumes;
use search::{Exploration, RelaxedEnd};

/// What searches again, breadth-first.
static AUTO: Auto = Auto;

/// A search whose order is relaxed. It opens another run folder for the search for a shortest path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relaxed;

impl Method for Relaxed {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        if setting.task.question.asks_about_runs(setting.task.space) {
            return Err(Trouble::Liveness);
        }
        let exploration = match setting.run {
            Run::Resumed(_) => {
                let mut exploration = Exploration::begin(setting, &Alone)?;
                exploration.go_on_from(setting.run.open()?)?;
                exploration
            }
            _ => Exploration::begin(setting, &Alone)?,
        };
        let at = At::Relaxed(Following::new(exploration));
        Ok(Box::new(RelaxedExplorer { setting, at, breadth_first: &AUTO }))
    }
}

/// A search under way.
struct RelaxedExplorer<'a> {
    setting: Setting<'a>,
    at: At<'a>,
    /// What searches for a shortest path to what was found.
    breadth_first: &'a dyn Method,
}

enum At<'a> {
    /// In any order.
    Relaxed(Following<'a, Exploration<'a>>),
    /// Breadth-first for what was found.
    Again(Box<First>, Option<Box<dyn Explorer + 'a>>),
}

/// The search before the breadth-first one.
struct First {
    report: Report,
    /// Where it was committed.
    ledger: Option<Ledger>,
}

impl Explorer for RelaxedExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        match &mut self.at {
            At::Relaxed(exploration) => {
                let is_over = exploration.go_on(work)?;
                let ended = exploration.search().and_then(|exploration| exploration.ended());
                if is_over && matches!(ended, Some(RelaxedEnd::Found)) {
                    self.begin_again()?;
                }
            }
            At::Again(_, again) => {
                if let Some(again) = again {
                    again.step(work)?;
                }
            }
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        match &self.at {
            At::Relaxed(exploration) => exploration.progress(),
            At::Again(_, again) => again.as_ref().map_or(Progress::NOTHING, |again| again.progress()),
        }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        match self.at {
            At::Relaxed(exploration) => {
                let mut exploration = exploration.end()?;
                let verdict = match exploration.ended() {
                    Some(RelaxedEnd::Decided(verdict)) => verdict.clone(),
                    _ => exploration.stop(StopReason::Interrupted)?,
                };
                Ok(Explored::leaving(exploration.report(verdict), Resumes::ItsOwn))
            }
            At::Again(first, again) => {
                let again = again.ok_or(Trouble::NoFolder)?;
                let mut report = again.finish()?.report;
                let First { report: before, ledger } = *first;
                if let (Some(mut ledger), Verdict::Violated(_)) = (ledger, &report.verdict) {
                    match ledger.amend_status(&status(&report.verdict)) {
                        // The answer stands, whatever the folder says.
                        Err(trouble) if trouble.is_disk_full() => {}
                        other => other?,
                    }
                }
                report.stages.splice(0..0, before.stages);
                report.peak_memory = report.peak_memory.max(before.peak_memory);
                report.disk = report.disk.or(before.disk);
                Ok(Explored::leaving(report, Resumes::Nothing))
            }
        }
    }
}

impl RelaxedExplorer<'_> {
    /// Searches breadth-first for what was found. Of what comes only the end is committed: a run resumed meets it again.
    fn begin_again(&mut self) -> Result<(), Trouble> {
        if let At::Relaxed(exploration) = &mut self.at
            && let Some(exploration) = exploration.search()
        {
            let report = exploration.report(Verdict::Holds);
            // What it holds is needed for the next.
            self.at = At::Again(Box::new(First { report, ledger: exploration.take_ledger() }), None);
        }
        if let At::Again(_, again) = &mut self.at {
            let setting = Setting { run: self.setting.run.beside(), ..self.setting };
            *again = Some(self.breadth_first.explorer(setting)?);
        }
        Ok(())
    }
}
