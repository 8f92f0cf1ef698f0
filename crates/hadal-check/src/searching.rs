//! One search of a check: directed with the usual one behind it, a probe before the usual one, or the strategy named.

use crate::by::{By, Chosen};
use crate::directed::{self, Asked, DirectedPlan, OnDisk};
use crate::early;
use crate::error::CheckError;
use crate::folder::{self, RunPlace};
use crate::options::Options;
use crate::plan::Plan;
use crate::race::{self, Guiding, Usual};
use hadal_exec::model::Model;
use hadal_search::auto::Auto;
use hadal_search::cycles::external as cycles;
use hadal_search::distrust::Distrusted;
use hadal_search::explore::{self, Folders, Method, Run, Setting, explore_watched};
use hadal_search::external::{self, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::operators::UsedOperators;
use hadal_search::partition::PartitionOptions;
use hadal_search::paths::CountedPaths;
use hadal_search::ram::{Breadth, Depth};
use hadal_search::relaxed::Relaxed;
use hadal_search::strategies::ExplorerKind;
use hadal_search::{Control, Question, Report, SearchTask, StopReason, Verdict};
use hadal_store::Governor;
use hadal_system::guide::{Goal, Guide};
use hadal_system::{PropertyKind, StateSpace};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a search came to, and how it was set up.
#[derive(Debug)]
pub struct Explored {
    /// The answer.
    pub report: Report,
    /// What was decided and why, line by line.
    pub decisions: Vec<String>,
}

/// Is told how a search stands, after every step of it.
pub(crate) type Watch<'a> = &'a dyn Fn(&explore::Progress);

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
    pub(crate) progress: &'a Progress,
    pub(crate) watch: Watch<'a>,
    pub(crate) by: Option<By<'a>>,
    /// Which of the check's searches it is.
    pub(crate) number: usize,
}

/// Which searches of a check are done. A run that is killed or stops in one of them goes on there.
#[derive(Default)]
pub(crate) struct Progress {
    /// What came of each search; `None` of those that must be made again.
    done: RefCell<Vec<Option<Done>>>,
    /// The search that the folder being resumed belongs to.
    resumed: usize,
    /// The folder of a search besides the first that stopped.
    stopped: RefCell<Option<PathBuf>>,
    /// How many shortest paths lead to what the last search found, where it counts them.
    paths: Cell<Option<u64>>,
}

/// A search in which nothing was wrong.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Done {
    states: u64,
    transitions: u64,
}

/// Where a run's folder keeps what was done before it.
const EARLIER: &str = "earlier";

impl Progress {
    /// As the folder being resumed tells.
    pub(crate) fn of(resumed: Option<&Path>) -> Self {
        let known = resumed.and_then(|path| folder::look_at(path).ok());
        let earlier = known.and_then(|run| run.about.get(EARLIER).cloned());
        let done: Vec<Option<Done>> =
            earlier.and_then(|earlier| serde_json::from_value(earlier).ok()).unwrap_or_default();
        Progress { resumed: done.len(), done: RefCell::new(done), ..Progress::default() }
    }

    /// The folder of a search besides the first that stopped, if one did.
    pub(crate) fn stopped(&self) -> Option<PathBuf> {
        self.stopped.borrow().clone()
    }

    /// How many shortest paths lead to what was found, where they are counted.
    pub(crate) fn paths(&self) -> Option<u64> {
        self.paths.get()
    }

    /// What a folder that is made now keeps: the command, and what was done before.
    fn about(&self, about: &serde_json::Value) -> serde_json::Value {
        let mut about = about.clone();
        let done = self.done.borrow();
        if let (Some(fields), false, Ok(done)) =
            (about.as_object_mut(), done.is_empty(), serde_json::to_value(&*done))
        {
            fields.insert(EARLIER.to_owned(), done);
        }
        about
    }

    /// Takes note of how the search of this number ended.
    fn note(&self, number: usize, report: &Report) {
        let mut done = self.done.borrow_mut();
        if done.len() <= number {
            done.resize(number + 1, None);
        }
        done[number] = (report.verdict == Verdict::Holds)
            .then_some(Done { states: report.states, transitions: report.transitions });
    }

    /// A search that an earlier sitting made.
    fn made(&self, number: usize, (task, governor): (SearchTask, &Governor)) -> Option<Explored> {
        let Done { states, transitions } = (*self.done.borrow().get(number)?)?;
        let report = directed::nothing_yet(task, governor).report;
        let decisions = vec![format!("  search {} ran before this run was resumed", number + 1)];
        Some(Explored { report: Report { states, transitions, ..report }, decisions })
    }
}

