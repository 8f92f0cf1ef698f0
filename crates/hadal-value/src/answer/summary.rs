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
        let bound = crate::exact::fraction(bound);
        let order = match &exact[state] {
            Exact::Finite(value) => value.cmp(&bound),
            Exact::Infinite => std::cmp::Ordering::Greater,
        };
        return Some(match relation {
            Relation::Below => order.is_lt(),
            Relation::AtMost => order.is_le(),
            Relation::Above => order.is_gt(),
            Relation::AtLeast => order.is_ge(),
        });
    }
    compare_bounds((values.lower[state], values.upper[state]), relation, bound)
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
        let wide = |(low, high): (f64, f64)| (low - low * n * 2.3e-16, high + high * n * 2.3e-16);
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
    let order = |l: &&Exact, r: &&Exact| match (l, r) {
        (Exact::Finite(l), Exact::Finite(r)) => l.cmp(r),
        (Exact::Finite(_), Exact::Infinite) => std::cmp::Ordering::Less,
        (Exact::Infinite, Exact::Finite(_)) => std::cmp::Ordering::Greater,
        (Exact::Infinite, Exact::Infinite) => std::cmp::Ordering::Equal,
    };
    let all = || states.iter().map(|&s| &exact[s]);
    let sum = || {
        let mut total = RBig::ZERO;
        for value in all() {
            match value {
                Exact::Finite(value) => total += value,
                Exact::Infinite => return Exact::Infinite,
            }
        }
        Exact::Finite(total)
    };
    answer.exact = match summary {
        Summary::Least | Summary::Only => all().min_by(order).cloned(),
        Summary::Greatest => all().max_by(order).cloned(),
        Summary::Sum => Some(sum()),
        _ => Some(match sum() {
            Exact::Finite(total) => Exact::Finite(total / RBig::from(states.len() as u64)),
            Exact::Infinite => Exact::Infinite,
        }),
    };
    Ok(())
}
