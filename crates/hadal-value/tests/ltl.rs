//! Probabilities of formulas of temporal logic: by hand, a formula against its opposite, and choices against every policy.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_testkit::Random;
use hadal_value::values::Exact;
use hadal_value::{Options, Precision, answer};
use num_rational::Ratio;
use std::collections::HashMap;
use std::fmt::Write;

/// The value as a fraction, and the verdict of a question with a bound.
fn ask(model: &str, question: &str) -> (String, Option<bool>) {
    let mut loaded = prism::load(Source::new("model", model), &HashMap::new())
        .unwrap_or_else(|refused| panic!("{:?}\n{model}", refused.diagnostics));
    let objective = loaded.formula(question).unwrap_or_else(|r| panic!("{question}: {:?}", r.diagnostics));
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let precision = Precision { exact: true, ..Precision::default() };
    let options = Options { precision, memory: None, max_states: None };
    let found = answer(&model, model.system(), &objective, options)
        .unwrap_or_else(|error| panic!("{question}: {error}"));
    let text = match (&found.exact, found.value) {
        (Some(Exact::Finite(value)), Some((low, high))) => {
            let near = value.to_f64().value();
            assert!(low <= near && near <= high, "{question}: [{low}, {high}] lacks {near}");
            value.to_string()
        }
        _ => String::new(),
    };
    (text, found.verdict)
}

fn fraction(model: &str, question: &str) -> Ratio<i128> {
    let text = ask(model, question).0;
    text.parse().unwrap_or_else(|_| panic!("{question}: {text}"))
}

