//! Chains that are left once in millions of steps: sweeps alone would not end, and bounds are proved all the same.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_testkit::Random;
use hadal_value::disk::answer_in_ram;
use hadal_value::values::Exact;
use hadal_value::{Answer, Options, Precision, answer};
use std::collections::HashMap;
use std::fmt::Write;

fn with_model<T>(
    text: &str,
    question: &str,
    then: impl FnOnce(&Model, &hadal_system::chance::Objective) -> T,
) -> T {
    let mut loaded = prism::load(Source::new("model", text), &HashMap::new())
        .unwrap_or_else(|refused| panic!("{:?}", refused.diagnostics));
    let objective = loaded.formula(question).unwrap_or_else(|r| panic!("{question}: {:?}", r.diagnostics));
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    then(&model, &objective)
}

fn solved(text: &str, question: &str, exact: bool) -> Answer {
    with_model(text, question, |model, objective| {
        let precision = Precision { exact, ..Precision::default() };
        let options = Options { precision, memory: None, max_states: None };
        answer(model, model.system(), objective, options).unwrap_or_else(|e| panic!("{question}: {e}"))
    })
}

/// So many successes in a row, each with probability 1/10.
fn in_a_row(successes: u32) -> String {
    format!(
        "dtmc module row s : [0..{successes}] init 0;
            [] s<{successes} -> 0.1 : (s'=s+1) + 0.9 : (s'=0);
            [] s={successes} -> true;
        endmodule rewards s<{successes} : 1; endrewards"
    )
}

#[test]
fn what_takes_ten_million_steps_takes_few_sweeps() {
    // (10^n - 1) / 0.9 tries.
    for (successes, tries) in [(4, 11_110.0), (7, 11_111_110.0)] {
        let found = solved(&in_a_row(successes), &format!("R=? [ F s={successes} ]"), false);
        let (low, high) = found.value.expect("bounds");
        assert!(low <= tries && tries <= high && high - low <= 1e-6 * tries, "{found:?}");
        assert!(found.sweeps < 2000, "{found:?}");
    }
}

/// Two ways out that are taken once in a million steps, and a choice that puts one of them off.
const DOORS: &str = "mdp module doors
        s : [0..6] init 0;
        [] s=0 -> 0.001 : (s'=1) + 0.999 : (s'=2);
        [wait] s=0 -> 0.5 : (s'=2) + 0.5 : (s'=3);
        [] s=1 -> 0.001 : (s'=4) + 0.999 : (s'=0);
        [other] s=1 -> 0.0005 : (s'=4) + 0.0005 : (s'=5) + 0.999 : (s'=2);
        [] s=2 -> (s'=0);
        [] s=3 -> 0.0000005 : (s'=5) + 0.0000005 : (s'=6) + 0.999999 : (s'=0);
        [] s>=4 -> true;
    endmodule rewards [wait] true : 1/3; s=1 : 1; s=3 : 2; endrewards";

#[test]
fn choices_that_hardly_differ_are_told_apart() {
    for question in
        ["Pmax=? [ F s=4 ]", "Pmin=? [ F s=4 ]", "Pmax=? [ F s=5 ]", "Rmin=? [ F s>=4 ]", "Rmax=? [ F s>=4 ]"]
    {
        let found = solved(DOORS, question, true);
        let (low, high) = found.value.expect("bounds");
        let Some(Exact::Finite(exact)) = &found.exact else { panic!("{question}: {found:?}") };
        let exact = exact.to_f64().value();
        assert!(low <= exact && exact <= high && high - low <= 1e-6 * exact, "{question}: {exact} {found:?}");
        assert!(found.sweeps < 20_000, "{question}: {found:?}");
    }
}

/// Cycles that are hardly ever left, whatever is chosen.
fn random_model(seed: u64) -> String {
    let mut random = Random::new(seed);
    let states = 6 + random.below(12usize);
    let mut text = format!("mdp module m x : [0..{}] init 0;\n", states + 1);
    let mut rewards = String::new();
    for state in 0..states {
        for choice in 0..1 + random.below(3usize) {
            let (a, b) = (random.below(states), random.below(states));
            let end = states + random.below(2usize);
            let rare = ["0.000001", "0.001", "0.00002"][random.below(3usize)];
            let _ = writeln!(
                text,
                "[a{state}_{choice}] x={state} -> {rare}/2 : (x'={end}) + {rare}/2 : (x'={a}) + 1-{rare} : (x'={b});"
            );
            let _ = writeln!(rewards, "[a{state}_{choice}] true : {};", random.below(4usize));
        }
    }
    let _ = write!(text, "[] x>={states} -> true; endmodule rewards {rewards} endrewards");
    let _ = write!(text, " label \"one\" = x={states}; label \"out\" = x>={states};");
    text
}

#[test]
fn bounds_of_random_slow_processes_hold_and_are_narrow() {
    for seed in 0..40 {
        let text = random_model(seed);
        for question in
            ["Pmax=? [ F \"one\" ]", "Pmin=? [ F \"one\" ]", "Rmin=? [ F \"out\" ]", "Rmax=? [ F \"out\" ]"]
        {
            let found = solved(&text, question, true);
            let (low, high) = found.value.expect("bounds");
            let Some(Exact::Finite(exact)) = &found.exact else { panic!("{seed} {question}: {found:?}") };
            let exact = exact.to_f64().value();
            assert!(
                low <= exact && exact <= high && high - low <= 1e-6 * exact,
                "{seed} {question}: {exact} {found:?}\n{text}"
            );
        }
    }
}

#[test]
fn sweeps_that_prove_nothing_are_given_up_for_the_same() {
    // Fourteen million sweeps of all values at once would be needed.
    let found = with_model(&in_a_row(6), "R=? [ F s=6 ]", |model, objective| {
        let options = Options { precision: Precision::default(), memory: None, max_states: None };
        answer_in_ram(model, model.system(), objective, options).expect("an answer")
    });
    let (low, high) = found.value.expect("bounds");
    assert!(low <= 1_111_110.0 && 1_111_110.0 <= high && high - low <= 1.2, "{found:?}");
}
