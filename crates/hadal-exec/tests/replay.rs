//! Every path that a search finds replays, whatever the symmetry mode.

mod support;

use std::collections::HashMap;

use hadal_exec::replay::{Ending, ReplayError, TraceEnd, replay};
use hadal_exec::{Engine, FaultKind, Model, ModelOptions, Outcome, SymmetryMode};
use hadal_system::*;
use hadal_testkit::generate::{self, Size};
use support::*;

const MODES: [SymmetryMode; 3] = [SymmetryMode::Off, SymmetryMode::Heuristic, SymmetryMode::Exact];

fn model(system: System, symmetry: SymmetryMode) -> Model {
    Model::new(system, ModelOptions { engine: Engine::Interpreted, symmetry }).unwrap()
}

/// Breadth-first paths of up to `bound` states, with what was seen at their end.
fn paths(model: &Model, bound: usize) -> Vec<(Vec<Vec<u64>>, Ending)> {
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut found: Vec<_> = out.faults().iter().map(|&label| (Vec::new(), Ending::Fault(label))).collect();
    let mut parents: HashMap<Vec<u64>, Option<Vec<u64>>> = HashMap::new();
    let mut queue = std::collections::VecDeque::new();
    for (_, state) in out.iter() {
        if parents.insert(state.to_vec(), None).is_none() {
            queue.push_back(state.to_vec());
        }
    }
    while let Some(state) = queue.pop_front() {
        let mut path = vec![state.clone()];
        while let Some(before) = &parents[path.last().unwrap()] {
            path.push(before.clone());
        }
        path.reverse();
        match worker.check(&state) {
            Check::Fine => found.push((path.clone(), Ending::State)),
            Check::Hit(id) | Check::Fault(id) => found.push((path.clone(), Ending::Property(id))),
        }
        out.clear();
        worker.successors(&state, &mut out);
        found.extend(out.faults().iter().map(|&label| (path.clone(), Ending::Fault(label))));
        for (_, next) in out.iter() {
            if parents.len() < bound && !parents.contains_key(next) {
                parents.insert(next.to_vec(), Some(state.clone()));
                queue.push_back(next.to_vec());
            }
        }
    }
    found
}

#[test]
fn every_path_of_generated_systems_replays_in_every_symmetry_mode() {
    for seed in 0..150 {
        for mode in MODES {
            let model = model(generate::system(seed, Size::SYMMETRIC), mode);
            for (path, ending) in paths(&model, 60) {
                let trace = replay(&model, &path, ending)
                    .unwrap_or_else(|error| panic!("seed {seed}, {mode}, {path:x?}, {ending:?}: {error}"));
                assert_eq!(trace.steps.len(), path.len());
                let interpreter = model.interpreter();
                for pair in trace.steps.windows(2) {
                    let outcome = interpreter.fire(&pair[0].state, pair[1].label);
                    assert!(matches!(outcome, Outcome::Reached(_)), "seed {seed}: {outcome:?}");
                }
            }
        }
    }
}

/// `x` counts from 0 up to 3 by an action that is called `step`; past 3 is an error.
fn counter() -> System {
    let mut system = empty();
    let shape = system.scalar(Domain::range(0, 3, true));
    let x = system.var("x", shape);
    system.action(Vec::new(), int(1), vec![set(&x, int(0))]);
    system.starts = std::mem::take(&mut system.actions);
    let say = stmt(StmtKind::Print(vec![PrintItem::Text("tick".into())]));
    system.action(Vec::new(), int(1), vec![say, add_one(&x)]);
    system.actions[0].name = "step".into();
    system.invariant(bin(BinaryOp::Less, x.read(), int(2)));
    system
}

#[test]
fn a_trace_shows_what_was_done_printed_and_read() {
    let model = model(counter(), SymmetryMode::Off);
    let path: Vec<Vec<u64>> = (1..=3).map(|code| vec![code]).collect();
    let trace = replay(&model, &path, Ending::Property(PropertyId(0))).unwrap();
    assert_eq!(trace.steps[1].action, "step");
    assert_eq!(trace.steps[1].printed, "tick");
    let TraceEnd::Property { name, values, fault: None, .. } = trace.end else { panic!("{:?}", trace.end) };
    assert_eq!((name.as_str(), values.len()), ("invariant0", 1));
    assert_eq!((values[0].name.as_str(), values[0].value.as_str()), ("x", "2"));
}

#[test]
fn a_trace_may_end_in_an_error_of_the_model() {
    let model = model(counter(), SymmetryMode::Off);
    let path: Vec<Vec<u64>> = (1..=4).map(|code| vec![code]).collect();
    let trace = replay(&model, &path, Ending::Fault(Label(0))).unwrap();
    let TraceEnd::Fault { fault, printed, .. } = trace.end else { panic!("{:?}", trace.end) };
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Range, "`x`: value 4 is outside 0..3"));
    assert_eq!(printed, "tick");
}

#[test]
fn what_does_not_replay_is_refused() {
    let model = model(counter(), SymmetryMode::Off);
    let jump = [vec![1], vec![3]];
    assert_eq!(replay(&model, &jump, Ending::State), Err(ReplayError::NoStep { step: 1 }));
    let fine = [vec![1]];
    assert!(matches!(replay(&model, &fine, Ending::Property(PropertyId(0))), Err(ReplayError::NoEnding(_))));
    assert!(matches!(replay(&model, &fine, Ending::Fault(Label(0))), Err(ReplayError::NoEnding(_))));
}

#[test]
fn the_fingerprint_follows_the_meaning_not_the_text() {
    let print = |system: &System| model(system.clone(), SymmetryMode::Off).fingerprint();
    let system = counter();
    let mut moved = system.clone();
    moved.source = Source::new("elsewhere.m", "-- other text");
    moved.actions[0].span = Span::new(3, 9);
    moved.actions[0].body[1].span = Span::new(4, 8);
    moved.actions[0].body.remove(0);
    assert_eq!(print(&system), print(&moved), "printing and spans change nothing");
    let mut changed = system.clone();
    changed.actions[0].guard = int(2);
    assert_ne!(print(&system), print(&changed));
    let seeds: std::collections::HashSet<u64> =
        (0..200).map(|seed| print(&generate::system(seed, Size::SMALL))).collect();
    assert_eq!(seeds.len(), 200);
}
