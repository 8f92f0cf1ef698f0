//! Turns a path that an explorer found into a trace a person can trust: every step is found again and verified with
//! the interpreter, on concrete states.
//!
//! With symmetry reduction a path is a list of representatives; two neighbours need not be one action apart. The
//! trace starts in a concrete initial state and goes, step by step, to a concrete successor that the next
//! representative stands for. Where the heuristic representative differs (it may, within one orbit), exact ones are
//! compared.

use hadal_system::{Label, PropertyId, PropertyKind, StateSpace};

use crate::fault::Fault;
use crate::follow::{self, Fired, Wanted};
use crate::interpret::{Interpreter, Notes, Outcome};
use crate::model::Model;
use crate::symmetry::{Canonicaliser, Scratch, SymmetryMode};

/// A concrete, verified execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The initial state first.
    pub steps: Vec<TraceStep>,
    /// What the last state shows.
    pub end: TraceEnd,
}

/// One transition and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Which start or action instance.
    pub label: Label,
    /// The instance for people.
    pub action: String,
    /// The state it leads to.
    pub state: Vec<u64>,
    /// What the model printed on the way.
    pub printed: String,
    /// The search passes through this state: a process goes on alone.
    pub inner: bool,
}

/// How a path is to end, as the explorer saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In its last state: a deadlock, a goal of a person's own.
    State,
    /// An action met an error in the last state, or a start where the path is empty.
    Fault(Label),
    /// The last state breaks this invariant, has this goal, or evaluating it there met an error.
    Property(PropertyId),
}

/// How a trace ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEnd {
    /// In its last state.
    State,
    /// This instance meets an error in the last state.
    Fault {
        /// Which start (where the trace has no steps) or action instance.
        label: Label,
        /// The instance for people.
        action: String,
        /// What the model printed before the error.
        printed: String,
        /// The error.
        fault: Fault,
    },
    /// The last state decides this property.
    Property {
        /// Which instance; with symmetry perhaps another one of the same property than the explorer saw.
        property: PropertyId,
        /// Its name.
        name: String,
        /// The scalars its predicate reads, each once, in the order first read.
        values: Vec<ReadValue>,
        /// The error met in evaluating it, if that is what was found.
        fault: Option<Fault>,
    },
}

/// A scalar that decided a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadValue {
    /// Its path name.
    pub name: String,
    /// Its value for people.
    pub value: String,
}

/// A path that does not replay: not an error of the model but of hadal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// No transition leads on.
    #[error("step {step} of the path does not replay: no transition leads to its state")]
    NoStep {
        /// Number of the state in the path, the initial one being 0.
        step: usize,
    },
    /// The last state does not show what the explorer saw.
    #[error("the path replays, but its last state does not show {0}")]
    NoEnding(String),
}

/// Finds and verifies the concrete trace of `path`, a list of packed states as [`Model`]'s workers yield them, the
/// initial one first.
pub fn replay(model: &Model, path: &[Vec<u64>], ending: Ending) -> Result<Trace, ReplayError> {
    let mut replay = Replay::new(model);
    let mut steps: Vec<TraceStep> = Vec::with_capacity(path.len());
    for (n, wanted) in path.iter().enumerate() {
        let from = steps.last().map(|step| step.state.clone());
        match from.filter(|_| !model.system().has_plain_steps()) {
            Some(from) => {
                let way = follow::way(model, &from, Wanted::State(wanted));
                replay.push(way.ok_or(ReplayError::NoStep { step: n })?, &mut steps);
            }
            None => {
                let from = steps.last().map(|step| step.state.clone());
                steps.push(replay.step(from.as_deref(), wanted).ok_or(ReplayError::NoStep { step: n })?);
            }
        }
    }
    if let (Ending::Fault(label), Some(last), false) =
        (ending, steps.last(), model.system().has_plain_steps())
        && let Some(way) = follow::way(model, &last.state, Wanted::Fault(label))
        && let Some((failing, passed)) = way.split_last()
        && let Err(fault) = &failing.to
    {
        let mut trace = Trace { steps, end: TraceEnd::State };
        replay.push(passed.to_vec(), &mut trace.steps);
        if let (Some(last), false) = (trace.steps.last_mut(), passed.is_empty()) {
            last.inner = true;
        }
        let (label, action) = (failing.label, model.render_label(failing.label));
        trace.end = TraceEnd::Fault { label, action, printed: failing.printed.clone(), fault: fault.clone() };
        return Ok(trace);
    }
    let last = steps.last().map(|step| step.state.as_slice());
    let end = match ending {
        Ending::State => TraceEnd::State,
        Ending::Fault(label) => replay.fault(last, label)?,
        Ending::Property(property) => replay.property(last.unwrap_or(&[]), property)?,
    };
    Ok(Trace { steps, end })
}

