//! What transitions cost: compiled code against the interpreter on generated systems, bounds that hold, and errors that say
//! what is wrong.

mod support;

use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::replay::{Ending, TraceEnd, replay};
use hadal_exec::{FaultKind, SymmetryMode};
use hadal_system::facts::cost_facts;
use hadal_system::validate::validate;
use hadal_system::{
    Action, BinaryOp, COST_ERROR, CostRange, Domain, Expr, Label, StateSpace, Stmt, StmtKind, Successors,
    System, text,
};
use hadal_testkit::generate::{self, Size};
use std::collections::{HashSet, VecDeque};
use support::*;

fn model(system: &System, engine: Engine) -> Model {
    let options = ModelOptions { engine, symmetry: SymmetryMode::Off };
    Model::new(system.clone(), options).expect("a well-formed system")
}

/// Calls `look` with up to `bound` states and the labels of their transitions.
fn each_state(space: &Model, bound: usize, mut look: impl FnMut(&[u64], &[Label])) {
    let (mut worker, mut out) = (space.worker(), Successors::new(space.words()));
    let (mut seen, mut queue) = (HashSet::new(), VecDeque::new());
    worker.initial(&mut out);
    loop {
        for (_, state) in out.iter() {
            if seen.len() < bound && seen.insert(state.to_vec()) {
                queue.push_back(state.to_vec());
            }
        }
        let Some(state) = queue.pop_front() else { return };
        out.clear();
        worker.successors(&state, &mut out);
        look(&state, out.labels());
    }
}

#[test]
fn compiled_costs_are_the_interpreters_and_lie_within_their_bounds() {
    let (mut costs_seen, mut errors, mut varying) = (0, 0, 0);
    for seed in 0..250 {
        let system = generate::priced(seed, Size::SMALL);
        assert_eq!(validate(&system), [], "seed {seed}");
        if !system.has_costs() {
            continue;
        }
        let (compiled, interpreted) = (model(&system, Engine::Compiled), model(&system, Engine::Interpreted));
        let CostRange { least, most } = compiled.costs();
        assert_eq!(compiled.costs(), interpreted.costs());
        let (mut fast, mut slow) = (compiled.worker(), interpreted.worker());
        let mut distinct = HashSet::new();
        each_state(&compiled, 60, |state, labels| {
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            fast.costs(state, labels, &mut found);
            slow.costs(state, labels, &mut expected);
            assert_eq!(found, expected, "seed {seed}");
            assert_eq!(found.len(), labels.len());
            for (&label, &cost) in labels.iter().zip(&found) {
                if cost == COST_ERROR {
                    errors += 1;
                    assert!(compiled.may_fault(), "seed {seed}: an error that was ruled out");
                    assert!(compiled.cost_of(state, label).is_err());
                } else {
                    costs_seen += 1;
                    assert!((least..=most).contains(&cost), "seed {seed}: {cost} not in {least}..={most}");
                    distinct.insert((label, cost));
                }
            }
        });
        let labels: HashSet<Label> = distinct.iter().map(|&(label, _)| label).collect();
        varying += usize::from(distinct.len() > labels.len());
    }
    assert!(costs_seen > 10_000 && errors > 100 && varying > 20, "{costs_seen}, {errors}, {varying}");
}

/// `x` goes from 0 to 9 in steps of 1 and 2; costs are as given.
fn counter(one: &str, two: &str) -> System {
    let mut system = empty();
    let digit = system.scalar(Domain::range(0, 9, false));
    let x = system.var("x", digit);
    system.starts.push(Action { name: "start".into(), ..Action::default() });
    for (name, by, cost) in [("one", 1, one), ("two", 2, two)] {
        let after = Expr::binary(BinaryOp::Add, x.clone().read(), Expr::constant(by));
        let guard = Expr::binary(BinaryOp::LessEqual, after.clone(), Expr::constant(9));
        let cost = Some(text::parse(&system, &[], cost, NOWHERE).expect("it parses"));
        let body = vec![Stmt::new(StmtKind::Assign(x.clone(), after), NOWHERE)];
        system.actions.push(Action { name: name.into(), guard, body, cost, ..Action::default() });
    }
    system
}

#[test]
fn costs_read_the_state_before_the_step() {
    let system = counter("x + 1", "7");
    let model = model(&system, Engine::Compiled);
    assert_eq!(model.costs(), CostRange { least: 1, most: 10 });
    let mut worker = model.worker();
    let mut costs = Vec::new();
    for x in 0..10 {
        worker.costs(&[x], &[Label(0), Label(1)], &mut costs);
    }
    let expected: Vec<u32> = (0..10).flat_map(|x| [x + 1, 7]).collect();
    assert_eq!(costs, expected);
}

#[test]
fn a_cost_below_zero_is_an_error_with_its_values_and_replays_as_one() {
    let system = counter("3 - x", "0");
    for engine in [Engine::Compiled, Engine::Interpreted] {
        let model = model(&system, engine);
        assert!(model.may_fault());
        let mut costs = Vec::new();
        model.worker().costs(&[4], &[Label(0), Label(1)], &mut costs);
        assert_eq!(costs, [COST_ERROR, 0]);
        let fault = model.cost_of(&[4], Label(0)).expect_err("-1");
        assert_eq!(fault.kind, FaultKind::Range);
        assert_eq!(fault.message, "the cost of `one` is -1, not from 0 to 4294967294");
        let path = [vec![0], vec![2], vec![4]];
        let trace = replay(&model, &path, Ending::Fault(Label(0))).expect("it replays");
        assert!(matches!(trace.end, TraceEnd::Fault { label: Label(0), fault: met, .. } if met == fault));
    }
    assert!(!cost_facts(&counter("x", "9 - x")).may_fault && cost_facts(&system).may_fault);
}

#[test]
fn a_replayed_step_is_the_cheapest_one_between_its_states() {
    let mut system = counter("5", "x");
    let cost = Some(Expr::constant(2));
    system.actions.push(Action { name: "sale".into(), cost, ..system.actions[0].clone() });
    let model = model(&system, Engine::Compiled);
    let trace = replay(&model, &[vec![0], vec![1], vec![3]], Ending::State).expect("it replays");
    let taken: Vec<&str> = trace.steps[1..].iter().map(|step| step.action.as_str()).collect();
    assert_eq!(taken, ["sale", "two"]);
}
