//! Scales and bounds of a task's numbers: what makes exact arithmetic on whole units of it.

use super::{Change, Need, Rational, RowTask, Term};
use num_traits::{CheckedAdd, CheckedMul, CheckedSub, Zero};

/// Scales beyond this are not worth the bits they take.
const LARGEST_SCALE: i128 = 1 << 40;
/// Rounds after which a scale that still grows is taken to grow for ever.
const ROUNDS: usize = 64;
/// Rounds in which intervals may grow before a number counts as unbounded.
const GROWING: usize = 4;

/// The terms that a term reads.
pub fn parts(task: &RowTask, term: u32) -> [Option<u32>; 2] {
    match task.terms[term as usize] {
        Term::Holds(Need::Compares(comparison)) => {
            [task.comparisons.get(comparison as usize).map(|comparison| comparison.term), None]
        }
        other => operands(other).map_or([None, None], |(a, b)| [Some(a), Some(b)]),
    }
}

fn operands(term: Term) -> Option<(u32, u32)> {
    match term {
        Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) => Some((a, b)),
        Term::Constant(_) | Term::Number(_) | Term::Holds(_) => None,
    }
}

/// A term's value where it is a constant.
pub fn constant(task: &RowTask, term: u32) -> Option<Rational> {
    match task.terms[term as usize] {
        Term::Constant(number) => Some(number),
        _ => None,
    }
}

/// The least scales closed under all updates; `None` where there are none within bounds.
pub fn number_scales(task: &RowTask) -> Option<Vec<i128>> {
    let mut scales: Vec<i128> =
        task.numbers.iter().map(|number| number.initial.map_or(1, |value| *value.denom())).collect();
    for _ in 0..ROUNDS {
        let terms = term_scales(task, &scales)?;
        let mut changed = false;
        for effect in task.rows.iter().flat_map(|row| &row.effects) {
            if let Change::Assign(number, term) | Change::Increase(number, term) = effect.change {
                let scale = lcm(scales[number as usize], terms[term as usize])?;
                changed |= scale != scales[number as usize];
                scales[number as usize] = scale;
            }
        }
        if !changed {
            return Some(scales);
        }
    }
    None
}

/// The scale of every term, from those of numbers.
pub fn term_scales(task: &RowTask, numbers: &[i128]) -> Option<Vec<i128>> {
    let mut scales: Vec<i128> = Vec::with_capacity(task.terms.len());
    for &term in &task.terms {
        let scale = match term {
            Term::Constant(number) => *number.denom(),
            Term::Number(number) => numbers[number as usize],
            Term::Holds(_) => 1,
            Term::Add(a, b) | Term::Subtract(a, b) => lcm(scales[a as usize], scales[b as usize])?,
            Term::Multiply(a, b) => match (constant(task, a), constant(task, b)) {
                (_, Some(factor)) => times(scales[a as usize], factor)?,
                (Some(factor), None) => times(scales[b as usize], factor)?,
                (None, None) => bounded(scales[a as usize].checked_mul(scales[b as usize])?)?,
            },
            Term::Divide(a, b) => {
                let divisor = constant(task, b).filter(|divisor| !divisor.is_zero())?;
                times(scales[a as usize], divisor.recip())?
            }
        };
        scales.push(scale);
    }
    Some(scales)
}

/// The scale of a value of this scale times a constant.
fn times(scale: i128, factor: Rational) -> Option<i128> {
    let shared = gcd(scale, *factor.numer()).max(1);
    bounded((scale / shared).checked_mul(*factor.denom())?)
}

/// The greatest common divisor.
pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i128
}

/// The least common multiple; `None` where it is too large for a scale.
pub fn lcm(a: i128, b: i128) -> Option<i128> {
    bounded((a / gcd(a, b).max(1)).checked_mul(b)?)
}

fn bounded(scale: i128) -> Option<i128> {
    (scale <= LARGEST_SCALE).then_some(scale)
}

/// The values that each number can have if every update may happen, where they stop growing soon.
pub fn intervals(task: &RowTask) -> Vec<Option<(Rational, Rational)>> {
    let zero = Rational::from_integer(0);
    let mut held: Vec<Option<(Rational, Rational)>> = task
        .numbers
        .iter()
        .map(|number| Some(number.initial.map_or((zero, zero), |value| (value, value))))
        .collect();
    for round in 0..GROWING {
        let mut changed = false;
        let terms = term_intervals(task, &held);
        for effect in task.rows.iter().flat_map(|row| &row.effects) {
            let (number, by) = match effect.change {
                Change::Set(..) => continue,
                Change::Assign(number, term) => (number, terms[term as usize]),
                Change::Increase(number, term) => {
                    let sum = held[number as usize]
                        .zip(terms[term as usize])
                        .and_then(|(a, b)| Some((a.0.checked_add(&b.0)?, a.1.checked_add(&b.1)?)));
                    (number, sum)
                }
            };
            let Some((low, high)) = held[number as usize] else { continue };
            let grown = by.map(|(a, b)| (low.min(a), high.max(b)));
            if grown != Some((low, high)) {
                changed = true;
                held[number as usize] = if round + 1 < GROWING { grown } else { None };
            }
        }
        if !changed {
            return held;
        }
    }
    // What a number without bounds flows into has none either: one more round would have shown it, so be careful.
    let mut unbounded: Vec<bool> = held.iter().map(Option::is_none).collect();
    loop {
        let before = unbounded.clone();
        let flows = term_unbounded(task, &unbounded);
        for effect in task.rows.iter().flat_map(|row| &row.effects) {
            if let Change::Assign(number, term) | Change::Increase(number, term) = effect.change {
                unbounded[number as usize] |= flows[term as usize];
            }
        }
        if unbounded == before {
            break;
        }
    }
    held.into_iter().zip(unbounded).map(|(held, unbounded)| held.filter(|_| !unbounded)).collect()
}

fn term_unbounded(task: &RowTask, numbers: &[bool]) -> Vec<bool> {
    let mut flows: Vec<bool> = Vec::with_capacity(task.terms.len());
    for (at, &term) in task.terms.iter().enumerate() {
        let flow = match term {
            Term::Number(number) => numbers[number as usize],
            Term::Holds(_) => false,
            _ => parts(task, at as u32).into_iter().flatten().any(|part| flows[part as usize]),
        };
        flows.push(flow);
    }
    flows
}

type Interval = Option<(Rational, Rational)>;

fn term_intervals(task: &RowTask, numbers: &[Interval]) -> Vec<Interval> {
    let one = Rational::from_integer(1);
    let mut held: Vec<Interval> = Vec::with_capacity(task.terms.len());
    for &term in &task.terms {
        let pair = |a: u32, b: u32| held[a as usize].zip(held[b as usize]);
        let interval = match term {
            Term::Constant(number) => Some((number, number)),
            Term::Number(number) => numbers[number as usize],
            Term::Holds(_) => Some((Rational::from_integer(0), one)),
            Term::Add(a, b) => {
                pair(a, b).and_then(|(a, b)| Some((a.0.checked_add(&b.0)?, a.1.checked_add(&b.1)?)))
            }
            Term::Subtract(a, b) => {
                pair(a, b).and_then(|(a, b)| Some((a.0.checked_sub(&b.1)?, a.1.checked_sub(&b.0)?)))
            }
            Term::Multiply(a, b) => pair(a, b).and_then(|(a, b)| {
                let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
                let ends = ends.iter().map(|(a, b)| a.checked_mul(b)).collect::<Option<Vec<_>>>()?;
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }),
            Term::Divide(..) => None,
        };
        held.push(interval);
    }
    held
}
