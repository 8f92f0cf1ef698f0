//! Worked examples of Wehrle 2011: what a search takes out, and how often a guide is right about useless transitions.

use crate::truth::{Asked, Truth, figures, model, run};
use hadal_exec::{Model, SymmetryMode};
use hadal_guide::priority::oracle::Confusion;
use hadal_guide::priority::{self, Judge, NoPriority, Placement, Selection, published_order};
use hadal_guide::{Distance, Estimator, Goal, Priority, Step, registry};
use hadal_search::directed::{DirectedOptions, Insertion, Tie, Traces};
use hadal_search::{DeadlockNotion, Question, Verdict};
use hadal_system::{Expr, Label, PropertyBody, PropertyKind, Source, StateSpace, System};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// The rules behind the published figures.
fn published(model: &Model, tie: Tie) -> DirectedOptions {
    DirectedOptions {
        tie: Some(tie),
        insertion: Insertion::UnlessClosed,
        ranks: Some(published_order(model.system())),
        traces: Traces::AsFound,
        ..DirectedOptions::default()
    }
}

fn asked(model: &Model) -> Asked {
    let question = Question::everything(model.properties(), DeadlockNotion::Off);
    Asked { question, goal: Goal::of_properties(model.properties()) }
}

/// Ex. 3.1: processes that go from l0 to l1 and back; the error is that all are at l1.
fn switches(count: usize) -> System {
    let others: Vec<String> = (1..count).map(|p| format!("P{p}.l1")).collect();
    let process = |p: usize| {
        let error =
            if p == 0 { format!("assert l1: not ({});", others.join(" and ")) } else { String::new() };
        format!("process P{p} {{ state l0, l1; init l0; {error} trans l0 -> l1 {{}}, l1 -> l0 {{}}; }}\n")
    };
    let text: String = (0..count).map(process).collect();
    let source = Source::new("switches.dve", text + "system async;");
    hadal_lang::dve::load(source, &[]).expect("it is DVE").system
}

#[test]
fn nine_switches_are_taken_out_as_often_as_published() {
    let model = model(switches(9), SymmetryMode::Off).expect("it runs");
    let asked = asked(&model);
    let guide = registry::build("dl", &model, &asked.goal).expect("a guide");
    let useless = priority::build("useless-plain", &model, &asked.goal, &*guide).expect("a layer");
    let layers: [&dyn Priority; 2] = [&NoPriority, &*useless];
    let walk = |layer: usize, tie| {
        let report = run(&model, &asked, &*guide, layers[layer], published(&model, tie));
        let Verdict::Violated(found) = &report.verdict else { panic!("{report:?}") };
        let figures = figures(&report);
        (figures.work.pops, figures.work.distinct, found.path.len() - 1, figures.work.deferred_share)
    };
    let (pops, _, length, _) = walk(0, Tie::Lifo);
    assert_eq!((pops, length), (172, 171), "depth first, as far as it goes");
    let (pops, _, length, deferred) = walk(1, Tie::Lifo);
    assert_eq!((pops, length, deferred), (10, 9, 0.0), "steps back are put off");
    for layer in 0..2 {
        let (pops, distinct, length, _) = walk(layer, Tie::Fifo);
        assert_eq!((pops, distinct, length), (2226, 503, 9), "the error is not expanded");
    }
}

/// Notes what a layer of useless transitions says about each.
struct Noting<'p> {
    layer: &'p dyn Priority,
    said: Mutex<Vec<(Vec<u64>, Label, bool)>>,
}

impl Priority for Noting<'_> {
    fn name(&self) -> String {
        self.layer.name()
    }
    fn selection(&self) -> Selection {
        self.layer.selection()
    }
    fn uses_estimates(&self) -> bool {
        self.layer.uses_estimates()
    }
    fn judge(&self) -> Box<dyn Judge + '_> {
        Box::new(NotingJudge { inner: self.layer.judge(), notes: self })
    }
}

