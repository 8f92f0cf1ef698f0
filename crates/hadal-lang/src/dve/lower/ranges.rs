//! Which values a variable can ever hold: intervals over all joint steps, until nothing changes.
//!
//! A sound over-approximation (Cousot & Cousot 1977, with widening to the model's own constants), so that states
//! pack into fewer bits. A value outside a variable's *type* is an error of the model and never stored; any other
//! value lies in the interval found here, so storing it never fails.

use super::super::ast::{BinaryOp, Composition, Type, UnaryOp};
use super::super::model::{Lvalue, Model, Term, TermKind, apply_binary};
use super::joint::{Joint, Operation};
use hadal_system::interval;
use std::collections::BTreeSet;

/// A closed interval; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub low: i64,
    pub high: i64,
}

/// Large enough for anything that can be stored, small enough that sums and products of two do not overflow.
const LARGE: i64 = 1 << 31;

impl Interval {
    pub(super) fn new(low: i64, high: i64) -> Self {
        Interval { low: low.clamp(-LARGE, LARGE), high: high.clamp(-LARGE, LARGE) }
    }

    fn exactly(value: i64) -> Self {
        Interval::new(value, value)
    }

    fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn meet(self, other: Interval) -> Option<Interval> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        (low <= high).then_some(Interval { low, high })
    }

    pub(super) fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    fn bounds(self) -> (i64, i64) {
        (self.low, self.high)
    }

    /// Whether it may stand for values that were too large to follow.
    fn is_unbounded(self) -> bool {
        self.low <= -LARGE || self.high >= LARGE
    }
}

const BOOLEAN: Interval = Interval { low: 0, high: 1 };
const ANYTHING: Interval = Interval { low: -LARGE, high: LARGE };

/// The interval of each variable (all elements of an array together) and of each item of each buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    pub variables: Vec<Interval>,
    pub buffers: Vec<Vec<Interval>>,
}

/// What is known of each variable within a step: narrower than its range after a guard or an assignment.
struct Knowledge<'a> {
    model: &'a Model,
    ranges: &'a Ranges,
    narrowed: Vec<(usize, Interval)>,
}

/// Every value of each type.
pub(super) fn full_ranges(model: &Model) -> Ranges {
    let full = |scalar: Type| Interval::new(scalar.range().0, scalar.range().1);
    Ranges {
        variables: model.variables.iter().map(|v| full(v.scalar)).collect(),
        buffers: model
            .channels
            .iter()
            .map(|c| c.types.iter().flatten().map(|t| full(*t)).collect())
            .collect(),
    }
}

