//! Reductions of systems keep answers, and lifted traces replay on the system they were made of.

use hadal_exec::{Engine, Interpreter, Model, ModelOptions, Outcome, SymmetryMode};
use hadal_guide::shrink::{LabelTrace, Stage, TraceEnding, cone, lift, safe, split, states};
use hadal_system::{
    Check, Label, Layout, PropertyBody, PropertyId, PropertyKind, StateSpace, Successors, System,
};
use hadal_testkit::Random;
use hadal_testkit::generate::{self, Size};
use std::collections::HashMap;

/// The first thing wrong in breadth-first order: a trace to it, and the property unless an action fails.
struct Wrong {
    trace: LabelTrace,
    property: Option<PropertyId>,
}

struct Found {
    states: usize,
    wrong: Option<Wrong>,
}

/// Explores breadth-first; nothing where there are more than `bound` states or the start fails.
fn explore(system: &System, bound: usize) -> Option<Found> {
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let model = Model::new(system.clone(), options).expect("a model");
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    if !out.faults().is_empty() {
        return None;
    }
    let mut came: HashMap<Vec<u64>, Option<Vec<u64>>> = HashMap::new();
    let mut by: HashMap<Vec<u64>, Label> = HashMap::new();
    let mut queue = std::collections::VecDeque::new();
    for (label, state) in out.iter() {
        if by.insert(state.to_vec(), label).is_none() {
            came.insert(state.to_vec(), None);
            queue.push_back(state.to_vec());
        }
    }
    while let Some(state) = queue.pop_front() {
        out.clear();
        worker.successors(&state, &mut out);
        let check = worker.check(&state);
        let property = match check {
            Check::Fine => None,
            Check::Hit(id) | Check::Fault(id) => Some(id),
        };
        let fault = out.faults().first().copied();
        if property.is_some() || fault.is_some() {
            let mut labels = Vec::new();
            let mut at = &state;
            while let Some(before) = &came[at] {
                labels.push(by[at]);
                at = before;
            }
            labels.reverse();
            let ending = match (check, fault) {
                (Check::Hit(property), _) => TraceEnding::Met(property),
                (Check::Fine, Some(label)) => TraceEnding::Fault(label),
                _ => TraceEnding::State,
            };
            let trace = LabelTrace { start: by[at], labels, ending };
            return Some(Found { states: came.len(), wrong: Some(Wrong { trace, property }) });
        }
        for (label, next) in out.iter() {
            if !came.contains_key(next) {
                came.insert(next.to_vec(), Some(state.clone()));
                by.insert(next.to_vec(), label);
                queue.push_back(next.to_vec());
            }
        }
        if came.len() > bound {
            return None;
        }
    }
    Some(Found { states: came.len(), wrong: None })
}

/// The trace replays and ends in what was found.
fn assert_replays(system: &System, trace: &LabelTrace, property: Option<PropertyId>) {
    let path = states(system, trace).unwrap_or_else(|error| panic!("{}: {error}", system.name));
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let last = path.last().expect("an initial state");
    match (trace.ending, property) {
        (TraceEnding::Fault(label), _) => {
            assert!(matches!(interpreter.fire(last, label), Outcome::Fault(_)), "{}", system.name);
        }
        (TraceEnding::State | TraceEnding::Met(_), property) => {
            let (Check::Hit(id) | Check::Fault(id)) = interpreter.check(last) else {
                panic!("{}: nothing is wrong at the end", system.name)
            };
            assert_eq!(Some(id), property);
        }
    }
}

/// All stages of safe abstraction.
fn cascade(system: &System) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    while let Some(stage) = safe(stages.last().map_or(system, |s| &s.system)) {
        stages.push(stage);
    }
    stages
}

