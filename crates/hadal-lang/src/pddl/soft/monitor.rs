//! Constraints on the states of a plan as automata that are stepped on every state entered, the first one included.

use crate::pddl::ast::Watch;
use crate::pddl::ground::{Builder, Conjunction, Literal, RowError};
use crate::pddl::normalise::{Condition, negate, normalise};

/// A list of conjunctions of which one must hold.
pub(crate) type Alternatives = Vec<Vec<Literal>>;

/// An automaton over ground literals; it begins in state 0, before the first state of a plan is entered.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroundMonitor {
    pub(crate) name: &'static str,
    /// What each state means.
    pub(crate) states: Vec<String>,
    /// From which state, under what, to which; the first that applies is taken.
    pub(crate) steps: Vec<(u32, Vec<Literal>, u32)>,
    /// In which states the plan may end.
    pub(crate) accepting: Vec<bool>,
    /// Whether it counts steps, so that steps after the end of the plan must not be seen.
    pub(crate) counts: bool,
}

/// How many conjunctions a condition of a monitor may become before parts get atoms of their own.
const MAX_STEPS: usize = 32;

/// A condition and its negation.
struct Both {
    yes: Alternatives,
    no: Alternatives,
}

impl GroundMonitor {
    fn new(name: &'static str, states: &[(&str, bool)]) -> Self {
        let (states, accepting) = states.iter().map(|(state, accepts)| (state.to_string(), *accepts)).unzip();
        GroundMonitor { name, states, accepting, ..GroundMonitor::default() }
    }

    fn state(&mut self, state: String, accepts: bool) -> u32 {
        self.states.push(state);
        self.accepting.push(accepts);
        self.states.len() as u32 - 1
    }

    fn step(&mut self, from: u32, when: &Alternatives, to: u32) {
        self.steps.extend(when.iter().map(|when| (from, when.clone(), to)));
    }
}

