//! The strategies on models of the corpus and on random graphs: the numbers of the search in RAM, also after kills.

mod models;
#[path = "../../hadal-search/tests/runs/mod.rs"]
mod runs;
#[path = "../../hadal-search/tests/spaces/mod.rs"]
mod spaces;

use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, SearchTask, Setting, Verdict, explore,
};
use hadal_store::Governor;
use hadal_store::vfs::Vfs;
use hadal_system::StateSpace;
use hadal_testkit::{Faults, FaultyFolder, Survival};
use models::{corpus, load};
use runs::{Begin, in_ram, ledger};
use spaces::RandomGraph;
use std::sync::Arc;

/// Strategies that keep every layer.
fn exact() -> impl Iterator<Item = (&'static str, Strategy)> {
    hadal_search::strategies::on_disk().filter(|&(name, _)| name != "frontier")
}

struct Run<'a> {
    space: &'a dyn StateSpace,
    strategy: &'a Strategy,
    threads: usize,
    deadlock: DeadlockNotion,
}

impl Run<'_> {
    fn on(&self, vfs: Arc<dyn Vfs>, begin: Begin) -> Result<Report, Trouble> {
        let governor = Governor::new(4 << 20);
        let ledger = || ledger(vfs.clone(), begin, &governor, self.space);
        let question = Question::everything(self.space.properties(), self.deadlock);
        let control = Control::new(Limits::default());
        let task = SearchTask { space: self.space, question: &question, control: &control };
        let (threads, strategy) = (self.threads, self.strategy);
        let setting = Setting { task, governor: &governor, threads, run: begin.run(&ledger) };
        Ok(explore(strategy, setting)?.report)
    }

    fn in_ram(&self) -> Report {
        in_ram(self.space, self.deadlock)
    }
}

fn assert_same(report: &Report, expected: &Report, what: &str) {
    match (&report.verdict, &expected.verdict) {
        (Verdict::Violated(found), Verdict::Violated(wanted)) => {
            assert_eq!(found.kind, wanted.kind, "{what}");
            assert_eq!(found.path.len(), wanted.path.len(), "{what}: the trace is shortest");
            return;
        }
        (verdict, wanted) => assert_eq!(verdict, wanted, "{what}"),
    }
    let figures = |r: &Report| (r.states, r.transitions, r.depth, r.covers.clone());
    assert_eq!(figures(report), figures(expected), "{what}");
    for (row, wanted) in report.layers.iter().zip(&expected.layers) {
        assert!(row.balances(), "{what}: {row:?}");
        assert_eq!((row.states, row.transitions), (wanted.states, wanted.transitions), "{what}");
    }
    assert_eq!(report.layers.len(), expected.layers.len(), "{what}");
}

#[test]
fn models_of_the_corpus_have_the_same_numbers_with_every_strategy() {
    let Some(corpus) = corpus() else { return };
    let models = ["dve/bakery/bakery.1.dve", "dve/hanoi/hanoi.1.dve"];
    for file in models.into_iter().filter(|file| corpus.join(file).is_file()) {
        let options = ModelOptions { engine: Engine::Compiled, symmetry: SymmetryMode::Off };
        let model = Model::new(load(&corpus, file), options).unwrap();
        let mut expected = None;
        for (name, mut strategy) in exact() {
            strategy.cache = CacheKind::Off;
            let deadlock = DeadlockNotion::Off;
            let run = Run { space: &model, strategy: &strategy, threads: 2, deadlock };
            let expected = expected.get_or_insert_with(|| run.in_ram());
            let report = run.on(Arc::new(FaultyFolder::new(Faults::default())), Begin::Fresh).unwrap();
            assert_same(&report, expected, &format!("{file} {name}"));
        }
    }
}

#[test]
fn random_graphs_have_the_same_numbers_with_every_strategy_and_after_a_kill() {
    for seed in 0..6 {
        // Long cycles, short ones, self-loops, dead ends: whatever the seed gives.
        let graph = RandomGraph::new(seed, 4000);
        // A graph does not name the scalars of its states.
        for (n, (name, mut strategy)) in exact().filter(|(name, _)| *name != "structured").enumerate() {
            let caches = [CacheKind::Off, CacheKind::Buffer, CacheKind::Table, CacheKind::Lru];
            strategy.cache = caches[(n + seed as usize) % caches.len()];
            let deadlock = if seed % 3 == 0 { DeadlockNotion::Stuck } else { DeadlockNotion::Off };
            let run = Run { space: &graph, strategy: &strategy, threads: 1 + n % 2, deadlock };
            let expected = run.in_ram();
            let folder = FaultyFolder::new(Faults::default());
            let report = run.on(Arc::new(folder.clone()), Begin::Fresh).unwrap();
            let what = format!("{name} {:?}, seed {seed}", strategy.cache);
            assert_same(&report, &expected, &what);
            let die_at = Some(folder.operations() * (1 + seed % 5) / 6);
            let folder = FaultyFolder::new(Faults { die_at, ..Faults::default() });
            if run.on(Arc::new(folder.clone()), Begin::Fresh).is_err() {
                match run.on(Arc::new(folder.after_crash(Survival::Synced)), Begin::Again) {
                    Ok(report) => assert_same(&report, &expected, &format!("{what}, killed")),
                    Err(Trouble::Open(_) | Trouble::NothingToResume) => {}
                    Err(other) => panic!("{what}, killed: {other}"),
                }
            }
        }
    }
}
