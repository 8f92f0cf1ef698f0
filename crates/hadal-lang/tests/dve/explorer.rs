//! The plainest explorer there is, over the interpreter that defines what a system means.

use hadal_exec::interpret::Interpreter;
use hadal_system::{Layout, PropertyId, Successors, System};
use std::collections::{HashSet, VecDeque};

/// What an exploration found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Distinct states.
    pub states: u64,
    /// Firings that led to a state.
    pub transitions: u64,
    /// Distance of the farthest state.
    pub depth: u64,
    /// Firings that met an error.
    pub faults: u64,
    /// Distance of the nearest state with each property; `None` where there is none.
    pub nearest: Vec<Option<u64>>,
    /// States without successors.
    pub deadlocks: u64,
    /// Bits of a packed state.
    pub bits: u32,
}

/// Explores everything, breadth first; `None` past `limit` states.
pub fn explore(system: &System, limit: u64) -> Option<Found> {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let mut found = Found {
        states: 0,
        transitions: 0,
        depth: 0,
        faults: 0,
        nearest: vec![None; system.properties.len()],
        deadlocks: 0,
        bits: layout.bits(),
    };
    let mut covers = vec![0; system.properties.len()];
    let mut out = Successors::new(layout.words());
    interpreter.initial(&mut out, &mut covers);
    assert!(out.faults().is_empty(), "the initial state meets an error");
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let mut queue = VecDeque::new();
    for (_, state) in out.iter() {
        if seen.insert(state.to_vec()) {
            queue.push_back((state.to_vec(), 0));
        }
    }
    while let Some((state, depth)) = queue.pop_front() {
        found.states += 1;
        if found.states > limit {
            return None;
        }
        found.depth = found.depth.max(depth);
        for (number, nearest) in found.nearest.iter_mut().enumerate() {
            let holds =
                interpreter.holds(&state, PropertyId(number as u32)).expect("properties meet no error");
            if nearest.is_none() && holds {
                *nearest = Some(depth);
            }
        }
        out.clear();
        interpreter.successors(&state, &mut out, &mut covers);
        found.transitions += out.len() as u64;
        found.faults += out.faults().len() as u64;
        found.deadlocks += u64::from(out.is_empty() && out.faults().is_empty());
        for (_, next) in out.iter() {
            if !seen.contains(next) {
                seen.insert(next.to_vec());
                queue.push_back((next.to_vec(), depth + 1));
            }
        }
    }
    Some(found)
}
