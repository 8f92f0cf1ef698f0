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
    let (low, high) = (values.lower[state], values.upper[state]);
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

/// Makes one value of those of several states.
pub(crate) fn summarise(
    values: &Values,
    states: &[usize],
    summary: Summary,
    answer: &mut Answer,
) -> Result<(), SolveError> {
    let lows = || states.iter().map(|&s| values.lower[s]);
    let highs = || states.iter().map(|&s| values.upper[s]);
    let wide = |sum: f64, up: bool| {
        let moved = sum * states.len() as f64 * 2.3e-16;
        if up { sum + moved } else { sum - moved }
    };
    let n = states.len() as f64;
    answer.value = Some(match summary {
        Summary::Least => (lows().fold(f64::INFINITY, f64::min), highs().fold(f64::INFINITY, f64::min)),
        Summary::Greatest => (lows().fold(0.0, f64::max), highs().fold(0.0, f64::max)),
        Summary::Sum => (wide(lows().sum(), false), wide(highs().sum(), true)),
        Summary::Mean => (wide(lows().sum::<f64>() / n, false), wide(highs().sum::<f64>() / n, true)),
        Summary::Only => match states {
            [one] => (values.lower[*one], values.upper[*one]),
            _ => return Err(SolveError::NotOnly(states.len() as u64)),
        },
        Summary::Count | Summary::All | Summary::Some => return Err(SolveError::ValueAsTruth),
    });
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
