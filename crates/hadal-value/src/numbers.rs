//! Exact numbers by index, with the floating-point numbers just below and above each.

use hadal_system::rows::Rational;
use num_traits::CheckedAdd;
use std::collections::HashMap;

/// Numbers met in a graph: number 0 is 0, number 1 is 1.
#[derive(Clone, Debug)]
pub struct Numbers {
    exact: Vec<Rational>,
    below: Vec<f64>,
    above: Vec<f64>,
    known: HashMap<Rational, u32>,
    /// Sums that were made lately: of which two, and which number it is.
    sums: [(u32, u32, u32); SUMS],
}

/// So many sums are remembered: models have few probabilities, and the same ones meet again and again.
const SUMS: usize = 64;

impl Default for Numbers {
    fn default() -> Self {
        let mut numbers = Numbers {
            exact: Vec::new(),
            below: Vec::new(),
            above: Vec::new(),
            known: HashMap::new(),
            sums: [(0, 0, 0); SUMS],
        };
        numbers.add(Rational::from_integer(0));
        numbers.add(Rational::from_integer(1));
        numbers
    }
}

impl Numbers {
    /// The index of a value.
    pub fn add(&mut self, value: Rational) -> u32 {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let at = self.exact.len() as u32;
        let (below, above) = bracket(&value);
        self.exact.push(value);
        self.below.push(below);
        self.above.push(above);
        self.known.insert(value, at);
        at
    }

    /// The index of the sum of two values; `None` where it is too large.
    pub fn sum(&mut self, left: u32, right: u32) -> Option<u32> {
        // Nothing is the sum of nothing: places that are not taken yet say what is so.
        let place = (left.wrapping_mul(31) ^ right) as usize % SUMS;
        let (one, other, sum) = self.sums[place];
        if (one, other) == (left, right) {
            return Some(sum);
        }
        let sum = self.exact(left).checked_add(&self.exact(right))?;
        let sum = self.add(sum);
        self.sums[place] = (left, right, sum);
        Some(sum)
    }

    /// The value behind an index.
    pub fn exact(&self, at: u32) -> Rational {
        self.exact[at as usize]
    }

    /// Floating-point numbers not above the values, by index.
    pub fn below(&self) -> &[f64] {
        &self.below
    }

    /// Floating-point numbers not below the values, by index.
    pub fn above(&self) -> &[f64] {
        &self.above
    }

    /// All of them as words, in order.
    pub fn encode(&self) -> Vec<u64> {
        let halves = |value: i128| [value as u64, (value >> 64) as u64];
        self.exact.iter().flat_map(|v| [halves(*v.numer()), halves(*v.denom())]).flatten().collect()
    }

    /// What [`Numbers::encode`] wrote; `None` where it is something else.
    pub fn decode(words: &[u64]) -> Option<Self> {
        let mut numbers = Numbers::default();
        for (n, four) in words.chunks(4).enumerate() {
            let [a, b, c, d] = *four else { return None };
            let whole = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)) as i128;
            let (above, below) = (whole(a, b), whole(c, d));
            if below <= 0 || numbers.add(Rational::new(above, below)) as usize != n {
                return None;
            }
        }
        Some(numbers)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.exact.len()
    }

    /// Never: 0 and 1 are always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The floating-point number at a fraction, or within a few of it.
pub fn nearest(value: &Rational) -> f64 {
    *value.numer() as f64 / *value.denom() as f64
}

/// Floating-point numbers around a fraction that is not negative; both are it where it is one itself.
pub fn bracket(value: &Rational) -> (f64, f64) {
    let (above, below) = (*value.numer(), *value.denom());
    let exact = |n: i128| n.unsigned_abs() < 1 << 53;
    let quotient = nearest(value);
    // A power of two divides without rounding.
    if exact(above) && (below & (below - 1)) == 0 && below < 1 << 100 {
        return (quotient, quotient);
    }
    if exact(above) && exact(below) {
        // One rounding, of the quotient: its neighbours lie on both sides.
        return (quotient.next_down(), quotient.next_up());
    }
    let (mut low, mut high) = (quotient, quotient);
    for _ in 0..4 {
        (low, high) = (low.next_down(), high.next_up());
    }
    (low, high)
}
