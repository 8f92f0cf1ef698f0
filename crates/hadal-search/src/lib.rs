//! The explorers: they walk a [`hadal_system::StateSpace`] under a memory budget and answer with a [`Report`].
//!
//! An explorer is a choice of order, duplicate detection and storage. [`ram`] keeps every state in RAM.

pub mod auto;
pub mod control;
pub mod directed;
pub mod estimate;
pub mod external;
pub mod finding;
mod firings;
mod lane;
pub mod layered;
pub mod partition;
pub mod ram;
pub mod relaxed;
pub mod report;
pub mod strategy;
pub mod tiles;

pub use control::{Control, Done, Gauges, Limits, Pace, WhenFull};
pub use finding::Finding;
pub use firings::ActionFirings;
pub use lane::Task;
pub use report::{
    Buckets, DeadlockNotion, Distance, Layer, Proviso, Question, Report, Spent, StopReason, Verdict,
    Violation, ViolationKind,
};
