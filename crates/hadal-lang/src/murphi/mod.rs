//! Murphi, as CMurphi 5.4 and Rumur accept it.
//!
//! [`parse`] reads the text, [`check`] resolves names and types and folds constants, [`lower`] builds the
//! [`System`]. `docs/languages/murphi.md` says what is accepted and where hadal differs.

pub mod ast;
pub mod check;
pub mod hir;
pub mod lex;
pub mod lower;
pub mod parse;
mod suggest;
pub mod token;
pub mod types;
mod walk;

use crate::{Diagnostics, Refused};
use hadal_system::{Source, System};

pub use parse::MAX_NESTING;

/// A model that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it means.
    pub system: System,
    /// What the reader may want to know.
    pub warnings: Diagnostics,
}

/// Reads a Murphi model. `overrides` replace the values of constants declared at its top level.
pub fn load(source: Source, overrides: &[(String, i64)]) -> Result<Loaded, Refused> {
    let mut diagnostics = Diagnostics::default();
    let ast = parse::parse(&source.text, &mut diagnostics);
    let model = check::check(&ast, overrides, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(refuse(source, diagnostics));
    }
    let system = lower::lower(&model, &source, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(refuse(source, diagnostics));
    }
    diagnostics.finish();
    Ok(Loaded { system, warnings: diagnostics })
}

fn refuse(source: Source, mut diagnostics: Diagnostics) -> Refused {
    diagnostics.finish();
    Refused { source_text: source, diagnostics }
}
