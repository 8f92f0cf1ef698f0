//! Decision processes larger than memory: the graph on disk, values in RAM while they fit (two numbers a state), one scan
//! of the edges per sweep.

mod answer;
mod graph;
mod solve;

pub use answer::answer;
pub use graph::{DiskError, DiskGraph, DiskOptions, Row};
pub use solve::{DiskValues, Jacobi, earned_before, jacobi, until};
