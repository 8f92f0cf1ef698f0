//! The compiled code agrees with the interpreter: successor by successor, on generated systems and on every model of
//! the corpus, up to a number of states each.
//!
//! `HADAL_DIFF_STATES` raises that number for the corpus (300), `HADAL_DIFF_SEEDS` the number of generated systems
//! (400); `HADAL_CORPUS` says where the corpus is (`../shared/models` beside the workspace); `HADAL_DIFF_ONLY` picks
//! the models whose path contains it.

mod support;

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

use hadal_exec::compile::Compiled;
use hadal_exec::symmetry::Canonicaliser;
use hadal_exec::{Interpreter, SymmetryMode};
use hadal_system::{
    BinaryOp, Domain, Expr, ExprKind, Label, Layout, PropertyId, Source, Successors, System, UnaryOp,
};
use hadal_testkit::generate::{self, Scalarsets, Size};
use support::*;

/// What one engine says about one state. Both promise successors and faults in the order of their labels.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    successors: Vec<(Label, Vec<u64>)>,
    faults: Vec<Label>,
    covers: Vec<u64>,
}

fn answer(words: usize, properties: usize, generate: impl FnOnce(&mut Successors, &mut [u64])) -> Answer {
    let mut out = Successors::new(words);
    let mut covers = vec![0; properties];
    generate(&mut out, &mut covers);
    let successors = out.iter().map(|(label, state)| (label, state.to_vec())).collect();
    Answer { successors, faults: out.faults().to_vec(), covers }
}

/// Compares both engines breadth-first over up to `bound` states; gives the number of states, or the difference.
fn compare(system: &System, layout: &Layout, bound: usize) -> Result<usize, String> {
    compare_with(system, system, layout, bound)
}

/// [`compare`], the interpreter running one system and the compiled code another.
fn compare_with(system: &System, other: &System, layout: &Layout, bound: usize) -> Result<usize, String> {
    let interpreter = Interpreter::new(system, layout);
    let compiled = Compiled::new(other, layout).map_err(|error| format!("does not compile: {error}"))?;
    let normaliser = Canonicaliser::new(system, layout, SymmetryMode::Off);
    let mut scratch = normaliser.as_ref().map(Canonicaliser::scratch);
    let (words, properties) = (layout.words(), system.property_infos().len());

    let expected = answer(words, properties, |out, covers| interpreter.initial(out, covers));
    let found = answer(words, properties, |out, covers| compiled.initial(out, covers));
    if expected != found {
        return Err(explain(system, layout, None, &expected, &found));
    }
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let mut queue: VecDeque<Vec<u64>> = VecDeque::new();
    let mut reached = expected.successors;
    loop {
        for (_, mut state) in reached.drain(..) {
            if let (Some(normaliser), Some(scratch)) = (&normaliser, &mut scratch) {
                normaliser.normalise_multisets(&mut state, scratch);
            }
            if seen.len() < bound && seen.insert(state.clone()) {
                queue.push_back(state);
            }
        }
        let Some(state) = queue.pop_front() else { return Ok(seen.len()) };
        let expected = answer(words, properties, |out, covers| interpreter.successors(&state, out, covers));
        let found = answer(words, properties, |out, covers| compiled.successors(&state, out, covers));
        if expected != found {
            return Err(explain(system, layout, Some(&state), &expected, &found));
        }
        let (expected_check, found_check) = (interpreter.check(&state), compiled.check(&state));
        if expected_check != found_check {
            let shown = show(system, layout, &state);
            return Err(format!(
                "check: interpreter {expected_check:?}, compiled {found_check:?} in {shown}"
            ));
        }
        for id in (0..properties as u32).map(PropertyId) {
            let (expected, found) = (interpreter.satisfies(&state, id), compiled.satisfies(&state, id));
            if expected != found {
                let shown = show(system, layout, &state);
                return Err(format!("{id:?}: interpreter {expected:?}, compiled {found:?} in {shown}"));
            }
        }
        reached = expected.successors;
    }
}

/// The first difference between two answers, for people.
fn explain(
    system: &System,
    layout: &Layout,
    state: Option<&[u64]>,
    expected: &Answer,
    found: &Answer,
) -> String {
    let actions = if state.is_some() { &system.actions } else { &system.starts };
    let name = |label| system.instance(actions, label).map_or("?".into(), |it| system.render_instance(&it));
    let from = state.map_or("the blank state".into(), |state| show(system, layout, state));
    let one_sided = |mine: &Answer, other: &Answer, who: &str| {
        let extra = mine.successors.iter().find(|it| !other.successors.contains(it));
        let fault = mine.faults.iter().find(|it| !other.faults.contains(it));
        let mut text = String::new();
        if let Some((label, state)) = extra {
            text += &format!(
                "\n  only the {who}: {label:?} `{}` to {}",
                name(*label),
                show(system, layout, state)
            );
        }
        if let Some(&label) = fault {
            text += &format!("\n  only the {who}: {label:?} `{}` faults", name(label));
        }
        text
    };
    let mut text = format!("from {from}");
    text += &one_sided(expected, found, "interpreter");
    text += &one_sided(found, expected, "compiled code");
    if expected.successors.len() == found.successors.len() && expected.successors != found.successors {
        text += "\n  the order may differ";
    }
    if expected.covers != found.covers {
        text += &format!("\n  covers: interpreter {:?}, compiled {:?}", expected.covers, found.covers);
    }
    text
}

