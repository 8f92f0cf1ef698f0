//! From schemas to rows: what is reachable when nothing is deleted, then each instance of a schema with its conditions
//! decided as far as they can be.

mod build;
mod condition;
mod disjunction;
mod facts;
mod join;
mod objective;
mod reach;
mod relation;
mod rows;
mod rule;
mod terms;

pub(crate) use build::Builder;
pub(crate) use condition::{Conjunction, Ground, Literal};
pub(crate) use relation::Relation;
pub(crate) use rows::{GroundChange, GroundEffect, GroundRow, RowError};
pub(crate) use terms::{Compared, Join, Terms};

use super::ast::LiftedTask;
use super::normalise::{Condition, Traits, flatten, normalise};
use super::soft::{Soft, Wish, wishes_of};
use facts::Facts;
use hadal_system::Span;
use hadal_system::rows::{Metric, Rational, Sense, list_bytes};
use num_traits::{CheckedAdd, CheckedMul};
use objective::Objective;
use reach::{Schema, reach};
use std::time::Instant;

/// How much grounding may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bytes of facts and rows.
    pub(crate) bytes: usize,
    /// Steps of joins.
    pub(crate) work: u64,
    /// When it must be done.
    pub(crate) deadline: Option<Instant>,
}

/// What grounding had too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Facts and rows take more memory than they may.
    Memory {
        /// What they took at the end.
        bytes: usize,
    },
    /// Joins took more steps than they may.
    Work {
        /// How many.
        steps: u64,
    },
    /// The deadline is over.
    Time,
}

/// Why a task was not grounded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GroundError {
    /// The budget is used up.
    Excess(Excess),
    /// Something about the schema at this place.
    Schema(Span, RowError),
    /// Something about goal, rules, constraints or metric.
    Elsewhere(RowError),
}

/// A ground task over atoms.
pub(crate) struct GroundTask<'a> {
    pub(crate) builder: Builder<'a>,
    pub(crate) rows: Vec<GroundRow>,
    /// Heads and bodies of rules of derived atoms, auxiliary ones included.
    pub(crate) rules: Vec<(u32, Vec<Literal>)>,
    /// None: it can never hold.
    pub(crate) goal: Option<Vec<Literal>>,
    /// By atom.
    pub(crate) initial: Vec<bool>,
    /// Atoms that follow from rules.
    pub(crate) derived: Vec<bool>,
    /// What is optimised, over the builder's terms.
    pub(crate) metric: Metric,
    /// Preferences and constraints.
    pub(crate) soft: Soft,
}

/// How many rules a body with disjunctions may become before parts of it get atoms of their own.
const MAX_RULES: usize = 64;

/// Grounds a task.
pub(crate) fn ground<'a>(
    task: &'a LiftedTask,
    traits: &'a Traits,
    budget: Budget,
) -> Result<GroundTask<'a>, GroundError> {
    let schemas: Vec<Schema> = task
        .actions
        .iter()
        .map(|action| Schema {
            precondition: normalise(&action.precondition, true),
            effects: flatten(&action.effect),
        })
        .collect();
    let wishes: Vec<Vec<Wish>> = task.actions.iter().map(|action| wishes_of(&action.precondition)).collect();
    let axioms: Vec<Condition> = task.axioms.iter().map(|axiom| normalise(&axiom.body, true)).collect();
    let mut facts = Facts::new(task, traits, budget);
    reach(task, &schemas, &axioms, &mut facts).map_err(GroundError::Excess)?;
    let objective = Objective::of(task, &facts).map_err(|e| GroundError::Elsewhere(e.into()))?;
    let mut builder = Builder::new(task, facts, objective);
    let rows = match all_rows(&mut builder, &schemas, &wishes) {
        // Some step lowers the metric: its numbers become part of the state.
        Err(GroundError::Schema(_, RowError::NegativeCost)) => {
            let objective = builder.objective.in_state();
            builder = Builder::new(task, builder.facts, objective);
            all_rows(&mut builder, &schemas, &wishes)?
        }
        other => other?,
    };
    let rules = builder.rules(&axioms).map_err(GroundError::Elsewhere)?;
    let goal = builder.goal().map_err(GroundError::Elsewhere)?;
    let metric = builder.metric().map_err(GroundError::Elsewhere)?;
    let soft = builder.soft().map_err(GroundError::Elsewhere)?;
    let (initial, derived) = (Vec::new(), Vec::new());
    let mut grounded = GroundTask { builder, rows, rules, goal, initial, derived, metric, soft };
    grounded.finish();
    Ok(grounded)
}

fn all_rows(
    builder: &mut Builder,
    schemas: &[Schema],
    wishes: &[Vec<Wish>],
) -> Result<Vec<GroundRow>, GroundError> {
    let mut rows = Vec::new();
    for (number, (schema, wishes)) in schemas.iter().zip(wishes).enumerate() {
        builder.rows_of(number as u32, schema, wishes, &mut rows).map_err(|error| match error {
            RowError::Excess(excess) => GroundError::Excess(excess),
            error => GroundError::Schema(builder.task.actions[number].span, error),
        })?;
    }
    Ok(rows)
}

