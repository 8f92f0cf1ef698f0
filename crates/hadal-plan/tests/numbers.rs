//! Admissible guides of tasks with numbers, against true distances in every state.

mod truth;

use hadal_exec::rows::RowSpace;
use hadal_guide::plan::{CostKind, LmCut, Relaxation, Relaxed, RelaxedGuide};
use hadal_guide::{Estimator, Guide};
use hadal_lang::pddl;
use hadal_system::Source;
use hadal_system::rows::RowTask;
use hadal_testkit::Random;
use truth::Truth;

fn load(domain: &str, problem: &str) -> RowTask {
    match pddl::load(Source::new("d", domain), Source::new("p", problem), pddl::Options::default()) {
        Ok(loaded) => loaded.task,
        Err(why) => panic!("{why}\n{domain}\n{problem}"),
    }
}

/// A task of three numbers between 0 and 7 and a switch: rows change one or two of them by fixed amounts, by another
/// number, or under a condition; conditions and goals compare sums and products.
fn draw(seed: u64) -> RowTask {
    let mut dice = Random::new(seed);
    let names = ["(x)", "(y)", "(z)"];
    let mut actions = String::new();
    for action in 0..4 + dice.below(4) {
        let (mut needs, mut effects) = (String::new(), String::new());
        let first = dice.below(3);
        for at in 0..1 + dice.below(2) {
            let number = names[(first + at) % 3];
            let by = 1 + dice.below(3);
            let (change, bound) = match dice.below(8) {
                0..4 => (format!("(increase {number} {by})"), format!("(<= {number} {})", 7 - by)),
                4 | 5 => (format!("(decrease {number} {by})"), format!("(>= {number} {by})")),
                6 if dice.below(2) == 0 => (format!("(assign {number} {})", dice.below(8)), String::new()),
                6 => (format!("(assign {number} {})", names[dice.below(3)]), String::new()),
                _ => {
                    let other = names[dice.below(3)];
                    (format!("(increase {number} {other})"), format!("(<= (+ {number} {other}) 7)"))
                }
            };
            needs.push_str(&bound);
            match dice.below(6) {
                0 => effects.push_str(&format!("(when (on) {change})")),
                _ => effects.push_str(&change),
            }
        }
        if dice.below(3) == 0 {
            needs.push_str(["(on)", "(not (on))", "(>= (+ (x) (y)) 3)"][dice.below(3)]);
        }
        if dice.below(3) == 0 {
            effects.push_str(["(on)", "(not (on))"][dice.below(2)]);
        }
        let cost = [0, 1, 1, 2, 5][dice.below(5)];
        actions.push_str(&format!(
            "(:action a{action} :parameters () :precondition (and {needs}) :effect (and {effects} (increase (total-cost) {cost})))\n"
        ));
    }
    let goals: String = (0..1 + dice.below(2))
        .map(|_| {
            let least = 2 + dice.below(10);
            match dice.below(6) {
                0 => "(on)".to_owned(),
                1 => format!("(>= (+ (x) (* 2 (y))) {least})"),
                2 => format!("(= (z) {})", least.min(7)),
                3 => format!("(> (* (x) (z)) {least})"),
                4 => format!("(>= (- (x) (y)) {})", least.min(6)),
                _ => format!("(>= {} {})", names[dice.below(3)], least.min(7)),
            }
        })
        .collect();
    let domain = format!(
        "(define (domain d) (:requirements :adl :fluents) (:predicates (on)) (:functions (x) (y) (z) (total-cost))\n{actions})"
    );
    let start = [dice.below(3), dice.below(3), dice.below(2)];
    let problem = format!(
        "(define (problem p) (:domain d) (:init (= (x) {}) (= (y) {}) (= (z) {}) (= (total-cost) 0)) \
         (:goal (and {goals})) (:metric minimize (total-cost)))",
        start[0], start[1], start[2]
    );
    load(&domain, &problem)
}

