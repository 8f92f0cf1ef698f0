//! What transitions cost.
//!
//! A cost is a whole number from 0 up to [`MOST_COST`], read on the state before the transition. Paths are measured in it by
//! those who ask ([`crate::Worker::costs`]); everybody else counts steps.

/// The largest cost of one transition.
pub const MOST_COST: u32 = u32::MAX - 1;

/// Stands for a cost whose evaluation meets an error of the model: a number below 0 or above [`MOST_COST`], or no number.
pub const COST_ERROR: u32 = u32::MAX;

/// Bounds of what the transitions of a space cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostRange {
    /// No transition costs less.
    pub least: u32,
    /// No transition costs more.
    pub most: u32,
}

impl CostRange {
    /// Every transition costs 1: costs are steps.
    pub const STEPS: CostRange = CostRange { least: 1, most: 1 };

    /// Whether every transition costs 1.
    pub fn is_steps(self) -> bool {
        self == CostRange::STEPS
    }
}
