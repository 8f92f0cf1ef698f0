//! Taking effects together that several ways of the same action instance share.
//!
//! Whichever of the ways fires, the effect happens; what it needs is then what at least one of them needs. That is weaker than
//! the ways themselves, and never misses anything they do.

use crate::task::{AbstractTask, Bits, Effect, FastMap, Way};

/// The ways of a task, shared effects taken out of them; each with the number of a way of the same labels.
pub fn merged(task: &AbstractTask) -> Vec<(u32, Way)> {
    let mut result = Vec::new();
    let mut from = 0;
    while from < task.ways.len() {
        let labels = &task.ways[from].labels;
        let count = task.ways[from..].iter().take_while(|way| way.labels == *labels).count();
        merge(task, from, &task.ways[from..from + count], &mut result);
        from += count;
    }
    result
}

type Key = (Option<(u32, Bits)>, u32, Bits);

fn merge(task: &AbstractTask, first: usize, ways: &[Way], result: &mut Vec<(u32, Way)>) {
    // In which of the ways each effect happens.
    let mut places: FastMap<Key, Vec<u32>> = FastMap::default();
    let mut order: Vec<Key> = Vec::new();
    for (n, way) in ways.iter().enumerate() {
        for effect in &way.effects {
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
            let way = Way {
                labels: ways[0].labels.clone(),
                demands: common_demands(task, ways, list),
                effects: Vec::new(),
                exact: false,
            };
            result.push((first as u32, way));
            result.len() - 1
        });
        let &(condition, var, values) = key;
        result[at].1.effects.push(Effect { condition, var, values });
    }
}

/// What each of the listed ways needs in some form.
fn common_demands(task: &AbstractTask, ways: &[Way], list: &[u32]) -> Vec<(u32, Bits)> {
    let mut common = ways[list[0] as usize].demands.clone();
    for &n in &list[1..] {
        let other = &ways[n as usize].demands;
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
