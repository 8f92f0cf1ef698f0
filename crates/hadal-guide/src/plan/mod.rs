//! Guides for ground tasks, built from their rows: flat arrays of facts and operators, nothing allocated per estimate.

mod abstraction;
mod additive;
mod count;
mod floors;
mod intervals;
mod landmarks;
mod linear;
mod lmcut;
mod locality;
mod queue;
mod relaxed;
mod resources;
mod safe;
mod stubborn;

pub use abstraction::{Allowance, Partitioned, PartitionedEstimator, Source};
pub use additive::{Exploration, Relaxation, RelaxedGuide};
pub use count::LandmarkCount;
pub use landmarks::{Landmark, Landmarks};
pub use lmcut::{Cuts, LmCut};
pub use locality::NoOps;
pub use relaxed::{CostKind, Lists, NO_ROW, Relaxed};
pub use safe::Safe;
pub use stubborn::{Pruned, Stubborn};
