//! Conditions with negations pushed inwards, effects as flat lists: what the grounder works on.

mod condition;
mod effect;

pub(crate) use condition::{Condition, Quantified, negate, normalise};
pub(crate) use effect::{FlatEffect, Leaf, flatten};

use super::ast::{Effect, Formula, LiftedTask, Number};

/// What of a task never changes, and what only the metric reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    /// Predicates that no effect changes and no rule derives.
    pub(crate) static_predicate: Vec<bool>,
    /// Functions that no effect changes.
    pub(crate) static_function: Vec<bool>,
    /// Functions that some condition or effect reads; an effect on a function does not read its old value.
    pub(crate) read_function: Vec<bool>,
    /// Functions that some effect assigns or scales.
    pub(crate) assigned_function: Vec<bool>,
}

impl Traits {
    /// Looks through every action, rule and condition.
    pub(crate) fn of(task: &LiftedTask) -> Self {
        let functions = task.functions.len();
        let mut traits = Traits {
            static_predicate: task.predicates.iter().map(|symbol| !symbol.derived).collect(),
            static_function: vec![true; functions],
            read_function: vec![false; functions],
            assigned_function: vec![false; functions],
        };
        for action in &task.actions {
            traits.formula(&action.precondition);
            traits.effect(&action.effect);
        }
        task.axioms.iter().for_each(|axiom| traits.formula(&axiom.body));
        traits.formula(&task.goal);
        for constraint in &task.constraints {
            super::soft::formulas_of(constraint, &mut |formula| traits.formula(formula));
        }
        traits
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Constant(_) | Formula::Atom(_) | Formula::Equal(..) => {}
            Formula::Compare(_, left, right) => {
                self.number(left);
                self.number(right);
            }
            Formula::Not(inner)
            | Formula::Exists(_, inner)
            | Formula::Forall(_, inner)
            | Formula::Preference(_, inner) => self.formula(inner),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| self.formula(part)),
        }
    }

    fn number(&mut self, number: &Number) {
        match number {
            Number::Fluent(atom) => self.read_function[atom.symbol as usize] = true,
            Number::Add(parts) | Number::Multiply(parts) => parts.iter().for_each(|part| self.number(part)),
            Number::Subtract(left, right) | Number::Divide(left, right) => {
                self.number(left);
                self.number(right);
            }
            Number::Constant(_) | Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => {}
        }
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::And(parts) => parts.iter().for_each(|part| self.effect(part)),
            Effect::Forall(_, inner) => self.effect(inner),
            Effect::When(condition, inner) => {
                self.formula(condition);
                self.effect(inner);
            }
            Effect::Add(atom) | Effect::Delete(atom) => self.static_predicate[atom.symbol as usize] = false,
            Effect::Update(update) => {
                use super::ast::Operator::{Decrease, Increase};
                let function = update.target.symbol as usize;
                self.static_function[function] = false;
                self.assigned_function[function] |= !matches!(update.operator, Increase | Decrease);
                self.number(&update.value);
            }
            Effect::Probabilistic(branches) => branches.iter().for_each(|(_, branch)| self.effect(branch)),
        }
    }
}
