//! Text in, [`hadal_system::System`] out: one folder per language, one diagnostic type for all.
pub mod diagnostic;
pub mod dve;
pub mod murphi;
pub use diagnostic::{Diagnostic, Diagnostics, Refused, Severity};
