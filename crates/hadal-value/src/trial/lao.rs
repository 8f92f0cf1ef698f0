//! LAO* in its improved form (Hansen, Zilberstein 2001) for graphs with cycles, and AO* (Nilsson 1980) for those without.

use super::{Envelope, Found, Stop};
use crate::task::Task;

/// Follows the greedy policy from the initial state, expands its tips and updates it from the end; when no tip is left it
/// iterates on the policy's states until nothing changes.
pub fn lao_star(task: &dyn Task, stop: Stop) -> Found {
    let mut envelope = Envelope::new(task, stop);
    loop {
        let Policy { order, tips, .. } = policy_states(&mut envelope);
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
        let Policy { order: after, tips, .. } = policy_states(&mut envelope);
        if !tips {
            let still = after.iter().all(|&at| {
                let (value, _) = envelope.greedy(at);
                let own = envelope.nodes[at as usize].value;
                value == own || (value - own).abs() <= stop.residual
            });
            if still {
                return envelope.found(true);
            }
        }
    }
}

/// What the greedy policy reaches.
pub(super) struct Policy {
    /// Its states, each after those it leads to where there is no circle.
    pub order: Vec<u32>,
    /// Whether some were expanded now.
    pub tips: bool,
    /// Whether it leads in a circle.
    pub circle: bool,
}

/// Follows the greedy policy from the initial state to what is solved, and expands its tips.
pub(super) fn policy_states(envelope: &mut Envelope) -> Policy {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut policy = Policy { order: Vec::new(), tips: false, circle: false };
    let mut marks = vec![Mark::New; envelope.nodes.len()];
    let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut next = Some(envelope.place[0]);
    loop {
        if let Some(at) = next.take().filter(|&at| !envelope.nodes[at as usize].solved) {
            match marks[at as usize] {
                Mark::New => {
                    let tip = envelope.expand(at);
                    policy.tips |= tip;
                    marks.resize(envelope.nodes.len(), Mark::New);
                    marks[at as usize] = Mark::Open;
                    path.push((at, if tip { Vec::new() } else { envelope.followed(at) }));
                }
                Mark::Open => policy.circle = true,
                Mark::Done => {}
            }
        }
        let Some((at, rest)) = path.last_mut() else { return policy };
        next = rest.pop();
        if next.is_none() {
            marks[*at as usize] = Mark::Done;
            policy.order.push(*at);
            path.pop();
        }
    }
}

/// AO*: one expansion of the best partial solution at a time, values revised and solved parts labelled from the end. `None`
/// where that solution leads in a circle: AO* is for graphs without cycles.
pub fn ao_star(task: &dyn Task, stop: Stop) -> Option<Found> {
    let mut envelope = Envelope::new(task, stop);
    while !envelope.nodes[0].solved {
        let policy = policy_states(&mut envelope);
        if policy.circle {
            return None;
        }
        for &at in &policy.order {
            envelope.update(at);
            let next = envelope.followed(at);
            let complete = !next.is_empty() && next.iter().all(|&to| envelope.nodes[to as usize].solved);
            envelope.nodes[at as usize].solved |= complete;
        }
        if envelope.exhausted() {
            return Some(envelope.found(false));
        }
    }
    Some(envelope.found(true))
}
