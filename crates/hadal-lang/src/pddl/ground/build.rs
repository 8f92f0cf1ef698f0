//! The tables that rows are made in: numbers of atoms, of numeric fluents, of auxiliary atoms.

use super::condition::{Guides, Literal, Memory};
use super::facts::{Facts, Overflow};
use super::join::value;
use super::objective::Objective;
use super::relation::Relation;
use super::terms::{Join, Terms};
use crate::pddl::ast::{LiftedTask, Number};
use hadal_system::rows::Rational;
use std::collections::HashMap;

/// A disjunction as a list of conjunctions.
pub(crate) type Disjunction = Vec<Vec<Literal>>;

/// What rows are made in. Atoms are numbered predicate by predicate, auxiliary ones follow.
pub(crate) struct Builder<'a> {
    pub(crate) task: &'a LiftedTask,
    pub(crate) facts: Facts<'a>,
    /// The number of a predicate's first atom; none where it is static.
    pub(crate) base: Vec<Option<u32>>,
    /// Atoms of predicates.
    pub(crate) atom_count: u32,
    /// First atoms of predicates that have any, ascending.
    firsts: Vec<(u32, u32)>,
    /// Each is true where one of its conjunctions is.
    pub(crate) auxiliaries: Vec<Disjunction>,
    pub(crate) auxiliary_index: HashMap<Disjunction, u32>,
    pub(crate) terms: Terms,
    /// Numeric fluents in order of their numbers: function and arguments.
    pub(crate) numbers: Vec<(u32, Vec<u32>)>,
    number_index: Vec<(Relation, Vec<u32>)>,
    pub(crate) guides: Guides,
    pub(crate) memory: Memory,
    pub(crate) objective: Objective,
    /// Bytes of the rows made so far.
    pub(crate) row_bytes: usize,
}

impl<'a> Builder<'a> {
    /// Tables for the reachable `facts`.
    pub(crate) fn new(task: &'a LiftedTask, facts: Facts<'a>, objective: Objective) -> Self {
        let mut atom_count = 0;
        let mut base = Vec::with_capacity(task.predicates.len());
        let mut firsts = Vec::new();
        for (predicate, &is_static) in facts.traits.static_predicate.iter().enumerate() {
            base.push((!is_static).then_some(atom_count));
            if !is_static && facts.relations[predicate].len() > 0 {
                firsts.push((atom_count, predicate as u32));
                atom_count += facts.relations[predicate].len();
            }
        }
        let number_index =
            task.functions.iter().map(|symbol| (Relation::new(symbol.sorts.len()), Vec::new())).collect();
        Builder {
            task,
            facts,
            base,
            atom_count,
            firsts,
            auxiliaries: Vec::new(),
            auxiliary_index: HashMap::new(),
            terms: Terms::default(),
            numbers: Vec::new(),
            number_index,
            guides: Guides::new(),
            memory: Memory::new(),
            objective,
            row_bytes: 0,
        }
    }

    /// Forgets what goes by the addresses of quantifiers, before conditions that do not last are grounded.
    pub(crate) fn forget_quantifiers(&mut self) {
        self.guides.clear();
        self.memory.clear();
    }

    /// Predicate and arguments of an atom that is not auxiliary.
    pub(crate) fn atom(&self, atom: u32) -> (u32, &[u32]) {
        let after = self.firsts.partition_point(|&(first, _)| first <= atom);
        let predicate = self.firsts[after - 1].1 as usize;
        let base = self.base[predicate].unwrap_or(0);
        (predicate as u32, self.facts.relations[predicate].tuple(atom - base))
    }

    /// The number of a numeric fluent.
    pub(crate) fn fluent(&mut self, function: u32, tuple: &[u32]) -> u32 {
        let (keys, numbers) = &mut self.number_index[function as usize];
        if let Some(known) = keys.find(tuple) {
            return numbers[known as usize];
        }
        let number = self.numbers.len() as u32;
        keys.insert(tuple);
        numbers.push(number);
        self.numbers.push((function, tuple.to_vec()));
        number
    }

    /// A numeric expression as a term; `None` where it is undefined in every state.
    pub(crate) fn number(&mut self, number: &Number, objects: &[u32]) -> Result<Option<u32>, Overflow> {
        match number {
            Number::Constant(value) => Ok(Some(self.terms.constant(*value))),
            Number::Fluent(atom) => {
                let tuple: Vec<u32> = atom.terms.iter().map(|&term| value(term, objects)).collect();
                if self.facts.traits.static_function[atom.symbol as usize] {
                    let value = self.facts.initial(atom.symbol, &tuple);
                    return Ok(value.map(|value| self.terms.constant(value)));
                }
                let fluent = self.fluent(atom.symbol, &tuple);
                Ok(Some(self.terms.number(fluent)))
            }
            Number::Add(parts) => self.fold(Join::Add, parts, 0, objects),
            Number::Multiply(parts) => self.fold(Join::Multiply, parts, 1, objects),
            Number::Subtract(left, right) => self.pair(Join::Subtract, left, right, objects),
            Number::Divide(left, right) => self.pair(Join::Divide, left, right, objects),
            Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => Ok(None),
        }
    }

    fn fold(
        &mut self,
        how: Join,
        parts: &[Number],
        from: i128,
        objects: &[u32],
    ) -> Result<Option<u32>, Overflow> {
        let mut total = self.terms.constant(Rational::from_integer(from));
        for part in parts {
            let Some(part) = self.number(part, objects)? else { return Ok(None) };
            match self.terms.join(how, total, part)? {
                Some(joined) => total = joined,
                None => return Ok(None),
            }
        }
        Ok(Some(total))
    }

    fn pair(
        &mut self,
        how: Join,
        left: &Number,
        right: &Number,
        objects: &[u32],
    ) -> Result<Option<u32>, Overflow> {
        match (self.number(left, objects)?, self.number(right, objects)?) {
            (Some(left), Some(right)) => self.terms.join(how, left, right),
            _ => Ok(None),
        }
    }
}
