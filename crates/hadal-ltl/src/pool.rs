//! Formulas in negation normal form, each stored once: equal formulas have equal numbers.
//!
//! Makers simplify on the way (see `rewrite`); [`Pool::implies`] is the syntactic implication of Somenzi and Bloem
//! ("Efficient Büchi automata from LTL formulae", CAV 2000), which never says yes wrongly and often says no.

use crate::formula::Ltl;
use std::collections::HashMap;

/// The number of a formula in its pool.
pub type Id = u32;

/// A formula whose parts are numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Always true.
    True,
    /// Never true.
    False,
    /// An atom, or its negation where false.
    Atom(u32, bool),
    /// All of them: at least two, ascending, none a conjunction.
    And(Vec<Id>),
    /// One of them: at least two, ascending, none a disjunction.
    Or(Vec<Id>),
    /// In the next state.
    Next(Id),
    /// Until.
    Until(Id, Id),
    /// Release.
    Release(Id, Id),
}

/// All formulas met in one translation.
#[derive(Debug, Default)]
pub struct Pool {
    nodes: Vec<Node>,
    numbers: HashMap<Node, Id>,
    negations: HashMap<Id, Id>,
    implications: HashMap<(Id, Id), bool>,
}

/// The formula that is always true.
pub const TRUE: Id = 0;
/// The formula that is never true.
pub const FALSE: Id = 1;

impl Pool {
    /// A pool with [`TRUE`] and [`FALSE`].
    pub fn new() -> Self {
        let mut pool = Pool::default();
        pool.intern(Node::True);
        pool.intern(Node::False);
        pool
    }

