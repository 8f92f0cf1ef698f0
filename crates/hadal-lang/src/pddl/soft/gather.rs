//! Goals with preferences and constraints, grounded: automata, what must hold at the end, what is paid for.

use super::monitor::{Alternatives, GroundMonitor};
use super::wish::wishes_of;
use crate::pddl::ast::{Constraint, Watch};
use crate::pddl::ground::{Builder, RowError};
use crate::pddl::normalise::normalise;
use hadal_system::rows::Rational;

/// Everything soft, and the automata of hard constraints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Soft {
    pub(crate) monitors: Vec<GroundMonitor>,
    /// What the end of a plan must satisfy beside the goal.
    pub(crate) hard: Vec<Part>,
    /// Preferences with a price.
    pub(crate) wishes: Vec<GroundWish>,
}

/// One instance of a preference: all parts must be satisfied at the end.
#[derive(Clone, Debug)]
pub(crate) struct GroundWish {
    pub(crate) name: String,
    pub(crate) weight: Rational,
    pub(crate) parts: Vec<Part>,
}

/// Something that is satisfied or not when a plan ends.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A condition on the last state, and its negation.
    Condition(Alternatives, Alternatives),
    /// The automaton with this number accepts.
    Monitor(usize),
}

impl Builder<'_> {
    /// Grounds preferences of the goal and all constraints.
    pub(crate) fn soft(&mut self) -> Result<Soft, RowError> {
        let mut soft = Soft::default();
        let task = self.task;
        for wish in wishes_of(&task.goal) {
            let Some(weight) = self.weight(wish.preference) else { continue };
            let mut objects = Vec::new();
            for tuple in self.every(&wish.variables).chunks(wish.variables.len().max(1)) {
                objects.clear();
                objects.extend_from_slice(&tuple[..wish.variables.len()]);
                let (yes, no) = self.at_end(&wish.condition, &mut objects)?;
                let name = task.preferences[wish.preference as usize].clone();
                soft.wishes.push(GroundWish { name, weight, parts: vec![Part::Condition(yes, no)] });
            }
        }
        for constraint in &task.constraints {
            self.constraint(constraint, &mut Vec::new(), &mut soft)?;
        }
        Ok(soft)
    }

    /// What a violation adds to the metric; none where it adds nothing.
    fn weight(&self, preference: u32) -> Option<Rational> {
        let linear = self.objective.linear.as_ref()?;
        Some(linear.violated[preference as usize]).filter(|weight| *weight.numer() != 0)
    }

    fn constraint(
        &mut self,
        constraint: &Constraint,
        objects: &mut Vec<u32>,
        soft: &mut Soft,
    ) -> Result<(), RowError> {
        match constraint {
            Constraint::And(parts) => parts.iter().try_for_each(|part| self.constraint(part, objects, soft)),
            Constraint::Forall(variables, inner) => {
                let outside = objects.len();
                for tuple in self.every(variables).chunks(variables.len().max(1)) {
                    objects.extend_from_slice(&tuple[..variables.len()]);
                    let done = self.constraint(inner, objects, soft);
                    objects.truncate(outside);
                    done?;
                }
                Ok(())
            }
            Constraint::Preference(name, inner) => {
                let Some((name, weight)) =
                    name.and_then(|name| self.weight(name).map(|weight| (name, weight)))
                else {
                    return Ok(());
                };
                let mut parts = Vec::new();
                self.parts(inner, objects, (&mut parts, &mut soft.monitors))?;
                let name = self.task.preferences[name as usize].clone();
                soft.wishes.push(GroundWish { name, weight, parts });
                Ok(())
            }
            Constraint::Watch(_) => {
                let mut parts = Vec::new();
                self.parts(constraint, objects, (&mut parts, &mut soft.monitors))?;
                soft.hard.extend(parts);
                Ok(())
            }
        }
    }

    fn parts(
        &mut self,
        constraint: &Constraint,
        objects: &mut Vec<u32>,
        (parts, monitors): (&mut Vec<Part>, &mut Vec<GroundMonitor>),
    ) -> Result<(), RowError> {
        match constraint {
            Constraint::And(inner) => {
                inner.iter().try_for_each(|part| self.parts(part, objects, (parts, monitors)))
            }
            Constraint::Forall(variables, inner) => {
                let outside = objects.len();
                for tuple in self.every(variables).chunks(variables.len().max(1)) {
                    objects.extend_from_slice(&tuple[..variables.len()]);
                    let done = self.parts(inner, objects, (parts, monitors));
                    objects.truncate(outside);
                    done?;
                }
                Ok(())
            }
            Constraint::Preference(_, inner) => self.parts(inner, objects, (parts, monitors)),
            Constraint::Watch(Watch::AtEnd(body)) => {
                let (yes, no) = self.at_end(&normalise(body, true), objects)?;
                parts.push(Part::Condition(yes, no));
                Ok(())
            }
            Constraint::Watch(watch) => {
                parts.push(Part::Monitor(monitors.len()));
                let monitor = self.monitor(watch, objects)?;
                monitors.push(monitor);
                Ok(())
            }
        }
    }
}
