//! Stubborn sets keep the runs that a formula without `X` calls wrong, and errors and deadlocks of systems with buffers,
//! rendezvous, atomic sequences, `timeout` and processes that start and die.

mod support;

use hadal_exec::product::{Fairness, Product};
use hadal_exec::stubborn::{Stubborn, Traces};
use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_lang::{LoadOptions, LoadedModel};
use hadal_ltl::{Ltl, translate};
use hadal_system::claim::Claim;
use hadal_system::{
    BinaryOp, Check, Expr, Property, PropertyBody, PropertyId, PropertyKind, Span, StateSpace, Successors,
    System,
};
use hadal_system::{DeadlockNotion, VarId};
use hadal_testkit::generate;
use hadal_testkit::random::Random;
use std::collections::HashMap;

/// No space with more states is looked at.
const MOST: usize = 4000;

/// All that can be reached.
struct Graph {
    /// Successors, each with its marks.
    edges: Vec<Vec<(usize, u64)>>,
    fault: bool,
    /// Whether something is wrong in a state.
    hit: bool,
    deadlock: bool,
}

fn graph(space: &dyn StateSpace) -> Option<Graph> {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut found = Graph { edges: Vec::new(), fault: !out.faults().is_empty(), hit: false, deadlock: false };
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut states: Vec<Vec<u64>> = Vec::new();
    let mut number = |state: &[u64], states: &mut Vec<Vec<u64>>| {
        *numbers.entry(state.to_vec()).or_insert_with(|| {
            states.push(state.to_vec());
            states.len() - 1
        })
    };
    for (_, state) in out.iter() {
        number(state, &mut states);
    }
    let mut marks = Vec::new();
    while found.edges.len() < states.len() {
        let state = states[found.edges.len()].clone();
        found.hit |= worker.check(&state) != Check::Fine;
        out.clear();
        worker.successors(&state, &mut out);
        found.fault |= !out.faults().is_empty();
        found.deadlock |= out.is_empty() && out.faults().is_empty() && !worker.can_leave(&state);
        if space.acceptance().is_some() {
            worker.marks(&state, &out, &mut marks);
        } else {
            marks = vec![0; out.len()];
        }
        let edges = out.iter().zip(&marks).map(|((_, state), &marks)| (number(state, &mut states), marks));
        found.edges.push(edges.collect());
        if states.len() > MOST {
            return None;
        }
    }
    Some(found)
}

impl Graph {
    /// Whether some cycle has every mark: by looking from each state for itself.
    fn accepts(&self, all: u64) -> bool {
        let reach = |from: usize| {
            let mut seen = vec![false; self.edges.len()];
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                for &(to, _) in &self.edges[at] {
                    if !std::mem::replace(&mut seen[to], true) {
                        open.push(to);
                    }
                }
            }
            seen
        };
        let mut done = vec![false; self.edges.len()];
        for start in 0..self.edges.len() {
            // Only states that begin an edge with a mark can begin such a cycle.
            if done[start] || self.edges[start].iter().all(|(_, marks)| *marks == 0) {
                continue;
            }
            let forward = reach(start);
            if !forward[start] {
                continue;
            }
            let component: Vec<usize> =
                (0..self.edges.len()).filter(|&n| forward[n] && (n == start || reach(n)[start])).collect();
            let inside: Vec<bool> =
                (0..self.edges.len()).map(|n| component.binary_search(&n).is_ok()).collect();
            let edges = component.iter().flat_map(|&n| &self.edges[n]).filter(|(to, _)| inside[*to]);
            if edges.fold(0, |met, (_, marks)| met | marks) & all == all {
                return true;
            }
            component.into_iter().for_each(|n| done[n] = true);
        }
        false
    }
}

fn formulas() -> Vec<Ltl> {
    let (a, b) = (|| Ltl::Atom(0), || Ltl::Atom(1));
    vec![
        a().implies(b().eventually()).always(),
        a().eventually().always(),
        a().always().eventually(),
        a().until(b()),
        a().eventually(),
        a().eventually().always().implies(b().eventually().always()),
        a().release(b()),
        a().and(b().until(a().not())).eventually(),
        b().always().or(a().eventually().always()),
    ]
}

/// Adds the formula as a claim over the last two properties.
fn with_formula(mut system: System, formula: &Ltl) -> System {
    let first = system.properties.len() - 2;
    let automaton = translate(&formula.not()).expect("a small formula").degeneralise();
    let stutter_invariant = formula.is_stutter_invariant();
    let claim = Claim {
        automaton,
        propositions: vec![first, first + 1],
        text: "formula".into(),
        stutters: true,
        stutter_invariant,
    };
    system.properties.push(state_property("formula", PropertyKind::Formula, PropertyBody::Claim(claim)));
    system
}

