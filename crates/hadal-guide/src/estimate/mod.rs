//! The estimators, one file each, with what each promises beside its code.

pub(crate) mod active;
pub(crate) mod cached;
pub(crate) mod causal;
pub(crate) mod combined;
pub(crate) mod expression;
pub(crate) mod focused;
pub(crate) mod formula;
pub(crate) mod graph;
pub(crate) mod hamming;
pub(crate) mod pair;
pub(crate) mod pattern;
pub(crate) mod priced;
pub(crate) mod relaxed;
pub(crate) mod representative;

use hadal_system::guide::Distance;

/// The sum of two distances, infinite where one is.
pub(crate) fn plus(a: Distance, b: Distance) -> Distance {
    if !a.is_finite() || !b.is_finite() {
        return Distance::INFINITE;
    }
    Distance(a.0.saturating_add(b.0).min(u32::MAX - 1))
}
