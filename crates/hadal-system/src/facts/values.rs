//! Sets of values a scalar may hold: sorted intervals, and whether it may be undefined.
//!
//! Every operation gives a superset of what can happen. The number of intervals is bounded, so that repeated
//! operations stay cheap; what does not fit is rounded up.

use crate::domain::{Domain, Value};
use crate::expr::{BinaryOp, UnaryOp};
use crate::interval;

/// Values a scalar may hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueSet {
    /// Inclusive, ascending, apart from each other.
    intervals: Vec<(Value, Value)>,
    undefined: bool,
}

/// More intervals than this are rounded up to fewer.
const MAX_INTERVALS: usize = 32;
/// Operands are combined value by value while there are at most this many pairs.
const MAX_PAIRS: u64 = 256;

impl ValueSet {
    /// No value: what cannot happen.
    pub fn empty() -> Self {
        ValueSet { intervals: Vec::new(), undefined: false }
    }

    /// Any defined value.
    pub fn any() -> Self {
        ValueSet::interval(Value::MIN, Value::MAX)
    }

    /// Just this value.
    pub fn one(value: Value) -> Self {
        ValueSet::interval(value, value)
    }

    /// The values `from..=to`; empty where `from` is above `to`.
    pub fn interval(from: Value, to: Value) -> Self {
        ValueSet { intervals: if from <= to { vec![(from, to)] } else { Vec::new() }, undefined: false }
    }

    /// 0 and 1.
    pub fn boolean() -> Self {
        ValueSet::interval(0, 1)
    }

    /// Only undefined.
    pub fn undefined() -> Self {
        ValueSet { intervals: Vec::new(), undefined: true }
    }

    /// Everything a scalar of the domain can hold.
    pub fn of_domain(domain: &Domain) -> Self {
        let mut values = ValueSet::defined_of(domain);
        values.undefined = domain.undefined;
        values
    }

    /// The defined values of the domain.
    pub fn defined_of(domain: &Domain) -> Self {
        // The union joins neighbouring intervals.
        ValueSet::empty().union(&ValueSet { intervals: domain.intervals.clone(), undefined: false })
    }

