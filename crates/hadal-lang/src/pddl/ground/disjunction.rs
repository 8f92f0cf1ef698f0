//! Disjunctions: a few alternatives stay a list, more of them become a derived atom with a rule each.

use super::build::Builder;
use super::condition::{Conjunction, Ground, Literal};

impl Builder<'_> {
    /// Conjunctions of which one must hold, at most `limit` of them where atoms for the rest help.
    pub(crate) fn alternatives(&mut self, conjunction: Conjunction, limit: usize) -> Vec<Vec<Literal>> {
        let mut all = vec![conjunction.literals];
        for choice in conjunction.choices {
            let mut parts: Vec<Vec<Literal>> = Vec::new();
            for part in choice {
                parts.extend(self.disjuncts(part, limit));
            }
            tidy(&mut parts);
            if all.len() * parts.len() > limit {
                let literal = self.auxiliary(parts);
                all.iter_mut().for_each(|literals| literals.push(literal));
                continue;
            }
            all = all
                .iter()
                .flat_map(|literals| parts.iter().map(|part| [literals.as_slice(), part].concat()))
                .collect();
        }
        tidy(&mut all);
        all
    }

    /// One conjunction that is equivalent.
    pub(crate) fn single(&mut self, conjunction: Conjunction) -> Option<Vec<Literal>> {
        let mut all = self.alternatives(conjunction, 1);
        all.pop()
    }

    fn disjuncts(&mut self, ground: Ground, limit: usize) -> Vec<Vec<Literal>> {
        match ground {
            Ground::Constant(true) => vec![Vec::new()],
            Ground::Constant(false) => Vec::new(),
            Ground::Literal(literal) => vec![vec![literal]],
            Ground::Or(parts) => parts.into_iter().flat_map(|part| self.disjuncts(part, limit)).collect(),
            Ground::And(parts) => {
                let mut conjunction = Conjunction::default();
                for part in parts {
                    match part {
                        Ground::Literal(literal) => conjunction.literals.push(literal),
                        Ground::Or(inner) => conjunction.choices.push(inner),
                        other => conjunction.choices.push(vec![other]),
                    }
                }
                self.alternatives(conjunction, limit)
            }
        }
    }

    /// A derived atom that is true where one of `parts` holds.
    fn auxiliary(&mut self, parts: Vec<Vec<Literal>>) -> Literal {
        let next = self.atom_count + self.auxiliaries.len() as u32;
        let number = *self.auxiliary_index.entry(parts.clone()).or_insert(next);
        if number == next {
            self.auxiliaries.push(parts);
        }
        Literal::Atom(number, true)
    }
}

/// Sorts, drops repetitions, contradictions, and what another conjunction says with fewer literals.
fn tidy(all: &mut Vec<Vec<Literal>>) {
    for literals in all.iter_mut() {
        literals.sort_unstable();
        literals.dedup();
    }
    all.retain(|literals| !contradicts(literals));
    if all.len() > 1 {
        all.sort_unstable_by(|left, right| left.len().cmp(&right.len()).then_with(|| left.cmp(right)));
        all.dedup();
        if all.first().is_some_and(Vec::is_empty) {
            all.truncate(1);
        }
    }
}

/// Whether sorted literals demand an atom both ways.
pub(crate) fn contradicts(literals: &[Literal]) -> bool {
    literals
        .windows(2)
        .any(|pair| matches!(pair, [Literal::Atom(left, false), Literal::Atom(right, true)] if left == right))
}
