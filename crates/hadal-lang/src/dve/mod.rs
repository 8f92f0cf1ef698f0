//! DVE, the language of DiVinE and of the BEEM benchmark.
//!
//! [`load`] turns a model (`.dve`) or a family with its parameters (`.mdve`) into a [`System`](hadal_system::System):
//! [`m4`] expands families, [`lex`] and [`parse`] read the text, [`check`] resolves names, [`lower`] builds the system.
//! [`beem`] adds the goals of a BEEM description that lies beside a model. What of the language is supported, and how
//! it differs from DiVinE, stands in `docs/languages/dve.md`.

pub mod ast;
pub mod beem;
pub mod check;
pub mod lex;
pub mod lower;
pub mod m4;
pub mod model;
pub mod parse;
pub mod token;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Language, LoadError, Lowered, ModelErrors};
use beem::Description;
use hadal_system::{DeadlockNotion, Property, PropertyKind, Source, Span, System};

/// DVE, for the registry. The goals of a BEEM description beside the model become properties.
pub static LANGUAGE: Language = Language {
    name: "DVE",
    extensions: &["dve", "mdve"],
    deadlock: DeadlockNotion::Stuck,
    defines: "a constant, a number; a parameter of a family (.mdve), a number or text",
    load: |request| {
        let description = Description::beside(request.path)
            .map_err(|error| LoadError::File { path: request.path.with_extension("xml"), error })?;
        let options = Options {
            overrides: &request.options.numbers(),
            texts: &request.options.texts(),
            description: description.as_ref(),
            errors: request.options.errors,
            propositions: &request.options.propositions,
        };
        Ok(load_with(request.source, options)?.into())
    },
};

/// What to load beside the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Values for a family's parameters, and for constants.
    pub overrides: &'a [(String, i64)],
    /// Text for parameters of a family that are not numbers.
    pub texts: &'a [(String, String)],
    /// The description whose goals become properties.
    pub description: Option<&'a Description>,
    /// What becomes of transitions that meet an error.
    pub errors: ModelErrors,
    /// Expressions that become propositions.
    pub propositions: &'a [String],
}

/// Loads a model or, where the name ends in `.mdve`, a family. `overrides` give values to a family's parameters and
/// replace those of constants; each must name one.
pub fn load(source: Source, overrides: &[(String, i64)]) -> Result<Lowered, Refused> {
    load_with(source, Options { overrides, ..Options::default() })
}

/// [`load`], with everything that can be chosen.
pub fn load_with(source: Source, options: Options) -> Result<Lowered, Refused> {
    let mut findings = Diagnostics::default();
    let mut constants: Vec<(String, i64)> = options.overrides.to_vec();
    let mut expanded = None;
    let mut text = source;
    if text.name.ends_with(".mdve") {
        let family = text;
        let is_parameter = |name: &str| mentions(&family.text, name);
        let parameters: Vec<(String, String)> = constants
            .iter()
            .filter(|(name, _)| is_parameter(name))
            .map(|(name, value)| (name.clone(), value.to_string()))
            .chain(options.texts.iter().cloned())
            .collect();
        if let Some((name, _)) = options.texts.iter().find(|(name, _)| !is_parameter(name)) {
            findings
                .push(Diagnostic::error(Span::default(), format!("the family has no parameter `{name}`")));
            return Err(Refused { source_text: family, diagnostics: findings });
        }
        constants.retain(|(name, _)| !is_parameter(name));
        match m4::expand(&family.text, &parameters, m4::Limits::default()) {
            Ok(result) => {
                text = Source::new(format!("{} (expanded)", family.name), result.text.as_str());
                expanded = Some(result);
            }
            Err(failure) => {
                let mut finding = Diagnostic::error(failure.span, failure.message);
                finding.help = failure.help;
                findings.push(finding);
                return Err(Refused { source_text: family, diagnostics: findings });
            }
        }
    }
    if let (Some((name, value)), None) = (options.texts.first(), &expanded) {
        let message = format!("`{value}` is not a number: only a family (.mdve) takes text for `{name}`");
        findings.push(Diagnostic::error(Span::default(), message));
        return Err(Refused { source_text: text, diagnostics: findings });
    }
    if let Some(description) = options.description {
        constants.retain(|(name, _)| {
            !description.parameters.contains(name) || mentions_constant(&text.text, name)
        });
    }
    let tree = parse::parse(&text.text, &mut findings);
    let checked = if findings.has_errors() { None } else { check::check(&tree, &constants, &mut findings) };
    let system = checked.and_then(|model| {
        let goals = match options.description {
            Some(description) => {
                beem::goals(description, &model, expanded.as_ref(), options.overrides, &mut findings)
            }
            None => Vec::new(),
        };
        let mut goals = goals;
        goals.extend(beem::propositions(options.propositions, &model, &mut findings));
        let mut system = lower::lower(&model, &goals, options.errors, text.clone(), &mut findings)?;
        move_propositions(&mut system, options.propositions.len());
        Some(system)
    });
    findings.finish();
    match system {
        Some(system) if !findings.has_errors() => Ok(Lowered { system, warnings: findings }),
        _ => {
            if !findings.has_errors() {
                findings.push(Diagnostic::error(Span::default(), "the model could not be understood"));
            }
            Err(Refused { source_text: text, diagnostics: findings })
        }
    }
}

/// The last `count` goals become propositions, and the last properties.
fn move_propositions(system: &mut System, count: usize) {
    let goals =
        system.properties.iter().rposition(|p| p.kind == PropertyKind::Goal).map_or(0, |last| last + 1);
    let moved: Vec<_> = system.properties.drain(goals.saturating_sub(count)..goals).collect();
    let named = |p: Property| Property { kind: PropertyKind::Proposition, ..p };
    system.properties.extend(moved.into_iter().map(named));
}

/// Whether `name` stands as a word in `text`.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, found)| {
            !text[..at].chars().next_back().is_some_and(part)
                && !text[at + found.len()..].chars().next().is_some_and(part)
        })
}

/// Whether a model's text may declare `name` as a constant.
fn mentions_constant(text: &str, name: &str) -> bool {
    mentions(text, name) && (mentions(text, "const") || mentions(text, "input"))
}
