//! Which transitions to follow first: layers over a guide that sort successors into numbered queues by the transition
//! that made them, not by the state they are (Wehrle 2011, ch. 3 and 4).
//!
//! A [`Priority`] is built once for a search; each thread takes a [`Judge`], which places one successor at a time.

mod bound;
mod build;
pub mod context;
pub mod edges;
mod layer;
pub mod oracle;
mod order;
pub mod useless;

pub use build::{PRIORITIES, PriorityError, PriorityInfo, build, build_timed, list};
pub use order::published_order;

pub use hadal_system::guide::{Judge, NoPriority, Placement, Priority, Selection, Step};
