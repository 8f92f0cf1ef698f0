//! Values against Storm's: every row of the oracle, if the corpus is there.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_system::rows::Rational;
use hadal_value::values::Exact;
use hadal_value::{Answer, Options, Precision, answer};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("prism")
}

fn load(file: &Path, constants: &str) -> prism::Loaded {
    let text = std::fs::read_to_string(file).expect("a readable model");
    let mut given = HashMap::new();
    for pair in constants.split(',').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').expect("name=value");
        let value = match value.to_ascii_lowercase().as_str() {
            "true" => 1,
            "false" => 0,
            number => number.parse().expect("a number"),
        };
        given.insert(name.to_owned(), Rational::from_integer(value));
    }
    prism::load(Source::new(file.display().to_string(), text), &given)
        .unwrap_or_else(|refused| panic!("{}: {:?}", file.display(), refused.diagnostics))
}

fn ask(file: &Path, constants: &str, formula: &str, precision: Precision) -> Answer {
    let mut loaded = load(file, constants);
    let objective = loaded.formula(formula).unwrap_or_else(|r| panic!("{formula}: {:?}", r.diagnostics));
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let options = Options { precision, memory: Some(2 << 30), max_states: None };
    answer(&model, model.system(), &objective, options).unwrap_or_else(|e| panic!("{formula}: {e}"))
}

fn known_value(text: &str) -> Option<f64> {
    match text.split_once('/') {
        Some((above, below)) => Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?),
        None => text.parse().ok(),
    }
}

fn rows() -> Vec<Vec<String>> {
    let Some(oracle) = hadal_testkit::corpus::oracle("mdp.tsv") else { return Vec::new() };
    let text = std::fs::read_to_string(oracle).unwrap_or_default();
    let prism = text.lines().filter(|l| l.starts_with("qcomp/") || l.starts_with("prism-examples/"));
    prism.map(|l| l.split('\t').map(str::to_owned).collect()).collect()
}

fn check(keep: impl Fn(u64) -> bool, exact: bool) {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for row in rows() {
        let (file, constants, formula, value, known) = (&row[0], &row[1], &row[3], &row[4], &row[8]);
        let states: u64 = row[11].parse().expect("states");
        if !keep(states) {
            continue;
        }
        let precision = Precision { exact, ..Precision::default() };
        let found = ask(&corpus.join(file), constants, formula, precision);
        let name = format!("{file} {constants} {formula}");
        checked += 1;
        if value == "True" || value == "False" {
            assert_eq!(found.verdict, Some(value == "True"), "{name}");
            continue;
        }
        let (low, high) = found.value.expect("a value");
        let best = if known == "-" { value } else { known };
        let expected = known_value(best).expect("a number");
        // The expected value is rounded when it is read.
        let slack = expected * 1e-15;
        assert!(
            low <= expected + slack && expected - slack <= high,
            "{name}: [{low}, {high}] lacks {expected}"
        );
        assert!(high - low <= 1.01e-6 * high, "{name}: [{low}, {high}] is wide");
        if exact && best.contains('/') {
            match found.exact {
                Some(Exact::Finite(value)) => assert_eq!(value.to_string(), *best, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    println!("{checked} rows checked");
    assert!(checked > 0);
}

#[test]
fn intervals_contain_the_values_of_small_models() {
    check(|states| states < 100_000, false);
}

#[test]
#[ignore = "half a minute; cargo test --release -p hadal-value --test oracle -- --ignored"]
fn intervals_contain_the_values_of_large_models() {
    check(|states| states >= 100_000, false);
}

#[test]
fn exact_values_are_those_of_storm() {
    check(|states| states < 3_000, true);
}
