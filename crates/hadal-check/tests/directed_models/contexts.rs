//! The exact criterion of interference contexts: what it leaves out is never missed.

use crate::truth::{Asked, Searched, Truth, figures, model, run};
use hadal_exec::stubborn::{self, Stubborn};
use hadal_exec::{Model, SymmetryMode};
use hadal_guide::{Goal, priority, registry};
use hadal_search::directed::{DirectedOptions, Insertion, Order, Tie, Traces};
use hadal_search::{DeadlockNotion, Question, Verdict};
use hadal_system::{StateSpace, System};
use hadal_testkit::generate;

/// How often something was left out, and how often what was looked for was found nevertheless.
#[derive(Default, Debug)]
struct Tally {
    searches: usize,
    cut: usize,
    cut_and_found: usize,
}

fn compare(system: System, seed: u64, most: usize, tally: &mut Tally) {
    let what = system.name.clone();
    let Some(model) = model(system, SymmetryMode::Off) else { return };
    let properties = Goal::of_properties(model.properties());
    let mut question = Question::everything(model.properties(), DeadlockNotion::Off);
    question.asked =
        (0..question.asked.len() as u32).map(|n| properties.properties.iter().any(|id| id.0 == n)).collect();
    let asked = Asked { question, goal: properties };
    let case = Case { seed, most, what: &what };
    compare_question(&model, &asked, &case, tally);
    // What is asked about beyond what the layer knows must not be left out either.
    let notion = [DeadlockNotion::Stuck, DeadlockNotion::Stuttering][seed as usize % 2];
    let wider = Asked { question: Question { deadlock: notion, ..asked.question }, goal: asked.goal };
    let before = tally.cut;
    compare_question(&model, &wider, &case, tally);
    assert_eq!(before, tally.cut, "{what}");
}

/// Which system, and how many of its states are looked at.
struct Case<'a> {
    seed: u64,
    most: usize,
    what: &'a str,
}

fn compare_question(model: &Model, asked: &Asked, case: &Case, tally: &mut Tally) {
    let &Case { seed, most, what } = case;
    let Some(truth) = Truth::of(model, asked, most) else { return };
    for name in [["blind", "hff"], ["du", "hl"], ["formula", "hcg"]][seed as usize % 3] {
        let Ok(guide) = registry::build(name, model, &asked.goal) else { continue };
        for layer in ["context", "context-literal", "useless+context", "context+useless"] {
            let layer = priority::build(layer, model, &asked.goal, &*guide).expect("a layer");
            for (order, insertion) in [
                (Order::Greedy, Insertion::WhenBetter),
                (Order::Greedy, Insertion::UnlessClosed),
                (Order::AStar, Insertion::WhenBetter),
                (Order::Breadth, Insertion::WhenBetter),
                (Order::Breadth, Insertion::UnlessClosed),
                (Order::Depth, Insertion::WhenBetter),
                (Order::Depth, Insertion::UnlessClosed),
                (Order::Alternating, Insertion::WhenBetter),
            ] {
                if insertion == Insertion::UnlessClosed && !guide.promises().safe {
                    continue;
                }
                let options = DirectedOptions {
                    order,
                    insertion,
                    tie: [None, Some(Tie::Lifo), Some(Tie::Fifo), Some(Tie::Random(seed))]
                        [seed as usize / 3 % 4],
                    seed: Some(seed),
                    traces: Traces::AsFound,
                    ..DirectedOptions::default()
                };
                let report = run(model, asked, &*guide, &*layer, options);
                let case = format!("{what} {name} {} {order} {insertion:?}", layer.name());
                truth.assert_agrees(Searched { model, priority: &*layer, order }, &report, &case);
                let cut = figures(&report).work.cut > 0;
                tally.searches += 1;
                tally.cut += usize::from(cut);
                tally.cut_and_found += usize::from(cut && matches!(report.verdict, Verdict::Violated(_)));
            }
        }
    }
}

fn fuzz(seeds: std::ops::Range<u64>, most: usize) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        compare(generate::components(seed), seed, most, &mut tally);
        compare(generate::network(seed), seed, most, &mut tally);
    }
    println!("{tally:?}");
    tally
}

#[test]
fn cutting_other_components_loses_nothing() {
    let tally = fuzz(0..36, 250);
    assert!(tally.cut > 400 && tally.cut_and_found > 100, "{tally:?}");
}

#[test]
#[ignore = "minutes: the same with many systems"]
fn cutting_other_components_loses_nothing_in_many_systems() {
    let from = std::env::var("HADAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    fuzz(from..from + 30_000, 2000);
}

#[test]
fn contexts_and_stubborn_sets_together_lose_nothing_where_contexts_only_sort() {
    let (mut found, mut lost) = (0, 0);
    for seed in 0..150 {
        let Some(model) = model(generate::components(seed), SymmetryMode::Off) else { continue };
        let properties = Goal::of_properties(model.properties());
        let question = Question::everything(model.properties(), DeadlockNotion::Off);
        let asked = Asked { question, goal: properties };
        let Some(truth) = Truth::of(&model, &asked, 1000) else { continue };
        let reduced =
            Stubborn::new(&model, DeadlockNotion::Off, stubborn::Traces::Some).expect("few actions");
        let guide = registry::build("blind", &model, &asked.goal).expect("a guide");
        for faults in [true, false] {
            let sorted_by = Goal { faults, ..asked.goal.clone() };
            let layer = priority::build("context", &model, &sorted_by, &*guide).expect("a layer");
            let options = DirectedOptions { order: Order::Breadth, ..DirectedOptions::default() };
            let report = run(&reduced, &asked, &*guide, &*layer, options);
            let agrees = matches!(report.verdict, Verdict::Violated(_)) == truth.fails_anyhow();
            assert!(agrees || !faults, "seed {seed}: {:?}", report.verdict);
            found += usize::from(truth.fails_anyhow() && agrees && faults);
            lost += usize::from(!agrees);
        }
    }
    println!("{found} found; {lost} lost where contexts leave transitions out as well");
    assert!(found > 20, "{found} {lost}");
}
