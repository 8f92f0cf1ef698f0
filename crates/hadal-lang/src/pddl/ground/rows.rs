//! Instances of schemas as rows over ground literals.

use super::Excess;
use super::build::Builder;
use super::condition::{Conjunction, Literal};
use super::facts::Overflow;
use super::join::value;
use super::reach::Schema;
use super::rule::{Body, relax};
use super::terms::Join;
use crate::pddl::ast::{Atom, Operator, Update};
use crate::pddl::normalise::{Condition, FlatEffect, Leaf};
use crate::pddl::soft::Wish;
use hadal_system::rows::{Need, Rational, list_bytes};

/// How many rows a precondition with disjunctions may become.
const MAX_ROWS: usize = 8;
/// Instances between two looks at the budget.
const LOOK_EVERY: u32 = 1 << 10;

/// A ground action over literals.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroundRow {
    pub(crate) schema: u32,
    pub(crate) arguments: Vec<u32>,
    pub(crate) needs: Vec<Literal>,
    pub(crate) effects: Vec<GroundEffect>,
    pub(crate) cost: Option<u32>,
    pub(crate) hidden: bool,
}

impl GroundRow {
    /// Bytes that it takes, those that its lists point to included.
    pub(crate) fn bytes(&self) -> usize {
        let literals = |list: &Vec<Literal>| list_bytes(list.capacity(), size_of::<Literal>());
        size_of::<GroundRow>()
            + list_bytes(self.arguments.capacity(), size_of::<u32>())
            + literals(&self.needs)
            + list_bytes(self.effects.capacity(), size_of::<GroundEffect>())
            + self.effects.iter().map(|effect| literals(&effect.when)).sum::<usize>()
    }
}

/// One effect of a ground action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroundEffect {
    pub(crate) when: Vec<Literal>,
    pub(crate) change: GroundChange,
}

/// What an effect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroundChange {
    Add(u32),
    Delete(u32),
    Assign(u32, u32),
    Increase(u32, u32),
}

/// Why a schema's rows could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowError {
    /// A number is too large.
    Overflow,
    /// A step may lower the metric: its numbers must be kept in the state.
    NegativeCost,
    /// Two effects change one number in ways that do not add up.
    Clash(hadal_system::Span),
    /// The budget is used up.
    Excess(Excess),
}

impl From<Overflow> for RowError {
    fn from(_: Overflow) -> Self {
        RowError::Overflow
    }
}

/// A schema and what its rows are made with.
struct Lifted<'s> {
    number: u32,
    schema: &'s Schema,
    wishes: &'s [Wish],
    /// Of each effect: where it may happen.
    guides: &'s [Vec<Body>],
}

