//! Certificates of random processes are accepted, and refused once they claim more.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_store::vfs::{Folder, IoThreads};
use hadal_store::{Disk, Governor};
use hadal_system::Source;
use hadal_testkit::Random;
use hadal_value::certificate::{Certificate, CheckError, Claim, Flaw, Reader, check};
use hadal_value::disk::{Journal, Place, Tier, answer_with};
use hadal_value::{Options, Precision, SolveError, answer};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

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

fn disk(place: &Path, memory: u64) -> Disk {
    let folder = Arc::new(Folder::create(place).expect("a folder"));
    Disk::new(folder, IoThreads::new(1), Governor::new(memory), 0)
}

/// Between what the value lies, and the claims.
type Proof = ((f64, f64), Vec<Claim>);

fn proof(certificate: &Certificate) -> Proof {
    let mut file = Vec::new();
    certificate.write(&mut file).expect("written");
    let reader = Reader::open(&file[..]).expect("read");
    (reader.value, reader.map(|claim| claim.expect("a claim")).collect())
}

/// Many states, a few of which can be stayed in.
const FIELD: &str = "mdp module walk
        x : [0..40] init 20; y : [0..40] init 20; k : [0..3];
        [right] x<40 & x>0 & y<40 & y>0 -> 0.5 : (x'=x+1) & (k'=mod(k+1,4)) + 0.5 : (x'=x-1);
        [up] x<40 & x>0 & y<40 & y>0 -> 0.4 : (y'=y+1) + 0.6 : (y'=y-1) & (k'=0);
        [] x=0 | y=0 -> true;
        [] x=40 | y=40 -> true;
    endmodule
    rewards [right] true : 2; [up] true : 1; endrewards
    label \"out\" = x=40 | y=40; label \"home\" = x=0 | y=0;";

#[test]
fn policies_and_certificates_of_many_states_are_made_and_checked_in_little_memory() {
    for question in ["Pmax=? [ F \"out\" ]", "Rmin=? [ F \"out\" | \"home\" ]"] {
        let mut loaded = prism::load(Source::new("field", FIELD), &HashMap::new()).expect("a model");
        let objective = loaded.formula(question).expect("a question");
        let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
        let precision = Precision { certificate: true, policy: true, ..Precision::default() };
        let place = tempfile::tempdir().expect("a place");
        let (run, scratch) = (place.path().join("run"), place.path().join("check"));
        // 6724 states: bounds before and after a sweep, claims of 40 bytes and sorted copies of them would take more.
        let memory = 640 << 10;
        let mut journal = Journal::open(&run, 1, &Governor::new(memory)).expect("a folder");
        let asked = (precision, Some(Tier::SemiExternal));
        let found = answer_with(&model, model.system(), &objective, asked, &mut journal)
            .unwrap_or_else(|error| panic!("{question}: {error}"));
        let (value, claims) = proof(&found.certificate.expect("a certificate"));
        let (low, high) = found.value.expect("a value");
        assert!(value.0 <= low && high <= value.1, "{question}: {value:?} {low} {high}");
        assert!(claims.len() > 5000, "{question}: {}", claims.len());
        let policy = found.policy.expect("a policy");
        assert!(policy.value.0 <= high * 1.0001 && policy.value.1 >= low * 0.9999, "{question}: {policy:?}");
        let disk = disk(&scratch, memory);
        let judge = |claims: &[Claim]| {
            check(&model, model.system(), &objective, (value, claims.iter().cloned().map(Ok)), &disk)
        };
        assert_eq!(judge(&claims).expect("proved"), claims.len() as u64, "{question}");
        // One claim among thousands that is too sharp, and one that is missing.
        let mut lie = claims.clone();
        let middle = claims.iter().position(|c| c.lower > 0.1 && c.rank > 5).expect("such a claim");
        lie[middle].upper *= 0.9;
        lie[middle].lower *= 0.9;
        assert!(matches!(judge(&lie), Err(CheckError::Flaw(_))), "{question}");
        let mut lie = claims.clone();
        lie.remove(middle);
        assert!(matches!(judge(&lie), Err(CheckError::Flaw(_))), "{question}");
    }
}

#[test]
fn certificates_are_accepted_and_lies_are_not() {
    let (mut accepted, mut lies, mut endless) = (0, 0, 0u64);
    let place = tempfile::tempdir().expect("a place");
    let disk = disk(place.path(), 1 << 20);
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
            let read = proof(&found.certificate.expect("a certificate"));
            let judge = |(value, claims): &Proof| {
                let claims = claims.iter().cloned().map(Ok);
                match check(&model, model.system(), &objective, (*value, claims), &disk) {
                    Ok(_) => true,
                    Err(CheckError::Flaw(_)) => false,
                    Err(error) => panic!("{error}"),
                }
            };
            assert!(judge(&read), "{question}\n{text}\n{read:?}");
            accepted += 1;
            // The order of lines does not matter.
            let mut turned = read.clone();
            turned.1.reverse();
            assert!(judge(&turned), "{question}");
            // Nobody shows that a finite reward is infinite.
            if let Some(at) =
                read.1.iter().position(|c| c.escape.is_none()).filter(|_| question.starts_with('R'))
            {
                let mut lie = read.clone();
                (lie.1[at].lower, lie.1[at].escape) = (f64::INFINITY, Some(0.5));
                assert!(!judge(&lie) || lie.1[at].upper == f64::INFINITY, "{question}\n{text}");
            }
            endless +=
                u64::from(question.starts_with("Rmax") && found.value.is_some_and(|v| v.0 == f64::INFINITY));
            // Bounds that leave the value out cannot be shown, whatever else is claimed of the first state.
            let (low, high) = found.value.expect("a value");
            if high.is_finite() && high > 0.01 {
                let mut lie = read.clone();
                lie.0.1 = low * 0.99;
                assert!(!judge(&lie), "{question}");
                if !read.1.is_empty() {
                    lie = read.clone();
                    lie.1.remove(0);
                    assert!(!judge(&lie), "{question}: a claim is missing\n{text}");
                    // Two claims of one state.
                    lie = read.clone();
                    let mut second = read.1[0].clone();
                    second.upper += 1.0;
                    lie.1.push(second);
                    assert!(!judge(&lie), "{question}: two claims of one state");
                    for state in 0..read.1.len() {
                        lie = read.clone();
                        lie.1[state].upper *= 0.9;
                        lie.1[state].lower = lie.1[state].lower.min(lie.1[state].upper);
                        lies += u64::from(!judge(&lie));
                        lie = read.clone();
                        lie.1[state].lower = lie.1[state].lower * 1.1 + 0.01;
                        lies += u64::from(!judge(&lie));
                    }
                }
            }
        }
    }
    println!("{accepted} certificates accepted, {lies} lies refused");
    assert!(accepted == 360 && lies > 300 && endless > 5, "{accepted} {lies} {endless}");
}

