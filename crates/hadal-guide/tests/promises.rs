//! What each guide promises, held against true distances on generated systems and the bundled models.

mod truth;

use hadal_exec::SymmetryMode;
use hadal_guide::guides;
use hadal_guide::registry::{self, Prepared};
use hadal_guide::{Distance, Goal, Mask};
use hadal_lang::dve::Options;
use hadal_lang::dve::beem::Description;
use hadal_lang::language::ModelErrors;
use hadal_system::{Label, Source, StateSpace, Successors, System};
use hadal_testkit::Random;
use hadal_testkit::generate::{self, Size};
use truth::{assert_promises, model, model_with, truth, with_a_far_goal};

fn check_all(system: System, what: &str, most: usize) -> bool {
    check_with(system, SymmetryMode::Off, what, most)
}

fn check_with(system: System, symmetry: SymmetryMode, what: &str, most: usize) -> bool {
    let Some(model) = model_with(system, symmetry) else { return false };
    let labels = model.system().label_bases(&model.system().actions).last().copied().unwrap_or(0) as u32;
    let properties = Goal::of_properties(model.properties());
    let last = properties.properties.last().copied();
    let targets = [
        properties.clone(),
        Goal { properties: last.into_iter().collect(), ..Goal::default() },
        Goal { faults: true, ..properties.clone() },
        Goal { deadlock: true, ..Goal::default() },
    ];
    let mut compared = false;
    for goal in targets {
        let Some(truth) = truth(&model, &goal, most) else { return compared };
        // Representatives do not keep labels apart.
        let every = if model.symmetry().is_some() { u32::MAX } else { 3 };
        let off: Mask = (0..labels).filter(|label| label % every == 1 && every == 3).map(Label).collect();
        let prepared = Prepared::new(&model, &goal).expect("the properties exist");
        for name in guides::names().chain(["max(hl,pdb,dl:all)", "max(hff, du)"]) {
            let guide = prepared.guide(name).expect("every listed name is a guide");
            assert_promises(&*guide, &truth, &off, what);
            // Otherwise there is nothing that could be wrong.
            compared |= truth.distance.iter().any(|d| d.is_finite() && d.0 > 1);
        }
    }
    compared
}

#[test]
fn promises_hold_on_generated_systems() {
    let compared = (0..160).filter(|&seed| {
        let system = generate::system(seed, Size::SMALL);
        let Some(system) = with_a_far_goal(system, 600) else { return false };
        check_all(system, &format!("seed {seed}"), 600)
    });
    assert!(compared.count() > 40);
}

#[test]
fn promises_hold_on_generated_symmetric_systems() {
    let compared = (0..40).filter(|&seed| {
        let system = generate::system(seed, Size::SYMMETRIC);
        let Some(system) = with_a_far_goal(system, 600) else { return false };
        check_all(system, &format!("symmetric seed {seed}"), 600)
    });
    assert!(compared.count() > 8);
}

#[test]
fn promises_hold_where_representatives_are_explored() {
    let compared = (0..40).filter(|&seed| {
        let system = generate::system(seed, Size::SYMMETRIC);
        let Some(system) = with_a_far_goal(system, 600) else { return false };
        check_with(system, SymmetryMode::Exact, &format!("representatives of seed {seed}"), 600)
    });
    assert!(compared.count() > 1);
}

#[test]
fn the_cache_changes_no_estimate_and_no_label() {
    for seed in 0..30 {
        let Some(model) = model(generate::system(seed, Size::SMALL)) else { continue };
        let goal = Goal { faults: true, ..Goal::of_properties(model.properties()) };
        let Some(truth) = truth(&model, &goal, 400) else { continue };
        let prepared = Prepared::new(&model, &goal).expect("the properties exist");
        let masks: [Option<Mask>; 3] =
            [None, Some([Label(0)].into_iter().collect()), Some([Label(0), Label(1)].into_iter().collect())];
        for name in ["hl", "hff", "hadd", "hcg", "hcea"] {
            let (with, without) = (prepared.guide(name), prepared.guide_without_cache(name));
            let (with, without) = (with.expect("a guide"), without.expect("a guide"));
            let (mut cached, mut plain) = (with.estimator(), without.estimator());
            for round in 0..2 {
                for (n, state) in truth.states.iter().enumerate() {
                    let off = masks[(n + round) % 3].as_ref();
                    assert_eq!(cached.estimate(state, off), plain.estimate(state, off), "seed {seed} {name}");
                    assert_eq!(cached.supporters(), plain.supporters(), "seed {seed} {name}");
                    assert_eq!(cached.preferred(), plain.preferred(), "seed {seed} {name}");
                }
            }
        }
    }
}

#[test]
fn preferred_transitions_are_among_the_supporters() {
    for seed in 0..60 {
        let Some(model) = model(generate::system(seed, Size::SMALL)) else { continue };
        let goal = Goal::of_properties(model.properties());
        let Some(truth) = truth(&model, &goal, 300) else { continue };
        let prepared = Prepared::new(&model, &goal).expect("the properties exist");
        for name in ["hl", "hff", "hu:sum", "hadd", "hff:add"] {
            let guide = prepared.guide(name).expect("a guide");
            let mut estimator = guide.estimator();
            for state in &truth.states {
                let value = estimator.estimate(state, None);
                let needed = estimator.supporters().expect("relaxed estimates have them");
                let preferred = estimator.preferred();
                assert!(preferred.iter().all(|label| needed.contains(label)), "seed {seed} {name}");
                let far = value.is_finite() && value.0 > 0;
                assert_eq!(preferred.is_empty(), !far, "seed {seed} {name}: {value:?}");
            }
        }
    }
}

