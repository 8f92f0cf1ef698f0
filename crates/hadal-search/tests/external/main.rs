//! External A*: published tables cell by cell, agreement with searches in RAM, and what survives on disk.

mod deadlocks;
mod durable;
mod graphs;
mod harness;
mod puzzles;
