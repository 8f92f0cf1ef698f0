//! How a number is packed: as a [wide value](hadal_system::wide) in units of its scale.
//!
//! A value that does not fit is a *widening*: the space notes it, the search ends there, and whoever runs it begins again
//! with [wider codes](Widths::widened). Codes never depend on the order in which values are met.

use super::layout::Place;
use super::numeric::{Amount, Terms};
use hadal_system::rows::scale::intervals;
use hadal_system::rows::{Rational, RowTask};
use hadal_system::wide::WideCode;

/// How many bits each number has, and from where it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widths {
    codes: Vec<WideCode>,
}

impl Widths {
    /// From the values that updates can give where they are few; else 16 bits around the initial value.
    pub(super) fn first(task: &RowTask, terms: &Terms) -> Self {
        let intervals = intervals(task);
        let codes = task.numbers.iter().enumerate().map(|(at, number)| {
            if !terms.exact() {
                return WideCode::with_bits(64, 0);
            }
            let scale = terms.number_scale(at as u32);
            let (low, high) = match intervals[at] {
                Some((low, high)) => (floor(low, scale), floor(high, scale)),
                None => (None, None),
            };
            let few = |(low, high): &(i128, i128)| high.checked_sub(*low).is_some_and(|span| span < 1 << 40);
            let spanning = low.zip(high).filter(few).and_then(|(low, high)| WideCode::spanning(low, high));
            spanning.unwrap_or_else(|| {
                WideCode::around(number.initial.and_then(|value| floor(value, scale)).unwrap_or(0))
            })
        });
        Widths { codes: codes.collect() }
    }

    /// Twice the bits for every number that may need them; `None` where they have all there are.
    pub fn widened(&self) -> Option<Widths> {
        let wider = || Widths { codes: self.codes.iter().map(|code| code.widened()).collect() };
        (!self.codes.iter().all(|code| code.is_widest())).then(wider)
    }

    pub(super) fn bits(&self) -> Vec<u32> {
        self.codes.iter().map(|code| code.bits()).collect()
    }

    pub(super) fn code(&self, number: usize) -> WideCode {
        self.codes[number]
    }
}

/// How one number is packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub(super) place: Place,
    pub(super) wide: WideCode,
    pub(super) exact: bool,
}

impl Code {
    /// The code of a value; `None` where it does not fit. Code 0 is undefined.
    #[inline]
    pub(super) fn encode(self, value: Amount) -> Option<u64> {
        match value {
            Amount::Undefined => Some(0),
            Amount::Exact(units) => self.wide.encode(units),
            Amount::Float(float) => {
                let bits = float.to_bits();
                // Positive numbers above negative ones; 0 stays free, as it would be a NaN.
                Some(if bits >> 63 == 0 { bits | 1 << 63 } else { !bits })
            }
        }
    }

    /// The value of a code.
    #[inline]
    pub(super) fn decode(self, code: u64) -> Amount {
        let Some(units) = self.wide.decode(code) else { return Amount::Undefined };
        match self.exact {
            true => Amount::Exact(units),
            false if code >> 63 == 1 => Amount::Float(f64::from_bits(code & !(1 << 63))),
            false => Amount::Float(f64::from_bits(!code)),
        }
    }
}

fn floor(value: Rational, scale: i128) -> Option<i128> {
    i128::checked_mul(*value.numer(), scale)?.checked_div_euclid(*value.denom())
}
