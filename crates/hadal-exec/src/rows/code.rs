//! How a number is packed: its distance from a least value in units of its scale, so that codes ascend with values.
//!
//! A value that does not fit is a *widening*: the space notes it, the search ends there, and whoever runs it begins again
//! with [wider codes](Widths::widened). Codes never depend on the order in which values are met.

use super::layout::Place;
use super::numeric::{Amount, Terms};
use hadal_system::rows::scale::intervals;
use hadal_system::rows::{Rational, RowTask};
use hadal_system::state::mask;

/// Bits of a number whose bounds are not known, at first.
const FIRST: u32 = 16;
/// Most bits of a number.
const MOST: u32 = 63;

/// How many bits each number has, and from where it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widths {
    codes: Vec<(u32, i128)>,
}

impl Widths {
    /// From the values that updates can give where they are few; else 16 bits around the initial value.
    pub(super) fn first(task: &RowTask, terms: &Terms) -> Self {
        let intervals = intervals(task);
        let codes = task.numbers.iter().enumerate().map(|(at, number)| {
            if !terms.exact() {
                return (64, 0);
            }
            let scale = terms.number_scale(at as u32);
            let (low, high) = match intervals[at] {
                Some((low, high)) => (floor(low, scale), floor(high, scale)),
                None => (None, None),
            };
            let bounded = low.zip(high).and_then(|(low, high)| Some((low, high.checked_sub(low)?)));
            match bounded {
                // One code more for undefined.
                Some((low, span)) if span < (1 << 40) => (128 - (span + 1).leading_zeros(), low),
                _ => {
                    let start = number.initial.and_then(|value| floor(value, scale)).unwrap_or(0);
                    (FIRST, start.saturating_sub(1 << (FIRST - 1)))
                }
            }
        });
        Widths { codes: codes.collect() }
    }

    /// Twice the bits for every number that may need them; `None` where they have all there are.
    pub fn widened(&self) -> Option<Widths> {
        if self.codes.iter().all(|&(width, _)| width >= MOST) {
            return None;
        }
        let wider = |&(width, low): &(u32, i128)| {
            let to = (width * 2).clamp(FIRST, MOST);
            (to, low.saturating_sub((1i128 << (to - 1)) - (1i128 << width.saturating_sub(1))))
        };
        Some(Widths { codes: self.codes.iter().map(wider).collect() })
    }

    pub(super) fn bits(&self) -> Vec<u32> {
        self.codes.iter().map(|&(width, _)| width).collect()
    }

    pub(super) fn low(&self, number: usize) -> i128 {
        self.codes[number].1
    }
}

/// How one number is packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub(super) place: Place,
    pub(super) low: i128,
    pub(super) exact: bool,
}

impl Code {
    /// The code of a value; `None` where it does not fit. Code 0 is undefined.
    #[inline]
    pub(super) fn encode(self, value: Amount) -> Option<u64> {
        match value {
            Amount::Undefined => Some(0),
            Amount::Exact(units) => {
                let code = u64::try_from(units.checked_sub(self.low)?.checked_add(1)?).ok()?;
                (code > 0 && code <= mask(self.place.width)).then_some(code)
            }
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
        if code == 0 {
            return Amount::Undefined;
        }
        match self.exact {
            true => Amount::Exact(i128::from(code) - 1 + self.low),
            false if code >> 63 == 1 => Amount::Float(f64::from_bits(code & !(1 << 63))),
            false => Amount::Float(f64::from_bits(!code)),
        }
    }
}

fn floor(value: Rational, scale: i128) -> Option<i128> {
    i128::checked_mul(*value.numer(), scale)?.checked_div_euclid(*value.denom())
}
