//! Text in, [`hadal_system::System`] out: one folder per language, one diagnostic type for all.
pub mod diagnostic;
pub mod murphi;
pub mod dve;
pub use diagnostic::{Diagnostic, Diagnostics, Refused, Severity};
