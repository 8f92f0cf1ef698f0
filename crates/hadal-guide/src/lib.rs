//! Where to look first: estimates of how far a state is from what is looked for.
//!
//! Explorers ask a [`Guide`] for one [`Estimator`] per thread. What an estimate may be used for (pruning, optimality)
//! follows from the guide's [`Promises`] and from nothing else. [`registry::build`] makes guides by name.

#[cfg(test)]
extern crate self as hadal_guide;

mod error;
mod estimate;
pub mod guides;
pub mod plan;
pub mod priority;
pub mod registry;
mod room;
pub mod shrink;
mod task;

pub use error::GuideError;
pub use estimate::pair::{Form, LassoGuide};
pub use estimate::priced::{Priced, Use};
pub use hadal_system::guide::Blind;
pub use hadal_system::guide::{
    CalledOff, Distance, Estimator, Goal, Guide, Judge, Mask, Meter, Placement, Priority, Promises,
    Selection, Step, Unmetered,
};
pub use room::{OpenDisk, Room};
