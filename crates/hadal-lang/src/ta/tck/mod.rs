//! TChecker's input language.
//!
//! [`declare`] cuts the text into declarations, [`term`] reads expressions and statements, [`lower`] makes a network.

mod declare;
mod lower;
mod term;

pub(super) use lower::compare_clock;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Language, LoadError, Loaded, LoadedModel, Request};
use hadal_system::timed::LocationLabel;
use hadal_system::{DeadlockNotion, Property, PropertyBody, PropertyKind, Source, Span, TimedSystem};

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
    Ok(load_with(request.source, &request.options.propositions)?)
}

/// Loads a model.
pub fn load(source: Source) -> Result<Loaded, Refused> {
    load_with(source, &[])
}

/// Loads a model with propositions: names of labels, and places `process.location`.
fn load_with(source: Source, propositions: &[String]) -> Result<Loaded, Refused> {
    let mut findings = Diagnostics::default();
    let declarations = declare::declarations(&source.text, &mut findings);
    let mut timed = lower::lower(source.clone(), &declarations, &mut findings);
    if let Some(timed) = &mut timed {
        propose(timed, propositions, &mut findings);
    }
    findings.finish();
    match timed {
        Some(timed) if !findings.has_errors() => {
            Ok(Loaded { model: LoadedModel::Timed(timed), warnings: findings })
        }
        _ => Err(Refused { source_text: source, diagnostics: findings }),
    }
}

/// Adds propositions to the properties of a model.
fn propose(timed: &mut TimedSystem, texts: &[String], findings: &mut Diagnostics) {
    for text in texts {
        let label = timed.labels.iter().find(|label| label.name == text.trim());
        let value = match (label, place(timed, text.trim())) {
            (Some(label), _) => timed.label_holds(label),
            (None, Some(place)) => timed.label_holds(&place),
            (None, None) => {
                let message = format!(
                    "`{text}` is neither a label nor a place `process.location`: formulas speak of those in TChecker models"
                );
                findings.push(Diagnostic::error(Span::default(), message));
                continue;
            }
        };
        timed.system.properties.push(Property {
            name: text.clone(),
            kind: PropertyKind::Proposition,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(value),
            span: Span::default(),
        });
    }
    timed.formulas.resize(timed.system.properties.len(), None);
}

/// The place `process.location`.
fn place(timed: &TimedSystem, text: &str) -> Option<LocationLabel> {
    let (process, location) = text.split_once('.')?;
    let process = timed.system.processes.iter().position(|it| it.name == process.trim())?;
    let locations = &timed.system.processes[process].locations;
    let location = locations.iter().position(|it| it.name == location.trim())?;
    Some(LocationLabel { name: text.to_owned(), places: vec![(process, location)] })
}
