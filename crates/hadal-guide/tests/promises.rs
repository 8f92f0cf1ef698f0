//! What each guide promises, held against true distances on generated systems and the bundled models.

mod truth;

use hadal_exec::generate::{self, Size};
use hadal_guide::registry::{self, NAMES, Prepared};
use hadal_guide::{Mask, Target};
use hadal_system::{Label, Source, StateSpace, System};
use truth::{assert_promises, model, truth};

fn check_all(system: System, what: &str, most: usize) -> bool {
    let Some(model) = model(system) else { return false };
    let labels = model.system().label_bases(&model.system().actions).last().copied().unwrap_or(0) as u32;
    let properties = Target::of_properties(model.properties());
    let targets = [
        properties.clone(),
        Target { faults: true, ..properties.clone() },
        Target { deadlock: true, ..Target::default() },
    ];
    let mut compared = false;
    for target in targets {
        let Some(truth) = truth(&model, &target, most) else { return compared };
        let off: Mask = (0..labels).filter(|label| label % 3 == 1).map(Label).collect();
        let prepared = Prepared::new(&model, &target).expect("the properties exist");
        for (name, _) in NAMES.iter().chain(&[("max(hl,pdb,dl:all)", ""), ("max(hff, du)", "")]) {
            let guide = prepared.guide(name).expect("every listed name is a guide");
            assert_promises(&*guide, &truth, &off, what);
            compared = true;
        }
    }
    compared
}

#[test]
fn promises_hold_on_generated_systems() {
    let compared = (0..160).filter(|&seed| {
        let system = generate::system(seed, Size::SMALL);
        check_all(system, &format!("seed {seed}"), 600)
    });
    assert!(compared.count() > 80);
}

#[test]
fn promises_hold_on_generated_symmetric_systems() {
    let compared = (0..40).filter(|&seed| {
        let system = generate::system(seed, Size::SYMMETRIC);
        check_all(system, &format!("symmetric seed {seed}"), 600)
    });
    assert!(compared.count() > 12);
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
        } else if name.ends_with(".dve") {
            hadal_lang::dve::load(source, &[]).expect("a bundled model").system
        } else {
            continue;
        };
        compared += usize::from(check_all(system, &name, 20_000));
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
