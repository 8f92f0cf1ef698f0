//! Stubborn sets keep what is looked for, at the same distance where that is promised, and never add states.

mod support;

use hadal_exec::stubborn::{Stubborn, Traces};
use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_system::{Check, DeadlockNotion, PropertyBody, PropertyKind, StateSpace, Successors, System};
use hadal_testkit::generate::{self, Size};
use std::collections::HashSet;

/// What a breadth-first search finds.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    states: usize,
    /// The depth of the nearest state in which something is wrong.
    nearest: Option<usize>,
}

/// Explores everything, at most `bound` states; nothing where there are more.
fn explore(space: &dyn StateSpace, deadlocks: DeadlockNotion, bound: usize) -> Option<Found> {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut nearest = (!out.faults().is_empty()).then_some(0);
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let mut layer: Vec<Vec<u64>> =
        out.iter().map(|(_, s)| s.to_vec()).filter(|s| seen.insert(s.clone())).collect();
    let mut depth = 0;
    while !layer.is_empty() {
        let mut next = Vec::new();
        for state in layer {
            out.clear();
            worker.successors(&state, &mut out);
            let stuck = match deadlocks {
                DeadlockNotion::Off => false,
                DeadlockNotion::Stuck => out.is_empty() && out.faults().is_empty(),
                DeadlockNotion::Stuttering => {
                    out.faults().is_empty() && (0..out.len()).all(|n| out.state(n) == state)
                }
            };
            let stuck = stuck && !worker.can_leave(&state);
            if nearest.is_none() && (stuck || !out.faults().is_empty() || worker.check(&state) != Check::Fine)
            {
                nearest = Some(depth);
            }
            next.extend(out.iter().map(|(_, s)| s.to_vec()).filter(|s| seen.insert(s.clone())));
        }
        if seen.len() > bound {
            return None;
        }
        (layer, depth) = (next, depth + 1);
    }
    Some(Found { states: seen.len(), nearest })
}

/// Compares the search with and without; how many states each has.
fn compare(system: System, symmetry: SymmetryMode, deadlocks: DeadlockNotion) -> Option<(usize, usize)> {
    let name = system.name.clone();
    let model = Model::new(system, ModelOptions { engine: Engine::Interpreted, symmetry }).expect("a model");
    let whole = explore(&model, deadlocks, 3000)?;
    let mut states = 0;
    for traces in [Traces::Shortest, Traces::Some] {
        let reduced = Stubborn::new(&model, deadlocks, traces).expect("few actions");
        assert_ne!(reduced.fingerprint(), model.fingerprint());
        let found = explore(&reduced, deadlocks, 3000).expect("no more states than before");
        if reduced.keeps_shortest() {
            assert_eq!(found.nearest, whole.nearest, "{name}, {deadlocks:?}, {symmetry:?}");
        } else {
            assert_eq!(found.nearest.is_some(), whole.nearest.is_some(), "{name}, {deadlocks:?}");
        }
        assert!(found.states <= whole.states, "{name}, {deadlocks:?}: {} > {}", found.states, whole.states);
        states = found.states;
        if traces == Traces::Some && symmetry == SymmetryMode::Off {
            let found =
                explore(&reduced.by_processes(), deadlocks, 3000).expect("no more states than before");
            assert_eq!(found.nearest.is_some(), whole.nearest.is_some(), "processes, {name}, {deadlocks:?}");
        }
    }
    Some((whole.states, states))
}

const ALL: [DeadlockNotion; 3] = [DeadlockNotion::Off, DeadlockNotion::Stuck, DeadlockNotion::Stuttering];

#[test]
fn networks_keep_their_errors_and_shrink() {
    for deadlocks in ALL {
        let (mut before, mut after) = (0, 0);
        for seed in 0..500 {
            let (whole, reduced) =
                compare(generate::network(seed), SymmetryMode::Off, deadlocks).unwrap_or_default();
            before += whole;
            after += reduced;
        }
        println!("{deadlocks:?}: {before} states, reduced {after}");
        assert!(after * 3 < before * 2, "{deadlocks:?}: {before} states are reduced to {after}");
    }
}

#[test]
fn networks_without_questions_have_nothing_to_visit() {
    for seed in 0..50 {
        let mut system = generate::network(seed);
        system.properties.clear();
        let model = Model::new(system, ModelOptions::default()).expect("a model");
        let reduced = Stubborn::new(&model, DeadlockNotion::Off, Traces::Shortest).expect("few actions");
        let whole = explore(&model, DeadlockNotion::Off, 100_000).expect("a small network");
        let found = explore(&reduced, DeadlockNotion::Off, 100_000).expect("a small network");
        assert_eq!(found.nearest, whole.nearest);
        if whole.nearest.is_none() && found.states > 1 {
            // Only errors that an action may meet keep it going.
            assert!(format!("{:?}", model.system().actions).contains("Add"), "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn generated_systems_of_every_construct_keep_their_errors() {
    for (size, symmetry) in [
        (Size::SMALL, SymmetryMode::Off),
        (Size::SYMMETRIC, SymmetryMode::Off),
        (Size::SYMMETRIC, SymmetryMode::Exact),
    ] {
        for seed in 0..200 {
            let mut system = generate::system(seed, size);
            // Errors are met nearly everywhere: without some of the actions more of the space is seen.
            if seed % 2 == 1 {
                system.properties.retain(|p| {
                    matches!(p.body, PropertyBody::State(_)) && p.kind == PropertyKind::Assumption
                });
                if has_cover(&system) {
                    continue;
                }
            }
            for deadlocks in ALL {
                compare(system.clone(), symmetry, deadlocks);
            }
        }
    }
}

/// Guards and bodies compiled apart give the successors that are left of all of them, in every state.
#[test]
fn only_the_successors_of_the_set_are_generated() {
    let mut left_out = 0;
    for seed in 0..60 {
        let model = Model::new(generate::network(seed), ModelOptions::default()).expect("a model");
        for deadlocks in ALL {
            for traces in [Traces::Shortest, Traces::Some] {
                let dropping = Stubborn::new(&model, deadlocks, traces).expect("few actions");
                let choosing = Stubborn::new(&model, deadlocks, traces).expect("few actions").hot();
                left_out += support::compare_successors(&model, &dropping, &choosing);
            }
        }
    }
    assert!(left_out > 10_000, "{left_out} successors are left out");
}

/// Statements that count covers name a property by its number.
fn has_cover(system: &System) -> bool {
    format!("{:?} {:?} {:?}", system.actions, system.starts, system.functions).contains("Cover(")
}
