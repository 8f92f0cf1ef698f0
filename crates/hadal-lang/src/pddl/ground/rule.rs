//! Conditions as bodies of Datalog rules: atoms that must be reachable, and what can be decided from statics alone.
//!
//! A body says less than its condition (no negated fluents, no universal quantifiers, no numbers that change), so what it
//! does not find cannot hold.

use crate::pddl::ast::{Atom, Comparator, Number, Term, Variable};
use crate::pddl::normalise::{Condition, Traits};

/// How many bodies a condition with disjunctions may become before they are left out.
const MAX_BODIES: usize = 16;
/// How many atoms a body may have; further ones are left out.
pub(crate) const MAX_ATOMS: usize = 128;

/// A body of a rule over its own slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) atoms: Vec<Atom>,
    /// The sort of each slot.
    pub(crate) sorts: Vec<u32>,
    /// Pairs of terms that must be equal, or differ.
    pub(crate) equalities: Vec<(Term, Term, bool)>,
    /// Static atoms that must be false.
    pub(crate) absent: Vec<Atom>,
    /// Comparisons of static numbers.
    pub(crate) comparisons: Vec<(Comparator, Number, Number, bool)>,
    /// Where a slot of the condition is found here.
    place: Vec<u32>,
}

impl Body {
    /// A body with these variables, each in its own slot.
    pub(crate) fn over(variables: &[Variable]) -> Self {
        let mut body = Body::default();
        for variable in variables {
            body.declare(variable);
        }
        body
    }

    /// Gives a variable a new slot here.
    pub(crate) fn declare(&mut self, variable: &Variable) {
        let slot = variable.slot as usize;
        if self.place.len() <= slot {
            self.place.resize(slot + 1, 0);
        }
        self.place[slot] = self.sorts.len() as u32;
        self.sorts.push(variable.sort);
    }

    fn term(&self, term: Term) -> Term {
        match term {
            Term::Variable(slot) => Term::Variable(self.place[slot as usize]),
            object => object,
        }
    }

    /// An atom over this body's slots.
    pub(crate) fn atom(&self, atom: &Atom) -> Atom {
        Atom { symbol: atom.symbol, terms: atom.terms.iter().map(|&term| self.term(term)).collect() }
    }

    fn number(&self, number: &Number) -> Number {
        let all = |parts: &[Number]| parts.iter().map(|part| self.number(part)).collect();
        match number {
            Number::Fluent(atom) => Number::Fluent(self.atom(atom)),
            Number::Add(parts) => Number::Add(all(parts)),
            Number::Multiply(parts) => Number::Multiply(all(parts)),
            Number::Subtract(left, right) => {
                Number::Subtract(Box::new(self.number(left)), Box::new(self.number(right)))
            }
            Number::Divide(left, right) => {
                Number::Divide(Box::new(self.number(left)), Box::new(self.number(right)))
            }
            other => other.clone(),
        }
    }
}

/// The bodies that together cover `condition` and what `bodies` demand already.
pub(crate) fn relax(condition: &Condition, mut bodies: Vec<Body>, traits: &Traits) -> Vec<Body> {
    match condition {
        Condition::Constant(true) | Condition::Forall(_) => {}
        Condition::Constant(false) => bodies.clear(),
        Condition::Atom(atom, positive) => {
            let is_static = traits.static_predicate[atom.symbol as usize];
            for body in &mut bodies {
                let atom = body.atom(atom);
                if *positive && body.atoms.len() < MAX_ATOMS {
                    body.atoms.push(atom);
                } else if !*positive && is_static {
                    body.absent.push(atom);
                }
            }
        }
        Condition::Equal(left, right, positive) => {
            for body in &mut bodies {
                body.equalities.push((body.term(*left), body.term(*right), *positive));
            }
        }
        Condition::Compare(how, left, right, positive) => {
            if is_static(left, traits) && is_static(right, traits) {
                for body in &mut bodies {
                    body.comparisons.push((*how, body.number(left), body.number(right), *positive));
                }
            }
        }
        Condition::And(parts) => {
            for part in parts {
                bodies = relax(part, bodies, traits);
            }
        }
        Condition::Or(parts) => {
            if parts.len().saturating_mul(bodies.len()) > MAX_BODIES {
                return bodies;
            }
            let mut all = Vec::new();
            for part in parts {
                all.extend(relax(part, bodies.clone(), traits));
            }
            if all.len() <= MAX_BODIES {
                bodies = all;
            }
        }
        Condition::Exists(of) => {
            for body in &mut bodies {
                of.variables.iter().for_each(|variable| body.declare(variable));
            }
            bodies = relax(&of.body, bodies, traits);
        }
    }
    bodies
}

/// Whether nothing in `number` ever changes.
pub(crate) fn is_static(number: &Number, traits: &Traits) -> bool {
    match number {
        Number::Constant(_) => true,
        Number::Fluent(atom) => traits.static_function[atom.symbol as usize],
        Number::Add(parts) | Number::Multiply(parts) => parts.iter().all(|part| is_static(part, traits)),
        Number::Subtract(left, right) | Number::Divide(left, right) => {
            is_static(left, traits) && is_static(right, traits)
        }
        Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => false,
    }
}
