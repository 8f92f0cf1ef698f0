//! Effects as a flat list: for these variables, where this holds, one change.

use super::{Condition, normalise};
use crate::pddl::ast::{Atom, Effect, Update, Variable};

/// One change of an action, for all values of its own variables, where its condition holds.
#[derive(Clone, Debug)]
pub(crate) struct FlatEffect {
    pub(crate) variables: Vec<Variable>,
    pub(crate) condition: Condition,
    pub(crate) leaf: Leaf,
}

/// What changes.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Add(Atom),
    Delete(Atom),
    Update(Update),
}

/// Flattens an effect without chances.
pub(crate) fn flatten(effect: &Effect) -> Vec<FlatEffect> {
    let mut list = Vec::new();
    walk(effect, &mut Vec::new(), &mut Vec::new(), &mut list);
    list
}

fn walk(
    effect: &Effect,
    variables: &mut Vec<Variable>,
    conditions: &mut Vec<Condition>,
    list: &mut Vec<FlatEffect>,
) {
    let mut leaf = |leaf: Leaf| {
        let condition = match conditions.as_slice() {
            [] => Condition::Constant(true),
            [only] => only.clone(),
            several => Condition::And(several.to_vec()),
        };
        list.push(FlatEffect { variables: variables.clone(), condition, leaf });
    };
    match effect {
        Effect::And(parts) => parts.iter().for_each(|part| walk(part, variables, conditions, list)),
        Effect::Forall(own, inner) => {
            let outside = variables.len();
            variables.extend(own.iter().cloned());
            walk(inner, variables, conditions, list);
            variables.truncate(outside);
        }
        Effect::When(condition, inner) => {
            conditions.push(normalise(condition, true));
            walk(inner, variables, conditions, list);
            conditions.pop();
        }
        Effect::Add(atom) => leaf(Leaf::Add(atom.clone())),
        Effect::Delete(atom) => leaf(Leaf::Delete(atom.clone())),
        Effect::Update(update) => leaf(Leaf::Update(update.clone())),
        // Outcomes of chance are flattened one by one before this is called.
        Effect::Probabilistic(branches) => {
            branches.iter().for_each(|(_, branch)| walk(branch, variables, conditions, list));
        }
    }
}
