//! One search of a check: directed with the usual one behind it, a probe before the usual one, or the strategy named.

use crate::directed::{self, Asked, DirectedPlan, OnDisk};
use crate::error::CheckError;
use crate::folder::RunPlace;
use crate::options::Options;
use crate::plan::Plan;
use crate::race::{self, Setting};
use hadal_exec::model::Model;
use hadal_search::auto::{self, AutoSearch};
use hadal_search::distrust::Distrusted;
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::ram::{Search, breadth, depth};
use hadal_search::relaxed::{self, RelaxedSearch};
use hadal_search::strategies::Explorer;
use hadal_search::strategy::StrategySearch;
use hadal_search::{Control, Question, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::StateSpace;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a search came to, and how it was set up.
#[derive(Debug)]
pub struct Explored {
    /// The answer.
    pub report: Report,
    /// What was decided and why, line by line.
    pub decisions: Vec<String>,
}

/// Whether a search is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// From the initial states.
    New,
    /// Where its run left off.
    Resumed,
}

/// What all searches of a check share.
#[derive(Clone, Copy)]
pub(crate) struct Searching<'a> {
    pub(crate) options: &'a Options,
    pub(crate) plan: &'a Plan,
    pub(crate) question: &'a Question,
    pub(crate) control: &'a Control,
    pub(crate) governor: &'a Governor,
    pub(crate) place: &'a RunPlace,
}

impl Searching<'_> {
    /// Makes the search of this number; only the first has a run that can be resumed.
    pub(crate) fn explore(
        &self,
        model: &Model,
        space: &dyn StateSpace,
        question: &Question,
        number: usize,
    ) -> Result<Explored, CheckError> {
        let beside = (number > 0)
            .then(|| self.place.beside(&format!("part{number}")).limited_to(self.options.budget.disk));
        let place = beside.as_ref().unwrap_or(self.place);
        let begin = match self.options.place.resumed.is_some() && number == 0 {
            true => Begin::Resumed,
            false => Begin::New,
        };
        let one = Searching { place, question, ..*self };
        let refused = AtomicBool::new(false);
        let distrusted = Distrusted::new(space, self.control, &refused);
        let space = if begin == Begin::Resumed { &distrusted as &dyn StateSpace } else { space };
        let task = Task { space, question, control: self.control };
        let explored = one.explore_one(model, task, begin);
        if let Some(beside) = beside.filter(RunPlace::is_used) {
            beside.discard(self.control);
        }
        if refused.load(Ordering::Relaxed) {
            let why = "a file of the run holds what is no state of the model";
            return Err(CheckError::Damaged(format!("{why}: it was made for another one, or changed since")));
        }
        explored
    }

    fn explore_one(&self, model: &Model, task: Task, begin: Begin) -> Result<Explored, CheckError> {
        if let Some(directed) = &self.plan.directed {
            return self.directed(directed, model, task, begin);
        }
        let is_auto = matches!(self.options.strategy.explorer, Explorer::Auto);
        if is_auto
            && self.options.place.resumed.is_none()
            && task.space.properties() == model.properties()
            && let Some(found) = directed::probe(model, task, self.governor)
        {
            return Ok(found);
        }
        Ok(Explored { report: self.by_strategy(task, begin)?, decisions: Vec::new() })
    }

    /// A directed search, and the usual one after it where it leaves something to that.
    fn directed(
        &self,
        directed: &DirectedPlan,
        model: &Model,
        task: Task,
        begin: Begin,
    ) -> Result<Explored, CheckError> {
        let Searching { question, governor, place, .. } = *self;
        let asked = if self.options.properties.is_empty() { Asked::Everything } else { Asked::Named };
        let resumed = begin == Begin::Resumed;
        let ledger = || self.ledger(task, begin);
        let tables = |governor: &Governor| place.tables(governor);
        let threads = self.plan.threads;
        let disk = OnDisk { ledger: &ledger, tables: &tables, resumed, threads };
        let safety = directed::safety_part(question, task.space);
        let first = Task { question: safety.as_ref().unwrap_or(question), ..task };
        let setting = Setting { model, task: first, asked, governor, threads };
        // A search that may leave the rest to another keeps nothing on disk: what is there is that other's.
        let found = match resumed && (safety.is_some() || directed.races()) {
            true => Ok(directed::nothing_yet(task, governor)),
            false => race::explore(directed, setting, disk),
        };
        place.discard_tables(self.control);
        let mut found = found?;
        let leaves = Leaves { liveness: safety.is_some(), races: directed.races(), resumed };
        if let Some(why) = leaves.to_another(&found.report) {
            found.decisions.push(format!("  {why}: everything is explored again"));
            found.report = self.by_strategy(task, begin)?;
        }
        Ok(found)
    }

    /// Explores by the strategy that was named.
    pub(crate) fn by_strategy(&self, task: Task, begin: Begin) -> Result<Report, Trouble> {
        let Searching { options, governor, place, .. } = *self;
        let threads = self.plan.threads;
        let ledger = || self.ledger(task, begin);
        let search = AutoSearch { task, ledger: &ledger, governor, threads };
        match options.strategy.explorer {
            Explorer::Breadth => Ok(breadth::explore(&Search { task, governor, threads })),
            Explorer::Depth => Ok(depth::explore(&Search { task, governor, threads })),
            Explorer::Partition => options.partitioning.explore(search, place, begin),
            Explorer::Relaxed => self.relaxed(search, begin),
            Explorer::Auto | Explorer::Layered(_) => match &self.plan.layered {
                Some(strategy) => {
                    let search = StrategySearch { task, ledger: &ledger, governor, threads, strategy };
                    options.detecting.explore(&search, begin)
                }
                None if begin == Begin::Resumed => auto::resume(&search),
                None => auto::explore(&search),
            },
        }
    }

    fn relaxed(&self, search: AutoSearch, begin: Begin) -> Result<Report, Trouble> {
        let beside = self.place.beside("shortest");
        let fingerprint = search.task.space.fingerprint();
        let again = || beside.create(search.governor, fingerprint, &serde_json::Value::Null);
        let relaxed = RelaxedSearch { search, again: &again };
        let report = match begin {
            Begin::Resumed => relaxed::resume(&relaxed),
            Begin::New => relaxed::explore(&relaxed),
        };
        if beside.is_used() {
            beside.discard(self.control);
        }
        report
    }

    fn ledger(&self, task: Task, begin: Begin) -> Result<Ledger, Trouble> {
        let (fingerprint, about) = (task.space.fingerprint(), &self.options.place.about);
        match begin {
            Begin::Resumed => {
                let ledger = self.place.open(self.governor, fingerprint, about)?;
                for damage in ledger.damaged() {
                    self.control.warn(format!("{damage}; going on from the commit before"));
                }
                Ok(ledger)
            }
            Begin::New => self.place.create(self.governor, fingerprint, about),
        }
    }
}

/// What a directed search may leave to the usual one.
struct Leaves {
    liveness: bool,
    races: bool,
    resumed: bool,
}

impl Leaves {
    /// Why the usual search follows, where it does.
    fn to_another(&self, report: &Report) -> Option<&'static str> {
        match &report.verdict {
            Verdict::Holds if self.liveness => Some("no error was found, and liveness is asked about"),
            Verdict::Holds if self.races && self.resumed => Some("this run was left to the usual search"),
            Verdict::Stopped(StopReason::Memory { .. }) if self.races => {
                Some("the directed search used up its memory")
            }
            _ => None,
        }
    }
}