    /// Whether nothing is possible.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty() && !self.undefined
    }

    /// Whether undefined is possible.
    pub fn may_be_undefined(&self) -> bool {
        self.undefined
    }

    /// Whether this value is possible.
    pub fn contains(&self, value: Value) -> bool {
        self.intervals.iter().any(|&(lo, hi)| lo <= value && value <= hi)
    }

    /// The value, where only one is possible and undefined is not.
    pub fn as_const(&self) -> Option<Value> {
        match self.intervals[..] {
            [(lo, hi)] if lo == hi && !self.undefined => Some(lo),
            _ => None,
        }
    }

    /// Number of defined values; saturating.
    pub fn count(&self) -> u64 {
        self.intervals
            .iter()
            .fold(0u64, |n, &(lo, hi)| n.saturating_add((hi.wrapping_sub(lo) as u64).saturating_add(1)))
    }

    /// The defined values, ascending.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.intervals.iter().flat_map(|&(lo, hi)| lo..=hi)
    }

    /// The inclusive intervals of the defined values, ascending.
    pub fn intervals(&self) -> &[(Value, Value)] {
        &self.intervals
    }

    /// Least and greatest defined value.
    pub fn bounds(&self) -> Option<(Value, Value)> {
        Some((self.intervals.first()?.0, self.intervals.last()?.1))
    }

    /// Whether a value other than 0 is possible.
    pub fn may_be_true(&self) -> bool {
        self.intervals.iter().any(|&i| i != (0, 0))
    }

    /// Whether 0 is possible.
    pub fn may_be_false(&self) -> bool {
        self.contains(0)
    }

    /// The same without undefined.
    pub fn defined(&self) -> Self {
        ValueSet { intervals: self.intervals.clone(), undefined: false }
    }

    /// What is in either.
    pub fn union(&self, other: &Self) -> Self {
        let mut all: Vec<(Value, Value)> = self.intervals.iter().chain(&other.intervals).copied().collect();
        all.sort_unstable();
        let mut intervals: Vec<(Value, Value)> = Vec::with_capacity(all.len());
        for (lo, hi) in all {
            match intervals.last_mut() {
                Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
                _ => intervals.push((lo, hi)),
            }
        }
        ValueSet { intervals, undefined: self.undefined || other.undefined }.rounded()
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut i, mut j) = (0, 0);
        let mut intervals = Vec::new();
        while let (Some(&(a, b)), Some(&(c, d))) = (self.intervals.get(i), other.intervals.get(j)) {
            let (lo, hi) = (a.max(c), b.min(d));
            if lo <= hi {
                intervals.push((lo, hi));
            }
            if b <= d {
                i += 1;
            } else {
                j += 1;
            }
        }
        ValueSet { intervals, undefined: self.undefined && other.undefined }.rounded()
    }

    /// Whether nothing is in both.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).is_empty()
    }

    /// Whether everything possible here is possible in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        (other.undefined || !self.undefined)
            && self
                .intervals
                .iter()
                .all(|&(lo, hi)| other.intervals.iter().any(|&(from, to)| from <= lo && hi <= to))
    }

    /// The values `v` for which `v op w` holds for some `w` of `other`; undefined is dropped.
    pub fn satisfying(&self, op: BinaryOp, other: &Self) -> Self {
        let Some((least, greatest)) = other.bounds() else { return ValueSet::empty() };
        let below =
            |bound: Option<Value>| bound.map_or_else(ValueSet::empty, |b| ValueSet::interval(Value::MIN, b));
        let above =
            |bound: Option<Value>| bound.map_or_else(ValueSet::empty, |b| ValueSet::interval(b, Value::MAX));
        let allowed = match op {
            BinaryOp::Equal => other.defined(),
            BinaryOp::NotEqual => match other.as_const() {
                Some(v) => below(v.checked_sub(1)).union(&above(v.checked_add(1))),
                None => ValueSet::any(),
            },
            BinaryOp::Less => below(greatest.checked_sub(1)),
            BinaryOp::LessEqual => below(Some(greatest)),
            BinaryOp::Greater => above(least.checked_add(1)),
            BinaryOp::GreaterEqual => above(Some(least)),
            _ => ValueSet::any(),
        };
        self.intersection(&allowed)
    }

    /// Every result of a unary operator, and whether it may be an error.
    pub fn unary(op: UnaryOp, of: &Self) -> (Self, bool) {
        match op {
            UnaryOp::Not => (truth(of.may_be_false(), of.may_be_true()), false),
            UnaryOp::BitNot => match of.bounds() {
                Some((lo, hi)) => (ValueSet::interval(!hi, !lo), false),
                None => (ValueSet::empty(), false),
            },
            UnaryOp::Negate => {
                let overflow = of.contains(Value::MIN);
                match of.bounds() {
                    Some((lo, hi)) => {
                        let least = hi.saturating_neg();
                        (ValueSet::interval(least, lo.saturating_neg().max(least)), overflow)
                    }
                    None => (ValueSet::empty(), overflow),
                }
            }
        }
    }

    /// Every result of a binary operator on two computed values, and whether it may be an error.
    pub fn binary(op: BinaryOp, left: &Self, right: &Self) -> (Self, bool) {
        let (Some((a, b)), Some((c, d))) = (left.bounds(), right.bounds()) else {
            return (ValueSet::empty(), false);
        };
        if left.count().saturating_mul(right.count()) <= MAX_PAIRS {
            let mut results = Vec::new();
            let mut fails = false;
            for l in left.values() {
                for r in right.values() {
                    match op.apply(l, r) {
                        Some(v) => results.push((v, v)),
                        None => fails = true,
                    }
                }
            }
            let all = ValueSet { intervals: results, undefined: false };
            return (ValueSet::empty().union(&all), fails);
        }
        match op {
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => {
                let (least, greatest) = interval::corners(op, (a, b), (c, d)).unwrap_or((0, 0));
                let fits = |v: i128| Value::try_from(v).is_ok();
                let clamp = |v: i128| v.clamp(Value::MIN.into(), Value::MAX.into()) as Value;
                (ValueSet::interval(clamp(least), clamp(greatest)), !fits(least) || !fits(greatest))
            }
            BinaryOp::Equal => (truth(!left.is_disjoint(right), true), false),
            BinaryOp::NotEqual => (truth(true, !left.is_disjoint(right)), false),
            BinaryOp::Less => (truth(a < d, b >= c), false),
            BinaryOp::LessEqual => (truth(a <= d, b > c), false),
            BinaryOp::Greater => (truth(b > c, a <= d), false),
            BinaryOp::GreaterEqual => (truth(b >= c, a < d), false),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Implies => (ValueSet::boolean(), false),
            BinaryOp::Divide => {
                (ValueSet::any(), right.contains(0) || (left.contains(Value::MIN) && right.contains(-1)))
            }
            BinaryOp::Remainder => {
                let reach = i128::from(c).abs().max(i128::from(d).abs()).saturating_sub(1).max(0);
                let reach = Value::try_from(reach).unwrap_or(Value::MAX);
                let least = if a < 0 { -reach } else { 0 };
                let greatest = if b > 0 { reach } else { 0 };
                (ValueSet::interval(least, greatest), right.contains(0))
            }
            BinaryOp::BitAnd if a >= 0 && c >= 0 => (ValueSet::interval(0, b.min(d)), false),
            _ => (ValueSet::any(), false),
        }
    }

    /// Fewer intervals, by closing the gaps from the end.
    fn rounded(mut self) -> Self {
        if self.intervals.len() > MAX_INTERVALS {
            let hi = self.intervals[self.intervals.len() - 1].1;
            self.intervals.truncate(MAX_INTERVALS);
            self.intervals[MAX_INTERVALS - 1].1 = hi;
        }
        self
    }
}