/// Finds the ranges. With `zeroed`, every variable may be set to 0 by an error.
pub(super) fn find_ranges(model: &Model, steps: &[Joint], zeroed: bool) -> Ranges {
    // In lockstep members read each other's old values, which this analysis does not follow.
    if model.composition == Composition::Synchronous {
        return full_ranges(model);
    }
    let hull = |values: &[i64]| {
        Interval::new(values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
    };
    let mut ranges = Ranges {
        variables: model
            .variables
            .iter()
            .map(|v| if zeroed { hull(&v.initial).hull(Interval::exactly(0)) } else { hull(&v.initial) })
            .collect(),
        // An empty place of a buffer holds 0.
        buffers: model
            .channels
            .iter()
            .map(|c| vec![Interval::exactly(0); c.types.as_ref().map_or(0, Vec::len)])
            .collect(),
    };
    let thresholds = thresholds(steps);
    for round in 0.. {
        let before = ranges.clone();
        for step in steps {
            widen_by_step(model, step, &mut ranges);
        }
        if ranges == before {
            break;
        }
        // A few rounds settle most models exactly; counters without a bound jump to the model's constants, and in the
        // end to the bounds of the type, so that this ends.
        if round >= 8 {
            let jump = |old: Interval, new: &mut Interval, scalar: Type| {
                let (least, greatest) = scalar.range();
                if new.low < old.low {
                    let below = thresholds.range(..=new.low).next_back().copied().filter(|_| round < 30);
                    new.low = below.unwrap_or(least).max(least);
                }
                if new.high > old.high {
                    let above = thresholds.range(new.high..).next().copied().filter(|_| round < 30);
                    new.high = above.unwrap_or(greatest).min(greatest);
                }
            };
            for (number, variable) in model.variables.iter().enumerate() {
                jump(before.variables[number], &mut ranges.variables[number], variable.scalar);
            }
            for (number, channel) in model.channels.iter().enumerate() {
                for (item, scalar) in channel.types.iter().flatten().enumerate() {
                    jump(before.buffers[number][item], &mut ranges.buffers[number][item], *scalar);
                }
            }
        }
    }
    ranges
}

/// The constants of the model and their neighbours.
fn thresholds(steps: &[Joint]) -> BTreeSet<i64> {
    fn collect(term: &Term, found: &mut BTreeSet<i64>) {
        match &term.kind {
            TermKind::Constant(value) => {
                found.extend([value.saturating_sub(1), *value, value.saturating_add(1)])
            }
            TermKind::Read(_) | TermKind::At(..) => {}
            TermKind::Element(_, inner) | TermKind::Lookup(_, inner) | TermKind::Unary(_, inner) => {
                collect(inner, found);
            }
            TermKind::Binary(_, left, right) => {
                collect(left, found);
                collect(right, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    for step in steps {
        for member in &step.members {
            member.transition.guard.iter().for_each(|guard| collect(guard, &mut found));
        }
        for operation in &step.operations {
            match operation {
                Operation::Assign { value, .. } | Operation::Transfer { value, .. } => {
                    collect(value, &mut found)
                }
                Operation::Push { values, .. } => values.iter().for_each(|value| collect(value, &mut found)),
                Operation::Pop { .. } | Operation::Enter { .. } => {}
            }
        }
    }
    found
}

/// Adds the values that one step can store.
fn widen_by_step(model: &Model, step: &Joint, ranges: &mut Ranges) {
    let now = ranges.clone();
    let mut knowledge = Knowledge { model, ranges: &now, narrowed: Vec::new() };
    for member in &step.members {
        if let Some(guard) = &member.transition.guard
            && !knowledge.assume(guard)
        {
            return;
        }
    }
    for operation in &step.operations {
        match operation {
            Operation::Enter { .. } => {}
            Operation::Assign { target, value } => {
                let value = knowledge.interval(value);
                if !knowledge.store(target, value, ranges) {
                    return;
                }
            }
            Operation::Transfer { target, value, cut } => {
                let mut value = knowledge.interval(value);
                if let Some(scalar) = cut {
                    value = cut_to(value, *scalar);
                }
                if !knowledge.store(target, value, ranges) {
                    return;
                }
            }
            Operation::Push { channel, values, .. } => {
                let types = model.channels[*channel].types.iter().flatten();
                for (item, (value, scalar)) in values.iter().zip(types).enumerate() {
                    let value = cut_to(knowledge.interval(value), *scalar);
                    let slot = &mut ranges.buffers[*channel][item];
                    *slot = slot.hull(value);
                }
            }
            Operation::Pop { channel, targets, .. } => {
                for (item, target) in targets.iter().enumerate() {
                    let value = now.buffers[*channel].get(item).copied().unwrap_or(ANYTHING);
                    if !knowledge.store(target, value, ranges) {
                        return;
                    }
                }
            }
        }
    }
}

/// The values after being cut to a type.
fn cut_to(value: Interval, scalar: Type) -> Interval {
    let (low, high) = scalar.range();
    if value.low >= low && value.high <= high { value } else { Interval { low, high } }
}

impl Knowledge<'_> {
    fn variable(&self, number: usize) -> Interval {
        match self.narrowed.iter().rev().find(|(variable, _)| *variable == number) {
            Some((_, interval)) => *interval,
            None => self.ranges.variables[number],
        }
    }

    /// Stores a value; `false` where it never fits, so that nothing after it happens.
    fn store(&mut self, target: &Lvalue, value: Interval, ranges: &mut Ranges) -> bool {
        let (low, high) = self.model.variables[target.variable].scalar.range();
        let Some(value) = value.meet(Interval { low, high }) else { return false };
        let slot = &mut ranges.variables[target.variable];
        *slot = slot.hull(value);
        if target.index.is_none() {
            self.narrowed.push((target.variable, value));
        } else {
            // One element changed: the array holds what it held or the new value.
            let hull = self.variable(target.variable).hull(value);
            self.narrowed.push((target.variable, hull));
        }
        true
    }

    /// Takes a guard as true; `false` where it cannot be.
    fn assume(&mut self, guard: &Term) -> bool {
        let TermKind::Binary(op, left, right) = &guard.kind else {
            return guard.as_constant() != Some(0);
        };
        if *op == BinaryOp::And {
            return self.assume(left) && self.assume(right);
        }
        if let (TermKind::Read(variable), Some(value)) = (&left.kind, right.as_constant()) {
            return self.assume_bound(*variable, *op, value);
        }
        if let (Some(value), TermKind::Read(variable)) = (left.as_constant(), &right.kind) {
            let mirrored = match op {
                BinaryOp::Less => BinaryOp::Greater,
                BinaryOp::LessEqual => BinaryOp::GreaterEqual,
                BinaryOp::Greater => BinaryOp::Less,
                BinaryOp::GreaterEqual => BinaryOp::LessEqual,
                other => *other,
            };
            return self.assume_bound(*variable, mirrored, value);
        }
        true
    }

    fn assume_bound(&mut self, variable: usize, op: BinaryOp, value: i64) -> bool {
        let now = self.variable(variable);
        let bound = match op {
            BinaryOp::Equal => Interval::exactly(value),
            BinaryOp::Less => Interval::new(-LARGE, value.saturating_sub(1)),
            BinaryOp::LessEqual => Interval::new(-LARGE, value),
            BinaryOp::Greater => Interval::new(value.saturating_add(1), LARGE),
            BinaryOp::GreaterEqual => Interval::new(value, LARGE),
            BinaryOp::NotEqual if now.low == value => Interval::new(value.saturating_add(1), LARGE),
            BinaryOp::NotEqual if now.high == value => Interval::new(-LARGE, value.saturating_sub(1)),
            _ => return true,
        };
        match now.meet(bound) {
            Some(interval) => {
                self.narrowed.push((variable, interval));
                true
            }
            None => false,
        }
    }

    fn interval(&self, term: &Term) -> Interval {
        interval_of(term, self.model, &|number| self.variable(number))
    }
}

/// The values a term can have, where variables lie in `variable`.
pub(super) fn interval_of(term: &Term, model: &Model, variable: &dyn Fn(usize) -> Interval) -> Interval {
    match &term.kind {
        TermKind::Constant(value) => Interval::exactly(*value),
        TermKind::Read(number) | TermKind::Element(number, _) => variable(*number),
        TermKind::Lookup(table, _) => {
            let values = &model.tables[*table].values;
            Interval::new(
                values.iter().copied().min().unwrap_or(0),
                values.iter().copied().max().unwrap_or(0),
            )
        }
        TermKind::At(..) => BOOLEAN,
        TermKind::Unary(op, operand) => {
            let operand = interval_of(operand, model, variable);
            match op {
                UnaryOp::Not => BOOLEAN,
                _ if operand.is_unbounded() => ANYTHING,
                UnaryOp::Negate => Interval::new(-operand.high, -operand.low),
                UnaryOp::BitNot => Interval::new(!operand.high, !operand.low),
            }
        }
        TermKind::Binary(op, left, right) => {
            binary(*op, interval_of(left, model, variable), interval_of(right, model, variable))
        }
    }
}

fn binary(op: BinaryOp, left: Interval, right: Interval) -> Interval {
    use hadal_system::BinaryOp::{Add, BitOr, Divide, Multiply, Subtract};
    let shared = |bounds: Option<(i64, i64)>| bounds.map_or(ANYTHING, |(low, high)| Interval::new(low, high));
    if left.low == left.high
        && right.low == right.high
        && let Some(value) = apply_binary(op, left.low, right.low)
    {
        return Interval::exactly(value);
    }
    match op {
        BinaryOp::Imply
        | BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => BOOLEAN,
        BinaryOp::Modulo if !right.is_unbounded() => {
            // The result has the sign of the left operand, is smaller than the right one and not larger than the left.
            let most = (right.low.abs().max(right.high.abs()) - 1).max(0);
            Interval::new(left.low.clamp(-most, 0), left.high.clamp(0, most))
        }
        BinaryOp::BitAnd if right.low >= 0 && left.low >= 0 => Interval::new(0, left.high.min(right.high)),
        BinaryOp::BitAnd if right.low >= 0 => Interval::new(0, right.high),
        BinaryOp::BitAnd if left.low >= 0 => Interval::new(0, left.high),
        _ if left.is_unbounded() || right.is_unbounded() => ANYTHING,
        BinaryOp::Add => shared(interval::binary(Add, left.bounds(), right.bounds())),
        BinaryOp::Subtract => shared(interval::binary(Subtract, left.bounds(), right.bounds())),
        BinaryOp::Multiply => shared(interval::binary(Multiply, left.bounds(), right.bounds())),
        BinaryOp::Divide if right.low > 0 => shared(interval::binary(Divide, left.bounds(), right.bounds())),
        BinaryOp::Divide => {
            let most = left.low.abs().max(left.high.abs());
            Interval::new(-most, most)
        }
        BinaryOp::BitOr | BinaryOp::BitXor if left.low >= 0 && right.low >= 0 => {
            shared(interval::binary(BitOr, left.bounds(), right.bounds()))
        }
        BinaryOp::ShiftRight if left.low >= 0 && right.low >= 0 => Interval::new(0, left.high),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::Modulo => ANYTHING,
    }
}
