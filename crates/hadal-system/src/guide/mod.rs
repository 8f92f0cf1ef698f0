//! The interfaces between what guides a search and the explorers: estimates of distances ([`Guide`], [`Estimator`]) and
//! the order of transitions ([`Priority`], [`Judge`]). The guides themselves are in `hadal-guide`; a user may bring others.

mod blind;
mod goal;
mod mask;
mod meter;
mod priority;

pub use blind::Blind;
pub use goal::Goal;
pub use mask::Mask;
pub use meter::{CalledOff, Meter, Unmetered};
pub use priority::{Judge, NoPriority, Placement, Priority, Selection, Step};

use crate::space::Label;

/// A distance in the cost of transitions, or [`Distance::INFINITE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Distance(pub u32);

impl Distance {
    /// Here already.
    pub const ZERO: Distance = Distance(0);
    /// Nothing that is looked for seems reachable; a proof only where the guide promises [`Promises::safe`].
    pub const INFINITE: Distance = Distance(u32::MAX);

    /// Whether it is a number.
    pub fn is_finite(self) -> bool {
        self != Distance::INFINITE
    }
}

impl std::fmt::Display for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_finite() { self.0.fmt(f) } else { f.write_str("infinite") }
    }
}

/// What holds for every estimate of a guide, in every state, with every mask. Said beside each estimator's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// It is never more than the distance to the nearest state looked for.
    pub admissible: bool,
    /// A transition of cost c lowers it by at most c, and it is 0 where something looked for is met.
    pub consistent: bool,
    /// Infinity proves that nothing looked for can be reached: such a state may be dropped.
    pub safe: bool,
    /// Disabling transitions never makes it smaller.
    pub monotone: bool,
}

/// Estimates distances to what one search looks for.
pub trait Guide: Sync {
    /// How it is written on the command line.
    fn name(&self) -> String;

    /// What can be relied on.
    fn promises(&self) -> Promises;

    /// Something that computes estimates; each thread takes its own, with its own memory and cache.
    fn estimator(&self) -> Box<dyn Estimator + '_>;

    /// What made estimates impossible during a search: a table on disk that can no longer be read. Estimates are 0 then, and
    /// nothing that was found by them is to be believed.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Computes estimates for one thread.
pub trait Estimator: Send {
    /// The distance from `state` to the nearest state that is looked for, where the transitions in `off` cannot fire.
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance;

    /// What all estimates so far have taken beyond a few lookups, counted and not measured: in units of about a nanosecond.
    fn work(&self) -> u64 {
        0
    }

    /// The transitions that the last estimate rests on (an abstract path from the state to the goal), where the guide
    /// has them: disabling others leaves the estimate as it is.
    fn supporters(&self) -> Option<&[Label]> {
        None
    }

    /// Told that preferred transitions will be asked for after most estimates: what makes that cheap may be kept.
    fn keep_preferred(&mut self) {}

    /// The supporters that can fire first: transitions that the last estimate would take now.
    fn preferred(&self) -> &[Label] {
        &[]
    }
}
