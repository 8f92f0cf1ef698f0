//! Guides for ground tasks, built from their rows: flat arrays of facts and operators, nothing allocated per estimate.

mod additive;
mod count;
mod landmarks;
mod lmcut;
mod queue;
mod relaxed;

pub use additive::{Exploration, Relaxation, RelaxedGuide};
pub use count::LandmarkCount;
pub use landmarks::{Landmark, Landmarks};
pub use lmcut::{Cuts, LmCut};
pub use relaxed::{CostKind, Lists, NO_ROW, Relaxed};