#[test]
fn cones_of_networks_keep_answers_and_lengths() {
    let (mut reduced, mut wrong) = (0, 0);
    for seed in 0..2000 {
        let system = generate::network(seed);
        let Some(stage) = cone(&system) else { continue };
        assert!(hadal_system::validate::validate(&stage.system).is_empty());
        let whole = explore(&system, 100_000).expect("a small network");
        let small = explore(&stage.system, 100_000).expect("a small network");
        assert!(small.states <= whole.states);
        assert_eq!(small.wrong.is_some(), whole.wrong.is_some(), "seed {seed}");
        reduced += 1;
        if let (Some(small), Some(whole)) = (small.wrong, whole.wrong) {
            assert_eq!(small.trace.labels.len(), whole.trace.labels.len(), "seed {seed}");
            let lifted = lift(&system, &[stage], small.trace).expect("it lifts");
            assert_replays(&system, &lifted, small.property);
            wrong += 1;
        }
    }
    println!("{reduced} reduced, {wrong} with something wrong");
    assert!(reduced > 100 && wrong > 50, "{reduced} {wrong}");
}

#[test]
fn cones_of_systems_of_every_construct_keep_answers() {
    let mut reduced = 0;
    for seed in 0..600 {
        let mut system = generate::system(seed, Size::SMALL);
        // Nearly every action may fail, which keeps what it reads; fewer questions leave more out.
        for property in system.properties.iter_mut().skip(1) {
            match property.kind {
                PropertyKind::Invariant => {
                    property.body = PropertyBody::State(hadal_system::Expr::constant(1));
                }
                PropertyKind::Goal => property.body = PropertyBody::State(hadal_system::Expr::constant(0)),
                _ => {}
            }
        }
        let Some(stage) = cone(&system) else { continue };
        let problems = hadal_system::validate::validate(&stage.system);
        assert!(problems.is_empty(), "seed {seed}: {problems:#?}");
        let (Some(whole), Some(small)) = (explore(&system, 20_000), explore(&stage.system, 20_000)) else {
            continue;
        };
        reduced += 1;
        assert_eq!(small.wrong.is_some(), whole.wrong.is_some(), "seed {seed}");
        if let Some(small) = small.wrong {
            let lifted = lift(&system, &[stage], small.trace).expect("it lifts");
            assert_replays(&system, &lifted, small.property);
        }
    }
    println!("{reduced} reduced");
    assert!(reduced > 20, "{reduced}");
}

/// What became of systems that were reduced.
#[derive(Debug, Default)]
struct Tally {
    reduced: usize,
    cascades: usize,
    wrong: usize,
}

/// Compares a system with its safe abstraction.
fn abstract_safely(system: &System, bound: usize, tally: &mut Tally) {
    let stages = cascade(system);
    let Some(last) = stages.last() else { return };
    assert!(hadal_system::validate::validate(&last.system).is_empty());
    let (Some(whole), Some(small)) = (explore(system, bound), explore(&last.system, bound)) else { return };
    assert_eq!(small.wrong.is_some(), whole.wrong.is_some(), "{}", system.name);
    tally.reduced += 1;
    tally.cascades += usize::from(stages.len() > 1);
    if let (Some(small), Some(whole)) = (small.wrong, whole.wrong) {
        assert!(small.trace.labels.len() <= whole.trace.labels.len(), "{}", system.name);
        let lifted = lift(system, &stages, small.trace).expect("it lifts");
        assert_replays(system, &lifted, small.property);
        tally.wrong += 1;
    }
}

#[test]
fn safe_abstraction_of_networks_keeps_answers_and_its_traces_lift() {
    let mut tally = Tally::default();
    for seed in 0..2000 {
        abstract_safely(&generate::network(seed), 100_000, &mut tally);
        if seed % 4 == 0 {
            abstract_safely(&generate::components(seed), 3000, &mut tally);
        }
    }
    println!("{tally:?}");
    assert!(tally.reduced > 100 && tally.cascades > 20 && tally.wrong > 30, "{tally:?}");
}

