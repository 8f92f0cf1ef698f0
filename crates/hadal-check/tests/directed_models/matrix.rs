//! Every order with every guide and every priority.

use crate::truth::{Asked, Searched, Truth, model, run, without_properties};
use hadal_exec::SymmetryMode;
use hadal_guide::guides;
use hadal_guide::registry::Prepared;
use hadal_guide::{Guide, Priority, priority};
use hadal_search::DeadlockNotion;
use hadal_search::directed::{DirectedOptions, Insertion, Order, Tie, Traces};
use hadal_system::System;
use hadal_testkit::generate::{self, Size};

const QUEUED: [Order; 7] = [
    Order::Greedy,
    Order::AStar,
    Order::Weighted(2500),
    Order::Breadth,
    Order::Depth,
    Order::UniformCost,
    Order::Alternating,
];

/// Orders that take no priority.
const OTHERS: [Order; 5] = [
    Order::HillClimbing,
    Order::Beam(500),
    Order::Beam(2),
    Order::IterativeDeepening,
    Order::BreadthHeuristic,
];

/// How much of the matrix a system goes through.
#[derive(Clone, Copy)]
struct Sieve {
    /// One of this many combinations is tried; another one for each seed.
    every: usize,
    seed: usize,
}

impl Sieve {
    fn passes(&self, number: usize) -> bool {
        (number + self.seed).is_multiple_of(self.every)
    }
}

/// Tries combinations on one system; how many, and in how many something was wrong.
fn try_all(system: System, symmetry: SymmetryMode, sieve: Sieve, what: &str) -> (usize, usize) {
    let notions = [DeadlockNotion::Off, DeadlockNotion::Stuck, DeadlockNotion::Stuttering];
    let deadlock = notions[sieve.seed % 3];
    let bare = model(without_properties(system.clone()), symmetry);
    let Some(model) = model(system, symmetry) else { return (0, 0) };
    let mut questions = vec![(&model, Asked::properties(&model, deadlock))];
    if let (true, Some(bare)) = (deadlock != DeadlockNotion::Off, &bare) {
        questions.push((bare, Asked::deadlocks(bare, deadlock)));
    }
    let (mut tried, mut wrong) = (0, 0);
    for (model, asked) in questions {
        let Some(truth) = Truth::of(model, &asked, 800) else { continue };
        let Ok(prepared) = Prepared::new(model, &asked.goal) else { continue };
        let guides = guides::names().chain(["max(hl,pdb)"]);
        for (g, name) in guides.enumerate() {
            let pairs = pairs(g, sieve);
            if pairs.is_empty() {
                continue;
            }
            let Ok(guide) = prepared.guide(name) else { continue };
            for (order, layer) in pairs {
                let Ok(layer) = priority::build(layer, model, &asked.goal, &*guide) else { continue };
                let case = format!("{what}, {order} {name} {}", layer.name());
                let way = Way { guide: &*guide, layer: &*layer, order, sieve };
                check(model, &asked, &truth, way, &case);
                tried += 1;
                wrong += usize::from(truth.fails());
            }
        }
    }
    (tried, wrong)
}

/// The orders and priorities that the sieve lets pass for the g-th guide.
fn pairs(g: usize, sieve: Sieve) -> Vec<(Order, &'static str)> {
    let named = priority::PRIORITIES.iter().filter(|info| info.spelling.is_none()).map(|info| info.name);
    let layers: Vec<&str> = named.chain(["bound-interference:1", "bound-interference:2"]).collect();
    let queued = QUEUED.iter().flat_map(|&order| layers.iter().map(move |&layer| (order, layer)));
    let all = queued.chain(OTHERS.iter().map(|&order| (order, "none")));
    all.enumerate().filter(|(n, _)| sieve.passes(n + g * 7)).map(|(_, pair)| pair).collect()
}

/// How a model is searched.
#[derive(Clone, Copy)]
struct Way<'a> {
    guide: &'a dyn Guide,
    layer: &'a dyn Priority,
    order: Order,
    sieve: Sieve,
}

fn check(model: &hadal_exec::Model, asked: &Asked, truth: &Truth, way: Way, case: &str) {
    let Way { guide, layer, order, sieve } = way;
    let mut options = DirectedOptions { order, ..DirectedOptions::default() };
    let report = run(model, asked, guide, layer, options.clone());
    truth.assert_agrees(Searched { model, priority: layer, order }, &report, case);
    // Ties, orders of transitions and what becomes of a trace change the walk, not what is true.
    let ties = [Tie::Lifo, Tie::Fifo, Tie::Deep, Tie::Random(sieve.seed as u64)];
    options.tie = Some(ties[sieve.seed % 4]);
    options.seed = Some(sieve.seed as u64);
    options.traces = Traces::AsFound;
    let report = run(model, asked, guide, layer, options.clone());
    truth.assert_agrees(
        Searched { model, priority: layer, order },
        &report,
        &format!("{case}, {}", ties[sieve.seed % 4]),
    );
    let calibrated = matches!(order, Order::Greedy | Order::AStar | Order::Breadth | Order::Depth);
    if calibrated {
        options.insertion = Insertion::UnlessClosed;
        let report = run(model, asked, guide, layer, options);
        truth.assert_agrees(
            Searched { model, priority: layer, order },
            &report,
            &format!("{case}, UnlessClosed"),
        );
    }
}

/// Goes through systems of each kind; asserts that enough of them had something to find.
fn go_through(systems: std::ops::Range<u64>, every: usize) {
    let (mut tried, mut wrong) = (0, 0);
    let mut count = |(more, failing): (usize, usize)| {
        tried += more;
        wrong += failing;
    };
    for seed in systems {
        let sieve = Sieve { every, seed: seed as usize };
        let off = SymmetryMode::Off;
        count(try_all(generate::network(seed), off, sieve, &format!("network {seed}")));
        count(try_all(generate::components(seed), off, sieve, &format!("components {seed}")));
        count(try_all(generate::system(seed, Size::SMALL), off, sieve, &format!("system {seed}")));
        let modes = [SymmetryMode::Exact, SymmetryMode::Heuristic];
        let mode = modes[seed as usize % 2];
        let symmetric = generate::system(seed, Size::SYMMETRIC);
        count(try_all(symmetric, mode, sieve, &format!("symmetric {seed} {mode:?}")));
    }
    println!("{tried} searches, {wrong} where something is wrong");
    assert!(wrong > tried / 20 && wrong < tried, "{wrong} of {tried}");
}

#[test]
fn every_order_guide_and_priority_tells_the_truth_on_generated_models() {
    go_through(0..40, 211);
}

#[test]
#[ignore = "minutes: the same with more models and every combination"]
fn all_combinations_tell_the_truth_on_many_generated_models() {
    let from = std::env::var("HADAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    go_through(from..from + 40, 1);
}