    /// The formula behind a number.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub(crate) fn intern(&mut self, node: Node) -> Id {
        if let Some(&id) = self.numbers.get(&node) {
            return id;
        }
        let id = self.nodes.len() as Id;
        self.nodes.push(node.clone());
        self.numbers.insert(node, id);
        id
    }

    /// The simplified negation normal form of `formula`, or of its negation.
    pub fn add(&mut self, formula: &Ltl, negated: bool) -> Id {
        match formula {
            Ltl::True => {
                if negated {
                    FALSE
                } else {
                    TRUE
                }
            }
            Ltl::False => {
                if negated {
                    TRUE
                } else {
                    FALSE
                }
            }
            Ltl::Atom(n) => self.intern(Node::Atom(*n, !negated)),
            Ltl::Not(a) => self.add(a, !negated),
            Ltl::Next(a) => {
                let a = self.add(a, negated);
                self.next(a)
            }
            Ltl::And(a, b) | Ltl::Or(a, b) => {
                let parts = vec![self.add(a, negated), self.add(b, negated)];
                if matches!(formula, Ltl::And(..)) != negated { self.and(parts) } else { self.or(parts) }
            }
            Ltl::Until(a, b) | Ltl::Release(a, b) => {
                let (a, b) = (self.add(a, negated), self.add(b, negated));
                if matches!(formula, Ltl::Until(..)) != negated {
                    self.until(a, b)
                } else {
                    self.release(a, b)
                }
            }
        }
    }

    /// The negation, in negation normal form.
    pub fn not(&mut self, id: Id) -> Id {
        if let Some(&known) = self.negations.get(&id) {
            return known;
        }
        let negated = match self.node(id).clone() {
            Node::True => FALSE,
            Node::False => TRUE,
            Node::Atom(n, positive) => self.intern(Node::Atom(n, !positive)),
            Node::And(parts) => {
                let parts = parts.into_iter().map(|part| self.not(part)).collect();
                self.or(parts)
            }
            Node::Or(parts) => {
                let parts = parts.into_iter().map(|part| self.not(part)).collect();
                self.and(parts)
            }
            Node::Next(a) => {
                let a = self.not(a);
                self.next(a)
            }
            Node::Until(a, b) => {
                let (a, b) = (self.not(a), self.not(b));
                self.release(a, b)
            }
            Node::Release(a, b) => {
                let (a, b) = (self.not(a), self.not(b));
                self.until(a, b)
            }
        };
        self.negations.insert(id, negated);
        self.negations.insert(negated, id);
        negated
    }

    /// Whether `f` certainly implies `g`.
    pub fn implies(&mut self, f: Id, g: Id) -> bool {
        if f == g || f == FALSE || g == TRUE {
            return true;
        }
        if let Some(&known) = self.implications.get(&(f, g)) {
            return known;
        }
        let answer = self.implies_by_parts(f, g);
        self.implications.insert((f, g), answer);
        answer
    }

    fn implies_by_parts(&mut self, f: Id, g: Id) -> bool {
        let (from, to) = (self.node(f).clone(), self.node(g).clone());
        match (&from, &to) {
            (Node::Or(parts), _) => return parts.iter().all(|&part| self.implies(part, g)),
            (_, Node::And(parts)) => return parts.iter().all(|&part| self.implies(f, part)),
            (Node::Next(a), Node::Next(b)) if self.implies(*a, *b) => return true,
            (Node::Until(a, b), Node::Until(c, _)) if self.implies(*a, *c) && self.implies(*b, g) => {
                return true;
            }
            (Node::Release(a, b), Node::Release(_, d)) if self.implies(*b, *d) && self.implies(*a, g) => {
                return true;
            }
            _ => {}
        }
        let weakened = match from {
            Node::And(parts) => parts.iter().any(|&part| self.implies(part, g)),
            Node::Until(a, b) => self.implies(a, g) && self.implies(b, g),
            Node::Release(_, b) => self.implies(b, g),
            _ => false,
        };
        weakened
            || match to {
                Node::Or(parts) => parts.iter().any(|&part| self.implies(f, part)),
                Node::Until(_, d) => self.implies(f, d),
                Node::Release(c, d) => self.implies(f, c) && self.implies(f, d),
                _ => false,
            }
    }

    /// Whether a word has the formula as soon as some suffix has it.
    pub(crate) fn is_eventual(&self, id: Id) -> bool {
        match self.node(id) {
            Node::True | Node::False => true,
            Node::Atom(..) => false,
            Node::And(parts) | Node::Or(parts) => parts.iter().all(|&part| self.is_eventual(part)),
            Node::Next(a) => self.is_eventual(*a),
            Node::Until(a, b) => *a == TRUE || self.is_eventual(*a) && self.is_eventual(*b),
            Node::Release(a, b) => self.is_eventual(*a) && self.is_eventual(*b),
        }
    }

    /// Whether all suffixes of a word with the formula have it.
    pub(crate) fn is_universal(&self, id: Id) -> bool {
        match self.node(id) {
            Node::True | Node::False => true,
            Node::Atom(..) => false,
            Node::And(parts) | Node::Or(parts) => parts.iter().all(|&part| self.is_universal(part)),
            Node::Next(a) => self.is_universal(*a),
            Node::Release(a, b) => *a == FALSE || self.is_universal(*a) && self.is_universal(*b),
            Node::Until(a, b) => self.is_universal(*a) && self.is_universal(*b),
        }
    }

    /// Whether no until stands in it: a bad prefix shows that it does not hold.
    pub fn is_safety(&self, id: Id) -> bool {
        self.is_without(id, |node| matches!(node, Node::Until(..)))
    }

    /// Whether no such operator stands in it.
    pub(crate) fn is_without(&self, id: Id, unwanted: fn(&Node) -> bool) -> bool {
        let node = self.node(id);
        !unwanted(node)
            && match node {
                Node::True | Node::False | Node::Atom(..) => true,
                Node::And(parts) | Node::Or(parts) => {
                    parts.iter().all(|&part| self.is_without(part, unwanted))
                }
                Node::Next(a) => self.is_without(*a, unwanted),
                Node::Until(a, b) | Node::Release(a, b) => {
                    self.is_without(*a, unwanted) && self.is_without(*b, unwanted)
                }
            }
    }
}
