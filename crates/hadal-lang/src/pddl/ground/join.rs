//! Joins: every way to make a body true, atom by atom, the one with the fewest candidates first.

use super::facts::{Facts, MAX_ARITY, compares};
use super::relation::{NONE, Relation, mix};
use super::rule::{Body, MAX_ATOMS};
use crate::pddl::ast::{Atom, Term};

/// A slot without an object.
pub(crate) const UNBOUND: u32 = u32::MAX;

/// The object in each slot, and which slots were filled since when.
#[derive(Default)]
pub(crate) struct Binding {
    pub(crate) objects: Vec<u32>,
    trail: Vec<u32>,
}

impl Binding {
    /// Empties it and makes room for the slots of `body`; the first ones hold `given`.
    pub(crate) fn reset(&mut self, body: &Body, given: &[u32]) {
        self.trail.clear();
        self.objects.clear();
        self.objects.extend_from_slice(given);
        self.objects.resize(body.sorts.len(), UNBOUND);
    }

    fn undo(&mut self, mark: usize) {
        for slot in self.trail.drain(mark..) {
            self.objects[slot as usize] = UNBOUND;
        }
    }

    /// Binds the variables of `atom` to a tuple. Types and equalities are checked at once.
    fn unify(&mut self, facts: &Facts, body: &Body, atom: &Atom, tuple: u32) -> bool {
        let tuple = facts.relations[atom.symbol as usize].tuple(tuple);
        for (&term, &object) in atom.terms.iter().zip(tuple) {
            match term {
                Term::Object(wanted) if wanted != object => return false,
                Term::Object(_) => {}
                Term::Variable(slot) if self.objects[slot as usize] == UNBOUND => {
                    if !facts.universe.has[body.sorts[slot as usize] as usize][object as usize] {
                        return false;
                    }
                    self.objects[slot as usize] = object;
                    self.trail.push(slot);
                }
                Term::Variable(slot) if self.objects[slot as usize] != object => return false,
                Term::Variable(_) => {}
            }
        }
        equalities_hold(body, &self.objects)
    }
}

/// The new fact a join begins with: the atom at `position` is tuple `tuple`. Atoms of the same predicate that stand before
/// it take earlier tuples only, so every way is found once (semi-naive evaluation).
#[derive(Clone, Copy)]
pub(crate) struct Trigger {
    pub(crate) position: usize,
    pub(crate) relation: u32,
    pub(crate) tuple: u32,
}

/// Calls `found` with every binding that makes `body` true in the visible facts. Bound slots of `binding` are kept.
pub(crate) fn join<F: FnMut(&mut Facts, &[u32])>(
    facts: &mut Facts,
    body: &Body,
    binding: &mut Binding,
    trigger: Option<Trigger>,
    found: &mut F,
) {
    let mut remaining: u128 = match body.atoms.len() {
        MAX_ATOMS => u128::MAX,
        count => (1u128 << count) - 1,
    };
    if let Some(trigger) = trigger {
        remaining &= !(1 << trigger.position);
        if !binding.unify(facts, body, &body.atoms[trigger.position], trigger.tuple) {
            return;
        }
    }
    Search { body, trigger, found }.go(facts, binding, remaining);
}

struct Search<'a, F> {
    body: &'a Body,
    trigger: Option<Trigger>,
    found: &'a mut F,
}

