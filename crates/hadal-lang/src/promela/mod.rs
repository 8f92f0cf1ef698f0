//! Promela, the language of SPIN.
//!
//! [`load`] turns a model into a [`hadal_system::System`]: [`crate::cpp`] preprocesses, [`parse`] reads, [`check`] resolves names and
//! builds control graphs, [`flow`] reads the steps off them, [`lower`] builds the system. What of the language is
//! supported, and how it differs from SPIN, stands in `docs/languages/promela.md`.

pub mod ast;
pub mod check;
pub mod flow;
pub mod lower;
pub mod model;
pub mod parse;

use crate::cpp::{self, Include};
use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Given, Language, Lowered};
use hadal_system::{DeadlockNotion, Source, Span};
use std::path::Path;

/// Promela, as SPIN accepts it.
pub static LANGUAGE: Language = Language {
    name: "Promela",
    endings: &["pml", "promela", "prm", "pr", "spin", "prom", "pm"],
    deadlock: DeadlockNotion::Stuck,
    defines: "a macro of the preprocessor, a number or text",
    load: |request| {
        let definitions: Vec<(String, String)> = request
            .options
            .define
            .iter()
            .map(|(name, given)| match given {
                Given::Number(value) => (name.clone(), value.to_string()),
                Given::Text(text) => (name.clone(), text.clone()),
            })
            .collect();
        let folder = request.path.parent().map(Path::to_path_buf).unwrap_or_default();
        let include = |name: &str| {
            let bytes = std::fs::read(folder.join(name)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let instances = &request.options.processes;
        let options = Options { definitions: &definitions, include: &include, instances };
        Ok(load(request.source, options)?.into())
    },
};

/// What to load beside the text.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Macros that are defined before the first line.
    pub definitions: &'a [(String, String)],
    /// Finds included files.
    pub include: Include<'a>,
    /// How many instances a process type may have at once, where that is known better than by looking at the text.
    pub instances: &'a lower::Instances,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { definitions: &[], include: &|_| None, instances: &[] }
    }
}

/// Reads the error that says that more processes of a type are started than there is room for: the type, and the room.
pub fn no_room(message: &str) -> Option<(&str, usize)> {
    let (_, rest) = message.split_once(lower::NO_ROOM)?;
    let (room, rest) = rest.trim_start().split_once(' ')?;
    let name = rest.split('`').nth(1)?;
    Some((name, room.parse().ok()?))
}

/// What a text asks besides assertions: the name, the word it begins with, and where it stands.
fn questions(tree: &ast::Tree) -> Vec<(String, &str, Span)> {
    let claims = tree.claims.iter().chain(&tree.traces);
    let claims = claims.map(|claim| (&claim.name, &*claim.word.text, claim.word.span));
    let formulas = tree.formulas.iter().map(|formula| (&formula.name, "ltl", formula.span));
    claims
        .chain(formulas)
        .map(|(name, word, span)| {
            (name.as_ref().map_or_else(|| word.to_owned(), |name| name.text.to_string()), word, span)
        })
        .collect()
}

/// Loads a model.
pub fn load(source: Source, options: Options) -> Result<Lowered, Refused> {
    let mut findings = Diagnostics::default();
    let tokens = cpp::preprocess(&source.text, options.definitions, options.include, &mut findings);
    let tree = parse::parse(tokens, &mut findings);
    let mut system = None;
    if !findings.has_errors() {
        let model = check::check(&tree, &mut findings);
        if !findings.has_errors() {
            system = lower::lower(&model, source.clone(), options.instances, &mut findings);
        }
    }
    for (name, word, span) in questions(&tree) {
        let message = format!("`{name}` is not checked");
        let place = Span::new(span.start as usize, span.start as usize + word.len());
        findings
            .push(Diagnostic::warning(place, message).label("only deadlocks and assertions are looked at"));
        if let Some(system) = &mut system {
            system.unanswered.push(name);
        }
    }
    findings.finish();
    match system {
        Some(system) if !findings.has_errors() => Ok(Lowered { system, warnings: findings }),
        _ => {
            if !findings.has_errors() {
                findings.push(Diagnostic::error(Span::default(), "the model could not be understood"));
            }
            Err(Refused { source_text: source, diagnostics: findings })
        }
    }
}
