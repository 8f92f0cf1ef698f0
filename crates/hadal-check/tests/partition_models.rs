//! Exploration partition by partition on models of the corpus: the numbers of the search in RAM.

mod models;
#[path = "../../hadal-search/tests/runs/mod.rs"]
mod runs;

use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_search::partition::{Heuristic, PartitionOptions};
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, Run, SearchTask, Setting, Verdict, explore,
};
use hadal_store::Governor;
use hadal_system::StateSpace;
use hadal_testkit::{Faults, FaultyFolder};
use models::{corpus, load};
use runs::{Begin, in_ram, ledger};
use std::sync::Arc;

fn by_partition(task: SearchTask, heuristic: Heuristic, resident: u64) -> Report {
    let governor = Governor::new(16 << 20);
    let vfs = Arc::new(FaultyFolder::new(Faults::default()));
    let ledger = || ledger(vfs.clone(), Begin::Fresh, &governor, task.space);
    let options = PartitionOptions {
        heuristic,
        resident_states: Some(resident),
        sample_states: 1000,
        ..PartitionOptions::default()
    };
    let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&ledger) };
    explore(&options, setting).unwrap().report
}

#[test]
fn models_of_the_corpus_have_the_same_numbers_at_ten_to_one_percent_of_their_states() {
    let Some(corpus) = corpus() else { return };
    let models = [
        "dve/adding/adding.1.dve",
        "dve/anderson/anderson.2.dve",
        "dve/bakery/bakery.1.dve",
        "murphi/cmurphi/mux/2_peterson.m",
        "murphi/cmurphi/sym/list6.m",
    ];
    for file in models.into_iter().filter(|file| corpus.join(file).is_file()) {
        let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
        let model = Model::new(load(&corpus, file), options).unwrap();
        assert!(!model.fields().is_empty());
        let question = Question::everything(model.properties(), DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let task = SearchTask { space: &model, question: &question, control: &control };
        let ram = in_ram(&model, DeadlockNotion::Off);
        if ram.verdict != Verdict::Holds || ram.states > 20_000 {
            continue;
        }
        for (name, heuristic) in Heuristic::ALL {
            let percent = if heuristic == Heuristic::Adaptive { 1 } else { 10 };
            let resident = (ram.states * percent / 100).max(16);
            let report = by_partition(task, heuristic, resident);
            assert_eq!(report.verdict, Verdict::Holds, "{file} {name}");
            assert_eq!(
                (report.states, report.transitions),
                (ram.states, ram.transitions),
                "{file} {name} at {percent} %"
            );
            let figures = report.particular.partition.unwrap();
            assert!(figures.sizes.largest <= (resident / 2).max(4), "{file} {name}: {figures:?}");
        }
    }
}
