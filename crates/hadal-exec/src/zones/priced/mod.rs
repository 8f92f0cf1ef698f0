//! Prices: linearly priced timed automata, their priced zones, and the search for a cheapest run.
//!
//! Zones are not extrapolated, since that would change costs: clocks must be bounded by invariants, or the search may not
//! end.

pub(crate) mod flow;
mod packed;
mod schedule;
mod search;
mod space;
mod symmetry;
mod zone;

pub use packed::PricedStates;
pub use schedule::{Schedule, ScheduleError};
pub use search::{Answer, Found, Order, Pass, PricedLimits, search};
pub use space::{PricedError, PricedSpace};
pub use zone::PricedZone;
