//! Priority layers on the worked examples of Wehrle 2011 (ch. 3 and 4) and against the truth.

use hadal_exec::model::{Model, ModelOptions};
use hadal_guide::priority::context::Contexts;
use hadal_guide::priority::edges::{Edges, Reduction};
use hadal_guide::priority::oracle::{Confusion, Oracle, is_useless, is_useless_without, steps};
use hadal_guide::priority::useless::{Shortcuts, Useless};
use hadal_guide::priority::{self, Priority, published_order};
use hadal_guide::{Goal, Guide, Step, registry};
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::{Label, Source, StateSpace, Successors};
use hadal_testkit::generate;
use std::collections::BTreeSet;

fn dve(text: &str) -> Model {
    let system = hadal_lang::dve::load(Source::new("priority.dve", text), &[]).expect("it is DVE").system;
    Model::new(system, ModelOptions::default()).expect("it runs")
}

fn start(model: &Model) -> Vec<u64> {
    let mut out = Successors::new(model.words());
    model.worker().initial(&mut out);
    out.state(0).to_vec()
}

fn goal(model: &Model) -> Goal {
    Goal::of_properties(model.properties())
}

/// The step of a state whose name contains this.
fn step(model: &Model, state: &[u64], name: &str) -> (Label, Vec<u64>) {
    let all = steps(model, state);
    let found = all.iter().find(|(label, _)| model.render_label(*label).contains(name));
    found.unwrap_or_else(|| panic!("no step {name}")).clone()
}

fn useless(model: &Model, reduction: Reduction) -> Useless {
    let facts = Facts::of(model.system());
    Useless::new(Edges::of(model.system(), &facts), reduction, true, Shortcuts::Taken)
}

/// Every reachable state.
fn reachable(model: &Model) -> Vec<Vec<u64>> {
    let mut known = BTreeSet::from([start(model)]);
    let mut open: Vec<Vec<u64>> = known.iter().cloned().collect();
    while let Some(state) = open.pop() {
        for (_, next) in steps(model, &state) {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    known.into_iter().collect()
}

#[test]
fn a_useless_transition_can_pass_the_sufficient_test_unseen() {
    // Fig. 3.3: the way through l2 is useless, but without its edge nothing is left.
    let model =
        dve("byte a = 0; process P { state l0, l1, l2, l3, l4, l5, l6, lE; init l0; assert lE: false; trans
         l0 -> l1 { effect a = 1; }, l1 -> l0 {}, l0 -> l2 {}, l2 -> lE { guard a > 0; },
         l2 -> l3 {}, l3 -> l4 {}, l4 -> l5 {}, l5 -> l6 {}, l6 -> lE {}; } system async;");
    let oracle = Oracle::new(&model, &goal(&model));
    let mut truth = oracle.estimator();
    let s0 = start(&model);
    assert_eq!(truth.estimate(&s0, None).0, 4);
    let (label, next) = step(&model, &s0, "l0 -> l2");
    assert_eq!(truth.estimate(&next, None).0, 5);
    assert!(is_useless(&mut *truth, &s0, &next));
    let off = useless(&model, Reduction::Plain).off(label);
    assert!(!truth.estimate(&s0, Some(&off)).is_finite());
    assert!(!is_useless_without(&mut *truth, &s0, &next, &off));
}

#[test]
fn the_test_compares_with_the_state_reached_and_counts_equals() {
    // Fig. 3.4, left: two equal ways; neither is useless although the state itself is as far without one of them.
    let model = dve("process P { state l0, l1, l2, l3; init l0; assert l3: false; trans
         l0 -> l1 {}, l0 -> l2 {}, l1 -> l3 {}, l2 -> l3 {}; } system async;");
    let oracle = Oracle::new(&model, &goal(&model));
    let mut truth = oracle.estimator();
    let s0 = start(&model);
    for name in ["l0 -> l1", "l0 -> l2"] {
        let (label, next) = step(&model, &s0, name);
        let off = useless(&model, Reduction::Plain).off(label);
        assert_eq!(truth.estimate(&s0, Some(&off)), truth.estimate(&s0, None));
        assert!(!is_useless(&mut *truth, &s0, &next));
        assert!(!is_useless_without(&mut *truth, &s0, &next, &off));
    }
    // Right: a detour beside a direct way.
    let model = dve("process P { state l0, l1, l2, l3; init l0; assert l3: false; trans
         l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l0 -> l3 {}; } system async;");
    let oracle = Oracle::new(&model, &goal(&model));
    let mut truth = oracle.estimator();
    let s0 = start(&model);
    let (label, next) = step(&model, &s0, "l0 -> l1");
    let off = useless(&model, Reduction::Plain).off(label);
    assert_eq!((truth.estimate(&s0, Some(&off)).0, truth.estimate(&next, None).0), (1, 2));
    assert!(is_useless_without(&mut *truth, &s0, &next, &off));
}

/// Ex. 4.1: two processes that go from l0 over l1 or l2 to l3.
fn two_diamonds() -> Model {
    let process = |name: &str, assertion: &str| {
        format!(
            "process {name} {{ state l0, l1, l2, l3; init l0; {assertion} trans
             l0 -> l1 {{}}, l0 -> l2 {{}}, l1 -> l3 {{}}, l2 -> l3 {{}}, l1 -> l0 {{}}, l2 -> l0 {{}}, l1 -> l2 {{}},
             l2 -> l1 {{}}; }}"
        )
    };
    dve(&format!("{} {} system async;", process("P", "assert l3: not Q.l3;"), process("Q", "")))
}

