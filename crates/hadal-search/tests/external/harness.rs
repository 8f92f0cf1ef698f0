//! Runs External A* on a folder in RAM and looks at what must always hold.

use hadal_search::external::{External, ExternalFigures, ExternalOptions};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, SearchTask, Setting, Verdict};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::guide::{Goal, Guide};
use hadal_system::{Label, StateSpace, Successors};
use hadal_testkit::{Faults, FaultyFolder};
use std::sync::Arc;

#[derive(Clone)]
pub struct Run<'a> {
    pub space: &'a dyn StateSpace,
    pub guide: &'a dyn Guide,
    pub deadlock: DeadlockNotion,
    pub options: ExternalOptions,
    pub threads: usize,
    pub budget: u64,
    pub limits: Limits,
}

/// What a search answers.
#[derive(Clone, Debug)]
pub struct Explored {
    pub report: Report,
    pub figures: ExternalFigures,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    Fresh,
    Again,
}

impl<'a> Run<'a> {
    pub fn new(space: &'a dyn StateSpace, guide: &'a dyn Guide) -> Self {
        Run {
            space,
            guide,
            deadlock: DeadlockNotion::Off,
            options: ExternalOptions::default(),
            threads: 1,
            budget: 64 << 20,
            limits: Limits::default(),
        }
    }

    pub fn on(&self, vfs: Arc<dyn Vfs>, begin: Begin) -> Result<Explored, Trouble> {
        let (space, governor) = (self.space, Governor::new(self.budget));
        let question = Question::everything(space.properties(), self.deadlock);
        let ledger = || {
            let (threads, governor, print) = (IoThreads::new(1), governor.clone(), space.fingerprint());
            let folder = match begin {
                Begin::Fresh => RunFolder::create(Medium::new(vfs.clone(), threads, governor), print, 4096)?,
                Begin::Again => {
                    RunFolder::open(Medium::new(vfs.clone(), threads, governor), print, 4096, Verify::Tails)?
                }
            };
            Ok(Ledger::new(folder, serde_json::json!({})))
        };
        let control = Control::new(self.limits);
        let goal = Goal {
            deadlock: self.deadlock != DeadlockNotion::Off,
            ..Goal::of_properties(space.properties())
        };
        let task = SearchTask { space, question: &question, control: &control };
        let run = match begin {
            Begin::Fresh => hadal_search::Run::New(&ledger),
            Begin::Again => hadal_search::Run::Resumed(&ledger),
        };
        let setting = Setting { task, governor: &governor, threads: self.threads, run };
        let external = External { guide: self.guide, goal: &goal, options: self.options.clone() };
        let explored = hadal_search::explore(&external, setting).map(|explored| {
            let report = explored.report;
            Explored { figures: report.external().expect("External A* has figures").clone(), report }
        });
        assert!(governor.peak() <= self.budget, "peak {} of {}", governor.peak(), self.budget);
        explored
    }

    pub fn done(&self) -> Explored {
        self.on(Arc::new(FaultyFolder::new(Faults::default())), Begin::Fresh).unwrap()
    }
}

/// The cost of the path that was found, which must be one.
pub fn replayed_cost(space: &dyn StateSpace, explored: &Explored) -> Option<u64> {
    let Verdict::Violated(found) = &explored.report.verdict else { return None };
    let path = &found.path;
    let mut out = Successors::new(space.words());
    let mut worker = space.worker();
    worker.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == path[0]), "the path begins at an initial state");
    let mut cost = 0;
    for pair in path.windows(2) {
        out.clear();
        worker.successors(&pair[0], &mut out);
        let steps = out.iter().filter(|(_, state)| *state == pair[1]);
        let labels: Vec<Label> = steps.map(|(label, _)| label).collect();
        let mut costs = Vec::new();
        worker.costs(&pair[0], &labels, &mut costs);
        cost += u64::from(costs.into_iter().min().expect("a step of the path is a transition"));
    }
    Some(cost)
}