/// Finds and verifies the concrete run of `path`, which may stay in a state that nothing leads away from.
pub fn replay_run(model: &Model, path: &[Vec<u64>]) -> Result<Trace, ReplayError> {
    let mut replay = Replay::new(model);
    let mut steps: Vec<TraceStep> = Vec::with_capacity(path.len());
    for (n, wanted) in path.iter().enumerate() {
        let from = steps.last().map(|step| step.state.clone());
        let step = match from.as_deref().filter(|_| !model.system().has_plain_steps()) {
            Some(from) => replay.together(from, wanted),
            None => replay.step(from.as_deref(), wanted),
        };
        let step = step.or_else(|| replay.stay(from.as_deref()?, wanted));
        steps.push(step.ok_or(ReplayError::NoStep { step: n })?);
    }
    Ok(Trace { steps, end: TraceEnd::State })
}

struct Replay<'m> {
    model: &'m Model,
    interpreter: Interpreter<'m>,
    symmetry: Option<(&'m Canonicaliser, Scratch)>,
    /// For states that the heuristic maps apart.
    exact: Option<(Canonicaliser, Scratch)>,
}

impl<'m> Replay<'m> {
    fn new(model: &'m Model) -> Self {
        let heuristic = model.symmetry().filter(|it| it.mode() == SymmetryMode::Heuristic);
        let exact = heuristic
            .and_then(|_| Canonicaliser::new(model.system(), model.layout(), SymmetryMode::Exact))
            .map(|it| {
                let scratch = it.scratch();
                (it, scratch)
            });
        Replay {
            model,
            interpreter: model.interpreter(),
            symmetry: model.symmetry().map(|it| (it, it.scratch())),
            exact,
        }
    }

    /// Appends single steps that are one step of the search.
    fn push(&self, way: Vec<Fired>, steps: &mut Vec<TraceStep>) {
        let last = way.len().saturating_sub(1);
        for (n, step) in way.into_iter().enumerate() {
            let Ok(state) = step.to else { continue };
            let action = self.model.render_label(step.label);
            steps.push(TraceStep {
                label: step.label,
                action,
                state,
                printed: step.printed,
                inner: n < last,
            });
        }
    }

    /// The single steps from one state of the search to the next as one, so that the places of a loop stay what they are.
    fn together(&self, from: &[u64], wanted: &[u64]) -> Option<TraceStep> {
        let way = follow::way(self.model, from, Wanted::State(wanted))?;
        let label = way.first()?.label;
        let actions: Vec<String> = way.iter().map(|step| self.model.render_label(step.label)).collect();
        let printed = way.iter().map(|step| step.printed.as_str()).collect();
        Some(TraceStep { label, action: actions.join("; "), state: wanted.to_vec(), printed, inner: false })
    }

    /// A transition out of `from` (an initial state where there is none) to a state that `wanted` stands for.
    fn step(&mut self, from: Option<&[u64]>, wanted: &[u64]) -> Option<TraceStep> {
        let (mut reached, mut best) = (Vec::new(), None);
        for label in self.labels(from) {
            let (outcome, printed) = self.run(from, label);
            let Outcome::Reached(mut state) = outcome else { continue };
            if let Some((canonicaliser, scratch)) = &mut self.symmetry {
                canonicaliser.normalise_multisets(&mut state, scratch);
                let mut representative = state.clone();
                canonicaliser.canonicalise(&mut representative, scratch);
                if representative != wanted {
                    reached.push((label, state, printed));
                    continue;
                }
            } else if state != wanted {
                continue;
            }
            let step = TraceStep { label, action: self.render(from, label), state, printed, inner: false };
            match self.cost(from, label) {
                None => return Some(step),
                // Of several ways to the same state the cheapest counts.
                Some(cost) if best.as_ref().is_none_or(|(least, _)| cost < *least) => {
                    best = Some((cost, step))
                }
                Some(_) => {}
            }
        }
        if let Some((_, step)) = best {
            return Some(step);
        }
        let (exact, scratch) = self.exact.as_mut()?;
        let mut canonical = |state: &[u64]| {
            let mut image = state.to_vec();
            exact.canonicalise(&mut image, scratch);
            image
        };
        let wanted = canonical(wanted);
        let mut same = reached.into_iter().filter(|(_, state, _)| canonical(state) == wanted);
        let first = same.next()?;
        let cost = |label| self.model.cost_of(from?, label).ok();
        let (label, state, printed) = match self.model.system().has_costs() {
            false => first,
            true => std::iter::once(first).chain(same).min_by_key(|it| cost(it.0).unwrap_or(u32::MAX))?,
        };
        Some(TraceStep { label, action: self.render(from, label), state, printed, inner: false })
    }

