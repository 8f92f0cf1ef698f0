//! Makes a [`hadal_system::System`] run: an interpreter that defines its meaning, a compiler to machine code that
//! agrees with it, symmetry and partial-order reduction, and [`model::Model`], the state space explorers walk.

mod choices;
mod chosen;
pub mod compile;
pub mod fault;
mod fields;
pub mod fingerprint;
pub mod follow;
pub mod interpret;
pub mod model;
mod passing;
pub mod product;
pub mod replay;
pub mod rows;
pub mod stubborn;
pub mod symmetry;
pub mod zones;

pub use fault::{Fault, FaultKind};
pub use interpret::{Interpreter, Notes, Outcome};
pub use model::{Engine, Model, ModelError, ModelOptions};
pub use symmetry::SymmetryMode;
