//! Taking effects together that several operators of the same action instance share.
//!
//! Whichever of the operators fires, the effect happens; what it needs is then what at least one of them needs. That is weaker than
//! the operators themselves, and never misses anything they do.

use crate::task::{AbstractTask, Bits, Effect, FastMap, Operator};

/// The operators of a task, shared effects taken out of them; each with the number of an operator of the same labels.
pub fn merged(task: &AbstractTask) -> Vec<(u32, Operator)> {
    let mut result = Vec::new();
    let mut from = 0;
    while from < task.operators.len() {
        let labels = &task.operators[from].labels;
        let count = task.operators[from..].iter().take_while(|operator| operator.labels == *labels).count();
        merge(task, from, &task.operators[from..from + count], &mut result);
        from += count;
    }
    result
}

type Key = (Option<(u32, Bits)>, u32, Bits);

fn merge(task: &AbstractTask, first: usize, operators: &[Operator], result: &mut Vec<(u32, Operator)>) {
    // In which of the operators each effect happens.
    let mut places: FastMap<Key, Vec<u32>> = FastMap::default();
    let mut order: Vec<Key> = Vec::new();
    for (n, operator) in operators.iter().enumerate() {
        for effect in &operator.effects {
            let key = (effect.condition, effect.var, effect.values);
            let list = places.entry(key).or_insert_with(|| {
                order.push(key);
                Vec::new()
            });
            if list.last() != Some(&(n as u32)) {
                list.push(n as u32);
            }
        }
    }
    let mut sets: FastMap<&[u32], usize> = FastMap::default();
    for key in &order {
        let list = places[key].as_slice();
        let at = *sets.entry(list).or_insert_with(|| {
            let operator = Operator {
                labels: operators[0].labels.clone(),
                preconditions: common_preconditions(task, operators, list),
                effects: Vec::new(),
                exact: false,
            };
            result.push((first as u32, operator));
            result.len() - 1
        });
        let &(condition, var, values) = key;
        result[at].1.effects.push(Effect { condition, var, values });
    }
}

/// What each of the listed operators needs in some form.
fn common_preconditions(task: &AbstractTask, operators: &[Operator], list: &[u32]) -> Vec<(u32, Bits)> {
    let mut common = operators[list[0] as usize].preconditions.clone();
    for &n in &list[1..] {
        let other = &operators[n as usize].preconditions;
        common.retain_mut(|(var, bits)| {
            if !task.variables[*var as usize].is_single() {
                return other.contains(&(*var, *bits));
            }
            match other.iter().find(|(v, _)| v == var) {
                Some((_, also)) => {
                    *bits = bits.or(also);
                    true
                }
                None => false,
            }
        });
    }
    common
}