    /// What a step costs, where steps have costs; the most where that is an error.
    fn cost(&self, from: Option<&[u64]>, label: Label) -> Option<u32> {
        let from = from.filter(|_| self.model.system().has_costs())?;
        Some(self.interpreter.cost(from, label).unwrap_or(u32::MAX))
    }

    /// The step that stays in `wanted`, where nothing else can happen.
    fn stay(&self, from: &[u64], wanted: &[u64]) -> Option<TraceStep> {
        let stuck =
            self.labels(Some(from)).all(|label| matches!(self.run(Some(from), label).0, Outcome::Disabled));
        let label = Label(self.labels(Some(from)).count() as u32);
        let action = "(nothing can happen any more)".to_owned();
        (stuck && from == wanted).then(|| TraceStep {
            label,
            action,
            state: from.to_vec(),
            printed: String::new(),
            inner: false,
        })
    }

    /// The instance that meets an error in the last state: the one the explorer saw, else another of the same action,
    /// else any (symmetry may have renamed its parameters).
    fn fault(&self, last: Option<&[u64]>, seen: Label) -> Result<TraceEnd, ReplayError> {
        let action = |label| self.action_of(last, label);
        let mut candidates: Vec<Label> = self.labels(last).collect();
        candidates.sort_by_key(|&label| (label != seen, action(label) != action(seen)));
        for label in candidates {
            let fault = match (self.run(last, label), last) {
                ((Outcome::Fault(fault), printed), _) => Some((fault, printed)),
                ((Outcome::Reached(_), printed), Some(state)) => {
                    self.model.cost_of(state, label).err().map(|fault| (fault, printed))
                }
                _ => None,
            };
            if let Some((fault, printed)) = fault {
                return Ok(TraceEnd::Fault { label, action: self.render(last, label), printed, fault });
            }
        }
        Err(ReplayError::NoEnding(format!("the error in `{}`", self.render(last, seen))))
    }

    /// The instance of the property that the last state decides, the one the explorer saw if it does.
    fn property(&self, last: &[u64], seen: PropertyId) -> Result<TraceEnd, ReplayError> {
        let system = self.model.system();
        let infos = self.model.properties();
        let owner = |id| system.property_instance(id).map(|(at, _)| at);
        let ids = (0..infos.len() as u32).map(PropertyId);
        let same = std::iter::once(seen).chain(ids.filter(|&id| id != seen && owner(id) == owner(seen)));
        for property in same {
            let Some(info) = infos.get(property.0 as usize) else { break };
            let mut notes = Notes { read: Some(Vec::new()), ..Notes::default() };
            let verdict = self.interpreter.holds_noting(last, property, &mut notes);
            let fault = match verdict {
                Ok(holds) if holds == (info.kind == PropertyKind::Invariant) => continue,
                Ok(_) => None,
                Err(fault) => Some(fault),
            };
            let values = self.values(last, &notes.read.unwrap_or_default());
            return Ok(TraceEnd::Property { property, name: info.name.clone(), values, fault });
        }
        let name = infos.get(seen.0 as usize).map_or("?", |info| &info.name);
        Err(ReplayError::NoEnding(format!("the property `{name}`")))
    }

    fn values(&self, state: &[u64], read: &[usize]) -> Vec<ReadValue> {
        let names = self.model.render_state(state);
        let mut seen = std::collections::HashSet::new();
        let first_reads = read.iter().filter(|&&slot| seen.insert(slot));
        first_reads
            .filter_map(|&slot| names.get(slot))
            .map(|(name, value)| ReadValue { name: name.clone(), value: value.clone() })
            .collect()
    }

    fn run(&self, from: Option<&[u64]>, label: Label) -> (Outcome, String) {
        let mut notes = Notes { printed: Some(String::new()), ..Notes::default() };
        let outcome = match from {
            Some(state) => self.interpreter.fire_noting(state, label, &mut notes),
            None => self.interpreter.start_noting(label, &mut notes),
        };
        (outcome, notes.printed.unwrap_or_default())
    }

    /// All labels of actions, or of starts where there is no state yet.
    fn labels(&self, from: Option<&[u64]>) -> impl Iterator<Item = Label> + use<> {
        let system = self.model.system();
        let actions = if from.is_some() { &system.actions } else { &system.starts };
        // `Model::new` refuses systems with more instances than labels.
        let count = system.label_bases(actions).last().copied().unwrap_or(0) as u32;
        (0..count).map(Label)
    }

    /// The action that a label is an instance of.
    fn action_of(&self, from: Option<&[u64]>, label: Label) -> Option<u32> {
        let system = self.model.system();
        let actions = if from.is_some() { &system.actions } else { &system.starts };
        system.instance(actions, label).map(|it| it.id.0)
    }

    fn render(&self, from: Option<&[u64]>, label: Label) -> String {
        if from.is_some() { self.model.render_label(label) } else { self.model.render_start(label) }
    }
}