impl Searching<'_> {
    /// Makes the search of this number, or goes on with it; every search has a run of its own.
    pub(crate) fn explore(
        &self,
        model: &Model,
        space: &dyn StateSpace,
        question: &Question,
        number: usize,
    ) -> Result<Explored, CheckError> {
        self.placed(space, question, number, |one, task, begin| one.explore_one(model, task, begin))
    }

    /// The same by External A* with a guide of its own.
    pub(crate) fn guided(
        &self,
        space: &dyn StateSpace,
        question: &Question,
        number: usize,
        guide: &dyn Guide,
    ) -> Result<Explored, CheckError> {
        self.placed(space, question, number, |one, task, begin| {
            let goals = question.of_kind(space.properties(), PropertyKind::Goal).collect();
            let goal = Goal { properties: goals, ..Goal::default() };
            let folders = one.folders(task, begin);
            let (governor, threads) = (one.governor, one.plan.threads);
            let setting = Setting { task, governor, threads, run: folders.run() };
            let method = external::External { guide, goal: &goal, options: ExternalOptions::default() };
            if let Some(by) = one.by {
                return by.search(number, (task, governor), Chosen::External(&method));
            }
            let explored = explore_watched(&method, setting, &mut |progress| (one.watch)(progress))?;
            let none = external::ExternalFigures::default();
            let figures = explored.report.external().unwrap_or(&none);
            let decision = format!(
                "  guide {}: {} states expanded of {} generated",
                guide.name(),
                figures.states.expanded,
                figures.states.generated
            );
            Ok(Explored { report: explored.report, decisions: vec![decision] })
        })
    }

    /// Looks for accepted cycles by a search of their own.
    pub(crate) fn look_for_cycles(
        &self,
        space: &dyn StateSpace,
        (question, number): (&Question, usize),
        engine: cycles::External,
    ) -> Result<Explored, CheckError> {
        self.placed(space, question, number, |one, task, begin| {
            let folders = one.folders(task, begin);
            let (governor, threads) = (one.governor, one.plan.threads);
            if let Some(by) = one.by {
                return by.search(number, (task, governor), Chosen::Cycles(engine));
            }
            let setting = Setting { task, governor, threads, run: folders.run() };
            let explored = explore_watched(&engine, setting, &mut |progress| (one.watch)(progress))?;
            Ok(Explored { report: explored.report, decisions: Vec::new() })
        })
    }

    /// Gives the search of this number its place.
    fn placed(
        &self,
        space: &dyn StateSpace,
        question: &Question,
        number: usize,
        explore: impl FnOnce(&Searching, SearchTask, Begin) -> Result<Explored, CheckError>,
    ) -> Result<Explored, CheckError> {
        let task = SearchTask { space, question, control: self.control };
        if let Some(made) = self.progress.made(number, (task, self.governor)) {
            return Ok(made);
        }
        let is_resumed = self.options.place.resumed.is_some();
        // The folder of the check is that of its first search, or of the one being resumed.
        let own = if is_resumed { self.progress.resumed } else { 0 };
        let beside = (number != own)
            .then(|| self.place.beside(&format!("part{number}")).limited_to(self.options.budget.disk));
        let place = beside.as_ref().unwrap_or(self.place);
        let begun = beside.as_ref().is_none_or(|beside| folder::look_at(&beside.path).is_ok());
        let begin = if is_resumed && begun { Begin::Resumed } else { Begin::New };
        let one = Searching { place, question, number, ..*self };
        let refused = AtomicBool::new(false);
        let distrusted = Distrusted::new(space, self.control, &refused);
        let task = SearchTask {
            space: if begin == Begin::Resumed { &distrusted as &dyn StateSpace } else { space },
            ..task
        };
        let explored = explore(&one, task, begin);
        if let Ok(explored) = &explored {
            self.progress.note(number, &explored.report);
        }
        let stops = matches!(&explored, Ok(it) if matches!(it.report.verdict, Verdict::Stopped(_)));
        match beside.filter(RunPlace::is_used) {
            Some(beside) if stops && !folder::is_left_over(&beside.path) => {
                *self.progress.stopped.borrow_mut() = Some(beside.path.clone());
            }
            Some(beside) => beside.discard(self.control),
            None => {}
        }
        if refused.load(Ordering::Relaxed) {
            let why = "a file of the run holds what is no state of the model";
            return Err(CheckError::Damaged(format!("{why}: it was made for another one, or changed since")));
        }
        explored
    }

    fn explore_one(&self, model: &Model, task: SearchTask, begin: Begin) -> Result<Explored, CheckError> {
        let asks_about_runs = task.question.asks_about_runs(task.space);
        match self.by {
            Some(By::Worker(_)) if self.plan.directed.is_some() && asks_about_runs => {
                let why = "a directed search leaves questions about infinite runs to one process";
                return Err(Trouble::NotShared(why).into());
            }
            Some(By::Worker(_)) if self.plan.directed.is_some() => {}
            Some(by) => return by.search(self.number, (task, self.governor), Chosen::Strategy),
            None => {}
        }
        // A claim beside the model has locations and transitions that no guide knows.
        let is_of_model = task.space.words() == model.words() && task.space.actions() == model.actions();
        let mut decisions = Vec::new();
        match &self.plan.directed {
            Some(directed) if is_of_model => return self.directed(directed, model, task, begin),
            Some(_) => decisions.push("  a claim is watched beside the model: nothing is guided".to_owned()),
            None => {}
        }
        let is_auto = matches!(self.options.strategy.explorer, ExplorerKind::Auto);
        if is_auto
            && is_of_model
            && self.options.place.resumed.is_none()
            && task.space.properties() == model.properties()
            && let Some(found) = directed::probe(model, task, self.governor, self.watch)
        {
            return Ok(found);
        }
        if is_auto && early::may_be_early(task) {
            let report = match self.early(task, begin)? {
                early::EarlyEnd::Whole(explored) => {
                    self.options.detecting.save_partition(&explored, self.control);
                    explored.report
                }
                early::EarlyEnd::Handed(explored) => {
                    decisions.push(
                        "  sweeps took longer than finding all states: a depth-first search answered in their place".to_owned(),
                    );
                    explored.report
                }
                early::EarlyEnd::Early(report, explored) => {
                    decisions.push(format!(
                        "  of more than {explored} states: a depth-first search found a cycle in {}",
                        report.states
                    ));
                    report
                }
            };
            return Ok(Explored { report, decisions });
        }
        Ok(Explored { report: self.by_strategy(task, begin)?, decisions })
    }

    /// Explores as `auto` does, and looks for cycles on the way.
    fn early(&self, task: SearchTask, begin: Begin) -> Result<early::EarlyEnd, Trouble> {
        let folders = self.folders(task, begin);
        let setting =
            Setting { task, governor: self.governor, threads: self.plan.threads, run: folders.run() };
        let method: &dyn Method = match &self.plan.layered {
            Some(strategy) => strategy,
            None => &Auto,
        };
        early::explore(method, setting, &mut |progress| (self.watch)(progress))
    }

    /// A directed search, and the usual one after it where it leaves something to that.
    fn directed(
        &self,
        directed: &DirectedPlan,
        model: &Model,
        task: SearchTask,
        begin: Begin,
    ) -> Result<Explored, CheckError> {
        let Searching { question, governor, place, .. } = *self;
        let asked = if self.options.properties.is_empty() { Asked::Everything } else { Asked::Named };
        let resumed = begin == Begin::Resumed;
        let folders = self.folders(task, begin);
        let tables = |governor: &Governor| place.tables(governor);
        let threads = self.plan.threads;
        let by = self.by.map(|by| (by, self.number));
        let disk = OnDisk { run: folders.run(), tables: &tables, resumed, threads, by };
        let safety = directed::safety_part(question, task.space);
        let first = SearchTask { question: safety.as_ref().unwrap_or(question), ..task };
        let guiding = Guiding { model, task: first, asked, governor, threads, watch: self.watch };
        // A search that may leave the rest to another keeps nothing on disk: what is there is that other's.
        let found = match resumed && (safety.is_some() || directed.races()) {
            true => Ok(directed::nothing_yet(task, governor)),
            false => {
                // A question without its liveness part is another one: what explores it is no run of this check.
                let usual = match (self.options.strategy.explorer, &self.plan.layered) {
                    _ if safety.is_some() => Usual { method: &Breadth, run: Run::Nowhere },
                    (ExplorerKind::Auto | ExplorerKind::Layered(_), Some(strategy)) => {
                        Usual { method: strategy, run: folders.run() }
                    }
                    (ExplorerKind::Auto, None) => Usual { method: &Auto, run: folders.run() },
                    _ => Usual { method: &Breadth, run: Run::Nowhere },
                };
                race::explore(directed, guiding, disk, usual)
            }
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
    pub(crate) fn by_strategy(&self, task: SearchTask, begin: Begin) -> Result<Report, Trouble> {
        let Searching { options, governor, .. } = *self;
        let counted = CountedPaths::of(task.space);
        let task = match options.strategy.explorer {
            ExplorerKind::Paths => SearchTask { space: &counted, ..task },
            _ => task,
        };
        let marked = UsedOperators::of(task.space).filter(|_| options.detecting.used_operators);
        let task = match &marked {
            Some(marked) => SearchTask { space: marked, ..task },
            None if options.detecting.used_operators => return Err(Trouble::Operators),
            None => task,
        };
        let folders = self.folders(task, begin);
        let setting = Setting { task, governor, threads: self.plan.threads, run: folders.run() };
        let part = match options.strategy.explorer {
            ExplorerKind::Partition(preset) => options.partitioning.method(preset()),
            _ => PartitionOptions::default(),
        };
        let method: &dyn Method = match (options.strategy.explorer, &self.plan.layered) {
            (ExplorerKind::Breadth, _) => &Breadth,
            (ExplorerKind::Depth, _) => &Depth,
            (ExplorerKind::Partition(_), _) => &part,
            (ExplorerKind::Relaxed, _) => &Relaxed,
            (ExplorerKind::Paths, _) => &Auto,
            (ExplorerKind::Auto | ExplorerKind::Layered(_), Some(strategy)) => strategy,
            (ExplorerKind::Auto | ExplorerKind::Layered(_), None) => &Auto,
        };
        let explored = explore_watched(method, setting, &mut |progress| (self.watch)(progress))?;
        options.detecting.save_partition(&explored, self.control);
        self.progress.paths.set(explored.payload.as_ref().and_then(|payload| payload.first().copied()));
        let mut report = explored.report;
        if let Some(marked) = &marked {
            marked.tell(&mut report);
        }
        if matches!(options.strategy.explorer, ExplorerKind::Partition(_)) {
            options.partitioning.make_shortest(&mut report, setting, self.watch)?;
        }
        Ok(report)
    }

    fn folders<'s>(&'s self, task: SearchTask<'s>, begin: Begin) -> CheckFolders<'s> {
        CheckFolders { searching: self, task, begin, beside: self.place.beside("shortest") }
    }
}

/// The folders of a check's search; the one beside goes when this does.
struct CheckFolders<'s> {
    searching: &'s Searching<'s>,
    task: SearchTask<'s>,
    begin: Begin,
    beside: RunPlace,
}

