//! The decision tree over equality tests: a state pays only for instances that could fire.
//!
//! Instances are grouped by the scalar that most of their guards test; a jump on that scalar's code leads to those
//! that its value leaves possible, and so on inside each case. What tests nothing in common is tried one after the
//! other. No instance is lost or duplicated beyond a small factor: an instance stands only in cases whose codes let
//! its guard hold or meet an error.

use std::collections::{BTreeMap, HashMap};

use cranelift_codegen::ir::Value;
use cranelift_frontend::Switch;
use cranelift_module::FuncId;
use hadal_system::{Action, system};

use super::emit::Emitter;
use super::facts::Facts;
use super::firing::{BodyStyle, Firing, Outputs};
use super::guards::{Conjunct, Errors, Reader, Scalar};
use super::memory::{Mem, MemBase};
use super::places::{Location, PackedPlace};
use super::plan::{block_cost, expr_cost};
use super::unit::{Job, Unit};
use super::values::{Code, Val};

/// Instructions that guards and bodies may take when each instance gets its own code.
const BUDGET: usize = 300_000;
/// A larger body is shared by the instances of its action: guards that must be passed then lie close together, which
/// is worth more than constants in a body that seldom runs.
const MAX_OWN_BODY: usize = 160;
/// Instructions that the bodies of one action may take when each instance gets its own.
const MAX_OWN_BODIES: usize = 8_000;
/// An action with more instances than this is a loop.
const MAX_INSTANCES: u64 = 4_096;
/// Functions larger than this are split; the code generator is superlinear.
const MAX_FUNCTION: usize = 3_000;
/// How much code may be repeated for an instance that several cases leave possible.
const MAX_REPEATED: usize = 300;

/// One action instance with a label of its own.
struct Item<'s> {
    label: u32,
    action: &'s Action,
    values: Vec<i64>,
    style: BodyStyle,
    cost: usize,
    conjuncts: Vec<Conjunct>,
}

/// How instances are tried.
pub(super) enum Tree<'s> {
    /// One instance.
    Leaf { firing: Leaf<'s>, cost: usize },
    /// All instances of an action, one after the other.
    Loop { action: &'s Action, base: u32, count: u64, cost: usize },
    /// One after the other.
    Sequence(Vec<Tree<'s>>),
    /// By the code of a scalar; codes that no case names lead nowhere.
    Switch { scalar: Scalar, cases: Vec<(Vec<u64>, Tree<'s>)> },
}

/// An instance in the tree.
#[derive(Clone)]
pub(super) struct Leaf<'s> {
    action: &'s Action,
    values: Vec<i64>,
    label: u32,
    style: BodyStyle,
}

/// A part of the tree that becomes a function of its own, and what is known when it is entered.
pub(super) struct Subtree<'s> {
    tree: Tree<'s>,
    facts: Facts,
}

/// How each instance of an action is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Inline,
    Shared,
    Loop,
}

impl<'s> Tree<'s> {
    /// Plans all instances of `actions`; beside each stand its first label and how many instances it has.
    pub fn plan(unit: &mut Unit<'s>, actions: &[(&'s Action, u64, u64)]) -> Self {
        let mut candidates: Vec<Candidate> =
            actions.iter().map(|&(action, base, count)| Candidate::new(unit, action, base, count)).collect();
        choose_styles(&mut candidates);
        let mut parts = Vec::new();
        let mut items = Vec::new();
        for candidate in candidates {
            let Candidate { action, base, count, guard, body, instances, style } = candidate;
            let Some(instances) = instances.filter(|_| style != Style::Loop) else {
                parts.push(Tree::Loop { action, base, count, cost: guard + body });
                continue;
            };
            if instances.is_empty() {
                continue;
            }
            let (style, cost) = match style {
                Style::Shared => (BodyStyle::Shared(Emitter::shared(unit, action)), guard),
                _ => (BodyStyle::Inline, guard + body),
            };
            for Possible { number, values, conjuncts } in instances {
                items.push(Item { label: base + number, action, values, style, cost, conjuncts });
            }
        }
        let undefined = |scalar: &Scalar| unit.system.domains[scalar.domain].undefined;
        let all: Vec<usize> = (0..items.len()).collect();
        let mut known = HashMap::new();
        match grow(&items, all, &mut known, &undefined) {
            Tree::Sequence(list) => parts.extend(list),
            single => parts.push(single),
        }
        parts.sort_by_key(|part| part.labels().map_or(0, |(first, _)| first));
        Tree::Sequence(parts)
    }

    /// All instances of `actions`, whose first labels are `bases`, one after the other.
    pub fn loops(actions: &'s [Action], bases: &[u64]) -> Self {
        let parts = actions.iter().zip(bases.windows(2)).map(|(action, bases)| {
            let cost = expr_cost(&action.guard) + block_cost(&action.body) + 20;
            Tree::Loop { action, base: bases[0] as u32, count: bases[1] - bases[0], cost }
        });
        Tree::Sequence(parts.collect())
    }

    /// The most successors it can append.
    pub fn most_successors(&self) -> usize {
        match self {
            Tree::Leaf { .. } => 1,
            Tree::Loop { count, .. } => *count as usize,
            Tree::Sequence(list) => list.iter().map(Tree::most_successors).sum(),
            Tree::Switch { cases, .. } => {
                cases.iter().map(|(_, tree)| tree.most_successors()).max().unwrap_or(0)
            }
        }
    }

    /// The least and greatest label it can append.
    fn labels(&self) -> Option<(u32, u32)> {
        let join = |a: Option<(u32, u32)>, b: Option<(u32, u32)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, None) | (None, one) => one,
        };
        match self {
            Tree::Leaf { firing, .. } => Some((firing.label, firing.label)),
            Tree::Loop { base, count, .. } => {
                let last = count.checked_sub(1)?;
                Some((*base, base + last as u32))
            }
            Tree::Sequence(list) => list.iter().fold(None, |all, tree| join(all, tree.labels())),
            Tree::Switch { cases, .. } => cases.iter().fold(None, |all, (_, tree)| join(all, tree.labels())),
        }
    }

    /// Whether labels are always appended in ascending order.
    pub fn is_ordered(&self) -> bool {
        match self {
            Tree::Leaf { .. } | Tree::Loop { .. } => true,
            Tree::Switch { cases, .. } => cases.iter().all(|(_, tree)| tree.is_ordered()),
            Tree::Sequence(list) => {
                let mut last = None;
                list.iter().all(|tree| {
                    let Some((first, end)) = tree.labels() else { return true };
                    let ascends = last.is_none_or(|last| last < first);
                    last = Some(end);
                    ascends && tree.is_ordered()
                })
            }
        }
    }

    fn cost(&self) -> usize {
        match self {
            Tree::Leaf { cost, .. } | Tree::Loop { cost, .. } => *cost,
            Tree::Sequence(list) => list.iter().map(Tree::cost).sum(),
            Tree::Switch { cases, .. } => 8 + cases.iter().map(|(_, tree)| tree.cost() + 2).sum::<usize>(),
        }
    }
}

