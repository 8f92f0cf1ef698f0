//! Explorers that keep every state in RAM: [`breadth`] (shortest traces) and [`depth`].

pub mod breadth;
pub mod depth;
mod path;

use crate::lane::Task;
use hadal_store::Governor;

/// A search to be done in RAM.
pub struct Search<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
}
