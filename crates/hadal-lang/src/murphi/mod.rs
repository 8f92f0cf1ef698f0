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
use hadal_system::{DeadlockNotion, Property, PropertyKind, Source, System};

pub use parse::MAX_NESTING;

/// Murphi, for the registry.
pub static LANGUAGE: Language = Language {
    name: "Murphi",
    extensions: &["m", "murphi"],
    deadlock: DeadlockNotion::Stuttering,
    defines: "a constant declared at the top level, a number",
    expand: None,
    load: |request| {
        let overrides = request.options.only_numbers(&LANGUAGE)?;
        let source = with_propositions(request.source, &request.options.propositions);
        let mut lowered = load(source, &overrides)?;
        move_propositions(&mut lowered.system, &request.options.propositions);
        Ok(lowered.into())
    },
};

/// The model with propositions written as its last invariants.
fn with_propositions(source: Source, propositions: &[String]) -> Source {
    if propositions.is_empty() {
        return source;
    }
    let mut text = source.text.to_string();
    for (n, proposition) in propositions.iter().enumerate() {
        text.push_str(&format!("\n; invariant \"{PROPOSITION}{n}\" {proposition}"));
    }
    text.push('\n');
    Source::new(source.name, text)
}

/// No rule of a model has such a name.
const PROPOSITION: &str = "the proposition of a formula, number ";

/// The last invariants become propositions, and the last properties.
fn move_propositions(system: &mut System, texts: &[String]) {
    let (moved, rest): (Vec<Property>, Vec<Property>) =
        std::mem::take(&mut system.properties).into_iter().partition(|p| p.name.starts_with(PROPOSITION));
    system.properties = rest;
    let named = |(property, text): (Property, &String)| Property {
        name: text.clone(),
        kind: PropertyKind::Proposition,
        ..property
    };
    system.properties.extend(moved.into_iter().zip(texts).map(named));
}

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
