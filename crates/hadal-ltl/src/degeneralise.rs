//! One acceptance set, on states, instead of several on edges.
//!
//! A state is a pair of the old state and how many sets the run has met in turn; the count only matters inside
//! accepting components and begins anew outside (Gastin and Oddoux 2001; Babiak et al. 2013 for the components).

use crate::automaton::{Automaton, Edge};
use crate::components::components;
use std::collections::HashMap;

impl Automaton {
    /// An automaton for the same words with one acceptance set, on states.
    pub fn degeneralise(&self) -> Automaton {
        if self.sets == 1 && self.is_state_based() {
            return self.reduced_by_states();
        }
        let found = components(&self.graph());
        let accepting = self.accepting_components(&found);
        let all = self.all_marks();
        // In such a component every edge inside carries all marks: being there is enough.
        let mut weak = accepting.clone();
        for (state, edges) in self.edges.iter().enumerate() {
            let own = found.of[state];
            if edges.iter().any(|e| found.of[e.target as usize] == own && e.marks != all) {
                weak[own as usize] = false;
            }
        }
        let top = self.sets;
        let entry = |state: u32| if weak[found.of[state as usize] as usize] { top } else { 0 };
        let first = (self.initial, entry(self.initial));
        let mut numbers = HashMap::from([(first, 0u32)]);
        let mut order = vec![first];
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        while edges.len() < order.len() {
            let (state, level) = order[edges.len()];
            let own = found.of[state as usize];
            let mut list = Vec::new();
            for edge in &self.edges[state as usize] {
                let inside = found.of[edge.target as usize] == own && accepting[own as usize];
                let level = match inside && !weak[own as usize] {
                    true => {
                        let mut level = if level == top { 0 } else { level };
                        while level < top && edge.marks >> level & 1 == 1 {
                            level += 1;
                        }
                        level
                    }
                    false => entry(edge.target),
                };
                let next = order.len() as u32;
                let target = *numbers.entry((edge.target, level)).or_insert_with(|| {
                    order.push((edge.target, level));
                    next
                });
                list.push(Edge { target, marks: 0, guard: edge.guard.clone() });
            }
            edges.push(list);
        }
        for (list, (state, level)) in edges.iter_mut().zip(&order) {
            let own = found.of[*state as usize] as usize;
            let marks = u64::from(*level == top && accepting[own]);
            list.iter_mut().for_each(|edge| edge.marks = marks);
        }
        Automaton { initial: 0, edges, sets: 1 }.reduced_by_states()
    }

    /// Reduces a state-based automaton and keeps it one.
    fn reduced_by_states(&self) -> Automaton {
        let mut tidy = self.clone();
        tidy.tidy();
        let reduced = tidy.reduced();
        debug_assert!(reduced.is_state_based());
        reduced
    }
}
