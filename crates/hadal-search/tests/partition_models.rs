//! Exploration partition by partition on models of the corpus: the numbers of the search in RAM.

use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_search::layered::ledger::Ledger;
use hadal_search::partition::{Heuristic, PartitionOptions, PartitionSearch, explore};
use hadal_search::ram::{Search, breadth};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, Task, Verdict};
use hadal_store::Governor;
use hadal_store::manifest::RunFolder;
use hadal_store::vfs::{Faults, FaultyFolder, IoThreads};
use hadal_system::{Source, StateSpace, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The corpus: `HADAL_CORPUS`, else beside the workspace.
fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models");
    let corpus = std::env::var_os("HADAL_CORPUS").map_or_else(beside, PathBuf::from);
    if !corpus.is_dir() {
        println!("skipped: no corpus at {} (set HADAL_CORPUS)", corpus.display());
    }
    corpus.is_dir().then_some(corpus)
}

fn load(corpus: &Path, file: &str) -> System {
    let text = String::from_utf8_lossy(&std::fs::read(corpus.join(file)).unwrap()).into_owned();
    let source = Source::new(file, text);
    match file.ends_with(".m") {
        true => hadal_lang::murphi::load(source, &[]).unwrap().system,
        false => hadal_lang::dve::load(source, &[]).unwrap().system,
    }
}

fn in_ram(task: Task) -> Report {
    breadth::explore(&Search { task, governor: &Governor::unlimited(), threads: 1 })
}

fn by_partition(task: Task, heuristic: Heuristic, resident: u64) -> Report {
    let governor = Governor::new(16 << 20);
    let print = task.space.fingerprint();
    let ledger = || {
        let vfs = Arc::new(FaultyFolder::new(Faults::default()));
        let folder = RunFolder::create(vfs, IoThreads::new(1), governor.clone(), print, 4096)?;
        Ok(Ledger::new(folder, serde_json::json!({})))
    };
    let options = PartitionOptions {
        heuristic,
        resident_states: Some(resident),
        sample_states: 1000,
        ..PartitionOptions::default()
    };
    explore(&PartitionSearch { task, ledger: &ledger, governor: &governor, options }).unwrap()
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
        let task = Task { space: &model, question: &question, control: &control };
        let ram = in_ram(task);
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
            let figures = report.partition.unwrap();
            assert!(figures.largest <= (resident / 2).max(4), "{file} {name}: {figures:?}");
        }
    }
}
