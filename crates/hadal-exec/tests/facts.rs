//! The static facts of a system are held against what its actions really do, on generated systems: sets called "may"
//! cover everything that happens, sets called "must" and known values are never wrong.

use hadal_exec::{Interpreter, Notes, Outcome};
use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::fold::Fold;
use hadal_system::system::{instance_count, instance_values};
use hadal_system::validate::validate;
use hadal_system::{Action, Label, Layout, Param, ParamValues, PropertyId, PropertyKind, System, Value};
use hadal_testkit::Random;
use hadal_testkit::generate::{self, Size};

const SEEDS: std::ops::Range<u64> = 0..200;
const STATES: usize = 24;

struct Bench<'a> {
    system: &'a System,
    layout: &'a Layout,
    interpreter: Interpreter<'a>,
    labels: u32,
    assumptions: Vec<PropertyId>,
    rng: Random,
}

impl<'a> Bench<'a> {
    fn new(system: &'a System, layout: &'a Layout, seed: u64) -> Self {
        let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0) as u32;
        let infos = system.property_infos();
        let assumed = infos.iter().enumerate().filter(|(_, p)| p.kind == PropertyKind::Assumption);
        let assumptions = assumed.map(|(n, _)| PropertyId(n as u32)).collect();
        Bench {
            system,
            layout,
            interpreter: Interpreter::new(system, layout),
            labels,
            assumptions,
            rng: Random::new(seed),
        }
    }

    /// Some reachable states, and some made up.
    fn states(&mut self) -> Vec<Vec<u64>> {
        let starts = self.system.label_bases(&self.system.starts).last().copied().unwrap_or(0) as u32;
        let mut states: Vec<Vec<u64>> = Vec::new();
        let add = |states: &mut Vec<Vec<u64>>, outcome| {
            if let Outcome::Reached(state) = outcome
                && states.len() < STATES
                && !states.contains(&state)
            {
                states.push(state);
            }
        };
        for start in 0..starts.min(8) {
            add(&mut states, self.interpreter.start(Label(start)));
        }
        let mut next = 0;
        while next < states.len() && states.len() < STATES {
            let state = states[next].clone();
            for label in 0..self.labels.min(64) {
                add(&mut states, self.interpreter.fire(&state, Label(label)));
            }
            next += 1;
        }
        for _ in 0..STATES / 2 {
            let values: Vec<Option<Value>> = (0..self.layout.slots().len()).map(|s| self.value(s)).collect();
            let state = self.pack(&values);
            if self.exists(&state) {
                states.push(state);
            }
        }
        states
    }

    /// A value that slot may hold.
    fn value(&mut self, slot: usize) -> Option<Value> {
        let domain = &self.system.domains[self.layout.slots()[slot].domain];
        if domain.undefined && self.rng.below(4) == 0 {
            return None;
        }
        let size = domain.size().min(1 << 20) as usize;
        domain.value_at(self.rng.below(size) as u64)
    }

    fn pack(&self, values: &[Option<Value>]) -> Vec<u64> {
        let mut state = vec![0; self.layout.words()];
        self.layout.pack(self.system, values, &mut state).expect("values of the domains");
        state
    }

    fn unpack(&self, state: &[u64]) -> Vec<Option<Value>> {
        self.layout.unpack(self.system, state)
    }

    /// Whether every assumption allows the state.
    fn exists(&self, state: &[u64]) -> bool {
        self.assumptions.iter().all(|&p| self.interpreter.holds(state, p) == Ok(true))
    }

    /// The state with another value in one slot, if the assumptions allow it.
    fn perturb(&mut self, state: &[u64], slot: usize) -> Option<Vec<u64>> {
        let mut values = self.unpack(state);
        values[slot] = self.value(slot);
        let other = self.pack(&values);
        self.exists(&other).then_some(other)
    }
}

fn allows(restrictions: &[(u32, ValueSet)], values: &[Option<Value>]) -> bool {
    restrictions.iter().all(|(slot, allowed)| match values[*slot as usize] {
        Some(value) => allowed.contains(value),
        None => allowed.may_be_undefined(),
    })
}

fn fires(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Reached(_))
}

fn is_off(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Disabled | Outcome::Dropped)
}

