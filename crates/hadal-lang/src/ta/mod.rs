//! Timed automata: TChecker's `.tck`, and UPPAAL's `.xta` and `.xml`.
//!
//! Each reader makes a [`network`]: processes with locations and edges, and the joint steps of its language. [`compose`]
//! makes a [`TimedSystem`] of it. What of the languages is supported, and how they differ, stands in
//! `docs/languages/ta.md`.

pub mod compose;
pub mod declare;
pub mod landing;
pub mod network;
mod shift;
pub mod tck;
pub mod uppaal;
