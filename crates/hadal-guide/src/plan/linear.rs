//! Terms as linear forms of numbers, for estimates: sums of numbers times factors, in floating point.

use super::relaxed::Side;
use hadal_system::rows::{RowTask, Sign, Term};
use std::collections::HashMap;

/// A sum of numbers times factors, plus a constant.
pub(super) struct Linear {
    pub(super) factors: HashMap<u32, f64>,
    pub(super) constant: f64,
}

/// The value of a term that depends on nothing.
pub(super) fn constant(task: &RowTask, term: u32) -> Option<f64> {
    match task.terms[term as usize] {
        Term::Constant(value) => Some(*value.numer() as f64 / *value.denom() as f64),
        _ => linear(task, term).filter(|linear| linear.factors.is_empty()).map(|linear| linear.constant),
    }
}

/// A term as a linear form, where it is one. Terms are evaluated children first, so nothing recurs.
pub(super) fn linear(task: &RowTask, term: u32) -> Option<Linear> {
    let mut needed = vec![false; term as usize + 1];
    needed[term as usize] = true;
    for at in (0..=term as usize).rev() {
        if let Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) =
            task.terms[at]
            && needed[at]
        {
            needed[a as usize] = true;
            needed[b as usize] = true;
        }
    }
    let mut forms: HashMap<u32, Linear> = HashMap::new();
    for at in (0..=term).filter(|&at| needed[at as usize]) {
        let form = match task.terms[at as usize] {
            Term::Constant(value) => {
                Linear { factors: HashMap::new(), constant: *value.numer() as f64 / *value.denom() as f64 }
            }
            Term::Number(number) => Linear { factors: HashMap::from([(number, 1.0)]), constant: 0.0 },
            Term::Holds(_) => return None,
            Term::Add(a, b) => forms.get(&a)?.plus(forms.get(&b)?, 1.0),
            Term::Subtract(a, b) => forms.get(&a)?.plus(forms.get(&b)?, -1.0),
            Term::Multiply(a, b) => {
                let (a, b) = (forms.get(&a)?, forms.get(&b)?);
                match (a.factors.is_empty(), b.factors.is_empty()) {
                    (_, true) => a.times(b.constant),
                    (true, false) => b.times(a.constant),
                    (false, false) => return None,
                }
            }
            Term::Divide(a, b) => {
                let (a, b) = (forms.get(&a)?, forms.get(&b)?);
                if !b.factors.is_empty() || b.constant == 0.0 {
                    return None;
                }
                a.times(1.0 / b.constant)
            }
        };
        forms.insert(at, form);
    }
    forms.remove(&term)
}

impl Linear {
    /// The value of a form of one number.
    pub(super) fn at(&self, number: f64) -> f64 {
        self.factors.values().map(|factor| factor * number).sum::<f64>() + self.constant
    }

    /// Whether a form of one number may meet a comparison where the number has this value: said only where rounding cannot
    /// be what decides.
    pub(super) fn meets(&self, sign: Sign, side: Side, number: f64) -> bool {
        let value = self.at(number);
        let close = value.abs() <= 1e-6 * (1.0 + self.constant.abs() + number.abs());
        match sign {
            Sign::Positive | Sign::NotNegative | Sign::Zero => value * side.sign() > 0.0 || close,
            Sign::NotZero => true,
        }
    }

    fn plus(&self, other: &Linear, sign: f64) -> Linear {
        let mut factors = self.factors.clone();
        for (&number, &factor) in &other.factors {
            *factors.entry(number).or_insert(0.0) += sign * factor;
        }
        factors.retain(|_, factor| *factor != 0.0);
        Linear { factors, constant: self.constant + sign * other.constant }
    }

    pub(super) fn times(&self, by: f64) -> Linear {
        let factors = self.factors.iter().map(|(&number, &factor)| (number, factor * by)).collect();
        Linear { factors, constant: self.constant * by }
    }
}
