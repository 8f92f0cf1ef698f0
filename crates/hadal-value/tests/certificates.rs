//! Certificates of random processes are accepted, and refused once they claim more.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_testkit::Random;
use hadal_value::certificate::{Certificate, check};
use hadal_value::{Options, Precision, answer};
use std::collections::HashMap;
use std::fmt::Write;

fn random_model(seed: u64) -> String {
    let mut random = Random::new(seed);
    let states = 3 + random.below(8usize);
    let mut text = format!("mdp module m x : [0..{}] init 0;\n", states - 1);
    let mut rewards = String::new();
    for state in 0..states {
        for choice in 0..1 + random.below(3usize) {
            let (a, b) = (random.below(states), random.below(states));
            let update = match random.chance(40) {
                true => format!("(x'={a})"),
                false => format!("0.3 : (x'={a}) + 0.7 : (x'={b})"),
            };
            let _ = writeln!(text, "[a{state}_{choice}] x={state} -> {update};");
            if random.chance(50) {
                let _ = writeln!(rewards, "[a{state}_{choice}] true : {};", 1 + random.below(3usize));
            }
        }
    }
    let _ = write!(text, "endmodule rewards {rewards} endrewards label \"out\" = x={};", states - 1);
    text
}

#[test]
fn certificates_are_accepted_and_lies_are_not() {
    let (mut accepted, mut lies, mut endless) = (0, 0, 0u64);
    for seed in 0..60 {
        let text = random_model(seed);
        for question in [
            "Pmax=? [ F \"out\" ]",
            "Pmin=? [ F \"out\" ]",
            "Pmax=? [ x!=1 U \"out\" ]",
            "Pmin=? [ G !\"out\" ]",
            "Rmin=? [ F \"out\" ]",
            "Rmax=? [ F \"out\" ]",
        ] {
            let mut loaded =
                prism::load(Source::new("random", text.clone()), &HashMap::new()).expect("a model");
            let objective = loaded.formula(question).expect("a question");
            let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
            let precision = Precision { certificate: true, ..Precision::default() };
            let options = Options { precision, memory: None, max_states: None };
            let found = answer(&model, model.system(), &objective, options)
                .unwrap_or_else(|error| panic!("{question}: {error}\n{text}"));
            let certificate = found.certificate.expect("a certificate");
            let mut file = Vec::new();
            certificate.write(&mut file).expect("written");
            let read = Certificate::read(&file[..]).expect("read");
            assert_eq!(read, certificate);
            let judge = |c: &Certificate| check(&model, model.system(), &objective, c);
            assert_eq!(judge(&read), Ok(()), "{question}\n{text}\n{}", String::from_utf8_lossy(&file));
            accepted += 1;
            // Nobody shows that a finite reward is infinite.
            if let Some(at) =
                read.claims.iter().position(|c| c.escape.is_none()).filter(|_| question.starts_with('R'))
            {
                let mut lie = read.clone();
                (lie.claims[at].lower, lie.claims[at].escape) = (f64::INFINITY, Some(0.5));
                assert!(judge(&lie).is_err() || lie.claims[at].upper == f64::INFINITY, "{question}\n{text}");
            }
            endless +=
                u64::from(question.starts_with("Rmax") && found.value.is_some_and(|v| v.0 == f64::INFINITY));
            // Bounds that leave the value out cannot be shown, whatever else is claimed of the first state.
            let (low, high) = found.value.expect("a value");
            if high.is_finite() && high > 0.01 {
                let claim = certificate.claims.iter().position(|c| c.state == certificate.claims[0].state);
                let mut lie = read.clone();
                lie.value.1 = low * 0.99;
                assert!(judge(&lie).is_err(), "{question}");
                if let Some(at) = claim {
                    lie = read.clone();
                    lie.claims.remove(at);
                    assert!(judge(&lie).is_err(), "{question}: a claim is missing\n{text}");
                    for state in 0..read.claims.len() {
                        lie = read.clone();
                        lie.claims[state].upper *= 0.9;
                        lie.claims[state].lower = lie.claims[state].lower.min(lie.claims[state].upper);
                        lies += u64::from(judge(&lie).is_err());
                        lie = read.clone();
                        lie.claims[state].lower = lie.claims[state].lower * 1.1 + 0.01;
                        lies += u64::from(judge(&lie).is_err());
                    }
                }
            }
        }
    }
    println!("{accepted} certificates accepted, {lies} lies refused");
    assert!(accepted == 360 && lies > 300 && endless > 5, "{accepted} {lies} {endless}");
}
