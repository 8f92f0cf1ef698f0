//! The worked examples of Wehrle 2011 with their published values.

mod truth;

use hadal_exec::Model;
use hadal_guide::{Distance, Goal, Mask, registry};
use hadal_system::{Label, PropertyKind, Source, StateSpace, Successors};
use truth::{model, truth};

/// A DVE model with the location in which process `of` must be an error.
fn dve(text: &str) -> Model {
    let system = hadal_lang::dve::load(Source::new("golden.dve", text), &[]).expect("it is DVE").system;
    model(system).expect("it runs")
}

fn start(model: &Model) -> Vec<u64> {
    let mut out = Successors::new(model.words());
    model.worker().initial(&mut out);
    out.state(0).to_vec()
}

fn goal(model: &Model) -> Goal {
    let goal = Goal::of_properties(model.properties());
    assert!(!goal.properties.is_empty());
    assert!(model.properties().iter().any(|p| p.kind == PropertyKind::Invariant));
    goal
}

fn value(model: &Model, guide: &str) -> Distance {
    value_in(model, guide, &start(model), None)
}

fn value_in(model: &Model, guide: &str, state: &[u64], off: Option<&Mask>) -> Distance {
    let guide = registry::build(guide, model, &goal(model)).expect("a known guide");
    guide.estimator().estimate(state, off)
}

fn true_distance(model: &Model) -> Distance {
    truth(model, &goal(model), 1 << 20).expect("small").distance[0]
}

fn ring(name: &str) -> String {
    format!(
        "process {name} {{ state l0, l1, l2, l3; init l0; trans
         l0 -> l1 {{}}, l1 -> l2 {{}}, l2 -> l3 {{}}, l3 -> l0 {{}},
         l1 -> l0 {{}}, l2 -> l1 {{}}, l3 -> l2 {{}}, l0 -> l3 {{}}; }}"
    )
}

fn running_example() -> Model {
    dve(&format!(
        "{} {} process P3 {{ state l0, l1, l2, l3; init l0; assert l3: false; trans
         l0 -> l1 {{ guard P1.l2; }}, l1 -> l2 {{ guard P2.l2; }}, l2 -> l3 {{ guard P1.l0 and P2.l0; }}; }}
         system async;",
        ring("P1"),
        ring("P2")
    ))
}

#[test]
fn the_running_example_has_its_published_estimates() {
    let model = running_example();
    assert_eq!(true_distance(&model), Distance(11));
    let published =
        [("dl", 3), ("du", 3), ("hl", 5), ("hmax", 5), ("hu", 7), ("hff", 7), ("hu:sum", 7), ("hcg", 11)];
    for (guide, distance) in published {
        assert_eq!(value(&model, guide), Distance(distance), "{guide}");
    }
}

#[test]
fn greedy_contexts_can_miss_the_error() {
    let model = dve("process P1 { state l0, l1, l2, l3, l4, l5; init l0; assert l5: false; trans
          l0 -> l1 { guard P2.l0; }, l1 -> l2 { guard P2.l0; }, l2 -> l3 { guard P2.l0; }, l3 -> l4 { guard P2.l0; },
          l4 -> l5 { guard P2.l0; }, l0 -> l4 { guard P2.l1; }; }
        process P2 { state l0, l1; init l0; trans l0 -> l1 {}; }
        system async;");
    assert_eq!(true_distance(&model), Distance(5));
    assert_eq!(value(&model, "hcg"), Distance::INFINITE);
}

#[test]
fn shared_work_is_counted_twice_by_the_causal_graph_heuristic() {
    let rest = "process P2 { state l0, l1; init l0; trans l0 -> l1 { guard A; }; }
        process P3 { state l0, l1; init l0; trans l0 -> l1 { guard B; }; }
        process P4 { state l0, l1, l2; init l0; assert l2: false; trans
          l0 -> l1 { guard P2.l1; }, l1 -> l2 { guard P3.l1; }; }
        system async;";
    let chain = "process P1 { state l0, l1, l2, l3, l4, l5, l6; init l0; trans
          l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l3 -> l4 {}, l4 -> l5 {}, l5 -> l6 {}; }";
    let model = dve(&format!("{chain}{}", rest.replace(['A', 'B'], "P1.l6")));
    assert_eq!(true_distance(&model), Distance(10));
    assert_eq!(value(&model, "hcg"), Distance(16));
    let star = "process P1 { state l0, l1, l2; init l0; trans
          l0 -> l1 {}, l1 -> l0 {}, l0 -> l2 {}, l2 -> l0 {}; }";
    let model = dve(&format!("{star}{}", rest.replace('A', "P1.l1").replace('B', "P1.l2")));
    assert_eq!(true_distance(&model), Distance(7));
    assert_eq!(value(&model, "hcg"), Distance(6));
}

