//! What kind of automaton, what kind of formula: which search is enough.
//!
//! Černá and Pelánek, "Relating hierarchy of temporal properties to model checking" (MFCS 2003).

use crate::automaton::Automaton;
use crate::components::components;
use crate::formula::Ltl;
use crate::pool::{Node, Pool};

/// How hard it is to find an accepted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Reaching a state is enough: every run goes on from there and is accepted.
    Terminal,
    /// Any cycle in an accepting component is accepting.
    Weak,
    /// Some cycles of an accepting component are accepting, others are not.
    Strong,
}

/// A formula's place in the hierarchy, as far as its form shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A bad prefix shows that it does not hold.
    Safety,
    /// A good prefix shows that it holds.
    Guarantee,
    /// Neither.
    Other,
}

impl Automaton {
    /// How hard it is to find a run of this automaton.
    pub fn strength(&self) -> Strength {
        let strengths = self.component_strengths();
        strengths.into_iter().flatten().max().unwrap_or(Strength::Terminal)
    }

    /// The strength of each state's component; `None` where no accepting cycle passes it.
    pub fn component_strengths(&self) -> Vec<Option<Strength>> {
        let found = components(&self.graph());
        let accepting = self.accepting_components(&found);
        let all = self.all_marks();
        let mut strengths: Vec<Option<Strength>> =
            accepting.iter().map(|&accepting| accepting.then_some(Strength::Weak)).collect();
        for (state, edges) in self.edges.iter().enumerate() {
            let own = found.of[state] as usize;
            if accepting[own]
                && edges.iter().any(|e| found.of[e.target as usize] as usize == own && e.marks != all)
            {
                strengths[own] = Some(Strength::Strong);
            }
        }
        // Terminal: weak, and every letter can be read in every state without leaving.
        let mut total = vec![true; strengths.len()];
        for (state, edges) in self.edges.iter().enumerate() {
            let own = found.of[state] as usize;
            let mut guard = crate::Guard::never();
            edges
                .iter()
                .filter(|e| found.of[e.target as usize] as usize == own)
                .for_each(|e| guard.join(&e.guard));
            total[own] &= guard.is_always();
        }
        for (strength, total) in strengths.iter_mut().zip(total) {
            if *strength == Some(Strength::Weak) && total {
                *strength = Some(Strength::Terminal);
            }
        }
        found.of.iter().map(|&component| strengths[component as usize]).collect()
    }
}

impl Ltl {
    /// The class that the formula's form shows.
    pub fn class(&self) -> Class {
        let mut pool = Pool::new();
        let id = pool.add(self, false);
        let guarantee = pool.is_without(id, |node| matches!(node, Node::Release(..)));
        match (pool.is_safety(id), guarantee) {
            (true, _) => Class::Safety,
            (_, true) => Class::Guarantee,
            _ => Class::Other,
        }
    }

    /// The state predicate that must always hold, where the formula is of the form `[] p`.
    pub fn invariant(&self) -> Option<&Ltl> {
        match self {
            Ltl::Release(a, b) if **a == Ltl::False && b.is_boolean() => Some(b),
            _ => None,
        }
    }

    /// Whether stuttering cannot be seen: no `X` is left after rewriting.
    pub fn is_stutter_invariant(&self) -> bool {
        let mut pool = Pool::new();
        let id = pool.add(self, false);
        pool.is_without(id, |node| matches!(node, Node::Next(_)))
    }
}
