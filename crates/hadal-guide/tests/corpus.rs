//! What guides promise, on small public models of the corpus.

mod truth;

use hadal_guide::guides;
use hadal_guide::registry::Prepared;
use hadal_guide::{Goal, Mask};
use hadal_lang::dve::{self, beem::Description};
use hadal_system::{Label, Source, StateSpace, System};
use std::path::Path;
use truth::{assert_promises, model, truth};

const MODELS: [&str; 9] = [
    "murphi/cmurphi/mux/2_peterson.m",
    "murphi/cmurphi/mux/dek.m",
    "murphi/cmurphi/secur/ns.m",
    "dve/adding/adding.1.dve",
    "dve/bakery/bakery.2.dve",
    "dve/cyclic_scheduler/cyclic_scheduler.2.dve",
    "dve/loyd/loyd.1.dve",
    "dve/needham/needham.1.dve",
    "dve/protocols/protocols.1.dve",
];

fn load(path: &Path) -> Option<System> {
    let text = std::fs::read_to_string(path).ok()?;
    let name = path.file_name()?.to_str()?;
    let source = Source::new(name, text);
    if name.ends_with(".m") {
        return Some(hadal_lang::murphi::load(source, &[]).ok()?.system);
    }
    let description = Description::beside(path).ok()?;
    let options = dve::Options { description: description.as_ref(), ..dve::Options::default() };
    Some(dve::load_with(source, options).ok()?.system)
}

#[test]
fn promises_hold_on_small_public_models() {
    let mut compared = 0;
    for file in MODELS {
        let Some(path) = hadal_testkit::corpus::find(file) else { return };
        let model = load(&path).and_then(model).unwrap_or_else(|| panic!("{file} does not load"));
        let goal = Goal::of_properties(model.properties());
        let Some(truth) = truth(&model, &goal, 8000) else {
            println!("skipped: {file} is too large");
            continue;
        };
        let off: Mask = (0..40).filter(|label| label % 4 == 1).map(Label).collect();
        let prepared = Prepared::new(&model, &goal).expect("the properties exist");
        for name in guides::names() {
            let guide = prepared.guide(name).expect("every listed name is a guide");
            assert_promises(&*guide, &truth, &off, file);
        }
        compared += usize::from(truth.distance.iter().any(|d| d.is_finite() && d.0 > 1));
        println!("{file}: {} states, nearest {:?}", truth.states.len(), truth.distance[0]);
    }
    assert!(compared >= 4, "only {compared} models with something to find");
}