#[test]
fn safe_abstraction_of_systems_of_every_construct_keeps_answers() {
    let mut tally = Tally::default();
    for seed in 0..1500 {
        abstract_safely(&generate::system(seed, Size::SMALL), 3000, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.reduced > 3 && tally.wrong > 0, "{tally:?}");
}

#[test]
fn parts_are_wrong_together_exactly_when_the_whole_is() {
    let (mut splits, mut wrong) = (0, 0);
    let networks = (0..2000).map(generate::network);
    let apart = (0..600).map(generate::components);
    let others = (0..1000).map(|seed| generate::system(seed, Size::SMALL));
    for system in networks.chain(apart).chain(others) {
        let Some(parts) = split(&system).map(|split| split.parts) else { continue };
        let Some(whole) = explore(&system, 3000) else { continue };
        splits += 1;
        let answers: Vec<(Option<usize>, Option<Wrong>)> = (parts.iter())
            .map(|part| (part.property, explore(&part.stage.system, 3000).expect("smaller").wrong))
            .collect();
        let fails = answers.iter().any(|(_, wrong)| {
            matches!(wrong, Some(Wrong { trace: LabelTrace { ending: TraceEnding::Fault(_), .. }, .. }))
        });
        let mut broken = None;
        for property in 0..system.properties.len() {
            let mut own = answers.iter().filter(|(p, _)| *p == Some(property)).peekable();
            if own.peek().is_some() && own.all(|(_, wrong)| wrong.is_some()) {
                broken = broken.or(Some(property));
            }
        }
        assert_eq!(fails || broken.is_some(), whole.wrong.is_some(), "{}", system.name);
        if let (Some(property), false) = (broken, fails) {
            let own = answers.into_iter().filter(|(p, _)| *p == Some(property));
            let labels = own.flat_map(|(_, wrong)| wrong.expect("all of them").trace.labels).collect();
            let trace = LabelTrace { start: Label(0), labels, ending: TraceEnding::State };
            assert_replays(&system, &trace, Some(PropertyId(property as u32)));
            wrong += 1;
        }
    }
    println!("{splits} taken apart, {wrong} with a broken property");
    assert!(splits > 100 && wrong > 30, "{splits} {wrong}");
}

/// A text with an environment that runs freely through the values of an array and a scalar, and a controller that reads them
/// wherever they can be read: in guards, in bodies, in assertions, at indices that it computes.
fn environment_and_controller(seed: u64) -> System {
    let mut random = Random::new(seed);
    let mut text = "byte seen[2];\nbyte mode;\nbyte x;\nbyte y;\n".to_owned();
    let turn = 2 + random.below(3u64);
    text += &format!(
        "process Env {{ state e; init e; trans e -> e {{ effect seen[0] = (seen[0] + 1) % {turn}; }}, \
         e -> e {{ effect seen[1] = 1 - seen[1]; }}, e -> e {{ effect mode = (mode + seen[1]) % 2; }}; }}\n"
    );
    let read = |random: &mut Random| match random.below(5u64) {
        0 => "seen[0]".to_owned(),
        1 => "seen[1]".to_owned(),
        2 => "mode".to_owned(),
        3 => "seen[x % 2]".to_owned(),
        _ => "y".to_owned(),
    };
    let places = 3 + random.below(3u64);
    let mut steps = Vec::new();
    for _ in 0..places + 2 + random.below(4u64) {
        let (from, to) = (random.below(places), random.below(places));
        let guard = match random.below(3u64) {
            0 => String::new(),
            1 => format!("guard {} == {};", read(&mut random), random.below(3u64)),
            _ => format!("guard {} < {} or y == 1;", read(&mut random), read(&mut random)),
        };
        let effect = match random.below(5u64) {
            0 => String::new(),
            1 => format!("effect x = {};", read(&mut random)),
            2 => format!("effect x = (x + {}) % 3, y = {};", read(&mut random), read(&mut random)),
            3 => format!("effect y = 255 + {};", read(&mut random)),
            _ => "effect y = 1 - mode;".to_owned(),
        };
        steps.push(format!("q{from} -> q{to} {{ {guard} {effect} }}"));
    }
    let locations: Vec<String> = (0..places).map(|n| format!("q{n}")).collect();
    let wrong = format!("assert q{}: {} != {};", places - 1, read(&mut random), random.below(2u64));
    text += &format!(
        "process Con {{ state {}; init q0; {wrong} trans {}; }}\nsystem async;\n",
        locations.join(", "),
        steps.join(", ")
    );
    hadal_lang::dve::load(hadal_system::Source::new("environment", text.as_str()), &[])
        .expect("it is DVE")
        .system
}

#[test]
fn what_bodies_assertions_and_computed_indices_read_is_left_out_safely() {
    let (mut tally, mut copied) = (Tally::default(), 0);
    for seed in 0..1500 {
        let system = environment_and_controller(seed);
        let stages = cascade(&system);
        copied += usize::from(stages.last().is_some_and(|it| it.system.actions.len() > system.actions.len()));
        abstract_safely(&system, 100_000, &mut tally);
    }
    println!("{tally:?}, {copied} with copied actions");
    assert!(tally.reduced > 250 && tally.wrong > 80 && copied > 150, "{tally:?}, {copied}");
}

/// The running example of Wehrle 2011, ch. 5: two rings of four that a chain of three steps waits for.
fn rings_and_chain() -> System {
    let text = "
        process P1 { state l0, l1, l2, l3; init l0;
          trans l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l3 -> l0 {}, l1 -> l0 {}, l2 -> l1 {}, l3 -> l2 {}, l0 -> l3 {}; }
        process P2 { state l0, l1, l2, l3; init l0;
          trans l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l3 -> l0 {}, l1 -> l0 {}, l2 -> l1 {}, l3 -> l2 {}, l0 -> l3 {}; }
        process P3 { state l0, l1, l2, l3; init l0;
          assert l3: 0;
          trans l0 -> l1 { guard P1.l2; },
                l1 -> l2 { guard P2.l2; },
                l2 -> l3 { guard P1.l0 and P2.l0; }; }
        system async;";
    hadal_lang::dve::load(hadal_system::Source::new("rings", text), &[]).expect("it is DVE").system
}

#[test]
fn two_rings_are_safe_and_three_abstract_steps_lift_to_eleven() {
    let system = rings_and_chain();
    let stages = cascade(&system);
    let mut removed: Vec<&str> =
        stages.iter().flat_map(|s| &s.removed).map(|&v| system.variable(v).name.as_str()).collect();
    removed.sort_unstable();
    assert_eq!(removed, ["P1", "P2"]);
    let last = &stages.last().expect("two stages").system;
    let small = explore(last, 1000).expect("a small system");
    assert_eq!(small.states, 4);
    let wrong = small.wrong.expect("the chain gets to its end");
    assert_eq!(wrong.trace.labels.len(), 3);
    let lifted = lift(&system, &stages, wrong.trace).expect("it lifts");
    assert_eq!(lifted.labels.len(), 11);
    assert_replays(&system, &lifted, wrong.property);
    let shortest = explore(&system, 1000).expect("64 states").wrong.expect("it is reachable");
    assert_eq!(shortest.trace.labels.len(), 11);
}

#[test]
fn what_nothing_asks_about_is_outside_the_cone() {
    let mut system = rings_and_chain();
    assert!(cone(&system).is_none(), "everything influences the chain");
    // Without the steps that wait for it, P2 has nothing to do with the question.
    system.actions.retain(|action| !action.name.starts_with("P3: l1") && !action.name.starts_with("P3: l2"));
    system.processes.iter_mut().for_each(|process| process.edges.clear());
    let stage = cone(&system).expect("P2 is outside");
    let removed: Vec<&str> = stage.removed.iter().map(|&v| system.variable(v).name.as_str()).collect();
    assert_eq!(removed, ["P2"]);
    assert_eq!(stage.disabled, 8);
}
