//! Numeric expressions over the numbers of a ground task: equal ones are one, constants are folded exactly.

use super::facts::Overflow;
use hadal_system::rows::{Comparison, Need, Rational, Sign, Term};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};
use std::collections::HashMap;

/// Terms and comparisons by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) list: Vec<Term>,
    pub(crate) comparisons: Vec<Comparison>,
    index: HashMap<Term, u32>,
    comparison_index: HashMap<Comparison, u32>,
}

/// A comparison that was decided, or its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Decided(bool),
    Open(u32),
}

/// Operators of two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Terms {
    /// Bytes that they take, about.
    pub(crate) fn bytes(&self) -> usize {
        // A hash table has up to twice the room that its entries need.
        self.list.capacity() * size_of::<Term>()
            + self.index.capacity() * 2 * (size_of::<Term>() + 8)
            + self.comparisons.len() * 3 * (size_of::<Comparison>() + 8)
    }

    fn intern(&mut self, term: Term) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.index.entry(term).or_insert(next);
        if number == next {
            self.list.push(term);
        }
        number
    }

    pub(crate) fn constant(&mut self, value: Rational) -> u32 {
        self.intern(Term::Constant(value))
    }

    pub(crate) fn number(&mut self, number: u32) -> u32 {
        self.intern(Term::Number(number))
    }

    pub(crate) fn holds(&mut self, need: Need) -> u32 {
        self.intern(Term::Holds(need))
    }

    /// A term that is undefined in every state.
    pub(crate) fn undefined(&mut self) -> u32 {
        let (one, zero) = (self.constant(1.into()), self.constant(0.into()));
        self.intern(Term::Divide(one, zero))
    }

    pub(crate) fn as_constant(&self, term: u32) -> Option<Rational> {
        match self.list[term as usize] {
            Term::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Two terms joined; `None` where that is undefined in every state.
    pub(crate) fn join(&mut self, how: Join, left: u32, right: u32) -> Result<Option<u32>, Overflow> {
        let zero = Rational::from_integer(0);
        let one = Rational::from_integer(1);
        let (known_left, known_right) = (self.as_constant(left), self.as_constant(right));
        if let (Some(l), Some(r)) = (known_left, known_right) {
            let value = match how {
                Join::Add => l.checked_add(&r),
                Join::Subtract => l.checked_sub(&r),
                Join::Multiply => l.checked_mul(&r),
                Join::Divide if r == zero => return Ok(None),
                Join::Divide => l.checked_div(&r),
            };
            return Ok(Some(self.constant(value.ok_or(Overflow)?)));
        }
        Ok(Some(match (how, known_left, known_right) {
            (Join::Add, Some(l), _) if l == zero => right,
            (Join::Add | Join::Subtract, _, Some(r)) if r == zero => left,
            (Join::Multiply, Some(l), _) if l == one => right,
            (Join::Multiply | Join::Divide, _, Some(r)) if r == one => left,
            (Join::Divide, _, Some(r)) if r == zero => return Ok(None),
            (Join::Add, ..) => self.intern(Term::Add(left, right)),
            (Join::Subtract, ..) => self.intern(Term::Subtract(left, right)),
            (Join::Multiply, ..) => self.intern(Term::Multiply(left, right)),
            (Join::Divide, ..) => self.intern(Term::Divide(left, right)),
        }))
    }

    /// Compares a term with zero.
    pub(crate) fn compare(&mut self, term: u32, sign: Sign) -> Compared {
        let zero = Rational::from_integer(0);
        if let Some(value) = self.as_constant(term) {
            return Compared::Decided(match sign {
                Sign::Zero => value == zero,
                Sign::Positive => value > zero,
                Sign::NotNegative => value >= zero,
                Sign::NotZero => value != zero,
            });
        }
        let comparison = Comparison { term, sign };
        let next = self.comparisons.len() as u32;
        let number = *self.comparison_index.entry(comparison).or_insert(next);
        if number == next {
            self.comparisons.push(comparison);
        }
        Compared::Open(number)
    }

    /// Whether a term is never below zero, as far as its shape says.
    pub(crate) fn is_never_negative(&self, term: u32) -> bool {
        match self.list[term as usize] {
            Term::Constant(value) => value >= Rational::from_integer(0),
            Term::Holds(_) => true,
            Term::Add(left, right) | Term::Multiply(left, right) | Term::Divide(left, right) => {
                self.is_never_negative(left) && self.is_never_negative(right)
            }
            // One minus something that is 0 or 1.
            Term::Subtract(left, right) => {
                self.as_constant(left).is_some_and(|value| value >= Rational::from_integer(1))
                    && self.is_at_most_one(right)
            }
            Term::Number(_) => false,
        }
    }

    fn is_at_most_one(&self, term: u32) -> bool {
        match self.list[term as usize] {
            Term::Constant(value) => value <= Rational::from_integer(1),
            Term::Holds(_) => true,
            Term::Multiply(left, right) => {
                [left, right].iter().all(|&side| self.is_at_most_one(side) && self.is_never_negative(side))
            }
            Term::Subtract(left, right) => self.is_at_most_one(left) && self.is_never_negative(right),
            _ => false,
        }
    }
}