/// An instance whose guard is not false whatever the state.
struct Possible {
    number: u32,
    values: Vec<i64>,
    conjuncts: Vec<Conjunct>,
}

/// An action before it is decided how its instances are emitted.
struct Candidate<'s> {
    action: &'s Action,
    base: u32,
    count: u64,
    /// Estimated instructions of one guard, and of one body.
    guard: usize,
    body: usize,
    /// The instances that can fire or meet an error; `None` where there are too many to look at each.
    instances: Option<Vec<Possible>>,
    style: Style,
}

impl<'s> Candidate<'s> {
    fn new(unit: &Unit<'s>, action: &'s Action, base: u64, count: u64) -> Self {
        let instances = (count <= MAX_INSTANCES).then(|| {
            (0..count)
                .filter_map(|n| {
                    let values = system::instance_values(&action.params, &unit.system.domains, n);
                    let mut locals = vec![None; action.locals.len()];
                    for (param, &value) in action.params.iter().zip(&values) {
                        locals[param.local.0 as usize] = Some(value);
                    }
                    let reader = Reader { system: unit.system, layout: unit.layout, locals };
                    let conjuncts = reader.conjuncts(&action.guard)?;
                    Some(Possible { number: n as u32, values, conjuncts })
                })
                .collect()
        });
        Candidate {
            action,
            base: base as u32,
            count,
            guard: expr_cost(&action.guard) + 20,
            body: block_cost(&action.body) + 2 * unit.layout.words(),
            instances,
            style: Style::Loop,
        }
    }

    fn possible(&self) -> Option<usize> {
        self.instances.as_ref().map(Vec::len)
    }
}

/// Gives guards of their own to as many instances as the budget allows, then bodies of their own.
fn choose_styles(candidates: &mut [Candidate]) {
    let mut left = BUDGET;
    candidates.sort_by_key(|c| c.possible().map_or(usize::MAX, |n| n * c.guard));
    for candidate in candidates.iter_mut() {
        if let Some(cost) = candidate.possible().map(|n| n * candidate.guard)
            && cost <= left
        {
            candidate.style = Style::Shared;
            left -= cost;
        }
    }
    candidates.sort_by_key(|c| c.possible().map_or(usize::MAX, |n| n * c.body));
    for candidate in candidates.iter_mut().filter(|c| c.style == Style::Shared) {
        let n = candidate.possible().unwrap_or(0);
        let cost = n * candidate.body;
        let small = candidate.body <= MAX_OWN_BODY && cost <= MAX_OWN_BODIES;
        if n <= 1 || (small && cost <= left) {
            candidate.style = Style::Inline;
            left = left.saturating_sub(cost);
        }
    }
    candidates.sort_by_key(|c| c.base);
}

