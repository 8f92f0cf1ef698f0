//! FRET (Kolobov, Mausam, Weld, Geffner 2011; with one greedy policy, Steinmetz, Hoffmann, Buffet 2016): heuristic search where
//! steps cost nothing, as for the greatest probability of a goal. It finds and revises as LAO* does until nothing changes;
//! then traps, which the greedy policy never leaves, are made one node with what leads out of them, and it begins again.

use super::lao::{Policy, policy_states};
use super::{Act, Envelope, Found, Idling, Stop};
use crate::task::Task;

/// The least chance of ending badly. Terminal states say how bad they are, from 0 to `stop.dead_end`; steps cost nothing.
pub fn fret(task: &dyn Task, stop: Stop) -> Found {
    let mut envelope = Envelope { idling: Idling::Allowed, ..Envelope::new(task, stop) };
    loop {
        loop {
            let Policy { order, tips, .. } = policy_states(&mut envelope);
            let mut change = 0.0f64;
            for &at in &order {
                change = change.max(envelope.update(at));
            }
            if envelope.exhausted() {
                return Found { idles: false, ..envelope.found(false) };
            }
            if !tips && change <= stop.residual {
                break;
            }
        }
        let traps = traps(&envelope);
        if traps.is_empty() {
            // What costs nothing was dealt with.
            return Found { idles: false, ..envelope.found(true) };
        }
        eliminate(&mut envelope, &traps);
    }
}

/// Sets of nodes that the greedy policy enters and never leaves without being at an end.
fn traps(envelope: &Envelope) -> Vec<Vec<u32>> {
    let start = envelope.place[0];
    let mut search = Components {
        next: |at| if envelope.nodes[at as usize].solved { Vec::new() } else { envelope.followed(at) },
        number: vec![0; envelope.nodes.len()],
        low: vec![0; envelope.nodes.len()],
        open: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    search.from(start);
    let mut component_of = vec![u32::MAX; envelope.nodes.len()];
    for (n, members) in search.found.iter().enumerate() {
        members.iter().for_each(|&m| component_of[m as usize] = n as u32);
    }
    let is_trap = |members: &Vec<u32>| {
        members.iter().all(|&m| {
            let next = (search.next)(m);
            let stays = |to: &u32| component_of[*to as usize] == component_of[m as usize];
            !next.is_empty() && next.iter().all(stays)
        })
    };
    let kept: Vec<bool> = search.found.iter().map(is_trap).collect();
    search.found.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(members, _)| members).collect()
}

/// Strongly connected components (Tarjan 1972), without recursion.
struct Components<N> {
    next: N,
    number: Vec<u32>,
    low: Vec<u32>,
    open: Vec<u32>,
    count: u32,
    found: Vec<Vec<u32>>,
}

impl<N: Fn(u32) -> Vec<u32>> Components<N> {
    fn from(&mut self, start: u32) {
        let mut path = vec![self.enter(start)];
        while let Some((at, rest)) = path.last_mut() {
            let at = *at;
            match rest.pop() {
                Some(to) if self.number[to as usize] == 0 => path.push(self.enter(to)),
                Some(to) => {
                    if self.low[to as usize] != 0 {
                        self.low[at as usize] = self.low[at as usize].min(self.number[to as usize]);
                    }
                }
                None => {
                    path.pop();
                    let low = self.low[at as usize];
                    if low == self.number[at as usize] {
                        let first = self.open.iter().rposition(|&o| o == at).unwrap_or(0);
                        let members = self.open.split_off(first);
                        // 0: not open any more.
                        members.iter().for_each(|&m| self.low[m as usize] = 0);
                        self.found.push(members);
                    } else if let Some((above, _)) = path.last() {
                        self.low[*above as usize] = self.low[*above as usize].min(low);
                    }
                }
            }
        }
    }

    fn enter(&mut self, at: u32) -> (u32, Vec<u32>) {
        self.count += 1;
        self.number[at as usize] = self.count;
        self.low[at as usize] = self.count;
        self.open.push(at);
        (at, (self.next)(at))
    }
}

/// Makes each trap one node with the actions that may leave it; without one it is an end that nothing arrives from.
fn eliminate(envelope: &mut Envelope, traps: &[Vec<u32>]) {
    let mut becomes: Vec<u32> = (0..envelope.nodes.len() as u32).collect();
    for members in traps {
        members.iter().for_each(|&m| becomes[m as usize] = members[0]);
    }
    for members in traps {
        let mut acts: Vec<Act> = Vec::new();
        for &m in members {
            acts.extend(envelope.nodes[m as usize].actions.take().into_iter().flat_map(Vec::from));
        }
        envelope.nodes[members[0] as usize].actions = Some(acts.into_boxed_slice());
    }
    for at in 0..envelope.nodes.len() as u32 {
        if becomes[at as usize] != at {
            continue;
        }
        let Some(acts) = envelope.nodes[at as usize].actions.take() else { continue };
        let moved = acts.into_iter().filter_map(|act| redirected(act, at, &becomes)).collect();
        envelope.nodes[at as usize].actions = Some(moved);
    }
    for members in traps {
        let node = &mut envelope.nodes[members[0] as usize];
        if node.actions.as_ref().is_none_or(|acts| acts.is_empty()) {
            node.value = envelope.stop.dead_end;
            node.solved = true;
            node.terminal = true;
        }
    }
    envelope.place.iter_mut().for_each(|place| *place = becomes[*place as usize]);
}

/// An action of `at` after nodes became others; `None` where it only stays. Staying costs nothing and is left out.
fn redirected(act: Act, at: u32, becomes: &[u32]) -> Option<Act> {
    let mut outcomes: Vec<(u32, f64)> = Vec::with_capacity(act.outcomes.len());
    for &(to, p) in &act.outcomes {
        let to = becomes[to as usize];
        match outcomes.iter_mut().find(|o| o.0 == to) {
            Some(same) => same.1 += p,
            None => outcomes.push((to, p)),
        }
    }
    let leaves: f64 = outcomes.iter().filter(|o| o.0 != at).map(|o| o.1).sum();
    if outcomes.iter().any(|o| o.0 == at) {
        outcomes.retain(|o| o.0 != at);
        outcomes.iter_mut().for_each(|o| o.1 /= leaves);
    }
    (!outcomes.is_empty()).then(|| Act { cost: act.cost, outcomes: outcomes.into_boxed_slice() })
}
