//! Tiers against each other, bit by bit, against exact values, and after being killed.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_store::Governor;
use hadal_system::Source;
use hadal_system::chance::Objective;
use hadal_system::rows::Rational;
use hadal_testkit::random::Random;
use hadal_testkit::{Faults, FaultyFolder, Survival};
use hadal_value::disk::{Journal, Tier, answer_in_ram, answer_with};
use hadal_value::evidence::Wanted;
use hadal_value::values::Exact;
use hadal_value::{Answer, Options, Precision, answer};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

const WALK: &str = "mdp const int N; module walk
        x : [0..N] init 1; y : [0..N] init 1; k : [0..3];
        [right] x<N & x>0 & y<N & y>0 -> 0.5 : (x'=x+1) & (k'=mod(k+1,4)) + 0.5 : (x'=x-1);
        [up] x<N & x>0 & y<N & y>0 -> 0.4 : (y'=y+1) + 0.6 : (y'=y-1) & (k'=0);
        [] x=0 | y=0 -> true;
        [] x=N | y=N -> true;
    endmodule
    rewards [right] true : 2; [up] true : 1; endrewards
    label \"out\" = x=N | y=N; label \"home\" = x=0 | y=0;";

const ON_DISK: [Tier; 3] = [Tier::SemiExternal, Tier::Blocks, Tier::Faithful];

fn ask(text: &str, n: i128, question: &str) -> (Model, Objective) {
    let given = HashMap::from([("N".to_owned(), Rational::from_integer(n))]);
    let mut loaded = prism::load(Source::new("model", text), &given)
        .unwrap_or_else(|r| panic!("{text}: {:?}", r.diagnostics));
    let objective = loaded.formula(question).unwrap_or_else(|r| panic!("{:?}", r.diagnostics));
    (Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs"), objective)
}

const OPTIONS: Options = Options {
    precision: Precision {
        relative: 1e-6,
        exact: false,
        policy: false,
        certificate: false,
        threads: 1,
        paths: Wanted::Nothing,
        room: None,
        spare: None,
    },
    memory: None,
    max_states: None,
};

fn on_disk(model: &Model, objective: &Objective, tier: Tier, folder: &FaultyFolder) -> Option<Answer> {
    let mut journal = Journal::on(Arc::new(folder.clone()), 7, &Governor::new(1 << 20)).ok()?;
    let asked = (OPTIONS.precision, Some(tier));
    match answer_with(model, model.system(), objective, asked, &mut journal) {
        Ok(answer) => Some(answer),
        Err(error) if folder.is_dead() => {
            println!("died: {error}");
            None
        }
        Err(error) => panic!("{}: {error}", tier.name()),
    }
}

fn bits(answer: &Answer) -> (u64, u64) {
    let (low, high) = answer.value.expect("a value");
    (low.to_bits(), high.to_bits())
}

fn exactly_on_disk(model: &Model, objective: &Objective) -> Answer {
    let folder = Arc::new(FaultyFolder::default());
    let mut journal = Journal::on(folder, 7, &Governor::new(1 << 20)).expect("a folder");
    let asked = (Precision { exact: true, ..OPTIONS.precision }, Some(Tier::Blocks));
    answer_with(model, model.system(), objective, asked, &mut journal).expect("an answer")
}

/// All tiers give the same bits; they contain the exact value; they are sharp. Returns how many blocks could have mattered.
fn agree(text: &str, n: i128, question: &str) {
    let (model, objective) = ask(text, n, question);
    let exact = Options { precision: Precision { exact: true, ..OPTIONS.precision }, ..OPTIONS };
    let exact = answer(&model, model.system(), &objective, exact).expect("an exact answer");
    let ram = answer_in_ram(&model, model.system(), &objective, OPTIONS).expect("an answer");
    let found = exactly_on_disk(&model, &objective);
    assert_eq!(found.exact, exact.exact, "{question}\n{text}");
    let (around, sharp) = (found.value.expect("a value"), ram.value.expect("a value"));
    assert!(around.0 <= sharp.1 && sharp.0 <= around.1, "{question}: {around:?} {sharp:?}\n{text}");
    for tier in ON_DISK {
        let found = on_disk(&model, &objective, tier, &FaultyFolder::default()).expect("an answer");
        let counts = |a: &Answer| (a.size.states, a.size.choices, a.size.branches, a.sweeps);
        assert_eq!(counts(&found), counts(&ram), "{question} {}\n{text}", tier.name());
        assert_eq!(bits(&found), bits(&ram), "{question} {}\n{text}", tier.name());
    }
    let (low, high) = ram.value.expect("a value");
    match exact.exact.expect("an exact value") {
        Exact::Infinite => assert_eq!(low, f64::INFINITY, "{question}\n{text}"),
        Exact::Finite(value) => {
            let value = value.to_f64().value();
            let near = value * 1e-15;
            assert!(low <= value + near && value - near <= high, "{question}: {low} {value} {high}\n{text}");
            assert!(high - low <= 1.1e-6 * high, "{question}: {low} {value} {high}\n{text}");
        }
    }
}

const QUESTIONS: [&str; 28] = [
    "Pmin=? [ F \"out\" ]",
    "Pmax=? [ F \"out\" ]",
    "Pmax=? [ k<3 U \"home\" ]",
    "Pmin=? [ G !\"out\" ]",
    "Rmax=? [ F \"out\" | \"home\" ]",
    "Rmin=? [ F \"out\" | \"home\" ]",
    "Pmax=? [ F<=20 \"out\" ]",
    "Pmin=? [ true U[3,9] \"home\" ]",
    "Rmax=? [ C<=12 ]",
    // Solved on products with an automaton and with what may still be earned, or without a target.
    "Pmax=? [ (F \"out\") & (G !\"home\") ]",
    "Pmin=? [ (F \"out\") | (G F k=0) ]",
    "Pmax=? [ G F k=1 ]",
    "Pmin=? [ F^{rew<=9} \"out\" ]",
    "Pmax=? [ k<3 U^{rew<=11} \"home\" ]",
    "Rmax=? [ C ]",
    "Rmin=? [ C ]",
    // With filters, and from some step on.
    "filter(min, Pmax=? [ F \"out\" ], !\"out\")",
    "filter(avg, Pmin=? [ G !\"home\" ], !\"out\")",
    "filter(sum, Pmax=? [ x<2 U<=7 \"out\" ], !\"out\")",
    "filter(max, Rmin=? [ C<=5 ], !\"out\")",
    "Pmax=? [ x<4 U>=2 \"out\" ]",
    "Pmin=? [ X P>=0.5 [ F>=1 \"home\" ] ]",
    // Products that begin in every state: below a filter, inside another formula, about another question.
    "filter(avg, Pmax=? [ (F \"out\") & (G !\"home\") ], !\"out\")",
    "filter(max, Pmin=? [ F^{rew<=5} \"out\" ], x<4)",
    "Pmax=? [ F P>=0.2 [ x<2 U^{rew<=7} \"home\" ] ]",
    "Pmin=? [ F P<0.9 [ (G F \"out\") | (F G \"home\") ] ]",
    "Pmax=? [ (G F P>0.4 [ F \"out\" ]) | (F G \"home\") ]",
    "Pmax=? [ F^{rew<=6} P>=0.3 [ F G \"out\" ] ]",
];

#[test]
fn tiers_agree_on_a_walk() {
    for question in QUESTIONS {
        agree(WALK, 9, question);
    }
}

/// A sweep of the published tier reads the edges twice, writes those that are swept and sorts them once, and writes all again.
#[test]
fn a_sweep_of_the_published_tier_moves_the_edges_a_few_times() {
    let (model, objective) = ask(WALK, 25, "Rmin=? [ F \"out\" | \"home\" ]");
    let found = on_disk(&model, &objective, Tier::Faithful, &FaultyFolder::default()).expect("an answer");
    let moved = found.moved.expect("a disk");
    let (edges, record) = (found.size.branches + found.size.states, 6 * 8);
    // A run of its own is spilled and merged: five times at most, and no record takes more than its words.
    assert!(moved.sweep <= 5 * edges * record + (64 << 10), "{moved:?}, {edges} edges");
    assert!(moved.sweeping <= moved.read + moved.written && moved.sweeping <= moved.sweep * found.sweeps);
    // Sweeps move about the same.
    assert!(moved.sweep * found.sweeps <= moved.sweeping * 2, "{moved:?}, {} sweeps", found.sweeps);
    let ram = answer_in_ram(&model, model.system(), &objective, OPTIONS).expect("an answer");
    assert!(ram.moved.is_none());
}

/// Rounds that are never played again, each a walk of its own: blocks of nodes that can be solved one after the other.
const ROUNDS: &str = "mdp const int N; module walk
        round : [0..N]; x : [0..20] init 10;
        [up] round<N & x>0 & x<20 -> 0.5 : (x'=x+1) + 0.5 : (x'=x-1);
        [safe] round<N & x>0 & x<20 -> 0.3 : (x'=x+1) + 0.6 : (x'=x-1) + 0.1 : true;
        [next] round<N & x=20 -> 0.9 : (round'=round+1) & (x'=10) + 0.1 : (x'=0);
        [] x=0 -> true;
        [] round=N -> true;
    endmodule
    rewards true : 1; endrewards
    label \"out\" = round=N; label \"home\" = x=0;";

#[test]
fn tiers_agree_where_blocks_are_solved_one_after_the_other() {
    for question in QUESTIONS {
        if !question.contains('k') {
            agree(ROUNDS, 9, question);
        }
    }
    // Rounds are solved from the last one on, each by its own sweeps and not by those of all.
    let (model, objective) = ask(ROUNDS, 9, "Pmax=? [ F \"out\" ]");
    let many = answer_in_ram(&model, model.system(), &objective, OPTIONS).expect("an answer");
    let (model, objective) = ask(ROUNDS, 1, "Pmax=? [ F \"out\" ]");
    let one = answer_in_ram(&model, model.system(), &objective, OPTIONS).expect("an answer");
    assert!(many.sweeps > 2 * one.sweeps, "{} {}", many.sweeps, one.sweeps);
}

/// All tiers give the same bits, and what the usual way finds in RAM overlaps with it.
fn agree_without_fractions(text: &str, question: &str) {
    let (model, objective) = ask(text, 5, question);
    let usual = answer(&model, model.system(), &objective, OPTIONS).expect("an answer");
    let ram = answer_in_ram(&model, model.system(), &objective, OPTIONS).expect("an answer");
    let (near, found) = (usual.value.expect("a value"), ram.value.expect("a value"));
    assert!(near.0 <= found.1 && found.0 <= near.1, "{question}: {near:?} {found:?}\n{text}");
    assert!(found.0 <= found.1 && found.1 - found.0 <= 1.1e-6 * found.1, "{question}: {found:?}\n{text}");
    for tier in ON_DISK {
        let found = on_disk(&model, &objective, tier, &FaultyFolder::default()).expect("an answer");
        assert_eq!(bits(&found), bits(&ram), "{question} {}\n{text}", tier.name());
        assert_eq!((found.sweeps, found.size.branches), (ram.sweeps, ram.size.branches), "{question}");
    }
}

/// A chain in continuous time with a way out of a long circle.
const MACHINE: &str = "ctmc const int N; module machine
        x : [0..2*N] init 0; k : [0..2];
        [step] x<2*N -> 2 : (x'=x+1) + 0.25 : (x'=0) & (k'=mod(k+1,3));
        [rest] x=N -> 1/3 : (x'=0);
        [again] x=2*N & k>0 -> 5 : (x'=N);
    endmodule
    rewards x>2 : 3/2; [step] k=1 : 1; endrewards
    rewards \"level\" true : x; endrewards
    label \"out\" = x=2*N; label \"home\" = x=0;";

const IN_TIME: [&str; 12] = [
    "P=? [ F<=7.5 \"out\" ]",
    "P=? [ k<2 U[2,9] \"out\" ]",
    "P=? [ !\"out\" U>=3 \"out\" ]",
    "P=? [ G<=20 !\"out\" ]",
    "R{\"level\"}=? [ I=6 ]",
    "R=? [ C<=11 ]",
    "filter(max, P=? [ F<=2 k=2 ], \"home\")",
    "S=? [ k=1 ]",
    "R{\"level\"}=? [ S ]",
    "R=? [ S ]",
    // Two rewards in one question, and one inside the other.
    "filter(avg, R{\"level\"}=? [ F R{1}>=0.5 [ C<=2 ] ], \"home\")",
    "P=? [ F<=3 S>0.1 [ k=1 ] ]",
];

#[test]
fn tiers_agree_in_continuous_time_and_in_the_long_run() {
    for question in IN_TIME {
        agree_without_fractions(MACHINE, question);
    }
    let processes = ["Smax=? [ \"out\" ]", "Smin=? [ !\"home\" ]", "Rmax=? [ S ]", "Rmin=? [ S ]"];
    for seed in 0..25 {
        let text = random_model(seed);
        for question in processes {
            agree_without_fractions(&text, question);
        }
    }
}

#[test]
fn tiers_agree_on_questions_with_two_rewards() {
    let text = WALK.replace("endrewards", "endrewards rewards \"k\" true : k; endrewards");
    for question in [
        "Rmax=? [ F R{\"k\"}max<=3 [ C<=3 ] ]",
        "R{\"k\"}min=? [ F \"out\" | R{1}max<=1 [ F \"out\" | \"home\" ] ]",
        "Pmax=? [ F R{1}min>=3 [ F \"out\" | \"home\" ] & R{\"k\"}min>=1 [ I=1 ] ]",
    ] {
        agree(&text, 5, question);
    }
}

/// A decision process with few states, many loops, and choices that earn nothing.
fn random_model(seed: u64) -> String {
    let mut random = Random::new(seed);
    let states = 4 + random.below(9usize);
    let mut text = format!("mdp const int N; module m x : [0..{}] init 0; k : [0..1];\n", states - 1);
    let mut rewards = String::new();
    for state in 0..states {
        for choice in 0..1 + random.below(3usize) {
            let name = format!("a{state}_{choice}");
            let to = |random: &mut Random| random.below(states);
            let (a, b, c) = (to(&mut random), to(&mut random), to(&mut random));
            let update = match random.below(3usize) {
                0 => format!("(x'={a})"),
                1 => format!("1/2 : (x'={a}) + 1/2 : (x'={b})"),
                _ => format!("0.3 : (x'={a}) + 0.3 : (x'={b}) + 0.4 : (x'={c})"),
            };
            let _ = writeln!(text, "[{name}] x={state} -> {update};");
            if random.chance(40) {
                let _ = writeln!(rewards, "[{name}] true : {};", 1 + random.below(3usize));
            }
        }
    }
    let _ = write!(text, "endmodule rewards {rewards} endrewards ");
    let _ = write!(text, "label \"out\" = x={}; label \"home\" = x={};", states - 1, states / 2);
    text
}

#[test]
fn tiers_agree_on_random_processes() {
    for seed in 0..40 {
        let text = random_model(seed);
        for question in QUESTIONS {
            agree(&text, 1, question);
        }
    }
}

#[test]
fn sums_and_averages_killed_anywhere_go_on_to_the_same_bits() {
    killed(
        MACHINE,
        &[
            ("P=? [ k<2 U[2,9] \"out\" ]", Tier::SemiExternal),
            ("P=? [ !\"out\" U>=3 \"out\" ]", Tier::Blocks),
            ("R=? [ C<=11 ]", Tier::SemiExternal),
            ("S=? [ k=1 ]", Tier::Faithful),
            ("R{\"level\"}=? [ S ]", Tier::Blocks),
        ],
    );
}

#[test]
fn a_run_killed_anywhere_goes_on_to_the_same_bits() {
    let questions = [
        ("Pmax=? [ F \"out\" ]", Tier::SemiExternal),
        ("Rmin=? [ F \"out\" | \"home\" ]", Tier::Blocks),
        ("Pmin=? [ F \"out\" ]", Tier::Faithful),
        ("Pmax=? [ (F \"out\") & (G F k=0) ]", Tier::Blocks),
        ("Pmax=? [ F^{rew<=9} \"out\" ]", Tier::SemiExternal),
        ("Pmin=? [ true U[9,40] \"home\" ]", Tier::SemiExternal),
        ("Pmax=? [ k<3 U>=12 \"home\" ]", Tier::SemiExternal),
        ("filter(avg, Pmax=? [ (F \"out\") & (G F k=0) ], x<4)", Tier::SemiExternal),
        ("filter(max, Pmax=? [ F^{rew<=5} \"out\" ], x<4)", Tier::Blocks),
    ];
    killed(WALK, &questions);
}

fn killed(text: &str, questions: &[(&str, Tier)]) {
    for &(question, tier) in questions {
        let (model, objective) = ask(text, 7, question);
        let whole = FaultyFolder::default();
        let expected = on_disk(&model, &objective, tier, &whole).expect("an answer");
        let (operations, mut resumed) = (whole.operations(), 0);
        let survivals = [Survival::Synced, Survival::Everything, Survival::TornLastWrite];
        for n in 0..30u64 {
            let folder = FaultyFolder::new(Faults { die_at: Some(operations * n / 30), capacity: None });
            if on_disk(&model, &objective, tier, &folder).is_some() {
                continue;
            }
            let next = folder.after_crash(survivals[n as usize % 3]);
            let found = on_disk(&model, &objective, tier, &next).expect("an answer");
            assert_eq!(bits(&found), bits(&expected), "{question} died at {n}/30");
            assert_eq!(found.sweeps, expected.sweeps, "{question} died at {n}/30");
            resumed += u64::from(found.resumed);
        }
        println!("{}: {resumed} of 30 went on from a commit", tier.name());
        assert!(resumed > 5, "{}: only {resumed} runs went on", tier.name());
    }
}

/// A state whose value is a third, which no interval of floating-point numbers tells from the bound.
const THIRD: &str = "mdp module m
        x : [0..4];
        [] x=0 -> 0.5 : (x'=1) + 0.5 : (x'=2);
        [] x=1 -> 1/3 : (x'=3) + 1/3 : (x'=4) + 1/3 : (x'=1);
        [] x=2 -> 1/3 : (x'=3) + 2/3 : (x'=4);
        [] x>2 -> true;
    endmodule
    const int N; label \"out\" = x=3;";

#[test]
fn bounds_inside_formulas_are_decided_exactly() {
    for (question, value) in [
        ("P=? [ F P>=1/3 [ F \"out\" ] & x=2 ]", 0.5),
        ("P=? [ F P>1/3 [ F \"out\" ] & x=2 ]", 0.0),
        ("P=? [ X P<=1/3 [ F<=7 \"out\" ] ]", 0.5),
        ("P=? [ X P<1/3 [ F<=7 \"out\" ] ]", 0.0),
        ("P=? [ X P>=1/3 [ !(x=4) U>=1 \"out\" ] ]", 1.0),
    ] {
        let question = question.replace("P=?", "Pmax=?");
        let (model, objective) = ask(THIRD, 1, &question);
        let ram = answer(&model, model.system(), &objective, OPTIONS).expect("an answer");
        let near = |found: &Answer| {
            let (low, high) = found.value.expect("a value");
            assert!(low <= value && value <= high && high - low < 1e-9, "{question}: {low} {high}");
        };
        near(&ram);
        let found = on_disk(&model, &objective, Tier::Blocks, &FaultyFolder::default()).expect("an answer");
        near(&found);
    }
}

#[test]
fn exact_values_have_certificates_and_policies_on_disk() {
    let (model, objective) = ask(WALK, 5, "Pmax=? [ F \"out\" ]");
    let exact = Precision { exact: true, policy: true, certificate: true, ..OPTIONS.precision };
    let ram = answer(&model, model.system(), &objective, Options { precision: exact, ..OPTIONS })
        .expect("an answer");
    let folder = Arc::new(FaultyFolder::default());
    let mut journal = Journal::on(folder, 7, &Governor::new(1 << 20)).expect("a folder");
    let found = answer_with(&model, model.system(), &objective, (exact, Some(Tier::Blocks)), &mut journal);
    let found = found.expect("an answer");
    assert_eq!(found.exact, ram.exact);
    assert!(found.policy.is_some() && found.certificate.is_some());
}
