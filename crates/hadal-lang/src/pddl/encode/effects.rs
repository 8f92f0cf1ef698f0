//! Adds and deletes of atoms as assignments to variables.

use super::variables::{Encoded, Place, Variables};
use crate::pddl::ground::{GroundChange, GroundEffect, Literal};
use hadal_system::rows::{Change, Effect, Need};

/// Literals over variables; `None` where they can never hold together.
pub(crate) fn needs_of(literals: &[Literal], variables: &Variables) -> Option<Vec<Need>> {
    let mut needs = Vec::with_capacity(literals.len());
    for &literal in literals {
        match variables.encode(literal) {
            Encoded::Decided(true) => {}
            Encoded::Decided(false) => return None,
            Encoded::Need(need) => needs.push(need),
        }
    }
    if simplify(&mut needs) { Some(needs) } else { None }
}

/// Sorts, drops what follows from the rest; false where it contradicts itself.
pub(crate) fn simplify(needs: &mut Vec<Need>) -> bool {
    needs.sort_unstable();
    needs.dedup();
    let is: Vec<(u32, u32)> = needs
        .iter()
        .filter_map(|need| match need {
            Need::Is(variable, value) => Some((*variable, *value)),
            _ => None,
        })
        .collect();
    if is.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return false;
    }
    let value_of = |variable: u32| {
        is.binary_search_by_key(&variable, |&(variable, _)| variable).ok().map(|place| is[place].1)
    };
    let mut consistent = true;
    needs.retain(|need| match need {
        Need::IsNot(variable, value) => match value_of(*variable) {
            Some(known) => {
                consistent &= known != *value;
                false
            }
            None => true,
        },
        _ => true,
    });
    consistent
}

/// The effects of a row whose needs are `needs`. Deletes come first in `effects`, so that adds prevail.
pub(crate) fn effects_of(effects: &[GroundEffect], needs: &[Need], variables: &Variables) -> Vec<Effect> {
    let needed = |variable: u32| {
        needs.iter().find_map(|need| match need {
            Need::Is(known, value) if *known == variable => Some(*value),
            _ => None,
        })
    };
    // Variables that get a value whatever the state: deletes of their atoms say nothing more.
    let set: Vec<u32> = effects
        .iter()
        .filter_map(|effect| match (effect.change, effect.when.is_empty()) {
            (GroundChange::Add(atom), true) => match variables.place[atom as usize] {
                Place::Value(variable, _) => Some(variable),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let mut list: Vec<Effect> = Vec::with_capacity(effects.len());
    for effect in effects {
        let Some(mut when) = needs_of(&effect.when, variables) else { continue };
        let change = match effect.change {
            GroundChange::Add(atom) => match variables.place[atom as usize] {
                Place::Value(variable, value) => Change::Set(variable, value),
                _ => continue,
            },
            GroundChange::Delete(atom) => match variables.place[atom as usize] {
                Place::Value(variable, value) => {
                    if set.contains(&variable) {
                        continue;
                    }
                    // It matters only where the variable has the value.
                    when.push(Need::Is(variable, value));
                    if !simplify(&mut when) {
                        continue;
                    }
                    Change::Set(variable, variables.none_of(variable))
                }
                _ => continue,
            },
            GroundChange::Assign(number, term) => Change::Assign(number, term),
            GroundChange::Increase(number, term) => Change::Increase(number, term),
        };
        // What the row needs anyhow is no condition of an effect.
        if when.iter().any(|need| contradicts(*need, &needed)) {
            continue;
        }
        when.retain(|need| !needs.contains(need));
        if let (Change::Set(variable, value), Some(known)) = (change, needed(variable_of(change))) {
            // Nothing changes, unless an earlier effect may have set the variable.
            let earlier = list.iter().any(|effect| variable_of(effect.change) == variable);
            if known == value && !earlier {
                continue;
            }
        }
        let effect = Effect { when, change };
        if matches!(change, Change::Increase(..)) || !list.contains(&effect) {
            list.push(effect);
        }
    }
    list
}

fn variable_of(change: Change) -> u32 {
    match change {
        Change::Set(variable, _) => variable,
        Change::Assign(..) | Change::Increase(..) => u32::MAX,
    }
}

fn contradicts(need: Need, needed: &impl Fn(u32) -> Option<u32>) -> bool {
    match need {
        Need::Is(variable, value) => needed(variable).is_some_and(|known| known != value),
        Need::IsNot(variable, value) => needed(variable) == Some(value),
        _ => false,
    }
}
