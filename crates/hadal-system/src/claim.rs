//! Claims: automata that watch a system and accept the runs that are wrong.

use crate::space::PropertyKind;
use crate::system::System;
use hadal_ltl::{Automaton, Strength};

/// An automaton over propositions of the system. It reads a state, then the system and the automaton move together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it accepts is wrong.
    pub automaton: Automaton,
    /// What its atoms are: numbers of properties of the kind [`PropertyKind::Proposition`], without parameters.
    pub propositions: Vec<usize>,
    /// The formula or the file it was made of, for people.
    pub text: String,
    /// Whether a run that cannot go on stays in its last state for ever; else it is no run.
    pub stutters: bool,
    /// Whether it is known not to see how often a state is repeated: partial-order reduction then keeps what it accepts.
    pub stutter_invariant: bool,
}

impl Claim {
    /// Whether reaching a location is all there is to a wrong run.
    pub fn is_reachability(&self) -> bool {
        self.stutters && self.automaton.strength() == Strength::Terminal
    }

    /// What is wrong with it.
    pub fn problem(&self, system: &System) -> Option<String> {
        let states = self.automaton.len();
        let is_proposition = |&n: &usize| {
            system
                .properties
                .get(n)
                .is_some_and(|p| p.kind == PropertyKind::Proposition && p.params.is_empty())
        };
        if self.automaton.initial as usize >= states
            || self.automaton.edges.iter().flatten().any(|edge| edge.target as usize >= states)
        {
            return Some("the claim leaves its locations".into());
        }
        if self.automaton.atoms() as usize > self.propositions.len()
            || !self.propositions.iter().all(is_proposition)
        {
            return Some("the claim asks about something that is no proposition".into());
        }
        (self.automaton.sets > 64).then(|| "the claim has more than 64 acceptance sets".into())
    }
}
