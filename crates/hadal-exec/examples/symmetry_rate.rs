//! What canonicalisation costs: nanoseconds per state on the successors of a Murphi model's states.
//!
//! `cargo run --release -p hadal-exec --example symmetry_rate -- MODEL.m [NAME=VALUE]... [--states N]`

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use hadal_exec::symmetry::Canonicaliser;
use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_system::{Source, StateSpace, Successors};

/// States timed in one go, short enough to fall between interruptions.
const BATCH: usize = 256;

fn main() {
    let mut file = None;
    let mut constants = Vec::new();
    let mut bound = 20_000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--states" {
            bound = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(bound);
        } else if let Some((name, value)) = argument.split_once('=') {
            constants.push((name.to_owned(), value.parse().expect("a constant is an integer")));
        } else {
            file = Some(argument);
        }
    }
    let file = file.expect("a Murphi model");
    let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a readable model")).into_owned();
    let loaded = hadal_lang::murphi::load(Source::new(file.as_str(), text), &constants).expect("a model");
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let model = Model::new(loaded.system, options).expect("a model that can run");
    for mode in [SymmetryMode::Exact, SymmetryMode::Heuristic] {
        match Canonicaliser::new(model.system(), model.layout(), mode) {
            Some(canonicaliser) => measure(&model, &canonicaliser, bound),
            None => println!("{file}: no symmetry"),
        }
    }
}

/// Explores through representatives, then times the canonicalisation of all successors met on the way.
fn measure(model: &Model, canonicaliser: &Canonicaliser, bound: usize) {
    let words = model.words();
    let mut scratch = canonicaliser.scratch();
    let mut worker = model.worker();
    let mut out = Successors::new(words);
    let (mut raw, mut seen, mut queue) = (Vec::new(), HashSet::new(), VecDeque::new());
    let started = Instant::now();
    worker.initial(&mut out);
    loop {
        raw.extend_from_slice(out.states());
        for (_, state) in out.iter() {
            let mut state = state.to_vec();
            canonicaliser.canonicalise(&mut state, &mut scratch);
            if seen.insert(state.clone()) {
                queue.push_back(state);
            }
        }
        let Some(state) = queue.pop_front().filter(|_| seen.len() < bound) else { break };
        out.clear();
        worker.successors(&state, &mut out);
    }
    let explored = started.elapsed();
    let count = raw.len() / words;
    let mut best = vec![Duration::MAX; count.div_ceil(BATCH)];
    for _ in 0..10 {
        let mut states = raw.clone();
        for (batch, best) in states.chunks_mut(words * BATCH).zip(&mut best) {
            let started = Instant::now();
            batch.chunks_exact_mut(words).for_each(|state| canonicaliser.canonicalise(state, &mut scratch));
            *best = (*best).min(started.elapsed());
        }
    }
    let nanoseconds = best.iter().sum::<Duration>().as_nanos() as f64 / count as f64;
    println!(
        "{canonicaliser}: {} states, {count} successors, {} bits: {nanoseconds:.0} ns per successor \
         (interpreted exploration {:.0})",
        seen.len(),
        model.bits(),
        explored.as_nanos() as f64 / count as f64
    );
}
