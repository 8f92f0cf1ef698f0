//! Accepted cycles by sorting and scanning: every worker has a part of each set.

use super::graphs::{Dice, Graph, check_lasso, violated};
use super::hall::on_all;
use super::runs::{self, Begin};
use hadal_search::cycles::external::{DistributedCycles, External};
use hadal_search::exchange::Exchange;
use hadal_search::explore::{self, Run};
use hadal_search::{
    Control, DeadlockNotion, Folders, Limits, Question, Report, SearchTask, StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_store::vfs::Folder;
use hadal_system::StateSpace;
use hadal_testkit::Random;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Copy)]
struct Asked<'a> {
    graph: &'a Graph,
    engine: External,
    limits: Limits,
}

impl Asked<'_> {
    fn done(&self, workers: usize) -> Vec<Report> {
        let folder = tempfile::tempdir().unwrap();
        self.on(workers, folder.path(), None)
    }

    /// What every worker comes to; the folders are below `place`, those of so many former workers in another.
    fn on(&self, workers: usize, place: &Path, former: Option<(&Path, usize)>) -> Vec<Report> {
        let space: &dyn StateSpace = self.graph;
        on_all(&vec![1; workers], 2, &|exchange| {
            let me = exchange.me();
            let governor = Governor::new(8 << 20);
            let open = |path: PathBuf| {
                std::fs::create_dir_all(&path).unwrap();
                let governor = governor.clone();
                move || {
                    let begin = match std::fs::read_dir(&path).unwrap().count() {
                        0 => Begin::Fresh,
                        _ => Begin::Again,
                    };
                    runs::ledger(Arc::new(Folder::open(&path).unwrap()), begin, &governor, space)
                }
            };
            let (before, number) = former.unwrap_or((place, 0));
            let assigned = (me..number).step_by(workers);
            let opened: Vec<_> = assigned.map(|worker| open(before.join(worker.to_string()))).collect();
            let opened: Vec<&dyn Folders> = opened.iter().map(|open| open as &dyn Folders).collect();
            let method = DistributedCycles::new(self.engine, exchange);
            let method = if former.is_some() { method.after(&opened) } else { method };
            let question = Question::everything(space.properties(), DeadlockNotion::Off);
            let control = Control::new(self.limits);
            let task = SearchTask { space, question: &question, control: &control };
            let ledger = open(place.join(me.to_string()));
            let run = Run::New(&ledger);
            let setting = explore::Setting { task, governor: &governor, threads: 1, run };
            explore::explore(&method, setting).unwrap().report
        })
    }
}

/// Graphs on which this search answers.
fn drawn(seed: u64, count: usize) -> Vec<Graph> {
    let mut dice = Dice(Random::new(seed));
    std::iter::repeat_with(|| dice.graph())
        .filter(|graph| {
            let acceptance = graph.acceptance().expect("a claim");
            acceptance.sets == 1 && acceptance.on_states && acceptance.pairs == 0
        })
        .take(count)
        .collect()
}

#[test]
fn any_number_of_workers_gives_the_answer_and_the_lasso_of_one() {
    let mut wrong = 0;
    for (n, graph) in drawn(3, 24).iter().enumerate() {
        for engine in [External::Owcty, External::Map] {
            let asked = Asked { graph, engine, limits: Limits::default() };
            let alone = asked.done(1).remove(0);
            assert_eq!(matches!(alone.verdict, Verdict::Violated(_)), violated(graph), "graph {n}");
            if violated(graph) {
                wrong += 1;
                check_lasso(graph, &alone, "external");
            }
            for workers in [2, 3, 5, 8] {
                for report in asked.done(workers) {
                    assert_eq!(report.verdict, alone.verdict, "graph {n}, {engine:?}, {workers} workers");
                    let counted = |report: &Report| (report.states, report.transitions);
                    assert_eq!(counted(&report), counted(&alone), "graph {n}, {engine:?}, {workers} workers");
                }
            }
        }
    }
    assert!(wrong > 2, "{wrong}");
}

#[test]
fn any_number_of_workers_goes_on_where_others_stopped() {
    for (n, graph) in drawn(9, 4).iter().enumerate() {
        for engine in [External::Owcty, External::Map] {
            let asked = Asked { graph, engine, limits: Limits::default() };
            let alone = asked.done(1).remove(0);
            let folder = tempfile::tempdir().unwrap();
            let place = |n: usize| folder.path().join(n.to_string());
            let mut before: Option<(PathBuf, usize)> = None;
            for (sitting, workers) in [3, 2, 4, 1, 3].into_iter().enumerate() {
                let max_states = (sitting < 4).then_some(alone.states * (sitting as u64 + 1) / 5 + 1);
                let asked = Asked { limits: Limits { max_states, ..Limits::default() }, ..asked };
                let former = before.as_ref().map(|(path, workers)| (path.as_path(), *workers));
                let mut stopped = false;
                for report in asked.on(workers, &place(sitting), former) {
                    stopped = report.verdict == Verdict::Stopped(StopReason::StateLimit);
                    assert!(stopped || report.verdict == alone.verdict, "graph {n}, sitting {sitting}");
                }
                if !stopped {
                    break;
                }
                before = Some((place(sitting), workers));
            }
        }
    }
}