fn state_property(name: &str, kind: PropertyKind, body: PropertyBody) -> Property {
    Property { name: name.into(), kind, params: Vec::new(), locals: Vec::new(), body, span: Span::default() }
}

/// Compares the wrong runs with and without reduction; how many states each product has.
fn compare_runs(system: &System, formula: &Ltl, about: &str) -> Option<(usize, usize)> {
    let system = with_formula(system.clone(), formula);
    let id = PropertyId(system.property_bases()[system.properties.len() - 1]);
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let model = Model::new(system, options).expect("a model");
    let stubborn = Stubborn::for_runs(&model, id).expect("few actions");
    let [whole, reduced] = [&model as &dyn StateSpace, &stubborn].map(|space| {
        let product = Product::new(&model, space, id, Fairness::Off).expect("a product");
        let sets = product.acceptance().expect("accepted runs").sets;
        let found = graph(&product)?;
        let wrong = found.hit || found.accepts((1 << sets) - 1);
        Some((found.edges.len(), wrong, found.fault))
    });
    let (states, wrong, fault) = whole?;
    let (fewer, still, faults) = reduced.expect("no more states than before");
    assert_eq!((wrong, fault), (still, faults), "{formula:?}: {about}");
    Some((states, fewer))
}

#[test]
fn networks_keep_their_wrong_runs() {
    let (mut before, mut after, mut asked) = (0, 0, 0);
    for seed in 0..150 {
        let mut system = generate::network(seed);
        system.properties.clear();
        let mut random = Random::new(seed);
        for n in 0..2 {
            let var = random.below(system.variables.len());
            let values =
                system.domains[system.shapes.scalar(system.variables[var].shape).expect("a scalar")].size();
            let value = random.below(values as usize) as i64;
            let read = system.whole(VarId(var as u32)).read();
            let body = PropertyBody::State(Expr::binary(BinaryOp::Equal, read, Expr::constant(value)));
            system.properties.push(state_property(&format!("p{n}"), PropertyKind::Proposition, body));
        }
        let formulas = formulas();
        for formula in [&formulas[seed as usize % 9], &formulas[(seed as usize / 9 + 4) % 9]] {
            if let Some((states, fewer)) = compare_runs(&system, formula, &format!("network {seed}")) {
                (before, after, asked) = (before + states, after + fewer, asked + 1);
            }
        }
    }
    println!("{asked} products with {before} states, reduced {after}");
    assert!(asked > 200 && after * 10 < before * 9, "{asked} products with {before} states, reduced {after}");
}

/// A Promela text of some processes that send, receive, meet, wait and start each other.
fn text(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x5072_6F6D);
    let mut text =
        String::from("chan q0 = [2] of { byte };\nchan q1 = [1] of { byte };\nchan m = [0] of { byte };\n");
    text += "byte x, y;\n";
    let processes = 2 + random.below(2);
    for p in 0..processes {
        text += &format!("active proctype P{p}() {{ byte a;\n{}}}\n", block(&mut random, ["q0", "q1"]));
    }
    if random.chance(40) {
        text += &format!("proctype W(chan c, d) {{ byte a;\n{}}}\n", block(&mut random, ["c", "d"]));
        let (c, d) = if random.chance(50) { ("q0", "q1") } else { ("q1", "q0") };
        text += &format!("init {{ run W({c}, {d}); x = 1 }}\n");
    }
    text
}

fn block(random: &mut Random, channels: [&str; 2]) -> String {
    let mut text = String::new();
    for _ in 0..random.below(2) {
        text += &format!("  {};\n", statement(random, channels));
    }
    text += if random.chance(50) { "end: do\n" } else { "do\n" };
    for n in 0..1 + random.below(3) {
        text += "  :: ";
        if n > 0 && random.chance(12) {
            text += "timeout -> ";
        }
        for _ in 0..1 + random.below(3) {
            text += &statement(random, channels);
            text += "; ";
        }
        text += if random.chance(20) { "break\n" } else { "skip\n" };
    }
    text += "od\n";
    text
}