impl Builder<'_> {
    /// The rules of derived predicates.
    fn rules(&mut self, axioms: &[Condition]) -> Result<Vec<(u32, Vec<Literal>)>, RowError> {
        let mut rules = Vec::new();
        let task = self.task;
        for (axiom, condition) in task.axioms.iter().zip(axioms) {
            let Some(base) = self.base[axiom.predicate as usize] else { continue };
            let mut objects = Vec::new();
            for tuple in 0..self.facts.relations[axiom.predicate as usize].len() {
                objects.clear();
                objects.extend_from_slice(self.facts.relations[axiom.predicate as usize].tuple(tuple));
                let typed = axiom.parameters.iter().zip(&objects).all(|(variable, &object)| {
                    self.facts.universe.has[variable.sort as usize][object as usize]
                });
                let mut conjunction = Conjunction::default();
                if typed && self.conjoin(condition, &mut objects, &mut conjunction)? {
                    let bodies = self.alternatives(conjunction, MAX_RULES);
                    rules.extend(bodies.into_iter().map(|body| (base + tuple, body)));
                }
            }
        }
        Ok(rules)
    }

    fn goal(&mut self) -> Result<Option<Vec<Literal>>, RowError> {
        let condition = normalise(&self.task.goal, true);
        self.forget_quantifiers();
        let mut conjunction = Conjunction::default();
        if !self.conjoin(&condition, &mut Vec::new(), &mut conjunction)? {
            return Ok(None);
        }
        // A disjunction in the goal is one derived atom.
        Ok(self.single(conjunction))
    }
}

impl GroundTask<'_> {
    /// Whether `more` bytes can be held besides the task.
    pub(crate) fn has_room(&self, more: usize) -> Result<(), GroundError> {
        let literal = size_of::<Literal>();
        let rules = self.rules.iter().map(|(_, body)| 32 + list_bytes(body.capacity(), literal));
        let rows = self.rows.iter().map(GroundRow::bytes).sum::<usize>();
        let own = rows + rules.sum::<usize>() + self.builder.terms.bytes();
        self.builder.facts.has_room(own + more).map_err(GroundError::Excess)
    }

    /// Rules of auxiliary atoms, and the state at the start.
    fn finish(&mut self) {
        let first = self.builder.atom_count;
        for (number, bodies) in self.builder.auxiliaries.iter().enumerate() {
            self.rules.extend(bodies.iter().map(|body| (first + number as u32, body.clone())));
        }
        self.derived = vec![true; first as usize + self.builder.auxiliaries.len()];
        for (predicate, symbol) in self.builder.task.predicates.iter().enumerate() {
            if let (Some(base), false) = (self.builder.base[predicate], symbol.derived) {
                let atoms = base as usize..(base + self.builder.facts.relations[predicate].len()) as usize;
                self.derived[atoms].fill(false);
            }
        }
        self.initial = vec![false; first as usize + self.builder.auxiliaries.len()];
        for (predicate, tuple) in &self.builder.task.init.atoms {
            let number = self.builder.facts.relations[*predicate as usize].find(tuple);
            if let (Some(base), Some(number)) = (self.builder.base[*predicate as usize], number) {
                self.initial[(base + number) as usize] = true;
            }
        }
    }
}

impl Builder<'_> {
    /// What is optimised.
    fn metric(&mut self) -> Result<Metric, RowError> {
        let Some(metric) = &self.task.metric else { return Ok(Metric::Steps) };
        let sense = metric.sense;
        let Some(linear) = self.objective.linear.clone() else {
            let term = self.number(&metric.value, &[])?.ok_or(RowError::Overflow)?;
            return Ok(match sense {
                Sense::Minimise => Metric::Minimise(term),
                Sense::Maximise => Metric::Maximise(term),
            });
        };
        let mut offset = linear.constant;
        let mut at_end = self.terms.constant(Rational::from_integer(0));
        let mut fluents: Vec<_> = linear.fluents.into_iter().collect();
        fluents.sort_unstable();
        for ((function, tuple), coefficient) in fluents {
            if self.objective.accumulates[function as usize] {
                let start = self.facts.initial(function, &tuple).unwrap_or_default();
                let part = start.checked_mul(&coefficient).ok_or(RowError::Overflow)?;
                offset = offset.checked_add(&part).ok_or(RowError::Overflow)?;
            } else {
                let fluent = self.fluent(function, &tuple);
                let (fluent, coefficient) = (self.terms.number(fluent), self.terms.constant(coefficient));
                let part = self.terms.join(Join::Multiply, coefficient, fluent)?.ok_or(RowError::Overflow)?;
                at_end = self.plus(at_end, part)?;
            }
        }
        let at_end = self.terms.as_constant(at_end).is_none().then_some(at_end);
        let offset = if sense == Sense::Maximise { -offset } else { offset };
        Ok(Metric::Cost { at_end, offset, sense })
    }
}
