//! Conditions under a binding: statics are decided, unreachable atoms are false, quantifiers become lists.

use super::build::Builder;
use super::facts::Overflow;
use super::join::{Binding, join, value};
use super::rule::{Body, relax};
use super::terms::{Compared, Join};
use crate::pddl::ast::{Comparator, Number, Term, Variable};
use crate::pddl::normalise::{Condition, Quantified, negate};
use hadal_system::rows::Sign;
use std::collections::HashMap;
use std::rc::Rc;

/// A conjunct of a ground condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Literal {
    /// An atom is true, or false.
    Atom(u32, bool),
    /// A comparison is true.
    Compare(u32),
}

/// A ground condition in negation normal form, without constants inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    Constant(bool),
    Literal(Literal),
    And(Vec<Ground>),
    Or(Vec<Ground>),
}

/// A conjunction: literals, and disjunctions of which each must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conjunction {
    pub(crate) literals: Vec<Literal>,
    pub(crate) choices: Vec<Vec<Ground>>,
}

impl Conjunction {
    /// Adds a conjunct; false where that makes it false.
    fn absorb(&mut self, ground: Ground) -> bool {
        match ground {
            Ground::Constant(value) => return value,
            Ground::Literal(literal) => self.literals.push(literal),
            Ground::And(parts) => return parts.into_iter().all(|part| self.absorb(part)),
            Ground::Or(parts) => self.choices.push(parts),
        }
        true
    }
}

/// What is known about each quantifier, by its address: conditions stay where they are while rows are made.
pub(crate) type Guides = HashMap<usize, Rc<Guide>>;

/// Where a quantifier matters, and what it depends on.
pub(crate) struct Guide {
    bodies: Vec<Body>,
    /// Slots outside that it names.
    used: Vec<u32>,
}

/// Quantifiers under bindings that were met before: many instances of a schema differ in other arguments only.
pub(crate) type Memory = HashMap<(usize, Vec<u32>), Ground>;

/// Ground quantifiers that are remembered at most.
const MAX_MEMORY: usize = 1 << 16;

