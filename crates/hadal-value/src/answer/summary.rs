//! Values of states held against a bound, and made one.

use super::Answer;
use crate::SolveError;
use crate::values::{Exact, Values};
use dashu_ratio::RBig;
use hadal_system::chance::{Relation, Summary};
use hadal_system::rows::Rational;

/// Whether the value of a state compares so with the bound; `None` where its bounds leave that open.
pub(crate) fn compare(values: &Values, state: usize, relation: Relation, bound: &Rational) -> Option<bool> {
    if let Some(exact) = &values.exact {
        return Some(compare_exactly(&exact[state], relation, bound));
    }
    compare_bounds((values.lower[state], values.upper[state]), relation, bound)
}

/// Whether a value compares so with the bound.
pub(crate) fn compare_exactly(value: &Exact, relation: Relation, bound: &Rational) -> bool {
    let order = match value {
        Exact::Finite(value) => value.cmp(&crate::exact::fraction(bound)),
        Exact::Infinite => std::cmp::Ordering::Greater,
    };
    match relation {
        Relation::Below => order.is_lt(),
        Relation::AtMost => order.is_le(),
        Relation::Above => order.is_gt(),
        Relation::AtLeast => order.is_ge(),
    }
}

/// Whether a value between these compares so with the bound; `None` where that is open.
pub(crate) fn compare_bounds((low, high): (f64, f64), relation: Relation, bound: &Rational) -> Option<bool> {
    let (under, over) = crate::numbers::bracket(bound);
    let sharp = under == over;
    let (surely, never) = match relation {
        Relation::AtLeast => (low >= over, high < under),
        Relation::Above => (low > over, if sharp { high <= under } else { high < under }),
        Relation::AtMost => (high <= under, low > over),
        Relation::Below => (high < under, if sharp { low >= over } else { low > over }),
    };
    match (surely, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Bounds of several states that become one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    count: u64,
    least: (f64, f64),
    greatest: (f64, f64),
    sum: (f64, f64),
}

impl Default for Fold {
    fn default() -> Self {
        let least = (f64::INFINITY, f64::INFINITY);
        Fold { count: 0, least, greatest: (0.0, 0.0), sum: (0.0, 0.0) }
    }
}

impl Fold {
    pub fn add(&mut self, (low, high): (f64, f64)) {
        self.count += 1;
        self.least = (self.least.0.min(low), self.least.1.min(high));
        self.greatest = (self.greatest.0.max(low), self.greatest.1.max(high));
        self.sum = (self.sum.0 + low, self.sum.1 + high);
    }

    pub fn finish(self, summary: Summary) -> Result<(f64, f64), SolveError> {
        let n = self.count as f64;
        // An infinite sum has no rounding errors.
        let lowest = |low: f64| if low.is_finite() { low - low * n * 2.3e-16 } else { low };
        let wide = |(low, high): (f64, f64)| (lowest(low), high + high * n * 2.3e-16);
        match summary {
            Summary::Least => Ok(self.least),
            Summary::Greatest => Ok(self.greatest),
            Summary::Sum => Ok(wide(self.sum)),
            Summary::Mean => Ok(wide((self.sum.0 / n, self.sum.1 / n))),
            Summary::Only if self.count == 1 => Ok(self.least),
            Summary::Only => Err(SolveError::NotOnly(self.count)),
            Summary::Count | Summary::All | Summary::Some => Err(SolveError::ValueAsTruth),
        }
    }
}

/// Makes one value of those of several states.
pub(crate) fn summarise(
    values: &Values,
    states: &[usize],
    summary: Summary,
    answer: &mut Answer,
) -> Result<(), SolveError> {
    let mut fold = Fold::default();
    states.iter().for_each(|&s| fold.add((values.lower[s], values.upper[s])));
    answer.value = Some(fold.finish(summary)?);
    let Some(exact) = &values.exact else { return Ok(()) };
    let mut fold = ExactFold::new(summary);
    states.iter().for_each(|&s| fold.add(exact[s].clone()));
    answer.exact = fold.finish();
    Ok(())
}

/// Exact values of several states that become one value.
pub(crate) struct ExactFold {
    summary: Summary,
    count: u64,
    kept: Option<Exact>,
}

impl ExactFold {
    pub fn new(summary: Summary) -> Self {
        ExactFold { summary, count: 0, kept: None }
    }

    pub fn add(&mut self, value: Exact) {
        self.count += 1;
        self.kept = Some(match (self.kept.take(), value) {
            (None, value) => value,
            (Some(old), value) => match (self.summary, &old, &value) {
                (Summary::Least | Summary::Only, Exact::Finite(l), Exact::Finite(r)) if r < l => value,
                (Summary::Least | Summary::Only, Exact::Infinite, _) => value,
                (Summary::Least | Summary::Only, ..) => old,
                (Summary::Greatest, Exact::Finite(l), Exact::Finite(r)) if r <= l => old,
                (Summary::Greatest, Exact::Infinite, _) => old,
                (Summary::Greatest, ..) => value,
                (_, Exact::Finite(l), Exact::Finite(r)) => Exact::Finite(l + r),
                _ => Exact::Infinite,
            },
        });
    }

    pub fn finish(self) -> Option<Exact> {
        match (self.summary, self.kept?) {
            (Summary::Mean, Exact::Finite(total)) => Some(Exact::Finite(total / RBig::from(self.count))),
            (_, value) => Some(value),
        }
    }
}
