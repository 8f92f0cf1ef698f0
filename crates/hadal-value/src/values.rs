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
        let less = |value: f64| (1.0 - value).next_down().max(0.0);
        let more = |value: f64| (1.0 - value).next_up().min(1.0);
        let sharp = |value: f64, other: f64| value == other && (value == 0.0 || value == 1.0);
        let pairs: Vec<(f64, f64)> = self
            .lower
            .iter()
            .zip(&self.upper)
            .map(|(&l, &u)| if sharp(l, u) { (1.0 - u, 1.0 - l) } else { (less(u), more(l)) })
            .collect();
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