impl Builder<'_> {
    /// Adds the conjuncts of `condition` to `out`; false where one of them is false.
    pub(crate) fn conjoin(
        &mut self,
        condition: &Condition,
        objects: &mut Vec<u32>,
        out: &mut Conjunction,
    ) -> Result<bool, Overflow> {
        match condition {
            Condition::And(parts) => {
                for part in parts {
                    if !self.conjoin(part, objects, out)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            other => {
                let ground = self.ground(other, objects)?;
                Ok(out.absorb(ground))
            }
        }
    }

    /// The condition under `objects`.
    pub(crate) fn ground(
        &mut self,
        condition: &Condition,
        objects: &mut Vec<u32>,
    ) -> Result<Ground, Overflow> {
        Ok(match condition {
            Condition::Constant(value) => Ground::Constant(*value),
            Condition::Equal(left, right, positive) => {
                Ground::Constant((value(*left, objects) == value(*right, objects)) == *positive)
            }
            Condition::Atom(atom, positive) => {
                let tuple = self.facts.tuple_of(atom, objects);
                match (tuple, self.base[atom.symbol as usize]) {
                    (Some(tuple), Some(base)) => Ground::Literal(Literal::Atom(base + tuple, *positive)),
                    (known, _) => Ground::Constant(known.is_some() == *positive),
                }
            }
            Condition::Compare(how, left, right, positive) => {
                self.comparison(*how, (left, right), *positive, objects)?
            }
            Condition::And(parts) => {
                let mut list = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.ground(part, objects)? {
                        Ground::Constant(true) => {}
                        Ground::Constant(false) => return Ok(Ground::Constant(false)),
                        Ground::And(inner) => list.extend(inner),
                        other => list.push(other),
                    }
                }
                gather(list, true)
            }
            Condition::Or(parts) => {
                let mut list = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.ground(part, objects)? {
                        Ground::Constant(false) => {}
                        Ground::Constant(true) => return Ok(Ground::Constant(true)),
                        Ground::Or(inner) => list.extend(inner),
                        other => list.push(other),
                    }
                }
                gather(list, false)
            }
            Condition::Exists(of) => self.quantified(of, objects, true)?,
            Condition::Forall(of) => self.quantified(of, objects, false)?,
        })
    }

    fn quantified(
        &mut self,
        of: &Quantified,
        objects: &mut Vec<u32>,
        exists: bool,
    ) -> Result<Ground, Overflow> {
        let guide = self.guide_of(of, objects, exists);
        let known = (guide.used.len() < objects.len()).then(|| {
            let used = guide.used.iter().map(|&slot| objects[slot as usize]).collect::<Vec<u32>>();
            (std::ptr::from_ref(of) as usize, used)
        });
        if let Some(ground) = known.as_ref().and_then(|key| self.memory.get(key)) {
            return Ok(ground.clone());
        }
        let ground = self.expand(of, &guide, objects, exists)?;
        if let Some(key) = known
            && self.memory.len() < MAX_MEMORY
        {
            self.memory.insert(key, ground.clone());
        }
        Ok(ground)
    }

    fn expand(
        &mut self,
        of: &Quantified,
        guide: &Guide,
        objects: &mut Vec<u32>,
        exists: bool,
    ) -> Result<Ground, Overflow> {
        let (outside, own) = (objects.len(), of.variables.len());
        let tuples = if own == 0 { vec![0] } else { self.enumerate(&guide.bodies, objects, own) };
        let mut list = Vec::new();
        for tuple in tuples.chunks(own.max(1)) {
            objects.extend_from_slice(&tuple[..own]);
            let part = self.ground(&of.body, objects);
            objects.truncate(outside);
            match (part?, exists) {
                (Ground::Constant(value), exists) if value == exists => return Ok(Ground::Constant(exists)),
                (Ground::Constant(_), _) => {}
                (Ground::Or(inner), true) | (Ground::And(inner), false) => list.extend(inner),
                (other, _) => list.push(other),
            }
        }
        Ok(gather(list, !exists))
    }

    /// Where a quantifier's truth may depend on its variables: where the body (of `exists`) or its negation (of `forall`)
    /// is not excluded by what is reachable.
    fn guide_of(&mut self, of: &Quantified, objects: &[u32], exists: bool) -> Rc<Guide> {
        let traits = self.facts.traits;
        let guide = self.guides.entry(std::ptr::from_ref(of) as usize).or_insert_with(|| {
            let outer = (0..objects.len()).map(|slot| Variable { slot: slot as u32, sort: 0 });
            let variables: Vec<Variable> = outer.chain(of.variables.iter().cloned()).collect();
            let body = vec![Body::over(&variables)];
            let bodies =
                if exists { relax(&of.body, body, traits) } else { relax(&negate(&of.body), body, traits) };
            let mut used = Vec::new();
            slots_of(&of.body, &mut used);
            used.retain(|&slot| (slot as usize) < objects.len());
            used.sort_unstable();
            used.dedup();
            Rc::new(Guide { bodies, used })
        });
        Rc::clone(guide)
    }

    /// What the `count` slots after `objects` may hold so that one of `bodies` is true; ascending, each once.
    pub(crate) fn enumerate(&mut self, bodies: &[Body], objects: &[u32], count: usize) -> Vec<u32> {
        let mut tuples: Vec<u32> = Vec::new();
        let mut binding = Binding::default();
        let slots = objects.len()..objects.len() + count;
        for body in bodies {
            binding.reset(body, objects);
            join(&mut self.facts, body, &mut binding, None, &mut |_, found| {
                tuples.extend_from_slice(&found[slots.clone()]);
            });
        }
        let mut list: Vec<&[u32]> = tuples.chunks(count).collect();
        list.sort_unstable();
        list.dedup();
        list.concat()
    }

    fn comparison(
        &mut self,
        how: Comparator,
        (left, right): (&Number, &Number),
        positive: bool,
        objects: &[u32],
    ) -> Result<Ground, Overflow> {
        let (Some(left), Some(right)) = (self.number(left, objects)?, self.number(right, objects)?) else {
            return Ok(Ground::Constant(false));
        };
        let (greater, less, sign) = match (how, positive) {
            (Comparator::Less, true) | (Comparator::AtLeast, false) => (right, left, Sign::Positive),
            (Comparator::AtMost, true) | (Comparator::Greater, false) => (right, left, Sign::NotNegative),
            (Comparator::Greater, true) | (Comparator::AtMost, false) => (left, right, Sign::Positive),
            (Comparator::AtLeast, true) | (Comparator::Less, false) => (left, right, Sign::NotNegative),
            (Comparator::Equal, true) => (left, right, Sign::Zero),
            (Comparator::Equal, false) => (left, right, Sign::NotZero),
        };
        let Some(difference) = self.terms.join(Join::Subtract, greater, less)? else {
            return Ok(Ground::Constant(false));
        };
        Ok(match self.terms.compare(difference, sign) {
            Compared::Decided(value) => Ground::Constant(value),
            Compared::Open(number) => Ground::Literal(Literal::Compare(number)),
        })
    }
}

/// A list as a conjunction or disjunction.
fn gather(mut list: Vec<Ground>, conjunction: bool) -> Ground {
    match (list.len(), conjunction) {
        (0, value) => Ground::Constant(value),
        (1, _) => list.remove(0),
        (_, true) => Ground::And(list),
        (_, false) => Ground::Or(list),
    }
}

/// The slots that a condition names, its own included.
fn slots_of(condition: &Condition, slots: &mut Vec<u32>) {
    let mut terms = |terms: &[Term]| {
        slots.extend(terms.iter().filter_map(|term| match term {
            Term::Variable(slot) => Some(*slot),
            Term::Object(_) => None,
        }));
    };
    match condition {
        Condition::Constant(_) => {}
        Condition::Atom(atom, _) => terms(&atom.terms),
        Condition::Equal(left, right, _) => terms(&[*left, *right]),
        Condition::Compare(_, left, right, _) => {
            number_slots(left, slots);
            number_slots(right, slots);
        }
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| slots_of(part, slots)),
        Condition::Exists(of) | Condition::Forall(of) => slots_of(&of.body, slots),
    }
}

fn number_slots(number: &Number, slots: &mut Vec<u32>) {
    match number {
        Number::Fluent(atom) => slots.extend(atom.terms.iter().filter_map(|term| match term {
            Term::Variable(slot) => Some(*slot),
            Term::Object(_) => None,
        })),
        Number::Add(parts) | Number::Multiply(parts) => {
            parts.iter().for_each(|part| number_slots(part, slots))
        }
        Number::Subtract(left, right) | Number::Divide(left, right) => {
            number_slots(left, slots);
            number_slots(right, slots);
        }
        Number::Constant(_) | Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => {}
    }
}
