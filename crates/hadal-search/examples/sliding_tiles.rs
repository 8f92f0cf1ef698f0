//! Exploring a state space written in Rust, without any modelling language: the sliding-tile puzzle.
//!
//! ```text
//! cargo run --release -p hadal-search --example sliding_tiles                 all of the 8-puzzle
//! cargo run --release -p hadal-search --example sliding_tiles 806547231       solve this one
//! ```
//!
//! The space itself is `hadal_search::tiles`: how a state is packed into 64-bit words, which states come next, and how to
//! show both to a person. Every explorer works on whatever says these three things.

use hadal_search::ram::Breadth;
use hadal_search::tiles::Tiles;
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, SearchTask, Setting, Verdict};
use hadal_store::Governor;
use hadal_system::StateSpace;

/// Explores breadth-first within a budget of bytes.
pub fn explore(puzzle: &Tiles, memory: u64, threads: usize) -> Report {
    let question = Question::everything(puzzle.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: puzzle, question: &question, control: &control };
    let governor = Governor::new(memory);
    hadal_search::explore(&Breadth, Setting::in_ram(task, &governor, threads))
        .expect("nothing fails in RAM")
        .report
}

#[allow(dead_code, reason = "the tests include this file as a module")]
fn main() {
    let puzzle = match std::env::args().nth(1) {
        None => Tiles::parse("012345678").map(Tiles::without_goal),
        Some(digits) => Tiles::parse(&digits),
    };
    let Some(puzzle) = puzzle else {
        eprintln!("give the tiles row by row, one hexadecimal digit each, 0 for the blank: 806547231");
        std::process::exit(2);
    };
    let report = explore(&puzzle, 1 << 30, 2);
    match &report.verdict {
        Verdict::Violated(found) => {
            for state in &found.path {
                puzzle.render_state(state).iter().for_each(|(_, row)| println!("{row}"));
                println!();
            }
            println!("solved in {} moves", found.path.len().saturating_sub(1));
        }
        Verdict::Holds if puzzle.properties().is_empty() => {
            println!("{} states, the farthest {} moves away", report.states, report.depth.unwrap_or(0));
        }
        Verdict::Holds => println!("cannot be solved: {} states seen", report.states),
        Verdict::Stopped(reason) => println!("stopped: {reason:?}"),
    }
}
