//! The truth of lifted conditions and the value of lifted expressions in one state.

use super::state::{State, key_of, object_of};
use crate::pddl::ast::{Comparator, Formula, LiftedTask, Number, Term, Variable};
use hadal_system::rows::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};

/// A task and one of its states.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) task: &'a LiftedTask,
    pub(super) state: &'a State,
}

/// The values of `variables` that make `formula` true (or, not `positive`, false).
#[derive(Clone, Copy)]
pub(super) struct Quantified<'f> {
    pub(super) variables: &'f [Variable],
    pub(super) formula: &'f Formula,
    pub(super) positive: bool,
}

/// What must be true (or, not `positive`, false), each part as soon as so many objects are bound.
#[derive(Clone, Copy)]
struct Parts<'f> {
    parts: &'f [Formula],
    ready: &'f [usize],
    positive: bool,
}

impl View<'_> {
    /// Whether `formula` is true (or, not `positive`, false) under `objects`. A comparison of something undefined is neither.
    pub(super) fn is(&self, formula: &Formula, positive: bool, objects: &mut Vec<u32>) -> bool {
        match formula {
            Formula::Constant(value) => *value == positive,
            Formula::Atom(atom) => self.state.holds(&key_of(atom, objects)) == positive,
            Formula::Equal(left, right) => {
                (object_of(*left, objects) == object_of(*right, objects)) == positive
            }
            Formula::Compare(how, left, right) => {
                match (self.number(left, objects), self.number(right, objects)) {
                    (Some(left), Some(right)) => compare(*how, left, right) == positive,
                    _ => false,
                }
            }
            Formula::Not(inner) => self.is(inner, !positive, objects),
            Formula::And(parts) if positive => parts.iter().all(|part| self.is(part, true, objects)),
            Formula::And(parts) => parts.iter().any(|part| self.is(part, false, objects)),
            Formula::Or(parts) if positive => parts.iter().any(|part| self.is(part, true, objects)),
            Formula::Or(parts) => parts.iter().all(|part| self.is(part, false, objects)),
            Formula::Exists(variables, inner) if positive => {
                self.find(Quantified { variables, formula: inner, positive: true }, objects, &mut |_| true)
            }
            Formula::Exists(variables, inner) => !self.find_unmet(variables, objects, inner, false),
            Formula::Forall(variables, inner) if positive => {
                !self.find_unmet(variables, objects, inner, true)
            }
            Formula::Forall(variables, inner) => {
                self.find(Quantified { variables, formula: inner, positive: false }, objects, &mut |_| true)
            }
            // Nobody has to meet a preference.
            Formula::Preference(..) => true,
        }
    }

    /// Whether some values of `variables` leave `formula` unmet (not true, or not false).
    fn find_unmet(
        &self,
        variables: &[Variable],
        objects: &mut Vec<u32>,
        formula: &Formula,
        positive: bool,
    ) -> bool {
        self.each(variables, objects, &mut |view, objects| !view.is(formula, positive, objects))
    }

    /// Calls `stop` with every assignment that is looked for until it says so. Parts of a conjunction are looked at as
    /// soon as their variables have values.
    pub(super) fn find(
        &self,
        Quantified { variables, formula, positive }: Quantified<'_>,
        objects: &mut Vec<u32>,
        stop: &mut dyn FnMut(&mut Vec<u32>) -> bool,
    ) -> bool {
        let parts: &[Formula] = match (formula, positive) {
            (Formula::And(parts), true) | (Formula::Or(parts), false) => parts,
            _ => std::slice::from_ref(formula),
        };
        let first = objects.len();
        let ready: Vec<usize> =
            parts.iter().map(|part| slots_needed(part, first + variables.len()).max(first)).collect();
        self.find_from(variables, objects, Parts { parts, ready: &ready, positive }, stop)
    }

    fn find_from(
        &self,
        variables: &[Variable],
        objects: &mut Vec<u32>,
        what: Parts<'_>,
        stop: &mut dyn FnMut(&mut Vec<u32>) -> bool,
    ) -> bool {
        let Parts { parts, ready, positive } = what;
        let bound = objects.len();
        for (part, &ready) in parts.iter().zip(ready) {
            if ready == bound && !self.is(part, positive, objects) {
                return false;
            }
        }
        let Some((variable, rest)) = variables.split_first() else { return stop(objects) };
        for &object in &self.task.universe.members[variable.sort as usize] {
            objects.push(object);
            let stopped = self.find_from(rest, objects, what, stop);
            objects.pop();
            if stopped {
                return true;
            }
        }
        false
    }

    /// Calls `stop` with every assignment of `variables` until it says so.
    pub(super) fn each(
        &self,
        variables: &[Variable],
        objects: &mut Vec<u32>,
        stop: &mut dyn FnMut(&Self, &mut Vec<u32>) -> bool,
    ) -> bool {
        let Some((variable, rest)) = variables.split_first() else { return stop(self, objects) };
        for &object in &self.task.universe.members[variable.sort as usize] {
            objects.push(object);
            let stopped = self.each(rest, objects, stop);
            objects.pop();
            if stopped {
                return true;
            }
        }
        false
    }

    /// The value of an expression; `None` where it is undefined or too large.
    pub(super) fn number(&self, number: &Number, objects: &[u32]) -> Option<Rational> {
        match number {
            Number::Constant(value) => Some(*value),
            Number::Fluent(atom) => self.state.numbers.get(&key_of(atom, objects)).copied(),
            Number::Add(parts) => parts.iter().try_fold(Rational::from_integer(0), |total, part| {
                total.checked_add(&self.number(part, objects)?)
            }),
            Number::Multiply(parts) => parts.iter().try_fold(Rational::from_integer(1), |total, part| {
                total.checked_mul(&self.number(part, objects)?)
            }),
            Number::Subtract(left, right) => {
                self.number(left, objects)?.checked_sub(&self.number(right, objects)?)
            }
            Number::Divide(left, right) => {
                let (left, right) = (self.number(left, objects)?, self.number(right, objects)?);
                if *right.numer() == 0 { None } else { left.checked_div(&right) }
            }
            Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => None,
        }
    }
}

fn compare(how: Comparator, left: Rational, right: Rational) -> bool {
    match how {
        Comparator::Less => left < right,
        Comparator::AtMost => left <= right,
        Comparator::Equal => left == right,
        Comparator::AtLeast => left >= right,
        Comparator::Greater => left > right,
    }
}

/// How many slots must have values before `formula` can be looked at; `all` where it has quantifiers or numbers inside.
fn slots_needed(formula: &Formula, all: usize) -> usize {
    let of_terms = |terms: &[Term]| {
        let needed = |term: &Term| if let Term::Variable(slot) = term { *slot as usize + 1 } else { 0 };
        terms.iter().map(needed).max().unwrap_or(0)
    };
    match formula {
        Formula::Constant(_) => 0,
        Formula::Atom(atom) => of_terms(&atom.terms),
        Formula::Equal(left, right) => of_terms(&[*left, *right]),
        Formula::Not(inner) => slots_needed(inner, all),
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().map(|part| slots_needed(part, all)).max().unwrap_or(0)
        }
        _ => all,
    }
}
