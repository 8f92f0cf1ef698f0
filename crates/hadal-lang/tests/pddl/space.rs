//! Breadth-first exploration of ground tasks by their definition.

use hadal_exec::rows::{Fired, RowMeaning, RowState};
use hadal_system::rows::RowTask;
use std::collections::HashSet;

/// What an exploration found.
pub struct Explored {
    /// New states by distance.
    pub layers: Vec<Vec<RowState>>,
    /// Firings, each pair of equal label and target once.
    pub edges: usize,
}

/// Explores at most `depth` layers after the first. Hidden rows do not fire.
pub fn explore(task: &RowTask, depth: usize) -> Explored {
    let meaning = RowMeaning::new(task);
    let first = meaning.initial().unwrap();
    let mut seen: HashSet<RowState> = HashSet::from([first.clone()]);
    let mut layers = vec![vec![first]];
    let mut edges = 0;
    while layers.len() <= depth {
        let mut next = Vec::new();
        for state in &layers[layers.len() - 1] {
            for row in task.rows.iter().filter(|row| !row.hidden) {
                if let Fired::Reached(reached, _) = meaning.fire(state, row).unwrap() {
                    edges += 1;
                    if seen.insert(reached.clone()) {
                        next.push(reached);
                    }
                }
            }
        }
        if next.is_empty() {
            break;
        }
        layers.push(next);
    }
    Explored { layers, edges }
}
