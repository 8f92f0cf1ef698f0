//! Murphi, as CMurphi 5.4 and Rumur accept it.

pub mod ast;
pub mod check;
pub mod hir;
pub mod lex;
pub mod parse;
mod suggest;
pub mod token;
pub mod types;

pub use parse::MAX_NESTING;
