//! The metric as a linear form: what steps add to it, what the last state adds, what preferences cost.

use super::facts::{Facts, Overflow};
use super::join::value;
use crate::pddl::ast::{LiftedTask, Number};
use hadal_system::rows::{Rational, Sense};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};
use std::collections::HashMap;

/// How the metric is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objective {
    /// The linear form of the metric to minimise (of its negation, where it is maximised); none where it has no such form
    /// or where steps could lower it.
    pub(crate) linear: Option<Linear>,
    /// What the model asks for.
    pub(crate) sense: Sense,
    /// Functions that only the metric reads and effects only raise or lower: cost, not state.
    pub(crate) accumulates: Vec<bool>,
}

/// A constant and coefficients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    pub(crate) constant: Rational,
    /// By function and arguments.
    pub(crate) fluents: HashMap<(u32, Vec<u32>), Rational>,
    /// By preference.
    pub(crate) violated: Vec<Rational>,
    /// Of the number of steps.
    pub(crate) steps: Rational,
}

impl Objective {
    /// Reads the metric of a task.
    pub(crate) fn of(task: &LiftedTask, facts: &Facts) -> Result<Self, Overflow> {
        let count = task.functions.len();
        let Some(metric) = &task.metric else {
            // Nothing reads a number that no condition reads.
            let accumulates = (0..count).map(|function| !facts.traits.read_function[function]).collect();
            return Ok(Objective { linear: None, sense: Sense::Minimise, accumulates });
        };
        let sign = match metric.sense {
            Sense::Minimise => 1,
            Sense::Maximise => -1,
        };
        let mut linear =
            Linear { violated: vec![Rational::from_integer(0); task.preferences.len()], ..Linear::default() };
        if !linear.add(&metric.value, Rational::from_integer(sign), facts)? {
            return Ok(Objective { linear: None, sense: metric.sense, accumulates: vec![false; count] });
        }
        let traits = facts.traits;
        let accumulates = (0..count)
            .map(|function| {
                !traits.static_function[function]
                    && !traits.read_function[function]
                    && !traits.assigned_function[function]
            })
            .collect();
        Ok(Objective { linear: Some(linear), sense: metric.sense, accumulates })
    }
}

impl Linear {
    /// Adds `factor` times `number`; false where that is not linear, or undefined.
    fn add(&mut self, number: &Number, factor: Rational, facts: &Facts) -> Result<bool, Overflow> {
        match number {
            Number::Constant(constant) => {
                let part = constant.checked_mul(&factor).ok_or(Overflow)?;
                self.constant = self.constant.checked_add(&part).ok_or(Overflow)?;
            }
            Number::Fluent(atom) => {
                let tuple: Vec<u32> = atom.terms.iter().map(|&term| value(term, &[])).collect();
                if facts.traits.static_function[atom.symbol as usize] {
                    return match facts.initial(atom.symbol, &tuple) {
                        Some(value) => self.add(&Number::Constant(value), factor, facts),
                        None => Ok(false),
                    };
                }
                let known = self.fluents.entry((atom.symbol, tuple)).or_insert(Rational::from_integer(0));
                *known = known.checked_add(&factor).ok_or(Overflow)?;
            }
            Number::Add(parts) => {
                for part in parts {
                    if !self.add(part, factor, facts)? {
                        return Ok(false);
                    }
                }
            }
            Number::Subtract(left, right) => {
                return Ok(self.add(left, factor, facts)? && self.add(right, -factor, facts)?);
            }
            Number::Multiply(parts) => {
                let mut factor = factor;
                let mut open = None;
                for part in parts {
                    match self.constant_of(part, facts)? {
                        Some(constant) => factor = factor.checked_mul(&constant).ok_or(Overflow)?,
                        None if open.is_none() => open = Some(part),
                        None => return Ok(false),
                    }
                }
                return match open {
                    Some(part) => self.add(part, factor, facts),
                    None => self.add(&Number::Constant(Rational::from_integer(1)), factor, facts),
                };
            }
            Number::Divide(left, right) => {
                return match self.constant_of(right, facts)? {
                    Some(constant) if *constant.numer() != 0 => {
                        self.add(left, factor.checked_div(&constant).ok_or(Overflow)?, facts)
                    }
                    _ => Ok(false),
                };
            }
            Number::Violated(preference) => {
                let known = &mut self.violated[*preference as usize];
                *known = known.checked_add(&factor).ok_or(Overflow)?;
            }
            Number::TotalTime => self.steps = self.steps.checked_add(&factor).ok_or(Overflow)?,
            Number::GoalAchieved => return Ok(false),
        }
        Ok(true)
    }

    fn constant_of(&self, number: &Number, facts: &Facts) -> Result<Option<Rational>, Overflow> {
        if super::rule::is_static(number, facts.traits) { facts.static_number(number, &[]) } else { Ok(None) }
    }
}

impl Objective {
    /// The same metric with all its numbers in the state, read at the end.
    pub(crate) fn in_state(&self) -> Objective {
        Objective {
            linear: self.linear.clone(),
            sense: self.sense,
            accumulates: vec![false; self.accumulates.len()],
        }
    }
}
