//! Smaller automata for the same words: what cannot take part in acceptance goes, states that simulate each other
//! become one.

use crate::automaton::Automaton;
use crate::components::{Components, components};
use crate::simulation;

/// Automata with more states are not searched for simulations.
const MOST_STATES: usize = 600;

impl Automaton {
    /// An automaton for the same words, with no more states.
    pub fn reduced(&self) -> Automaton {
        let mut best = self.clone();
        loop {
            let before = (best.len(), best.edge_count());
            best = best.without_dead_ends();
            best.clear_outer_marks();
            best.drop_implied_sets();
            if best.len() <= MOST_STATES {
                best = simulation::quotient(&best);
            }
            best = best.without_dead_ends();
            if (best.len(), best.edge_count()) >= before {
                return best;
            }
        }
    }

    /// Whether a component has edges of every set inside.
    pub fn accepting_components(&self, found: &Components) -> Vec<bool> {
        let mut marks = vec![0u64; found.count as usize];
        for (state, edges) in self.edges.iter().enumerate() {
            for edge in edges.iter().filter(|edge| found.of[edge.target as usize] == found.of[state]) {
                marks[found.of[state] as usize] |= edge.marks;
            }
        }
        let all = self.all_marks();
        marks.iter().zip(&found.cyclic).map(|(&marks, &cyclic)| cyclic && marks == all).collect()
    }

    /// Without states from which nothing is accepted.
    fn without_dead_ends(&self) -> Automaton {
        let found = components(&self.graph());
        let mut useful = self.accepting_components(&found);
        // Edges lead to components with smaller numbers.
        let mut states: Vec<usize> = (0..self.len()).collect();
        states.sort_by_key(|&state| found.of[state]);
        for state in states {
            if self.edges[state].iter().any(|edge| useful[found.of[edge.target as usize] as usize]) {
                useful[found.of[state] as usize] = true;
            }
        }
        let keep: Vec<bool> = (0..self.len()).map(|state| useful[found.of[state] as usize]).collect();
        self.restrict(&keep)
    }

    /// Marks on edges that no accepting run takes for ever say nothing: the same for all, so that more states are alike.
    fn clear_outer_marks(&mut self) {
        let found = components(&self.graph());
        let accepting = self.accepting_components(&found);
        let state_based = self.is_state_based();
        let all = self.all_marks();
        for (state, edges) in self.edges.iter_mut().enumerate() {
            let own = found.of[state] as usize;
            for edge in edges.iter_mut() {
                let inside = found.of[edge.target as usize] as usize == own;
                if !accepting[own] || !inside && !state_based {
                    edge.marks = if accepting[own] { all } else { 0 };
                }
            }
        }
        self.tidy();
    }

    /// Drops acceptance sets that contain another set.
    fn drop_implied_sets(&mut self) {
        let mut n = 0;
        while n < self.sets {
            let contains = |other: u32| {
                other != n
                    && self
                        .edges
                        .iter()
                        .flatten()
                        .all(|edge| edge.marks >> other & 1 == 0 || edge.marks >> n & 1 == 1)
            };
            if self.sets > 1 && (0..self.sets).any(contains) {
                let low = (1u64 << n) - 1;
                for edge in self.edges.iter_mut().flatten() {
                    edge.marks = edge.marks & low | edge.marks >> 1 & !low;
                }
                self.sets -= 1;
                self.tidy();
            } else {
                n += 1;
            }
        }
    }
}
