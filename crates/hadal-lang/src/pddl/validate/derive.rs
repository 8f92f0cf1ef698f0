//! What rules derive: the least fixpoint, predicate by predicate in the order that negation demands.

use super::evaluate::{Quantified, View};
use super::state::State;
use crate::pddl::ast::LiftedTask;
use crate::pddl::strata::strata;
use std::collections::HashSet;

/// Fills in what rules derive in `state`.
pub(super) fn derive(task: &LiftedTask, state: &mut State) {
    state.derived = HashSet::new();
    if task.axioms.is_empty() {
        return;
    }
    let level = strata(task).unwrap_or_default();
    let highest = level.iter().copied().max().unwrap_or(0);
    for stratum in 0..=highest {
        loop {
            let mut found = Vec::new();
            for axiom in task.axioms.iter().filter(|axiom| level[axiom.predicate as usize] == stratum) {
                let view = View { task, state };
                let (variables, formula) = (&axiom.parameters[..], &axiom.body);
                let wanted = Quantified { variables, formula, positive: true };
                view.find(wanted, &mut Vec::new(), &mut |objects| {
                    let key = (axiom.predicate, objects.clone());
                    if !state.derived.contains(&key) {
                        found.push(key);
                    }
                    false
                });
            }
            if found.is_empty() {
                break;
            }
            state.derived.extend(found);
        }
    }
}
