//! LAO* that grows a part of the graph against all of it, and trials against proved bounds, on random processes.

use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_store::Governor;
use hadal_system::chance::{Asked, Formula, Horizon, Measure, Path};
use hadal_system::{Source, StateSpace};
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use hadal_value::disk::{Journal, answer_growing_with};
use hadal_value::evidence::Wanted;
use hadal_value::iterate::{Explicit, Iteration, Order};
use hadal_value::task::{Aim, Kind, ModelTask};
use hadal_value::trial::{Stop, fret, lao_star, ldfs, lrtdp, rtdp};
use hadal_value::{Options, Precision, answer, growing};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// States lead on, back, and to a place that nothing leaves; some choices cost nothing where `free`.
fn random_model(seed: u64, free: bool) -> String {
    let mut random = Random::new(seed);
    let states = 8 + random.below(30usize);
    let mut text = format!("mdp module m x : [0..{states}] init 0;\n");
    let mut rewards = String::new();
    for state in 0..states - 1 {
        for choice in 0..1 + random.below(3usize) {
            let (a, b) = (random.below(states), (state + 1 + random.below(4usize)).min(states - 1));
            let lost = if random.chance(10) && free { states } else { b };
            let update = match random.chance(25) {
                true => format!("(x'={b})"),
                false => format!("0.3 : (x'={a}) + 0.6 : (x'={b}) + 0.1 : (x'={lost})"),
            };
            let _ = writeln!(text, "[a{state}_{choice}] x={state} -> {update};");
            if !free || random.chance(60) {
                let _ = writeln!(rewards, "[a{state}_{choice}] true : {};", 1 + random.below(4usize));
            }
        }
    }
    let _ = write!(
        text,
        "[] x={states} -> true; [] x={} -> true; endmodule rewards {rewards} endrewards label \"out\" = x={};",
        states - 1,
        states - 1
    );
    text
}

fn model(text: &str, question: &str) -> (Model, hadal_system::chance::Objective) {
    let mut loaded = prism::load(Source::new("random", text), &HashMap::new()).expect("a model");
    let objective = loaded.formula(question).expect("a question");
    (Model::new(loaded.into_system(), ModelOptions::default()).expect("a model that runs"), objective)
}

const ANY: Options = Options {
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

#[test]
fn a_part_that_grows_on_disk_has_the_bounds_of_all_of_it_even_after_kills() {
    let (mut fewer, mut all, mut resumed) = (0, 0, 0);
    for seed in 0..24 {
        let text = random_model(seed, true);
        for question in
            ["Pmax=? [ F \"out\" ]", "Pmin=? [ F \"out\" ]", "Pmax=? [ G !\"out\" ]", "Rmin=? [ F \"out\" ]"]
        {
            let (model, objective) = model(&text, question);
            let whole = answer(&model, model.system(), &objective, ANY).expect("an answer");
            let on_disk = |folder: &FaultyFolder| {
                let mut journal = Journal::on(Arc::new(folder.clone()), 7, &Governor::new(1 << 20)).ok()?;
                match answer_growing_with(&model, model.system(), &objective, ANY, &mut journal) {
                    Ok(answer) => Some(answer),
                    Err(_) if folder.is_dead() => None,
                    Err(error) => panic!("{error}"),
                }
            };
            let calm = FaultyFolder::default();
            let part = on_disk(&calm).expect("an answer");
            let ((low, high), (other_low, other_high)) =
                (whole.value.expect("bounds"), part.value.expect("bounds"));
            assert!(low <= other_high && other_low <= high, "{question}: {whole:?} {part:?}\n{text}");
            let width = if other_low == other_high { 0.0 } else { other_high - other_low };
            assert!(width <= 2e-6 * other_high.min(1e9), "{question}: {part:?}\n{text}");
            fewer += u64::from(part.size.states < whole.size.states - 2);
            all += 1;
            let torn = FaultyFolder::new(Faults { die_at: Some(calm.operations() * 2 / 3), capacity: None });
            if on_disk(&torn).is_none() {
                let found = on_disk(&torn.after_crash(Survival::TornLastWrite)).expect("an answer");
                assert_eq!(found.value, part.value, "{question}\n{text}");
                resumed += u64::from(found.resumed);
            }
        }
    }
    println!("{fewer} of {all} questions needed a part of the states only, {resumed} runs went on");
    assert!(fewer > all / 8 && resumed > 10, "{fewer} of {all}, {resumed}");
}

/// Getting to a target at the least cost on the average.
fn paid(target: &Formula, reward: usize) -> Aim<'_> {
    let through = &Formula::Constant(true);
    Aim { target, through, reward: Some(reward), kind: Kind::Expected, estimates: None }
}