#[test]
fn promises_hold_on_the_bundled_models() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).expect("the models are there").flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let source = Source::new(name.as_str(), text);
        let system = if name.ends_with(".m") {
            hadal_lang::murphi::load(source, &[]).expect("a bundled model").system
        } else if name.ends_with("dve") {
            hadal_lang::dve::load(source, &[]).expect("a bundled model").system
        } else {
            continue;
        };
        compared += usize::from(check_all(system, &name, 6000));
    }
    assert!(compared >= 4, "{compared}");
}

/// A small DVE model, drawn: processes with loops and jumps, and bytes that overflow now and then.
fn drawn_dve(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut below = |n: usize| random.below(n);
    let mut text = format!("byte x = {}, y = {};\n", 240 + below(12), below(3));
    for process in 0..2 + below(2) {
        let states = 2 + below(3);
        let names: Vec<String> = (0..states).map(|n| format!("s{n}")).collect();
        let mut steps = Vec::new();
        for _ in 0..states + below(3) {
            let (from, to) = (below(states), below(states));
            let effect = match below(4) {
                0 => format!("effect x = x + {};", 1 + below(9)),
                1 => "effect y = y - 1;".to_owned(),
                2 => "effect y = (y + 1) % 3;".to_owned(),
                _ => String::new(),
            };
            let guard = if below(3) == 0 { format!("guard y == {}; ", below(3)) } else { String::new() };
            steps.push(format!("s{from} -> s{to} {{ {guard}{effect} }}"));
        }
        let (start, names, steps) = (below(states), names.join(", "), steps.join(",\n  "));
        text += &format!("process P{process} {{ state {names}; init s{start}; trans\n  {steps};\n}}\n");
    }
    text + "system async;\n"
}

#[test]
fn promises_hold_where_errors_lead_to_the_error_state() {
    let load = |text: String, goal: &str| {
        let description =
            Description { properties: vec![("prop1".into(), true, goal.into())], ..Description::default() };
        let options = Options {
            errors: ModelErrors::ErrorState,
            description: Some(&description),
            ..Options::default()
        };
        hadal_lang::dve::load_with(Source::new("drawn.dve", text), options).expect("a model").system
    };
    // No edge of B leads to b0: only the error state does.
    let text = "byte y = 250;\n\
        process A { state a0, a1, a2; init a0; trans a0 -> a1 { }, a1 -> a2 { effect y = y + 10; }; }\n\
        process B { state b0, b1, b2; init b1; trans b1 -> b2 { }, b2 -> b1 { }; }\nsystem async;";
    assert!(check_all(load(text.into(), "B.b0"), "moved by an error", 600));
    let mut compared = 0;
    for seed in 0..120 {
        let goal = format!("P{}.s{}", seed % 2, seed / 2 % 2);
        let system = load(drawn_dve(seed), &goal);
        compared += usize::from(check_all(system.clone(), &format!("drawn {seed}"), 600));
        if let Some(system) = with_a_far_goal(system, 600) {
            compared += usize::from(check_all(system, &format!("drawn {seed}, far goal"), 600));
        }
    }
    assert!(compared > 60, "{compared}");
}

/// Every step of `x` has a row for each of its values; what follows from each other row was once looked for in all.
#[test]
fn estimates_take_bounded_work() {
    let text = "byte x, y, z; process A { state a; init a; trans\n\
        a -> a { effect x = (x * 7 + y) % 251, y = (y * 5 + z) % 241, z = (z * 3 + 1) % 239; },\n\
        a -> a { guard z > 9; effect x = (x * 5 + z) % 251; },\n\
        a -> a { guard x > 9; effect y = (y * 5 + x) % 241; }; }\nsystem async;";
    let description = Description {
        properties: vec![("prop1".into(), true, "x == 250 and y == 240 and z == 238".into())],
        ..Description::default()
    };
    let options = Options { description: Some(&description), ..Options::default() };
    let loaded = hadal_lang::dve::load_with(Source::new("wide.dve", text), options).expect("a model");
    let model = model(loaded.system).expect("runs");
    let goal = Goal::of_properties(model.properties());
    let prepared = Prepared::new(&model, &goal).expect("the property exists");
    let mut start = Successors::new(model.words());
    model.worker().initial(&mut start);
    for name in ["hcg", "hcea"] {
        // Too large is an answer as well.
        let Ok(guide) = prepared.guide(name) else { continue };
        let mut estimator = guide.estimator();
        let value = estimator.estimate(start.state(0), None);
        assert!(value > Distance::ZERO, "{name}: {value:?}");
        assert!(estimator.work() < 40_000_000, "{name}: {}", estimator.work());
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let system = generate::system(1, Size::SMALL);
    let model = model(system).expect("runs");
    let Err(error) = registry::build("hfff", &model, &Goal::default()) else { panic!("no such guide") };
    assert!(error.to_string().contains("hamming"), "{error}");
}
