//! Where to look first: estimates of how far a state is from what is looked for.
//!
//! Explorers ask a [`Guide`] for one [`Estimator`] per thread. What an estimate may be used for (pruning, optimality)
//! follows from the guide's [`Promises`] and from nothing else. [`registry::build`] makes guides by name.

#[cfg(test)]
extern crate self as hadal_guide;

mod estimate;
mod guide;
mod mask;
mod meter;
pub mod priority;
pub mod reduce;
pub mod registry;
mod room;
mod target;
mod task;

pub use estimate::blind::Blind;
pub use guide::{Distance, Estimator, Guide, Promises};
pub use mask::Mask;
pub use meter::{CalledOff, Meter, Unmetered};
pub use priority::{Judge, Placement, Priority, Selection, Step};
pub use room::{OpenDisk, Room};
pub use target::{GuideError, Target};
