//! True distances of drawn tasks, by looking at every state.
#![allow(dead_code, reason = "each test binary uses its own part")]

use hadal_exec::rows::{Firing, RowSpace};
use hadal_system::rows::RowTask;
use hadal_testkit::rows::{self as draw, Drawing};
use std::collections::HashMap;

/// Every combination of features that a task may have, with costs of nothing, one and many.
pub fn drawings(seeds: u64) -> impl Iterator<Item = Drawing> {
    (0..32 * seeds).map(|n| Drawing {
        seed: n,
        conditional: n & 1 > 0,
        derived: n & 2 > 0,
        numbers: n & 4 > 0,
        monitors: n & 8 > 0,
        largest_cost: (n & 16 > 0).then_some([0, 1, 3, 1_000_000][(n / 32 % 4) as usize]),
    })
}

/// A task with all its states.
pub struct Truth {
    /// The packed task.
    pub space: RowSpace,
    /// Its states; the first is the initial one.
    pub states: Vec<Vec<u64>>,
    /// Its transitions: from, row, to, cost.
    pub edges: Vec<(usize, u32, usize, u32)>,
    /// The cost of reaching the goal from each state.
    pub distances: Vec<Option<u64>>,
}

impl Truth {
    /// Draws a task and explores it; `None` where it has too many states.
    pub fn of(drawing: Drawing) -> Option<Truth> {
        Truth::explore(draw::task(drawing))
    }

    /// Explores a task; `None` where it has too many states.
    pub fn explore(task: RowTask) -> Option<Truth> {
        let space = RowSpace::new(task).expect("drawn tasks can be run");
        let mut states = vec![space.initial().to_vec()];
        let mut numbers = HashMap::from([(states[0].clone(), 0)]);
        let mut edges = Vec::new();
        let mut worker = space.row_worker();
        let mut at = 0;
        while at < states.len() {
            let state = states[at].clone();
            worker.expand(&state, |row, firing, next| {
                let Firing::Reached(cost) = firing else { panic!("drawn tasks have no faults") };
                let fresh = states.len();
                let to = *numbers.entry(next.to_vec()).or_insert(fresh);
                if to == fresh {
                    states.push(next.to_vec());
                }
                edges.push((at, row, to, cost));
            });
            at += 1;
            if states.len() > 3000 {
                return None;
            }
        }
        let mut distances: Vec<Option<u64>> =
            states.iter().map(|state| worker.is_goal(state).then_some(0)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, _, to, cost) in edges.iter().rev() {
                if let Some(there) = distances[to] {
                    let here = there + u64::from(cost);
                    if distances[from].is_none_or(|held| here < held) {
                        distances[from] = Some(here);
                        changed = true;
                    }
                }
            }
        }
        drop(worker);
        Some(Truth { space, states, edges, distances })
    }
}
