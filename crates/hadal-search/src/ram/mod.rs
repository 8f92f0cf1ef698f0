//! Explorers that keep every state in RAM: [`Breadth`] (shortest traces) and [`Depth`].

pub(crate) mod breadth;
pub(crate) mod depth;
pub(crate) mod layer;
mod merging;
mod path;

pub use breadth::Breadth;
pub use depth::Depth;
