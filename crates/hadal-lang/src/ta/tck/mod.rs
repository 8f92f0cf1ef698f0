//! TChecker's input language.
//!
//! [`declare`] cuts the text into declarations, [`term`] reads expressions and statements, [`lower`] makes a network.

mod declare;
mod lower;
mod term;

pub(super) use lower::compare_clock;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Language, LoadError, Loaded, LoadedModel, Request};
use hadal_system::{DeadlockNotion, Source, Span};

/// TChecker.
pub static LANGUAGE: Language = Language {
    name: "TChecker",
    extensions: &["tck"],
    deadlock: DeadlockNotion::Off,
    defines: "nothing: a TChecker model has no parameters",
    expand: None,
    load: load_model,
};

fn load_model(request: Request) -> Result<Loaded, LoadError> {
    if let Some((name, _)) = request.options.define.first() {
        let mut diagnostics = Diagnostics::default();
        let message = format!("-D {name}: a TChecker model has no constants to define");
        diagnostics.push(Diagnostic::error(Span::default(), message));
        return Err(Refused { source_text: request.source, diagnostics }.into());
    }
    Ok(load(request.source)?)
}

/// Loads a model.
pub fn load(source: Source) -> Result<Loaded, Refused> {
    let mut findings = Diagnostics::default();
    let declarations = declare::declarations(&source.text, &mut findings);
    let timed = lower::lower(source.clone(), &declarations, &mut findings);
    findings.finish();
    match timed {
        Some(timed) if !findings.has_errors() => {
            Ok(Loaded { model: LoadedModel::Timed(timed), warnings: findings })
        }
        _ => Err(Refused { source_text: source, diagnostics: findings }),
    }
}