/// 1 where true is possible, 0 where false is.
fn truth(may_be_true: bool, may_be_false: bool) -> ValueSet {
    ValueSet::interval(Value::from(!may_be_false), Value::from(may_be_true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAZY: [BinaryOp; 3] = [BinaryOp::And, BinaryOp::Or, BinaryOp::Implies];

    fn samples() -> Vec<ValueSet> {
        let mut sets = vec![
            ValueSet::empty(),
            ValueSet::any(),
            ValueSet::boolean(),
            ValueSet::one(-1),
            ValueSet::one(Value::MIN),
        ];
        for (lo, hi) in [(-20, 25), (0, 40), (-40, -3), (5, 9), (Value::MAX - 3, Value::MAX), (30, 99)] {
            sets.push(ValueSet::interval(lo, hi));
            sets.push(ValueSet::interval(lo, hi).union(&ValueSet::one(200)));
        }
        sets
    }

    fn members(set: &ValueSet) -> Vec<Value> {
        let mut picked: Vec<Value> = set.intervals.iter().flat_map(|&(lo, hi)| [lo, hi]).collect();
        picked.extend([-2, -1, 0, 1, 2, 7, 33].iter().filter(|v| set.contains(**v)));
        picked
    }

    #[test]
    fn every_result_of_an_operator_is_in_the_set() {
        for left in samples() {
            for right in samples() {
                for op in BinaryOp::ARITHMETIC.into_iter().chain(BinaryOp::COMPARISONS).chain(LAZY) {
                    let (all, fails) = ValueSet::binary(op, &left, &right);
                    for l in members(&left) {
                        for r in members(&right) {
                            match op.apply(l, r) {
                                Some(v) => assert!(all.contains(v), "{l} {op:?} {r} = {v} not in {all:?}"),
                                None => assert!(fails, "{l} {op:?} {r} fails"),
                            }
                            if op.apply(l, r).is_some_and(|v| v != 0) {
                                assert!(left.satisfying(op, &right).contains(l), "{l} {op:?} {r}");
                            }
                        }
                    }
                }
            }
            for op in [UnaryOp::Negate, UnaryOp::Not, UnaryOp::BitNot] {
                let (all, fails) = ValueSet::unary(op, &left);
                for v in members(&left) {
                    assert!(op.apply(v).map_or(fails, |r| all.contains(r)), "{op:?} {v}");
                }
            }
        }
    }

    #[test]
    fn many_scattered_values_are_rounded_up() {
        let scattered = (0..100).fold(ValueSet::empty(), |set, v| set.union(&ValueSet::one(v * 3)));
        assert!(scattered.intervals.len() <= MAX_INTERVALS);
        assert!((0..100).all(|v| scattered.contains(v * 3)));
    }
}