/// Codes a scalar is known to have one of.
type Known = HashMap<Scalar, Vec<u64>>;

/// The codes of each scalar that do not rule an instance out, for the scalars its guard may be asked about first.
fn tests(item: &Item, known: &Known, undefined: &dyn Fn(&Scalar) -> bool) -> Vec<(Scalar, Vec<u64>, usize)> {
    let mut found: Vec<(Scalar, Vec<u64>, usize)> = Vec::new();
    // Scalars that, when undefined, make a conjunct to the left meet an error.
    let mut blockers: Vec<Scalar> = Vec::new();
    for conjunct in &item.conjuncts {
        if let Some(test) = &conjunct.test
            && !known.contains_key(&test.scalar)
            && blockers.iter().all(|b| *b == test.scalar)
        {
            // Where a conjunct to the left meets an error because the scalar is undefined, that case stays possible
            // even if this one would fail there.
            let erring = !blockers.is_empty();
            let possible = |code: u64| (erring && code == 0) || test.codes.binary_search(&code).is_ok();
            match found.iter_mut().find(|(scalar, ..)| *scalar == test.scalar) {
                Some((_, codes, holds)) => {
                    codes.retain(|&code| possible(code));
                    *holds = (*holds).min(test.holds);
                }
                None => {
                    let mut codes = test.codes.clone();
                    if erring && codes.first() != Some(&0) {
                        codes.insert(0, 0);
                    }
                    found.push((test.scalar, codes, test.holds));
                }
            }
        }
        match &conjunct.errors {
            Errors::Maybe => break,
            Errors::OnlyUndefined(scalars) => {
                for scalar in scalars.iter().filter(|s| undefined(s)) {
                    let defined = known.get(scalar).is_some_and(|codes| !codes.contains(&0));
                    if !defined && !blockers.contains(scalar) {
                        blockers.push(*scalar);
                    }
                }
            }
        }
    }
    found
}

fn grow<'s>(
    items: &[Item<'s>],
    mut open: Vec<usize>,
    known: &mut Known,
    undefined: &dyn Fn(&Scalar) -> bool,
) -> Tree<'s> {
    let mut sequence = Vec::new();
    let mut tested: HashMap<usize, Vec<(Scalar, Vec<u64>, usize)>> =
        open.iter().map(|&n| (n, tests(&items[n], known, undefined))).collect();
    while open.len() > 1 {
        let mut counts: BTreeMap<Scalar, usize> = BTreeMap::new();
        for n in &open {
            for (scalar, _, holds) in &tested[n] {
                if worth(&items[*n], *holds) {
                    *counts.entry(*scalar).or_default() += 1;
                }
            }
        }
        let Some((&scalar, _)) = counts.iter().filter(|(_, n)| **n > 1).max_by_key(|(_, n)| **n) else {
            break;
        };
        let mut cases: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut rest = Vec::new();
        for n in open {
            let test = tested[&n].iter().find(|(s, _, holds)| *s == scalar && worth(&items[n], *holds));
            match test {
                Some((_, codes, _)) => {
                    for &code in codes {
                        cases.entry(code).or_default().push(n);
                    }
                    tested.remove(&n);
                }
                None => rest.push(n),
            }
        }
        open = rest;
        let mut merged: Vec<(Vec<usize>, Vec<u64>)> = Vec::new();
        for (code, list) in cases {
            match merged.iter_mut().find(|(same, _)| *same == list) {
                Some((_, codes)) => codes.push(code),
                None => merged.push((list, vec![code])),
            }
        }
        let cases = merged
            .into_iter()
            .map(|(list, codes)| {
                known.insert(scalar, codes.clone());
                let tree = grow(items, list, known, undefined);
                (codes, tree)
            })
            .collect();
        known.remove(&scalar);
        sequence.push(Tree::Switch { scalar, cases });
    }
    for n in open {
        let item = &items[n];
        let firing =
            Leaf { action: item.action, values: item.values.clone(), label: item.label, style: item.style };
        sequence.push(Tree::Leaf { firing, cost: item.cost });
    }
    sequence.sort_by_key(|tree| tree.labels().map_or(0, |(first, _)| first));
    if sequence.len() == 1 {
        return sequence.remove(0);
    }
    Tree::Sequence(sequence)
}

/// Whether an instance that several codes leave possible may be repeated for each.
fn worth(item: &Item, holds: usize) -> bool {
    holds <= 1 || (holds <= 4 && holds * item.cost <= MAX_REPEATED)
}

