//! The truth about a small model, found without any explorer, and what a directed search may say of it.

use hadal_exec::replay::{Ending, replay};
use hadal_exec::{Model, ModelOptions, SymmetryMode};
use hadal_guide::{Goal, Guide, Priority};
use hadal_search::directed::{Directed, DirectedFigures, DirectedOptions, Order};
use hadal_search::{
    Control, DeadlockNotion, Limits, Proviso, Question, Report, SearchTask, Setting, StopReason, Verdict,
    ViolationKind, explore,
};
use hadal_store::Governor;
use hadal_system::{Expr, Label, PropertyBody, PropertyId, PropertyKind, StateSpace, Successors, System};
use std::collections::HashMap;

/// The model of a generated system.
pub fn model(system: System, symmetry: SymmetryMode) -> Option<Model> {
    Model::new(system, ModelOptions { symmetry, ..ModelOptions::default() }).ok()
}

/// The system with nothing to break or meet.
pub fn without_properties(mut system: System) -> System {
    for property in &mut system.properties {
        match property.kind {
            PropertyKind::Invariant => property.body = PropertyBody::State(Expr::constant(1)),
            PropertyKind::Goal => property.body = PropertyBody::State(Expr::constant(0)),
            _ => {}
        }
    }
    system
}

/// What is asked of a search, and what its guide looks for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub question: Question,
    pub goal: Goal,
}

impl Asked {
    /// All invariants and goals. Errors of the model are looked for as well.
    pub fn properties(model: &Model, deadlock: DeadlockNotion) -> Self {
        let goal = Goal { faults: true, ..Goal::of_properties(model.properties()) };
        let mut asked = vec![false; model.properties().len()];
        goal.properties.iter().for_each(|id| asked[id.0 as usize] = true);
        let deadlocks = deadlock != DeadlockNotion::Off;
        Asked { question: Question { deadlock, asked }, goal: Goal { deadlock: deadlocks, ..goal } }
    }

    /// Deadlocks only, of a model without properties.
    pub fn deadlocks(model: &Model, deadlock: DeadlockNotion) -> Self {
        let question = Question { deadlock, asked: vec![false; model.properties().len()] };
        Asked { question, goal: Goal { deadlock: true, faults: true, properties: Vec::new() } }
    }
}

/// Every reachable state of a model, and what is wrong with it.
pub struct Truth {
    pub states: Vec<Vec<u64>>,
    /// From, to and label.
    pub edges: Vec<(usize, usize, Label)>,
    pub starts: Vec<usize>,
    /// What is wrong with each state.
    wrong: Vec<Vec<ViolationKind>>,
    /// Steps to the nearest state with which something is wrong.
    nearest: Option<usize>,
    /// The same for what the guide looks for.
    nearest_aimed: Option<usize>,
    /// Whether anything is wrong that is asked about: errors of the model only where the guide looks for them.
    fails: bool,
    start_fails: bool,
    goal: Goal,
}

/// What was searched, and in which order.
pub struct Searched<'a> {
    pub model: &'a Model,
    pub priority: &'a dyn Priority,
    pub order: Order,
}

impl Truth {
    /// The truth about a model of at most `most` states.
    pub fn of(model: &Model, asked: &Asked, most: usize) -> Option<Self> {
        let mut worker = model.worker();
        let mut out = Successors::new(model.words());
        let mut truth = Truth {
            states: Vec::new(),
            edges: Vec::new(),
            starts: Vec::new(),
            wrong: Vec::new(),
            nearest: None,
            nearest_aimed: None,
            fails: false,
            start_fails: false,
            goal: asked.goal.clone(),
        };
        let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
        worker.initial(&mut out);
        truth.start_fails = !out.faults().is_empty();
        for (_, state) in out.iter() {
            let at = truth.number(&mut numbers, state);
            truth.starts.push(at);
        }
        let mut depths = vec![0; truth.states.len()];
        let mut at = 0;
        while at < truth.states.len() {
            if truth.states.len() > most {
                return None;
            }
            let state = truth.states[at].clone();
            out.clear();
            worker.successors(&state, &mut out);
            let mut wrong: Vec<ViolationKind> =
                out.faults().iter().map(|&label| ViolationKind::Fault(label)).collect();
            let stuck = match asked.question.deadlock {
                DeadlockNotion::Off => false,
                DeadlockNotion::Stuck => out.is_empty(),
                DeadlockNotion::Stuttering => out.iter().all(|(_, next)| next == state),
            };
            if stuck && out.faults().is_empty() && !worker.can_leave(&state) {
                wrong.push(ViolationKind::Deadlock);
            }
            wrong.extend(broken(model, &state, asked));
            if !wrong.is_empty() {
                truth.nearest.get_or_insert(depths[at]);
            }
            if wrong.iter().any(|&kind| truth.is_aimed_at(kind)) {
                truth.nearest_aimed.get_or_insert(depths[at]);
            }
            truth.fails |= wrong.iter().any(|&kind| asked.goal.faults || !is_fault(kind));
            truth.wrong.push(wrong);
            for (label, next) in out.iter() {
                let to = truth.number(&mut numbers, next);
                depths.resize(truth.states.len(), depths[at] + 1);
                truth.edges.push((at, to, label));
            }
            at += 1;
        }
        Some(truth)
    }

