//! What tests of searches on disk set up: run folders, settings, the search in RAM to compare with.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_search::explore::{self, Method, Run};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::ram::Breadth;
use hadal_search::{Control, DeadlockNotion, Explored, Folders, Limits, Question, Report, SearchTask};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::StateSpace;
use std::sync::Arc;
use std::time::Duration;

/// A search to be made.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub space: &'a dyn StateSpace,
    pub threads: usize,
    pub budget: u64,
    pub limits: Limits,
}

/// Whether a run begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    Fresh,
    Again,
}

impl Begin {
    /// The run whose folder this opens.
    pub fn run(self, folders: &dyn Folders) -> Run<'_> {
        match self {
            Begin::Fresh => Run::New(folders),
            Begin::Again => Run::Resumed(folders),
        }
    }
}

/// Everything that is reachable, by this method in this folder.
pub fn search(
    method: &dyn Method,
    setting: &Setting,
    vfs: Arc<dyn Vfs>,
    begin: Begin,
) -> Result<Explored, Trouble> {
    let control = Control::new(setting.limits);
    searched(method, setting, (vfs, begin), &control, |method, setting| explore::explore(method, setting))
}

/// The same under reins of the caller's, in a way of the caller's.
pub fn searched(
    method: &dyn Method,
    setting: &Setting,
    (vfs, begin): (Arc<dyn Vfs>, Begin),
    control: &Control,
    explored: impl FnOnce(&dyn Method, explore::Setting) -> Result<Explored, Trouble>,
) -> Result<Explored, Trouble> {
    let &Setting { space, threads, budget, .. } = setting;
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let governor = Governor::new(budget);
    let ledger = || ledger(vfs.clone(), begin, &governor, space);
    let task = SearchTask { space, question: &question, control };
    let setting = explore::Setting { task, governor: &governor, threads, run: begin.run(&ledger) };
    let explored = explored(method, setting);
    assert!(governor.peak() <= budget, "peak {} of {budget}", governor.peak());
    explored
}

/// As [`search`], committing after every layer.
pub fn committing(
    method: &dyn Method,
    setting: &Setting,
    vfs: Arc<dyn Vfs>,
    begin: Begin,
) -> Result<Explored, Trouble> {
    let &Setting { space, threads, budget, limits } = setting;
    let (control, governor) = (Control::new(limits), Governor::new(budget));
    let question = Question::everything(space.properties(), DeadlockNotion::Off);
    let ledger = || Ok(ledger(vfs.clone(), begin, &governor, space)?.spaced(Duration::ZERO));
    let task = SearchTask { space, question: &question, control: &control };
    explore::explore(method, explore::Setting { task, governor: &governor, threads, run: begin.run(&ledger) })
}

/// The run in this folder, with small blocks.
pub fn ledger(
    vfs: Arc<dyn Vfs>,
    begin: Begin,
    governor: &Governor,
    space: &dyn StateSpace,
) -> Result<Ledger, Trouble> {
    let (threads, governor, print) = (IoThreads::new(1), governor.clone(), space.fingerprint());
    let folder = match begin {
        Begin::Fresh => RunFolder::create(Medium::new(vfs, threads, governor), print, 4096)?,
        Begin::Again => RunFolder::open(Medium::new(vfs, threads, governor), print, 4096, Verify::Tails)?,
    };
    Ok(Ledger::new(folder, serde_json::json!({})))
}

/// What the search in RAM says.
pub fn in_ram(space: &dyn StateSpace, deadlock: DeadlockNotion) -> Report {
    let question = Question::everything(space.properties(), deadlock);
    let control = Control::new(Limits::default());
    let task = SearchTask { space, question: &question, control: &control };
    explored_in_ram(&Breadth, task, &Governor::unlimited(), 1)
}

/// What a method says that keeps nothing on disk.
pub fn explored_in_ram(method: &dyn Method, task: SearchTask, governor: &Governor, threads: usize) -> Report {
    let setting = explore::Setting::in_ram(task, governor, threads);
    explore::explore(method, setting).expect("nothing fails in RAM").report
}

/// The same answer, the same numbers, the same layers; and every row adds up.
pub fn assert_same(report: &Report, expected: &Report, what: &str) {
    assert_eq!(report.verdict, expected.verdict, "{what}");
    let counts = |it: &Report| (it.states, it.transitions, it.depth, it.covers.clone());
    assert_eq!(counts(report), counts(expected), "{what}");
    let profile = |report: &Report| -> Vec<_> {
        report.layers.iter().map(|layer| (layer.states, layer.transitions, layer.unique)).collect()
    };
    assert_eq!(profile(report), profile(expected), "{what}");
    for (depth, layer) in report.layers.iter().enumerate() {
        assert!(layer.balances(), "{what}: layer {depth}: {layer:?}");
    }
}