#[test]
fn guides_never_overestimate_where_numbers_count() {
    let (mut states, mut dead, mut repeated, mut shared) = (0u64, 0u64, 0u64, 0u64);
    for seed in 1..=400 {
        let Some(truth) = Truth::explore(draw(seed)) else { continue };
        let relaxed = || Relaxed::new(&truth.space, CostKind::Real);
        let dearest = truth.edges.iter().map(|edge| u64::from(edge.3)).max().unwrap_or(0);
        let max = RelaxedGuide::new(relaxed(), Relaxation::Max);
        let cut = LmCut::new(relaxed());
        let guides: [&dyn Guide; 2] = [&max, &cut];
        for guide in guides {
            let mut estimator = guide.estimator();
            let estimates: Vec<_> =
                truth.states.iter().map(|state| estimator.estimate(state, None)).collect();
            for (estimate, distance) in estimates.iter().zip(&truth.distances) {
                states += 1;
                match distance {
                    Some(distance) => {
                        assert!(estimate.is_finite(), "{} is not safe: {seed}", guide.name());
                        assert!(
                            u64::from(estimate.0) <= *distance,
                            "{}: {seed}, {estimate:?} for {distance}",
                            guide.name()
                        );
                        // More than any single step: some row counted several times, or several rows did.
                        repeated += u64::from(u64::from(estimate.0) > dearest);
                    }
                    None => dead += u64::from(!estimate.is_finite()),
                }
            }
            if guide.promises().consistent {
                for &(from, _, to, cost) in &truth.edges {
                    if estimates[to].is_finite() {
                        assert!(estimates[from].0 <= estimates[to].0 + cost, "{}: {seed}", guide.name());
                    }
                }
            }
        }
        // What is known of a state helps with its successors, and never too much.
        let mut cuts = cut.cuts();
        for &(from, row, to, _) in truth.edges.iter().step_by(7) {
            cuts.estimate(&truth.states[from], None);
            cuts.keep();
            let estimate = cuts.cost_after(&truth.states[to], row);
            if let Some(distance) = truth.distances[to] {
                assert!(u64::from(estimate) <= distance, "{seed}: {estimate} for {distance}");
                shared += 1;
            }
        }
    }
    assert!(
        states > 50_000 && dead > 1_000 && repeated > 2_000 && shared > 1_000,
        "{states} {dead} {repeated} {shared}"
    );
}

fn estimates(actions: &str, goal: &str) -> [u32; 2] {
    let domain = format!(
        "(define (domain d) (:requirements :fluents :adl) (:predicates (p)) (:functions (x) (y) (t))\n{actions})"
    );
    let problem = format!(
        "(define (problem p) (:domain d) (:init (= (x) 0) (= (y) 0) (= (t) 0)) (:goal {goal}) (:metric minimize (t)))"
    );
    let space = RowSpace::new(load(&domain, &problem)).expect("a task that runs");

    let max = RelaxedGuide::new(Relaxed::new(&space, CostKind::Real), Relaxation::Max);
    let cut = LmCut::new(Relaxed::new(&space, CostKind::Real));
    [max.estimator().estimate(space.initial(), None).0, cut.estimator().estimate(space.initial(), None).0]
}

#[test]
fn rows_count_as_often_as_numbers_need_them() {
    let one = "(:action one :parameters () :precondition () :effect (and (increase (x) 1) (increase (t) 2)))";
    let three =
        "(:action three :parameters () :precondition () :effect (and (increase (x) 3) (increase (t) 5)))";
    // Ten steps, whose cost is the unit.
    assert_eq!(estimates(one, "(>= (x) 10)"), [10, 10]);
    // Ten thirds of five are less, and a part of a step costs a part.
    assert_eq!(estimates(&format!("{one}{three}"), "(>= (x) 10)"), [17, 17]);
    // Two changes of one row bring the sum nearer by two.
    let both = "(:action both :parameters () :precondition () :effect (and (increase (x) 1) (increase (y) 1) (increase (t) 1)))";
    assert_eq!(estimates(both, "(>= (+ (x) (y)) 10)"), [5, 5]);
    // Two numbers are two landmarks: h^max sees the dearer one only.
    let other =
        "(:action other :parameters () :precondition () :effect (and (increase (y) 2) (increase (t) 1)))";
    assert_eq!(estimates(&format!("{one}{other}"), "(and (>= (x) 10) (>= (y) 8))"), [20, 24]);
    // From a value that is assigned, others go on.
    let near = "(:action near :parameters () :precondition () :effect (and (assign (x) 7) (increase (t) 1)))";
    assert_eq!(estimates(&format!("{one}{near}"), "(>= (x) 10)"), [6, 6]);
    // A value that is assigned is there at once.
    let set = "(:action set :parameters () :precondition () :effect (and (assign (x) 10) (increase (t) 3)))";
    assert_eq!(estimates(&format!("{one}{set}"), "(>= (x) 10)"), [3, 3]);
}

#[test]
fn intervals_tell_where_numbers_never_arrive() {
    // What grows by itself and begins at nothing stays there; a product of two numbers that never fall stays positive.
    let double =
        "(:action double :parameters () :precondition () :effect (and (increase (x) (x)) (increase (t) 1)))";
    assert_eq!(estimates(double, "(>= (x) 1)"), [u32::MAX; 2]);
    let grow = "(:action grow :parameters () :precondition () :effect (and (increase (x) 1) (increase (y) 1) (increase (t) 1)))";
    assert_eq!(estimates(grow, "(< (* (x) (y)) -1)"), [u32::MAX; 2]);
    assert_eq!(estimates(grow, "(> (* (x) (y)) 5)"), [1, 1]);
    let copy = "(:action copy :parameters () :precondition () :effect (and (assign (x) (+ (y) 4)) (increase (t) 1)))";
    assert_eq!(estimates(copy, "(>= (x) 5)"), [u32::MAX; 2]);
    assert_eq!(estimates(copy, "(>= (x) 4)"), [1, 1]);
}
