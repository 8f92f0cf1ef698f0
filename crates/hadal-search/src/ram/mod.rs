//! Explorers that keep every state in RAM: [`breadth`] (shortest traces) and [`depth`].

pub mod breadth;
pub mod depth;
mod lane;
mod liveness;
mod path;

use crate::control::Control;
use crate::report::Question;
use hadal_store::Governor;
use hadal_system::StateSpace;

/// A search to be done in RAM.
pub struct Search<'a> {
    /// What to explore.
    pub space: &'a dyn StateSpace,
    /// What to look for.
    pub question: &'a Question,
    /// When to stop, and what to show.
    pub control: &'a Control,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
}