fn statement(random: &mut Random, channels: [&str; 2]) -> String {
    let channel = channels[random.below(2)];
    let (k, var) = (random.below(2), ["x", "y", "a"][random.below(3)]);
    match random.below(24) {
        0..=4 => format!("{channel}!{k}"),
        5..=8 => format!("{channel}?a"),
        9 | 10 => format!("{channel}?{k}"),
        11 => format!("m!{k}"),
        12 => "m?a".into(),
        13..=15 => format!("{var} = {k}"),
        16 => format!("{var} = 1 - ({var} & 1)"),
        17 => format!("({var} == {k})"),
        18 => format!("nempty({channel})"),
        19 => format!("({var} == {k} || nfull({channel}))"),
        20 | 21 => format!("atomic {{ {}; {} }}", simple(random, channel), simple(random, channel)),
        22 => format!("{channel}??{k}"),
        _ if random.chance(30) => "assert(x + y < 2)".into(),
        _ => format!("if :: {channel}?{k} :: else -> {var} = {k} fi"),
    }
}

fn simple(random: &mut Random, channel: &str) -> String {
    let k = random.below(2);
    [
        format!("{channel}!{k}"),
        format!("{channel}?a"),
        format!("x = {k}"),
        format!("(y == {k})"),
        "m?a".into(),
    ][random.below(5)]
    .clone()
}

/// A text whose processes are given their channels by others that start them, some again and again.
fn started(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x5374_6172);
    let mut text =
        String::from("chan q[3] = [2] of { byte };\nchan m[2] = [0] of { byte };\nbyte x, y, v[2];\n");
    for class in ["S", "T"] {
        text += &format!("proctype {class}(chan c, d, r; byte b) {{ byte a, i;\n");
        text += if random.chance(50) { "end: do\n" } else { "do\n" };
        for _ in 0..1 + random.below(3) {
            text += "  :: ";
            for _ in 0..1 + random.below(2) {
                text += &given(&mut random);
                text += "; ";
            }
            text += if random.chance(30) { "break\n" } else { "skip\n" };
        }
        text += "od }\n";
    }
    let run = |random: &mut Random| {
        let class = ["S", "T"][random.below(2)];
        let (c, d, r) = (random.below(3), random.below(3), random.below(2));
        format!("run {class}(q[{c}], q[{d}], m[{r}], {})", random.below(2))
    };
    let first = [run(&mut random), run(&mut random)];
    text += &match random.below(4) {
        0 => format!("init {{ {}; {} }}\n", first[0], first[1]),
        1 => format!("init {{ atomic {{ {} }}; do :: (_nr_pr < 3) -> {} od }}\n", first[0], first[1]),
        2 => format!("init {{ {}; do :: (_nr_pr < 3) -> {} :: break od }}\n", first[0], first[1]),
        _ => format!("init {{ atomic {{ {}; {} }} }}\n", first[0], first[1]),
    };
    text
}

fn given(random: &mut Random) -> String {
    let k = random.below(2);
    match random.below(16) {
        0 => "atomic { (nempty(c) && nfull(d)) -> c?a; d!a }".into(),
        1 => format!("atomic {{ nempty(c) -> c?a; if :: (a == {k}) -> x = {k} :: else fi }}"),
        2 => "atomic { nfull(d) -> y = 1 - y; d!b }".into(),
        3 => format!("(x == {k} && nfull(d))"),
        4 => "nempty(c)".into(),
        5 => format!("d!{k}"),
        6 => "c?a".into(),
        7 => format!("c?{k}"),
        8 => format!("r!{k}"),
        9 => "r?a".into(),
        10 => "(i < 2) -> i++".into(),
        11 => "i = 0".into(),
        12 => "x = 2 / (b + 1)".into(),
        13 => "(v[i] == 0)".into(),
        14 => "v[b] = 1 - v[b]".into(),
        _ => format!("x = {k}"),
    }
}

fn load(text: &str, propositions: &[String]) -> System {
    let path = std::path::Path::new("random.pml");
    let source = hadal_system::Source::new("random.pml".to_owned(), text.to_owned());
    let options = LoadOptions { propositions: propositions.to_vec(), ..LoadOptions::default() };
    let language = hadal_lang::Language::of(path).expect("Promela");
    let loaded = (language.load)(hadal_lang::Request { path, source, options: &options });
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let LoadedModel::System(system) = loaded.model else { panic!("a system") };
    system
}

#[test]
fn promela_texts_keep_their_errors_and_deadlocks() {
    keep_errors_and_deadlocks(400, text);
}

#[test]
fn processes_that_are_given_channels_keep_their_errors_and_deadlocks() {
    keep_errors_and_deadlocks(300, started);
}

/// Processes that come to an end wait for certain messages, in buffers that were used before.
#[test]
fn conversations_keep_their_errors_and_deadlocks() {
    keep_errors_and_deadlocks(400, conversation);
}