#[test]
fn the_variables_of_a_handshake_are_those_of_both_edges() {
    // Ex. 4.2: t1 is p1 alone, t2 is p1 with p2.
    let model = dve("byte i = 0; byte j = 0; byte k = 0; channel a;
         process P1 { state l1, l2; init l1; assert l2: k == 0;
           trans l1 -> l2 { guard i < 1; effect i = 1; }, l1 -> l2 { guard j < 1; sync a!; }; }
         process P2 { state l0, l1; init l0; trans l0 -> l1 { sync a?; effect k = 1; }; }
         system async;");
    let (system, facts) = (model.system(), Facts::of(model.system()));
    let firsts = system.first_slots();
    let names = |set: &SlotSet| {
        let name =
            |slot: u32| system.variables[firsts.partition_point(|&f| f <= slot as usize) - 1].name.as_str();
        set.iter().map(name).collect::<BTreeSet<&str>>()
    };
    let labels: Vec<Label> = (0..2).map(Label).collect();
    let prints: Vec<_> = labels.iter().map(|&label| facts.footprint(label).expect("a print")).collect();
    let alone = prints.iter().position(|print| names(&print.reads).contains("i")).expect("t1");
    assert_eq!(names(&prints[alone].reads), ["P1", "i"].into());
    assert_eq!(names(&prints[alone].may_write), ["P1", "i"].into());
    assert_eq!(names(&prints[1 - alone].reads), ["P1", "P2", "j"].into());
    assert_eq!(names(&prints[1 - alone].may_write), ["P1", "P2", "k"].into());
    // Neither brings k to 0: both are innocent of breaking `k == 0` but t2, which writes 1.
    let contexts = Contexts::of(&model, &facts, &goal(&model));
    assert_eq!(contexts.level(labels[0], labels[1]), Some(1), "both move P1");
    assert!(!contexts.is_innocent(labels[1 - alone]));
}

#[test]
fn levels_are_the_radii_of_growing_contexts_and_components_share_no_variable() {
    let mut apart = 0;
    for seed in 0..60 {
        let system = if seed % 2 == 0 { generate::components(seed) } else { generate::network(seed) };
        let model = Model::new(system, ModelOptions::default()).expect("it runs");
        let facts = Facts::of(model.system());
        let contexts = Contexts::of(&model, &facts, &goal(&model));
        let labels: Vec<Label> = (0..model.system().actions.len() as u32).map(Label).collect();
        let print = |label: Label| facts.footprint(label).expect("actions without parameters have prints");
        // A process that takes part counts as written, also where it stays where it is.
        let firsts = model.system().first_slots();
        let written = |label: Label| {
            let mut written = print(label).may_write.clone();
            for process in &model.system().actions[label.0 as usize].processes {
                let location = model.system().processes[process.0 as usize].location;
                written.insert(firsts[location.0 as usize] as u32);
            }
            written
        };
        let interfere = |a: Label, b: Label| {
            let (a_writes, b_writes) = (written(a), written(b));
            a_writes.meets(&print(b).reads) || a_writes.meets(&b_writes) || b_writes.meets(&print(a).reads)
        };
        for &from in &labels {
            // C_0 is the transition, C_n what interferes with one of C_(n-1).
            let mut level = vec![None; labels.len()];
            level[from.0 as usize] = Some(0);
            for radius in 1..=labels.len() as u32 {
                let inside: Vec<Label> =
                    labels.iter().copied().filter(|l| level[l.0 as usize].is_some()).collect();
                for &other in &labels {
                    if level[other.0 as usize].is_none() && inside.iter().any(|&near| interfere(near, other))
                    {
                        level[other.0 as usize] = Some(radius);
                    }
                }
            }
            for &to in &labels {
                assert_eq!(contexts.level(from, to), level[to.0 as usize], "seed {seed}: {from:?} {to:?}");
                if level[to.0 as usize].is_none() {
                    apart += 1;
                    assert!(!print(from).may_write.meets(&print(to).reads), "seed {seed}");
                }
            }
        }
    }
    assert!(apart > 1000, "{apart}");
}

#[test]
fn reduced_systems_lose_what_rebuilding_them_loses() {
    for seed in 0..200 {
        let system = generate::network(seed);
        let edges = Edges::of(&system, &Facts::of(&system));
        for (n, action) in system.actions.iter().enumerate() {
            // Every process loses the edges of the transition; a transition without all of its edges is gone.
            let lost = |process: usize, number: u32| {
                let mut own = system.processes[process].edges.iter();
                own.any(|edge| edge.action.0 as usize == n && edge.number == number)
            };
            let gone = |m: usize| {
                (0..system.processes.len()).any(|process| {
                    let mut used = system.processes[process].edges.iter();
                    used.any(|edge| edge.action.0 as usize == m && lost(process, edge.number))
                })
            };
            let off = edges.users(&edges.removed(Label(n as u32), Reduction::Plain));
            let strong = edges.users(&edges.removed(Label(n as u32), Reduction::Strong));
            for m in 0..system.actions.len() {
                assert_eq!(off.contains(Label(m as u32)), gone(m), "seed {seed}: {} {m}", action.name);
                assert!(
                    !gone(m) || strong.contains(Label(m as u32)),
                    "seed {seed}: strong loses what plain does"
                );
            }
        }
    }
}

/// The queue that a layer puts a step into, after `incoming`.
fn queue(
    layer: &dyn Priority,
    guide: &dyn Guide,
    state: &[u64],
    incoming: Option<Label>,
    (label, next): &(Label, Vec<u64>),
) -> Option<u32> {
    let mut estimator = guide.estimator();
    let (here, there) = (estimator.estimate(state, None), estimator.estimate(next, None));
    let step = Step { state, here, incoming, queue: 0, context: 0, label: *label, there };
    let mut judge = layer.judge();
    judge.begin(state, here, &mut *estimator);
    judge.place(&step, &mut *estimator).map(|placement| placement.queue)
}

#[test]
fn in_two_diamonds_everything_is_relatively_useless_first_and_contexts_cut_the_other_process() {
    let model = two_diamonds();
    let goal = goal(&model);
    let guide = registry::build("dl", &model, &goal).expect("a guide");
    let s0 = start(&model);
    let plain = priority::build("useless-plain", &model, &goal, &*guide).expect("a layer");
    let strong = priority::build("useless-strong", &model, &goal, &*guide).expect("a layer");
    for next in steps(&model, &s0) {
        assert_eq!(queue(&*plain, &*guide, &s0, None, &next), Some(1), "2 is no more than 2");
    }
    let (first, s1) = step(&model, &s0, "P: l0 -> l1");
    let good = step(&model, &s1, "P: l1 -> l3");
    assert_eq!(
        queue(&*plain, &*guide, &s1, Some(first), &good),
        Some(1),
        "the other diamond half misleads it"
    );
    assert_eq!(
        queue(&*strong, &*guide, &s1, Some(first), &good),
        Some(0),
        "without l2 -> l3 nothing is left"
    );
    let contexts = Contexts::of(&model, &Facts::of(model.system()), &goal);
    assert!(contexts.is_innocent(first) && !contexts.is_innocent(good.0));
    assert_eq!((contexts.level(first, first), contexts.level(first, good.0)), (Some(0), Some(1)));
    let other = step(&model, &s1, "Q: l0 -> l1");
    assert_eq!(contexts.level(first, other.0), None);
    let context = priority::build("context", &model, &goal, &*guide).expect("a layer");
    assert_eq!(queue(&*context, &*guide, &s1, Some(first), &good), Some(0));
    assert_eq!(queue(&*context, &*guide, &s1, Some(first), &other), None, "left out until P is at l3");
    assert_eq!(queue(&*context, &*guide, &s1, Some(good.0), &other), Some(0));
    let literal = priority::build("context-literal", &model, &goal, &*guide).expect("a layer");
    assert_eq!(queue(&*literal, &*guide, &s1, Some(first), &good), Some(1));
    // What is asked about deadlocks or errors of the model forbids leaving anything out.
    let wider = Goal { faults: true, ..goal.clone() };
    let context = priority::build("context", &model, &wider, &*guide).expect("a layer");
    assert!(queue(&*context, &*guide, &s1, Some(first), &other).is_some_and(|queue| queue > 1));
}

#[test]
fn strong_reductions_lose_what_plain_ones_lose_and_more() {
    let model = dve(
        "byte x = 0; channel c;
         process P { state a, b, e; init a; assert e: false;
           trans a -> b { sync c!; effect x = 1; }, b -> e { guard x == 1; }, e -> b {}; }
         process Q { state a, b; init a; trans a -> b { sync c?; }, b -> a { guard x > 0; }, b -> b { sync c?; }; }
         system async;",
    );
    let facts = Facts::of(model.system());
    let edges = Edges::of(model.system(), &facts);
    let labels = edges.labels() as u32;
    assert_eq!((edges.count(), labels), (6, 5), "six edges; c joins one sender with two receivers");
    for label in (0..labels).map(Label) {
        let (plain, strong) =
            (edges.removed(label, Reduction::Plain), edges.removed(label, Reduction::Strong));
        assert!(plain.iter().all(|edge| strong.contains(edge)));
        let off = edges.users(&plain);
        for other in (0..labels).map(Label) {
            let shares = edges.of_label(other).iter().any(|edge| plain.contains(edge));
            assert_eq!(off.contains(other), shares);
        }
    }
    let handshake =
        (0..labels).map(Label).find(|&label| edges.of_label(label).len() == 2).expect("a handshake");
    let off = edges.users(&edges.removed(handshake, Reduction::Plain));
    assert_eq!(off.iter().count(), 2, "the sender's edge goes, and with it the other handshake");
    let off = edges.users(&edges.removed(handshake, Reduction::Strong));
    assert_eq!(off.iter().count(), 5, "x is read, and b is reached, by all others");
}

#[test]
fn shortcuts_change_no_classification_on_networks() {
    let (mut compared, mut useless_ones) = (0, 0);
    for seed in 0..60 {
        let model = Model::new(generate::network(seed), ModelOptions::default()).expect("it runs");
        let goal = goal(&model);
        let mut states = reachable(&model);
        states.truncate(40);
        for name in ["dl", "du", "hl"] {
            let guide = registry::build(name, &model, &goal).expect("a guide");
            let layer = priority::build("useless", &model, &goal, &*guide).expect("a layer");
            let test = useless(&model, Reduction::Strong);
            let mut estimator = guide.estimator();
            for state in &states {
                for next in steps(&model, state) {
                    let said = queue(&*layer, &*guide, state, None, &next) == Some(1);
                    let there = estimator.estimate(&next.1, None);
                    let without = estimator.estimate(state, Some(&test.off(next.0)));
                    assert_eq!(said, without <= there, "seed {seed} {name}");
                    compared += 1;
                    useless_ones += usize::from(said);
                }
            }
        }
    }
    assert!(useless_ones > 500 && compared - useless_ones > 500, "{useless_ones} of {compared}");
}

#[test]
fn shortcuts_change_no_classification_and_the_guide_is_mostly_right() {
    let model = two_diamonds();
    let goal = goal(&model);
    let oracle = Oracle::new(&model, &goal);
    let mut truth = oracle.estimator();
    for name in ["dl", "du", "hl", "hu"] {
        let guide = registry::build(name, &model, &goal).expect("a guide");
        let layer = priority::build("useless", &model, &goal, &*guide).expect("a layer");
        let test = useless(&model, Reduction::Strong);
        let mut matrix = Confusion::default();
        for state in reachable(&model) {
            for next in steps(&model, &state) {
                let said = queue(&*layer, &*guide, &state, None, &next) == Some(1);
                let mut estimator = guide.estimator();
                let there = estimator.estimate(&next.1, None);
                let without = estimator.estimate(&state, Some(&test.off(next.0)));
                assert_eq!(said, without <= there, "{name}");
                matrix.count(is_useless(&mut *truth, &state, &next.1), said);
            }
        }
        if name == "du" {
            assert!(
                matrix.true_positive + matrix.true_negative > matrix.false_positive + matrix.false_negative
            );
        }
    }
}

#[test]
fn the_published_order_goes_by_channels_and_sorts_by_the_higher_process() {
    let model = dve("channel c, d;
         process P { state a; init a; trans a -> a { sync d?; }, a -> a { sync c!; }, a -> a {}; }
         process Q { state a; init a; trans a -> a { sync c?; }, a -> a { sync d!; }; }
         system async;");
    let ranks = published_order(model.system());
    let mut names: Vec<(u32, Vec<u32>)> = model
        .system()
        .actions
        .iter()
        .zip(ranks)
        .map(|(action, rank)| (rank, action.processes.iter().map(|process| process.0).collect()))
        .collect();
    names.sort();
    // P alone first (its highest process is P), then d, which P names first, then c.
    assert_eq!(names.iter().map(|(_, who)| who.as_slice()).collect::<Vec<_>>(), [&[0][..], &[1, 0], &[0, 1]]);
}
