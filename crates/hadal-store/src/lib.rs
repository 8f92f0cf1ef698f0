//! Bytes under a budget: the memory governor, sorted runs of states on disk and what is built on them.
//!
//! Files are described byte by byte in `docs/format.md`.
pub mod diagram;
pub mod table;
pub mod governor;

pub use governor::{Governor, OverBudget, Reservation};
