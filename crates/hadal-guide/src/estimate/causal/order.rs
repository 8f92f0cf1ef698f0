//! Breaking the cycles of the causal graph (Wehrle 2011, sec. 5.5.1): variables are put in an order and only arcs along it
//! count. Data come before locations of processes; otherwise arcs that few transitions induce are dropped first.

use super::transitions::Transitions;
use crate::task::AbstractTask;
use std::collections::{BTreeMap, BTreeSet};

/// For each variable, the variables before it that its steps depend on, ascending.
pub fn predecessors(task: &AbstractTask, transitions: &Transitions) -> Vec<Vec<u32>> {
    let arcs = arcs(task);
    let count = task.variables.len();
    let mut place = vec![0; count];
    let mut next = 0;
    for of_process in [false, true] {
        let class: Vec<u32> = (0..count as u32)
            .filter(|&v| task.variables[v as usize].process.is_some() == of_process)
            .collect();
        for component in components(&class, &arcs) {
            for var in by_weight(component, &arcs) {
                place[var as usize] = next;
                next += 1;
            }
        }
    }
    let mut kept = vec![BTreeSet::new(); count];
    for var in 0..count as u32 {
        for transition in transitions.of_variable(var) {
            for condition in transitions.conditions(transition) {
                if place[condition.var as usize] < place[var as usize] {
                    kept[var as usize].insert(condition.var);
                }
            }
        }
    }
    // A variable that is only written along with another matters to it as well.
    for &(from, to) in arcs.keys() {
        if place[from as usize] < place[to as usize] {
            kept[to as usize].insert(from);
        }
    }
    kept.into_iter().map(|set| set.into_iter().collect()).collect()
}

/// Arcs of the causal graph with how many operators induce them.
pub fn arcs(task: &AbstractTask) -> BTreeMap<(u32, u32), u32> {
    let mut arcs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let single = |var: u32| task.variables[var as usize].is_single();
    for operator in &task.operators {
        let affected: BTreeSet<u32> = operator.effects.iter().map(|e| e.var).filter(|&v| single(v)).collect();
        let conditions = operator.effects.iter().filter_map(|e| e.condition.map(|(var, _)| var));
        let touched: BTreeSet<u32> = (operator.preconditions.iter().map(|(var, _)| *var))
            .chain(conditions)
            .chain(affected.iter().copied())
            .filter(|&v| single(v))
            .collect();
        for &to in &affected {
            for &from in touched.iter().filter(|&&from| from != to) {
                *arcs.entry((from, to)).or_default() += 1;
            }
        }
    }
    arcs
}

/// The strongly connected components inside a class, each after those it depends on.
fn components(class: &[u32], arcs: &BTreeMap<(u32, u32), u32>) -> Vec<Vec<u32>> {
    let inside: BTreeMap<u32, usize> = class.iter().enumerate().map(|(n, &var)| (var, n)).collect();
    let (mut out, mut into) = (vec![Vec::new(); class.len()], vec![Vec::new(); class.len()]);
    for (from, to) in arcs.keys() {
        if let (Some(&from), Some(&to)) = (inside.get(from), inside.get(to)) {
            out[from].push(to);
            into[to].push(from);
        }
    }
    // Kosaraju: by descending finishing time along arcs, gather against arcs.
    let mut finished = Vec::with_capacity(class.len());
    let mut seen = vec![false; class.len()];
    for root in 0..class.len() {
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((node, at)) = stack.pop() {
            match out[node].get(at) {
                Some(&next) => {
                    stack.push((node, at + 1));
                    if !std::mem::replace(&mut seen[next], true) {
                        stack.push((next, 0));
                    }
                }
                None => finished.push(node),
            }
        }
    }
    let mut taken = vec![false; class.len()];
    let mut components = Vec::new();
    for &root in finished.iter().rev() {
        if std::mem::replace(&mut taken[root], true) {
            continue;
        }
        let mut component = vec![class[root]];
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            for &next in &into[node] {
                if !std::mem::replace(&mut taken[next], true) {
                    component.push(class[next]);
                    open.push(next);
                }
            }
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// The variable with the lightest arcs from those not yet placed comes next.
fn by_weight(mut component: Vec<u32>, arcs: &BTreeMap<(u32, u32), u32>) -> Vec<u32> {
    let mut order = Vec::with_capacity(component.len());
    let mut weight: BTreeMap<u32, u64> = component.iter().map(|&var| (var, 0)).collect();
    let members: BTreeSet<u32> = component.iter().copied().collect();
    for (&(from, to), &count) in arcs {
        if members.contains(&from)
            && let Some(weight) = weight.get_mut(&to)
        {
            *weight += u64::from(count);
        }
    }
    while !component.is_empty() {
        let (at, &var) = component.iter().enumerate().min_by_key(|(_, var)| weight[var]).unwrap_or((0, &0));
        component.remove(at);
        order.push(var);
        for &other in &component {
            if let (Some(count), Some(weight)) = (arcs.get(&(var, other)), weight.get_mut(&other)) {
                *weight -= u64::from(*count);
            }
        }
    }
    order
}