#[test]
fn fret_finds_greatest_probabilities_where_waiting_costs_nothing() {
    let mut traps = 0;
    for seed in 0..120 {
        let text = random_model(seed, true);
        for question in ["Pmax=? [ F \"out\" ]", "Pmax=? [ x!=3 U \"out\" ]"] {
            let (model, objective) = model(&text, question);
            let options = Options { precision: Precision::default(), memory: None, max_states: None };
            let (low, high) = answer(&model, model.system(), &objective, options)
                .expect("an answer")
                .value
                .expect("bounds");
            let Asked::Value(Measure::Probability(Path::Until(through, target, _)), _) = &objective.asked
            else {
                panic!("another question")
            };
            let aim = Aim { target, through, reward: None, kind: Kind::Expected, estimates: None };
            let task = ModelTask::new(&model, model.system().property_bases(), aim).expect("a task");
            let found = fret(&task, Stop { residual: 1e-10, dead_end: 1.0, most_updates: 10_000_000 });
            let value = 1.0 - found.value;
            assert!(
                found.converged && low - 1e-6 <= value && value <= high + 1e-6,
                "{value} {low} {high}\n{text}"
            );
            traps += u64::from(low > 0.0 && low < 1.0);
        }
    }
    assert!(traps > 60, "{traps}");
}

#[test]
fn a_part_that_grows_has_the_bounds_of_all_of_it() {
    let (mut fewer, mut all) = (0, 0);
    for seed in 0..80 {
        let text = random_model(seed, true);
        for question in [
            "Pmax=? [ F \"out\" ]",
            "Pmin=? [ F \"out\" ]",
            "Pmax=? [ G !\"out\" ]",
            "Pmax=? [ x!=3 U \"out\" ]",
            "Rmin=? [ F \"out\" ]",
        ] {
            let (model, objective) = model(&text, question);
            let options = Options { precision: Precision::default(), memory: None, max_states: None };
            let whole = answer(&model, model.system(), &objective, options).expect("an answer");
            let part = growing::answer(&model, model.system(), &objective, options).expect("an answer");
            let ((low, high), (other_low, other_high)) =
                (whole.value.expect("bounds"), part.value.expect("bounds"));
            assert!(low <= other_high && other_low <= high, "{question}: {whole:?} {part:?}\n{text}");
            let width = if other_low == other_high { 0.0 } else { other_high - other_low };
            assert!(width <= 2e-6 * other_high.min(1e9), "{question}: {part:?}\n{text}");
            fewer += u64::from(part.size.states < whole.size.states - 2);
            all += 1;
        }
    }
    println!("{fewer} of {all} questions needed a part of the states only");
    assert!(fewer > all / 4, "{fewer} of {all}");
}

#[test]
fn trials_find_least_rewards() {
    for seed in 0..60 {
        let text = random_model(seed, false);
        let (model, objective) = model(&text, "Rmin=? [ F \"out\" ]");
        let options = Options { precision: Precision::default(), memory: None, max_states: None };
        let (low, high) =
            answer(&model, model.system(), &objective, options).expect("an answer").value.expect("bounds");
        let Asked::Value(Measure::Earned(reward, Horizon::Reach(target)), _) = &objective.asked else {
            panic!("another question")
        };
        let task = || {
            ModelTask::new(&model as &dyn StateSpace, model.system().property_bases(), paid(target, *reward))
                .expect("a task")
        };
        let stop = Stop { residual: 1e-9, most_updates: 10_000_000, ..Stop::default() };
        let sweeps = |order| {
            let task = task();
            let explicit = Explicit::explore(&task).expect("few states");
            explicit.iterate(&task, Iteration { residual: 1e-10, order, ..Iteration::default() }).values[0]
        };
        for (name, value) in [
            ("jacobi", sweeps(Order::Jacobi)),
            ("gauss-seidel", sweeps(Order::GaussSeidel)),
            ("lrtdp", lrtdp(&task(), stop).value),
            ("rtdp", rtdp(&task(), 3000, stop).value),
            ("lao", lao_star(&task(), stop).value),
            ("ldfs", ldfs(&task(), stop).value),
        ] {
            assert!(
                low - 1e-4 <= value && value <= high + 1e-4,
                "{name}: {value} not in {low}..{high}\n{text}"
            );
        }
        assert_eq!(task().trouble(), None);
    }
    // A step that costs nothing would be repeated for ever: that is said.
    let (model, objective) = model(
        "mdp module m x : [0..1]; [] x=0 -> true; [] x=0 -> (x'=1); [] x=1 -> true; endmodule
        rewards x=1 : 1; endrewards",
        "Rmin=? [ F x=1 ]",
    );
    let Asked::Value(Measure::Earned(reward, Horizon::Reach(target)), _) = &objective.asked else { panic!() };
    let task =
        ModelTask::new(&model, model.system().property_bases(), paid(target, *reward)).expect("a task");
    assert!(lrtdp(&task, Stop::default()).idles);
}
