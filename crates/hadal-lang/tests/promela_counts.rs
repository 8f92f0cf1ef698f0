//! State counts of Promela models equal SPIN's without reduction and merging: small models of one trap each, and the
//! published corpus.
//!
//! The corpus is not part of the repository: `HADAL_CORPUS` names its folder (default `../shared/models` beside the
//! workspace), counts lie beside it in `oracles/promela.tsv`. Without it the tests print a line and pass.

use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_lang::diagnostic::render_plain;
use hadal_lang::promela::{self, Options};
use hadal_system::{Source, StateSpace, Successors, System};
use hadal_testkit::corpus;
use std::collections::HashSet;
use std::path::Path;

fn load(name: &str, text: &str, folder: &Path) -> Result<System, String> {
    let include = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let options = Options { include: &include, ..Options::default() };
    promela::load(Source::new(name, text), options).map(|loaded| loaded.system).map_err(|refused| {
        refused.diagnostics.list.iter().map(|finding| render_plain(&refused.source_text, finding)).collect()
    })
}

/// States, transitions, and steps that meet an error.
fn count(system: System, engine: Engine) -> (usize, usize, usize) {
    let model = Model::new(system, ModelOptions { engine, ..ModelOptions::default() }).expect("it runs");
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut open: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut seen: HashSet<Vec<u64>> = open.iter().cloned().collect();
    let (mut at, mut transitions, mut faults) = (0, 0, 0);
    while at < open.len() {
        out.clear();
        worker.successors(&open[at], &mut out);
        transitions += out.len();
        faults += out.faults().len();
        for (_, state) in out.iter() {
            if seen.insert(state.to_vec()) {
                open.push(state.to_vec());
            }
        }
        at += 1;
    }
    (open.len(), transitions, faults)
}

/// Models of our own, with the states and transitions that SPIN 6.5.2 counts for them
/// (`spin -o1 -o2 -o3 -a`, `-DSAFETY -DNOREDUCE`, transitions less the start).
const SMALL: &[(&str, usize, usize)] = &[
    // The end is a step.
    ("active proctype A() { skip; skip }", 4, 3),
    // Jumps are none; a jump that begins an option is.
    ("byte x; active proctype A() { if :: goto L :: x = 1 fi; x = 2; L: x = 3 }", 6, 6),
    // A block that begins with a loop has a state of its own.
    ("byte x; active proctype A() { x = 1; { do :: x < 3 -> x++ :: else -> break od }; x = 0 }", 9, 8),
    // A variable that is declared in the middle is set by a step.
    ("byte x; active proctype A() { x = 1; byte y; y = x; { byte z = 2; x = z } }", 7, 6),
    // An atomic sequence that blocks can be seen.
    (
        "bit a, b; active proctype A() { atomic { a = 1; b == 1; a = 0 } } active proctype B() { b = 1 }",
        9,
        11,
    ),
    // Messages that must match; sorted messages; messages taken from the middle.
    (
        "chan c = [2] of { byte, byte }; byte x; active proctype A() { c!1,2; c!3,4; c??3,x; c?1,x; x = 0 }",
        7,
        6,
    ),
    // Arithmetic wraps.
    ("byte x = 254; short y = 32767; active proctype A() { x = x + 3; y++; x == 1 && y == -32768 }", 5, 4),
];

#[test]
fn small_models_have_the_states_that_spin_counts() {
    for (text, states, transitions) in SMALL {
        for engine in [Engine::Interpreted, Engine::Compiled] {
            let system = load("small.pml", text, Path::new(".")).unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert_eq!(count(system, engine), (*states, *transitions, 0), "{text} {engine:?}");
        }
    }
}

/// Rows of the table up to this many states are counted by compiled code, and by the interpreter up to the second.
const LARGEST: usize = 100_000;
const LARGEST_INTERPRETED: usize = 300;

#[test]
fn the_corpus_has_the_states_that_spin_counts() {
    let (Some(models), Some(table)) = (corpus::find("promela"), corpus::oracle("promela.tsv")) else {
        return;
    };
    let oracles = table.parent().unwrap_or(Path::new("."));
    let table = std::fs::read_to_string(&table).expect("the table can be read");
    let mut compared = 0;
    for row in table.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let folder = match columns.first() {
            Some(&"plain") => models.as_path(),
            Some(&"micro") => oracles,
            _ => continue,
        };
        let number = |n: usize| columns.get(n).and_then(|text| text.parse::<usize>().ok());
        let (Some(states), Some(transitions)) = (number(2), number(3)) else { continue };
        if states > LARGEST {
            continue;
        }
        let path = folder.join(columns[1]);
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a model")).into_owned();
        let parent = path.parent().unwrap_or(Path::new("."));
        let engines: &[Engine] = match states <= LARGEST_INTERPRETED {
            true => &[Engine::Compiled, Engine::Interpreted],
            false => &[Engine::Compiled],
        };
        for &engine in engines {
            let system = load(columns[1], &text, parent).unwrap_or_else(|e| panic!("{}\n{e}", columns[1]));
            let (found, fired, faults) = count(system, engine);
            // The table's runs go on behind assertions that fail; here such a step leads nowhere.
            if faults > 0 && found < states {
                println!("{}: {faults} steps meet an error, nothing to compare", columns[1]);
                continue;
            }
            assert_eq!(found, states, "{} {engine:?}", columns[1]);
            let atomic = number(4).unwrap_or(0);
            if atomic == 0 {
                assert_eq!(fired + faults, transitions, "{} {engine:?}", columns[1]);
            }
        }
        compared += 1;
    }
    println!("{compared} rows compared");
    assert!(compared > 60);
}
