//! Conditions in negation normal form. A comparison and its negation are both false where a number is undefined.

use crate::pddl::ast::{Atom, Comparator, Formula, Number, Term, Variable};

/// A condition whose negations stand before atoms, equalities and comparisons only.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Atom(Atom, bool),
    Equal(Term, Term, bool),
    Compare(Comparator, Number, Number, bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Exists(Quantified),
    Forall(Quantified),
}

/// Variables and what is said of them.
#[derive(Clone, Debug)]
pub(crate) struct Quantified {
    pub(crate) variables: Vec<Variable>,
    pub(crate) body: Box<Condition>,
}

/// The normal form of `formula`, or of its negation. Preferences are left out: nobody has to meet them.
pub(crate) fn normalise(formula: &Formula, positive: bool) -> Condition {
    let all = |parts: &[Formula]| parts.iter().map(|part| normalise(part, positive)).collect::<Vec<_>>();
    let under = |variables: &[Variable], body: &Formula| Quantified {
        variables: variables.to_vec(),
        body: Box::new(normalise(body, positive)),
    };
    match (formula, positive) {
        (Formula::Constant(value), _) => Condition::Constant(*value == positive),
        (Formula::Atom(atom), _) => Condition::Atom(atom.clone(), positive),
        (Formula::Equal(left, right), _) => Condition::Equal(*left, *right, positive),
        (Formula::Compare(how, left, right), _) => {
            Condition::Compare(*how, (**left).clone(), (**right).clone(), positive)
        }
        (Formula::Not(inner), _) => normalise(inner, !positive),
        (Formula::And(parts), true) | (Formula::Or(parts), false) => conjunction(all(parts)),
        (Formula::Or(parts), true) | (Formula::And(parts), false) => disjunction(all(parts)),
        (Formula::Exists(variables, body), true) | (Formula::Forall(variables, body), false) => {
            Condition::Exists(under(variables, body))
        }
        (Formula::Forall(variables, body), true) | (Formula::Exists(variables, body), false) => {
            Condition::Forall(under(variables, body))
        }
        (Formula::Preference(..), _) => Condition::Constant(true),
    }
}

/// The negation, in normal form again.
pub(crate) fn negate(condition: &Condition) -> Condition {
    let under =
        |of: &Quantified| Quantified { variables: of.variables.clone(), body: Box::new(negate(&of.body)) };
    match condition {
        Condition::Constant(value) => Condition::Constant(!value),
        Condition::Atom(atom, positive) => Condition::Atom(atom.clone(), !positive),
        Condition::Equal(left, right, positive) => Condition::Equal(*left, *right, !positive),
        Condition::Compare(how, left, right, positive) => {
            Condition::Compare(*how, left.clone(), right.clone(), !positive)
        }
        Condition::And(parts) => disjunction(parts.iter().map(negate).collect()),
        Condition::Or(parts) => conjunction(parts.iter().map(negate).collect()),
        Condition::Exists(of) => Condition::Forall(under(of)),
        Condition::Forall(of) => Condition::Exists(under(of)),
    }
}

fn conjunction(parts: Vec<Condition>) -> Condition {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Condition::Constant(true) => {}
            Condition::And(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    if flat.len() == 1 { flat.remove(0) } else { Condition::And(flat) }
}

fn disjunction(parts: Vec<Condition>) -> Condition {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Condition::Constant(false) => {}
            Condition::Or(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    if flat.len() == 1 { flat.remove(0) } else { Condition::Or(flat) }
}
