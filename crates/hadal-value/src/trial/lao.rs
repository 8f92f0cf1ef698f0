//! LAO* in its improved form (Hansen, Zilberstein 2001) for graphs with cycles, and AO* (Nilsson 1980) for those without.

use super::{Envelope, Found, Stop};
use crate::task::Task;

/// Follows the greedy policy from the initial state, expands its tips and updates it from the end; when no tip is left it
/// iterates on the policy's states until nothing changes.
pub fn lao_star(task: &dyn Task, stop: Stop) -> Found {
    let mut envelope = Envelope::new(task, stop);
    loop {
        let (order, tips) = policy_states(&mut envelope);
        let mut change = 0.0f64;
        for &at in &order {
            change = change.max(envelope.update(at));
        }
        if envelope.exhausted() {
            return envelope.found(false);
        }
        if tips {
            continue;
        }
        // No tip: the policy is complete. Its states are iterated until they are still, or another policy is better.
        while change > stop.residual && !envelope.exhausted() {
            change = 0.0;
            for &at in &order {
                change = change.max(envelope.update(at));
            }
        }
        let (after, tips) = policy_states(&mut envelope);
        if !tips {
            let still = after.iter().all(|&at| {
                let (value, _) = envelope.greedy(at);
                (value - envelope.nodes[at as usize].value).abs() <= stop.residual
            });
            if still {
                return envelope.found(true);
            }
        }
    }
}

/// The states of the greedy policy, each after those it leads to where there is no cycle; whether some were expanded now.
fn policy_states(envelope: &mut Envelope) -> (Vec<u32>, bool) {
    let mut order = Vec::new();
    let mut tips = false;
    let mut seen = vec![false; envelope.nodes.len()];
    let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut enter =
        |at: u32, envelope: &mut Envelope, seen: &mut Vec<bool>, path: &mut Vec<(u32, Vec<u32>)>| {
            if seen.len() < envelope.nodes.len() {
                seen.resize(envelope.nodes.len(), false);
            }
            if std::mem::replace(&mut seen[at as usize], true) || envelope.nodes[at as usize].terminal {
                return;
            }
            let next = if envelope.expand(at) {
                tips = true;
                Vec::new()
            } else {
                envelope.followed(at)
            };
            path.push((at, next));
        };
    enter(0, envelope, &mut seen, &mut path);
    while let Some((at, next)) = path.last_mut() {
        match next.pop() {
            Some(to) => enter(to, envelope, &mut seen, &mut path),
            None => {
                order.push(*at);
                path.pop();
            }
        }
    }
    (order, tips)
}

/// AO*: one expansion of the best partial solution at a time, values revised and solved parts labelled from the end. The
/// graph has no cycles.
pub fn ao_star(task: &dyn Task, stop: Stop) -> Found {
    let mut envelope = Envelope::new(task, stop);
    while !envelope.nodes[0].solved {
        let (order, _) = policy_states(&mut envelope);
        for &at in &order {
            envelope.update(at);
            let next = envelope.followed(at);
            let complete = !next.is_empty() && next.iter().all(|&to| envelope.nodes[to as usize].solved);
            let stuck = envelope.nodes[at as usize].actions.as_ref().is_some_and(|list| list.is_empty());
            envelope.nodes[at as usize].solved = complete || stuck;
        }
        if envelope.exhausted() {
            return envelope.found(false);
        }
    }
    envelope.found(true)
}
