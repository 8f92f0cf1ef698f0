//! External A* on a state space written in Rust: solves a sliding-tile puzzle within a memory budget.
//!
//! ```text
//! cargo run --release -p hadal-search --example external_astar EDF7BC95602148A3 [MEGABYTES [THREADS [DIRECTORY]]]
//! ```
//!
//! One hexadecimal digit a tile, row by row, 0 for the blank; the goal is 0123456789ABCDEF.

use hadal_search::external::{External, ExternalOptions, TraceBy};
use hadal_search::layered::ledger::Ledger;
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Run, SearchTask, Setting, Verdict, explore};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder};
use hadal_store::vfs::{Folder, IoThreads};
use hadal_system::StateSpace;
use hadal_system::guide::{Goal, Guide};
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let digits = arguments.first().map_or("C8FD1054632B97EA", String::as_str);
    let number = |n: usize, usual| arguments.get(n).map_or(Ok(usual), |text| text.parse::<u64>());
    let (megabytes, threads) = (number(1, 256)?, number(2, 2)? as usize);
    let tiles = Tiles::parse(digits).filter(Tiles::is_solvable).ok_or("not a puzzle that can be solved")?;
    let directory = match arguments.get(3) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join(format!("external-astar-{}", std::process::id())),
    };
    let governor = Governor::new(megabytes << 20);
    let ledger = || {
        std::fs::create_dir_all(&directory)
            .and_then(|()| Folder::create(&directory))
            .map_err(|source| hadal_store::WriteError::Io { file: directory.display().to_string(), source })
            .map_err(hadal_search::layered::Trouble::from)
            .and_then(|folder| {
                let (vfs, threads) = (Arc::new(folder), IoThreads::new(2));
                let run = RunFolder::create(
                    Medium::new(vfs, threads, governor.clone()),
                    tiles.fingerprint(),
                    1 << 20,
                )?;
                Ok(Ledger::new(run, serde_json::json!({})))
            })
    };
    let guide = Manhattan::new(&tiles);
    let question = Question::everything(tiles.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let external = External {
        guide: &guide,
        goal: &Goal::of_properties(tiles.properties()),
        options: ExternalOptions {
            trace_by: match arguments.get(4).map(String::as_str) {
                Some("parents") => TraceBy::Parents,
                Some("divide") => TraceBy::Divide,
                _ => TraceBy::Scan,
            },
            ..ExternalOptions::default()
        },
    };
    let task = SearchTask { space: &tiles, question: &question, control: &control };
    let found = explore(&external, Setting { task, governor: &governor, threads, run: Run::New(&ledger) });
    std::fs::remove_dir_all(&directory)?;
    let found = found?;
    let figures = found.report.external().ok_or("External A* has figures")?;
    let seconds = control.elapsed().as_secs_f64();
    if let Verdict::Violated(violation) = &found.report.verdict {
        let moves = violation.path.len().saturating_sub(1);
        println!("solved in {moves} moves with the guide {}", guide.name());
    }
    println!(
        "{} expanded, {} generated, {} stored; {} buckets of at most {}; {seconds:.1} s, {:.2} million a second",
        figures.states.expanded,
        figures.states.generated,
        figures.states.stored,
        figures.buckets.len(),
        figures.bucket_bound.unwrap_or(0),
        figures.states.expanded as f64 / seconds / 1e6,
    );
    println!(
        "{} MiB of memory at most, {} MiB written, {} MiB read",
        found.report.peak_memory >> 20,
        figures.bytes_written >> 20,
        figures.bytes_read >> 20,
    );
    Ok(())
}