/// What one firing must agree with.
fn check_one(bench: &mut Bench, print: &Footprint, state: &[u64], label: Label, context: &str) -> Outcome {
    let mut notes = Notes { read: Some(Vec::new()), ..Notes::default() };
    let outcome = bench.interpreter.fire_noting(state, label, &mut notes);
    let before = bench.unpack(state);
    for slot in notes.read.iter().flatten().map(|&s| s as u32) {
        assert!(
            print.reads.contains(slot) || print.may_write.contains(slot),
            "{context}: slot {slot} was read"
        );
    }
    match &outcome {
        Outcome::Disabled => {}
        Outcome::Dropped => assert!(print.may_drop, "{context}: dropped"),
        Outcome::Fault(fault) => {
            assert!(print.may_fault, "{context}: {fault:?}");
            let guard_fault = print.guard_faults.as_ref().is_some_and(|at| allows(at, &before));
            let guard_true = print.can_hold && allows(&print.preconditions, &before);
            assert!(guard_fault || guard_true, "{context}: {fault:?} where the guard should be false");
        }
        Outcome::Reached(after) => {
            let after = bench.unpack(after);
            assert!(print.can_hold && print.can_fire, "{context}: fired");
            assert!(
                allows(&print.preconditions, &before),
                "{context}: fired against {:?}",
                print.preconditions
            );
            for (slot, (old, new)) in before.iter().zip(&after).enumerate() {
                assert!(
                    old == new || print.may_write.contains(slot as u32),
                    "{context}: slot {slot} was written"
                );
            }
            assert!(allows(&print.results, &after), "{context}: {after:?} against {:?}", print.results);
        }
    }
    for _ in 0..4 {
        let slot = bench.rng.below(before.len());
        let Some(other) = bench.perturb(state, slot) else { continue };
        let changed = bench.interpreter.fire(&other, label);
        if !print.tests.contains(slot as u32) {
            assert_eq!(is_off(&outcome), is_off(&changed), "{context}: slot {slot} is tested");
        }
        if !print.reads.contains(slot as u32) {
            check_unread(bench, print, (&outcome, &changed), slot, context);
        }
    }
    outcome
}

/// A slot that is not read changes nothing but, where it is not surely written, itself.
fn check_unread(
    bench: &Bench,
    print: &Footprint,
    outcomes: (&Outcome, &Outcome),
    slot: usize,
    context: &str,
) {
    match outcomes {
        (Outcome::Reached(a), Outcome::Reached(b)) => {
            for (n, (x, y)) in bench.unpack(a).iter().zip(&bench.unpack(b)).enumerate() {
                let keeps = n == slot && !print.must_write.contains(slot as u32);
                assert!(x == y || keeps, "{context}: slot {slot} is read, slot {n} depends on it");
            }
        }
        (a, b) => assert_eq!(
            std::mem::discriminant(a),
            std::mem::discriminant(b),
            "{context}: slot {slot} is read: {a:?} / {b:?}"
        ),
    }
}

/// What two instances must agree with, given what both do in a state.
fn check_pair(
    bench: &Bench,
    a: (&Footprint, Label, &Outcome),
    b: (&Footprint, Label, &Outcome),
    context: &str,
) {
    let Outcome::Reached(after_a) = a.2 else { return };
    let b_after = bench.interpreter.fire(after_a, b.1);
    if fires(b.2) {
        assert!(a.0.may_be_enabled_with(b.0), "{context}: enabled together");
        if is_off(&b_after) {
            assert!(a.0.may_disable(b.0), "{context}: disabled");
        }
    }
    if fires(&b_after) {
        assert!(!a.0.ends(b.0), "{context}: fired after");
        if is_off(b.2) {
            assert!(a.0.may_enable(b.0), "{context}: enabled");
        }
    }
    if let Outcome::Reached(after_b) = b.2
        && !a.0.interferes(b.0)
    {
        let a_after = bench.interpreter.fire(after_b, a.1);
        assert!(fires(&a_after) && a_after == b_after, "{context}: {a_after:?} {b_after:?} do not commute");
    }
}