impl<F: FnMut(&mut Facts, &[u32])> Search<'_, F> {
    fn go(&mut self, facts: &mut Facts, binding: &mut Binding, mut remaining: u128) {
        if !facts.step() {
            return;
        }
        // The atom with the fewest candidates: how many, which, the first one, and the index they stand in.
        let mut best: Option<(u32, usize, u32, usize)> = None;
        let mut open = remaining;
        while open != 0 {
            let position = open.trailing_zeros() as usize;
            open &= open - 1;
            let atom = &self.body.atoms[position];
            let (mut key, mut mask) = (0, 0u64);
            for (column, &term) in atom.terms.iter().enumerate() {
                let object = value(term, &binding.objects);
                if object != UNBOUND {
                    key = mix(key, object);
                    mask |= 1 << column;
                }
            }
            let relation = &mut facts.relations[atom.symbol as usize];
            if mask.count_ones() as usize == atom.terms.len() {
                if !self.is_visible(relation, atom, position, &binding.objects) {
                    return;
                }
                remaining &= !(1 << position);
                continue;
            }
            let (count, first, index) = if mask == 0 {
                let count = relation.visible();
                (count, if count == 0 { NONE } else { 0 }, usize::MAX)
            } else {
                let index = relation.index(mask);
                let (first, count) = relation.candidates(index, key);
                (count, first, index)
            };
            if count == 0 {
                return;
            }
            if best.is_none_or(|(fewest, ..)| count < fewest) {
                best = Some((count, position, first, index));
            }
        }
        match best {
            Some((_, position, first, index)) => {
                self.try_candidates(facts, binding, remaining & !(1 << position), (position, first, index));
            }
            None => self.bind_rest(facts, binding, 0),
        }
    }

    fn try_candidates(
        &mut self,
        facts: &mut Facts,
        binding: &mut Binding,
        remaining: u128,
        (position, first, index): (usize, u32, usize),
    ) {
        let body = self.body;
        let atom = &body.atoms[position];
        let mark = binding.trail.len();
        let mut tuple = first;
        while tuple != NONE {
            if !self.is_later(atom, position, tuple) && binding.unify(facts, body, atom, tuple) {
                self.go(facts, binding, remaining);
            }
            binding.undo(mark);
            let relation = &facts.relations[atom.symbol as usize];
            tuple = if index != usize::MAX {
                relation.next(index, tuple)
            } else if tuple + 1 < relation.visible() {
                tuple + 1
            } else {
                NONE
            };
        }
    }

    /// Slots that no atom binds range over their sorts.
    fn bind_rest(&mut self, facts: &mut Facts, binding: &mut Binding, from: usize) {
        let Some(slot) = (from..self.body.sorts.len()).find(|&slot| binding.objects[slot] == UNBOUND) else {
            if decided(facts, self.body, &binding.objects) {
                (self.found)(facts, &binding.objects);
            }
            return;
        };
        let universe = facts.universe;
        for &object in &universe.members[self.body.sorts[slot] as usize] {
            binding.objects[slot] = object;
            if !facts.step() {
                break;
            }
            if equalities_hold(self.body, &binding.objects) {
                self.bind_rest(facts, binding, slot + 1);
            }
        }
        binding.objects[slot] = UNBOUND;
    }

    fn is_visible(&self, relation: &Relation, atom: &Atom, position: usize, objects: &[u32]) -> bool {
        let mut tuple = [0; MAX_ARITY];
        for (column, &term) in atom.terms.iter().enumerate() {
            tuple[column] = value(term, objects);
        }
        relation
            .find(&tuple[..atom.terms.len()])
            .is_some_and(|number| number < relation.visible() && !self.is_later(atom, position, number))
    }

    /// Whether another position of the same join finds this.
    fn is_later(&self, atom: &Atom, position: usize, tuple: u32) -> bool {
        self.trigger.is_some_and(|trigger| {
            position < trigger.position && atom.symbol == trigger.relation && tuple == trigger.tuple
        })
    }
}

/// The object a term stands for.
pub(crate) fn value(term: Term, objects: &[u32]) -> u32 {
    match term {
        Term::Object(object) => object,
        Term::Variable(slot) => objects[slot as usize],
    }
}

fn equalities_hold(body: &Body, objects: &[u32]) -> bool {
    body.equalities.iter().all(|&(left, right, equal)| {
        let (left, right) = (value(left, objects), value(right, objects));
        left == UNBOUND || right == UNBOUND || (left == right) == equal
    })
}

/// What statics decide once every slot is bound.
fn decided(facts: &Facts, body: &Body, objects: &[u32]) -> bool {
    equalities_hold(body, objects)
        && body.absent.iter().all(|atom| facts.tuple_of(atom, objects).is_none())
        && body.comparisons.iter().all(|(how, left, right, positive)| {
            match (facts.static_number(left, objects), facts.static_number(right, objects)) {
                (Ok(Some(left)), Ok(Some(right))) => compares(*how, left, right) == *positive,
                (Ok(_), Ok(_)) => false,
                // What is too large to hold is met again, and reported, where rows are made.
                _ => true,
            }
        })
}