impl Builder<'_> {
    /// A condition and its negation, each as alternatives.
    fn both(&mut self, condition: &Condition, objects: &mut Vec<u32>) -> Result<Both, RowError> {
        let mut of = |condition: &Condition| -> Result<Alternatives, RowError> {
            // What is remembered of quantifiers goes by their addresses, and these do not last.
            self.forget_quantifiers();
            let mut conjunction = Conjunction::default();
            Ok(if self.conjoin(condition, objects, &mut conjunction)? {
                self.alternatives(conjunction, MAX_STEPS)
            } else {
                Vec::new()
            })
        };
        Ok(Both { yes: of(condition)?, no: of(&negate(condition))? })
    }

    /// A condition in the last state, and its negation.
    pub(crate) fn at_end(
        &mut self,
        condition: &Condition,
        objects: &mut Vec<u32>,
    ) -> Result<(Alternatives, Alternatives), RowError> {
        let both = self.both(condition, objects)?;
        Ok((both.yes, both.no))
    }

    /// The automaton of a watch that is not `at end`.
    pub(crate) fn monitor(
        &mut self,
        watch: &Watch,
        objects: &mut Vec<u32>,
    ) -> Result<GroundMonitor, RowError> {
        let always = vec![Vec::new()];
        match watch {
            Watch::AtEnd(body) | Watch::Always(body) => {
                let both = self.both(&normalise(body, true), objects)?;
                let mut monitor = GroundMonitor::new("always", &[("kept", true), ("broken", false)]);
                monitor.step(0, &both.no, 1);
                Ok(monitor)
            }
            Watch::Sometime(body) => {
                let both = self.both(&normalise(body, true), objects)?;
                let mut monitor = GroundMonitor::new("sometime", &[("waiting", false), ("done", true)]);
                monitor.step(0, &both.yes, 1);
                Ok(monitor)
            }
            Watch::AtMostOnce(body) => {
                let both = self.both(&normalise(body, true), objects)?;
                let states = [("never", true), ("now", true), ("once", true), ("twice", false)];
                let mut monitor = GroundMonitor::new("at-most-once", &states);
                monitor.step(0, &both.yes, 1);
                monitor.step(1, &both.no, 2);
                monitor.step(2, &both.yes, 3);
                Ok(monitor)
            }
            Watch::SometimeAfter(first, second) => {
                let (first, second) = (normalise(first, true), normalise(second, true));
                let begins = self.both(&Condition::And(vec![first, negate(&second)]), objects)?;
                let second = self.both(&second, objects)?;
                let mut monitor = GroundMonitor::new("sometime-after", &[("idle", true), ("pending", false)]);
                monitor.step(0, &begins.yes, 1);
                monitor.step(1, &second.yes, 0);
                Ok(monitor)
            }
            Watch::SometimeBefore(first, second) => {
                let first = self.both(&normalise(first, true), objects)?;
                let second = self.both(&normalise(second, true), objects)?;
                let states = [("neither", true), ("seen", true), ("broken", false)];
                let mut monitor = GroundMonitor::new("sometime-before", &states);
                monitor.step(0, &first.yes, 2);
                monitor.step(0, &second.yes, 1);
                Ok(monitor)
            }
            Watch::Within(steps, body) => {
                let both = self.both(&normalise(body, true), objects)?;
                let mut monitor = GroundMonitor::new("within", &[("step 0 comes", false)]);
                for step in 1..=*steps {
                    monitor.state(format!("step {step} comes"), false);
                }
                let (done, late) = (monitor.state("done".into(), true), monitor.state("late".into(), false));
                for step in 0..=*steps {
                    monitor.step(step, &both.yes, done);
                    monitor.step(step, &always, if step == *steps { late } else { step + 1 });
                }
                monitor.counts = true;
                Ok(monitor)
            }
            Watch::AlwaysWithin(steps, first, second) => {
                let (first, second) = (normalise(first, true), normalise(second, true));
                let begins = self.both(&Condition::And(vec![first, negate(&second)]), objects)?;
                let second = self.both(&second, objects)?;
                let mut monitor = GroundMonitor::new("always-within", &[("idle", true)]);
                let late = monitor.state("late".into(), false);
                // State 1 + r: r more steps may pass.
                for left in 1..=*steps {
                    monitor.state(format!("{left} steps left"), false);
                }
                monitor.step(0, &begins.yes, 1 + steps);
                for left in 1..=*steps {
                    monitor.step(1 + left, &second.yes, 0);
                    monitor.step(1 + left, &always, left);
                }
                debug_assert_eq!(late, 1);
                monitor.counts = true;
                Ok(monitor)
            }
            Watch::HoldDuring(from, to, body) => self.hold(*from, Some(*to), &normalise(body, true), objects),
            Watch::HoldAfter(from, body) => self.hold(*from, None, &normalise(body, true), objects),
        }
    }

    /// From a step on (up to another); a plan that ends before has it in its last state.
    fn hold(
        &mut self,
        from: u32,
        to: Option<u32>,
        condition: &Condition,
        objects: &mut Vec<u32>,
    ) -> Result<GroundMonitor, RowError> {
        let both = self.both(condition, objects)?;
        let always = vec![Vec::new()];
        let name = if to.is_some() { "hold-during" } else { "hold-after" };
        let mut monitor = GroundMonitor::new(name, &[("step 0 comes", false), ("broken", false)]);
        monitor.counts = true;
        // The states entered so far, the last one with or without the condition.
        let mut last = vec![0];
        for step in 0..from {
            let with = monitor.state(format!("step {step} has it"), true);
            let without = monitor.state(format!("step {step} has it not"), false);
            for &state in &last {
                monitor.step(state, &both.yes, with);
                monitor.step(state, &always, without);
            }
            last = vec![with, without];
        }
        match to {
            None => {
                let kept = monitor.state("kept".into(), true);
                for &state in last.iter().chain([&kept]) {
                    monitor.step(state, &both.yes, kept);
                    monitor.step(state, &always, 1);
                }
            }
            Some(to) => {
                // The state at `from` counts even where `to` is not later.
                for step in from..to.max(from + 1) {
                    let kept = monitor.state(format!("kept at step {step}"), true);
                    for &state in &last {
                        monitor.step(state, &both.yes, kept);
                        monitor.step(state, &always, 1);
                    }
                    last = vec![kept];
                }
            }
        }
        Ok(monitor)
    }
}
