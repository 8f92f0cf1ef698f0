//! Averages in the long run and values in continuous time, against closed forms and against obvious code.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_testkit::Random;
use hadal_value::build::{BuildOptions, build};
use hadal_value::{Options, Precision, SolveError, answer};
use std::collections::HashMap;
use std::fmt::Write;

fn ask(text: &str, question: &str, precision: Precision) -> Result<(f64, f64), SolveError> {
    let mut loaded = prism::load(Source::new("model", text), &HashMap::new()).expect("a model");
    let objective = loaded.formula(question).unwrap_or_else(|refused| panic!("{question}: {refused:?}"));
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let options = Options { precision, memory: None, max_states: None };
    let found = answer(&model, model.system(), &objective, options)?;
    Ok(found.value.unwrap_or_else(|| {
        let truth = f64::from(u8::from(found.verdict.expect("a verdict")));
        (truth, truth)
    }))
}

fn check(text: &str, question: &str, value: f64) {
    let (low, high) = ask(text, question, Precision::default()).expect("an answer");
    // The closed form itself is rounded.
    let slack = 1e-13 * value.max(1e-3);
    assert!(low <= value + slack && value - slack <= high, "{question}: {value} not in {low}..{high}");
    assert!(high - low <= 1.1e-6 * high, "{question}: {low}..{high} is wide");
}

const SWITCH: &str = "ctmc
module switch
    on : bool init false;
    [up] !on -> 2 : (on'=true);
    [down] on -> 3 : (on'=false);
endmodule
rewards \"load\" on : 5; [up] true : 7; endrewards
rewards \"state\" on : 4; endrewards";

#[test]
fn a_switch_in_continuous_time_has_its_closed_forms() {
    for (time, text) in [(0.25f64, "0.25"), (1.0, "1"), (8.0, "8"), (500.0, "500")] {
        check(SWITCH, &format!("P=? [ F<={text} on ]"), 1.0 - (-2.0 * time).exp());
        // On at a moment: 2/5 (1 - e^-5t).
        let on = 0.4 * (1.0 - (-5.0 * time).exp());
        check(SWITCH, &format!("P=? [ F[{text},{text}] on ]"), on);
        check(SWITCH, &format!("R{{\"state\"}}=? [ I={text} ]"), 4.0 * on);
        // Time spent on up to a moment; the rest is spent off, and left at rate 2.
        let spent = 0.4 * time - 0.08 * (1.0 - (-5.0 * time).exp());
        check(SWITCH, &format!("R{{\"load\"}}=? [ C<={text} ]"), 5.0 * spent + 14.0 * (time - spent));
    }
    check(SWITCH, "P=? [ F>=0.5 on ]", 1.0);
    check(SWITCH, "P=? [ !on U[1,2] on ]", (-2.0f64).exp() - (-4.0f64).exp());
    check(SWITCH, "P=? [ G<=2 !on ]", (-4.0f64).exp());
    check(SWITCH, "S=? [ on ]", 0.4);
    check(SWITCH, "R{\"load\"}=? [ S ]", 2.0 + 0.6 * 14.0);
    check(SWITCH, "S>=0.39 [ on ]", 1.0);
    check(SWITCH, "R{\"load\"}=? [ F on ]", 7.0);
    let exact = Precision { exact: true, ..Precision::default() };
    assert!(matches!(ask(SWITCH, "S=? [ on ]", exact), Err(SolveError::Time(_))));
    assert!(matches!(ask(SWITCH, "P=? [ F<=1 on ]", exact), Err(SolveError::Time(_))));
}

fn random_process(seed: u64, kind: &str) -> (String, usize) {
    let mut random = Random::new(seed);
    let states = 2 + random.below(5usize);
    let mut text = format!("{kind} module m x : [0..{}] init 0;\n", states - 1);
    for state in 0..states {
        let choices = if kind == "mdp" { 1 + random.below(2usize) } else { 1 };
        for choice in 0..choices {
            let (a, b) = (random.below(states), random.below(states));
            let update = match random.chance(40) {
                true => format!("(x'={a})"),
                false => format!("0.25 : (x'={a}) + 0.75 : (x'={b})"),
            };
            let _ = writeln!(text, "[a{choice}] x={state} -> {update};");
        }
    }
    let _ = write!(text, "endmodule rewards x=1 : 3; [a1] true : 1; x=0 : 0.5; endrewards");
    (text, states)
}

/// Of every stationary policy the average over very many steps; the least and the greatest.
fn brute_force(text: &str) -> (f64, f64) {
    let loaded = prism::load(Source::new("model", text), &HashMap::new()).expect("a model");
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let graph =
        build(&model, &BuildOptions { reward: Some(0), ..BuildOptions::default() }).expect("a graph").graph;
    let n = graph.states();
    let near =
        |number: u32| (graph.numbers.below()[number as usize] + graph.numbers.above()[number as usize]) / 2.0;
    let mut policy = vec![0usize; n];
    let mut found = (f64::INFINITY, 0.0f64);
    loop {
        // The mean of the powers 1 .. 2^20 of the chain, doubled again and again.
        let mut power = vec![vec![0.0; n]; n];
        for (state, row) in power.iter_mut().enumerate() {
            for branch in graph.branches_of(graph.choices_of(state).start + policy[state]) {
                row[graph.targets[branch] as usize] += near(graph.weights[branch]);
            }
        }
        let product = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
            (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| a[i][k] * b[k][j]).sum()).collect()).collect()
        };
        let mut mean: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        for _ in 0..30 {
            let later = product(&power, &mean);
            for (row, later) in mean.iter_mut().zip(&later) {
                row.iter_mut().zip(later).for_each(|(value, later)| *value = (*value + later) / 2.0);
            }
            power = product(&power, &power);
        }
        let earned = |s: usize| near(graph.reward_of(graph.choices_of(s).start + policy[s]));
        let value: f64 = (0..n).map(|s| mean[0][s] * earned(s)).sum();
        found = (found.0.min(value), found.1.max(value));
        let Some(next) = (0..n).find(|&s| policy[s] + 1 < graph.choices_of(s).len()) else { return found };
        policy[next] += 1;
        policy[..next].iter_mut().for_each(|choice| *choice = 0);
    }
}

#[test]
fn averages_are_those_of_the_best_and_worst_policy() {
    for seed in 0..60 {
        let (text, _) = random_process(seed, "mdp");
        let (least, greatest) = brute_force(&text);
        for (question, value) in [("Rmin=? [ S ]", least), ("Rmax=? [ LRA ]", greatest)] {
            let (low, high) = ask(&text, question, Precision::default()).expect("an answer");
            let near = 1e-7 * value.max(1.0);
            assert!(
                low <= value + near && value - near <= high,
                "{question}: {value} not in {low}..{high}\n{text}"
            );
            assert!(high - low <= 3e-6 * high.max(1e-9), "{question}: {low}..{high} is wide\n{text}");
        }
    }
}

#[test]
fn shares_of_states_add_up() {
    for seed in 100..140 {
        let (text, states) = random_process(seed, "dtmc");
        let shares = (0..states)
            .map(|s| ask(&text, &format!("S=? [ x={s} ]"), Precision::default()).expect("a share"));
        let (low, high) = shares.fold((0.0, 0.0), |sum, share| (sum.0 + share.0, sum.1 + share.1));
        assert!(low <= 1.0 + 1e-12 && 1.0 <= high + 1e-12 && high - low < 1e-5, "{low}..{high}\n{text}");
    }
}
