//! Lists to a [`LiftedTask`]: resolves names, checks arities and types, says what is wrong where.

mod constraint;
mod declare;
mod domain;
mod effect;
mod formula;
mod number;
mod problem;
mod requirement;

use super::ast::{LiftedTask, Variable};
use super::strata::strata;
use super::tree::{self, Tree};
use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use hadal_system::{Source, Span};
use requirement::Requirements;
use std::collections::HashMap;

/// A task that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The task.
    pub task: LiftedTask,
    /// What the reader may want to know, with the text it is about.
    pub warnings: Vec<(Source, Diagnostic)>,
    /// Where an effect or the initial state leaves something to chance.
    pub chance: Option<(Source, Span)>,
}

/// Reads a domain and a problem. Where the domain has errors, those are reported first.
pub fn read(domain: &Source, problem: &Source) -> Result<Read, Refused> {
    let mut reader = Reader::default();
    let mut warnings = Vec::new();
    let mut chance = None;
    for (source, part) in [(domain, Part::Domain), (problem, Part::Problem)] {
        let text = source.text.to_ascii_lowercase();
        let trees = tree::read(&text, &mut reader.findings);
        if !reader.findings.has_errors() {
            match part {
                Part::Domain => {
                    reader.domain(&trees);
                    if let Err(span) = strata(&reader.task) {
                        let message = "this rule depends on its own negation";
                        reader.findings.push(Diagnostic::error(span, message));
                    }
                }
                Part::Problem => reader.problem(&trees),
            }
        }
        let mut findings = std::mem::take(&mut reader.findings);
        findings.finish();
        if findings.has_errors() {
            return Err(Refused { source_text: source.clone(), diagnostics: findings });
        }
        warnings.extend(findings.list.into_iter().map(|finding| (source.clone(), finding)));
        chance = chance.or(reader.chance.take().map(|span| (source.clone(), span)));
    }
    reader.close_universe();
    Ok(Read { task: reader.task, warnings, chance })
}

#[derive(Clone, Copy)]
enum Part {
    Domain,
    Problem,
}

/// Names seen so far, and the task as it grows.
#[derive(Default)]
struct Reader {
    findings: Diagnostics,
    requirements: Requirements,
    types: HashMap<String, u32>,
    parents: Vec<Vec<u32>>,
    sorts: HashMap<Vec<u32>, u32>,
    objects: HashMap<String, u32>,
    object_types: Vec<Vec<u32>>,
    predicates: HashMap<String, u32>,
    functions: HashMap<String, u32>,
    preferences: HashMap<String, u32>,
    chance: Option<Span>,
    task: LiftedTask,
}

/// The variables that a formula may name; the place in the list is the slot.
#[derive(Default)]
struct Scope {
    names: Vec<(String, Variable)>,
}

impl Scope {
    fn find(&self, name: &str) -> Option<&Variable> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, variable)| variable)
    }
}

impl Reader {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    fn expected(&mut self, tree: &Tree, what: &str) {
        let message = match tree.word() {
            Some(word) => format!("`{word}` stands where {what} is expected"),
            None => format!("a list stands where {what} is expected"),
        };
        let span = head_span(tree);
        self.findings.push(Diagnostic::error(span, message).label(format!("expected {what}")));
    }

    fn unknown(&mut self, what: &str, name: &str, span: Span, near: Option<String>) {
        let mut finding = Diagnostic::error(span, format!("unknown {what} `{name}`"));
        if let Some(near) = near {
            finding = finding.help(format!("did you mean `{near}`?"));
        }
        self.findings.push(finding);
    }
}

/// A span that a caret can stand under: the whole of a word, the first word of a list.
fn head_span(tree: &Tree) -> Span {
    match tree.list().and_then(|items| items.first()) {
        Some(first) => first.span,
        None => tree.span,
    }
}

/// The known name most like `name`, where one is close.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(far, candidate)| *far <= 2 && *far < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate.clone())
}

/// Edits between two words.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    if left.len().abs_diff(right.len()) > 2 || right.len() > 60 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let cost = corner + usize::from(l != *r);
            corner = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(corner + 1);
        }
    }
    row[right.len()]
}
