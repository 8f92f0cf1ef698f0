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

use crate::diagnostic::{Diagnostic, Diagnostics, Refused, Severity};
use crate::language::{Language, LoadError, LoadOptions, Lowered, ModelErrors};
use crate::text::{did_you_mean, listed, mentions};
use beem::Description;
use hadal_system::{DeadlockNotion, Property, PropertyKind, Source, Span, System};
use std::collections::HashSet;

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
    expand: Some(expand),
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
                if let Some(finding) = unknown_parameter(&family.text, &result.text, &constants) {
                    findings.push(finding);
                    return Err(Refused { source_text: family, diagnostics: findings });
                }
                text = family.expanded(result.text.as_str(), result.origins.clone());
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
    if text.is_expanded() {
        findings.list = in_template(std::mem::take(&mut findings.list), &text);
    }
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

/// A definition for a family that names none of its parameters and no constant.
fn unknown_parameter(family: &str, expanded: &str, constants: &[(String, i64)]) -> Option<Diagnostic> {
    let (name, _) = constants.iter().find(|(name, _)| !mentions(expanded, name))?;
    let parameters: Vec<&str> = family
        .match_indices("default(")
        .map(|(at, begin)| family[at + begin.len()..].trim_start_matches(['`', ' ']))
        .map(|rest| &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0)])
        .filter(|parameter| !parameter.is_empty())
        .collect();
    let message = format!("-D {name}: the family has no parameter `{name}`");
    let mut finding = Diagnostic::error(Span::default(), message);
    finding.help =
        did_you_mean(name, parameters.iter().copied()).or_else(|| listed("parameter", &parameters));
    Some(finding)
}

/// Findings of an expanded text, one for each place of the template; each shows what was read there.
fn in_template(list: Vec<Diagnostic>, text: &Source) -> Vec<Diagnostic> {
    let mut told = HashSet::new();
    let shown = |finding: Diagnostic| {
        if finding.span == Span::default() {
            return finding;
        }
        let (line, number) = expanded_line(&text.text, finding.span.start as usize);
        let expanded = format!("it expands to `{line}`, line {number} of `hadal inspect --expanded`");
        let help = match &finding.help {
            Some(help) => format!("{help}; {expanded}"),
            None => expanded,
        };
        finding.help(help)
    };
    // The instances of a template share its mistakes; the first tells them.
    let is_new = |it: &Diagnostic| {
        it.span == Span::default() || told.insert((text.original(it.span), it.severity == Severity::Error))
    };
    list.into_iter().filter(is_new).map(shown).collect()
}

/// The line around an offset, not too long, and its number from 1.
fn expanded_line(text: &str, at: usize) -> (String, usize) {
    const MOST_CHARACTERS: usize = 100;
    let at = at.min(text.len());
    let number = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or("").trim();
    match line.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => (format!("{}...", &line[..end]), number),
        None => (line.to_owned(), number),
    }
}

/// What a family expands to with these options; any other text as it is.
pub fn expand(source: &Source, options: &LoadOptions) -> Result<String, Refused> {
    if !source.name.ends_with(".mdve") {
        return Ok(source.text.to_string());
    }
    let numbers = options.numbers().into_iter().map(|(name, value)| (name, value.to_string()));
    let parameters: Vec<(String, String)> = numbers.chain(options.texts()).collect();
    m4::expand(&source.text, &parameters, m4::Limits::default()).map(|result| result.text).map_err(
        |failure| {
            let mut diagnostics = Diagnostics::default();
            let finding =
                Diagnostic { help: failure.help, ..Diagnostic::error(failure.span, failure.message) };
            diagnostics.push(finding);
            Refused { source_text: source.clone(), diagnostics }
        },
    )
}

/// The last `count` goals become propositions, and the last properties.
fn move_propositions(system: &mut System, count: usize) {
    let goals =
        system.properties.iter().rposition(|p| p.kind == PropertyKind::Goal).map_or(0, |last| last + 1);
    let moved: Vec<_> = system.properties.drain(goals.saturating_sub(count)..goals).collect();
    let named = |p: Property| Property { kind: PropertyKind::Proposition, ..p };
    system.properties.extend(moved.into_iter().map(named));
}

/// Whether a model's text may declare `name` as a constant.
fn mentions_constant(text: &str, name: &str) -> bool {
    mentions(text, name) && (mentions(text, "const") || mentions(text, "input"))
}
