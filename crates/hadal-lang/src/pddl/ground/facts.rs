//! What is known while grounding: reachable tuples of every predicate and schema, and the numbers at the start.

use super::join::value;
use super::relation::Relation;
use super::{Budget, Excess};
use crate::pddl::ast::{Atom, Comparator, LiftedTask, Number, Universe};
use crate::pddl::normalise::Traits;
use hadal_system::rows::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};
use std::time::Instant;

/// How many arguments a predicate, function or action may have.
pub(crate) const MAX_ARITY: usize = 60;

/// A number grew too large to hold exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

/// Relations of predicates, then of schemas; values of functions at the start.
pub(crate) struct Facts<'a> {
    pub(crate) universe: &'a Universe,
    pub(crate) traits: &'a Traits,
    pub(crate) relations: Vec<Relation>,
    pub(crate) values: Vec<(Relation, Vec<Rational>)>,
    /// Steps of joins so far.
    pub(crate) work: u64,
    budget: Budget,
    /// What grounding had too much of; joins end early then.
    pub(crate) over: Option<Excess>,
}

/// Steps of joins between two looks at memory and clock.
const LOOK_EVERY: u64 = 1 << 14;

impl<'a> Facts<'a> {
    /// No facts, but the values at the start.
    pub(crate) fn new(task: &'a LiftedTask, traits: &'a Traits, budget: Budget) -> Self {
        let predicates = task.predicates.iter().map(|symbol| Relation::new(symbol.sorts.len()));
        let schemas = task.actions.iter().map(|action| Relation::new(action.parameters.len()));
        let mut values: Vec<(Relation, Vec<Rational>)> =
            task.functions.iter().map(|symbol| (Relation::new(symbol.sorts.len()), Vec::new())).collect();
        for (function, objects, value) in &task.init.values {
            let (keys, values) = &mut values[*function as usize];
            match keys.find(objects) {
                Some(known) => values[known as usize] = *value,
                None => {
                    keys.insert(objects);
                    values.push(*value);
                }
            }
        }
        Facts {
            universe: &task.universe,
            traits,
            relations: predicates.chain(schemas).collect(),
            values,
            work: 0,
            budget,
            over: None,
        }
    }

    /// The number of a known fact.
    pub(crate) fn tuple_of(&self, atom: &Atom, objects: &[u32]) -> Option<u32> {
        let mut tuple = [0; MAX_ARITY];
        for (column, &term) in atom.terms.iter().enumerate() {
            tuple[column] = value(term, objects);
        }
        self.relations[atom.symbol as usize].find(&tuple[..atom.terms.len()])
    }

    /// The value of a function at the start. One that only the metric reads and effects only raise or lower begins with 0
    /// where the problem says nothing, as action costs often do.
    pub(crate) fn initial(&self, function: u32, tuple: &[u32]) -> Option<Rational> {
        let (keys, values) = &self.values[function as usize];
        let function = function as usize;
        let counts = !self.traits.static_function[function]
            && !self.traits.read_function[function]
            && !self.traits.assigned_function[function];
        let known = keys.find(tuple).map(|number| values[number as usize]);
        known.or(counts.then(Rational::default))
    }

    /// A number that never changes; `None` where it is undefined.
    pub(crate) fn static_number(
        &self,
        number: &Number,
        objects: &[u32],
    ) -> Result<Option<Rational>, Overflow> {
        let pair = |left: &Number, right: &Number| {
            Ok((self.static_number(left, objects)?, self.static_number(right, objects)?))
        };
        let fold = |parts: &[Number], from: i128, with: fn(&Rational, &Rational) -> Option<Rational>| {
            let mut total = Rational::from_integer(from);
            for part in parts {
                match self.static_number(part, objects)? {
                    Some(part) => total = with(&total, &part).ok_or(Overflow)?,
                    None => return Ok(None),
                }
            }
            Ok(Some(total))
        };
        Ok(match number {
            Number::Constant(value) => Some(*value),
            Number::Fluent(atom) => {
                let tuple: Vec<u32> = atom.terms.iter().map(|&term| value(term, objects)).collect();
                self.initial(atom.symbol, &tuple)
            }
            Number::Add(parts) => fold(parts, 0, CheckedAdd::checked_add)?,
            Number::Multiply(parts) => fold(parts, 1, CheckedMul::checked_mul)?,
            Number::Subtract(left, right) => match pair(left, right)? {
                (Some(left), Some(right)) => Some(left.checked_sub(&right).ok_or(Overflow)?),
                _ => None,
            },
            Number::Divide(left, right) => match pair(left, right)? {
                (Some(left), Some(right)) if *right.numer() != 0 => {
                    Some(left.checked_div(&right).ok_or(Overflow)?)
                }
                _ => None,
            },
            Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => None,
        })
    }

    /// Counts a step; false where the budget is used up.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        self.work += 1;
        if self.work.is_multiple_of(LOOK_EVERY) {
            self.look(0);
        }
        self.over.is_none()
    }

    /// Whether `more` bytes can be held besides what is known here.
    pub(crate) fn has_room(&self, more: usize) -> Result<(), Excess> {
        let bytes = self.bytes() + more;
        if bytes > self.budget.bytes { Err(Excess::Memory { bytes }) } else { Ok(()) }
    }

    /// Looks at the budget, with `more` bytes held elsewhere.
    #[cold]
    pub(crate) fn look(&mut self, more: usize) {
        if let Err(excess) = self.has_room(more) {
            self.over = Some(excess);
        } else if self.work > self.budget.work {
            self.over = Some(Excess::Work { steps: self.work });
        } else if self.budget.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.over = Some(Excess::Time);
        }
    }

    /// Bytes held by relations.
    pub(crate) fn bytes(&self) -> usize {
        self.relations.iter().map(Relation::bytes).sum()
    }
}

/// Whether two numbers compare so.
pub(crate) fn compares(how: Comparator, left: Rational, right: Rational) -> bool {
    match how {
        Comparator::Less => left < right,
        Comparator::AtMost => left <= right,
        Comparator::Equal => left == right,
        Comparator::AtLeast => left >= right,
        Comparator::Greater => left > right,
    }
}
