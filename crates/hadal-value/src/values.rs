//! Values of all states, each between two proved bounds, and exactly where that was asked for.

use dashu_ratio::RBig;

/// An exact value that may be infinite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exact {
    /// This number.
    Finite(RBig),
    /// More than any number.
    Infinite,
}

/// Values by state.
#[derive(Clone, Debug)]
pub struct Values {
    /// Not above the values.
    pub lower: Vec<f64>,
    /// Not below the values.
    pub upper: Vec<f64>,
    /// The values themselves, where they were worked out.
    pub exact: Option<Vec<Exact>>,
    /// Sweeps over the component that needed most.
    pub sweeps: u64,
    /// For each state a choice of the graph that attains its value up to the precision, where a policy was asked for.
    pub policy: Option<Vec<u32>>,
}

impl Values {
    /// The other probability: what is left to 1.
    pub fn complement(self) -> Self {
        let pairs: Vec<(f64, f64)> =
            self.lower.iter().zip(&self.upper).map(|(&l, &u)| other_probability((l, u))).collect();
        let exact = self.exact.map(|list| {
            list.into_iter()
                .map(|value| match value {
                    Exact::Finite(value) => Exact::Finite(RBig::ONE - value),
                    Exact::Infinite => Exact::Infinite,
                })
                .collect()
        });
        Values {
            lower: pairs.iter().map(|p| p.0).collect(),
            upper: pairs.iter().map(|p| p.1).collect(),
            exact,
            ..self
        }
    }
}

/// Bounds of what is left to 1: outward, but for a probability that is 0 or 1.
pub(crate) fn other_probability((low, high): (f64, f64)) -> (f64, f64) {
    match low == high && (low == 0.0 || low == 1.0) {
        true => (1.0 - high, 1.0 - low),
        false => ((1.0 - high).next_down().max(0.0), (1.0 - low).next_up().min(1.0)),
    }
}