impl CheckFolders<'_> {
    fn run(&self) -> Run<'_> {
        match self.begin {
            Begin::New => Run::New(self),
            Begin::Resumed => Run::Resumed(self),
        }
    }
}

impl Folders for CheckFolders<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        let Searching { place, governor, options, control, progress, .. } = *self.searching;
        let fingerprint = self.task.space.fingerprint();
        let about = &progress.about(&options.place.about);
        match self.begin {
            Begin::Resumed => {
                let ledger = place.open(governor, fingerprint, about)?;
                if let Some(record) = ledger.record() {
                    // What is known shows while it is read back.
                    control.gauges.states.store(record.states(), Ordering::Relaxed);
                    control.gauges.depth.store(record.depth(), Ordering::Relaxed);
                }
                for damage in ledger.damaged() {
                    control.warn(format!("{damage}; continuing from the commit before"));
                }
                Ok(ledger)
            }
            Begin::New => place.create(governor, fingerprint, about),
        }
    }

    fn beside(&self) -> Result<Ledger, Trouble> {
        let fingerprint = self.task.space.fingerprint();
        self.beside.create(self.searching.governor, fingerprint, &serde_json::Value::Null)
    }
}

impl Drop for CheckFolders<'_> {
    fn drop(&mut self) {
        if self.beside.is_used() {
            self.beside.discard(self.searching.control);
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
            Verdict::Holds if self.liveness => {
                Some("no error was found, and there are liveness properties to check")
            }
            Verdict::Holds if self.races && self.resumed => Some("this run was left to the usual search"),
            Verdict::Stopped(StopReason::Memory { .. }) if self.races && self.liveness => {
                Some("the directed search used up its memory")
            }
            _ => None,
        }
    }
}
