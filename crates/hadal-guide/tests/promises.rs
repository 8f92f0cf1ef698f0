//! What each guide promises, held against true distances on generated systems and the bundled models.

mod truth;

use hadal_exec::SymmetryMode;
use hadal_exec::generate::{self, Size};
use hadal_guide::registry::{self, NAMES, Prepared};
use hadal_guide::{Mask, Target};
use hadal_system::{Label, Source, StateSpace, System};
use truth::{assert_promises, model, model_with, truth, with_a_far_goal};

fn check_all(system: System, what: &str, most: usize) -> bool {
    check_with(system, SymmetryMode::Off, what, most)
}

fn check_with(system: System, symmetry: SymmetryMode, what: &str, most: usize) -> bool {
    let Some(model) = model_with(system, symmetry) else { return false };
    let labels = model.system().label_bases(&model.system().actions).last().copied().unwrap_or(0) as u32;
    let properties = Target::of_properties(model.properties());
    let last = properties.properties.last().copied();
    let targets = [
        properties.clone(),
        Target { properties: last.into_iter().collect(), ..Target::default() },
        Target { faults: true, ..properties.clone() },
        Target { deadlock: true, ..Target::default() },
    ];
    let mut compared = false;
    for target in targets {
        let Some(truth) = truth(&model, &target, most) else { return compared };
        // Representatives do not keep labels apart.
        let every = if model.symmetry().is_some() { u32::MAX } else { 3 };
        let off: Mask = (0..labels).filter(|label| label % every == 1 && every == 3).map(Label).collect();
        let prepared = Prepared::new(&model, &target).expect("the properties exist");
        for (name, _) in NAMES.iter().chain(&[("max(hl,pdb,dl:all)", ""), ("max(hff, du)", "")]) {
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
        let target = Target { faults: true, ..Target::of_properties(model.properties()) };
        let Some(truth) = truth(&model, &target, 400) else { continue };
        let prepared = Prepared::new(&model, &target).expect("the properties exist");
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
        let target = Target::of_properties(model.properties());
        let Some(truth) = truth(&model, &target, 300) else { continue };
        let prepared = Prepared::new(&model, &target).expect("the properties exist");
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

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let system = generate::system(1, Size::SMALL);
    let model = model(system).expect("runs");
    let Err(error) = registry::build("hfff", &model, &Target::default()) else { panic!("no such guide") };
    assert!(error.to_string().contains("hamming"), "{error}");
}
