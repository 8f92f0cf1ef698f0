//! Violated preferences and the value of the metric.

use super::evaluate::View;
use super::state::key_of;
use super::step::Counters;
use crate::pddl::ast::{Formula, Number};
use hadal_system::rows::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};

/// The named preferences of a condition that are not met, one entry per instance.
pub(super) fn violations(view: &View, formula: &Formula, objects: &mut Vec<u32>) -> Vec<u32> {
    let mut list = Vec::new();
    gather(view, formula, objects, &mut list);
    list
}

fn gather(view: &View, formula: &Formula, objects: &mut Vec<u32>, list: &mut Vec<u32>) {
    match formula {
        Formula::And(parts) => parts.iter().for_each(|part| gather(view, part, objects, list)),
        Formula::Forall(variables, inner) => {
            view.each(variables, objects, &mut |view, objects| {
                gather(view, inner, objects, list);
                false
            });
        }
        Formula::Preference(Some(name), inner) if !view.is(inner, true, objects) => list.push(*name),
        _ => {}
    }
}

/// The value of a metric in the last state; `violated` says how often preferences are, `steps` how long the plan is.
pub(super) fn value(
    view: &View,
    number: &Number,
    (violated, steps, counters): (&[u64], usize, &Counters),
) -> Option<Rational> {
    let of = |number: &Number| value(view, number, (violated, steps, counters));
    match number {
        Number::Constant(value) => Some(*value),
        Number::Fluent(atom) => {
            let key = key_of(atom, &[]);
            let zero = counters[atom.symbol as usize].then(Rational::default);
            view.state.numbers.get(&key).copied().or(zero)
        }
        Number::Add(parts) => {
            parts.iter().try_fold(Rational::from_integer(0), |total, part| total.checked_add(&of(part)?))
        }
        Number::Multiply(parts) => {
            parts.iter().try_fold(Rational::from_integer(1), |total, part| total.checked_mul(&of(part)?))
        }
        Number::Subtract(left, right) => of(left)?.checked_sub(&of(right)?),
        Number::Divide(left, right) => {
            let (left, right) = (of(left)?, of(right)?);
            if *right.numer() == 0 { None } else { left.checked_div(&right) }
        }
        Number::Violated(preference) => {
            Some(Rational::from_integer(i128::from(violated[*preference as usize])))
        }
        Number::TotalTime => Some(Rational::from_integer(steps as i128)),
        Number::GoalAchieved => Some(Rational::from_integer(1)),
    }
}