struct NotingJudge<'p> {
    inner: Box<dyn Judge + 'p>,
    notes: &'p Noting<'p>,
}

impl Judge for NotingJudge<'_> {
    fn begin(&mut self, state: &[u64], here: Distance, estimator: &mut dyn Estimator) {
        self.inner.begin(state, here, estimator);
    }
    fn place(&mut self, step: &Step, estimator: &mut dyn Estimator) -> Option<Placement> {
        let placement = self.inner.place(step, estimator);
        let useless = placement.is_some_and(|placement| placement.queue == 1);
        self.notes.said.lock().expect("one thread").push((step.state.to_vec(), step.label, useless));
        placement
    }
}

/// The steps from every state to the nearest wrong one.
fn distances(truth: &Truth) -> Vec<Option<u32>> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); truth.states.len()];
    truth.edges.iter().for_each(|&(from, to, _)| into[to].push(from));
    let mut distance = vec![None; truth.states.len()];
    let mut queue: VecDeque<usize> = (0..truth.states.len()).filter(|&at| truth.is_wrong(at)).collect();
    queue.iter().for_each(|&at| distance[at] = Some(0));
    while let Some(at) = queue.pop_front() {
        for &from in &into[at] {
            if distance[from].is_none() {
                distance[from] = distance[at].map(|steps| steps + 1);
                queue.push_back(from);
            }
        }
    }
    distance
}

#[test]
fn guides_are_right_about_useless_transitions_of_the_arbiter_tree_as_often_as_published() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/arbiter_tree.mdve");
    let source = Source::new("arbiter_tree.mdve", std::fs::read_to_string(path).expect("a bundled model"));
    let mut system = hadal_lang::dve::load(source, &[("DEPTH".into(), 3)]).expect("it is DVE").system;
    for property in system.properties.iter_mut().filter(|property| property.name != "C3.work") {
        assert_eq!(property.kind, PropertyKind::Invariant);
        property.body = PropertyBody::State(Expr::constant(1));
    }
    let model = model(system, SymmetryMode::Off).expect("it runs");
    let asked = asked(&model);
    let truth = Truth::of(&model, &asked, 1 << 20).expect("it is small enough");
    assert_eq!(truth.states.len(), 248_075);
    let distances = distances(&truth);
    let numbers: HashMap<&[u64], usize> =
        truth.states.iter().enumerate().map(|(at, state)| (state.as_slice(), at)).collect();
    let leaving: HashMap<(usize, Label), usize> =
        truth.edges.iter().map(|&(from, to, label)| ((from, label), to)).collect();
    // Table 3.4: true and false positives and negatives, in thousandths.
    for (name, transitions, shares) in [("hl", 283, [587, 233, 102, 78]), ("du", 463, [235, 37, 728, 0])] {
        let guide = registry::build(name, &model, &asked.goal).expect("a guide");
        let useless = priority::build("useless", &model, &asked.goal, &*guide).expect("a layer");
        let noting = Noting { layer: &*useless, said: Mutex::default() };
        let report = run(&model, &asked, &*guide, &noting, published(&model, Tie::Lifo));
        assert!(matches!(report.verdict, Verdict::Violated(_)));
        let mut matrix = Confusion::default();
        let far = |at: usize| distances[at].unwrap_or(u32::MAX);
        for (state, label, said) in noting.said.into_inner().expect("one thread") {
            let from = numbers[state.as_slice()];
            matrix.count(far(from) <= far(leaving[&(from, label)]), said);
        }
        let Confusion { true_positive, true_negative, false_positive, false_negative } = matrix;
        let counts = [true_positive, true_negative, false_positive, false_negative];
        let all: u64 = counts.iter().sum();
        let rounded = counts.map(|count| (count as f64 * 1000.0 / all as f64).round() as u64);
        assert_eq!((all, rounded), (transitions, shares), "{name}");
    }
}