/// A Promela text of processes without loops that wait for messages by what those say.
fn conversation(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x436F_6E76);
    let mut text = String::from("chan q[3] = [2] of { byte };\nbyte x, y;\n");
    for p in 0..3 {
        text += &format!("active proctype P{p}() {{ byte a;\n");
        for _ in 0..3 + random.below(3) {
            text += &match random.below(4) {
                0 => format!("  if :: {} :: {} fi;\n", said(&mut random), said(&mut random)),
                1 => format!(
                    "  if :: {} :: {} -> {} fi;\n",
                    said(&mut random),
                    said(&mut random),
                    said(&mut random)
                ),
                _ => format!("  {};\n", said(&mut random)),
            };
        }
        text += "end: skip }\n";
    }
    text
}

fn said(random: &mut Random) -> String {
    let (q, k) = (random.below(3), random.below(3));
    match random.below(12) {
        0..=3 => format!("q[{q}]!{k}"),
        4..=6 => format!("q[{q}]?{k}"),
        7 => format!("q[{q}]?a"),
        8 => format!("x = {}", k & 1),
        9 => format!("(y == {})", k & 1),
        10 => format!("y = {}", k & 1),
        _ if random.chance(30) => "assert(x + y < 2)".into(),
        _ => "a = 1 - (a & 1)".into(),
    }
}

fn keep_errors_and_deadlocks(texts: u64, text: fn(u64) -> String) {
    let (mut before, mut after, mut asked) = (0, 0, 0);
    for seed in 0..texts {
        let text = text(seed);
        let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
        let model = Model::new(load(&text, &[]), options).expect("a model");
        let Some(whole) = graph(&model) else { continue };
        asked += 1;
        before += whole.edges.len();
        for traces in [Traces::Shortest, Traces::Some] {
            let stubborn = Stubborn::new(&model, DeadlockNotion::Stuck, traces).expect("few actions");
            let reduced = graph(&stubborn).expect("no more states than before");
            let what = format!("seed {seed}, {traces:?}\n{text}");
            assert_eq!((whole.fault, whole.deadlock), (reduced.fault, reduced.deadlock), "{what}");
            assert!(reduced.edges.len() <= whole.edges.len(), "{what}");
            if traces == Traces::Some {
                after += reduced.edges.len();
                let reduced = graph(&stubborn.by_processes()).expect("no more states than before");
                assert_eq!(
                    (whole.fault, whole.deadlock),
                    (reduced.fault, reduced.deadlock),
                    "processes, {what}"
                );
            }
        }
    }
    println!("{asked} texts with {before} states, reduced {after}");
    assert!(asked > 200 && after * 4 < before * 3, "{asked} texts with {before} states, reduced {after}");
}

/// Atomic sequences are followed for what is chosen only, and lead where they lead anyway.
#[test]
fn only_the_successors_of_the_set_are_generated() {
    let mut left_out = 0;
    for seed in 0..40 {
        for text in [text(seed), started(seed), conversation(seed)] {
            let model = Model::new(load(&text, &[]), ModelOptions::default()).expect("a model");
            let reduced = || Stubborn::new(&model, DeadlockNotion::Stuck, Traces::Some).expect("few actions");
            left_out += support::compare_successors(&model, &reduced(), &reduced().hot());
        }
    }
    assert!(left_out > 5_000, "{left_out} successors are left out");
}

#[test]
fn promela_texts_keep_their_wrong_runs() {
    let propositions = ["x == 1", "y == 1", "len(q0) > 0", "x == y", "len(q1) == 0", "nfull(q1)"];
    keep_wrong_runs(250, text, propositions);
}

#[test]
fn processes_that_are_given_channels_keep_their_wrong_runs() {
    let propositions = ["x == 1", "y == 1", "len(q[0]) > 0", "x == y", "len(q[1]) == 0", "nfull(q[1])"];
    keep_wrong_runs(200, started, propositions);
}

fn keep_wrong_runs(texts: u64, text: fn(u64) -> String, propositions: [&str; 6]) {
    let (mut before, mut after, mut asked) = (0, 0, 0);
    for seed in 0..texts {
        let text = text(seed);
        let pair = [seed as usize % 6, (seed as usize / 6 + 1) % 6].map(|n| propositions[n].to_owned());
        let system = load(&text, &pair);
        let formulas = formulas();
        let formula = &formulas[seed as usize % 9];
        if let Some((states, fewer)) =
            compare_runs(&system, formula, &format!("seed {seed}, {pair:?}\n{text}"))
        {
            (before, after, asked) = (before + states, after + fewer, asked + 1);
        }
    }
    println!("{asked} products with {before} states, reduced {after}");
    assert!(asked > 100 && after * 10 < before * 9, "{asked} products with {before} states, reduced {after}");
}
