//! Preferences in goals and preconditions: conditions that cost something where they are false.

use crate::pddl::ast::{Formula, Variable};
use crate::pddl::ground::{Builder, Ground, Join, RowError};
use crate::pddl::normalise::{Condition, normalise};
use hadal_system::rows::Rational;

/// A preference: one instance for all values of its variables.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) preference: u32,
    pub(crate) variables: Vec<Variable>,
    pub(crate) condition: Condition,
}

/// The named preferences in a condition. Those without a name cannot be paid for.
pub(crate) fn wishes_of(formula: &Formula) -> Vec<Wish> {
    let mut list = Vec::new();
    gather(formula, &mut Vec::new(), &mut list);
    list
}

fn gather(formula: &Formula, variables: &mut Vec<Variable>, list: &mut Vec<Wish>) {
    match formula {
        Formula::And(parts) => parts.iter().for_each(|part| gather(part, variables, list)),
        Formula::Forall(own, inner) => {
            let outside = variables.len();
            variables.extend(own.iter().cloned());
            gather(inner, variables, list);
            variables.truncate(outside);
        }
        Formula::Preference(Some(preference), inner) => list.push(Wish {
            preference: *preference,
            variables: variables.clone(),
            condition: normalise(inner, true),
        }),
        _ => {}
    }
}

impl Builder<'_> {
    /// Every instance of a wish under `objects`, as a ground condition.
    pub(crate) fn wish_instances(
        &mut self,
        wish: &Wish,
        objects: &mut Vec<u32>,
    ) -> Result<Vec<Ground>, RowError> {
        let outside = objects.len();
        let mut list = Vec::new();
        for tuple in self.every(&wish.variables).chunks(wish.variables.len().max(1)) {
            objects.extend_from_slice(&tuple[..wish.variables.len()]);
            let ground = self.ground(&wish.condition, objects);
            objects.truncate(outside);
            list.push(ground?);
        }
        Ok(list)
    }

    /// What a preference adds to the cost of a step taken under `objects`.
    pub(crate) fn wish_cost(&mut self, wish: &Wish, objects: &mut Vec<u32>) -> Result<u32, RowError> {
        let mut cost = self.terms.constant(Rational::from_integer(0));
        let weight = self.objective.linear.as_ref().map(|linear| linear.violated[wish.preference as usize]);
        let Some(weight) = weight.filter(|weight| *weight.numer() != 0) else { return Ok(cost) };
        let weight = self.terms.constant(weight);
        for instance in self.wish_instances(wish, objects)? {
            let violated = self.falsehood(&instance)?;
            let part = self.terms.join(Join::Multiply, weight, violated)?.ok_or(RowError::Overflow)?;
            cost = self.plus(cost, part)?;
        }
        Ok(cost)
    }

    /// A term that is 1 where a condition is false, else 0.
    pub(crate) fn falsehood(&mut self, ground: &Ground) -> Result<u32, RowError> {
        let one = self.terms.constant(Rational::from_integer(1));
        let truth = self.truth(ground)?;
        self.terms.join(Join::Subtract, one, truth)?.ok_or(RowError::Overflow)
    }

    /// A term that is 1 where a condition is true, else 0.
    pub(crate) fn truth(&mut self, ground: &Ground) -> Result<u32, RowError> {
        let one = Rational::from_integer(1);
        match ground {
            Ground::Constant(value) => Ok(self.terms.constant(Rational::from_integer(i128::from(*value)))),
            Ground::Literal(literal) => Ok(self.holds(*literal)),
            Ground::And(parts) => {
                let mut product = self.terms.constant(one);
                for part in parts {
                    let part = self.truth(part)?;
                    product = self.terms.join(Join::Multiply, product, part)?.ok_or(RowError::Overflow)?;
                }
                Ok(product)
            }
            Ground::Or(parts) => {
                let mut product = self.terms.constant(one);
                for part in parts {
                    let part = self.falsehood(part)?;
                    product = self.terms.join(Join::Multiply, product, part)?.ok_or(RowError::Overflow)?;
                }
                let one = self.terms.constant(one);
                self.terms.join(Join::Subtract, one, product)?.ok_or(RowError::Overflow)
            }
        }
    }

    /// Every value of `variables`, in one flat list; one with nothing for no variables.
    pub(crate) fn every(&self, variables: &[Variable]) -> Vec<u32> {
        if variables.is_empty() {
            return vec![0];
        }
        let mut tuples: Vec<Vec<u32>> = vec![Vec::new()];
        for variable in variables {
            let members = &self.facts.universe.members[variable.sort as usize];
            tuples = tuples
                .iter()
                .flat_map(|tuple| members.iter().map(|&object| [tuple.as_slice(), &[object]].concat()))
                .collect();
        }
        tuples.concat()
    }
}