    fn number(&mut self, numbers: &mut HashMap<Vec<u64>, usize>, state: &[u64]) -> usize {
        *numbers.entry(state.to_vec()).or_insert_with(|| {
            self.states.push(state.to_vec());
            self.states.len() - 1
        })
    }

    /// Whether something is wrong with a state.
    pub fn is_wrong(&self, at: usize) -> bool {
        !self.wrong[at].is_empty()
    }

    /// Whether anything is wrong that must be found.
    pub fn fails(&self) -> bool {
        self.fails || self.start_fails
    }

    /// Whether anything is wrong, errors of the model included.
    pub fn fails_anyhow(&self) -> bool {
        self.nearest.is_some() || self.start_fails
    }

    fn is_aimed_at(&self, kind: ViolationKind) -> bool {
        match kind {
            ViolationKind::Deadlock => self.goal.deadlock,
            kind => self.goal.faults || !is_fault(kind),
        }
    }

    /// Asserts that a report says what is so, and no more than it knows.
    #[track_caller]
    pub fn assert_agrees(&self, search: Searched, report: &Report, case: &str) {
        let Searched { model, priority, order } = search;
        let figures = figures(report);
        match &report.verdict {
            Verdict::Holds => {
                assert!(!self.fails(), "{case}: something is wrong at {:?}", self.nearest);
                match report.proviso {
                    None => {
                        assert_eq!(figures.work.hopeless + figures.work.cut, 0, "{case}");
                        let expanded = if priority.keeps_context() {
                            report.states >= self.states.len() as u64
                        } else {
                            report.states == self.states.len() as u64
                        };
                        assert!(expanded, "{case}: {} of {}", report.states, self.states.len());
                    }
                    Some(Proviso::Pruned { left_out }) => assert!(left_out > 0, "{case}"),
                    Some(other) => panic!("{case}: {other:?}"),
                }
            }
            Verdict::Stopped(StopReason::Incomplete) => {
                let gives_up = matches!(order, Order::Beam(_)) || case.contains("UnlessClosed");
                assert!(gives_up, "{case}: only beams and the published rules give up");
            }
            Verdict::Stopped(reason) => panic!("{case}: {reason:?}"),
            Verdict::Violated(found) => {
                if let ViolationKind::StartFault(_) = found.kind {
                    assert!(self.start_fails && found.path.is_empty(), "{case}");
                    return;
                }
                let Some(last) = found.path.last() else { panic!("{case}: no path to {:?}", found.kind) };
                let at = self.states.iter().position(|state| state == last).expect("it can be reached");
                assert!(self.wrong[at].contains(&found.kind), "{case}: {:?}", found.kind);
                let ending = match found.kind {
                    ViolationKind::Invariant(id)
                    | ViolationKind::Goal(id)
                    | ViolationKind::PropertyFault(id) => Ending::Property(id),
                    ViolationKind::Fault(label) => Ending::Fault(label),
                    _ => Ending::State,
                };
                if let Err(why) = replay(model, &found.path, ending) {
                    panic!("{case}: {why}");
                }
                let length = Some(found.path.len() - 1);
                assert!(length >= self.nearest, "{case}");
                let nearest = if self.is_aimed_at(found.kind) { self.nearest_aimed } else { self.nearest };
                assert!(!found.shortest || length == nearest, "{case}: {length:?} is not {nearest:?}");
            }
        }
    }
}

fn is_fault(kind: ViolationKind) -> bool {
    matches!(kind, ViolationKind::Fault(_) | ViolationKind::PropertyFault(_))
}

/// The asked properties that a state breaks or meets.
fn broken(model: &Model, state: &[u64], asked: &Asked) -> Vec<ViolationKind> {
    let interpreter = model.interpreter();
    let mut found = Vec::new();
    for (n, info) in model.properties().iter().enumerate() {
        let id = PropertyId(n as u32);
        if !asked.question.asks(id) {
            continue;
        }
        match (info.kind, interpreter.holds(state, id)) {
            (PropertyKind::Invariant, Ok(false)) => found.push(ViolationKind::Invariant(id)),
            (PropertyKind::Goal, Ok(true)) => found.push(ViolationKind::Goal(id)),
            (PropertyKind::Invariant | PropertyKind::Goal, Err(_)) => {
                found.push(ViolationKind::PropertyFault(id));
            }
            _ => {}
        }
    }
    found
}

/// Runs one directed search.
pub fn run(
    space: &dyn StateSpace,
    asked: &Asked,
    guide: &dyn Guide,
    priority: &dyn Priority,
    options: DirectedOptions,
) -> Report {
    let control = Control::new(Limits::default());
    let task = SearchTask { space, question: &asked.question, control: &control };
    let governor = Governor::unlimited();
    let directed = Directed { guide, goal: &asked.goal, priority, options };
    explore(&directed, Setting::in_ram(task, &governor, 1)).expect("nothing fails in RAM").report
}

/// The figures of a directed search.
pub fn figures(report: &Report) -> &DirectedFigures {
    report.particular.directed.as_ref().expect("a directed search has figures")
}