fn check_properties(bench: &Bench, facts: &Facts, state: &[u64], context: &str) {
    for id in 0..bench.system.property_infos().len() as u32 {
        let Some((at, _)) = bench.system.property_instance(PropertyId(id)) else { continue };
        let n = id - bench.system.property_bases()[at];
        let mut notes = Notes { read: Some(Vec::new()), ..Notes::default() };
        let held = bench.interpreter.holds_noting(state, PropertyId(id), &mut notes);
        assert!(held.is_ok() || facts.properties[at].may_fault, "{context}: property {id} {held:?}");
        for slot in notes.read.into_iter().flatten() {
            let reads = facts.properties[at].instance(n.into());
            assert!(reads.contains(slot as u32), "{context}: property {id} reads slot {slot}");
        }
    }
}

fn check_seed(seed: u64, size: Size, facts_of: fn(&System) -> Facts) {
    let system = generate::system(seed, size);
    let problems = validate(&system);
    assert!(problems.is_empty(), "seed {seed}: {}", problems[0]);
    let facts = facts_of(&system);
    let layout = Layout::natural(&system);
    let mut bench = Bench::new(&system, &layout, seed);
    for state in bench.states() {
        let context = format!("seed {seed} state {:?}", bench.unpack(&state));
        check_properties(&bench, &facts, &state, &context);
        let mut outcomes = Vec::new();
        for label in (0..bench.labels.min(40)).map(Label) {
            let print = facts.footprint(label).expect("every label has a footprint");
            let context = format!("{context} label {}", label.0);
            outcomes.push((print, label, check_one(&mut bench, print, &state, label, &context)));
            let instance = system.instance(&system.actions, label).expect("a label of the system");
            let whole = &facts.actions[instance.id.0 as usize].whole;
            check_one(&mut bench, whole, &state, label, &format!("{context} as a whole"));
        }
        let outcomes: Vec<_> = outcomes.iter().map(|(p, l, o)| (*p, *l, o)).collect();
        for _ in 0..outcomes.len() * 2 {
            let (a, b) = (bench.rng.below(outcomes.len()), bench.rng.below(outcomes.len()));
            if a != b {
                check_pair(&bench, outcomes[a], outcomes[b], &format!("{context} labels {a} {b}"));
            }
        }
    }
}

#[test]
fn facts_cover_what_generated_systems_do() {
    for seed in SEEDS {
        check_seed(seed, Size::SMALL, Facts::of);
    }
}

#[test]
fn facts_cover_what_symmetric_systems_do() {
    for seed in SEEDS.start..SEEDS.end / 3 {
        check_seed(seed, Size::SYMMETRIC, Facts::of);
    }
}

#[test]
fn coarse_facts_cover_what_generated_systems_do() {
    for seed in SEEDS {
        check_seed(seed, Size::SMALL, Facts::coarse);
    }
}

/// The system with every instance an action of its own, folded for its parameters.
fn specialised(system: &System, unroll: u64) -> System {
    let mut folded = system.clone();
    folded.actions = Vec::new();
    for action in &system.actions {
        for n in 0..instance_count(&action.params, &system.domains) {
            let values = instance_values(&action.params, &system.domains, n);
            let known = action.params.iter().map(|p| p.local).zip(values.iter().copied());
            let fold = Fold::new(system, known).unrolling(unroll);
            let params = action.params.iter().zip(&values).map(|(param, &value)| Param {
                local: param.local,
                values: ParamValues::Steps { from: value, to: value, by: 1 },
            });
            folded.actions.push(Action {
                params: params.collect(),
                guard: fold.expr(&action.guard),
                body: fold.stmts(&action.body),
                ..action.clone()
            });
        }
    }
    folded
}

#[test]
fn folding_keeps_every_outcome_faults_included() {
    for seed in SEEDS {
        let system = generate::system(seed, Size::SMALL);
        let layout = Layout::natural(&system);
        let mut bench = Bench::new(&system, &layout, seed);
        let states = bench.states();
        for unroll in [0, 8] {
            let folded = specialised(&system, unroll);
            assert_eq!(validate(&folded), [], "seed {seed}");
            let interpreter = Interpreter::new(&folded, &layout);
            for state in &states {
                for label in (0..bench.labels.min(40)).map(Label) {
                    let (mut expected, mut found) = (Notes::default(), Notes::default());
                    let outcome = bench.interpreter.fire_noting(state, label, &mut expected);
                    assert_eq!(
                        interpreter.fire_noting(state, label, &mut found),
                        outcome,
                        "seed {seed} {label:?}"
                    );
                    assert_eq!(found, expected, "seed {seed} {label:?}");
                }
            }
        }
    }
}