/// From 0 to a ring of 1 and 2, to a trap 3, or by choice back and forth between 4 and 5.
const WALK: &str = "mdp
    module walk
        s : [0..5];
        [] s=0 -> 0.25 : (s'=1) + 0.25 : (s'=3) + 0.5 : (s'=4);
        [] s=1 -> (s'=2);
        [] s=2 -> (s'=1);
        [] s=3 -> true;
        [stay] s=4 -> true;
        [go] s=4 -> (s'=5);
        [] s=5 -> (s'=4);
    endmodule
    label \"odd\" = s=1 | s=3 | s=5;
";

#[test]
fn values_worked_out_by_hand() {
    for (question, expected) in [
        ("Pmax=? [ G F \"odd\" ]", "1"),
        ("Pmin=? [ G F \"odd\" ]", "1/2"),
        ("Pmax=? [ F G \"odd\" ]", "1/4"),
        ("Pmin=? [ F G !\"odd\" ]", "0"),
        ("Pmax=? [ F G !\"odd\" ]", "1/2"),
        ("Pmax=? [ (G F s=4) & (G F s=5) ]", "1/2"),
        ("Pmin=? [ (G F s=5) | (F G s=4) ]", "1/2"),
        ("Pmax=? [ (G F s=5) & (F G s=4) ]", "0"),
        ("Pmax=? [ (F s=5) & (F G s=4) ]", "1/2"),
        ("Pmax=? [ X X s=2 ]", "1/4"),
        ("Pmax=? [ F (s=4 & X X s=4) ]", "1/2"),
        ("Pmin=? [ F (s=4 & X X s=4) ]", "1/2"),
        ("Pmax=? [ F<=1 (s=4 & (F[2,2] s=5)) ]", "1/2"),
        ("Pmax=? [ (s=0 U s=1) | (s=0 U s=3) ]", "1/2"),
        ("Pmax=? [ !(F s=4) ]", "1/2"),
        ("Pmax=? [ G ((s=1 => X s=2) & (s=2 => X s=1)) ]", "1"),
        ("Pmax=? [ (F s=3) => (G s<4) ]", "1"),
    ] {
        assert_eq!(ask(WALK, question).0, expected, "{question}");
    }
}

#[test]
fn bounds_and_path_quantifiers_are_answered() {
    for (question, holds) in [
        ("P>=0.5 [ G F \"odd\" ]", true),
        ("P>0.5 [ G F \"odd\" ]", false),
        ("E [ F s=5 ]", true),
        ("E [ s<4 U s=5 ]", false),
        ("A [ G s<5 ]", false),
        ("A [ G s<6 ]", true),
        ("P>=1 [ F (s=3 | P>=1 [ G F \"odd\" ] | s=4) ]", true),
    ] {
        assert_eq!(ask(WALK, question).1, Some(holds), "{question}");
    }
}

#[test]
fn what_is_not_answered_has_a_place() {
    for question in [
        "A [ F s=5 ]",
        "E [ G s<5 ]",
        "Pmax=? [ G F{rew<=2} s=1 ]",
        "Pmax=? [ G F<=100 s=1 ]",
        "(F s=1) & s=2",
    ] {
        let mut loaded = prism::load(Source::new("model", WALK), &HashMap::new()).expect("a model");
        let refused = loaded.formula(question).expect_err(question);
        assert!(!refused.diagnostics.list.is_empty(), "{question}");
    }
}

/// A random process of few states: per state its choices, each a list of targets of the same likelihood.
fn process(random: &mut Random, choices: u64) -> Vec<Vec<Vec<u64>>> {
    let states = 2 + random.below(3);
    (0..states)
        .map(|_| {
            let count = 1 + random.below(choices);
            (0..count)
                .map(|_| {
                    let branches = 1 + random.below(2);
                    (0..branches).map(|_| random.below(states)).collect()
                })
                .collect()
        })
        .collect()
}

fn text(process: &[Vec<Vec<u64>>], kind: &str) -> String {
    let mut text = format!("{kind}\nmodule m\n s : [0..{}];\n", process.len() - 1);
    for (state, choices) in process.iter().enumerate() {
        for targets in choices {
            let branches: Vec<String> =
                targets.iter().map(|target| format!("1/{} : (s'={target})", targets.len())).collect();
            let _ = writeln!(text, " [] s={state} -> {};", branches.join(" + "));
        }
    }
    text + "endmodule\n"
}

fn formula(random: &mut Random, depth: u64, states: u64) -> String {
    if depth == 0 || random.below(5) == 0 {
        let sign = ["=", "!=", "<"][random.below(3) as usize];
        return format!("(s{sign}{})", random.below(states));
    }
    let mut part = || formula(random, depth - 1, states);
    let (left, right) = (part(), part());
    match random.below(9) {
        0 => format!("(F {left})"),
        1 => format!("(G {left})"),
        2 => format!("(X {left})"),
        3 => format!("({left} U {right})"),
        4 => format!("({left} R {right})"),
        5 => format!("({left} & {right})"),
        6 => format!("({left} | {right})"),
        7 => format!("(G F {left})"),
        _ => format!("(F G {left})"),
    }
}

#[test]
fn in_a_chain_a_formula_and_its_opposite_share_everything() {
    let mut random = Random::new(23);
    for _ in 0..400 {
        let process = process(&mut random, 1);
        let chain = text(&process, "dtmc");
        let formula = formula(&mut random, 3, process.len() as u64);
        let one = fraction(&chain, &format!("P=? [ {formula} ]"));
        let other = fraction(&chain, &format!("P=? [ !{formula} ]"));
        assert_eq!(one + other, Ratio::from_integer(1), "{formula}\n{chain}");
    }
}

#[test]
fn no_policy_beats_the_greatest_value_and_one_attains_it() {
    let mut random = Random::new(29);
    for round in 0..120 {
        let process = process(&mut random, 2);
        let model = text(&process, "mdp");
        let states = process.len() as u64;
        // Without memory these two can be made as likely as with it.
        let plain = round % 2 == 0;
        let formula = match (plain, round / 2 % 2) {
            (true, 0) => format!("(G F s={})", random.below(states)),
            (true, _) => format!("(F G s>={})", random.below(states)),
            _ => formula(&mut random, 2, states),
        };
        let most = fraction(&model, &format!("Pmax=? [ {formula} ]"));
        let least = fraction(&model, &format!("Pmin=? [ {formula} ]"));
        let mut best = Ratio::from_integer(0);
        let mut worst = Ratio::from_integer(1);
        let policies: usize = process.iter().map(Vec::len).product();
        for mut policy in 0..policies {
            let chosen: Vec<Vec<Vec<u64>>> = process
                .iter()
                .map(|choices| {
                    let pick = policy % choices.len();
                    policy /= choices.len();
                    vec![choices[pick].clone()]
                })
                .collect();
            let value = fraction(&text(&chosen, "dtmc"), &format!("P=? [ {formula} ]"));
            assert!(least <= value && value <= most, "{formula}\n{model}");
            (best, worst) = (best.max(value), worst.min(value));
        }
        if plain {
            assert_eq!((worst, best), (least, most), "{formula}\n{model}");
        }
    }
}
