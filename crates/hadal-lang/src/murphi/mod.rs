//! Murphi, as CMurphi 5.4 and Rumur accept it.
//!
//! [`parse`] reads the text, [`check`] resolves names and types and folds constants, [`lower`] builds the
//! [`System`](hadal_system::System). `docs/languages/murphi.md` says what is accepted and where hadal differs.

pub mod ast;
pub mod check;
pub mod hir;
pub mod lex;
pub mod lower;
pub mod parse;
pub mod token;
pub mod types;
mod walk;

use crate::language::{Language, Lowered};
use crate::{Diagnostics, Refused};
use hadal_system::{DeadlockNotion, Source};

pub use parse::MAX_NESTING;

/// Murphi, for the registry.
pub static LANGUAGE: Language = Language {
    name: "Murphi",
    endings: &["m", "murphi"],
    deadlock: DeadlockNotion::Stuttering,
    defines: "a constant declared at the top level, a number",
    load: |request| {
        let overrides = request.options.only_numbers(&LANGUAGE)?;
        Ok(load(request.source, &overrides)?.into())
    },
};

/// Reads a Murphi model. `overrides` replace the values of constants declared at its top level.
pub fn load(source: Source, overrides: &[(String, i64)]) -> Result<Lowered, Refused> {
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
    Ok(Lowered { system, warnings: diagnostics })
}

fn refuse(source: Source, mut diagnostics: Diagnostics) -> Refused {
    diagnostics.finish();
    Refused { source_text: source, diagnostics }
}
