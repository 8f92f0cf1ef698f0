//! External A*: published tables cell by cell, agreement with searches in RAM, and what survives on disk.

mod deadlocks;
#[path = "../drawn/mod.rs"]
mod drawn;
mod durable;
mod graphs;
mod harness;
mod horizon;
mod puzzles;
