//! Real time: the zone graph of a [`hadal_system::TimedSystem`] as a state space.
//!
//! A state is a zone in the low words and the discrete part in the high ones, so that the order of states keeps zones
//! of one discrete part together. Zones are closed under delay and extrapolated by Extra_LU+ with bounds per location;
//! covering is inclusion, or inclusion in the abstraction aLU (Herbreteau, Srivathsan and Walukiewicz 2012).

#![allow(clippy::needless_range_loop, reason = "rows and columns of a matrix are numbers of clocks")]

pub mod bounds;
mod code;
pub mod concrete;
pub mod cover;
mod culprit;
pub mod dbm;
pub mod deadlock;
mod diagonal;
mod options;
mod pack;
pub mod priced;
pub mod regions;
pub mod runs;
mod settle;
mod show;
pub mod space;
mod timing;
pub(crate) mod worker;

pub use concrete::{ConcreteStep, ConcreteTrace};
pub use cover::Covering;
pub use dbm::Zone;
pub use options::{Extrapolation, MOST_WORDS, ZoneError, ZoneOptions};
pub use regions::{RegionError, RegionSpace};
pub use space::ZoneSpace;
