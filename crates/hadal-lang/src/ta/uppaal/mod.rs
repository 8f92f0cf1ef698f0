//! UPPAAL's input languages: XML (`.xml`), text (`.xta`) and queries (`.q`).
//!
//! [`xml`] and [`xta`] read the frame, [`parse`] expressions, statements and declarations, [`lower`] instantiates templates
//! and makes a network; [`query`] makes questions of formulas.

mod asked;
mod ast;
mod clock;
mod expr;
mod instance;
mod lex;
mod lower;
mod parse;
mod query;
mod reference;
mod stmt;
mod types;
mod xml;
mod xta;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Language, LoadError, Loaded, LoadedModel, Request};
use ast::Query;
use hadal_system::{DeadlockNotion, Source, Span};

/// UPPAAL.
pub static LANGUAGE: Language = Language {
    name: "UPPAAL",
    extensions: &["xta", "xml"],
    deadlock: DeadlockNotion::Off,
    defines: "an integer constant of the model",
    expand: None,
    load,
};

fn load(request: Request) -> Result<Loaded, LoadError> {
    let define = request.options.only_numbers(&LANGUAGE)?;
    let mut findings = Diagnostics::default();
    let text = request.source.text.clone();
    let is_xml = request.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
    let document = match is_xml {
        true => xml::document(&text, &mut findings),
        false => xta::document(&text, &mut findings),
    };
    let refused =
        |findings: Diagnostics| Refused { source_text: request.source.clone(), diagnostics: findings };
    let Some(mut document) = document.filter(|_| !findings.has_errors()) else {
        findings.finish();
        return Err(refused(findings).into());
    };
    // A file of queries beside a text model belongs to it.
    let beside = request.path.with_extension("q");
    let file = match &request.options.queries {
        Some(file) => Some(file.clone()),
        None => (!is_xml && beside.is_file()).then_some(beside),
    };
    if let Some(path) = file {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| LoadError::File { path, error })?;
        document.queries = xta::queries(&Source::new(name, text), &mut findings);
    }
    for text in &request.options.asked {
        let mut aside = Diagnostics::default();
        let read = xta::queries(&Source::new("the query", text.as_str()), &mut aside);
        // A bare name is that of something else.
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        aside.list.into_iter().filter(|_| !is_name).for_each(|finding| findings.push(finding));
        let is_new = |query: &Query| !document.queries.iter().any(|known| known.text == query.text);
        document.queries.extend(read.into_iter().filter(is_new).collect::<Vec<_>>());
    }
    for text in &request.options.propositions {
        let mut aside = Diagnostics::default();
        match xta::proposition(text, &mut aside) {
            Some(term) => document.propositions.push((text.clone(), term)),
            None => {
                let why = aside.list.first().map_or(String::new(), |it| format!(": {}", it.message));
                let message = format!("`{text}` is no expression of the model{why}");
                findings.push(Diagnostic::error(Span::default(), message));
            }
        }
    }
    let timed = lower::lower(request.source.clone(), &document, &define, &mut findings);
    findings.finish();
    match timed {
        Some(timed) if !findings.has_errors() => {
            Ok(Loaded { model: LoadedModel::Timed(timed), warnings: findings })
        }
        _ => Err(refused(findings).into()),
    }
}
