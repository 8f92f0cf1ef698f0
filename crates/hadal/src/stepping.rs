//! Single steps on the interpreter, without symmetry reduction: what is shown is what happens. `simulate` and `explore`
//! walk with it.

use crate::failure::Failure;
use crate::trace::{Scalar, StepView, ViolationView};
use crate::violation;
use hadal_exec::model::Model;
use hadal_exec::symmetry::{Canonicaliser, Scratch};
use hadal_exec::{Interpreter, Notes, Outcome, follow};
use hadal_search::{Violation, ViolationKind};
use hadal_system::portrait::Portrait;
use hadal_system::{Check, DeadlockNotion, Label, ProcessId, StateSpace};

/// A state, and who goes on alone from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The packed state.
    pub state: Vec<u64>,
    /// The process that goes on alone, if one does.
    pub then: Option<ProcessId>,
}

/// One instance of an action (or of a start) that can fire.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Which.
    pub label: Label,
    /// What firing it prints.
    pub printed: String,
    /// Where it leads: nowhere where it meets an error of the model.
    pub to: Option<Spot>,
}

/// Steps through one model.
pub struct Stepper<'m> {
    model: &'m Model,
    deadlock: DeadlockNotion,
    interpreter: Interpreter<'m>,
    /// Where the model has multisets, whose elements have no order.
    multisets: Option<(&'m Canonicaliser, Scratch)>,
    portrait: Portrait<'m>,
}

impl<'m> Stepper<'m> {
    /// Steps through `model`, where this is a deadlock.
    pub fn new(model: &'m Model, deadlock: DeadlockNotion) -> Self {
        Stepper {
            model,
            deadlock,
            interpreter: model.interpreter(),
            multisets: model.symmetry().map(|it| (it, it.scratch())),
            portrait: Portrait::new(model.system()),
        }
    }

    /// What can fire at a spot; the starts where there is none yet.
    pub fn choices(&mut self, at: Option<&Spot>) -> Vec<Choice> {
        let system = self.model.system();
        if let (Some(spot), false) = (at, system.has_plain_steps()) {
            let steps = follow::steps(self.model, &self.interpreter, &spot.state, spot.then);
            return steps
                .into_iter()
                .map(|step| {
                    let to = step.to.ok().map(|state| Spot { state, then: self.then(step.label) });
                    Choice { label: step.label, printed: step.printed, to }
                })
                .collect();
        }
        let actions = if at.is_none() { &system.starts } else { &system.actions };
        let instances = system.label_bases(actions).last().copied().unwrap_or(0);
        let mut choices = Vec::new();
        // `Model::new` refuses systems with more instances than labels.
        for label in (0..instances as u32).map(Label) {
            let mut notes = Notes { printed: Some(String::new()), ..Notes::default() };
            let outcome = match at {
                Some(spot) => self.interpreter.fire_noting(&spot.state, label, &mut notes),
                None => self.interpreter.start_noting(label, &mut notes),
            };
            let to = match outcome {
                Outcome::Disabled | Outcome::Dropped => continue,
                Outcome::Reached(mut state) => {
                    if let Some((multisets, scratch)) = &mut self.multisets {
                        multisets.normalise_multisets(&mut state, scratch);
                    }
                    Some(Spot { state, then: at.and_then(|_| self.then(label)) })
                }
                Outcome::Fault(_) => None,
            };
            choices.push(Choice { label, printed: notes.printed.unwrap_or_default(), to });
        }
        choices
    }

    fn then(&self, label: Label) -> Option<ProcessId> {
        let system = self.model.system();
        system.instance(&system.actions, label).and_then(|it| it.action.then)
    }

    /// The name of what is fired at a spot, or of a start where there is none.
    pub fn name(&self, at: Option<&Spot>, label: Label) -> String {
        match at {
            None => self.model.render_start(label),
            Some(_) => self.model.render_label(label),
        }
    }

    /// The step that a choice is, from what was shown before it.
    pub fn step(&self, at: Option<&Spot>, choice: &Choice, to: &Spot) -> StepView {
        let before = at.map(|spot| self.items(&spot.state));
        let shown = self.items(&to.state);
        let mut step =
            StepView::new(self.name(at, choice.label), before.as_deref(), shown, choice.printed.clone());
        step.line = at.and_then(|_| violation::line(self.model, choice.label));
        step
    }

    /// What a state shows.
    pub fn items(&self, state: &[u64]) -> Vec<Scalar> {
        violation::portrayed(&self.portrait, self.model, state)
    }

    /// What is wrong in a state, its properties first, then deadlock.
    pub fn wrong(&self, spot: &Spot, choices: &[Choice]) -> Option<ViolationKind> {
        match self.interpreter.check(&spot.state) {
            // Goals are not asked for: what is hit is an invariant.
            Check::Hit(id) => Some(ViolationKind::Invariant(id)),
            Check::Fault(id) => Some(ViolationKind::PropertyFault(id)),
            Check::Fine => self.is_deadlock(spot, choices).then_some(ViolationKind::Deadlock),
        }
    }

    /// The notion of deadlock that `check` has for the language.
    fn is_deadlock(&self, spot: &Spot, choices: &[Choice]) -> bool {
        let stays = |choice: &Choice| choice.to.as_ref().is_some_and(|to| to.state == spot.state);
        let suspected = match self.deadlock {
            DeadlockNotion::Off => false,
            DeadlockNotion::Stuck => choices.is_empty(),
            DeadlockNotion::Stuttering => choices.iter().all(stays),
        };
        suspected && !self.model.worker().can_leave(&spot.state)
    }

    /// What is wrong at the end of a path, with the place in the model and the values behind it.
    pub fn describe(&self, path: Vec<Vec<u64>>, kind: ViolationKind) -> Result<ViolationView, Failure> {
        let found = Violation { kind, path, shortest: false };
        Ok(violation::view(self.model, &found)?.violation)
    }
}
