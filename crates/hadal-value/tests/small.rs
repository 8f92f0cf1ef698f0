//! Small models whose values can be worked out by hand, and random ones against every policy.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_system::chance::Sense;
use hadal_system::rows::Rational;
use hadal_testkit::Random;
use hadal_value::graph::Graph;
use hadal_value::numbers::Numbers;
use hadal_value::values::Exact;
use hadal_value::{Answer, Options, Precision, answer, reach};
use std::collections::HashMap;
use std::fmt::Write;

fn ask(model: &str, question: &str) -> Answer {
    let mut loaded = prism::load(Source::new("model", model), &HashMap::new())
        .unwrap_or_else(|refused| panic!("{:?}", refused.diagnostics));
    let objective = loaded.formula(question).unwrap_or_else(|r| panic!("{question}: {:?}", r.diagnostics));
    let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
    let precision = Precision { exact: true, policy: true, ..Precision::default() };
    let options = Options { precision, memory: None, max_states: None };
    answer(&model, model.system(), &objective, options).unwrap_or_else(|e| panic!("{question}: {e}"))
}

fn value(model: &str, question: &str) -> String {
    let found = ask(model, question);
    let (low, high) = found.value.expect("a value");
    // A policy is followed from the initial states, a filter asks about others.
    if let Some(policy) = found.policy.as_ref().filter(|_| !question.contains(['{', '('])) {
        assert!(
            policy.value.0 <= high * 1.00001 && low <= policy.value.1 * 1.00001,
            "{question}: {policy:?}"
        );
    }
    match found.exact.expect("exactly") {
        Exact::Finite(value) => {
            let near = value.to_f64().value();
            assert!(low <= near && near <= high, "{question}: [{low}, {high}] lacks {near}");
            value.to_string()
        }
        Exact::Infinite => {
            assert!(low.is_infinite(), "{question}");
            "infinity".into()
        }
    }
}