impl Builder<'_> {
    /// The rows of every reachable instance of schema `number`.
    pub(crate) fn rows_of(
        &mut self,
        number: u32,
        schema: &Schema,
        wishes: &[Wish],
        rows: &mut Vec<GroundRow>,
    ) -> Result<(), RowError> {
        let relation = self.task.predicates.len() + number as usize;
        let guides: Vec<Vec<Body>> = schema
            .effects
            .iter()
            .map(|effect| self.guide(effect, self.facts.relations[relation].arity()))
            .collect();
        let lifted = Lifted { number, schema, wishes, guides: &guides };
        let mut objects = Vec::new();
        for instance in 0..self.facts.relations[relation].len() {
            objects.clear();
            objects.extend_from_slice(self.facts.relations[relation].tuple(instance));
            let before = rows.len();
            self.instance(&lifted, &mut objects, rows)?;
            self.row_bytes += rows[before..].iter().map(GroundRow::bytes).sum::<usize>();
            if instance % LOOK_EVERY == LOOK_EVERY - 1 {
                self.facts.look(self.row_bytes + self.terms.bytes());
            }
            if let Some(excess) = self.facts.over {
                return Err(RowError::Excess(excess));
            }
        }
        Ok(())
    }

    /// Where a quantified effect may happen.
    fn guide(&self, effect: &FlatEffect, parameters: usize) -> Vec<Body> {
        if effect.variables.is_empty() {
            return Vec::new();
        }
        let outer = (0..parameters).map(|slot| crate::pddl::ast::Variable { slot: slot as u32, sort: 0 });
        let variables: Vec<_> = outer.chain(effect.variables.iter().cloned()).collect();
        relax(&effect.condition, vec![Body::over(&variables)], self.facts.traits)
    }

    fn instance(
        &mut self,
        lifted: &Lifted<'_>,
        objects: &mut Vec<u32>,
        rows: &mut Vec<GroundRow>,
    ) -> Result<(), RowError> {
        let &Lifted { number, schema, wishes, guides } = lifted;
        let mut conjunction = Conjunction::default();
        if !self.conjoin(&schema.precondition, objects, &mut conjunction)? {
            return Ok(());
        }
        let alternatives = self.alternatives(conjunction, MAX_ROWS);
        if alternatives.is_empty() {
            return Ok(());
        }
        let mut row = GroundRow { schema: number, arguments: objects.clone(), ..GroundRow::default() };
        let mut cost = self.step_cost();
        let parameters = objects.len();
        for (effect, guide) in schema.effects.iter().zip(guides) {
            if effect.variables.is_empty() {
                if !self.effect(effect, objects, &mut row, &mut cost)? {
                    return Ok(());
                }
                continue;
            }
            let own = effect.variables.len();
            for tuple in self.enumerate(guide, objects, own).chunks(own) {
                objects.extend_from_slice(tuple);
                let defined = self.effect(effect, objects, &mut row, &mut cost);
                objects.truncate(parameters);
                if !defined? {
                    return Ok(());
                }
            }
        }
        for wish in wishes {
            let part = self.wish_cost(wish, objects)?;
            cost = self.plus(cost, part)?;
        }
        tidy_effects(&mut row.effects);
        if row.effects.is_empty() {
            return Ok(());
        }
        if !self.terms.is_never_negative(cost) {
            return Err(RowError::NegativeCost);
        }
        row.cost = self.objective.linear.is_some().then_some(cost);
        let (last, others) = alternatives.split_last().map_or((None, [].as_slice()), |(l, o)| (Some(l), o));
        for needs in others {
            rows.push(GroundRow { needs: needs.clone(), ..row.clone() });
        }
        if let Some(needs) = last {
            row.needs.clone_from(needs);
            rows.push(row);
        }
        Ok(())
    }

    /// What every step adds to the metric.
    fn step_cost(&mut self) -> u32 {
        let steps = self.objective.linear.as_ref().map_or(Rational::from_integer(0), |linear| linear.steps);
        self.terms.constant(steps)
    }

    pub(crate) fn plus(&mut self, left: u32, right: u32) -> Result<u32, RowError> {
        self.terms.join(Join::Add, left, right)?.ok_or(RowError::Overflow)
    }

    /// Adds what an effect does under `objects`; false where a number it reads is never defined.
    fn effect(
        &mut self,
        effect: &FlatEffect,
        objects: &mut Vec<u32>,
        row: &mut GroundRow,
        cost: &mut u32,
    ) -> Result<bool, RowError> {
        let mut conditions = Conjunction::default();
        if !matches!(effect.condition, Condition::Constant(true))
            && !self.conjoin(&effect.condition, objects, &mut conditions)?
        {
            return Ok(true);
        }
        let change = match &effect.leaf {
            Leaf::Add(atom) => self.changed(atom, objects).map(GroundChange::Add),
            Leaf::Delete(atom) => self.changed(atom, objects).map(GroundChange::Delete),
            Leaf::Update(update) => {
                let Some(when) = self.single(conditions) else { return Ok(true) };
                return self.update(update, objects, when, (row, cost));
            }
        };
        let Some(change) = change else { return Ok(true) };
        for when in self.alternatives(conditions, MAX_ROWS) {
            row.effects.push(GroundEffect { when, change });
        }
        Ok(true)
    }

    /// The atom, where it is reachable.
    fn changed(&self, atom: &Atom, objects: &[u32]) -> Option<u32> {
        let base = self.base[atom.symbol as usize]?;
        self.facts.tuple_of(atom, objects).map(|tuple| base + tuple)
    }

    fn update(
        &mut self,
        update: &Update,
        objects: &[u32],
        when: Vec<Literal>,
        (row, cost): (&mut GroundRow, &mut u32),
    ) -> Result<bool, RowError> {
        let function = update.target.symbol;
        let tuple: Vec<u32> = update.target.terms.iter().map(|&term| value(term, objects)).collect();
        let Some(amount) = self.number(&update.value, objects)? else { return Ok(false) };
        let zero = self.terms.constant(Rational::from_integer(0));
        let amount = match update.operator {
            Operator::Decrease => self.terms.join(Join::Subtract, zero, amount)?.ok_or(RowError::Overflow)?,
            _ => amount,
        };
        if self.objective.accumulates[function as usize] {
            let coefficient = self
                .objective
                .linear
                .as_ref()
                .and_then(|linear| linear.fluents.get(&(function, tuple)).copied());
            let Some(coefficient) = coefficient else { return Ok(true) };
            let coefficient = self.terms.constant(coefficient);
            let mut part = self.terms.join(Join::Multiply, coefficient, amount)?.ok_or(RowError::Overflow)?;
            for literal in when {
                let holds = self.holds(literal);
                part = self.terms.join(Join::Multiply, holds, part)?.ok_or(RowError::Overflow)?;
            }
            *cost = self.plus(*cost, part)?;
            return Ok(true);
        }
        let fluent = self.fluent(function, &tuple);
        let own = self.terms.number(fluent);
        let change = match update.operator {
            Operator::Assign => GroundChange::Assign(fluent, amount),
            Operator::Increase | Operator::Decrease => GroundChange::Increase(fluent, amount),
            Operator::ScaleUp => match self.terms.join(Join::Multiply, own, amount)? {
                Some(product) => GroundChange::Assign(fluent, product),
                None => return Ok(false),
            },
            Operator::ScaleDown => match self.terms.join(Join::Divide, own, amount)? {
                Some(quotient) => GroundChange::Assign(fluent, quotient),
                None => return Ok(false),
            },
        };
        if clashes(&row.effects, &when, change) {
            return Err(RowError::Clash(update.span));
        }
        row.effects.push(GroundEffect { when, change });
        Ok(true)
    }

    /// 1 where a literal holds, else 0. Atoms stand for variables until these are known.
    pub(crate) fn holds(&mut self, literal: Literal) -> u32 {
        self.terms.holds(match literal {
            Literal::Atom(atom, positive) => Need::Is(atom, u32::from(positive)),
            Literal::Compare(number) => Need::Compares(number),
        })
    }
}