#[test]
fn questions_inside_questions_have_no_certificate() {
    let question = "Pmax=? [ F (P>=0.5 [ X \"out\" ] & k=0) ]";
    let mut loaded = prism::load(Source::new("field", FIELD), &HashMap::new()).expect("a model");
    let objective = loaded.formula(question).expect("a question");
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let precision = Precision { certificate: true, ..Precision::default() };
    let options = Options { precision, memory: None, max_states: None };
    let in_ram = answer(&model, model.system(), &objective, options).map(|found| found.value);
    assert!(matches!(in_ram, Err(SolveError::NoCertificate(_))), "{in_ram:?}");
    let place = tempfile::tempdir().expect("a place");
    let at = Place { folder: place.path(), memory: 1 << 24, tier: Some(Tier::SemiExternal) };
    let on_disk = hadal_value::disk::answer(&model, model.system(), &objective, precision, &at);
    assert!(matches!(on_disk, Err(SolveError::NoCertificate(_))), "{:?}", on_disk.map(|found| found.value));
    // Nobody goes on from a question that is refused.
    assert_eq!(std::fs::read_dir(place.path()).expect("a folder").count(), 0);
    // Nor does the checker look inside.
    let scratch = disk(&place.path().join("check"), 1 << 24);
    let checked = check(&model, model.system(), &objective, ((0.0, 1.0), std::iter::empty()), &scratch);
    assert!(matches!(checked, Err(CheckError::Flaw(Flaw::Question))), "{checked:?}");
}
