//! What is looked for, as and/or over sets of values of variables.
//!
//! Everything that cannot be said this way is taken to be true: a state that is looked for always satisfies the formula.

use super::bits::Bits;
use super::calls::calls_writer;
use super::ground::Ground;
use super::machine::{Cell, End, Faults, Machine};
use hadal_system::fold::Fold;
use hadal_system::machine::AbstractMachine;
use hadal_system::{BinaryOp, Expr, ExprKind, Local, LocalKind, PropertyBody, PropertyKind, UnaryOp, Value};
use std::collections::HashSet;

/// Paths through one condition that is looked at as a whole.
const MAX_PATHS: usize = 256;
/// Steps for one such condition.
const FUEL: u64 = 200_000;
/// Quantifiers over more values are looked at as a whole.
const UNROLL: u64 = 64;

/// A formula without negation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Always true, as far as is known.
    True,
    /// Never true.
    False,
    /// The variable has one of the values.
    Atom(u32, Bits),
    /// All of them.
    And(Vec<Formula>),
    /// One of them.
    Or(Vec<Formula>),
}

impl Formula {
    /// All of them, simplified.
    pub fn all(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut list = Vec::new();
        for part in parts {
            match part {
                Formula::True => {}
                Formula::False => return Formula::False,
                Formula::And(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        dedup(&mut list);
        match list.len() {
            0 => Formula::True,
            1 => list.remove(0),
            _ => Formula::And(list),
        }
    }

    /// One of them, simplified.
    pub fn any(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut list = Vec::new();
        for part in parts {
            match part {
                Formula::False => {}
                Formula::True => return Formula::True,
                Formula::Or(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        dedup(&mut list);
        match list.len() {
            0 => Formula::False,
            1 => list.remove(0),
            _ => Formula::Or(list),
        }
    }

    /// The same over other numbers of variables.
    pub fn renumbered(&self, number: &impl Fn(u32) -> u32) -> Formula {
        match self {
            Formula::True => Formula::True,
            Formula::False => Formula::False,
            Formula::Atom(var, bits) => Formula::Atom(number(*var), *bits),
            Formula::And(parts) => Formula::And(parts.iter().map(|p| p.renumbered(number)).collect()),
            Formula::Or(parts) => Formula::Or(parts.iter().map(|p| p.renumbered(number)).collect()),
        }
    }

    /// The alternatives it consists of.
    pub fn alternatives(self) -> Vec<Formula> {
        match self {
            Formula::Or(parts) => parts,
            other => vec![other],
        }
    }

    /// Whether it holds, given which atoms do.
    pub fn holds(&self, atom: &impl Fn(u32, &Bits) -> bool) -> bool {
        match self {
            Formula::True => true,
            Formula::False => false,
            Formula::Atom(var, bits) => atom(*var, bits),
            Formula::And(parts) => parts.iter().all(|part| part.holds(atom)),
            Formula::Or(parts) => parts.iter().any(|part| part.holds(atom)),
        }
    }

    /// Calls `visit` for every atom.
    pub fn each_atom(&self, visit: &mut impl FnMut(u32, &Bits)) {
        match self {
            Formula::True | Formula::False => {}
            Formula::Atom(var, bits) => visit(*var, bits),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|p| p.each_atom(visit)),
        }
    }

    /// Combines a value per atom: `all` over the parts of a conjunction, the least over those of a disjunction.
    pub fn fold<E: Copy + Ord>(
        &self,
        truth: E,
        falsity: E,
        atom: &mut impl FnMut(u32, &Bits) -> E,
        all: &impl Fn(E, E) -> E,
    ) -> E {
        match self {
            Formula::True => truth,
            Formula::False => falsity,
            Formula::Atom(var, bits) => atom(*var, bits),
            Formula::And(parts) => {
                parts.iter().fold(truth, |sum, part| all(sum, part.fold(truth, falsity, atom, all)))
            }
            Formula::Or(parts) => {
                parts.iter().map(|part| part.fold(truth, falsity, atom, all)).min().unwrap_or(falsity)
            }
        }
    }
}

fn dedup(list: &mut Vec<Formula>) {
    if list.len() > 1 {
        let mut seen = HashSet::new();
        list.retain(|part| seen.insert(part.clone()));
    }
}

/// A conjunction of what scalars are, as a formula over variables.
pub fn clause(machine: &Machine, preconditions: &[(u32, Bits)]) -> Formula {
    let atoms = preconditions.iter().map(|&(slot, bits)| {
        if bits.is_empty() {
            Formula::False
        } else {
            Formula::Atom(machine.universe.var_of[slot as usize], bits)
        }
    });
    Formula::all(atoms)
}

/// When an action instance may meet an error, and when it surely does.
pub fn faults(machine: &Machine, ground: &Ground) -> (Formula, Formula) {
    let all = Formula::any(ground.faults.iter().map(|fault| clause(machine, &fault.preconditions)));
    let sure = ground.faults.iter().filter(|fault| fault.exact);
    (all, Formula::any(sure.map(|fault| clause(machine, &fault.preconditions))))
}

/// When nothing leads away: no operator that surely changes the state can fire. Operators of which that is not known say nothing.
pub fn deadlock(machine: &Machine, ground: &Ground) -> Formula {
    let universe = &machine.universe;
    let single = |slot: u32| !universe.of_slot(slot).loose;
    let blocked = ground.operators.iter().filter_map(|operator| {
        let before = |slot: u32| match operator.preconditions.iter().find(|(s, _)| *s == slot) {
            Some((_, bits)) => *bits,
            None => universe.of_slot(slot).whole,
        };
        let moves = operator.rows.iter().any(|row| {
            row.condition.is_none() && single(row.slot) && row.values.and(&before(row.slot)).is_empty()
        });
        if !operator.exact || !moves || !operator.preconditions.iter().all(|&(slot, _)| single(slot)) {
            return None;
        }
        Some(Formula::any(operator.preconditions.iter().map(|&(slot, bits)| {
            let rest = universe.of_slot(slot).whole.without(&bits);
            let var = universe.var_of[slot as usize];
            if rest.is_empty() { Formula::False } else { Formula::Atom(var, rest) }
        })))
    });
    Formula::all(blocked)
}

/// When a property instance is what is looked for: an invariant broken, any other property met; with `faults`, also when
/// evaluating it meets an error.
pub fn property(machine: &Machine, at: usize, values: &[Value], faults: Faults) -> Formula {
    let property = &machine.system.properties[at];
    let PropertyBody::State(condition) = &property.body else { return Formula::True };
    let known = property.params.iter().zip(values).map(|(param, &value)| (param.local, value));
    let folded = Fold::new(machine.system, known).unrolling(UNROLL).expr(condition);
    let mut translation = Translation { locals: &property.locals, faults, met: Vec::new() };
    // The machine of the translation runs expressions that live only here.
    let mut inner = Machine::new(machine.system, machine.universe.clone());
    let wanted = property.kind != PropertyKind::Invariant;
    let formula = if calls_writer(machine.system, &folded) {
        // What a part writes, the next part sees: it is one thing.
        translation.leaf(&mut inner, &folded, wanted)
    } else {
        translation.formula(&mut inner, &folded, wanted)
    };
    Formula::any(translation.met.into_iter().chain([formula]))
}

struct Translation<'l> {
    locals: &'l [Local],
    faults: Faults,
    /// When evaluating a part met an error.
    met: Vec<Formula>,
}

impl<'l> Translation<'l> {
    fn formula<'a>(&mut self, machine: &mut Machine<'a>, expr: &'a Expr, holds: bool) -> Formula
    where
        'l: 'a,
    {
        match (&expr.kind, holds) {
            (ExprKind::Const(value), _) => {
                if (*value != 0) == holds {
                    Formula::True
                } else {
                    Formula::False
                }
            }
            (ExprKind::Unary(UnaryOp::Not, of), _) => self.formula(machine, of, !holds),
            (ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Implies), left, right), _) => {
                let left_holds = if *op == BinaryOp::Implies { !holds } else { holds };
                let parts = [self.formula(machine, left, left_holds), self.formula(machine, right, holds)];
                if (*op == BinaryOp::And) == holds { Formula::all(parts) } else { Formula::any(parts) }
            }
            (ExprKind::If(condition, yes, no), _) => {
                let yes =
                    Formula::all([self.formula(machine, condition, true), self.formula(machine, yes, holds)]);
                let no =
                    Formula::all([self.formula(machine, condition, false), self.formula(machine, no, holds)]);
                Formula::any([yes, no])
            }
            _ => self.leaf(machine, expr, holds),
        }
    }

    fn leaf<'a>(&mut self, machine: &mut Machine<'a>, expr: &'a Expr, holds: bool) -> Formula
    where
        'l: 'a,
    {
        let locals = self.locals;
        machine.faults = self.faults;
        machine.fuel = FUEL;
        let (mut clauses, mut met) = (Vec::new(), Vec::new());
        let run = |machine: &mut Machine<'a>| -> Result<(), End> {
            machine.enter(None, locals)?;
            for (n, local) in locals.iter().enumerate() {
                // A bound local that is still mentioned is bound on the way.
                let slot = machine.frame().slots[n];
                if local.kind == LocalKind::Bound {
                    machine.put(slot, Cell::Any);
                }
            }
            machine.assume(expr, holds)
        };
        let done = machine.paths(MAX_PATHS, run, |machine, end| {
            let list: Vec<(u32, Bits)> = machine.know.iter().map(|(&slot, &bits)| (slot, bits)).collect();
            let all = |slot: u32| machine.universe.of_slot(slot).whole;
            let list: Vec<(u32, Bits)> = list.into_iter().filter(|&(slot, bits)| bits != all(slot)).collect();
            match end {
                Ok(()) => clauses.push(clause(machine, &list)),
                Err(End::Fault) => met.push(clause(machine, &list)),
                Err(_) => {}
            }
        });
        if done.is_err() {
            return Formula::True;
        }
        if self.faults == Faults::Followed {
            self.met.append(&mut met);
        }
        Formula::any(clauses)
    }
}