/// Knuth and Yao's die out of coins.
const DIE: &str = "dtmc
    module die
        s : [0..7]; d : [0..6];
        [] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=2);
        [] s=1 -> 0.5 : (s'=3) + 0.5 : (s'=4);
        [] s=2 -> 0.5 : (s'=5) + 0.5 : (s'=6);
        [] s=3 -> 0.5 : (s'=1) + 0.5 : (s'=7) & (d'=1);
        [] s=4 -> 0.5 : (s'=7) & (d'=2) + 0.5 : (s'=7) & (d'=3);
        [] s=5 -> 0.5 : (s'=7) & (d'=4) + 0.5 : (s'=7) & (d'=5);
        [] s=6 -> 0.5 : (s'=2) + 0.5 : (s'=7) & (d'=6);
        [] s=7 -> true;
    endmodule
    rewards \"flips\" s<7 : 1; endrewards";

#[test]
fn a_die_out_of_coins_is_fair() {
    for side in 1..=6 {
        assert_eq!(value(DIE, &format!("P=? [ F s=7 & d={side} ]")), "1/6");
    }
    assert_eq!(value(DIE, "R{\"flips\"}=? [ F s=7 ]"), "11/3");
    assert_eq!(value(DIE, "P=? [ F<=3 s=7 ]"), "3/4");
    assert_eq!(value(DIE, "P=? [ F[4,5] s=7 ]"), "15/16");
    assert_eq!(value(DIE, "P=? [ G s<7 ]"), "0");
    assert_eq!(value(DIE, "P=? [ X s=1 ]"), "1/2");
    assert_eq!(value(DIE, "P=? [ s!=2 U d=1 ]"), "1/6");
    assert_eq!(value(DIE, "P=? [ s!=2 W d=1 ]"), "1/2");
    assert_eq!(value(DIE, "R{\"flips\"}=? [ C<=3 ]"), "3");
    assert_eq!(value(DIE, "R{\"flips\"}=? [ C ]"), "11/3");
    assert_eq!(value(DIE, "R{\"flips\"}=? [ I=3 ]"), "1/4");
    // What actions earn does not count at an instant.
    let dice = DIE.replace("[] s=0", "[first] s=0")
        + " rewards \"both\" s<7 : 1; [first] true : 5; endrewards rewards \"action\" [first] true : 5; endrewards";
    assert_eq!(value(&dice, "R{\"both\"}=? [ I=0 ]"), "1");
    assert_eq!(value(&dice, "R{\"both\"}=? [ C<=1 ]"), "6");
    assert_eq!(value(&dice, "R{\"both\"}=? [ I=3 ]"), "1/4");
    assert_eq!(value(&dice, "P=? [ F{\"both\"}<=9 s=7 ]"), value(&dice, "P=? [ F^{rew{\"both\"}<=9} s=7 ]"));
    assert_eq!(value(DIE, "P=? [ F^{rew{\"flips\"}<=3} s=7 ]"), "3/4");
    // Of other states than the first, and inside another question.
    assert_eq!(value(DIE, "filter(min, P=? [ F^{rew{\"flips\"}<=1} s=7 ], s=3)"), "1/2");
    assert_eq!(value(DIE, "P=? [ F P>=0.5 [ F^{rew{\"flips\"}<=1} s=7 ] ]"), "1");
    assert_eq!(ask(DIE, "P>=1 [ F s=7 ]").verdict, Some(true));
    assert_eq!(ask(DIE, "P>1/6 [ F d=1 ]").verdict, Some(false));
    assert_eq!(ask(DIE, "P>=1/6 [ F d=1 ]").verdict, Some(true));
    assert_eq!(ask(DIE, "filter(forall, s=7 => P>=1 [ X s=7 ])").verdict, Some(true));
    assert_eq!(value(DIE, "filter(max, P=? [ F d=1 ], s>0)"), "1");
    assert_eq!(ask(DIE, "filter(count, P>=1/3 [ F d=1 ])").count, Some(3));
}

#[test]
fn waiting_where_nothing_is_paid_does_not_make_the_goal_cheap() {
    let model = "mdp module m s : [0..2];
        [wait] s=0 -> (s'=0);
        [go] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=0);
        [pay] s=1 -> (s'=2);
        [] s=2 -> true;
    endmodule rewards [go] true : 3; [pay] true : 1; endrewards";
    assert_eq!(value(model, "Rmin=? [ F s=2 ]"), "7");
    assert_eq!(value(model, "Rmax=? [ F s=2 ]"), "infinity");
    assert_eq!(value(model, "Pmin=? [ F s=2 ]"), "0");
    assert_eq!(value(model, "Pmax=? [ F s=2 ]"), "1");
    assert_eq!(value(model, "Rmin=? [ C ]"), "0");
}

#[test]
fn an_end_component_does_not_keep_the_greatest_probability_high() {
    let model = "mdp module m s : [0..4];
        [a] s=0 -> (s'=1);
        [b] s=1 -> (s'=0);
        [c] s=1 -> 0.25 : (s'=2) + 0.5 : (s'=3) + 0.25 : (s'=4);
        [d] s=4 -> (s'=0);
        [] s=2 | s=3 -> true;
    endmodule";
    assert_eq!(value(model, "Pmax=? [ F s=2 ]"), "1/3");
    assert_eq!(value(model, "Pmin=? [ F s=2 ]"), "0");
}

#[test]
fn modules_act_together_on_common_actions() {
    let model = "mdp
        const double p = 0.3;
        formula both = x & y;
        global n : [0..3];
        module a x : bool; [t] !x -> p : (x'=true) + 1-p : (x'=false); [] x & !y -> (n'=min(n+1,3)); endmodule
        module b = a [x=y, y=x] endmodule
        label \"met\" = both;";
    // Both draw at once, each by itself.
    let found = ask(model, "Pmax=? [ F \"met\" ]");
    assert_eq!(found.size.states, 1 + 1 + 2 * 4);
    assert_eq!(value(model, "Pmax=? [ F \"met\" ]"), "3/17");
}

#[test]
fn weights_may_depend_on_the_state() {
    let model = "dtmc const int N = 4;
        module m i : [0..N] init 1;
            [] i>0 & i<N -> i/N : (i'=i+1) + (N-i)/N : (i'=i-1);
            [] i=0 | i=N -> true;
        endmodule
        rewards i>0 & i<N : i/2; endrewards";
    // p1 = p2/4, p2 = p1/2 + p3/2, p3 = 3/4 + p2/4
    assert_eq!(value(model, "P=? [ F i=N ]"), "1/8");
    let zero = "dtmc module m i : [0..3] init 3;
            [] i>0 -> i/3 : (i'=i-1) + (3-i)/3 : (i'=3);
            [] i=0 -> true;
        endmodule";
    assert_eq!(ask(zero, "P=? [ F i=0 ]").size.branches, 1 + 2 + 2 + 1);
}

#[test]
fn several_initial_states_and_filters() {
    let model = "mdp module m s : [0..4]; b : bool;
        [] s>0 & s<4 -> 0.5 : (s'=s-1) + 0.5 : (s'=s+1);
        [] s=0 | s=4 -> true; endmodule
        init !b & s<4 endinit";
    assert_eq!(value(model, "Pmax=? [ F s=4 {\"init\"}{max} ]"), "3/4");
    assert_eq!(value(model, "Pmax=? [ F s=4 {s=1}{min} ]"), "1/4");
    assert_eq!(value(model, "filter(avg, Pmax=? [ F s=4 ], \"init\")"), "3/8");
    // An infinite mean is no less infinite for being rounded.
    let model = format!("{model} rewards true : 1; endrewards");
    for summary in ["avg", "sum"] {
        assert_eq!(value(&model, &format!("filter({summary}, Rmax=? [ F s=4 ], \"init\")")), "infinity");
    }
}

#[test]
fn a_state_without_choices_loops() {
    let model = "mdp module m s : [0..2]; [] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=2); [] s=1 -> true; endmodule";
    let found = ask(model, "Pmin=? [ F s=1 ]");
    assert_eq!(found.size.deadlocks, 1);
    assert_eq!(value(model, "Pmin=? [ F \"deadlock\" ]"), "1/2");
}

#[test]
fn rates_race() {
    let model = "ctmc module q n : [0..2] init 1; [] n<2 -> 3 : (n'=n+1); [] n>0 -> 1 : (n'=n-1); endmodule
        rewards true : 1; endrewards";
    assert_eq!(value(model, "P=? [ n>0 U n=2 ]"), "3/4");
    assert_eq!(value(model, "R=? [ F n!=1 ]"), "1/4");
}

#[test]
fn what_leaves_its_range_or_does_not_add_up_is_an_error_of_the_model() {
    let wrong = |text: &str| {
        let mut loaded = prism::load(Source::new("model", text), &HashMap::new()).expect("a model");
        let objective = loaded.formula("Pmax=? [ F s=2 ]").expect("a question");
        let model = Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs");
        let options = Options { precision: Precision::default(), memory: None, max_states: None };
        answer(&model, model.system(), &objective, options).expect_err("an error").to_string()
    };
    assert!(wrong("mdp module m s : [0..2]; [] true -> (s'=s+1); endmodule").contains("raises an error"));
    assert!(
        wrong("mdp module m s : [0..2]; [] true -> 0.5 : (s'=1) + 0.4 : (s'=2); endmodule")
            .contains("add up")
    );
}

/// A graph of few states with two choices each; the last two states loop.
fn drawn(dice: &mut Random, states: u32) -> Graph {
    let mut graph = Graph {
        first_choice: vec![0],
        first_branch: vec![0],
        initial: vec![0],
        numbers: Numbers::default(),
        ..Graph::default()
    };
    for state in 0..states {
        let choices = if state + 2 >= states { 1 } else { 1 + dice.below(2) };
        for _ in 0..choices {
            let first = if state + 2 >= states { state } else { dice.below(u64::from(states)) as u32 };
            let second = if state + 2 >= states { state } else { dice.below(u64::from(states)) as u32 };
            let part = 1 + dice.below(4) as i128;
            let (p, q) =
                (graph.numbers.add(Rational::new(part, 5)), graph.numbers.add(Rational::new(5 - part, 5)));
            if first == second {
                graph.targets.push(first);
                graph.weights.push(1);
            } else {
                graph.targets.extend([first.min(second), first.max(second)]);
                graph.weights.extend([p, q]);
            }
            let reward = graph.numbers.add(Rational::from_integer(dice.below(3) as i128));
            graph.rewards.push(reward);
            graph.first_branch.push(graph.targets.len() as u32);
        }
        graph.first_choice.push(graph.choices() as u32);
    }
    graph
}

/// The values of all states under a policy, by patient iteration.
fn under(graph: &Graph, policy: &[usize], target: &[bool], rewards: bool) -> Vec<f64> {
    let n = graph.states();
    // A state from which the target is not reached for certain earns without end.
    let mut values: Vec<f64> = target.iter().map(|&t| if t && !rewards { 1.0 } else { 0.0 }).collect();
    let weight = |b: usize| {
        let value = graph.numbers.exact(graph.weights[b]);
        *value.numer() as f64 / *value.denom() as f64
    };
    for _ in 0..4000 {
        for s in (0..n).filter(|&s| !target[s]) {
            let choice = graph.choices_of(s).start + policy[s];
            let reward =
                if rewards { *graph.numbers.exact(graph.reward_of(choice)).numer() as f64 } else { 0.0 };
            values[s] = reward
                + graph
                    .branches_of(choice)
                    .map(|b| weight(b) * values[graph.targets[b] as usize])
                    .sum::<f64>();
        }
    }
    if rewards {
        let sure = under(graph, policy, target, false);
        for s in 0..n {
            if sure[s] < 1.0 - 1e-9 {
                values[s] = f64::INFINITY;
            }
        }
    }
    values
}

#[test]
fn random_graphs_have_the_values_of_their_best_policies() {
    let mut dice = Random::new(0x1234_5678_9ABC_DEF1);
    for round in 0..400 {
        let graph = drawn(&mut dice, 6);
        let n = graph.states();
        let mut target = vec![false; n];
        target[n - 1] = true;
        let policies: usize = (0..n).map(|s| graph.choices_of(s).len()).product();
        for (sense, rewards) in
            [(Sense::Least, false), (Sense::Greatest, false), (Sense::Least, true), (Sense::Greatest, true)]
        {
            let mut best: Option<Vec<f64>> = None;
            for number in 0..policies {
                let mut rest = number;
                let policy: Vec<usize> = (0..n)
                    .map(|s| {
                        let many = graph.choices_of(s).len();
                        let picked = rest % many;
                        rest /= many;
                        picked
                    })
                    .collect();
                let values = under(&graph, &policy, &target, rewards);
                best = Some(match best {
                    None => values,
                    Some(old) => old
                        .iter()
                        .zip(&values)
                        .map(|(a, b)| if sense == Sense::Least { a.min(*b) } else { a.max(*b) })
                        .collect(),
                });
            }
            let best = best.expect("a policy");
            let precision = Precision { exact: true, policy: true, ..Precision::default() };
            let found = if rewards {
                reach::earned_before(&graph, &target, sense, precision)
            } else {
                reach::until(&graph, &vec![true; n], &target, sense, precision)
            }
            .expect("values");
            let policy: Vec<usize> = found
                .policy
                .as_ref()
                .expect("a policy")
                .iter()
                .enumerate()
                .map(|(s, &c)| c as usize - graph.choices_of(s).start)
                .collect();
            let followed = under(&graph, &policy, &target, rewards);
            for s in 0..n {
                let (low, high) = (found.lower[s], found.upper[s]);
                if best[s].is_finite() {
                    assert!(
                        (followed[s] - best[s]).abs() <= 1e-5 * best[s].max(1e-3),
                        "round {round}, {sense:?}, rewards {rewards}, state {s}: the policy gives {} not {}",
                        followed[s],
                        best[s]
                    );
                }
                let name = format!(
                    "round {round}, {sense:?}, rewards {rewards}, state {s}: [{low}, {high}] and {}",
                    best[s]
                );
                if best[s].is_infinite() {
                    assert!(low.is_infinite(), "{name}");
                    continue;
                }
                assert!(
                    low <= best[s] + 1e-6 * best[s] + 1e-9 && best[s] <= high + 1e-6 * best[s] + 1e-9,
                    "{name}"
                );
                assert!(high - low <= 2e-6 * high, "{name}");
                match &found.exact.as_ref().expect("exactly")[s] {
                    Exact::Finite(value) => {
                        let near = value.to_f64().value();
                        assert!(low <= near && near <= high, "{name}: exactly {near}");
                        assert!((near - best[s]).abs() <= 1e-6 * best[s].max(1.0), "{name}: exactly {near}");
                    }
                    Exact::Infinite => panic!("{name}: exactly infinite"),
                }
            }
        }
    }
}

/// Twenty variables of ten values each, all but two of which begin with a known one.
#[test]
fn states_are_initial_as_conditions_on_many_variables_say() {
    let mut text = String::from("mdp const int K = 4; formula low = v1<3;\n");
    for n in 1..=20 {
        let _ =
            writeln!(text, "module m{n} v{n} : [0..9]; [step] true -> (v{n}'=mod(v{n}+{n},10)); endmodule");
    }
    text += "module wide w : int; b : bool; [step] true -> (w'=8); endmodule\n";
    let fixed: Vec<String> = (3..=20).map(|n| format!("v{n}={}", n % 10)).collect();
    let init = format!("init {} & low & 1<=v1 & v2>=K+2 & !(v2=8) & w=7 & !b endinit", fixed.join(" & "));
    let model = text + &init;
    // v1 is 1 or 2, v2 is 6, 7 or 9.
    assert_eq!(value(&model, "filter(sum, Pmax=? [ F<=0 true ], \"init\")"), "6");
    assert_eq!(value(&model, "filter(sum, Pmax=? [ X v1=2 ], \"init\")"), "3");
    assert_eq!(value(&model, "filter(min, Pmin=? [ X w=8 & v20=0 ], \"init\")"), "1");
}
