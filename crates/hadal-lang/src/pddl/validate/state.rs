//! A state as its definition says: the true atoms and the numbers, nothing else.

use crate::pddl::ast::{Atom, LiftedTask, Term};
use hadal_system::rows::Rational;
use std::collections::{HashMap, HashSet};

/// Predicate or function with its arguments.
pub(super) type Key = (u32, Vec<u32>);

/// What is true, and what numbers are.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) atoms: HashSet<Key>,
    pub(super) numbers: HashMap<Key, Rational>,
    /// What rules derive; computed anew for every state.
    pub(super) derived: HashSet<Key>,
}

impl State {
    /// The state at the start, without what rules derive.
    pub(super) fn initial(task: &LiftedTask) -> Self {
        State {
            atoms: task.init.atoms.iter().cloned().collect(),
            numbers: task
                .init
                .values
                .iter()
                .map(|(f, objects, value)| ((*f, objects.clone()), *value))
                .collect(),
            derived: HashSet::new(),
        }
    }

    /// Whether an atom is true.
    pub(super) fn holds(&self, key: &Key) -> bool {
        self.atoms.contains(key) || self.derived.contains(key)
    }
}

/// An atom under a binding of slots.
pub(super) fn key_of(atom: &Atom, objects: &[u32]) -> Key {
    (atom.symbol, atom.terms.iter().map(|&term| object_of(term, objects)).collect())
}

/// The object a term stands for.
pub(super) fn object_of(term: Term, objects: &[u32]) -> u32 {
    match term {
        Term::Object(object) => object,
        Term::Variable(slot) => objects[slot as usize],
    }
}
