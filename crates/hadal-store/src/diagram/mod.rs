//! The closed set as an exact decision diagram: a trie over the packed state, equal subtries shared.
//!
//! The state is cut into [`Levels`] of at most 8 bits from the most significant end. A node is a
//! *branch* over the labels of one level or a *chain* of fixed labels; equal nodes exist once. Sets of
//! protocol states take 0.002 to 0.6 bytes per state in this form (`docs/diagram.md`).
//!
//! [`ClosedDiagram`] is the set that explorers use; [`Diagram`] is the machinery below it, one arena
//! with named sets.

mod bits;
mod build;
mod cache;
mod closed;
mod collect;
mod core;
mod count;
mod enumerate;
mod file;
mod filter;
mod levels;
mod node;
mod nodes;
mod operation;
mod rank;
mod shard;
mod unique;

pub use closed::{ClosedDiagram, ClosedIter, SetupError};
pub use core::{Diagram, Root, Statistics};
pub use enumerate::Enumerator;
pub use file::DiagramReadError;
pub use levels::{Levels, LevelsError, MAX_LEVELS};
pub use rank::RankedDiagram;
pub use shard::{Keep, Set};