fn one_way(name: &str, error: &str) -> String {
    format!("process {name} {{ state l0, l1; init l0; {error} trans l0 -> l1 {{}}, l1 -> l0 {{}}; }}\n")
}

#[test]
fn steps_back_are_useless_for_local_distances() {
    let n = 4;
    let all: Vec<String> = (0..n).map(|p| format!("P{p}.l1")).collect();
    let mut text: String = (1..=n).map(|p| one_way(&format!("P{p}"), "")).collect();
    text.push_str(&one_way(
        "P0",
        &format!("assert l1: not ({});", all[1..].join(" and ") + &format!(" and P{n}.l1")),
    ));
    let model = dve(&(text + "system async;"));
    let truth = truth(&model, &goal(&model), 1 << 12).expect("small");
    assert_eq!(truth.states.len(), 1 << (n + 1));
    assert_eq!(truth.distance[0], Distance(n as u32 + 1));
    for (state, goal) in truth.states.iter().zip(&truth.goal) {
        assert_eq!(value_in(&model, "dl", state, None), Distance(u32::from(!goal)));
    }
    let mut worker = model.worker();
    for state in &truth.states {
        let mut out = Successors::new(model.words());
        worker.successors(state, &mut out);
        for (label, next) in out.iter() {
            let off: Mask = [label].into_iter().collect();
            let forward =
                next.iter().map(|w| w.count_ones()).sum::<u32>() > state.iter().map(|w| w.count_ones()).sum();
            let without = value_in(&model, "dl", state, Some(&off));
            if forward {
                assert_eq!(without, Distance::INFINITE);
            } else {
                assert!(without <= value_in(&model, "dl", next, None));
            }
        }
    }
}

#[test]
fn every_first_step_of_the_diamond_is_relatively_useless() {
    let process = |name: &str, error: &str| {
        format!(
            "process {name} {{ state l0, l1, l2, l3; init l0; {error} trans
             l0 -> l1 {{}}, l0 -> l2 {{}}, l1 -> l3 {{}}, l2 -> l3 {{}},
             l1 -> l0 {{}}, l2 -> l0 {{}}, l1 -> l2 {{}}, l2 -> l1 {{}}; }}\n"
        )
    };
    let model = dve(&format!("{}{}system async;", process("P1", "assert l3: not P2.l3;"), process("P2", "")));
    let state = start(&model);
    let mut out = Successors::new(model.words());
    model.worker().successors(&state, &mut out);
    assert_eq!(out.len(), 4);
    for (label, next) in out.iter() {
        let off: Mask = [label].into_iter().collect();
        assert_eq!(value_in(&model, "dl", &state, Some(&off)), Distance(2));
        assert_eq!(value_in(&model, "dl", next, None), Distance(2));
    }
    // After p1's step to l1, its step to l3 is not needed: l1, l2, l3 is as far as the other process must go.
    let after = out.state(0).to_vec();
    let to_l3 = (0..16).map(Label).find(|&label| model.render_label(label).contains("l1 -> l3"));
    if let Some(label) = to_l3 {
        let off: Mask = [label].into_iter().collect();
        assert_eq!(value_in(&model, "dl", &after, Some(&off)), Distance(2));
    }
}

#[test]
fn supporters_alone_keep_the_estimate() {
    let model = running_example();
    let goal = goal(&model);
    for name in ["hl", "hu", "hff:add", "hadd"] {
        let guide = registry::build(name, &model, &goal).expect("a known guide");
        let mut estimator = guide.estimator();
        let state = start(&model);
        let before = estimator.estimate(&state, None);
        let needed: Vec<Label> = estimator.supporters().expect("it has supporters").to_vec();
        let preferred = estimator.preferred().to_vec();
        assert!(preferred.iter().all(|label| needed.contains(label)) && !preferred.is_empty(), "{name}");
        let all = model.system().label_bases(&model.system().actions)[model.system().actions.len()] as u32;
        let off: Mask = (0..all).map(Label).filter(|label| !needed.contains(label)).collect();
        assert_eq!(estimator.estimate(&state, Some(&off)), before, "{name}");
    }
}
