//! Means and extremes of ratios.

use hadal_check::units::{counted, decimal};
use serde::Serialize;

/// A set of ratios in three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The geometric mean: the only mean under which "twice as fast" and "half as fast" cancel.
    pub geometric_mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub greatest: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// Of positive ratios; `None` where there are none.
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Self> {
        let ratios: Vec<f64> = ratios.into_iter().filter(|r| r.is_finite() && *r > 0.0).collect();
        if ratios.is_empty() {
            return None;
        }
        let logarithms: f64 = ratios.iter().map(|r| r.ln()).sum();
        Some(Spread {
            geometric_mean: (logarithms / ratios.len() as f64).exp(),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: ratios.iter().copied().fold(0.0, f64::max),
            count: ratios.len(),
        })
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [mean, least, greatest] = [self.geometric_mean, self.least, self.greatest].map(decimal);
        let models = counted(self.count as u64, "model");
        write!(f, "geometric mean {mean}, least {least}, greatest {greatest}, over {models}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_ratios_cancel_in_the_mean() {
        let spread = Spread::of([4.0, 0.25, 1.0]).expect("three ratios");
        assert!((spread.geometric_mean - 1.0).abs() < 1e-12);
        assert_eq!((spread.least, spread.greatest, spread.count), (0.25, 4.0, 3));
    }

    #[test]
    fn a_spread_reads_as_numbers_do_everywhere() {
        let spread = Spread::of([0.05, 20_000.0]).expect("two ratios");
        assert_eq!(spread.to_string(), "geometric mean 31.62, least 0.050, greatest 20 000, over 2 models");
    }

    #[test]
    fn what_was_not_measured_does_not_count() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::INFINITY, 0.0]), None);
        assert_eq!(Spread::of([2.0, f64::NAN]).map(|s| s.count), Some(1));
    }
}
