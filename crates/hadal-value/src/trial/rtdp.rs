//! Real-time dynamic programming (Barto, Bradtke, Singh 1995), and with labels (Bonet, Geffner 2003).

use super::{Envelope, Found, Stop};
use crate::task::Task;
use hadal_system::random::Xorshift;

/// Runs `trials` walks of the greedy policy, updating what they visit. Values stay below the least costs.
pub fn rtdp(task: &dyn Task, trials: u64, stop: Stop) -> Found {
    let mut envelope = Envelope::new(task, stop);
    let mut dice = Xorshift::other();
    let mut converged = true;
    for _ in 0..trials {
        let mut change = 0.0f64;
        walk(&mut envelope, &mut dice, |_, _, by| change = change.max(by));
        converged = change <= stop.residual;
        if envelope.exhausted() {
            return envelope.found(false);
        }
    }
    envelope.found(converged)
}

/// Walks from the initial state until a terminal or solved one; tells what it visits.
fn walk(envelope: &mut Envelope, dice: &mut Xorshift, mut visited: impl FnMut(&Envelope, u32, f64)) {
    let mut at = 0u32;
    while !envelope.nodes[at as usize].solved && !envelope.exhausted() {
        let change = envelope.update(at);
        visited(envelope, at, change);
        let (_, Some(n)) = envelope.greedy(at) else { return };
        let Some(actions) = &envelope.nodes[at as usize].actions else { return };
        let outcomes = &actions[n].outcomes;
        let mut roll = dice.fraction();
        // Rounding may leave a little: the last outcome takes it.
        at = outcomes[outcomes.len() - 1].0;
        for &(to, p) in outcomes {
            if roll < p {
                at = to;
                break;
            }
            roll -= p;
        }
    }
}

/// Labelled RTDP: states are solved when nothing in what their greedy policy reaches would change.
pub fn lrtdp(task: &dyn Task, stop: Stop) -> Found {
    let mut envelope = Envelope::new(task, stop);
    let mut dice = Xorshift::other();
    let mut visited = Vec::new();
    while !envelope.nodes[0].solved {
        visited.clear();
        walk(&mut envelope, &mut dice, |_, at, _| visited.push(at));
        while let Some(at) = visited.pop() {
            if !check_solved(&mut envelope, at, stop.residual) {
                break;
            }
        }
        if envelope.exhausted() {
            return envelope.found(false);
        }
    }
    envelope.found(true)
}

/// Labels what the greedy policy reaches from `at` where nothing of it would change, else updates it.
fn check_solved(envelope: &mut Envelope, at: u32, residual: f64) -> bool {
    if envelope.nodes[at as usize].solved {
        return true;
    }
    let mut solved = true;
    let mut open = vec![at];
    let mut closed: Vec<u32> = Vec::new();
    let mut seen = std::collections::HashSet::from([at]);
    while let Some(state) = open.pop() {
        closed.push(state);
        envelope.expand(state);
        let (value, _) = envelope.greedy(state);
        // Infinity less infinity is no change.
        if value != envelope.nodes[state as usize].value
            && (value - envelope.nodes[state as usize].value).abs() > residual
        {
            solved = false;
            continue;
        }
        for to in envelope.followed(state) {
            if !envelope.nodes[to as usize].solved && seen.insert(to) {
                open.push(to);
            }
        }
    }
    for &state in closed.iter().rev() {
        if solved {
            envelope.nodes[state as usize].solved = true;
        } else {
            envelope.update(state);
        }
    }
    solved
}