fn show(system: &System, layout: &Layout, state: &[u64]) -> String {
    let values = system.slots().into_iter().zip(layout.unpack(system, state));
    let values: Vec<_> = values
        .map(|((name, domain), value)| format!("{name}={}", system.domains.render(domain, value)))
        .collect();
    values.join(" ")
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn compare_generated(size: Size, first: u64) {
    let seeds = number("HADAL_DIFF_SEEDS", 400) as u64;
    let (mut states, mut wrong) = (0, Vec::new());
    for seed in first..first + seeds {
        let system = generate::system(seed, size);
        match compare(&system, &Layout::natural(&system), 200) {
            Ok(count) => states += count,
            Err(difference) => wrong.push(format!("seed {seed}: {difference}")),
        }
    }
    println!("{seeds} systems, {states} states");
    let shown = wrong.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {seeds} generated systems differ:\n{shown}", wrong.len());
}

#[test]
fn generated_systems_agree() {
    compare_generated(Size::SMALL, 0);
}

#[test]
fn generated_systems_with_symmetric_scalarsets_agree() {
    compare_generated(Size::SYMMETRIC, 0);
}

#[test]
fn larger_generated_systems_agree() {
    let size = Size { variables: 12, actions: 20, functions: 6, depth: 4, scalarsets: Scalarsets::Freely };
    compare_generated(size, 1_000_000);
}

#[test]
fn generated_systems_agree_whatever_the_order_of_the_variables() {
    for seed in 0..100 {
        let system = generate::system(seed, Size::SMALL);
        let mut order = Layout::natural(&system).order().to_vec();
        order.reverse();
        let layout = Layout::ordered(&system, order);
        compare(&system, &layout, 100).unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
    }
}

/// `x = 2 & (x is defined & x = 3)` meets an error where `x` is undefined, though its second half rules that out.
#[test]
fn an_error_on_the_left_of_a_guard_is_met_though_the_right_would_fail() {
    let mut system = empty();
    let shape = system.scalar(Domain::range(0, 3, true));
    let x = system.var("x", shape);
    let is = |value| bin(BinaryOp::Equal, x.clone().read(), int(value));
    let undefined = expr(ExprKind::IsUndefined(Box::new(x.clone())));
    let defined = expr(ExprKind::Unary(UnaryOp::Not, Box::new(undefined)));
    system.action(Vec::new(), int(1), Vec::new());
    system.starts = std::mem::take(&mut system.actions);
    for value in [1, 2, 3] {
        let guard = Expr::all([is(2), defined.clone(), is(value)]);
        system.action(Vec::new(), guard, vec![set(&x, int(0))]);
    }
    assert_eq!(compare(&system, &Layout::natural(&system), 10), Ok(1));
}

#[test]
fn a_difference_would_be_noticed() {
    let mut noticed = 0;
    for seed in 0..100 {
        let system = generate::system(seed, Size::SMALL);
        let mut other = system.clone();
        // One statement less somewhere.
        if other.actions[0].body.pop().is_some() {
            noticed += usize::from(compare_with(&system, &other, &Layout::natural(&system), 200).is_err());
        }
    }
    assert!(noticed > 20, "only {noticed} of 100 changed systems were told apart");
}

/// The corpus, if it is there.
fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("")
}

/// Compares the engines on every file below `folder` of the corpus that `load` accepts.
fn compare_corpus(folder: &str, extensions: &[&str], load: impl Fn(Source) -> Option<System>) {
    let Some(root) = corpus() else { return };
    let mut paths = hadal_testkit::corpus::files(&root.join(folder), extensions);
    if let Ok(only) = std::env::var("HADAL_DIFF_ONLY") {
        paths.retain(|path| path.to_string_lossy().contains(&only));
    }
    let bound = number("HADAL_DIFF_STATES", 300);
    let (mut models, mut states, mut wrong) = (0, 0, Vec::new());
    for path in &paths {
        let Ok(text) = std::fs::read(path) else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let Some(system) = load(Source::new(path.to_string_lossy().into_owned(), text)) else { continue };
        // Models of tens of thousands of instances per state would take the interpreter minutes.
        let instances = system.label_bases(&system.actions).last().copied().unwrap_or(0);
        let bound = bound.min(1 + (bound * 2_000) / (1 + instances as usize));
        match compare(&system, &Layout::natural(&system), bound) {
            Ok(count) => (models, states) = (models + 1, states + count),
            Err(difference) => wrong.push(format!("{}: {difference}", path.display())),
        }
    }
    println!("{folder}: {models} of {} files agree, {states} states", paths.len());
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} models differ:\n{shown}", wrong.len());
}

#[test]
fn murphi_corpus_agrees() {
    compare_corpus("murphi", &["m"], |source| {
        hadal_lang::murphi::load(source, &[]).ok().map(|loaded| loaded.system)
    });
}

#[test]
fn dve_corpus_agrees() {
    compare_corpus("dve", &["dve", "mdve"], |source| {
        hadal_lang::dve::load(source, &[]).ok().map(|loaded| loaded.system)
    });
}
