//! Generated systems are well-formed and worth generating.

use std::collections::HashSet;

use hadal_exec::{Engine, FaultKind, Interpreter, Model, ModelOptions, Outcome, SymmetryMode};
use hadal_system::{Label, Layout, StateSpace, Successors};
use hadal_testkit::generate::{self, Size};

/// The states reachable within a bound, and how many transitions met an error.
fn explore(model: &Model, bound: usize) -> (usize, usize, usize) {
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut seen: HashSet<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut queue: Vec<Vec<u64>> = seen.iter().cloned().collect();
    let (mut transitions, mut faults) = (0, out.faults().len());
    while let Some(state) = queue.pop() {
        if seen.len() > bound {
            break;
        }
        out.clear();
        worker.successors(&state, &mut out);
        worker.check(&state);
        transitions += out.len();
        faults += out.faults().len();
        for (_, state) in out.iter() {
            if seen.insert(state.to_vec()) {
                queue.push(state.to_vec());
            }
        }
    }
    (seen.len(), transitions, faults)
}

#[test]
fn most_generated_systems_have_small_and_interesting_state_spaces() {
    for size in [Size::SMALL, Size::SYMMETRIC] {
        let (mut large, mut lively, mut faulty) = (0, 0, 0);
        for seed in 0..200 {
            let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
            let model = Model::new(generate::system(seed, size), options).unwrap();
            let (states, transitions, faults) = explore(&model, 10_000);
            large += usize::from(states > 10_000);
            lively += usize::from(states > 2 && transitions > states);
            faulty += usize::from(faults > 0);
        }
        println!("{size:?}: {large} large, {lively} lively, {faulty} faulty");
        assert!(large < 40, "{large} of 200 state spaces are large");
        assert!(lively > 60, "only {lively} of 200 systems do something");
        assert!(faulty > 20, "only {faulty} of 200 systems meet an error");
    }
}

#[test]
fn every_generated_system_is_well_formed() {
    for size in [Size::SMALL, Size::SYMMETRIC] {
        for seed in 0..500 {
            let problems = hadal_system::validate::validate(&generate::system(seed, size));
            assert!(problems.is_empty(), "seed {seed}: {problems:#?}");
        }
    }
}

#[test]
fn together_the_seeds_cover_every_construct() {
    let text: String = (0..150).map(|seed| format!("{:?}", generate::system(seed, Size::SMALL))).collect();
    let expressions = "Const Read IsUndefined Unary Binary If Quantified Same Call InDomain ForAll Exists";
    let operators = "Negate Not BitNot Add Subtract Multiply Divide Remainder ShiftLeft ShiftRight BitAnd BitOr BitXor \
                     Equal NotEqual Less LessEqual Greater GreaterEqual And Or Implies";
    let statements = "Assign Copy Clear Undefine Switch For While Return Bind Check Fail Cover Print Assert Assume \
                      Value Reference Text Whole Steps Domain Field Index";
    let types = "Scalar Array Record Multiset Bool Range Enum Scalarset Union";
    let properties = "Invariant Assumption Cover Liveness Goal State Statements";
    for word in [expressions, operators, statements, types, properties].join(" ").split_whitespace() {
        let used = [" ", "(", "[", ": "].iter().any(|before| {
            ["(", " ", ",", ")", " {"].iter().any(|after| text.contains(&format!("{before}{word}{after}")))
        });
        assert!(used, "no system uses {word}");
    }
}

#[test]
fn together_the_seeds_meet_every_error_but_the_runaway_loop() {
    use FaultKind::*;
    let mut missing = HashSet::from([
        Undefined,
        Index,
        Range,
        Division,
        Overflow,
        ZeroStep,
        Assertion,
        Error,
        RunawayRecursion,
        MissingReturn,
    ]);
    for seed in 0..3000 {
        if missing.is_empty() {
            return;
        }
        let system = generate::system(seed, Size::SMALL);
        let layout = Layout::natural(&system);
        let interpreter = Interpreter::new(&system, &layout);
        let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0) as u32;
        let mut out = Successors::new(layout.words());
        interpreter.initial(&mut out, &mut vec![0; system.property_infos().len()]);
        for (_, state) in out.iter() {
            for label in 0..labels {
                if let Outcome::Fault(fault) = interpreter.fire(state, Label(label)) {
                    missing.remove(&fault.kind);
                }
            }
        }
    }
    panic!("no system meets {missing:?}");
}

#[test]
fn the_same_seed_gives_the_same_system() {
    let text = |seed| format!("{:?}", generate::system(seed, Size::SMALL));
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
}
