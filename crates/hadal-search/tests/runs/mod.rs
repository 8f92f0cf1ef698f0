//! What tests of searches on disk set up: run folders, settings, the search in RAM to compare with, models of the corpus.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::ram::{Search, breadth};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, Task};
use hadal_store::Governor;
use hadal_store::manifest::{RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::{Source, StateSpace, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// The run in this folder, with small blocks.
pub fn ledger(
    vfs: Arc<dyn Vfs>,
    begin: Begin,
    governor: &Governor,
    space: &dyn StateSpace,
) -> Result<Ledger, Trouble> {
    let (threads, governor, print) = (IoThreads::new(1), governor.clone(), space.fingerprint());
    let folder = match begin {
        Begin::Fresh => RunFolder::create(vfs, threads, governor, print, 4096)?,
        Begin::Again => RunFolder::open(vfs, threads, governor, print, 4096, Verify::Tails)?,
    };
    Ok(Ledger::new(folder, serde_json::json!({})))
}

/// What the search in RAM says.
pub fn in_ram(space: &dyn StateSpace, deadlock: DeadlockNotion) -> Report {
    let question = Question::everything(space.properties(), deadlock);
    let control = Control::new(Limits::default());
    let task = Task { space, question: &question, control: &control };
    breadth::explore(&Search { task, governor: &Governor::unlimited(), threads: 1 })
}

/// The corpus, if it is there.
pub fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("")
}

/// A model of the corpus.
pub fn load(corpus: &Path, file: &str) -> System {
    let text = String::from_utf8_lossy(&std::fs::read(corpus.join(file)).unwrap()).into_owned();
    let source = Source::new(file, text);
    match file.ends_with(".m") {
        true => hadal_lang::murphi::load(source, &[]).unwrap().system,
        false => hadal_lang::dve::load(source, &[]).unwrap().system,
    }
}
