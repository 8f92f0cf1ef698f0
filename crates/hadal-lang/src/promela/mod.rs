//! Promela, the language of SPIN.
//!
//! [`load`] turns a model into a [`hadal_system::System`]: [`crate::cpp`] preprocesses, [`parse`] reads, [`check`] resolves names and
//! builds control graphs, [`flow`] reads the steps off them, [`lower`] builds the system. What of the language is
//! supported, and how it differs from SPIN, stands in `docs/languages/promela.md`.

pub mod ast;
pub mod check;
pub mod flow;
pub mod lower;
pub mod merge;
pub mod model;
pub mod parse;

use crate::cpp::{self, Include};
use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Given, Language, Lowered};
use crate::text::mentions;
use hadal_system::{DeadlockNotion, Source, Span};
use std::path::Path;

/// Promela, as SPIN accepts it.
pub static LANGUAGE: Language = Language {
    name: "Promela",
    extensions: &["pml", "promela", "prm", "pr", "spin", "prom", "pm"],
    deadlock: DeadlockNotion::Stuck,
    defines: "a macro of the preprocessor, a number or text",
    expand: None,
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
        let propositions = &request.options.propositions;
        let claim = request.options.claim.as_ref().map(|(name, text)| (&**name, &**text));
        let merge = request.options.merge;
        let options =
            Options { definitions: &definitions, include: &include, instances, propositions, claim, merge };
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
    /// Expressions that become propositions, the last properties.
    pub propositions: &'a [String],
    /// A never claim by name and text, read as if it stood behind the model.
    pub claim: Option<(&'a str, &'a str)>,
    /// Whether statements that nobody sees are merged, as SPIN does where it is not told otherwise.
    pub merge: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        let (definitions, instances, propositions) = (&[], &[], &[]);
        Options { definitions, include: &|_| None, instances, propositions, claim: None, merge: false }
    }
}

/// Reads the error that says that more processes of a type are started than there is room for: the type, and the room.
pub fn no_room(message: &str) -> Option<(&str, usize)> {
    let (_, rest) = message.split_once(lower::NO_ROOM)?;
    let (room, rest) = rest.trim_start().split_once(' ')?;
    let name = rest.split('`').nth(1)?;
    Some((name, room.parse().ok()?))
}

/// What the formulas are called in which propositions from outside pass the preprocessor: macros of the text count in them.
const PROPOSITION: &str = "hadal_proposition_";

/// The text with the propositions behind it, each as a formula.
fn with_propositions(source: &Source, propositions: &[String]) -> Result<String, Refused> {
    let mut text = source.text.to_string();
    for (n, proposition) in propositions.iter().enumerate() {
        if let Some(c) = proposition.chars().find(|c| "{};#\"'\n\\".contains(*c)) {
            let mut diagnostics = Diagnostics::default();
            let message = format!("`{proposition}`: an expression has no {c:?}");
            diagnostics.push(Diagnostic::error(Span::default(), message));
            return Err(Refused { source_text: source.clone(), diagnostics });
        }
        text.push_str(&format!("\nltl {PROPOSITION}{n} {{ {proposition} }}"));
    }
    Ok(text)
}

/// Tokens as a text: operators of temporal logic are several tokens without space between, names never touch.
fn text_of(tokens: &[cpp::lex::Token]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::new();
    for token in tokens {
        let touches = text.ends_with(is_word) && token.text.starts_with(is_word);
        if token.spaced || token.first || touches {
            text.push(' ');
        }
        text.push_str(&token.text);
    }
    text
}

/// Takes the propositions that were added out of the tree again.
fn take_propositions(tree: &mut ast::Tree, findings: &mut Diagnostics) -> Vec<ast::Expr> {
    let is_added =
        |formula: &ast::Formula| formula.name.as_ref().is_some_and(|name| name.text.starts_with(PROPOSITION));
    let (added, own) = std::mem::take(&mut tree.formulas).into_iter().partition(is_added);
    tree.formulas = own;
    let read = |formula: ast::Formula| {
        let mut tokens = formula.tokens;
        let span = formula.span;
        let end =
            cpp::lex::Token { kind: cpp::lex::Kind::End, text: "".into(), span, first: true, spaced: true };
        tokens.push(end);
        parse::parse_expression(tokens, findings)
    };
    Vec::from_iter(added).into_iter().filter_map(read).collect()
}

/// Names the claims that stand behind the model's own text.
fn name_claims(tree: &mut ast::Tree, own: usize, name: &str) {
    for claim in tree.claims.iter_mut().filter(|claim| claim.word.span.start as usize >= own) {
        claim.name = Some(ast::Name { text: name.into(), span: claim.word.span });
    }
}

/// Loads a model.
pub fn load(source: Source, options: Options) -> Result<Lowered, Refused> {
    let own = source.text.len();
    let source = match options.claim {
        // A claim is shown where it is wrong, too.
        Some((_, claim)) => Source::new(source.name.clone(), format!("{}\n{claim}", source.text)),
        None => source,
    };
    let mut findings = Diagnostics::default();
    // What an included text uses is not known here.
    let unused = |name: &str| !mentions(&source.text, name) && !source.text.contains("#include");
    for (name, _) in options.definitions.iter().filter(|(name, _)| unused(name)) {
        let message = format!("-D {name}: the model does not use the macro `{name}`");
        findings.push(Diagnostic::warning(Span::default(), message));
    }
    let text = with_propositions(&source, options.propositions)?;
    let tokens = cpp::preprocess(&text, options.definitions, options.include, &mut findings);
    let mut tree = parse::parse(tokens, &mut findings);
    if let Some((name, _)) = options.claim {
        name_claims(&mut tree, own, name);
    }
    let expressions = take_propositions(&mut tree, &mut findings);
    let mut system = None;
    if !findings.has_errors() {
        let mut model = check::check(&tree, &mut findings);
        let mut propositions = Vec::new();
        for expression in &expressions {
            let (checked, term) = check::check_expression(&tree, model, expression, &mut findings);
            model = checked;
            propositions.push(term);
        }
        if options.merge {
            let words =
                tree.formulas.iter().flat_map(|formula| &formula.tokens).map(|token| token.text.clone());
            let names = words.chain(tree.selected.iter().cloned()).collect();
            merge::merge(&mut model, &propositions, &names);
        }
        if !findings.has_errors() {
            let asked = lower::Asked { instances: options.instances, propositions: &propositions };
            system = lower::lower(&model, source.clone(), asked, &mut findings);
        }
    }
    if let Some(system) = &mut system {
        // Those without a name are numbered, as in SPIN.
        let mut unnamed = 0..;
        let written = |formula: &ast::Formula| {
            let name = formula.name.as_ref().map(|name| name.text.to_string());
            let name = name.unwrap_or_else(|| format!("ltl_{}", unnamed.next().unwrap_or(0)));
            (name, text_of(&formula.tokens))
        };
        system.besides.formulas = tree.formulas.iter().map(written).collect();
        system.besides.unanswered.extend(system.besides.formulas.iter().map(|(name, _)| name.clone()));
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
