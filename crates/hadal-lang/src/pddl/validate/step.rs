//! One step of a plan: is it applicable, what does it lead to, why not.

use super::evaluate::View;
use super::show::Writer;
use super::state::{Key, State, key_of};
use crate::pddl::ast::{Action, Effect, Formula, LiftedTask, Operator, Update};
use hadal_system::rows::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};
use std::collections::HashMap;

/// What happens in one step.
#[derive(Default)]
struct Changes {
    adds: Vec<Key>,
    deletes: Vec<Key>,
    increases: HashMap<Key, Rational>,
    assigns: HashMap<Key, Rational>,
}

/// Functions that begin with 0 where the problem gives no value: those that nothing but the metric reads.
pub(super) type Counters = Vec<bool>;

/// The state after `action`, or why it cannot be applied.
pub(super) fn apply(
    task: &LiftedTask,
    state: &State,
    action: &Action,
    objects: &[u32],
    counters: &Counters,
) -> Result<State, String> {
    let view = View { task, state };
    let mut objects = objects.to_vec();
    if !view.is(&action.precondition, true, &mut objects) {
        return Err(unmet(&view, &action.precondition, &mut objects));
    }
    let mut changes = Changes::default();
    collect(&view, &action.effect, &mut objects, (&mut changes, counters))?;
    let mut next = State { derived: Default::default(), ..state.clone() };
    changes.deletes.iter().for_each(|key| {
        next.atoms.remove(key);
    });
    next.atoms.extend(changes.adds);
    let writer = Writer { task };
    for (key, value) in changes.assigns {
        if changes.increases.contains_key(&key) {
            return Err(format!("{} is assigned and changed otherwise in one step", name(&writer, &key)));
        }
        next.numbers.insert(key, value);
    }
    for (key, amount) in changes.increases {
        let Some(old) = state.numbers.get(&key).copied().or(counters[key.0 as usize].then(Rational::default))
        else {
            return Err(format!("{} has no value to change", name(&writer, &key)));
        };
        let Some(new) = old.checked_add(&amount) else {
            return Err(format!("{} grows too large to hold exactly", name(&writer, &key)));
        };
        next.numbers.insert(key, new);
    }
    Ok(next)
}

fn name(writer: &Writer, key: &Key) -> String {
    let mut words = vec![writer.task.functions[key.0 as usize].name.clone()];
    words.extend(key.1.iter().map(|&object| writer.task.universe.objects[object as usize].clone()));
    format!("({})", words.join(" "))
}

/// What of a condition is not met, as small as it can be said.
pub(super) fn unmet(view: &View, formula: &Formula, objects: &mut Vec<u32>) -> String {
    match formula {
        Formula::And(parts) => {
            for part in parts {
                if !view.is(part, true, objects) {
                    return unmet(view, part, objects);
                }
            }
        }
        Formula::Forall(variables, inner) => {
            let mut what = None;
            view.each(variables, objects, &mut |view, objects| {
                if view.is(inner, true, objects) {
                    return false;
                }
                what = Some(unmet(view, inner, objects));
                true
            });
            if let Some(what) = what {
                return what;
            }
        }
        _ => {}
    }
    format!("{} does not hold", Writer { task: view.task }.formula(formula, objects))
}

fn collect(
    view: &View,
    effect: &Effect,
    objects: &mut Vec<u32>,
    (changes, counters): (&mut Changes, &Counters),
) -> Result<(), String> {
    match effect {
        Effect::And(parts) => {
            for part in parts {
                collect(view, part, objects, (changes, counters))?;
            }
        }
        Effect::Forall(variables, inner) => {
            let mut outcome = Ok(());
            view.each(variables, objects, &mut |view, objects| {
                outcome = collect(view, inner, objects, (changes, counters));
                outcome.is_err()
            });
            outcome?;
        }
        Effect::When(condition, inner) => {
            if view.is(condition, true, objects) {
                collect(view, inner, objects, (changes, counters))?;
            }
        }
        Effect::Add(atom) => changes.adds.push(key_of(atom, objects)),
        Effect::Delete(atom) => changes.deletes.push(key_of(atom, objects)),
        Effect::Update(update) => collect_update(view, update, objects, (changes, counters))?,
        Effect::Probabilistic(_) => return Err("its effect is left to chance".to_string()),
    }
    Ok(())
}

fn collect_update(
    view: &View,
    update: &Update,
    objects: &[u32],
    (changes, counters): (&mut Changes, &Counters),
) -> Result<(), String> {
    let writer = Writer { task: view.task };
    let key = key_of(&update.target, objects);
    let Some(value) = view.number(&update.value, objects) else {
        return Err(format!("{} is undefined", writer.number(&update.value, objects)));
    };
    let old = view.state.numbers.get(&key).copied().or(counters[key.0 as usize].then(Rational::default));
    let too_large = || format!("{} grows too large to hold exactly", name(&writer, &key));
    let undefined = || format!("{} has no value to change", name(&writer, &key));
    let assigned = match update.operator {
        Operator::Increase | Operator::Decrease => {
            let known = changes.increases.entry(key.clone()).or_default();
            let sum = match update.operator {
                Operator::Increase => known.checked_add(&value),
                _ => known.checked_sub(&value),
            };
            *known = sum.ok_or_else(too_large)?;
            return Ok(());
        }
        Operator::Assign => value,
        Operator::ScaleUp => old.ok_or_else(undefined)?.checked_mul(&value).ok_or_else(too_large)?,
        Operator::ScaleDown if *value.numer() == 0 => {
            return Err(format!("{} is divided by 0", name(&writer, &key)));
        }
        Operator::ScaleDown => old.ok_or_else(undefined)?.checked_div(&value).ok_or_else(too_large)?,
    };
    match changes.assigns.insert(key.clone(), assigned) {
        Some(other) if other != assigned => {
            Err(format!("{} gets two values in one step", name(&writer, &key)))
        }
        _ => Ok(()),
    }
}