/// Whether an assignment and another change of the same number may happen together. Only effects whose conditions exclude
/// each other by their atoms may both be there.
fn clashes(effects: &[GroundEffect], when: &[Literal], change: GroundChange) -> bool {
    let target = |change: GroundChange| match change {
        GroundChange::Assign(number, _) => Some((number, true)),
        GroundChange::Increase(number, _) => Some((number, false)),
        _ => None,
    };
    let Some((number, assigns)) = target(change) else { return false };
    effects.iter().any(|effect| {
        let Some((other, other_assigns)) = target(effect.change) else { return false };
        let excluded = || {
            let mut both = [effect.when.as_slice(), when].concat();
            both.sort_unstable();
            super::disjunction::contradicts(&both)
        };
        other == number
            && (assigns || other_assigns)
            && !(effect.change == change && assigns == other_assigns)
            && !excluded()
    })
}

/// Deletes come first (an atom both deleted and added ends up true), repetitions and pointless deletes go.
fn tidy_effects(effects: &mut Vec<GroundEffect>) {
    let added: Vec<u32> = effects
        .iter()
        .filter_map(|effect| match effect.change {
            GroundChange::Add(atom) if effect.when.is_empty() => Some(atom),
            _ => None,
        })
        .collect();
    effects.retain(|effect| !matches!(effect.change, GroundChange::Delete(atom) if added.contains(&atom)));
    effects.sort_by_key(|effect| !matches!(effect.change, GroundChange::Delete(_)));
    let mut at = 0;
    while at < effects.len() {
        let repeated =
            !matches!(effects[at].change, GroundChange::Increase(..)) && effects[..at].contains(&effects[at]);
        if repeated {
            effects.remove(at);
        } else {
            at += 1;
        }
    }
}