impl<'s> Emitter<'_, 's> {
    /// Emits a function that tries the instances of a subtree.
    pub fn subtree(&mut self, subtree: Subtree<'s>, parameters: &[Value]) {
        let outputs = self.open_outputs(parameters);
        self.facts = subtree.facts;
        self.try_tree(subtree.tree, &outputs);
        self.close_outputs(&outputs);
    }

    /// Emits code that tries the instances of a tree; parts that make the function too large get their own.
    pub fn try_tree(&mut self, tree: Tree<'s>, outputs: &Outputs) {
        if self.dead {
            return;
        }
        if !matches!(tree, Tree::Sequence(_)) && self.size() > 100 && self.size() + tree.cost() > MAX_FUNCTION
        {
            return self.outline(tree, outputs);
        }
        match tree {
            Tree::Leaf { firing, .. } => {
                let values = firing.values.iter().map(|&v| Val::Const(v)).collect();
                let label = Val::Const(i64::from(firing.label));
                let firing = Firing { action: firing.action, values, label, style: firing.style };
                self.fire(&firing, outputs);
            }
            Tree::Loop { action, base, count, .. } => {
                let range = (self.int(0), self.int(count as i64));
                self.fire_range(action, range, base, outputs);
            }
            Tree::Sequence(list) => {
                let mut list = list.into_iter();
                while let Some(part) = list.next() {
                    self.try_tree(part, outputs);
                    if self.size() > MAX_FUNCTION && list.len() > 1 {
                        return self.outline(Tree::Sequence(list.collect()), outputs);
                    }
                }
            }
            Tree::Switch { scalar, cases } => self.switch_tree(scalar, cases, outputs),
        }
    }

    fn switch_tree(&mut self, scalar: Scalar, cases: Vec<(Vec<u64>, Tree<'s>)>, outputs: &Outputs) {
        let shape = self.scalar_shape(scalar);
        let location = Location::Memory(Mem::at(MemBase::State, scalar.offset));
        let target = PackedPlace { location, shape };
        let v = match self.load(&target) {
            Code::Const(code) => {
                if let Some((_, tree)) = cases.into_iter().find(|(codes, _)| codes.contains(&code)) {
                    self.try_tree(tree, outputs);
                }
                return;
            }
            Code::Dyn { v, .. } => v,
        };
        let end = self.b.create_block();
        let mut table = Switch::new();
        let before = self.facts.clone();
        let mut blocks = Vec::with_capacity(cases.len());
        for (codes, tree) in cases {
            let block = self.b.create_block();
            for &code in &codes {
                table.set_entry(u128::from(code), block);
            }
            if let (Some(&first), Some(&last)) = (codes.first(), codes.last()) {
                self.learn(&target, first, last);
            }
            self.note_edge(block);
            self.facts = before.clone();
            blocks.push((block, tree));
        }
        self.note_edge(end);
        table.emit(&mut self.b, v, end);
        for (block, tree) in blocks {
            self.enter(block);
            self.try_tree(tree, outputs);
            self.goto(end);
        }
        self.enter(end);
    }

    /// Some shape that is a scalar of the domain; all of them have the same codes.
    fn scalar_shape(&self, scalar: Scalar) -> hadal_system::ShapeId {
        self.system
            .shapes
            .iter()
            .find(|(_, shape)| matches!(shape, hadal_system::Shape::Scalar(d) if *d == scalar.domain))
            .map(|(id, _)| id)
            // The scalar was found by walking shapes.
            .expect("a tested scalar has a shape")
    }

    fn outline(&mut self, tree: Tree<'s>, outputs: &Outputs) {
        let mut facts = self.facts.clone();
        facts.forget_locals();
        let signature = self.unit.jit.signature(4, 2);
        let func = self.unit.announce(signature, Job::Subtree(Subtree { tree, facts }));
        let (states, labels) = (self.b.use_var(outputs.states), self.b.use_var(outputs.labels));
        let ends = self.call_id(func, &[self.context, outputs.source, states, labels]);
        self.b.def_var(outputs.states, ends[0]);
        self.b.def_var(outputs.labels, ends[1]);
    }
}

/// Emits a function that fires the instances its caller asks for.
pub(super) fn looping_function<'s>(
    unit: &mut Unit<'s>,
    action: &'s Action,
    base: u32,
) -> Result<FuncId, super::CompileError> {
    let signature = unit.jit.signature(4, 2);
    unit.build_now(signature, super::emit::Covers::Count, |e, parameters| {
        let outputs = e.open_outputs(&parameters);
        let range = e.asked_range();
        e.fire_range(action, range, base, &outputs);
        e.close_outputs(&outputs);
    })
}
