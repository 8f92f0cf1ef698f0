//! Holds compiled code against the interpreter, successor by successor: on generated systems
//! (`agree --seeds 0..500`) or on model files (`agree model.m other.dve --states 2000`).

use std::collections::{HashSet, VecDeque};
use std::process::ExitCode;

use hadal_exec::Interpreter;
use hadal_exec::compile::Compiled;
use hadal_system::{Layout, PropertyId, Source, Successors, System};
use hadal_testkit::generate::{self, Size};

fn main() -> ExitCode {
    let mut files = Vec::new();
    let (mut seeds, mut states) = (0..0, 2000);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seeds" => {
                let range = args.next().unwrap_or_default();
                let (from, to) = range.split_once("..").unwrap_or(("0", "100"));
                seeds = from.parse().unwrap_or(0)..to.parse().unwrap_or(100);
            }
            "--states" => states = args.next().and_then(|n| n.parse().ok()).unwrap_or(states),
            _ => files.push(arg),
        }
    }
    let mut failed = 0;
    for seed in seeds {
        for size in [Size::SMALL, Size::SYMMETRIC] {
            let system = generate::system(seed, size);
            if let Err(why) = compare(&system, states) {
                println!("seed {seed} {size:?}: {why}");
                failed += 1;
            }
        }
    }
    for file in files {
        match load(&file) {
            Ok(system) => match compare(&system, states) {
                Ok(seen) => println!("{file}: agree on {seen} states"),
                Err(why) => {
                    println!("{file}: {why}");
                    failed += 1;
                }
            },
            Err(why) => println!("{file}: not loaded: {why}"),
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn load(file: &str) -> Result<System, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let source = Source::new(file, text);
    if file.ends_with("dve") {
        hadal_lang::dve::load(source, &[]).map(|l| l.system).map_err(|_| "refused".to_owned())
    } else {
        hadal_lang::murphi::load(source, &[]).map(|l| l.system).map_err(|_| "refused".to_owned())
    }
}

fn compare(system: &System, bound: usize) -> Result<usize, String> {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let compiled = Compiled::new(system, &layout).map_err(|e| e.to_string())?;
    let properties = system.property_infos().len();
    let mut seen = HashSet::new();
    let mut open = VecDeque::new();
    let (mut want, mut got) = (Successors::new(layout.words()), Successors::new(layout.words()));
    let (mut want_covers, mut got_covers) = (vec![0; properties], vec![0; properties]);
    interpreter.initial(&mut want, &mut want_covers);
    compiled.initial(&mut got, &mut got_covers);
    let mut place = "initial".to_owned();
    loop {
        if want.labels() != got.labels() {
            return Err(format!("{place}: labels {:?}, compiled {:?}", want.labels(), got.labels()));
        }
        for (n, (label, state)) in want.iter().enumerate() {
            if state != got.state(n) {
                let difference: Vec<String> = layout
                    .unpack(system, state)
                    .into_iter()
                    .zip(layout.unpack(system, got.state(n)))
                    .zip(system.slots())
                    .filter(|((a, b), _)| a != b)
                    .map(|((a, b), (name, _))| format!("{name}: {a:?}, compiled {b:?}"))
                    .collect();
                return Err(format!("{place}: {label:?} leads elsewhere: {}", difference.join("; ")));
            }
            if seen.len() < bound && seen.insert(state.to_vec()) {
                open.push_back(state.to_vec());
            }
        }
        if want.faults() != got.faults() {
            return Err(format!("{place}: faults {:?}, compiled {:?}", want.faults(), got.faults()));
        }
        if want_covers != got_covers {
            return Err(format!("{place}: covers {want_covers:?}, compiled {got_covers:?}"));
        }
        let Some(state) = open.pop_front() else { return Ok(seen.len()) };
        place = format!("state {state:x?}");
        let (a, b) = (interpreter.check(&state), compiled.check(&state));
        if a != b {
            return Err(format!("{place}: check {a:?}, compiled {b:?}"));
        }
        for id in (0..properties as u32).map(PropertyId) {
            let (a, b) = (interpreter.satisfies(&state, id), compiled.satisfies(&state, id));
            if a != b {
                return Err(format!("{place}: {id:?} {a:?}, compiled {b:?}"));
            }
        }
        want.clear();
        got.clear();
        interpreter.successors(&state, &mut want, &mut want_covers);
        compiled.successors(&state, &mut got, &mut got_covers);
    }
}
